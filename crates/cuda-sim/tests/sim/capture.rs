//! Graph capture, and what it forbids.

use crate::support::{Cuda, D2H, LEGACY, ok};

const GLOBAL: i32 = 0;
const THREAD_LOCAL: i32 = 1;
const RELAXED: i32 = 2;

fn status(cuda: &Cuda, stream: usize) -> i32 {
    let mut status = -1;
    ok(cuda.is_capturing(stream, &mut status));
    status
}

/// Runs a call on another thread and gives its result.
fn elsewhere(call: impl FnOnce() -> i32 + Send) -> i32 {
    std::thread::scope(|scope| scope.spawn(call).join().unwrap())
}

#[test]
fn captured_work_does_not_run() {
    let cuda = Cuda::with("schedule early");
    let (host, stream, mut graph) = (cuda.pinned(16), cuda.stream(), 0);
    let device = cuda.allocate(16);
    cuda.write(host, &[1; 16]);
    assert_eq!(status(&cuda, stream), 0);
    ok(cuda.begin_capture(stream, GLOBAL));
    assert_eq!(status(&cuda, stream), 1);
    ok(cuda.memset_async(device, 7, 16, stream));
    ok(cuda.memcpy_async(host, device, 16, D2H, stream));
    ok(cuda.end_capture(stream, &mut graph));
    assert_eq!(status(&cuda, stream), 0);
    ok(cuda.stream_synchronize(stream));
    assert_eq!(cuda.bytes(host, 16), [1; 16]);
    ok(cuda.graph_destroy(graph));
    ok(cuda.stream_destroy(stream));
    ok(cuda.free(device));
    ok(cuda.free_host(host));
    cuda.finish();
}

#[test]
fn unsafe_calls_are_refused_and_spoil_the_capture() {
    let unsafe_calls: [fn(&Cuda, usize) -> i32; 5] = [
        |cuda, _| cuda.malloc(&mut 0, 16),
        |cuda, _| cuda.free(0),
        |cuda, _| cuda.host_register(4096, 4096, 0),
        |cuda, event| cuda.event_query(event),
        |cuda, event| cuda.event_synchronize(event),
    ];
    for call in unsafe_calls {
        let cuda = Cuda::with("schedule late");
        let (stream, event) = (cuda.stream(), cuda.event());
        ok(cuda.begin_capture(stream, GLOBAL));
        assert_eq!(elsewhere(|| call(&cuda, event)), 900);
        assert_eq!(status(&cuda, stream), 2);
        assert_eq!(cuda.memset_async(0, 0, 0, stream), 0, "nothing to note");
        assert_eq!(cuda.event_record(event, stream), 901);
        assert_eq!(cuda.end_capture(stream, &mut 0), 901);
        assert_eq!(status(&cuda, stream), 0);
    }
}

#[test]
fn modes_decide_whom_a_capture_concerns() {
    // Mode of the capture, mode of the other thread, what the other gets, what the own thread gets.
    let cases = [
        (GLOBAL, GLOBAL, 900, 900),
        (GLOBAL, THREAD_LOCAL, 0, 900),
        (GLOBAL, RELAXED, 0, 900),
        (THREAD_LOCAL, GLOBAL, 0, 900),
        (RELAXED, GLOBAL, 0, 0),
    ];
    for (capture, thread, other, own) in cases {
        let cuda = Cuda::with("schedule late");
        let stream = cuda.stream();
        ok(cuda.begin_capture(stream, capture));
        let got = elsewhere(|| {
            let mut mode = thread;
            ok(cuda.exchange_capture_mode(&mut mode));
            assert_eq!(mode, GLOBAL, "the default");
            cuda.free(0)
        });
        assert_eq!(got, other, "capture {capture}, thread {thread}");
        assert_eq!(cuda.free(0), own, "capture {capture}");
    }
}

#[test]
fn relaxed_thread_may_do_what_it_likes_until_it_pops_the_mode() {
    let cuda = Cuda::with("schedule late");
    let (stream, event, mut mode) = (cuda.stream(), cuda.event(), RELAXED);
    ok(cuda.begin_capture(stream, GLOBAL));
    ok(cuda.exchange_capture_mode(&mut mode));
    ok(cuda.event_query(event));
    ok(cuda.exchange_capture_mode(&mut mode));
    assert_eq!(mode, RELAXED);
    assert_eq!(cuda.event_query(event), 900);
    mode = 3;
    assert_eq!(cuda.exchange_capture_mode(&mut mode), 1);
}

#[test]
fn capturing_stream_cannot_be_waited_for_or_asked() {
    let calls: [fn(&Cuda, usize) -> i32; 3] = [
        |cuda, stream| cuda.stream_synchronize(stream),
        |cuda, stream| cuda.stream_query(stream),
        |cuda, _| cuda.device_synchronize(),
    ];
    for call in calls {
        let cuda = Cuda::with("schedule late");
        let stream = cuda.stream();
        ok(cuda.begin_capture(stream, RELAXED));
        assert_eq!(call(&cuda, stream), 900);
        assert_eq!(cuda.end_capture(stream, &mut 0), 901);
    }
}

#[test]
fn legacy_stream_is_out_of_bounds_while_a_blocking_stream_captures() {
    let cuda = Cuda::with("schedule late");
    let (device, stream) = (cuda.allocate(16), cuda.blocking_stream());
    ok(cuda.begin_capture(stream, RELAXED));
    assert_eq!(cuda.is_capturing(LEGACY, &mut 0), 906);
    assert_eq!(cuda.end_capture(stream, &mut 0), 901);
    ok(cuda.begin_capture(stream, RELAXED));
    assert_eq!(cuda.memset(device, 0, 16), 906);
    assert_eq!(cuda.end_capture(stream, &mut 0), 901);
    assert_eq!(cuda.begin_capture(LEGACY, GLOBAL), 900);
}

#[test]
fn events_carry_a_capture_to_other_streams() {
    let cuda = Cuda::with("schedule late");
    let (origin, fork, mut graph) = (cuda.stream(), cuda.stream(), 0);
    ok(cuda.begin_capture(origin, GLOBAL));
    ok(cuda.stream_wait_event(fork, cuda.mark(origin), 0));
    assert_eq!(status(&cuda, fork), 1);
    assert_eq!(cuda.end_capture(fork, &mut graph), 903);
    assert_eq!(cuda.end_capture(origin, &mut graph), 901, "spoilt by the attempt");
    assert_eq!(status(&cuda, fork), 0);
}

#[test]
fn forked_work_must_be_joined() {
    let cuda = Cuda::with("schedule late");
    let (device, origin, fork, mut graph) = (cuda.allocate(16), cuda.stream(), cuda.stream(), 0);
    let fork_off = |cuda: &Cuda| {
        ok(cuda.begin_capture(origin, GLOBAL));
        ok(cuda.stream_wait_event(fork, cuda.mark(origin), 0));
        ok(cuda.memset_async(device, 1, 16, fork));
    };
    fork_off(&cuda);
    assert_eq!(cuda.end_capture(origin, &mut graph), 904);
    fork_off(&cuda);
    ok(cuda.stream_wait_event(origin, cuda.mark(fork), 0));
    ok(cuda.end_capture(origin, &mut graph));
    ok(cuda.graph_destroy(graph));
}

#[test]
fn capture_does_not_mix_with_what_is_outside() {
    let cuda = Cuda::with("schedule late");
    let (one, other) = (cuda.stream(), cuda.stream());
    let outside = cuda.mark(other);
    ok(cuda.begin_capture(one, RELAXED));
    assert_eq!(cuda.stream_wait_event(one, outside, 0), 905);
    assert_eq!(cuda.end_capture(one, &mut 0), 901);

    ok(cuda.begin_capture(one, RELAXED));
    let within = cuda.mark(one);
    assert_eq!(cuda.event_query(within), 907);
    assert_eq!(cuda.end_capture(one, &mut 0), 901);

    ok(cuda.begin_capture(one, RELAXED));
    ok(cuda.begin_capture(other, RELAXED));
    assert_eq!(cuda.stream_wait_event(other, cuda.mark(one), 0), 902);
}

#[test]
fn capture_ends_on_the_thread_that_began_it_unless_relaxed() {
    for (mode, code) in [(GLOBAL, 908), (THREAD_LOCAL, 908), (RELAXED, 0)] {
        let cuda = Cuda::with("schedule late");
        let stream = cuda.stream();
        assert_eq!(cuda.end_capture(stream, &mut 0), 1, "not capturing");
        ok(cuda.begin_capture(stream, mode));
        assert_eq!(cuda.begin_capture(stream, mode), 1, "capturing already");
        assert_eq!(elsewhere(|| cuda.end_capture(stream, &mut 0)), code);
    }
}
