//! What is used after its end, ended twice, ended too early, or never.

use std::ffi::c_void;
use std::ptr;

use crate::external;
use crate::support::{CHILD, Cuda, D2D, D2H, H2D, Pages, aborts, alone, child_is, is_child, ok, run_child, stderr};

macro_rules! aborting {
    ($($name:ident: $kind:literal, $wrong:expr;)*) => {
        $(#[test]
        fn $name() {
            aborts(concat!("lifetimes::", stringify!($name)), $kind, || $wrong(&Cuda::with("schedule late")));
        })*
    };
}

aborting! {
    copy_from_freed_memory: "use-after-free", |cuda: &Cuda| {
        let (buffer, other, stream) = (cuda.allocate(64), cuda.allocate(64), cuda.stream());
        ok(cuda.free(buffer));
        cuda.memcpy_async(other, buffer + 8, 8, D2D, stream);
    };
    fill_of_memory_freed_in_order: "use-after-free", |cuda: &Cuda| {
        let (stream, mut buffer) = (cuda.stream(), 0);
        ok(cuda.malloc_async(&mut buffer, 64, stream));
        ok(cuda.free_async(buffer, stream));
        cuda.memset_async(buffer, 0, 64, stream);
    };
    attributes_of_memory_freed_in_order: "use-after-free", |cuda: &Cuda| {
        let (stream, mut buffer) = (cuda.stream(), 0);
        ok(cuda.malloc_async(&mut buffer, 64, stream));
        ok(cuda.free_async(buffer, stream));
        let _ = cuda.filled::<u64, usize>("cudaPointerGetAttributes", buffer);
    };
    use_of_a_dead_alias: "use-after-free", |cuda: &Cuda| {
        cuda.0.control("pinned different");
        let (host, stream, mut alias) = (cuda.pinned(64), cuda.stream(), 0);
        ok(cuda.host_device_pointer(&mut alias, host, 0));
        ok(cuda.free_host(host));
        cuda.memset_async(alias, 0, 64, stream);
    };
    use_of_a_destroyed_stream: "use-after-destroy", |cuda: &Cuda| {
        let stream = cuda.stream();
        ok(cuda.stream_destroy(stream));
        cuda.stream_synchronize(stream);
    };
    use_of_a_destroyed_event: "use-after-destroy", |cuda: &Cuda| {
        let event = cuda.event();
        ok(cuda.event_destroy(event));
        cuda.event_query(event);
    };
    event_destroyed_twice: "use-after-destroy", |cuda: &Cuda| {
        let event = cuda.event();
        ok(cuda.event_destroy(event));
        cuda.event_destroy(event);
    };
    graph_destroyed_twice: "use-after-destroy", |cuda: &Cuda| {
        let (stream, mut graph) = (cuda.stream(), 0);
        ok(cuda.begin_capture(stream, 0));
        ok(cuda.end_capture(stream, &mut graph));
        ok(cuda.graph_destroy(graph));
        cuda.graph_destroy(graph);
    };
    import_destroyed_twice: "use-after-destroy", |cuda: &Cuda| {
        let (memory, buffer) = external::import(cuda, 4096);
        ok(cuda.free(buffer));
        ok(cuda.destroy_external(memory));
        cuda.destroy_external(memory);
    };
    use_of_a_buffer_whose_import_is_gone: "use-after-destroy", |cuda: &Cuda| {
        let ((memory, buffer), stream) = (external::import(cuda, 4096), cuda.stream());
        ok(cuda.destroy_external(memory));
        cuda.memset_async(buffer, 0, 16, stream);
    };
    stream_used_after_a_reset: "use-after-destroy", |cuda: &Cuda| {
        let stream = cuda.stream();
        ok(cuda.device_reset());
        cuda.stream_query(stream);
    };
}

#[test]
fn handle_that_never_was_is_refused() {
    let cuda = Cuda::with("schedule late");
    let event = cuda.event();
    for handle in [0xdead_0000, event] {
        assert_eq!(cuda.stream_synchronize(handle), 400);
        assert_eq!(cuda.stream_destroy(handle), 400);
    }
    assert_eq!(cuda.event_query(0xdead_0000), 400);
    assert_eq!(cuda.destroy_external(0xdead_0000), 400);
    for special in [0, 1, 2] {
        assert_eq!(cuda.stream_destroy(special), 400);
    }
    ok(cuda.event_destroy(event));
    cuda.finish();
}

#[test]
fn double_free_is_an_error_and_a_finding() {
    let cuda = Cuda::with("schedule late");
    let buffer = cuda.allocate(64);
    ok(cuda.free(buffer));
    assert_eq!(cuda.free(buffer), 1);
    let message = cuda.found("double-free").message;
    assert!(message.contains("cudaMalloc") && message.contains("cudaFree"), "{message}");
    assert_eq!(cuda.free(0x1000), 1, "an error, but nothing to find");
    cuda.finish();
}

#[test]
fn buffers_are_freed_before_their_import_is_destroyed() {
    let cuda = Cuda::with("schedule late");
    let (memory, buffer) = external::import(&cuda, 4096);
    ok(cuda.destroy_external(memory));
    cuda.found("destroy-while-mapped");
    ok(cuda.free(buffer));
    cuda.found("free-after-destroy");
    let (memory, buffer) = external::import(&cuda, 4096);
    ok(cuda.free(buffer));
    ok(cuda.destroy_external(memory));
    cuda.finish();
}

/// Pages that a copy still reads, as far as the host knows; `wait` may wait for it.
fn unregister_after(wait: impl Fn(&Cuda, usize)) -> Vec<String> {
    let cuda = Cuda::with("schedule early");
    let (pages, device, stream) = (Pages::new(4096), cuda.allocate(4096), cuda.stream());
    ok(cuda.host_register(pages.address, 4096, 0));
    ok(cuda.memcpy_async(device, pages.address, 4096, H2D, stream));
    wait(&cuda, stream);
    ok(cuda.host_unregister(pages.address));
    cuda.kinds()
}

#[test]
fn pages_are_unregistered_after_their_last_use() {
    assert_eq!(unregister_after(|_, _| {}), ["freed-in-use"]);
    assert_eq!(unregister_after(|cuda, stream| ok(cuda.stream_synchronize(stream))), [""; 0]);
    assert_eq!(unregister_after(|cuda, stream| ok(cuda.event_synchronize(cuda.mark(stream)))), [""; 0]);
    assert_eq!(unregister_after(|cuda, stream| ok(cuda.event_query(cuda.mark(stream)))), [""; 0]);
}

#[test]
fn pinned_memory_is_freed_after_its_last_use() {
    for waits in [false, true] {
        let cuda = Cuda::with("schedule late");
        let (host, device, stream) = (cuda.pinned(4096), cuda.allocate(4096), cuda.stream());
        ok(cuda.memcpy_async(host, device, 4096, D2H, stream));
        if waits {
            ok(cuda.stream_synchronize(stream));
        }
        ok(cuda.free_host(host));
        let expected: &[&str] = if waits { &[] } else { &["freed-in-use"] };
        assert_eq!(cuda.kinds(), expected);
    }
}

#[test]
fn plain_free_of_stream_ordered_memory_does_not_wait() {
    for waits in [false, true] {
        let cuda = Cuda::with("schedule late");
        let (stream, mut buffer) = (cuda.stream(), 0);
        ok(cuda.malloc_async(&mut buffer, 64, stream));
        if waits {
            ok(cuda.stream_synchronize(stream));
        }
        ok(cuda.free(buffer));
        let expected: &[&str] = if waits { &[] } else { &["freed-in-use"] };
        assert_eq!(cuda.kinds(), expected);
    }
}

#[test]
fn pages_stay_mapped_while_they_are_registered() {
    alone("lifetimes::pages_stay_mapped_while_they_are_registered", || {
        let cuda = Cuda::with("schedule late");
        let pages = Pages::new(1 << 20);
        let address = pages.address;
        ok(cuda.host_register(address, 1 << 20, 0));
        drop(pages);
        ok(cuda.host_unregister(address));
        cuda.found("unmapped-while-registered");
    });
}

#[test]
fn pages_stay_mapped_while_work_uses_them() {
    alone("lifetimes::pages_stay_mapped_while_work_uses_them", || {
        let cuda = Cuda::with("schedule late");
        let (pages, device, stream) = (Pages::new(1 << 20), cuda.allocate(64), cuda.stream());
        ok(cuda.host_register(pages.address, 1 << 20, 0));
        ok(cuda.memcpy_async(pages.address, device, 64, D2H, stream));
        drop(pages);
        ok(cuda.stream_synchronize(stream));
        cuda.found("unmapped-in-use");
    });
}

#[test]
fn ledger_lists_what_lives_and_who_made_it() {
    let cuda = Cuda::with("schedule late");
    let (buffer, stream) = (cuda.allocate(64), cuda.stream());
    let ledger = cuda.0.ledger();
    let [memory, second] = ledger.as_slice() else { panic!("{ledger:?}") };
    assert_eq!((memory.what.as_str(), memory.handle, memory.bytes), ("device-memory", buffer, 64));
    assert!(memory.made.contains("cudaMalloc"), "{memory:?}");
    assert_eq!((second.what.as_str(), second.handle), ("stream", stream));
    ok(cuda.stream_destroy(stream));
    ok(cuda.free(buffer));
    cuda.finish();
}

#[test]
fn process_that_leaks_fails_at_its_end() {
    if is_child() {
        let cuda = Cuda::with("schedule late");
        let buffer = cuda.allocate(64);
        if child_is("tidy") {
            ok(cuda.free(buffer));
        }
        return;
    }
    let name = "lifetimes::process_that_leaks_fails_at_its_end";
    let leaky = run_child(name, &[("EDGEFIRST_CUDA_SIM", "fail-at-exit")]);
    assert_eq!(leaky.status.code(), Some(86), "{leaky:?}");
    assert!(stderr(&leaky).contains("finding leak: device-memory"), "{}", stderr(&leaky));
    let tidy = run_child(name, &[("EDGEFIRST_CUDA_SIM", "fail-at-exit"), (CHILD, "tidy")]);
    assert_eq!(tidy.status.code(), Some(0), "{tidy:?}");
}

extern "C" fn nothing(_: *mut c_void) {}

#[test]
fn everything_ended_leaves_nothing() {
    let cuda = Cuda::with("schedule late");
    let (pages, stream) = (Pages::new(4096), cuda.blocking_stream());
    ok(cuda.host_register(pages.address, 4096, 0));
    ok(cuda.launch_host(stream, nothing, ptr::null_mut()));
    ok(cuda.event_destroy(cuda.mark(stream)));
    ok(cuda.stream_synchronize(stream));
    ok(cuda.host_unregister(pages.address));
    ok(cuda.stream_destroy(stream));
    cuda.finish();
}
