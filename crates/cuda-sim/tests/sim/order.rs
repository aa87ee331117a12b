//! The happens-before checker: what nothing orders is found, in every schedule.

use crate::support::{BY_POINTERS, Cuda, D2D, D2H, H2D, LEGACY, at, ok};

const SCHEDULES: [&str; 5] =
    ["schedule late", "schedule early", "schedule random:1", "schedule random:2", "schedule random:3"];

/// Two streams write one buffer; `order` is to order them.
fn two_writers(schedule: &str, order: impl Fn(&Cuda, usize, usize)) -> Vec<String> {
    let cuda = Cuda::with(schedule);
    let (buffer, first, second) = (cuda.allocate(4096), cuda.stream(), cuda.stream());
    ok(cuda.memset_async(buffer, 1, 4096, first));
    order(&cuda, first, second);
    ok(cuda.memset_async(buffer, 2, 4096, second));
    ok(cuda.device_synchronize());
    let kinds = cuda.kinds();
    ok(cuda.stream_destroy(first));
    ok(cuda.stream_destroy(second));
    ok(cuda.free(buffer));
    cuda.finish();
    kinds
}

#[test]
fn missing_wait_between_streams_is_a_race_in_every_schedule() {
    for schedule in SCHEDULES {
        assert_eq!(two_writers(schedule, |_, _, _| {}), ["race"], "{schedule}");
    }
}

#[test]
fn event_orders_two_streams() {
    let wait = |cuda: &Cuda, first: usize, second: usize| {
        let event = cuda.mark(first);
        ok(cuda.stream_wait_event(second, event, 0));
        ok(cuda.event_destroy(event));
    };
    for schedule in SCHEDULES {
        assert_eq!(two_writers(schedule, wait), [""; 0], "{schedule}");
    }
}

#[test]
fn event_recorded_too_early_orders_nothing() {
    let cuda = Cuda::with("schedule early");
    let (buffer, first, second) = (cuda.allocate(64), cuda.stream(), cuda.stream());
    let event = cuda.mark(first);
    ok(cuda.memset_async(buffer, 1, 64, first));
    ok(cuda.stream_wait_event(second, event, 0));
    ok(cuda.memset_async(buffer, 2, 64, second));
    cuda.found("race");
}

#[test]
fn waiting_on_the_host_orders_two_streams() {
    for schedule in SCHEDULES {
        let synchronized = two_writers(schedule, |cuda, first, _| ok(cuda.stream_synchronize(first)));
        assert_eq!(synchronized, [""; 0], "{schedule}");
        let queried = two_writers(schedule, |cuda, first, _| while cuda.stream_query(first) != 0 {});
        assert_eq!(queried, [""; 0], "{schedule}");
    }
}

#[test]
fn message_names_both_sides() {
    let cuda = Cuda::with("schedule late");
    let (buffer, first, second) = (cuda.allocate(64), cuda.stream(), cuda.stream());
    ok(cuda.memset_async(buffer, 1, 64, first));
    ok(cuda.memcpy_async(cuda.allocate(16), buffer, 16, D2D, second));
    let message = cuda.found("race").message;
    for part in ["cudaMemsetAsync", "cudaMemcpyAsync", &format!("{first:#x}"), &format!("{second:#x}"), "call 4 "] {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn readers_do_not_race_and_neither_do_neighbours() {
    let cuda = Cuda::with("schedule late");
    let (buffer, first, second) = (cuda.allocate(8192), cuda.stream(), cuda.stream());
    let (to, other) = (cuda.allocate(4096), cuda.allocate(4096));
    ok(cuda.memset(buffer, 0, 8192));
    ok(cuda.device_synchronize());
    ok(cuda.memcpy_async(to, buffer, 4096, D2D, first));
    ok(cuda.memcpy_async(other, buffer, 4096, D2D, second));
    ok(cuda.memset_async(buffer + 4096, 1, 2048, first));
    ok(cuda.memset_async(buffer + 6144, 1, 2048, second));
    assert_eq!(cuda.kinds(), [""; 0]);
}

#[test]
fn tiles_of_one_picture_do_not_race_until_they_overlap() {
    let cuda = Cuda::with("schedule late");
    let (picture, first, second) = (cuda.allocate(100 * 100), cuda.stream(), cuda.stream());
    let tile = cuda.allocate(50 * 100);
    ok(cuda.memset(tile, 0, 50 * 100));
    ok(cuda.device_synchronize());
    ok(cuda.memcpy_2d_async(picture, 100, tile, 50, 50, 100, D2D, first));
    ok(cuda.memcpy_2d_async(picture + 50, 100, tile, 50, 50, 100, D2D, second));
    assert_eq!(cuda.kinds(), [""; 0]);
    ok(cuda.memcpy_2d_async(picture + 49, 100, tile, 50, 1, 100, D2D, second));
    cuda.found("race");
}

#[test]
fn host_access_without_a_wait_is_a_race() {
    for schedule in SCHEDULES {
        let cuda = Cuda::with(schedule);
        let (device, host, stream) = (cuda.allocate(64), cuda.pinned(64), cuda.stream());
        ok(cuda.memset_async(device, 7, 64, stream));
        ok(cuda.memcpy_async(host, device, 64, D2H, stream));
        let memory = std::ptr::without_provenance::<u8>(host);
        cuda.0.host_access(memory, 64, false);
        cuda.found("race");
        ok(cuda.stream_synchronize(stream));
        cuda.0.host_access(memory, 64, false);
        assert_eq!(cuda.kinds(), [""; 0], "{schedule}");
        assert_eq!(cuda.bytes(host, 64), [7; 64]);
    }
}

#[test]
fn host_may_read_what_the_device_only_reads() {
    let cuda = Cuda::with("schedule late");
    let (device, host, stream) = (cuda.allocate(64), cuda.pinned(64), cuda.stream());
    ok(cuda.memcpy_async(device, host, 64, H2D, stream));
    let memory = std::ptr::without_provenance::<u8>(host);
    cuda.0.host_access(memory, 64, false);
    assert_eq!(cuda.kinds(), [""; 0]);
    cuda.0.host_access(memory, 64, true);
    cuda.found("race");
}

#[test]
fn pageable_source_is_read_late() {
    let cuda = Cuda::with("schedule late");
    let (device, stream) = (cuda.allocate(4), cuda.stream());
    let mut source = vec![1u8; 4];
    ok(cuda.memcpy_async(device, at(&source), 4, H2D, stream));
    source.fill(2);
    ok(cuda.stream_synchronize(stream));
    assert!(cuda.found("race").message.contains("changed the source"));
    assert_eq!(cuda.contents(device, 4), [2; 4], "the bytes of the moment at which the copy ran");

    ok(cuda.memcpy_async(device, at(&source), 4, H2D, stream));
    ok(cuda.stream_synchronize(stream));
    source.fill(3);
    assert_eq!(cuda.kinds(), [""; 0]);
}

#[test]
fn legacy_stream_waits_for_blocking_streams_only() {
    let cuda = Cuda::with("schedule late");
    let (buffer, blocking, other) = (cuda.allocate(64), cuda.blocking_stream(), cuda.stream());
    ok(cuda.memset_async(buffer, 1, 64, blocking));
    ok(cuda.memset_async(buffer, 2, 64, LEGACY));
    ok(cuda.memset_async(buffer, 3, 64, blocking));
    ok(cuda.memset_async(buffer, 4, 64, 1));
    ok(cuda.memset_async(buffer, 5, 64, 2));
    ok(cuda.memset_async(buffer, 6, 64, LEGACY));
    assert_eq!(cuda.kinds(), [""; 0]);
    assert_eq!(cuda.contents(buffer, 64), [6; 64]);
    ok(cuda.memset_async(buffer, 7, 64, blocking));
    ok(cuda.memset_async(buffer, 8, 64, 2));
    cuda.found("race");
    ok(cuda.device_synchronize());
    ok(cuda.memset_async(buffer, 6, 64, LEGACY));
    ok(cuda.memset_async(buffer, 7, 64, other));
    cuda.found("race");
}

#[test]
fn destroyed_blocking_stream_still_orders_the_legacy_one() {
    let cuda = Cuda::with("schedule late");
    let (buffer, blocking) = (cuda.allocate(64), cuda.blocking_stream());
    ok(cuda.memset_async(buffer, 1, 64, blocking));
    ok(cuda.stream_destroy(blocking));
    ok(cuda.memset_async(buffer, 2, 64, LEGACY));
    assert_eq!(cuda.contents(buffer, 64), [2; 64]);
    assert_eq!(cuda.kinds(), [""; 0]);
}

#[test]
fn copy_from_pageable_memory_returns_before_the_bytes_have_arrived() {
    let cuda = Cuda::with("schedule late");
    let (buffer, stream) = (cuda.allocate(64), cuda.stream());
    let mut source = vec![5u8; 64];
    ok(cuda.memcpy(buffer, at(&source), 64, H2D));
    source.fill(6);
    ok(cuda.memset_async(buffer + 63, 1, 1, stream));
    cuda.found("race");
    ok(cuda.device_synchronize());
    assert_eq!(cuda.contents(buffer, 8), [5; 8]);
    ok(cuda.memset_async(buffer, 1, 64, stream));
    assert_eq!(cuda.kinds(), [""; 0]);
}

#[test]
fn stream_ordered_memory_is_used_behind_its_allocation() {
    for ordered in [false, true] {
        let cuda = Cuda::with("schedule late");
        let (first, second, mut buffer) = (cuda.stream(), cuda.stream(), 0);
        ok(cuda.malloc_async(&mut buffer, 64, first));
        if ordered {
            ok(cuda.stream_wait_event(second, cuda.mark(first), 0));
        }
        ok(cuda.memset_async(buffer, 1, 64, second));
        let expected: &[&str] = if ordered { &[] } else { &["race"] };
        assert_eq!(cuda.kinds(), expected);
    }
}

#[test]
fn stream_ordered_memory_is_freed_behind_its_uses() {
    for ordered in [false, true] {
        let cuda = Cuda::with("schedule late");
        let (first, second, mut buffer) = (cuda.stream(), cuda.stream(), 0);
        ok(cuda.malloc_async(&mut buffer, 64, first));
        ok(cuda.stream_wait_event(second, cuda.mark(first), 0));
        ok(cuda.memset_async(buffer, 1, 64, second));
        if ordered {
            ok(cuda.stream_wait_event(first, cuda.mark(second), 0));
        }
        ok(cuda.free_async(buffer, first));
        let expected: &[&str] = if ordered { &[] } else { &["race"] };
        assert_eq!(cuda.kinds(), expected);
        ok(cuda.device_synchronize());
    }
}

#[test]
fn host_threads_are_ordered_by_calls_or_not_at_all() {
    for (mode, expected) in [("host-order calls", &[][..]), ("host-order threads", &["race"][..])] {
        let cuda = Cuda::with(mode);
        let (device, host, stream) = (cuda.allocate(64), cuda.pinned(64), cuda.stream());
        ok(cuda.memcpy_async(host, device, 64, BY_POINTERS, stream));
        std::thread::scope(|scope| {
            scope.spawn(|| ok(cuda.stream_synchronize(stream)));
        });
        cuda.0.host_access(std::ptr::without_provenance::<u8>(host), 64, false);
        assert_eq!(cuda.kinds(), expected, "{mode}");
    }
}

#[test]
fn both_addresses_of_pinned_memory_are_one_memory() {
    let cuda = Cuda::with("pinned different");
    let (host, mut alias, one, other) = (cuda.pinned(64), 0, cuda.stream(), cuda.stream());
    let device = cuda.allocate(64);
    ok(cuda.host_device_pointer(&mut alias, host, 0));
    ok(cuda.memset_async(alias, 1, 64, one));
    ok(cuda.memcpy_async(device, host, 64, H2D, other));
    cuda.found("race");
}

#[test]
fn device_wide_wait_covers_destroyed_streams() {
    let cuda = Cuda::with("schedule late");
    let (device, host, stream) = (cuda.allocate(64), cuda.pinned(64), cuda.stream());
    ok(cuda.memcpy_async(host, device, 64, D2H, stream));
    ok(cuda.stream_destroy(stream));
    ok(cuda.device_synchronize());
    cuda.0.host_access(std::ptr::without_provenance::<u8>(host), 64, false);
    assert_eq!(cuda.kinds(), [""; 0]);
}

#[test]
fn blocking_stream_does_not_wait_for_legacy_work_behind_it() {
    let cuda = Cuda::with("schedule late");
    let (device, host, blocking) = (cuda.allocate(64), cuda.pinned(64), cuda.blocking_stream());
    ok(cuda.memcpy_async(host, device, 64, D2H, LEGACY));
    ok(cuda.stream_synchronize(blocking));
    cuda.0.host_access(std::ptr::without_provenance::<u8>(host), 64, false);
    cuda.found("race");
    ok(cuda.stream_synchronize(LEGACY));
    cuda.0.host_access(std::ptr::without_provenance::<u8>(host), 64, false);
    assert_eq!(cuda.kinds(), [""; 0]);
}

#[test]
fn aliases_of_imported_memory_are_one_memory() {
    let cuda = Cuda::with("schedule late");
    let (memory, first) = crate::external::import(&cuda, 8192);
    let second = crate::external::map(&cuda, memory, 4096, 4096);
    let (one, other) = (cuda.stream(), cuda.stream());
    ok(cuda.memset_async(first, 1, 4096, one));
    ok(cuda.memset_async(second, 1, 4096, other));
    assert_eq!(cuda.kinds(), [""; 0]);
    ok(cuda.memset_async(first + 4096, 1, 4096, one));
    cuda.found("race");
}
