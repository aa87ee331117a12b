//! The structures that cross the border, as each major declares them.
//!
//! They are written again for every major, and shared with no other crate: a declaration that two sides
//! have in common would hide an error that both make.

use std::ffi::c_void;

pub mod v11;
pub mod v12;
pub mod v13;

/// `cudaHostFn_t`: what `cudaLaunchHostFunc` runs.
pub type HostFn = unsafe extern "C" fn(*mut c_void);

/// `cudaMemoryTypeUnregistered`.
pub const MEMORY_TYPE_UNREGISTERED: i32 = 0;
/// `cudaMemoryTypeHost`.
pub const MEMORY_TYPE_HOST: i32 = 1;
/// `cudaMemoryTypeDevice`.
pub const MEMORY_TYPE_DEVICE: i32 = 2;

/// `cudaExternalMemoryHandleTypeOpaqueFd`.
pub const HANDLE_TYPE_OPAQUE_FD: i32 = 1;
/// `cudaExternalMemoryDedicated`.
pub const EXTERNAL_MEMORY_DEDICATED: u32 = 1;

/// `cudaHostRegisterReadOnly`.
pub const HOST_REGISTER_READ_ONLY: u32 = 8;

/// `cudaStreamNonBlocking`.
pub const STREAM_NON_BLOCKING: u32 = 1;
