//! Descriptors handed to a driver: wrong kinds, failing imports, drivers that close what they refuse.
//!
//! # Safety argument
//! A symbol's address is asked for and not used.

#![expect(unsafe_code, reason = "looks for a symbol of the sanitizer")]

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use edgefirst_cuda::{Code, Error, ExternalMemory, Runtime};
use testkit::{Major, Sim, Traces};

const PAGE: u64 = 4096;

/// The descriptors of the process are counted, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn simulated() -> (Sim, Runtime) {
    let sim = Sim::open(Major::V12);
    let runtime = Runtime::load_from(sim.path()).expect("the simulator loads");
    runtime.devices().expect("it has a device");
    (sim, runtime)
}

fn import(runtime: &Runtime, fd: impl Into<OwnedFd>, bytes: u64) -> Error {
    ExternalMemory::import_fd(runtime, 0, fd.into(), bytes, false).expect_err("this cannot be imported")
}

/// AddressSanitizer does, and looks for leaks itself.
fn keeps_freed_memory() -> bool {
    // SAFETY: an address is asked for.
    unsafe { libloading::os::unix::Library::this().get::<*const std::ffi::c_void>(b"__asan_init\0") }.is_ok()
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs is mounted");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has this line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn wrong_kinds_are_refused_by_name() {
    let _alone = alone();
    let (sim, runtime) = simulated();
    sim.control("clear-log");
    let before = Traces::now();
    let (pipe, _) = rustix::pipe::pipe().unwrap();
    let (socket, _) = std::os::unix::net::UnixStream::pair().unwrap();
    let folder = File::open("/proc/self").unwrap();
    let texts: Vec<String> =
        [import(&runtime, pipe, PAGE), import(&runtime, socket, PAGE), import(&runtime, folder, PAGE)]
            .map(|error| error.to_string())
            .to_vec();
    for (text, kind) in texts.iter().zip(["pipe", "socket", "directory"]) {
        let expected = "cannot be imported as memory; export an allocation as an opaque file descriptor";
        assert_eq!(*text, format!("a {kind} {expected}"));
    }
    assert!(!sim.calls().iter().any(|call| call.symbol == "cudaImportExternalMemory"), "CUDA was asked");
    // Plain files and memfds look like exported memory until the driver says no.
    let file = tempfile::tempfile().unwrap();
    file.set_len(PAGE).unwrap();
    let memfd = rustix::fs::memfd_create("not exported", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&memfd, PAGE).unwrap();
    let null = File::open("/dev/null").unwrap();
    for error in [import(&runtime, file, PAGE), import(&runtime, memfd, PAGE), import(&runtime, null, PAGE)] {
        assert!(matches!(error, Error::Call(_)), "{error}");
    }
    assert_eq!(Traces::now(), before);
    assert_eq!(sim.pending_error(), 0);
    runtime.flush(Duration::from_secs(1)).unwrap();
    sim.finish();
}

#[test]
fn a_size_beyond_the_kernels_is_refused_before_cuda_is_asked() {
    let _alone = alone();
    let (sim, runtime) = simulated();
    sim.control("clear-log");
    let before = Traces::now();
    for bytes in [0, PAGE + 1, (4 << 30) + 1, u64::MAX] {
        let error = import(&runtime, sim.export_fd(4096), bytes);
        assert!(matches!(error, Error::Size { value, limit: PAGE, .. } if value == bytes), "{error}");
    }
    assert!(sim.calls().is_empty(), "CUDA was asked");
    assert_eq!(Traces::now(), before);
    sim.finish();
}

#[test]
fn ten_thousand_failing_imports_leave_nothing() {
    let _alone = alone();
    let (sim, runtime) = simulated();
    let exported = sim.export_fd(4096);
    let before = Traces::now();
    let mut middle = 0;
    for round in 0..10_000 {
        if round == 5_000 {
            middle = resident_kib();
        }
        // The log would grow, which is the simulator's own memory.
        sim.control("clear-log; fault cudaImportExternalMemory 1 801");
        let error = import(&runtime, exported.try_clone().unwrap(), PAGE);
        assert_eq!(error.code(), Some(Code::NOT_SUPPORTED));
    }
    assert_eq!(Traces::now(), before);
    let grown = resident_kib().saturating_sub(middle);
    assert!(grown < 1024 || keeps_freed_memory(), "{grown} KiB more after the second 5,000 imports");
    drop(exported);
    runtime.flush(Duration::from_secs(1)).unwrap();
    sim.finish();
}

/// Another thread opens and closes descriptors all the while, so that a closed number is somebody else's at once.
#[test]
fn a_driver_that_closes_what_it_refuses_closes_nothing_else() {
    let _alone = alone();
    let (sim, runtime) = simulated();
    let exported = sim.export_fd(4096);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let churn = scope.spawn(|| {
            let mut rounds = 0_u64;
            while !done.load(Ordering::Acquire) {
                let mine: Vec<OwnedFd> = (0..4)
                    .map(|_| rustix::fs::memfd_create("churn", rustix::fs::MemfdFlags::CLOEXEC).unwrap())
                    .collect();
                let number = |fd: &OwnedFd| rustix::fs::fstat(fd.as_fd()).map(|status| status.st_ino);
                let before: Vec<_> = mine.iter().map(number).collect();
                std::thread::yield_now();
                let after: Vec<_> = mine.iter().map(number).collect();
                // Before their owners close them: a number that somebody closed must not be closed twice.
                if before != after {
                    let lost: Vec<_> = mine.into_iter().map(std::os::fd::IntoRawFd::into_raw_fd).collect();
                    panic!("descriptors {lost:?} were closed or replaced under their owner");
                }
                rounds += 1;
            }
            rounds
        });
        for _ in 0..2_000 {
            sim.control("clear-log; fault cudaImportExternalMemory 1 999 close-fd");
            let error = import(&runtime, exported.try_clone().unwrap(), PAGE);
            assert_eq!(error.code(), Some(Code::UNKNOWN));
        }
        done.store(true, Ordering::Release);
        assert!(churn.join().unwrap() > 100, "hardly any churn");
    });
    drop(exported);
    runtime.flush(Duration::from_secs(1)).unwrap();
    sim.finish();
}
