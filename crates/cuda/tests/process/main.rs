//! The life of a process: first use, choice, fork, exit. Each test runs alone in a process of its own.

#![expect(unsafe_code, reason = "forks, and uses the raw names")]

use std::sync::Arc;
use std::time::Duration;

use edgefirst_cuda::{
    Choice, CudaStatus, DeviceBuffer, Error, HostAccess, HostRegistration, Reason, Runtime, Stream, raw,
};
use testkit::{HostPages, Major, Sim, Traces, eventually};

#[path = "../cudart/child.rs"]
#[allow(dead_code, reason = "shared with other test programs, which use other parts")]
mod child;

use child::{alone, this_test};

const PATIENCE: Duration = Duration::from_secs(5);

/// Runs `body` alone, with a simulator copy as the runtime of the process.
fn with_runtime(this_test: &str, body: impl FnOnce(&Sim)) {
    alone(
        this_test,
        |_| (),
        || {
            let sim = Sim::open(Major::V12);
            edgefirst_cuda::init(Choice::Path(sim.path().to_owned())).expect("not used before");
            body(&sim);
            edgefirst_cuda::flush(PATIENCE).expect("nothing is in use");
        },
    );
}

/// Runs `body` in a forked child; fails unless it answers true there.
fn in_fork(body: impl FnOnce() -> bool) {
    // SAFETY: the child runs `body` and ends without going back to the harness.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork");
    if child == 0 {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!matches!(outcome, Ok(true)))) };
    }
    let mut status = -1;
    // SAFETY: waits for the child; writes one int.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "the forked child failed");
}

fn unavailable(status: CudaStatus) -> Reason {
    match status {
        CudaStatus::Unavailable(why) => why.reason,
        CudaStatus::Ready(ready) => panic!("{ready}"),
    }
}

#[test]
fn loading_makes_no_cuda_call() {
    with_runtime(this_test!(), |sim| {
        let found = Runtime::load_from(sim.path()).unwrap();
        assert!(found.is_simulated());
        found.group(edgefirst_cuda::Group::HostRegistration).unwrap();
        assert_eq!(found.path(), Some(sim.path()));
        drop(found);
        assert!(sim.calls().is_empty(), "{:?}", sim.calls());
    });
}

#[test]
fn the_first_question_probes_once_and_later_ones_call_nothing() {
    with_runtime(this_test!(), |sim| {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert!(edgefirst_cuda::is_cuda_available()));
            }
        });
        let probes = sim.calls().iter().filter(|call| call.symbol == "cudaGetDeviceCount").count();
        assert_eq!(probes, 1);
        sim.control("clear-log");
        for _ in 0..1000 {
            assert!(edgefirst_cuda::is_cuda_available());
        }
        assert!(edgefirst_cuda::cuda_status().is_ready());
        assert_eq!(edgefirst_cuda::runtime_path(), Some(sim.path()));
        assert!(sim.calls().is_empty(), "{:?}", sim.calls());
    });
}

#[test]
fn the_choice_is_made_once_and_before_the_first_use() {
    with_runtime(this_test!(), |sim| {
        let path = sim.path().display();
        let refused =
            |error: Error| assert!(error.to_string().contains(&format!("chosen already ({path})")), "{error}");
        refused(edgefirst_cuda::init(Choice::Off).unwrap_err());
        assert!(edgefirst_cuda::is_cuda_available());
        refused(edgefirst_cuda::init(Choice::Auto).unwrap_err());
    });
}

#[test]
fn using_it_is_choosing_it() {
    alone(
        this_test!(),
        |child| _ = child.env("EDGEFIRST_CUDART", "off"),
        || {
            assert!(!edgefirst_cuda::is_cuda_available());
            let error = edgefirst_cuda::init(Choice::Off).unwrap_err();
            assert!(error.to_string().contains("chosen already (auto)"), "{error}");
        },
    );
}

#[test]
fn a_choice_of_off_is_kept_in_a_forked_child() {
    alone(
        this_test!(),
        |_| (),
        || {
            edgefirst_cuda::init(Choice::Off).unwrap();
            assert_eq!(unavailable(edgefirst_cuda::cuda_status()), Reason::Off);
            in_fork(|| unavailable(edgefirst_cuda::cuda_status()) == Reason::Off);
        },
    );
}

#[test]
fn a_process_that_only_loaded_may_fork() {
    with_runtime(this_test!(), |sim| {
        let found = Runtime::load_from(sim.path()).unwrap();
        in_fork(|| found.devices().is_ok() && edgefirst_cuda::is_cuda_available());
        assert!(edgefirst_cuda::is_cuda_available());
    });
}

#[test]
fn a_child_of_a_probed_process_gets_a_clear_no() {
    with_runtime(this_test!(), |_| {
        assert!(edgefirst_cuda::is_cuda_available());
        let runtime = Runtime::get().unwrap();
        in_fork(|| {
            !edgefirst_cuda::is_cuda_available()
                && unavailable(edgefirst_cuda::cuda_status()) == Reason::Forked
                && unavailable(edgefirst_cuda::refresh()) == Reason::Forked
                && matches!(runtime.devices(), Err(Error::Unavailable(why)) if why.reason == Reason::Forked)
                && raw::stream_create().is_none()
        });
        assert!(edgefirst_cuda::is_cuda_available(), "the parent lost it");
    });
}

#[test]
fn drops_in_a_forked_child_forget_cuda_and_unmap() {
    with_runtime(this_test!(), |sim| {
        let runtime = Runtime::get().unwrap();
        let pages = HostPages::new(4096);
        let dropped = pages.dropped();
        let registration = HostRegistration::new(&runtime, 0, Arc::new(pages), HostAccess::ReadWrite).unwrap();
        let stream = Stream::new(&runtime, 0).unwrap();
        let event = stream.record().unwrap();
        registration.after(event.clone());
        let buffer = DeviceBuffer::zeroed(&runtime, 0, 64).unwrap();
        let calls = sim.calls().len();
        let owners = std::cell::Cell::new(Some((registration, buffer, stream, event)));
        in_fork(|| {
            drop(owners.take());
            std::thread::sleep(Duration::from_millis(20));
            dropped.load(std::sync::atomic::Ordering::Acquire) && sim.calls().len() == calls
        });
        // The parent's are whole.
        drop(owners);
        runtime.flush(PATIENCE).unwrap();
        assert!(sim.ledger().is_empty(), "{:?}", sim.ledger());
    });
}

#[test]
fn a_runtime_that_unloads_at_exit_counts_as_done() {
    with_runtime(this_test!(), |sim| {
        let runtime = Runtime::get().unwrap();
        let pages = HostPages::new(4096);
        let dropped = pages.dropped();
        let registration = HostRegistration::new(&runtime, 0, Arc::new(pages), HostAccess::ReadWrite).unwrap();
        let stream = Stream::new(&runtime, 0).unwrap();
        registration.after(stream.record().unwrap());
        sim.control("unload");
        drop((registration, stream));
        runtime.flush(PATIENCE).unwrap();
        assert!(dropped.load(std::sync::atomic::Ordering::Acquire));
        let CudaStatus::Ready(ready) = runtime.status() else { panic!("it was ready") };
        assert_eq!((ready.abandoned, ready.quarantined.len()), (0, 0));
    });
}

#[test]
fn refresh_finds_a_driver_that_came_later() {
    with_runtime(this_test!(), |sim| {
        let before = Traces::now();
        sim.control("driver none");
        assert!(!edgefirst_cuda::is_cuda_available());
        eventually(|| (Traces::now(), before.clone()), "what a runtime without a driver leaves");
        assert!(matches!(unavailable(edgefirst_cuda::cuda_status()), Reason::Refused(code) if code.0 == 35));
        sim.control("driver ready");
        assert!(!edgefirst_cuda::is_cuda_available(), "asked again without being told to");
        assert!(edgefirst_cuda::refresh().is_ready());
        assert!(edgefirst_cuda::is_cuda_available());
    });
}

#[test]
fn the_raw_names() {
    with_runtime(this_test!(), |sim| {
        let runtime = Runtime::get().unwrap();
        let buffer = DeviceBuffer::zeroed(&runtime, 0, 64).unwrap();
        let (sent, mut back) = ([5_u8; 64], [0_u8; 64]);
        // SAFETY: all have 64 bytes.
        assert!(unsafe { raw::memcpy_host_to_device(buffer.device_ptr(), sent.as_ptr().cast(), 64) });
        // SAFETY: as above.
        assert!(unsafe { raw::memcpy_device_to_host(back.as_mut_ptr().cast(), buffer.device_ptr(), 64) });
        assert_eq!(back, sent);
        // SAFETY: CUDA refuses the addresses before anything is copied.
        assert!(!unsafe { raw::memcpy_device_to_host(back.as_mut_ptr().cast(), std::ptr::without_provenance(64), 64) });
        assert_eq!(sim.pending_error(), 0);
        let stream = raw::stream_create().unwrap();
        // SAFETY: the stream just made.
        assert!(unsafe { raw::stream_synchronize(stream) });
        // SAFETY: as above; it is not used again.
        unsafe { raw::stream_destroy(stream) };
        for special in 0..3 {
            // SAFETY: refused.
            unsafe { raw::stream_destroy(std::ptr::without_provenance_mut(special)) };
        }
        drop(buffer);
        runtime.flush(PATIENCE).unwrap();
        assert!(sim.ledger().is_empty(), "{:?}", sim.ledger());
    });
}

#[test]
fn the_raw_names_without_a_runtime() {
    alone(
        this_test!(),
        |child| _ = child.env("EDGEFIRST_CUDART", "off"),
        || {
            let mut back = [0_u8; 4];
            assert!(raw::stream_create().is_none());
            // SAFETY: there is no runtime that could use these.
            assert!(!unsafe { raw::memcpy_device_to_host(back.as_mut_ptr().cast(), std::ptr::null(), 4) });
            // SAFETY: as above.
            assert!(!unsafe { raw::stream_synchronize(std::ptr::without_provenance_mut(64)) });
            // SAFETY: as above.
            unsafe { raw::stream_destroy(std::ptr::without_provenance_mut(64)) };
            edgefirst_cuda::flush(PATIENCE).unwrap();
            assert!(edgefirst_cuda::runtime_path().is_none());
        },
    );
}
