//! Memory of other APIs.

use std::ffi::{c_int, c_void};

use super::{needs, put};
use crate::abi::{v11, v12, v13};
use crate::call::Rule;
use crate::copying::{number, opaque};
use crate::error::{Answer, Code};
use crate::external::{BufferDesc, HandleDesc};
use crate::state::{Major, major};

/// `cudaImportExternalMemory`
pub unsafe extern "C" fn import(out: *mut *mut c_void, desc: *const c_void) -> c_int {
    Rule::runtime("cudaImportExternalMemory").unsafe_in_capture().run(|call| {
        needs(out)?;
        // SAFETY: as the caller promised.
        let desc = unsafe { handle_desc(desc) }?;
        let handle = call.import(desc)?;
        // SAFETY: as the caller promised.
        unsafe { put(out, opaque(handle)) }
    })
}

/// `cudaExternalMemoryGetMappedBuffer`
pub unsafe extern "C" fn get_mapped_buffer(out: *mut *mut c_void, memory: *mut c_void, desc: *const c_void) -> c_int {
    Rule::runtime("cudaExternalMemoryGetMappedBuffer").unsafe_in_capture().run(|call| {
        needs(out)?;
        // SAFETY: as the caller promised.
        let desc = unsafe { buffer_desc(desc) }?;
        let address = call.map_buffer(number(memory), desc)?;
        // SAFETY: as the caller promised.
        unsafe { put(out, opaque(address)) }
    })
}

/// `cudaDestroyExternalMemory`
pub unsafe extern "C" fn destroy(memory: *mut c_void) -> c_int {
    let rule = Rule::runtime("cudaDestroyExternalMemory").unsafe_in_capture();
    rule.run(|call| call.destroy_import(number(memory)))
}

/// Reads the descriptor of this major, and not a byte more.
unsafe fn handle_desc(desc: *const c_void) -> Answer<HandleDesc> {
    if desc.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promised the structure of its major.
    let (kind, fd, size, flags, reserved) = unsafe {
        match major() {
            Major::V11 => {
                let desc = desc.cast::<v11::ExternalMemoryHandleDesc>().read_unaligned();
                (desc.kind, desc.fd, desc.size, desc.flags, [0; 16])
            }
            Major::V12 => {
                let desc = desc.cast::<v12::ExternalMemoryHandleDesc>().read_unaligned();
                (desc.kind, desc.fd, desc.size, desc.flags, [0; 16])
            }
            Major::V13 => {
                let desc = desc.cast::<v13::ExternalMemoryHandleDesc>().read_unaligned();
                (desc.kind, desc.fd, desc.size, desc.flags, desc.reserved)
            }
        }
    };
    Ok(HandleDesc { kind, fd, size, flags, reserved })
}

/// Reads the descriptor of this major, and not a byte more.
unsafe fn buffer_desc(desc: *const c_void) -> Answer<BufferDesc> {
    if desc.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promised the structure of its major.
    let (offset, size, flags, reserved) = unsafe {
        match major() {
            Major::V11 => {
                let desc = desc.cast::<v11::ExternalMemoryBufferDesc>().read_unaligned();
                (desc.offset, desc.size, desc.flags, [0; 16])
            }
            Major::V12 => {
                let desc = desc.cast::<v12::ExternalMemoryBufferDesc>().read_unaligned();
                (desc.offset, desc.size, desc.flags, [0; 16])
            }
            Major::V13 => {
                let desc = desc.cast::<v13::ExternalMemoryBufferDesc>().read_unaligned();
                (desc.offset, desc.size, desc.flags, desc.reserved)
            }
        }
    };
    Ok(BufferDesc { offset, size, flags, reserved })
}
