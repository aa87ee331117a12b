//! Device memory, pinned memory, pointers, directions.

use edgefirst_cuda_sim::abi::v12::PointerAttributes;

use crate::support::{BY_POINTERS, Cuda, D2D, D2H, H2D, Pages, at, dies, follow, ok};

const READ_ONLY: u32 = 8;

#[test]
fn host_that_follows_a_device_pointer_faults() {
    let name = "memory::host_that_follows_a_device_pointer_faults";
    dies(name, libc::SIGSEGV, "", || {
        let cuda = Cuda::with("schedule early");
        follow(cuda.allocate(64));
    });
}

#[test]
fn device_memory_begins_as_garbage_aligned_to_256_and_no_more() {
    let cuda = Cuda::with("schedule late");
    for bytes in [1, 100, 4096] {
        let address = cuda.allocate(bytes);
        assert_eq!(address % 512, 256);
        assert_ne!(cuda.contents(address, bytes), vec![0; bytes]);
    }
}

#[test]
fn allocation_of_nothing_is_null_and_of_too_much_is_refused() {
    let cuda = Cuda::with("schedule late");
    assert_eq!(cuda.allocate(0), 0);
    ok(cuda.free(0));
    let mut address = 77;
    for bytes in [9usize << 30, usize::MAX, usize::MAX - 4096] {
        assert_eq!(cuda.malloc(&mut address, bytes), 2);
    }
    assert_eq!(address, 77, "the output is untouched");
    let large = cuda.allocate(5 << 30);
    assert_eq!(cuda.malloc(&mut address, 4 << 30), 2, "5 of 8 GiB are taken");
    ok(cuda.memset(large + (4 << 30), 1, 16));
    assert_eq!(cuda.contents(large + (4 << 30), 16), [1; 16]);
    ok(cuda.free(large));
    cuda.finish();
}

#[test]
fn freed_addresses_are_not_given_out_again() {
    let cuda = Cuda::with("schedule late");
    let first = cuda.allocate(64);
    ok(cuda.free(first));
    assert_ne!(cuda.allocate(64), first);
}

#[test]
fn copy_past_the_end_is_refused() {
    let cuda = Cuda::with("schedule late");
    let (device, stream) = (cuda.allocate(64), cuda.stream());
    let host = [0u8; 128];
    assert_eq!(cuda.memcpy_async(device, at(&host), 65, H2D, stream), 1);
    assert_eq!(cuda.memset_async(device + 60, 0, 8, stream), 1);
    assert_eq!(cuda.memset_async(device + 64, 0, 1, stream), 1);
    assert_eq!(cuda.memcpy_async(0, device, 1, D2H, stream), 1);
    ok(cuda.memcpy_async(device + 64, at(&host), 0, H2D, stream));
    assert_eq!(cuda.kinds(), [""; 0]);
}

#[test]
fn pitched_copies_move_rows_and_check_the_pitch() {
    let cuda = Cuda::with("schedule late");
    let (device, stream) = (cuda.allocate(64), cuda.stream());
    ok(cuda.memset_async(device, 0, 64, stream));
    let source: Vec<u8> = (1..=12).collect();
    ok(cuda.memcpy_2d_async(device, 16, at(&source), 4, 3, 3, H2D, stream));
    ok(cuda.stream_synchronize(stream));
    let bytes = cuda.contents(device, 36);
    assert_eq!(
        (&bytes[..4], &bytes[16..20], &bytes[32..36]),
        (&[1, 2, 3, 0][..], &[5, 6, 7, 0][..], &[9, 10, 11, 0][..])
    );
    assert_eq!(cuda.memcpy_2d_async(device, 2, at(&source), 4, 3, 3, H2D, stream), 12);
    assert_eq!(cuda.memcpy_2d_async(device, usize::MAX, at(&source), 4, 3, 3, H2D, stream), 1);
    assert_eq!(cuda.memcpy_2d_async(device, 16, at(&source), 4, 3, 5, H2D, stream), 1, "the last row is outside");
}

#[test]
fn direction_that_does_not_fit_is_a_finding() {
    let cuda = Cuda::with("pinned different");
    let (device, other, host, stream) = (cuda.allocate(64), cuda.allocate(64), cuda.pinned(64), cuda.stream());
    ok(cuda.memcpy_async(device, other, 64, H2D, stream));
    cuda.found("wrong-direction");
    ok(cuda.stream_synchronize(stream));
    ok(cuda.memset_async(host, 0, 64, stream));
    cuda.found("wrong-direction");
    ok(cuda.stream_synchronize(stream));
    ok(cuda.memcpy_async(host, device, 64, D2D, stream));
    cuda.found("wrong-direction");
    ok(cuda.stream_synchronize(stream));
    let mut alias = 0;
    ok(cuda.host_device_pointer(&mut alias, host, 0));
    ok(cuda.memset_async(alias, 0, 64, stream));
    ok(cuda.memcpy_async(device, alias, 64, D2D, stream));
    ok(cuda.memcpy_async(device, host, 64, H2D, stream));
    ok(cuda.memcpy_async(device, host, 64, BY_POINTERS, stream));
    assert_eq!(cuda.kinds(), [""; 0]);
    assert_eq!(cuda.memcpy_async(device, host, 64, 9, stream), 21);
    let pageable = [0u8; 64];
    assert_eq!(cuda.memset_async(at(&pageable), 0, 64, stream), 1);
}

#[test]
fn pinned_pointer_is_the_hosts_or_another() {
    for (mode, same) in [("pinned same", true), ("pinned different", false)] {
        let cuda = Cuda::with(mode);
        let (pages, stream) = (Pages::new(8192), cuda.stream());
        let mut device = 0;
        ok(cuda.host_register(pages.address, 8192, 0));
        ok(cuda.host_device_pointer(&mut device, pages.address + 100, 0));
        assert_eq!(device == pages.address + 100, same, "{mode}");
        ok(cuda.memset_async(device, 9, 4, stream));
        ok(cuda.stream_synchronize(stream));
        assert_eq!(cuda.bytes(pages.address + 99, 6), [0, 9, 9, 9, 9, 0], "{mode}");
        let mut equal = -1;
        ok(cuda.attribute(&mut equal, 91, 0));
        assert_eq!(equal == 1, same, "{mode}");
        ok(cuda.host_unregister(pages.address));
        ok(cuda.stream_destroy(stream));
        cuda.finish();
    }
}

#[test]
fn registration_is_checked() {
    let cuda = Cuda::with("schedule late");
    let (pages, read_only) = (Pages::new(16384), Pages::new(4096).read_only());
    let address = pages.address;
    assert_eq!(cuda.host_register(address, 0, 0), 1);
    assert_eq!(cuda.host_register(0, 4096, 0), 1);
    assert_eq!(cuda.host_register(4096, 4096, 0), 1, "not mapped");
    assert_eq!(cuda.host_register(address, 4096, 64), 1, "unknown flag");
    assert_eq!(cuda.host_unregister(address), 713);
    ok(cuda.host_register(address, 8192, 0));
    assert_eq!(cuda.host_register(address, 8192, 0), 712);
    assert_eq!(cuda.host_register(address + 4096, 8192, 0), 712);
    assert_eq!(cuda.host_unregister(address + 4096), 713);
    ok(cuda.host_register(address + 8192, 4096, 0));
    assert_eq!(cuda.host_register(read_only.address, 4096, 0), 1);
    ok(cuda.host_register(read_only.address, 4096, READ_ONLY));
    ok(cuda.host_unregister(read_only.address));
    cuda.0.control("host-readonly off");
    assert_eq!(cuda.host_register(read_only.address, 4096, READ_ONLY), 801);
    ok(cuda.host_unregister(address));
    ok(cuda.host_unregister(address + 8192));
    assert_eq!(cuda.host_unregister(address), 713);
    assert_eq!(cuda.host_device_pointer(&mut 0, address, 0), 1);
    cuda.finish();
}

#[test]
fn write_to_pages_registered_read_only_is_a_finding() {
    let cuda = Cuda::with("schedule late");
    let (pages, device, stream) = (Pages::new(4096).read_only(), cuda.allocate(16), cuda.stream());
    ok(cuda.host_register(pages.address, 4096, READ_ONLY));
    ok(cuda.memcpy_async(device, pages.address, 16, H2D, stream));
    ok(cuda.stream_synchronize(stream));
    assert_eq!(cuda.kinds(), [""; 0]);
    ok(cuda.memcpy_async(pages.address, device, 16, D2H, stream));
    ok(cuda.stream_synchronize(stream));
    cuda.found("write-to-read-only");
    ok(cuda.memset_async(pages.address, 0, 16, stream));
    cuda.found("write-to-read-only");
}

#[test]
fn host_memory_is_freed_by_its_own_function() {
    let cuda = Cuda::with("schedule late");
    let (host, pages) = (cuda.pinned(64), Pages::new(4096));
    ok(cuda.host_register(pages.address, 4096, 0));
    assert_eq!(cuda.free(host), 1);
    assert_eq!(cuda.host_unregister(host), 1);
    assert_eq!(cuda.free_host(pages.address), 1);
    assert_eq!(cuda.host_alloc(&mut 0, 64, 8), 1);
    ok(cuda.free_host(host));
    ok(cuda.free_host(0));
    ok(cuda.host_unregister(pages.address));
    cuda.finish();
}

#[test]
fn pointer_attributes_tell_what_a_pointer_is() {
    let cuda = Cuda::with("devices 2; pinned different");
    ok(cuda.set_device(1));
    let (device, host) = (cuda.allocate(64), cuda.pinned(64));
    let of = |address: usize| cuda.filled::<PointerAttributes, _>("cudaPointerGetAttributes", address).unwrap();
    let attributes = of(device + 10);
    assert_eq!((attributes.kind, attributes.device), (2, 1));
    assert_eq!((attributes.device_pointer.addr(), attributes.host_pointer.addr()), (device + 10, 0));
    let (attributes, mut alias) = (of(host + 5), 0);
    ok(cuda.host_device_pointer(&mut alias, host, 0));
    assert_eq!((attributes.kind, attributes.device), (1, 1));
    assert_eq!((attributes.device_pointer.addr(), attributes.host_pointer.addr()), (alias + 5, host + 5));
    assert_eq!(of(alias + 5).host_pointer.addr(), host + 5);
    assert_eq!(of(at(&[0u8])).kind, 0);
    ok(cuda.free(device));
    assert_eq!(of(device).kind, 0);
    assert_eq!(cuda.kinds(), [""; 0]);
}

#[test]
fn without_memory_pools_stream_ordered_allocation_is_not_supported() {
    let cuda = Cuda::with("mempools off");
    let (stream, mut supported) = (cuda.stream(), -1);
    ok(cuda.attribute(&mut supported, 115, 0));
    assert_eq!(supported, 0);
    assert_eq!(cuda.malloc_async(&mut 0, 64, stream), 801);
}

#[test]
fn stream_ordered_memory_lives_from_its_allocation_to_its_free() {
    let cuda = Cuda::with("schedule late");
    let (stream, mut address) = (cuda.stream(), 0);
    ok(cuda.malloc_async(&mut address, 64, stream));
    ok(cuda.memset_async(address, 3, 64, stream));
    let host = cuda.pinned(64);
    ok(cuda.memcpy_async(host, address, 64, D2H, stream));
    ok(cuda.free_async(address, stream));
    ok(cuda.stream_synchronize(stream));
    assert_eq!(cuda.bytes(host, 64), [3; 64]);
    assert_eq!(cuda.free_async(cuda.allocate(16), stream), 1, "not stream-ordered");
    assert_eq!(cuda.kinds(), [""; 0]);
}
