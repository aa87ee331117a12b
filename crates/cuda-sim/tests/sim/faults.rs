//! Faults by script, the script itself, and the log.

use crate::support::{Cuda, ok};

#[test]
fn nth_call_fails_without_effect_and_sets_the_last_error() {
    let cuda = Cuda::with("fault cudaMalloc 2 2");
    let first = cuda.allocate(16);
    let mut second = 77;
    assert_eq!(cuda.malloc(&mut second, 16), 2);
    assert_eq!((second, cuda.last_error()), (77, 2));
    let third = cuda.allocate(16);
    assert_eq!(cuda.0.ledger().len(), 2);
    ok(cuda.free(first));
    ok(cuda.free(third));
    cuda.finish();
}

#[test]
fn any_call_counts_for_the_star() {
    let cuda = Cuda::with("fault * 3 999");
    ok(cuda.device_count(&mut 0));
    assert_eq!(cuda.last_error(), 0, "reading the last error is no call that can fail");
    ok(cuda.set_device(0));
    assert_eq!(cuda.stream_create(&mut 0), 999);
    ok(cuda.device_synchronize());
    cuda.finish();
}

#[test]
fn failure_after_the_effect() {
    let cuda = Cuda::with("fault cudaMalloc 1 719 after");
    let mut address = 0;
    assert_eq!(cuda.malloc(&mut address, 16), 719);
    assert_eq!(cuda.0.ledger().len(), 1);
    ok(cuda.free(address));
    cuda.finish();
}

#[test]
fn late_failure_surfaces_in_an_unrelated_call() {
    let cuda = Cuda::with("fault cudaMemsetAsync 1 700 late");
    let (device, stream, other) = (cuda.allocate(16), cuda.stream(), cuda.stream());
    ok(cuda.memset_async(device, 0, 16, stream));
    ok(cuda.event_record(cuda.event(), stream));
    assert_eq!(cuda.stream_query(other), 700);
    ok(cuda.stream_synchronize(stream));
}

#[test]
fn lost_device_answers_its_code_for_ever_and_is_no_leak() {
    let cuda = Cuda::with("devices 2");
    let (buffer, stream, event) = (cuda.allocate(16), cuda.stream(), cuda.event());
    cuda.0.control("lose 0 700");
    for _ in 0..2 {
        assert_eq!(cuda.malloc(&mut 0, 16), 700);
        assert_eq!(cuda.free(buffer), 700);
        assert_eq!(cuda.stream_synchronize(stream), 700);
        assert_eq!(cuda.event_query(event), 700);
        assert_eq!(cuda.last_error(), 700);
    }
    ok(cuda.device_count(&mut 0));
    ok(cuda.set_device(1));
    let other = cuda.allocate(16);
    assert_eq!(cuda.stream_destroy(stream), 700, "of the lost device");
    ok(cuda.free(other));
    cuda.finish();
}

#[test]
fn unloading_runtime_answers_4() {
    let cuda = Cuda::with("schedule late");
    let buffer = cuda.allocate(16);
    cuda.0.control("unload");
    assert_eq!(cuda.free(buffer), 4);
    assert_eq!(cuda.device_count(&mut 0), 4);
}

#[test]
fn cleared_faults_do_not_strike() {
    let cuda = Cuda::with("fault cudaMalloc 1 2; clear-faults");
    ok(cuda.free(cuda.allocate(16)));
    cuda.finish();
}

#[test]
fn log_tells_which_order_thread_stream_and_result() {
    let cuda = Cuda::with("schedule late");
    let stream = cuda.stream();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("worker".into());
        thread.spawn_scoped(scope, || cuda.stream_query(stream)).unwrap();
    });
    assert_eq!(cuda.host_register(0, 0, 0), 1);
    let calls = cuda.0.calls();
    let [created, queried, registered] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!((created.symbol.as_str(), created.stream, created.result), ("cudaStreamCreateWithFlags", None, Some(0)));
    assert_eq!((queried.symbol.as_str(), queried.stream, queried.result), ("cudaStreamQuery", Some(stream), Some(0)));
    assert_eq!(queried.thread, "worker");
    assert_ne!(queried.tid, created.tid);
    assert_eq!((registered.result, registered.tid), (Some(1), created.tid));
    assert!(created.seq < queried.seq && queried.seq < registered.seq);
    ok(cuda.stream_destroy(stream));
    cuda.0.control("clear-log");
    assert_eq!(cuda.0.calls(), []);
    cuda.finish();
}

#[test]
fn reset_forgets_everything_but_gives_no_handle_out_twice() {
    let cuda = Cuda::with("devices 3; fault cudaMalloc 1 2; driver-version 13000");
    let stream = cuda.stream();
    cuda.0.control("reset");
    let mut count = 0;
    ok(cuda.device_count(&mut count));
    assert_eq!(count, 1);
    ok(cuda.free(cuda.allocate(16)));
    let second = cuda.stream();
    assert_ne!(second, stream);
    ok(cuda.stream_destroy(second));
    cuda.finish();
}

#[test]
fn nonsense_is_not_understood() {
    let cuda = Cuda::with("");
    let nonsense = [
        "schedule never",
        "schedule random:",
        "devices -1",
        "devices 1000",
        "driver maybe",
        "driver code:0",
        "fault cudaMalloc 0 2",
        "fault cudaMalloc 1",
        "fault cudaMalloc 1 2 sometimes",
        "lose 0",
        "reset now",
        "pinned",
    ];
    for commands in nonsense {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cuda.0.control(commands)));
        assert!(result.is_err(), "`{commands}` was understood");
    }
}
