//! The simulator and the process that it is in: environment, fork, end.

use std::ffi::CStr;

use edgefirst_cuda_sim::resolve;
use testkit::sim::{Major, Sim};

use crate::support::{Cuda, aborts, fork_and_wait, is_child, ok, run_child, stderr};

#[test]
fn environment_is_a_script_for_the_first_use() {
    if is_child() {
        let (cuda, mut count) = (Cuda::open(Major::V12), 0);
        ok(cuda.device_count(&mut count));
        assert_eq!(count, 3);
        return;
    }
    let name = "process::environment_is_a_script_for_the_first_use";
    let output = run_child(name, &[("EDGEFIRST_CUDA_SIM", "devices 3; schedule early")]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn nonsense_in_the_environment_is_a_finding() {
    if is_child() {
        Cuda::open(Major::V12).found("bad-command");
        return;
    }
    let name = "process::nonsense_in_the_environment_is_a_finding";
    let output = run_child(name, &[("EDGEFIRST_CUDA_SIM", "devices 3; divices 4")]);
    assert!(output.status.success(), "{output:?}");
    assert!(stderr(&output).contains("`divices 4` is not understood"), "{}", stderr(&output));
}

#[test]
fn process_with_findings_fails_at_its_end() {
    if is_child() {
        let cuda = Cuda::open(Major::V12);
        let buffer = cuda.allocate(16);
        ok(cuda.free(buffer));
        assert_eq!(cuda.free(buffer), 1);
        // The test's own copy would fail the test; users have no such handle.
        std::process::exit(0);
    }
    let name = "process::process_with_findings_fails_at_its_end";
    let output = run_child(name, &[("EDGEFIRST_CUDA_SIM", "fail-at-exit")]);
    assert_eq!(output.status.code(), Some(86), "{output:?}");
}

#[test]
fn child_of_a_process_that_initialised_cuda_cannot_use_it() {
    let name = "process::child_of_a_process_that_initialised_cuda_cannot_use_it";
    if !is_child() {
        let output = run_child(name, &[]);
        assert!(output.status.success(), "{output:?}");
        assert!(stderr(&output).contains("finding use-after-fork"), "{}", stderr(&output));
        return;
    }
    let cuda = Cuda::open(Major::V12);
    assert_eq!(fork_and_wait(|| cuda.device_count(&mut 0)), 0, "nothing was initialised before");
    ok(cuda.device_count(&mut 0));
    assert_eq!(fork_and_wait(|| cuda.device_count(&mut 0)), 3);
    assert_eq!(fork_and_wait(|| cuda.free(0)), 3);
    ok(cuda.device_count(&mut 0));
}

#[test]
fn version_is_no_probe_and_survives_a_fork() {
    let name = "process::version_is_no_probe_and_survives_a_fork";
    if !is_child() {
        let output = run_child(name, &[]);
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let cuda = Cuda::open(Major::V12);
    ok(cuda.runtime_version(&mut 0));
    ok(cuda.driver_version(&mut 0));
    assert_eq!(fork_and_wait(|| cuda.device_count(&mut 0)), 0);
}

#[test]
fn loading_prints_nothing_and_starts_no_thread() {
    let name = "process::loading_prints_nothing_and_starts_no_thread";
    if !is_child() {
        let output = run_child(name, &[]);
        assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
        return;
    }
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let cuda = Cuda::open(Major::V12);
    ok(cuda.device_count(&mut 0));
    ok(cuda.free(cuda.allocate(64)));
    assert_eq!(threads(), before);
    cuda.finish();
}

#[test]
fn copies_do_not_see_each_other() {
    let (one, other) = (Cuda::with("devices 2"), Cuda::open(Major::V12));
    let stream = one.stream();
    assert_eq!(other.stream_synchronize(stream), 400);
    assert_eq!(other.0.ledger(), []);
    assert_ne!(one.0.path(), other.0.path());
    ok(one.stream_destroy(stream));
    one.finish();
    other.finish();
}

#[test]
fn marker_says_simulated() {
    for (major, version) in [(Major::V11, "11.8"), (Major::V12, "12.9"), (Major::V13, "13.5")] {
        let sim = Sim::open(major);
        let text = crate::support::marker(&sim);
        let expected = format!("simulated CUDA {version} (edgefirst-cuda-sim {})", env!("CARGO_PKG_VERSION"));
        assert_eq!(text, expected);
    }
}

#[test]
fn linked_core_resolves_the_symbols_of_12() {
    let has = |name: &CStr| !resolve(name).is_null();
    assert!(has(c"cudaMalloc") && has(c"edgefirst_cuda_sim") && has(c"cuInit"));
    assert!(has(c"cudaGetDeviceProperties_v2") && has(c"cudaStreamGetDevice"));
    assert!(!has(c"cudaNoSuchThing") && !has(c""));
}

#[test]
fn dropped_copy_with_a_finding_fails_the_test() {
    let result = std::panic::catch_unwind(|| {
        let cuda = Cuda::with("schedule late");
        let buffer = cuda.allocate(16);
        ok(cuda.free(buffer));
        assert_eq!(cuda.free(buffer), 1);
    });
    let panic = result.expect_err("a finding fails the test");
    let text = panic.downcast_ref::<String>().expect("a message");
    assert!(text.contains("double-free"), "{text}");
}

#[test]
fn abort_ends_the_process_whatever_it_would_do_next() {
    aborts("process::abort_ends_the_process_whatever_it_would_do_next", "use-after-destroy", || {
        let cuda = Cuda::with("schedule late");
        let stream = cuda.stream();
        ok(cuda.stream_destroy(stream));
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cuda.stream_destroy(stream)));
        std::process::exit(0);
    });
}
