//! Memory of other APIs: file descriptors, imports, mapped buffers.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};
use std::ptr;

use edgefirst_cuda_sim::abi::{v12, v13};
use testkit::sim::Major;

use crate::support::{Cuda, Shared, alone, ok};

const OPAQUE_FD: i32 = 1;

fn handle_desc(fd: i32, size: u64) -> v12::ExternalMemoryHandleDesc {
    v12::ExternalMemoryHandleDesc { kind: OPAQUE_FD, padding: 0, fd, name: ptr::null(), size, flags: 0 }
}

/// Memory that the simulator exported, imported and mapped as a whole: the import and the buffer.
pub(crate) fn import(cuda: &Cuda, bytes: usize) -> (usize, usize) {
    let (fd, mut memory) = (cuda.0.export_fd(bytes).into_raw_fd(), 0);
    ok(cuda.import_desc(&mut memory, &handle_desc(fd, bytes as u64)));
    (memory, map(cuda, memory, 0, bytes as u64))
}

/// Part of an import as a buffer.
pub(crate) fn map(cuda: &Cuda, memory: usize, offset: u64, size: u64) -> usize {
    let mut buffer = 0;
    ok(cuda.map_desc(&mut buffer, memory, &v12::ExternalMemoryBufferDesc { offset, size, flags: 0 }));
    buffer
}

/// Whether a descriptor is open and refers to the same file as `like`.
fn is_same_file(fd: i32, like: &OwnedFd) -> bool {
    let link = |fd: i32| std::fs::metadata(format!("/proc/self/fd/{fd}")).ok();
    use std::os::unix::fs::MetadataExt;
    match (link(fd), link(like.as_raw_fd())) {
        (Some(one), Some(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

#[test]
fn import_takes_the_descriptor_over_and_aliases_the_pages() {
    let cuda = Cuda::with("schedule late");
    let exported = cuda.0.export_fd(8192);
    let handed = exported.try_clone().unwrap().into_raw_fd();
    let (mut memory, stream) = (0, cuda.stream());
    ok(cuda.import_desc(&mut memory, &handle_desc(handed, 8192)));
    assert!(!is_same_file(handed, &exported), "the runtime has it and closed it");
    let buffer = map(&cuda, memory, 4096, 4096);
    ok(cuda.memset_async(buffer, 5, 4096, stream));
    ok(cuda.stream_synchronize(stream));
    let mut bytes = vec![0u8; 8192];
    std::os::unix::fs::FileExt::read_exact_at(&File::from(exported), &mut bytes, 0).unwrap();
    assert_eq!((&bytes[..4096], &bytes[4096..]), (&[0; 4096][..], &[5; 4096][..]));
    ok(cuda.free(buffer));
    ok(cuda.destroy_external(memory));
    ok(cuda.stream_destroy(stream));
    cuda.finish();
}

#[test]
fn buffers_of_one_import_are_the_same_bytes() {
    for schedule in ["schedule late", "schedule early"] {
        let cuda = Cuda::with(schedule);
        let (memory, whole) = import(&cuda, 3 * 4096);
        let (part, stream) = (map(&cuda, memory, 4096, 4096), cuda.stream());
        ok(cuda.memset_async(part, 3, 4096, stream));
        ok(cuda.stream_synchronize(stream));
        let bytes = cuda.contents(whole, 3 * 4096);
        let parts: Vec<_> = bytes.chunks(4096).collect();
        assert_eq!(parts, [&[0; 4096][..], &[3; 4096][..], &[0; 4096][..]], "{schedule}");
    }
}

#[test]
fn refused_import_leaves_the_descriptor() {
    let cuda = Cuda::with("schedule late");
    let exported = cuda.0.export_fd(4096);
    let fd = exported.as_raw_fd();
    let good = handle_desc(fd, 4096);
    let refused = [
        handle_desc(fd, 4097),
        handle_desc(fd, 0),
        handle_desc(fd, u64::MAX),
        handle_desc(-1, 4096),
        v12::ExternalMemoryHandleDesc { kind: 9, ..good },
        v12::ExternalMemoryHandleDesc { kind: 0, ..good },
        v12::ExternalMemoryHandleDesc { kind: 5, ..good },
        v12::ExternalMemoryHandleDesc { flags: 2, ..good },
    ];
    let mut memory = 77;
    for desc in &refused {
        assert_eq!(cuda.import_desc(&mut memory, desc), 1, "{desc:?}");
        assert!(is_same_file(fd, &exported));
    }
    assert_eq!(memory, 77, "the output is untouched");
    cuda.finish();
}

#[test]
fn foreign_descriptors_are_refused_until_they_are_adopted() {
    let cuda = Cuda::with("schedule late");
    let file = tempfile::tempfile().unwrap();
    file.set_len(12288).unwrap();
    let desc = handle_desc(file.as_raw_fd(), 8192);
    let mut memory = 0;
    assert_eq!(cuda.import_desc(&mut memory, &desc), 1);
    cuda.0.adopt_fd(file.as_fd(), 4096);
    assert_eq!(cuda.import_desc(&mut memory, &handle_desc(file.as_raw_fd(), 8193)), 1, "data begin at 4096");
    let handed = file.try_clone().unwrap().into_raw_fd();
    ok(cuda.import_desc(&mut memory, &handle_desc(handed, 8192)));
    let (buffer, stream) = (map(&cuda, memory, 0, 16), cuda.stream());
    ok(cuda.memset_async(buffer, 6, 16, stream));
    ok(cuda.stream_synchronize(stream));
    let mut bytes = [0u8; 16];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 4096).unwrap();
    assert_eq!(bytes, [6; 16]);
}

#[test]
fn buffer_must_lie_within_its_import() {
    let cuda = Cuda::with("schedule late");
    let (memory, whole) = import(&cuda, 4096);
    let refused = [(0, 4097), (4096, 1), (1, 4096), (0, 0), (u64::MAX, 2)];
    for (offset, size) in refused {
        let desc = v12::ExternalMemoryBufferDesc { offset, size, flags: 0 };
        assert_eq!(cuda.map_desc(&mut 0, memory, &desc), 1, "{desc:?}");
    }
    let flagged = v12::ExternalMemoryBufferDesc { offset: 0, size: 16, flags: 1 };
    assert_eq!(cuda.map_desc(&mut 0, memory, &flagged), 1);
    ok(cuda.free(whole));
    ok(cuda.destroy_external(memory));
    cuda.finish();
}

#[test]
fn reserved_words_must_be_zero_where_a_version_has_them() {
    let cuda = Cuda::open(Major::V13);
    let fd = cuda.0.export_fd(4096).into_raw_fd();
    let v12::ExternalMemoryHandleDesc { kind, padding, name, size, flags, .. } = handle_desc(fd, 4096);
    let mut desc = v13::ExternalMemoryHandleDesc { kind, padding, fd, name, size, flags, reserved: [0; 16] };
    desc.reserved[15] = 1;
    let (mut memory, mut buffer) = (0, 0);
    ok(cuda.import_desc(&mut memory, &desc));
    cuda.found("nonzero-reserved");
    let mut desc = v13::ExternalMemoryBufferDesc { offset: 0, size: 4096, flags: 0, reserved: [0; 16] };
    desc.reserved[0] = 1;
    ok(cuda.map_desc(&mut buffer, memory, &desc));
    cuda.found("nonzero-reserved");
    desc.reserved[0] = 0;
    ok(cuda.free(buffer));
    ok(cuda.map_desc(&mut buffer, memory, &desc));
    ok(cuda.free(buffer));
    ok(cuda.destroy_external(memory));
    cuda.finish();
}

#[test]
fn older_majors_do_not_read_beyond_their_structures() {
    let cuda = Cuda::with("schedule late");
    let fd = cuda.0.export_fd(4096).into_raw_fd();
    let v12::ExternalMemoryHandleDesc { kind, padding, name, size, flags, .. } = handle_desc(fd, 4096);
    let mut memory = 0;
    ok(cuda.import_desc(
        &mut memory,
        &v13::ExternalMemoryHandleDesc { kind, padding, fd, name, size, flags, reserved: [!0; 16] },
    ));
    ok(cuda.destroy_external(memory));
    cuda.finish();
}

#[test]
fn buffer_is_mapped_on_the_device_of_its_import() {
    let cuda = Cuda::with("devices 2");
    let (memory, first) = import(&cuda, 4096);
    ok(cuda.set_device(1));
    let second = map(&cuda, memory, 0, 16);
    cuda.found("foreign-device");
    for buffer in [first, second] {
        ok(cuda.free(buffer));
    }
    ok(cuda.destroy_external(memory));
    cuda.finish();
}

#[test]
fn thousands_of_imports_leave_nothing_behind() {
    alone("external::thousands_of_imports_leave_nothing_behind", || {
        let cuda = Cuda::with("schedule late");
        let maps = || std::fs::read_to_string("/proc/self/maps").unwrap();
        let mappings = || maps().lines().filter(|line| line.contains("memfd:edgefirst-cuda-sim")).count();
        let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let exported = cuda.0.export_fd(4096);
        import_and_end(&cuda, &exported);
        let before = (descriptors(), mappings());
        for _ in 0..2000 {
            import_and_end(&cuda, &exported);
        }
        assert_eq!((descriptors(), mappings()), before);
        cuda.finish();
    });
}

/// One import that is refused, and one that is mapped and ended.
fn import_and_end(cuda: &Cuda, exported: &OwnedFd) {
    let mut memory = 0;
    let refused = exported.try_clone().unwrap();
    assert_eq!(cuda.import_desc(&mut memory, &handle_desc(refused.as_raw_fd(), 8192)), 1);
    let handed = exported.try_clone().unwrap().into_raw_fd();
    ok(cuda.import_desc(&mut memory, &handle_desc(handed, 4096)));
    ok(cuda.free(map(cuda, memory, 0, 4096)));
    ok(cuda.destroy_external(memory));
}

#[test]
fn scripted_failure_may_close_the_descriptor() {
    let cuda = Cuda::with("fault cudaImportExternalMemory 1 999 close-fd; fault cudaImportExternalMemory 2 999");
    let exported = cuda.0.export_fd(4096);
    let handed = exported.try_clone().unwrap().into_raw_fd();
    assert_eq!(cuda.import_desc(&mut 0, &handle_desc(handed, 4096)), 999);
    assert!(!is_same_file(handed, &exported));
    let kept = exported.try_clone().unwrap();
    assert_eq!(cuda.import_desc(&mut 0, &handle_desc(kept.as_raw_fd(), 4096)), 999);
    assert!(is_same_file(kept.as_raw_fd(), &exported));
    cuda.finish();
}

#[test]
fn host_access_through_the_exporters_mapping_is_ordered_like_any_other() {
    let cuda = Cuda::with("schedule late");
    let exported = cuda.0.export_fd(8192);
    let host = Shared::new(&exported, 8192);
    let mut memory = 0;
    let handed = exported.try_clone().unwrap().into_raw_fd();
    ok(cuda.import_desc(&mut memory, &handle_desc(handed, 8192)));
    let (buffer, stream) = (map(&cuda, memory, 4096, 4096), cuda.stream());
    ok(cuda.memset_async(buffer, 1, 16, stream));
    cuda.0.host_access(ptr::without_provenance::<u8>(host.address), 4096, true);
    assert_eq!(cuda.kinds(), [""; 0], "another part of the file");
    cuda.0.host_access(ptr::without_provenance::<u8>(host.address + 4096), 16, false);
    cuda.found("race");
}
