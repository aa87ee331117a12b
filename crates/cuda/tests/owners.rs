//! Each owner: what it hands out works, what it refuses, and what is left when any of its calls fails.

#![expect(unsafe_code, reason = "queues copies to device addresses")]

use std::sync::Arc;

use edgefirst_cuda::{
    Code, CopyKind, DeviceBuffer, Error, ExternalMemory, HostAccess, HostRegistration, MappedBuffer, MemoryKind, Pages,
    Runtime,
};
use testkit::{HostPages, Major, Sim};

mod common;

use common::{PAGE, PATIENCE, finish, round_trip, simulated};

#[test]
fn device_memory_is_zeroed_aligned_and_usable() {
    for major in Major::ALL {
        for pools in ["on", "off"] {
            let (sim, runtime) = simulated(major);
            sim.control(&format!("mempools {pools}"));
            let buffer = DeviceBuffer::zeroed(&runtime, 0, 1000).unwrap();
            assert_eq!(buffer.device_ptr().addr() % 256, 0);
            let mut zeros = vec![1_u8; 1000];
            // SAFETY: both have 1000 bytes and live.
            unsafe {
                runtime.copy(zeros.as_mut_ptr().cast(), buffer.device_ptr(), 1000, CopyKind::DeviceToHost, PATIENCE)
            }
            .unwrap();
            assert_eq!(zeros, vec![0; 1000]);
            assert_eq!(round_trip(&sim, &runtime, buffer.device_ptr(), 1000, 7).unwrap(), vec![7; 1000]);
            let attributes = runtime.pointer_attributes(buffer.device_ptr()).unwrap();
            assert_eq!((attributes.kind, attributes.device), (MemoryKind::Device, 0));
            drop(buffer);
            let calls: Vec<String> = sim.calls().into_iter().map(|call| call.symbol).collect();
            assert_eq!(calls.contains(&"cudaMallocAsync".to_owned()), pools == "on", "{calls:?}");
            finish(sim, runtime);
        }
    }
}

#[test]
fn fresh_memory_is_ready_for_every_stream() {
    let (sim, runtime) = simulated(Major::V12);
    let buffer = DeviceBuffer::zeroed(&runtime, 0, PAGE).unwrap();
    assert_eq!(round_trip(&sim, &runtime, buffer.device_ptr(), PAGE, 3).unwrap(), vec![3; PAGE]);
    drop(buffer);
    finish(sim, runtime);
}

#[test]
fn device_memory_refuses_sizes_that_cannot_be() {
    let (sim, runtime) = simulated(Major::V12);
    let total = runtime.device(0).unwrap().total_memory;
    sim.control("clear-log");
    for bytes in [0, usize::MAX, usize::try_from(total).unwrap() + 1] {
        let error = DeviceBuffer::zeroed(&runtime, 0, bytes).unwrap_err();
        assert!(
            matches!(error, Error::Size { value, limit, .. } if value == bytes as u64 && limit == total),
            "{error}"
        );
    }
    let error = DeviceBuffer::zeroed(&runtime, 5, 1).unwrap_err();
    assert_eq!(error.to_string(), "there is no device 5; this runtime has 1");
    assert!(sim.calls().is_empty(), "CUDA saw a request that cannot be");
    finish(sim, runtime);
}

#[test]
fn device_memory_beyond_4_gib() {
    let (sim, runtime) = simulated(Major::V12);
    let bytes = (4 << 30) + 4096;
    let buffer = DeviceBuffer::zeroed(&runtime, 0, bytes).unwrap();
    let end = buffer.device_ptr().wrapping_byte_add(bytes - 16);
    assert_eq!(round_trip(&sim, &runtime, end, 16, 9).unwrap(), [9; 16]);
    drop(buffer);
    finish(sim, runtime);
}

#[test]
fn registered_pages_are_the_same_bytes_for_both() {
    for mode in ["same", "different"] {
        let (sim, runtime) = simulated(Major::V12);
        sim.control(&format!("pinned {mode}"));
        let pages = Arc::new(HostPages::new(2 * PAGE));
        let registration = HostRegistration::new(&runtime, 0, pages.clone(), HostAccess::ReadWrite).unwrap();
        assert_eq!(registration.device_ptr().addr() == pages.as_ptr().addr(), mode == "same");
        assert_eq!(round_trip(&sim, &runtime, registration.device_ptr(), 2 * PAGE, 5).unwrap(), vec![5; 2 * PAGE]);
        // SAFETY: the fill has run, and nobody writes now.
        let host = unsafe { std::slice::from_raw_parts(pages.as_ptr(), 2 * PAGE) };
        assert!(host.iter().all(|&byte| byte == 5), "the host sees other bytes");
        drop(registration);
        finish(sim, runtime);
    }
}

#[test]
fn registration_refuses_what_cannot_be_registered() {
    let (sim, runtime) = simulated(Major::V12);
    let pages = Arc::new(HostPages::new(2 * PAGE));
    let first = HostRegistration::new(&runtime, 0, pages.clone(), HostAccess::ReadWrite).unwrap();
    // Overlapping: 712, and only the first is ever unregistered.
    let error = HostRegistration::new(&runtime, 0, pages.clone(), HostAccess::ReadWrite).unwrap_err();
    assert_eq!(error.code(), Some(Code::HOST_MEMORY_ALREADY_REGISTERED), "{error}");
    let range = |offset, bytes| Arc::new(Part { pages: pages.clone(), offset, bytes });
    let error = HostRegistration::new(&runtime, 0, range(0, 0), HostAccess::ReadWrite).unwrap_err();
    assert!(matches!(error, Error::Size { value: 0, .. }), "{error}");
    let error = HostRegistration::new(&runtime, 0, range(1, 64), HostAccess::ReadWrite).unwrap_err();
    assert!(matches!(error, Error::Unaligned { alignment: PAGE, .. }), "{error}");
    assert_eq!(sim.pending_error(), 0);
    assert_eq!(round_trip(&sim, &runtime, first.device_ptr(), PAGE, 1).unwrap(), vec![1; PAGE]);
    drop(first);
    runtime.flush(PATIENCE).unwrap();
    let ends = sim.calls().into_iter().filter(|call| call.symbol == "cudaHostUnregister").count();
    assert_eq!(ends, 1, "somebody else's registration was ended");
    finish(sim, runtime);
}

#[test]
fn read_only_pages_are_registered_where_the_device_can() {
    let (sim, runtime) = simulated(Major::V12);
    let pages = || Arc::new(HostPages::read_only(PAGE));
    sim.control("host-readonly on");
    drop(HostRegistration::new(&runtime, 0, pages(), HostAccess::Read).unwrap());
    sim.control("host-readonly off");
    let error = HostRegistration::new(&runtime, 0, pages(), HostAccess::Read).unwrap_err();
    assert_eq!(error.to_string(), "device 0 does not support registering read-only host memory");
    let error = HostRegistration::new(&runtime, 0, pages(), HostAccess::ReadWrite).unwrap_err();
    assert!(matches!(error, Error::Call(_)), "{error}");
    assert_eq!(sim.pending_error(), 0);
    finish(sim, runtime);
}

#[test]
fn a_mapped_buffer_is_the_exporters_bytes() {
    for major in Major::ALL {
        let (sim, runtime) = simulated(major);
        let memory = ExternalMemory::import_fd(&runtime, 0, sim.export_fd(3 * PAGE), 3 * PAGE as u64, false).unwrap();
        let memory = Arc::new(memory);
        let whole = MappedBuffer::map(memory.clone(), 0, 3 * PAGE).unwrap();
        let part = MappedBuffer::map(memory, PAGE as u64, PAGE).unwrap();
        assert_eq!(round_trip(&sim, &runtime, part.device_ptr(), PAGE, 3).unwrap(), vec![3; PAGE]);
        let mut all = vec![9_u8; 3 * PAGE];
        // SAFETY: both have this many bytes and live.
        unsafe {
            runtime.copy(all.as_mut_ptr().cast(), whole.device_ptr(), all.len(), CopyKind::DeviceToHost, PATIENCE)
        }
        .unwrap();
        assert!(all[..PAGE].iter().chain(&all[2 * PAGE..]).all(|&byte| byte == 0));
        assert!(all[PAGE..2 * PAGE].iter().all(|&byte| byte == 3));
        drop((whole, part));
        finish(sim, runtime);
    }
}

#[test]
fn a_buffer_beyond_its_import_is_refused_before_cuda_is_asked() {
    let (sim, runtime) = simulated(Major::V12);
    for (offset, bytes) in [(0, 0), (0, PAGE + 1), (1, PAGE), (u64::MAX, 1), (u64::MAX, usize::MAX)] {
        let memory = ExternalMemory::import_fd(&runtime, 0, sim.export_fd(PAGE), PAGE as u64, false).unwrap();
        sim.control("clear-log");
        let error = MappedBuffer::map(memory, offset, bytes).unwrap_err();
        assert!(matches!(error, Error::Size { limit, .. } if limit == PAGE as u64), "{error}");
        assert!(!sim.calls().iter().any(|call| call.symbol == "cudaExternalMemoryGetMappedBuffer"));
    }
    finish(sim, runtime);
}

#[test]
fn a_runtime_without_a_group_loses_that_feature_alone() {
    let whole = Sim::open(Major::V12);
    // The linked-in table answers every symbol but one.
    let resolver = lacking(&whole, c"cudaHostGetDevicePointer");
    let runtime = Runtime::from_resolver(resolver).unwrap();
    let error = HostRegistration::new(&runtime, 0, Arc::new(HostPages::new(PAGE)), HostAccess::ReadWrite).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this CUDA runtime has no cudaHostGetDevicePointer, so host registration is not available; a newer runtime has it"
    );
    assert_eq!(DeviceBuffer::zeroed(&runtime, 0, 10).unwrap().len(), 10);
    finish(whole, runtime);
}

/// The functions of a copy but for one.
fn lacking(sim: &Sim, missing: &'static std::ffi::CStr) -> edgefirst_cuda::Resolver {
    use std::ffi::{CStr, c_void};
    use std::sync::OnceLock;
    // A resolver has no state of its own, so the copy's address finder is kept for the process.
    static SOURCE: OnceLock<(libloading::os::unix::Library, &'static CStr)> = OnceLock::new();
    fn resolve(name: &CStr) -> *const c_void {
        let Some((library, missing)) = SOURCE.get() else { return std::ptr::null() };
        if name == *missing {
            return std::ptr::null();
        }
        // SAFETY: an address is asked for.
        let symbol = unsafe { library.get::<*const c_void>(name.to_bytes_with_nul()) };
        symbol.map_or(std::ptr::null(), |symbol| symbol.into_raw().cast_const())
    }
    // SAFETY: the simulator is loaded already; this is a second reference to it.
    let library = unsafe { libloading::os::unix::Library::new(sim.path()) }.expect("loaded before");
    assert!(SOURCE.set((library, missing)).is_ok(), "one test alone uses this");
    // SAFETY: the simulator's functions have NVIDIA's signatures and stay loaded.
    unsafe { edgefirst_cuda::Resolver::new("a runtime that lacks a symbol", resolve) }
}

/// A part of somebody's pages.
#[derive(Debug)]
struct Part {
    pages: Arc<HostPages>,
    offset: usize,
    bytes: usize,
}

// SAFETY: within pages that live as long.
unsafe impl Pages for Part {
    fn as_ptr(&self) -> *mut u8 {
        self.pages.as_ptr().wrapping_add(self.offset)
    }

    fn len(&self) -> usize {
        self.bytes
    }
}
