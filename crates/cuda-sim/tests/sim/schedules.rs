//! When work runs.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use crate::support::{Cuda, D2H, H2D, at, ok};

/// Pinned memory that a copy is queued to fill with sevens, not yet waited for.
fn queued(cuda: &Cuda) -> (usize, usize) {
    let (device, host, stream) = (cuda.allocate(64), cuda.pinned(64), cuda.stream());
    cuda.write(host, &[0; 64]);
    ok(cuda.memset_async(device, 7, 64, stream));
    ok(cuda.memcpy_async(host, device, 64, D2H, stream));
    (host, stream)
}

#[test]
fn late_runs_when_something_waits() {
    let cuda = Cuda::with("schedule late");
    let (host, stream) = queued(&cuda);
    assert_eq!(cuda.bytes(host, 64), [0; 64]);
    ok(cuda.stream_synchronize(stream));
    assert_eq!(cuda.bytes(host, 64), [7; 64]);
}

#[test]
fn each_query_runs_one_step() {
    let cuda = Cuda::with("schedule late");
    let (host, stream) = queued(&cuda);
    assert_eq!(cuda.stream_query(stream), 600);
    assert_eq!(cuda.bytes(host, 64), [0; 64], "the fill has run, the copy has not");
    assert_eq!(cuda.last_error(), 600, "not ready counts as an error");
    assert_eq!(cuda.stream_query(stream), 0);
    assert_eq!(cuda.bytes(host, 64), [7; 64]);
}

#[test]
fn waiting_for_one_stream_leaves_the_others_alone() {
    let cuda = Cuda::with("schedule late");
    let (host, _) = queued(&cuda);
    let (other_host, other) = queued(&cuda);
    ok(cuda.stream_synchronize(other));
    assert_eq!(cuda.bytes(other_host, 64), [7; 64]);
    assert_eq!(cuda.bytes(host, 64), [0; 64]);
}

#[test]
fn early_runs_at_once() {
    let cuda = Cuda::with("schedule early");
    let (host, stream) = queued(&cuda);
    assert_eq!(cuda.bytes(host, 64), [7; 64]);
    ok(cuda.stream_query(stream));
}

#[test]
fn random_is_the_same_for_the_same_seed_and_differs_between_seeds() {
    let trace = |seed: u32| {
        let cuda = Cuda::with(&format!("schedule random:{seed}"));
        let hosts: Vec<_> = (0..8).map(|_| queued(&cuda).0).collect();
        hosts.iter().map(|host| cuda.bytes(*host, 1)[0]).collect::<Vec<_>>()
    };
    assert_eq!(trace(1), trace(1));
    let traces: std::collections::HashSet<_> = (1..12).map(trace).collect();
    assert!(traces.len() > 1, "{traces:?}");
}

#[test]
fn event_is_complete_when_its_stream_got_there() {
    let cuda = Cuda::with("schedule late");
    let (event, stream, device) = (cuda.event(), cuda.stream(), cuda.allocate(16));
    ok(cuda.event_query(event));
    ok(cuda.memset_async(device, 1, 16, stream));
    ok(cuda.event_record(event, stream));
    ok(cuda.memset_async(device, 2, 16, stream));
    assert_eq!(cuda.event_query(event), 600);
    ok(cuda.event_query(event));
    assert_eq!(cuda.stream_query(stream), 0, "the one step that was left");
}

#[test]
fn stream_destroy_returns_early_and_the_work_still_runs() {
    let cuda = Cuda::with("schedule late");
    let (host, stream) = queued(&cuda);
    ok(cuda.stream_destroy(stream));
    assert_eq!(cuda.bytes(host, 64), [0; 64]);
    ok(cuda.device_synchronize());
    assert_eq!(cuda.bytes(host, 64), [7; 64]);
}

#[test]
fn free_waits_for_the_device() {
    let cuda = Cuda::with("schedule late");
    let (host, _) = queued(&cuda);
    ok(cuda.free(cuda.allocate(16)));
    assert_eq!(cuda.bytes(host, 64), [7; 64]);
}

#[test]
fn event_may_be_destroyed_while_a_stream_waits_for_it() {
    let cuda = Cuda::with("schedule late");
    let (device, first, second) = (cuda.allocate(16), cuda.stream(), cuda.stream());
    ok(cuda.memset_async(device, 1, 16, first));
    let event = cuda.mark(first);
    ok(cuda.stream_wait_event(second, event, 0));
    ok(cuda.event_destroy(event));
    ok(cuda.memset_async(device, 2, 16, second));
    ok(cuda.stream_synchronize(second));
    ok(cuda.stream_destroy(first));
    ok(cuda.stream_destroy(second));
    assert_eq!(cuda.contents(device, 16), [2; 16]);
    ok(cuda.free(device));
    cuda.finish();
}

extern "C" fn count(counter: *mut c_void) {
    counter_at(counter).fetch_add(1, Ordering::SeqCst);
}

static COUNTERS: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];

fn counter_at(index: *mut c_void) -> &'static AtomicU32 {
    &COUNTERS[index.addr()]
}

#[test]
fn host_function_runs_between_the_work_around_it() {
    let cuda = Cuda::with("schedule late");
    let stream = cuda.stream();
    ok(cuda.launch_host(stream, count, ptr::without_provenance_mut(0)));
    ok(cuda.launch_host(stream, count, ptr::without_provenance_mut(0)));
    ok(cuda.stream_synchronize(stream));
    assert_eq!(COUNTERS[0].load(Ordering::SeqCst), 2);
}

#[test]
fn host_function_runs_though_nobody_waits() {
    for schedule in ["schedule late", "schedule early", "schedule random:5"] {
        let cuda = Cuda::with(schedule);
        let (host, stream) = queued(&cuda);
        let before = COUNTERS[1].load(Ordering::SeqCst);
        ok(cuda.launch_host(stream, count, ptr::without_provenance_mut(1)));
        while COUNTERS[1].load(Ordering::SeqCst) == before {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(cuda.bytes(host, 64), [7; 64], "{schedule}: the work before it has run");
        cuda.0.host_access(ptr::without_provenance::<u8>(host), 64, false);
        assert_eq!(cuda.kinds(), [""; 0], "{schedule}: whoever it signals is ordered behind it");
    }
}

static GATE: std::sync::Mutex<Option<Receiver<()>>> = std::sync::Mutex::new(None);
/// Host functions of these tests share the gate.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

extern "C" fn wait_at_gate(_: *mut c_void) {
    let gate = GATE.lock().unwrap().take().expect("a gate was set up");
    gate.recv().expect("the gate is opened");
}

fn gate() -> Sender<()> {
    let (open, wait) = mpsc::channel();
    *GATE.lock().unwrap() = Some(wait);
    open
}

#[test]
fn work_behind_a_host_function_waits_for_it_and_other_streams_do_not() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let cuda = Cuda::with("schedule late");
    let (device, stream, other, open) = (cuda.allocate(16), cuda.stream(), cuda.stream(), gate());
    ok(cuda.memset(device, 0, 16));
    ok(cuda.device_synchronize());
    ok(cuda.launch_host(stream, wait_at_gate, ptr::null_mut()));
    ok(cuda.memset_async(device, 1, 8, stream));
    ok(cuda.memset_async(device + 8, 1, 8, other));
    ok(cuda.stream_synchronize(other));
    for _ in 0..10 {
        assert_eq!(cuda.stream_query(stream), 600);
    }
    open.send(()).unwrap();
    ok(cuda.stream_synchronize(stream));
    assert_eq!(cuda.contents(device, 16), [1; 16]);
}

#[test]
fn wait_that_does_not_end_is_a_deadlock() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let cuda = Cuda::with("patience 50");
    let (stream, open) = (cuda.stream(), gate());
    ok(cuda.launch_host(stream, wait_at_gate, ptr::null_mut()));
    assert_eq!(cuda.stream_synchronize(stream), 702);
    let message = cuda.found("deadlock").message;
    assert!(message.contains("cudaStreamSynchronize") && message.contains("cudaLaunchHostFunc"), "{message}");
    open.send(()).unwrap();
    cuda.0.control("patience 10000");
    ok(cuda.stream_synchronize(stream));
    assert_eq!(cuda.kinds(), [""; 0]);
}

struct Inside {
    cuda: Cuda,
    stream: usize,
    other: usize,
    /// Pinned; the stream copies into it before the function runs.
    memory: usize,
    codes: Vec<i32>,
}

/// Runs a function within a host function and gives back what it saw.
fn inside(function: extern "C" fn(*mut c_void)) -> Inside {
    let cuda = Cuda::with("schedule late");
    let (stream, other, memory) = (cuda.stream(), cuda.stream(), cuda.pinned(64));
    ok(cuda.memcpy_async(memory, cuda.allocate(64), 64, D2H, stream));
    let inside = Box::new(std::sync::Mutex::new(Inside { cuda, stream, other, memory, codes: Vec::new() }));
    let data = Box::into_raw(inside);
    let launched = {
        let inside = guard(data.cast());
        inside.cuda.launch_host(inside.stream, function, data.cast())
    };
    ok(launched);
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while guard(data.cast()).codes.is_empty() {
        assert!(std::time::Instant::now() < deadline, "the host function has not run");
        std::thread::sleep(Duration::from_millis(1));
    }
    into_inner(data)
}

extern "C" fn allocate_inside(data: *mut c_void) {
    let mut inside = guard(data);
    let mut address = 0;
    let code = inside.cuda.malloc(&mut address, 16);
    inside.codes.push(code);
}

extern "C" fn wait_for_itself(data: *mut c_void) {
    let mut inside = guard(data);
    let code = inside.cuda.stream_synchronize(inside.stream);
    inside.codes.push(code);
}

extern "C" fn write_and_tell(data: *mut c_void) {
    let mut inside = guard(data);
    let memory = ptr::without_provenance::<u8>(inside.memory);
    inside.cuda.0.host_access(memory, 64, true);
    inside.codes.push(0);
}

#[test]
fn host_function_is_ordered_like_the_work_of_its_stream() {
    let inside = inside(write_and_tell);
    let Inside { cuda, stream, other, memory, .. } = &inside;
    assert_eq!(cuda.kinds(), [""; 0], "behind the copy into the same memory");
    ok(cuda.memcpy_async(cuda.allocate(64), *memory, 64, H2D, *stream));
    assert_eq!(cuda.kinds(), [""; 0], "before what follows it");
    ok(cuda.memset_async(*memory, 0, 64, *other));
    cuda.found("race");
}

extern "C" fn wait_for_another(data: *mut c_void) {
    let mut inside = guard(data);
    let code = inside.cuda.stream_synchronize(inside.other);
    inside.codes.push(code);
}

#[test]
fn calls_within_a_host_function_are_not_permitted() {
    for function in [allocate_inside, wait_for_another] {
        let inside = inside(function);
        assert_eq!(inside.codes, [800]);
        inside.cuda.found("call-in-host-func");
    }
}

#[test]
fn host_function_that_waits_for_its_own_stream_is_a_deadlock() {
    let inside = inside(wait_for_itself);
    assert_eq!(inside.codes, [800]);
    let message = inside.cuda.found("deadlock").message;
    assert!(message.contains(" -> host function of call"), "the cycle is named: {message}");
}

#[test]
fn copies_carry_bytes_both_ways() {
    for schedule in ["schedule late", "schedule early", "schedule random:9"] {
        let cuda = Cuda::with(schedule);
        let (device, stream) = (cuda.allocate(256), cuda.stream());
        let source: Vec<u8> = (0..=255).collect();
        let target = vec![0u8; 256];
        ok(cuda.memcpy_async(device, at(&source), 256, H2D, stream));
        ok(cuda.memcpy_async(at(&target), device, 256, D2H, stream));
        ok(cuda.stream_synchronize(stream));
        assert_eq!(target, source);
        ok(cuda.stream_destroy(stream));
        ok(cuda.free(device));
        cuda.finish();
    }
}

use shared::{guard, into_inner};

mod shared {
    //! A test's state, on both sides of a C callback.
    //!
    //! # Safety
    //!
    //! The pointer is that of a box which `inside` made, and which it takes back after the callback has run.

    #![expect(unsafe_code, reason = "the state travels as a pointer")]

    use std::ffi::c_void;
    use std::sync::{Mutex, MutexGuard};

    use super::Inside;

    pub(super) fn guard<'a>(data: *mut c_void) -> MutexGuard<'a, Inside> {
        // SAFETY: see the module's argument.
        unsafe { &*data.cast::<Mutex<Inside>>() }.lock().unwrap()
    }

    pub(super) fn into_inner(data: *mut Mutex<Inside>) -> Inside {
        // SAFETY: see the module's argument.
        unsafe { Box::from_raw(data) }.into_inner().unwrap()
    }
}
