//! Structures of CUDA 11.8.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};

/// `cudaExternalMemoryHandleDesc` with the file descriptor of its union.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ExternalMemoryHandleDesc {
    /// Which kind of handle.
    pub kind: i32,
    /// The union behind it is aligned to 8.
    pub padding: u32,
    /// `handle.fd`.
    pub fd: i32,
    /// `handle.win32.name`, unused with a file descriptor.
    pub name: *const c_void,
    /// Bytes of the whole object.
    pub size: u64,
    /// `cudaExternalMemoryDedicated` or nothing.
    pub flags: u32,
}

const _: () = assert!(size_of::<ExternalMemoryHandleDesc>() == 40);
const _: () = assert!(offset_of!(ExternalMemoryHandleDesc, kind) == 0);
const _: () = assert!(offset_of!(ExternalMemoryHandleDesc, fd) == 8);
const _: () = assert!(offset_of!(ExternalMemoryHandleDesc, name) == 16);
const _: () = assert!(offset_of!(ExternalMemoryHandleDesc, size) == 24);
const _: () = assert!(offset_of!(ExternalMemoryHandleDesc, flags) == 32);

/// `cudaExternalMemoryBufferDesc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ExternalMemoryBufferDesc {
    /// Bytes from the beginning of the object.
    pub offset: u64,
    /// Bytes of the buffer.
    pub size: u64,
    /// Must be zero.
    pub flags: u32,
}

const _: () = assert!(size_of::<ExternalMemoryBufferDesc>() == 24);
const _: () = assert!(offset_of!(ExternalMemoryBufferDesc, offset) == 0);
const _: () = assert!(offset_of!(ExternalMemoryBufferDesc, size) == 8);
const _: () = assert!(offset_of!(ExternalMemoryBufferDesc, flags) == 16);

/// `cudaPointerAttributes`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PointerAttributes {
    /// `cudaMemoryType`.
    pub kind: i32,
    /// Ordinal of the device.
    pub device: i32,
    /// Address for the device, or null.
    pub device_pointer: *mut c_void,
    /// Address for the host, or null.
    pub host_pointer: *mut c_void,
}

const _: () = assert!(size_of::<PointerAttributes>() == 24);
const _: () = assert!(offset_of!(PointerAttributes, kind) == 0);
const _: () = assert!(offset_of!(PointerAttributes, device) == 4);
const _: () = assert!(offset_of!(PointerAttributes, device_pointer) == 8);
const _: () = assert!(offset_of!(PointerAttributes, host_pointer) == 16);

/// `cudaDeviceProp`, as `cudaGetDeviceProperties` fills it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DeviceProp {
    /// Name, ended by a zero.
    pub name: [u8; 256],
    /// UUID.
    pub uuid: [u8; 16],
    /// LUID.
    pub luid: [u8; 8],
    /// LUID device node mask.
    pub luid_device_node_mask: u32,
    /// Bytes of device memory.
    pub total_global_mem: usize,
    /// Fields that no interop code reads, left zero.
    pub limits: [u8; 64],
    /// Major compute capability.
    pub major: i32,
    /// Minor compute capability.
    pub minor: i32,
    /// Fields that no interop code reads, left zero.
    pub rest: [u64; 45],
}

const _: () = assert!(size_of::<DeviceProp>() == 728);
const _: () = assert!(offset_of!(DeviceProp, uuid) == 256);
const _: () = assert!(offset_of!(DeviceProp, luid) == 272);
const _: () = assert!(offset_of!(DeviceProp, luid_device_node_mask) == 280);
const _: () = assert!(offset_of!(DeviceProp, total_global_mem) == 288);
const _: () = assert!(offset_of!(DeviceProp, major) == 360);
const _: () = assert!(offset_of!(DeviceProp, minor) == 364);
