//! The names that answer `bool` or `Option`: each one line over its twin `try_..` that says why.
//!
//! They use the runtime of the process. A reason is logged at debug level.

#![expect(unsafe_code, reason = "the contract's raw names take addresses and handles")]
//!
//! # Safety argument
//! The unsafe functions pass their callers' promises on.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::stream::{CopyKind, Stream};

/// `cudaMemcpyHostToDevice`.
pub const CUDA_MEMCPY_HOST_TO_DEVICE: c_int = crate::sys::types::cudaMemcpyHostToDevice;
/// `cudaMemcpyDeviceToHost`.
pub const CUDA_MEMCPY_DEVICE_TO_HOST: c_int = crate::sys::types::cudaMemcpyDeviceToHost;

/// How long a copy or a stream may take before the call says no.
const PATIENCE: Duration = Duration::from_secs(60);

/// Copies `count` bytes from the device to the host on a private stream, and waits for it. What the caller queued
/// elsewhere is the caller's to order.
///
/// # Safety
/// `src` must be device memory and `dst` host memory, each valid for `count` bytes. After `false` the copy may still
/// be under way if the device hangs.
pub unsafe fn memcpy_device_to_host(dst: *mut c_void, src: *const c_void, count: usize) -> bool {
    // SAFETY: the caller's promise.
    said(unsafe { try_memcpy(dst, src, count, CopyKind::DeviceToHost) }).is_some()
}

/// Copies `count` bytes from the host to the device: see [`memcpy_device_to_host`].
///
/// # Safety
/// `src` must be host memory and `dst` device memory, each valid for `count` bytes.
pub unsafe fn memcpy_host_to_device(dst: *mut c_void, src: *const c_void, count: usize) -> bool {
    // SAFETY: the caller's promise.
    said(unsafe { try_memcpy(dst, src, count, CopyKind::HostToDevice) }).is_some()
}

/// The twin of both copies, on the device that owns the device's address.
///
/// # Errors
/// The reason, also that there is no CUDA.
///
/// # Safety
/// As for [`memcpy_device_to_host`].
pub unsafe fn try_memcpy(dst: *mut c_void, src: *const c_void, count: usize, kind: CopyKind) -> Result<()> {
    let runtime = Runtime::get()?;
    // SAFETY: the caller's promise.
    unsafe { runtime.copy(dst, src, count, kind, PATIENCE) }
}

/// A new stream of the calling thread's current device, that does not wait for the legacy default stream.
/// [`stream_destroy`] ends it.
pub fn stream_create() -> Option<*mut c_void> {
    said(try_stream_create())
}

/// The twin of [`stream_create`].
///
/// # Errors
/// The reason, also that there is no CUDA.
pub fn try_stream_create() -> Result<*mut c_void> {
    let runtime = Runtime::get()?;
    let stream = Stream::new(&runtime, runtime.current_device()?)?;
    stream.into_raw().ok_or(Error::Null { call: "cudaStreamCreateWithFlags", what: "stream" })
}

/// Waits until everything that is queued in a stream has run.
///
/// # Safety
/// The stream must be alive.
pub unsafe fn stream_synchronize(stream: *mut c_void) -> bool {
    // SAFETY: the caller's promise.
    said(unsafe { try_stream_synchronize(stream) }).is_some()
}

/// The twin of [`stream_synchronize`].
///
/// # Errors
/// The reason, also that there is no CUDA.
///
/// # Safety
/// As for [`stream_synchronize`].
pub unsafe fn try_stream_synchronize(stream: *mut c_void) -> Result<()> {
    let runtime = Runtime::get()?;
    // SAFETY: the caller's promise.
    unsafe { Stream::from_raw(&runtime, stream) }?.synchronize(PATIENCE)
}

/// Ends a stream; work that is queued in it still runs. The default streams 0, 1 and 2 are refused.
///
/// # Safety
/// The stream must be alive and not used again.
pub unsafe fn stream_destroy(stream: *mut c_void) {
    // SAFETY: the caller's promise.
    said(unsafe { try_stream_destroy(stream) });
}

/// The twin of [`stream_destroy`].
///
/// # Errors
/// The reason, also that there is no CUDA.
///
/// # Safety
/// As for [`stream_destroy`].
pub unsafe fn try_stream_destroy(stream: *mut c_void) -> Result<()> {
    let runtime = Runtime::get()?;
    // SAFETY: the caller's promise.
    unsafe { Stream::adopt(&runtime, stream) }.map(drop)
}

fn said<T>(result: Result<T>) -> Option<T> {
    result.inspect_err(|why| log::debug!("{why}")).ok()
}
