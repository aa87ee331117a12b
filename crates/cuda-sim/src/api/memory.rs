//! Allocation, registration, and what a pointer is.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::{needs, put};
use crate::abi::{MEMORY_TYPE_DEVICE, MEMORY_TYPE_HOST, MEMORY_TYPE_UNREGISTERED, v12, v13};
use crate::call::{Call, Rule};
use crate::copying::{number, opaque};
use crate::error::Answer;
use crate::memory::{Grave, Miss};
use crate::state::{Major, major};

/// `cudaInvalidDeviceId`
const NO_DEVICE: c_int = -2;

/// `cudaMalloc`
pub unsafe extern "C" fn malloc(out: *mut *mut c_void, bytes: usize) -> c_int {
    Rule::runtime("cudaMalloc").unsafe_in_capture().run(|call| {
        needs(out)?;
        let address = call.allocate(bytes)?;
        // SAFETY: as the caller promised.
        unsafe { put(out, opaque(address)) }
    })
}

/// `cudaFree`
pub unsafe extern "C" fn free(address: *mut c_void) -> c_int {
    Rule::runtime("cudaFree").unsafe_in_capture().run(|call| call.free(number(address)))
}

/// `cudaMallocAsync`
pub unsafe extern "C" fn malloc_async(out: *mut *mut c_void, bytes: usize, stream: *mut c_void) -> c_int {
    Rule::runtime("cudaMallocAsync").on(number(stream)).run(|call| {
        needs(out)?;
        let stream = call.stream(number(stream))?;
        let address = call.allocate_in_order(stream, bytes)?;
        // SAFETY: as the caller promised.
        unsafe { put(out, opaque(address)) }
    })
}

/// `cudaFreeAsync`
pub unsafe extern "C" fn free_async(address: *mut c_void, stream: *mut c_void) -> c_int {
    Rule::runtime("cudaFreeAsync").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        call.free_in_order(stream, number(address))
    })
}

/// `cudaHostAlloc`
pub unsafe extern "C" fn host_alloc(out: *mut *mut c_void, bytes: usize, flags: u32) -> c_int {
    Rule::runtime("cudaHostAlloc").unsafe_in_capture().run(|call| {
        // SAFETY: as the caller promised.
        unsafe { host_memory(call, out, bytes, flags) }
    })
}

/// `cudaMallocHost`
pub unsafe extern "C" fn malloc_host(out: *mut *mut c_void, bytes: usize) -> c_int {
    Rule::runtime("cudaMallocHost").unsafe_in_capture().run(|call| {
        // SAFETY: as the caller promised.
        unsafe { host_memory(call, out, bytes, 0) }
    })
}

unsafe fn host_memory(call: &mut Call, out: *mut *mut c_void, bytes: usize, flags: u32) -> Answer {
    needs(out)?;
    let address = call.allocate_host(bytes, flags)?;
    // SAFETY: as the caller promised. The host may follow this one.
    unsafe { put(out, ptr::with_exposed_provenance_mut(address)) }
}

/// `cudaFreeHost`
pub unsafe extern "C" fn free_host(address: *mut c_void) -> c_int {
    Rule::runtime("cudaFreeHost").unsafe_in_capture().run(|call| call.free_host(number(address)))
}

/// `cudaHostRegister`
pub unsafe extern "C" fn host_register(address: *mut c_void, bytes: usize, flags: u32) -> c_int {
    let rule = Rule::runtime("cudaHostRegister").unsafe_in_capture();
    rule.run(|call| call.register(number(address), bytes, flags))
}

/// `cudaHostUnregister`
pub unsafe extern "C" fn host_unregister(address: *mut c_void) -> c_int {
    Rule::runtime("cudaHostUnregister").unsafe_in_capture().run(|call| call.unregister(number(address)))
}

/// `cudaHostGetDevicePointer`
pub unsafe extern "C" fn host_get_device_pointer(out: *mut *mut c_void, host: *mut c_void, flags: u32) -> c_int {
    Rule::runtime("cudaHostGetDevicePointer").run(|call| {
        let address = call.device_pointer(number(host), flags)?;
        // SAFETY: as the caller promised.
        unsafe { put(out, ptr::with_exposed_provenance_mut(address)) }
    })
}

/// `cudaPointerGetAttributes`
pub unsafe extern "C" fn pointer_get_attributes(out: *mut c_void, address: *const c_void) -> c_int {
    Rule::runtime("cudaPointerGetAttributes").without_context().run(|call| {
        needs(out)?;
        let short = attributes(call, number(address));
        // SAFETY: the caller gave room for the structure of this major; those of 11 and 12 are alike.
        unsafe {
            match major() {
                Major::V11 | Major::V12 => put(out.cast(), short),
                Major::V13 => put(out.cast(), lengthened(short)),
            }
        }
    })
}

fn lengthened(short: v12::PointerAttributes) -> v13::PointerAttributes {
    let v12::PointerAttributes { kind, device, device_pointer, host_pointer } = short;
    let (locality_domain_ordinal, reserved) = (-1, [0; 7]);
    v13::PointerAttributes { kind, device, device_pointer, host_pointer, locality_domain_ordinal, reserved }
}

/// For an address that CUDA knows nothing of, the text defines the type alone; here the device is -2 and both
/// pointers are null.
fn attributes(call: &mut Call, address: usize) -> v12::PointerAttributes {
    let regions = call.memory.regions.range(..=address).next_back();
    if let Some((_, region)) = regions.filter(|(start, region)| address - *start < region.bytes) {
        return v12::PointerAttributes {
            kind: MEMORY_TYPE_DEVICE,
            device: region.device.cast_signed(),
            device_pointer: opaque(address),
            host_pointer: ptr::null_mut(),
        };
    }
    if let Some((at, pinned)) = call.memory.pinned_at(address) {
        return v12::PointerAttributes {
            kind: MEMORY_TYPE_HOST,
            device: pinned.device.cast_signed(),
            device_pointer: ptr::with_exposed_provenance_mut(pinned.device_start + at),
            host_pointer: ptr::with_exposed_provenance_mut(pinned.start + at),
        };
    }
    if let Some(grave) = call.memory.grave(address).filter(Grave::is_stream_ordered) {
        call.missed(address, Miss::Freed(Box::new(grave)));
    }
    v12::PointerAttributes {
        kind: MEMORY_TYPE_UNREGISTERED,
        device: NO_DEVICE,
        device_pointer: ptr::null_mut(),
        host_pointer: ptr::null_mut(),
    }
}
