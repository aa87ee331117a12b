//! Contexts: what creates one, what is current, what a device's reset ends.

use testkit::sim::Major;

use crate::support::{Cuda, ok};

fn is_active(cuda: &Cuda, device: i32) -> bool {
    let (mut flags, mut active) = (7, -1);
    ok(cuda.primary_state(device, &mut flags, &mut active));
    active == 1
}

fn current(cuda: &Cuda) -> usize {
    let mut context = 77;
    ok(cuda.ctx_current(&mut context));
    context
}

#[test]
fn queries_create_no_context() {
    let cuda = Cuda::with("devices 2");
    let mut number = 0;
    ok(cuda.device_count(&mut number));
    ok(cuda.get_device(&mut number));
    ok(cuda.attribute(&mut number, 33, 0));
    cuda.filled::<u64, i32>("cudaGetDeviceProperties_v2", 0).unwrap();
    cuda.filled::<u64, usize>("cudaPointerGetAttributes", 4096).unwrap();
    assert!(!is_active(&cuda, 0) && !is_active(&cuda, 1));
    assert_eq!(current(&cuda), 0);
    ok(cuda.event_create(&mut 0));
    assert!(is_active(&cuda, 0) && !is_active(&cuda, 1));
    assert_ne!(current(&cuda), 0);
}

#[test]
fn selecting_a_device_creates_its_context_at_once_from_12_on() {
    for major in Major::ALL {
        let cuda = Cuda::open(major);
        ok(cuda.set_device(0));
        assert_eq!(is_active(&cuda, 0), major != Major::V11, "{major:?}");
        ok(cuda.free(0));
        assert!(is_active(&cuda, 0));
    }
}

#[test]
fn thread_without_a_context_gets_one_by_any_call_that_needs_one() {
    let cuda = Cuda::with("devices 2");
    ok(cuda.set_device(1));
    let stream = cuda.stream();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(current(&cuda), 0);
            assert!(!is_active(&cuda, 0));
            ok(cuda.stream_query(stream));
            assert!(is_active(&cuda, 0), "a query of device 1's stream created a context on device 0");
            assert_ne!(current(&cuda), 0);
        });
    });
    ok(cuda.stream_destroy(stream));
    cuda.finish();
}

#[test]
fn driver_calls_want_it_initialised() {
    let cuda = Cuda::with("driver-version 11040");
    assert_eq!(cuda.ctx_current(&mut 0), 3);
    assert_eq!(cuda.device_count(&mut 0), 35, "too old for the runtime");
    assert_eq!(cuda.cu_init(1), 1);
    ok(cuda.cu_init(0));
    assert_eq!(current(&cuda), 0);
}

#[test]
fn selecting_a_device_drops_a_pushed_context() {
    let cuda = Cuda::with("devices 2");
    let (mut pushed, mut device) = (0, -1);
    ok(cuda.cu_init(0));
    ok(cuda.ctx_create(&mut pushed, 0, 1));
    assert_eq!(current(&cuda), pushed);
    ok(cuda.get_device(&mut device));
    assert_eq!(device, 1);
    ok(cuda.set_device(0));
    assert_ne!(current(&cuda), pushed);
    ok(cuda.get_device(&mut device));
    assert_eq!(device, 0);
    ok(cuda.ctx_destroy(pushed));
    cuda.finish();
}

#[test]
fn contexts_are_pushed_and_popped() {
    let cuda = Cuda::with("devices 2");
    let (mut made, mut popped, mut device, mut context) = (0, 0, -1, 0);
    ok(cuda.cu_init(0));
    assert_eq!(cuda.ctx_pop(&mut popped), 201);
    assert_eq!(cuda.ctx_device(&mut device), 201);
    ok(cuda.set_device(0));
    let primary = current(&cuda);
    ok(cuda.ctx_create(&mut made, 0, 1));
    let stream = cuda.stream();
    ok(cuda.ctx_device(&mut device));
    assert_eq!(device, 1);
    ok(cuda.ctx_pop(&mut popped));
    assert_eq!((popped, current(&cuda)), (made, primary));
    ok(cuda.stream_ctx(stream, &mut context));
    assert_eq!(context, made);
    ok(cuda.ctx_push(made));
    ok(cuda.stream_destroy(stream));
    ok(cuda.ctx_destroy(made));
    assert_eq!(current(&cuda), primary);
    assert_eq!(cuda.ctx_push(made), 709);
    cuda.finish();
}

#[test]
fn primary_context_is_retained_and_released() {
    let cuda = Cuda::with("schedule late");
    let mut context = 0;
    ok(cuda.cu_init(0));
    assert_eq!(cuda.primary_release(0), 201);
    ok(cuda.primary_retain(&mut context, 0));
    assert!(is_active(&cuda, 0));
    assert_eq!(current(&cuda), 0, "retained, not made current");
    assert_eq!(cuda.0.ledger()[0].what, "primary-context");
    ok(cuda.primary_release(0));
    cuda.finish();
}

#[test]
fn reset_ends_what_lives_in_the_context_and_changes_its_id() {
    let cuda = Cuda::with("schedule late");
    let (buffer, stream, _event, _host) = (cuda.allocate(64), cuda.stream(), cuda.event(), cuda.pinned(64));
    let (mut before, mut after, mut ordered, context) = (0, 0, 0, current(&cuda));
    ok(cuda.malloc_async(&mut ordered, 64, stream));
    ok(cuda.ctx_id(context, &mut before));
    ok(cuda.device_reset());
    assert!(!is_active(&cuda, 0));
    assert_eq!(cuda.free(buffer), 1);
    cuda.found("double-free");
    let left: Vec<_> = cuda.0.ledger().into_iter().map(|live| live.what).collect();
    assert_eq!(left, ["stream-ordered-memory"]);
    ok(cuda.free(ordered));
    cuda.found("freed-in-use");
    ok(cuda.ctx_id(current(&cuda), &mut after));
    assert_eq!(current(&cuda), context, "the handle stays");
    assert_ne!(before, after, "the id does not");
    cuda.finish();
}
