//! Tear-down: after the last use, in order, on the keeper, and never on whoever drops.

#![expect(unsafe_code, reason = "queues work on device addresses")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use edgefirst_cuda::{
    CudaStatus, DeviceBuffer, Error, ExternalMemory, HostAccess, HostRegistration, MappedBuffer, Ready, Runtime, Stream,
};
use testkit::{HostPages, Major, Sim, eventually};

mod common;

use common::{PAGE, PATIENCE, finish, simulated};

const SOON: Duration = Duration::from_millis(50);
const SCHEDULES: [&str; 4] = ["schedule late", "schedule early", "schedule random:1", "schedule random:7"];

fn ready(runtime: &Runtime) -> Ready {
    match runtime.status() {
        CudaStatus::Ready(ready) => ready,
        CudaStatus::Unavailable(why) => panic!("{why}"),
    }
}

/// The order in which the symbols of `wanted` were called.
fn order<'a>(sim: &Sim, wanted: &[&'a str]) -> Vec<&'a str> {
    let calls = sim.calls();
    calls.iter().filter_map(|call| wanted.iter().copied().find(|symbol| *symbol == call.symbol)).collect()
}

#[test]
fn a_drop_waits_for_the_last_event_and_does_not_block() {
    for schedule in SCHEDULES {
        let (sim, runtime) = simulated(Major::V12);
        sim.control(schedule);
        let stream = Stream::new(&runtime, 0).unwrap();
        let buffer = DeviceBuffer::zeroed(&runtime, 0, PAGE).unwrap();
        let gate = sim.gate(stream.as_raw());
        // SAFETY: the buffer is kept until the fill has run, by the event.
        unsafe { stream.fill(buffer.device_ptr(), 1, PAGE) }.unwrap();
        buffer.after(stream.record().unwrap());
        let start = Instant::now();
        drop(buffer);
        assert!(start.elapsed() < PATIENCE, "the drop waited for the device");
        let error = runtime.flush(SOON).unwrap_err();
        assert_eq!(error.to_string(), "freeing what is still in use did not finish within 50ms");
        assert_eq!(ready(&runtime).quarantined, ["device memory"]);
        assert_eq!(order(&sim, &["cudaFreeAsync"]), [""; 0], "freed under a fill");
        gate.open();
        runtime.flush(PATIENCE).unwrap();
        assert_eq!(order(&sim, &["cudaFreeAsync"]), ["cudaFreeAsync"]);
        assert!(ready(&runtime).quarantined.is_empty());
        drop(stream);
        finish(sim, runtime);
    }
}

#[test]
fn pages_are_unregistered_after_the_last_event_and_dropped_after_that() {
    for schedule in SCHEDULES {
        let (sim, runtime) = simulated(Major::V12);
        sim.control(schedule);
        let stream = Stream::new(&runtime, 0).unwrap();
        let pages = HostPages::new(PAGE);
        let dropped = pages.dropped();
        let registration = HostRegistration::new(&runtime, 0, Arc::new(pages), HostAccess::ReadWrite).unwrap();
        let gate = sim.gate(stream.as_raw());
        // SAFETY: the registration is kept until the fill has run, by the event.
        unsafe { stream.fill(registration.device_ptr(), 1, PAGE) }.unwrap();
        registration.after(stream.record().unwrap());
        drop(registration);
        runtime.flush(SOON).unwrap_err();
        assert!(!dropped.load(Ordering::Acquire), "the pages went while the device wrote them");
        gate.open();
        runtime.flush(PATIENCE).unwrap();
        assert!(dropped.load(Ordering::Acquire));
        drop(stream);
        finish(sim, runtime);
    }
}

#[test]
fn the_last_event_of_every_stream_counts() {
    let (sim, runtime) = simulated(Major::V12);
    let buffer = DeviceBuffer::zeroed(&runtime, 0, 64 * 20).unwrap();
    let streams: Vec<Stream> = (0..20).map(|_| Stream::new(&runtime, 0).unwrap()).collect();
    let gates: Vec<_> = streams.iter().map(|stream| sim.gate(stream.as_raw())).collect();
    for (index, stream) in streams.iter().enumerate() {
        // SAFETY: a part of the buffer, which is kept until the fill has run, by the event.
        unsafe { stream.fill(buffer.device_ptr().wrapping_byte_add(64 * index), 1, 64) }.unwrap();
        buffer.after(stream.record().unwrap());
    }
    drop(buffer);
    for gate in gates {
        runtime.flush(Duration::from_millis(5)).unwrap_err();
        gate.open();
    }
    runtime.flush(PATIENCE).unwrap();
    drop(streams);
    finish(sim, runtime);
}

#[test]
fn an_earlier_event_does_not_take_a_later_ones_place() {
    let (sim, runtime) = simulated(Major::V12);
    let stream = Stream::new(&runtime, 0).unwrap();
    let buffer = DeviceBuffer::zeroed(&runtime, 0, PAGE).unwrap();
    let earlier = stream.record().unwrap();
    let gate = sim.gate(stream.as_raw());
    let later = stream.record().unwrap();
    // Two threads may hand their events over in this order.
    buffer.after(later);
    buffer.after(earlier);
    drop(buffer);
    assert!(runtime.flush(SOON).is_err(), "freed before the later event");
    gate.open();
    drop(stream);
    finish(sim, runtime);
}

#[test]
fn a_mapping_is_freed_before_its_import_whatever_is_dropped_first() {
    let (sim, runtime) = simulated(Major::V12);
    let memory = ExternalMemory::import_fd(&runtime, 0, sim.export_fd(PAGE), PAGE as u64, false).unwrap();
    let memory = Arc::new(memory);
    let buffer = MappedBuffer::map(memory.clone(), 0, PAGE).unwrap();
    sim.control("clear-log");
    drop(memory);
    runtime.flush(PATIENCE).unwrap();
    assert_eq!(order(&sim, &["cudaDestroyExternalMemory"]), [""; 0], "the import went before its mapping");
    drop(buffer);
    runtime.flush(PATIENCE).unwrap();
    let ends = ["cudaFree", "cudaDestroyExternalMemory"];
    assert_eq!(order(&sim, &ends), ends);
    finish(sim, runtime);
}

#[test]
fn a_flush_waits_for_what_the_freed_ones_let_go_of() {
    let (sim, runtime) = simulated(Major::V12);
    let (first, second) = (Stream::new(&runtime, 0).unwrap(), Stream::new(&runtime, 0).unwrap());
    let (buffers_use, imports_use) = (sim.gate(first.as_raw()), sim.gate(second.as_raw()));
    let memory = ExternalMemory::import_fd(&runtime, 0, sim.export_fd(PAGE), PAGE as u64, false).unwrap();
    memory.after(second.record().unwrap());
    let buffer = MappedBuffer::map(memory, 0, PAGE).unwrap();
    buffer.after(first.record().unwrap());
    drop(buffer);
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| runtime.flush(2 * SOON));
        // The flush is under way when the buffer is freed, which lets go of the import.
        std::thread::sleep(SOON / 5);
        buffers_use.open();
        assert!(flush.join().unwrap().is_err(), "the flush did not wait for the import");
    });
    imports_use.open();
    drop((first, second));
    finish(sim, runtime);
}

#[test]
fn tear_down_happens_on_the_keeper() {
    let (sim, runtime) = simulated(Major::V12);
    let memory = ExternalMemory::import_fd(&runtime, 0, sim.export_fd(PAGE), PAGE as u64, false).unwrap();
    drop(MappedBuffer::map(memory, 0, PAGE).unwrap());
    drop(DeviceBuffer::zeroed(&runtime, 0, PAGE).unwrap());
    drop(HostRegistration::new(&runtime, 0, Arc::new(HostPages::new(PAGE)), HostAccess::ReadWrite).unwrap());
    drop(Stream::new(&runtime, 0).unwrap());
    runtime.flush(PATIENCE).unwrap();
    for call in sim.calls() {
        assert_eq!(call.thread, "cuda-keeper", "{} was called on the caller's thread", call.symbol);
    }
    finish(sim, runtime);
}

#[test]
fn a_foreign_owner_is_told_on_a_thread_of_its_own() {
    let (sim, runtime) = simulated(Major::V12);
    // An owner whose release wants a lock that somebody holds who waits for the keeper.
    let lock = Arc::new(std::sync::Mutex::new(()));
    let held = lock.lock().unwrap();
    let owner = Locked { pages: HostPages::new(PAGE).foreign(), lock: lock.clone() };
    drop(HostRegistration::new(&runtime, 0, Arc::new(owner), HostAccess::ReadWrite).unwrap());
    // With the lock held the keeper still works.
    drop(DeviceBuffer::zeroed(&runtime, 0, PAGE).unwrap());
    runtime.flush(SOON).unwrap_err();
    drop(held);
    finish(sim, runtime);
}

#[derive(Debug)]
struct Locked {
    pages: HostPages,
    lock: Arc<std::sync::Mutex<()>>,
}

impl Drop for Locked {
    fn drop(&mut self) {
        drop(self.lock.lock());
    }
}

// SAFETY: the pages inside live as long.
unsafe impl edgefirst_cuda::Pages for Locked {
    fn as_ptr(&self) -> *mut u8 {
        self.pages.as_ptr()
    }

    fn len(&self) -> usize {
        self.pages.len()
    }

    fn is_foreign(&self) -> bool {
        self.pages.is_foreign()
    }
}

#[test]
fn what_never_completes_stays_in_quarantine_and_is_named() {
    let (sim, runtime) = simulated(Major::V12);
    let stream = Stream::new(&runtime, 0).unwrap();
    let registration =
        HostRegistration::new(&runtime, 0, Arc::new(HostPages::new(PAGE)), HostAccess::ReadWrite).unwrap();
    let gate = sim.gate(stream.as_raw());
    registration.after(stream.record().unwrap());
    drop(registration);
    runtime.flush(SOON).unwrap_err();
    assert!(runtime.status().to_string().ends_with("still in use: registered host pages"), "{}", runtime.status());
    gate.open();
    drop(stream);
    finish(sim, runtime);
}

#[test]
fn a_lost_device_is_refused_and_its_handles_are_forgotten() {
    let (sim, runtime) = simulated(Major::V12);
    let stream = Stream::new(&runtime, 0).unwrap();
    let buffer = DeviceBuffer::zeroed(&runtime, 0, PAGE).unwrap();
    let registration =
        HostRegistration::new(&runtime, 0, Arc::new(HostPages::new(PAGE)), HostAccess::ReadWrite).unwrap();
    sim.control("lose 0 719");
    let error = stream.record().unwrap_err();
    assert_eq!(
        error.to_string(),
        "device 0 is lost: 719 cudaErrorLaunchFailure: a kernel failed on the device; restart the process to use it again"
    );
    sim.control("clear-log");
    assert!(matches!(DeviceBuffer::zeroed(&runtime, 0, PAGE).unwrap_err(), Error::Lost { device: 0, .. }));
    assert!(matches!(runtime.usable(0).unwrap_err(), Error::Lost { device: 0, .. }));
    drop((stream, buffer, registration));
    runtime.flush(PATIENCE).unwrap();
    assert!(sim.calls().is_empty(), "a lost device was asked to free: {:?}", sim.calls());
    assert_eq!(ready(&runtime).abandoned, 3);
}

#[test]
fn a_reset_device_takes_its_resources_with_it() {
    for major in [Major::V12, Major::V13] {
        for new_context in [false, true] {
            let (sim, runtime) = simulated(major);
            let pages = Arc::new(HostPages::new(PAGE));
            let registration = HostRegistration::new(&runtime, 0, pages, HostAccess::ReadWrite).unwrap();
            let stream = Stream::new(&runtime, 0).unwrap();
            let event = stream.record().unwrap();
            assert_eq!(sim.reset_device(), 0);
            if new_context {
                assert_eq!(sim.set_device(0), 0);
            }
            // A contract violation of the application's; it must not become a use after destroy of ours.
            drop((registration, event, stream));
            runtime.flush(PATIENCE).unwrap();
            assert_eq!(ready(&runtime).abandoned, 2);
            assert_eq!(sim.has_context(0), new_context, "a context was made to free what was gone");
            // The device works again, in its new context.
            drop(DeviceBuffer::zeroed(&runtime, 0, PAGE).unwrap());
            finish(sim, runtime);
        }
    }
}

#[test]
fn a_set_up_that_gets_no_turn_is_withdrawn_and_never_runs() {
    let (sim, runtime) = simulated(Major::V12);
    sim.control("mempools off");
    let stream = Stream::new(&runtime, 0).unwrap();
    let gate = sim.gate(stream.as_raw());
    // A plain free blocks the keeper behind the device's work: its allocation was not in stream order.
    drop(DeviceBuffer::zeroed(&runtime, 0, PAGE).unwrap());
    eventually(|| (order(&sim, &["cudaFree"]).len(), 1), "the keeper frees");
    let error = DeviceBuffer::zeroed(&runtime, 0, PAGE).unwrap_err();
    assert_eq!(error.to_string(), "a turn on the keeper thread did not finish within 10s");
    gate.open();
    runtime.flush(PATIENCE).unwrap();
    assert_eq!(order(&sim, &["cudaMalloc"]), ["cudaMalloc"], "the withdrawn request ran");
    drop(stream);
    finish(sim, runtime);
}

#[test]
fn the_keeper_of_an_unusable_runtime_ends_before_it() {
    let (sim, runtime) = simulated(Major::V12);
    sim.control("driver none");
    runtime.devices().unwrap_err();
    let task = format!("/proc/self/task/{}", sim.calls()[0].tid);
    eventually(|| (std::path::Path::new(&task).exists(), false), "the keeper of a runtime without a driver");
    drop(runtime);
    sim.finish();
}

#[test]
fn the_keeper_ends_with_its_runtime() {
    let (sim, runtime) = simulated(Major::V12);
    let keeper = {
        drop(Stream::new(&runtime, 0).unwrap());
        sim.calls()[0].tid
    };
    finish(sim, runtime);
    let task = format!("/proc/self/task/{keeper}");
    eventually(|| (std::path::Path::new(&task).exists(), false), "the keeper of a dropped runtime");
}
