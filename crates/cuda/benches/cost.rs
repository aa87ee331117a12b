//! What this crate adds to the calls below it, each beside them in the same run.
//!
//! Ends with an error when a limit is exceeded. Times are the least of interleaved rounds: whatever else a machine does
//! only adds.
//!
//! # Safety argument
//! The raw calls have the signatures of NVIDIA's headers, and outputs of the largest size that any version writes.

#![expect(unsafe_code, reason = "makes the raw calls to compare with")]
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use edgefirst_cuda::{Choice, Runtime};
use testkit::{Major, Sim};

fn main() {
    if let Some(task) = std::env::var_os(TASK) {
        println!("{}", start_up(&task.to_string_lossy()).as_nanos());
        return;
    }
    let sim = Sim::open(Major::V12);
    println!("{:<44} {:>10} {:>10} {:>6}  limit", "", "ours", "below it", "ratio");
    edgefirst_cuda::init(Choice::Path(sim.path().to_owned())).expect("not used before");
    let kept = [within(available), within(|| hand_over(&sim)), within(load_and_probe)];
    assert_eq!(kept, [true; 3], "limits exceeded");
}

/// Whether a limit is kept. It is exceeded if three measurements in turn exceed it: other programs may disturb one.
fn within(measure: impl Fn() -> Option<Row>) -> bool {
    (0..3).any(|_| measure().is_none_or(|row| row.print()))
}

struct Row {
    what: &'static str,
    ours: Duration,
    below: Duration,
    limit: f64,
}

impl Row {
    fn print(&self) -> bool {
        let ratio = self.ours.as_secs_f64() / self.below.as_secs_f64();
        println!("{:<44} {:>10.1?} {:>10.1?} {ratio:>6.2}  {:.1}", self.what, self.ours, self.below, self.limit);
        ratio <= self.limit
    }
}

/// The least times of two tasks, measured in turn so that both see the same machine.
fn beside(
    rounds: usize,
    mut ours: impl FnMut() -> Duration,
    mut below: impl FnMut() -> Duration,
) -> (Duration, Duration) {
    let measured = (0..rounds).map(|_| (ours(), below()));
    measured.fold((Duration::MAX, Duration::MAX), |least, (ours, below)| (least.0.min(ours), least.1.min(below)))
}

fn time(repeat: u32, mut task: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..repeat {
        task();
    }
    start.elapsed()
}

fn available() -> Option<Row> {
    const CALLS: u32 = 1_000_000;
    static LOADS: [AtomicU8; 2] = [AtomicU8::new(1), AtomicU8::new(2)];
    assert!(edgefirst_cuda::is_cuda_available());
    let (ours, below) = beside(
        31,
        || time(CALLS, || assert!(black_box(edgefirst_cuda::is_cuda_available()))),
        || {
            time(CALLS, || {
                // The assertion of the other side, so that only the loads differ.
                let sum = black_box(&LOADS[0]).load(Ordering::Acquire) + black_box(&LOADS[1]).load(Ordering::Acquire);
                assert!(black_box(sum == 3));
            })
        },
    );
    Some(Row { what: "is_cuda_available, 10^6 : two atomic loads", ours, below, limit: 1.2 })
}

/// A question that the keeper answers, less the call that it makes for it, beside a thread that sends back what it gets.
fn hand_over(sim: &Sim) -> Option<Row> {
    const CALLS: u32 = 500;
    type Attributes = unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int;
    let runtime = Runtime::get().expect("chosen above");
    // SAFETY: the signature is that of the headers.
    let raw = unsafe { sim.symbol::<Attributes>("cudaPointerGetAttributes") };
    let byte = 0_u8;
    let address = (&raw const byte).cast::<c_void>();
    let mut buffer = [0_u64; 16];
    let call = time(CALLS, || {
        // SAFETY: the buffer is larger than what any version writes.
        let code = unsafe { raw(buffer.as_mut_ptr().cast(), address) };
        assert_eq!(code, 0);
    });
    let (to_thread, requests) = mpsc::channel::<u32>();
    let (reply, replies) = mpsc::channel::<u32>();
    let echo = std::thread::spawn(move || requests.into_iter().all(|request| reply.send(request).is_ok()));
    let (ours, below) = beside(
        31,
        || {
            sim.control("clear-log");
            time(CALLS, || _ = runtime.pointer_attributes(address).expect("a question")).saturating_sub(call)
        },
        || {
            time(CALLS, || {
                to_thread.send(1).expect("the thread lives");
                assert_eq!(replies.recv(), Ok(1));
            })
        },
    );
    drop(to_thread);
    assert!(echo.join().expect("the thread ends"));
    Some(Row { what: "a turn on the keeper, 500 : a channel's", ours, below, limit: 3.0 })
}

const TASK: &str = "COST_START_UP_TASK";
const LIBRARY: &str = "COST_START_UP_LIBRARY";

/// Each measurement is a process of its own, since a library is loaded once only.
fn load_and_probe() -> Option<Row> {
    let Some(folder) = std::env::var_os("EDGEFIRST_TEST_CUDART") else {
        testkit::skip::note("no real runtime to load: EDGEFIRST_TEST_CUDART is not set");
        return None;
    };
    let library = PathBuf::from(folder).join("12/nvidia/cuda_runtime/lib/libcudart.so.12");
    let measure = |task: &str| {
        let program = std::env::current_exe().expect("the program has a path");
        let output = Command::new(program).env(TASK, task).env(LIBRARY, &library).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let nanoseconds =
            text.trim().parse().unwrap_or_else(|_| panic!("{task}: {}", String::from_utf8_lossy(&output.stderr)));
        Duration::from_nanos(nanoseconds)
    };
    let (ours, below) = beside(51, || measure("ours"), || measure("raw"));
    Some(Row { what: "load and probe 12.9 : dlopen and one call", ours, below, limit: 2.0 })
}

fn start_up(task: &str) -> Duration {
    let library = PathBuf::from(std::env::var_os(LIBRARY).expect("set by the parent"));
    let start = Instant::now();
    let code = if task == "raw" { raw_start(&library) } else { our_start(&library) };
    let took = start.elapsed();
    assert_eq!(code, 35, "this measures a machine without a driver");
    took
}

fn raw_start(library: &Path) -> c_int {
    // SAFETY: a CUDA runtime, which is to be loaded.
    let library = unsafe { libloading::Library::new(library) }.expect("the real runtime loads");
    let mut count = 0;
    // SAFETY: the signature is that of the headers.
    let call =
        unsafe { library.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cudaGetDeviceCount\0") }.expect("a symbol");
    // SAFETY: writes one int.
    let code = unsafe { call(&raw mut count) };
    // It stays loaded, as ours does.
    let _ = std::mem::ManuallyDrop::new(library);
    code
}

fn our_start(library: &Path) -> c_int {
    let runtime = Runtime::load_from(library).expect("the real runtime loads");
    match runtime.devices() {
        Err(edgefirst_cuda::Error::Unavailable(why)) => match why.reason {
            edgefirst_cuda::Reason::Refused(code) => code.0,
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}
