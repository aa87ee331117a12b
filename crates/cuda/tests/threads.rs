//! What a call leaves alone on the thread that makes it: device, context, pending error, graph capture.

#![expect(unsafe_code, reason = "uses raw stream handles")]

use std::ptr::without_provenance_mut;
use std::sync::Arc;

use edgefirst_cuda::{DeviceBuffer, Error, HostAccess, HostRegistration, Runtime, Stream};
use testkit::{HostPages, Major, Sim};

mod common;

use common::{PAGE, PATIENCE, finish, simulated};

/// One of everything that this crate does on behalf of a caller.
fn everything(runtime: &Runtime, device: u32) {
    try_everything(runtime, device).expect("nothing fails here");
}

fn try_everything(runtime: &Runtime, device: u32) -> Result<(), Error> {
    let stream = Stream::new(runtime, device)?;
    let buffer = DeviceBuffer::zeroed(runtime, device, PAGE)?;
    let pages = Arc::new(HostPages::new(PAGE));
    let registration = HostRegistration::new(runtime, device, pages, HostAccess::ReadWrite)?;
    let event = stream.record()?;
    event.is_complete()?;
    stream.wait(&event)?;
    stream.synchronize(PATIENCE)?;
    runtime.pointer_attributes(buffer.device_ptr())?;
    buffer.after(stream.record()?);
    drop((registration, buffer, stream));
    runtime.flush(PATIENCE)
}

#[test]
fn the_current_device_stays() {
    for major in Major::ALL {
        let (sim, runtime) = simulated(major);
        sim.control("devices 3");
        assert_eq!(sim.set_device(1), 0);
        for device in [0, 1, 2] {
            everything(&runtime, device);
            assert_eq!(sim.current_device(), 1, "device {device} was left selected");
        }
        finish(sim, runtime);
    }
}

#[test]
fn a_pushed_context_stays() {
    let (sim, runtime) = simulated(Major::V12);
    runtime.devices().unwrap();
    let pushed = sim.push_new_context(0);
    everything(&runtime, 0);
    assert_eq!(sim.current_context(), pushed);
    sim.destroy_context(pushed);
    finish(sim, runtime);
}

#[test]
fn a_pending_error_stays_and_is_not_taken_for_ours() {
    let (sim, runtime) = simulated(Major::V12);
    runtime.devices().unwrap();
    // The thread has the device's context, so but for the error its calls would run here.
    assert_eq!(sim.set_device(0), 0);
    everything(&runtime, 0);
    // The application's own failed call, which it has not looked at yet.
    let invalid = sim.set_device(99);
    assert_ne!(invalid, 0);
    everything(&runtime, 0);
    // "Not ready" is an error too, and must not take the other's place.
    let stream = Stream::new(&runtime, 0).unwrap();
    let gate = sim.gate(stream.as_raw());
    let event = stream.record().unwrap();
    assert!(!event.is_complete().unwrap());
    gate.open();
    drop((event, stream));
    assert_eq!(sim.take_error(), invalid, "the application's error is gone");
    finish(sim, runtime);
}

#[test]
fn failures_and_not_ready_leave_no_error_pending() {
    let (sim, runtime) = simulated(Major::V12);
    // The thread has the device's context, so calls with a stream run here.
    assert_eq!(sim.set_device(0), 0);
    let stream = Stream::new(&runtime, 0).unwrap();
    sim.control("clear-log");
    let gate = sim.gate(stream.as_raw());
    let event = stream.record().unwrap();
    assert!(!event.is_complete().unwrap());
    assert_eq!(sim.pending_error(), 0, "NotReady is left pending");
    let here = sim.calls().into_iter().any(|call| call.symbol == "cudaEventQuery" && call.thread != "cuda-keeper");
    assert!(here, "the query did not run on the caller's thread, so this shows nothing");
    sim.control("fault cudaEventRecord 1 999");
    assert_eq!(stream.record().unwrap_err().code().map(|code| code.0), Some(999));
    assert_eq!(sim.pending_error(), 0, "our own failure is left pending");
    gate.open();
    event.wait(PATIENCE).unwrap();
    drop((event, stream));
    finish(sim, runtime);
}

#[test]
fn a_thread_without_a_context_gets_none() {
    for major in Major::ALL {
        let (sim, runtime) = simulated(major);
        everything(&runtime, 0);
        assert!(sim.current_context().is_null(), "the caller's thread was given a context");
        finish(sim, runtime);
    }
}

#[test]
fn queries_create_no_context() {
    let (sim, runtime) = simulated(Major::V12);
    sim.control("devices 2");
    runtime.devices().unwrap();
    runtime.status();
    let byte = 0_u8;
    runtime.pointer_attributes((&raw const byte).cast()).unwrap();
    runtime.current_device().unwrap();
    assert!(!sim.has_context(0) && !sim.has_context(1), "a question made a context");
    finish(sim, runtime);
}

#[test]
fn only_the_device_in_use_gets_a_context() {
    let (sim, runtime) = simulated(Major::V12);
    sim.control("devices 2");
    everything(&runtime, 1);
    assert!(!sim.has_context(0), "a context on device 0 costs memory there");
    finish(sim, runtime);
}

/// Somebody on another thread captures a graph in the strictest mode while `work` runs here; the capture must survive.
fn during_a_capture(sim: &Sim, work: impl FnOnce()) {
    const GLOBAL: i32 = 0;
    std::thread::scope(|scope| {
        let (begun, wait_begun) = std::sync::mpsc::channel();
        let (done, wait_done) = std::sync::mpsc::channel::<()>();
        let capturer = scope.spawn(move || {
            assert_eq!(sim.set_device(0), 0);
            let stream = sim.stream_create();
            sim.begin_capture(stream, GLOBAL);
            begun.send(()).expect("the other side waits");
            let _ = wait_done.recv();
            let code = sim.end_capture(stream);
            sim.stream_destroy(stream);
            code
        });
        wait_begun.recv().expect("the capture begins");
        work();
        drop(done);
        assert_eq!(capturer.join().expect("the capturer ends"), 0, "somebody's graph capture was broken");
    });
}

#[test]
fn nothing_breaks_another_threads_capture() {
    for has_context in [false, true] {
        let (sim, runtime) = simulated(Major::V12);
        if has_context {
            assert_eq!(sim.set_device(0), 0);
        }
        everything(&runtime, 0);
        during_a_capture(&sim, || everything(&runtime, 0));
        finish(sim, runtime);
    }
}

#[test]
fn a_captured_stream_is_refused_by_name() {
    let (sim, runtime) = simulated(Major::V12);
    assert_eq!(sim.set_device(0), 0);
    let raw = sim.stream_create();
    // SAFETY: alive until the end of the test.
    let stream = unsafe { Stream::from_raw(&runtime, raw) }.unwrap();
    let before = stream.record().unwrap();
    sim.begin_capture(raw, 0);
    sim.control("clear-log");
    assert!(matches!(stream.record(), Err(Error::Capturing)));
    assert!(matches!(stream.wait(&before), Err(Error::Capturing)));
    assert!(matches!(stream.synchronize(PATIENCE), Err(Error::Capturing)));
    assert!(matches!(stream.check(), Err(Error::Capturing)));
    let touched =
        sim.calls().into_iter().find(|call| call.symbol.starts_with("cudaEvent") || call.symbol.contains("Wait"));
    assert!(touched.is_none(), "the capture saw {touched:?}");
    assert_eq!(sim.end_capture(raw), 0, "the capture was broken");
    stream.check().unwrap();
    drop((before, stream));
    runtime.flush(PATIENCE).unwrap();
    sim.stream_destroy(raw);
    finish(sim, runtime);
}

#[test]
fn special_handles() {
    let (sim, runtime) = simulated(Major::V12);
    sim.control("devices 2");
    let handle = without_provenance_mut;
    // SAFETY: the default streams always live.
    let per_thread = unsafe { Stream::from_raw(&runtime, handle(2)) }.unwrap_err();
    assert!(matches!(per_thread, Error::PerThreadStream), "{per_thread}");
    for special in [0, 1, 2] {
        // SAFETY: refused.
        let error = unsafe { Stream::adopt(&runtime, handle(special)) }.unwrap_err();
        assert!(matches!(error, Error::DefaultStream { handle } if handle == special), "{error}");
    }
    // The legacy stream is that of the device which is current here.
    assert_eq!(sim.set_device(1), 0);
    // SAFETY: the default streams always live.
    let legacy = unsafe { Stream::from_raw(&runtime, handle(0)) }.unwrap();
    assert_eq!(legacy.device(), 1);
    assert_eq!(sim.set_device(0), 0);
    legacy.synchronize(PATIENCE).unwrap();
    drop(legacy);
    finish(sim, runtime);
}

#[test]
fn a_foreign_stream_knows_its_device() {
    for major in Major::ALL {
        let (sim, runtime) = simulated(major);
        sim.control("devices 2");
        assert_eq!(sim.set_device(1), 0);
        let raw = sim.stream_create();
        assert_eq!(sim.set_device(0), 0);
        // SAFETY: alive until the end of the test.
        let stream = unsafe { Stream::from_raw(&runtime, raw) }.unwrap();
        assert_eq!(stream.device(), 1);
        stream.synchronize(PATIENCE).unwrap();
        drop(stream);
        runtime.flush(PATIENCE).unwrap();
        sim.stream_destroy(raw);
        finish(sim, runtime);
    }
}

#[test]
fn streams_wait_across_devices() {
    let (sim, runtime) = simulated(Major::V12);
    sim.control("devices 2");
    let (first, second) = (Stream::new(&runtime, 0).unwrap(), Stream::new(&runtime, 1).unwrap());
    let gate = sim.gate(first.as_raw());
    second.wait(&first.record().unwrap()).unwrap();
    let after = second.record().unwrap();
    assert!(matches!(after.wait(std::time::Duration::from_millis(20)), Err(Error::Timeout { .. })));
    gate.open();
    after.wait(PATIENCE).unwrap();
    drop((first, second, after));
    finish(sim, runtime);
}
