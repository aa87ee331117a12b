//! The fault matrix: every CUDA call of an operation fails once in turn, and nothing may be left behind.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use edgefirst_cuda::Runtime;

use crate::sim::{Major, Sim};

/// What a failing call does: refuses without effect, or reports a failure though it did its work. A call that ends
/// something does the second: after the first, nobody could say whether it may be called again.
fn mode_of(symbol: &str) -> &'static str {
    const ENDS: &[&str] = &["Free", "Destroy", "Unregister", "cuCtxPopCurrent", "cudaThreadExchangeStreamCaptureMode"];
    if ENDS.iter().any(|part| symbol.contains(part)) { "after" } else { "" }
}

/// Runs `operation` on a simulated runtime of each major version as often as it makes CUDA calls, and lets the next of
/// these calls fail each time. It may succeed or fail; it must leave no object, descriptor, thread, finding or pending
/// error behind. It drops what it makes. Tests of other kinds must not run in the same process: they open descriptors.
///
/// Answers how many faults were injected.
///
/// # Panics
/// If something is left behind, naming the call that failed; or if the operation fails without a fault.
pub fn fault_matrix<E: Display>(operation: impl Fn(&Sim, &Runtime) -> Result<(), E>) -> usize {
    // Descriptors and threads are the process's, so one matrix runs at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let calls = without_fault(&operation);
    for code in [2, 999] {
        for (index, symbol) in calls.iter().enumerate() {
            // Which thread comes first may differ from run to run, so calls are counted by symbol.
            let nth = calls[..=index].iter().filter(|earlier| *earlier == symbol).count();
            let fault = format!("fault {symbol} {nth} {code} {}", mode_of(symbol));
            once(Some(&fault), symbol, &operation);
        }
    }
    2 * calls.len()
}

fn without_fault<E: Display>(operation: &impl Fn(&Sim, &Runtime) -> Result<(), E>) -> Vec<String> {
    once(None, "nothing", operation)
}

/// One run; answers the calls that it made after the probe.
fn once<E: Display>(
    fault: Option<&str>,
    failing: &str,
    operation: &impl Fn(&Sim, &Runtime) -> Result<(), E>,
) -> Vec<String> {
    let sim = Sim::open(Major::V12);
    let before = Traces::now();
    let runtime = Runtime::load_from(sim.path()).expect("the simulator loads");
    runtime.devices().expect("the simulator has a device");
    sim.control("clear-log");
    if let Some(fault) = fault {
        sim.control(fault);
    }
    let result = operation(&sim, &runtime);
    let pending = sim.pending_error();
    sim.control("clear-faults");
    if fault.is_none()
        && let Err(error) = &result
    {
        panic!("the operation fails without a fault: {error}");
    }
    assert_eq!(pending, 0, "a pending error is left behind after {failing} failed");
    runtime.flush(Duration::from_secs(5)).unwrap_or_else(|e| panic!("after {failing} failed: {e}"));
    let calls = sim.calls().into_iter().map(|call| call.symbol).collect();
    drop(runtime);
    eventually(|| (sim.ledger(), Vec::new()), &format!("objects after {failing} failed"));
    eventually(|| (Traces::now(), before.clone()), &format!("descriptors and threads after {failing} failed"));
    sim.finish();
    calls
}

/// What a process has that could be left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces {
    /// Open descriptors and what they refer to.
    pub descriptors: Vec<String>,
    /// The number of threads with names that CUDA's users give.
    pub threads: usize,
}

impl Traces {
    /// As it is now.
    ///
    /// # Panics
    /// If `/proc` cannot be read.
    #[must_use]
    pub fn now() -> Self {
        let entries =
            |path: &str| std::fs::read_dir(path).expect("/proc is mounted").flatten().map(|entry| entry.path());
        let descriptors = entries("/proc/self/fd")
            .filter_map(|fd| Some(format!("{} {}", fd.file_name()?.display(), std::fs::read_link(&fd).ok()?.display())))
            // The directory that is being read is a descriptor too.
            .filter(|fd| !fd.contains("/proc/"))
            .collect();
        let name = |task: std::path::PathBuf| std::fs::read_to_string(task.join("comm")).unwrap_or_default();
        let threads = entries("/proc/self/task").filter(|task| name(task.clone()).starts_with("cuda-")).count();
        Self { descriptors, threads }
    }
}

/// Waits until both are equal: threads end in their own time.
///
/// # Panics
/// If they are not equal after five seconds.
pub fn eventually<T: PartialEq + std::fmt::Debug>(mut sides: impl FnMut() -> (T, T), what: &str) {
    let start = Instant::now();
    loop {
        let (left, right) = sides();
        if left == right {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "{what}: {left:#?}\nis not {right:#?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
