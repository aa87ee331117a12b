//! The calls of the runtime, each with its result checked: the only place where a function of CUDA is called.

#![expect(unsafe_code, reason = "every call of CUDA is a call through a C function pointer")]
//!
//! # Safety argument
//! Each function pointer has the signature of its symbol (see `sys::symbols`). What a call needs beyond that is of
//! three kinds. *Out-parameters* are locals of this module, large enough for every version. *Handles* are the types
//! below: only this module makes them, from what CUDA gave; they are not `Clone`, and the call that ends one takes it
//! by value. *Addresses and foreign streams* come from callers; the functions that take those are `unsafe`, or take a
//! [`StreamHandle`], whose maker promised that it lives.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::api::Api;
use crate::error::{CallError, Code};
use crate::status::Device;
use crate::sys::symbols::{Driver, ExternalMemory, HostRegistration, StreamOrdered};
use crate::sys::types::*;

type Checked<T> = Result<T, CallError>;

macro_rules! owned_handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name(*mut c_void);
        // SAFETY: CUDA's handles may be used from any thread.
        unsafe impl Send for $name {}
        // SAFETY: CUDA's calls on one handle may be made from several threads at once.
        unsafe impl Sync for $name {}
    )*};
}

owned_handles! {
    /// An event that we made.
    RawEvent;
    /// A stream that we made.
    RawStream;
    /// Memory that we imported.
    RawImport;
    /// Device memory that we allocated or mapped.
    DevicePtr;
}

impl DevicePtr {
    pub(crate) fn address(&self) -> *mut c_void {
        self.0
    }
}

/// A stream that lives: one of ours, or one whose maker promised it in [`crate::Stream::from_raw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamHandle(*mut c_void);

// SAFETY: see the owned handles.
unsafe impl Send for StreamHandle {}
// SAFETY: see the owned handles.
unsafe impl Sync for StreamHandle {}

impl StreamHandle {
    /// # Safety
    /// The stream must live for as long as the handle is used.
    pub(crate) unsafe fn foreign(raw: *mut c_void) -> Self {
        Self(raw)
    }

    pub(crate) fn as_raw(self) -> *mut c_void {
        self.0
    }

    pub(crate) fn is_legacy(self) -> bool {
        self.0.addr() <= cudaStreamLegacy
    }

    pub(crate) fn is_per_thread(self) -> bool {
        self.0.addr() == cudaStreamPerThread
    }

    /// One of the default streams, which nobody owns.
    pub(crate) fn is_special(self) -> bool {
        self.is_legacy() || self.is_per_thread()
    }
}

impl RawStream {
    /// # Safety
    /// The stream must be alive, and nobody else may end it.
    pub(crate) unsafe fn adopt(raw: *mut c_void) -> Self {
        Self(raw)
    }

    pub(crate) fn handle(&self) -> StreamHandle {
        StreamHandle(self.0)
    }
}

/// What [`Api::pointer_attributes`] answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawAttributes {
    pub(crate) kind: c_int,
    pub(crate) device: c_int,
    pub(crate) device_pointer: *mut c_void,
    pub(crate) host_pointer: *mut c_void,
}

// SAFETY: plain numbers and addresses; nothing is dereferenced.
unsafe impl Send for RawAttributes {}

/// Versions, devices and errors.
impl Api {
    /// Turns a code into a result. A failure's code is taken from the thread's last error, so that the application's
    /// next check does not find it there.
    fn checked(&self, call: &'static str, code: cudaError_t) -> Checked<()> {
        match Code(code) {
            Code::SUCCESS => Ok(()),
            code => {
                self.clear_error();
                Err(CallError { call, code })
            }
        }
    }

    pub(crate) fn clear_error(&self) {
        // SAFETY: takes nothing.
        unsafe { (self.base.cudaGetLastError)() };
    }

    /// The error pending on this thread, which stays pending.
    pub(crate) fn pending_error(&self) -> Code {
        // SAFETY: takes nothing.
        Code(unsafe { (self.base.cudaPeekAtLastError)() })
    }

    pub(crate) fn device_count(&self) -> Checked<u32> {
        let mut count = 0;
        // SAFETY: writes one int.
        let code = unsafe { (self.base.cudaGetDeviceCount)(&raw mut count) };
        self.checked("cudaGetDeviceCount", code)?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    pub(crate) fn runtime_version(&self) -> Checked<i32> {
        let mut version = 0;
        // SAFETY: writes one int.
        let code = unsafe { (self.base.cudaRuntimeGetVersion)(&raw mut version) };
        self.checked("cudaRuntimeGetVersion", code)?;
        Ok(version)
    }

    pub(crate) fn driver_version(&self) -> Checked<i32> {
        let mut version = 0;
        // SAFETY: writes one int.
        let code = unsafe { (self.base.cudaDriverGetVersion)(&raw mut version) };
        self.checked("cudaDriverGetVersion", code)?;
        Ok(version)
    }

    /// The calling thread's current device. Creates no context.
    pub(crate) fn current_device(&self) -> Checked<u32> {
        let mut device = 0;
        // SAFETY: writes one int.
        let code = unsafe { (self.base.cudaGetDevice)(&raw mut device) };
        self.checked("cudaGetDevice", code)?;
        Ok(u32::try_from(device).unwrap_or(0))
    }

    /// Makes a device current on the calling thread: the keeper alone may.
    pub(crate) fn set_device(&self, device: u32) -> Checked<()> {
        // SAFETY: any number may be passed.
        let code = unsafe { (self.base.cudaSetDevice)(ordinal(device)) };
        self.checked("cudaSetDevice", code)
    }

    /// Makes the selected device's primary context exist.
    pub(crate) fn create_context(&self) -> Checked<()> {
        // SAFETY: null is nothing to free.
        let code = unsafe { (self.base.cudaFree)(std::ptr::null_mut()) };
        self.checked("cudaFree", code)
    }

    pub(crate) fn attribute(&self, attribute: c_int, device: u32) -> Checked<i32> {
        let mut value = 0;
        // SAFETY: writes one int; any attribute and device may be asked for.
        let code = unsafe { (self.base.cudaDeviceGetAttribute)(&raw mut value, attribute, ordinal(device)) };
        self.checked("cudaDeviceGetAttribute", code)?;
        Ok(value)
    }

    pub(crate) fn describe(&self, device: u32) -> Checked<Device> {
        let mut properties = Box::<DeviceProperties>::default();
        // SAFETY: the buffer is larger than the struct of any version.
        let code = unsafe { (self.base.cudaGetDeviceProperties)(&raw mut *properties, ordinal(device)) };
        self.checked("cudaGetDeviceProperties", code)?;
        Ok(Device {
            ordinal: device,
            name: text(&properties.name),
            uuid: properties.uuid,
            luid: properties.luid,
            node_mask: properties.luidDeviceNodeMask,
            pci_bus_id: self.pci_bus_id(device)?,
            total_memory: properties.totalGlobalMem as u64,
        })
    }

    fn pci_bus_id(&self, device: u32) -> Checked<String> {
        let mut id = [0_u8; 32];
        let length = c_int::try_from(id.len()).unwrap_or(0);
        // SAFETY: the length passed is that of the buffer.
        let code = unsafe { (self.base.cudaDeviceGetPCIBusId)(id.as_mut_ptr().cast(), length, ordinal(device)) };
        self.checked("cudaDeviceGetPCIBusId", code)?;
        Ok(text(&id))
    }

    /// Exchanges the calling thread's capture mode; answers the previous one.
    pub(crate) fn exchange_capture_mode(&self, mode: c_int) -> Checked<c_int> {
        let mut mode = mode;
        // SAFETY: reads and writes one int.
        let code = unsafe { (self.base.cudaThreadExchangeStreamCaptureMode)(&raw mut mode) };
        self.checked("cudaThreadExchangeStreamCaptureMode", code)?;
        Ok(mode)
    }

    /// What `address` points to. Any address may be asked about.
    pub(crate) fn pointer_attributes(&self, address: *const c_void) -> Checked<RawAttributes> {
        let mut out = MaybeUninit::<cudaPointerAttributes>::zeroed();
        // SAFETY: the buffer has the largest size that any version writes; the address is only looked up.
        let code = unsafe { (self.base.cudaPointerGetAttributes)(out.as_mut_ptr(), address) };
        self.checked("cudaPointerGetAttributes", code)?;
        // SAFETY: zeroed, which is valid for its integers and pointers, and then written.
        let out = unsafe { out.assume_init() };
        Ok(RawAttributes {
            kind: out.r#type,
            device: out.device,
            device_pointer: out.devicePointer,
            host_pointer: out.hostPointer,
        })
    }
}

/// Streams and events.
impl Api {
    pub(crate) fn stream_create(&self) -> Checked<RawStream> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (self.base.cudaStreamCreateWithFlags)(&raw mut stream, cudaStreamNonBlocking) };
        self.checked("cudaStreamCreateWithFlags", code)?;
        Ok(RawStream(stream))
    }

    pub(crate) fn stream_destroy(&self, stream: RawStream) -> Checked<()> {
        // SAFETY: ours, and ended here. Work still queued in it runs on.
        let code = unsafe { (self.base.cudaStreamDestroy)(stream.0) };
        self.checked("cudaStreamDestroy", code)
    }

    /// Blocks until the stream's work is done: for the keeper's own short work only.
    pub(crate) fn stream_synchronize(&self, stream: StreamHandle) -> Checked<()> {
        // SAFETY: the stream lives.
        let code = unsafe { (self.base.cudaStreamSynchronize)(stream.0) };
        self.checked("cudaStreamSynchronize", code)
    }

    pub(crate) fn stream_is_capturing(&self, stream: StreamHandle) -> Checked<bool> {
        let mut status = 0;
        // SAFETY: the stream lives; writes one int.
        let code = unsafe { (self.base.cudaStreamIsCapturing)(stream.0, &raw mut status) };
        self.checked("cudaStreamIsCapturing", code)?;
        Ok(status != cudaStreamCaptureStatusNone)
    }

    /// The stream's device, where the runtime is new enough to tell.
    pub(crate) fn stream_device(&self, stream: StreamHandle) -> Option<Checked<u32>> {
        let call = self.base.cudaStreamGetDevice?;
        let mut device = 0;
        // SAFETY: the stream lives; writes one int.
        let code = unsafe { call(stream.0, &raw mut device) };
        Some(self.checked("cudaStreamGetDevice", code).map(|()| u32::try_from(device).unwrap_or(0)))
    }

    pub(crate) fn stream_wait(&self, stream: StreamHandle, event: &RawEvent) -> Checked<()> {
        // SAFETY: both live.
        let code = unsafe { (self.base.cudaStreamWaitEvent)(stream.0, event.0, 0) };
        self.checked("cudaStreamWaitEvent", code)
    }

    pub(crate) fn event_create(&self) -> Checked<RawEvent> {
        let mut event = std::ptr::null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (self.base.cudaEventCreateWithFlags)(&raw mut event, cudaEventDisableTiming) };
        self.checked("cudaEventCreateWithFlags", code)?;
        Ok(RawEvent(event))
    }

    pub(crate) fn event_destroy(&self, event: RawEvent) -> Checked<()> {
        // SAFETY: ours, and ended here.
        let code = unsafe { (self.base.cudaEventDestroy)(event.0) };
        self.checked("cudaEventDestroy", code)
    }

    pub(crate) fn event_record(&self, event: &RawEvent, stream: StreamHandle) -> Checked<()> {
        // SAFETY: both live.
        let code = unsafe { (self.base.cudaEventRecord)(event.0, stream.0) };
        self.checked("cudaEventRecord", code)
    }

    pub(crate) fn event_query(&self, event: &RawEvent) -> Checked<bool> {
        // SAFETY: it lives.
        let code = unsafe { (self.base.cudaEventQuery)(event.0) };
        match self.checked("cudaEventQuery", code) {
            Err(e) if e.code == Code::NOT_READY => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// # Safety
    /// Both ranges must be valid for `bytes` until the copy has run, and in the direction that `kind` says.
    pub(crate) unsafe fn copy(
        &self,
        dst: *mut c_void,
        src: *const c_void,
        bytes: usize,
        kind: c_int,
        stream: StreamHandle,
    ) -> Checked<()> {
        // SAFETY: the caller's promise; the stream lives.
        let code = unsafe { (self.base.cudaMemcpyAsync)(dst, src, bytes, kind, stream.0) };
        self.checked("cudaMemcpyAsync", code)
    }

    /// # Safety
    /// The range must be device memory, valid for `bytes` until the fill has run.
    pub(crate) unsafe fn fill(&self, dst: *mut c_void, value: u8, bytes: usize, stream: StreamHandle) -> Checked<()> {
        // SAFETY: the caller's promise; the stream lives.
        let code = unsafe { (self.base.cudaMemsetAsync)(dst, c_int::from(value), bytes, stream.0) };
        self.checked("cudaMemsetAsync", code)
    }
}

/// Memory.
impl Api {
    pub(crate) fn malloc(&self, bytes: usize) -> Checked<DevicePtr> {
        let mut address = std::ptr::null_mut();
        // SAFETY: writes one pointer.
        let code = unsafe { (self.base.cudaMalloc)(&raw mut address, bytes) };
        self.checked("cudaMalloc", code)?;
        Ok(DevicePtr(address))
    }

    /// Ends an allocation of [`Self::malloc`] or a mapping of [`Self::import_map`].
    pub(crate) fn free(&self, memory: DevicePtr) -> Checked<()> {
        // SAFETY: ours, ended here; the keeper has seen the last event of its uses complete.
        let code = unsafe { (self.base.cudaFree)(memory.0) };
        self.checked("cudaFree", code)
    }

    pub(crate) fn malloc_async(&self, group: &StreamOrdered, bytes: usize, stream: &RawStream) -> Checked<DevicePtr> {
        let mut address = std::ptr::null_mut();
        // SAFETY: writes one pointer; the stream is ours.
        let code = unsafe { (group.cudaMallocAsync)(&raw mut address, bytes, stream.0) };
        self.checked("cudaMallocAsync", code)?;
        Ok(DevicePtr(address))
    }

    pub(crate) fn free_async(&self, group: &StreamOrdered, memory: DevicePtr, stream: &RawStream) -> Checked<()> {
        // SAFETY: ours, ended here; both the memory's uses and the stream's are seen to by the keeper.
        let code = unsafe { (group.cudaFreeAsync)(memory.0, stream.0) };
        self.checked("cudaFreeAsync", code)
    }

    /// # Safety
    /// The range must be mapped host memory that stays mapped until [`Self::host_unregister`].
    pub(crate) unsafe fn host_register(
        &self,
        group: &HostRegistration,
        address: *mut c_void,
        bytes: usize,
        flags: c_uint,
    ) -> Checked<()> {
        // SAFETY: the caller's promise.
        let code = unsafe { (group.cudaHostRegister)(address, bytes, flags) };
        self.checked("cudaHostRegister", code)
    }

    /// # Safety
    /// The range must be one that [`Self::host_register`] registered and that no queued work uses.
    pub(crate) unsafe fn host_unregister(&self, group: &HostRegistration, address: *mut c_void) -> Checked<()> {
        // SAFETY: the caller's promise.
        let code = unsafe { (group.cudaHostUnregister)(address) };
        self.checked("cudaHostUnregister", code)
    }

    /// The device's address of registered host memory; a null answer is the caller's to judge.
    pub(crate) fn host_device_pointer(&self, group: &HostRegistration, host: *mut c_void) -> Checked<*mut c_void> {
        let mut address = std::ptr::null_mut();
        // SAFETY: writes one pointer; the host address is only looked up.
        let code = unsafe { (group.cudaHostGetDevicePointer)(&raw mut address, host, 0) };
        self.checked("cudaHostGetDevicePointer", code)?;
        Ok(address)
    }

    /// Imports an opaque file descriptor. On success the driver owns the descriptor.
    pub(crate) fn import_fd(
        &self,
        group: &ExternalMemory,
        fd: BorrowedFd<'_>,
        bytes: u64,
        flags: c_uint,
    ) -> Checked<RawImport> {
        let description = cudaExternalMemoryHandleDesc {
            r#type: cudaExternalMemoryHandleTypeOpaqueFd,
            handle: HandleUnion { win32: Win32Handle { handle: std::ptr::null_mut(), name: std::ptr::null() } }
                .with_fd(fd.as_raw_fd()),
            size: bytes,
            flags,
            reserved: [0; 16],
        };
        let mut import = std::ptr::null_mut();
        // SAFETY: the description is whole in the newest layout, of which older versions read a prefix.
        let code = unsafe { (group.cudaImportExternalMemory)(&raw mut import, &raw const description) };
        self.checked("cudaImportExternalMemory", code)?;
        Ok(RawImport(import))
    }

    pub(crate) fn import_map(
        &self,
        group: &ExternalMemory,
        import: &RawImport,
        offset: u64,
        bytes: u64,
    ) -> Checked<DevicePtr> {
        let description = cudaExternalMemoryBufferDesc { offset, size: bytes, flags: 0, reserved: [0; 16] };
        let mut address = std::ptr::null_mut();
        // SAFETY: as for the import; the import lives.
        let code =
            unsafe { (group.cudaExternalMemoryGetMappedBuffer)(&raw mut address, import.0, &raw const description) };
        self.checked("cudaExternalMemoryGetMappedBuffer", code)?;
        Ok(DevicePtr(address))
    }

    pub(crate) fn import_destroy(&self, group: &ExternalMemory, import: RawImport) -> Checked<()> {
        // SAFETY: ours, ended here; what was mapped of it was freed before (the mapping owns the import).
        let code = unsafe { (group.cudaDestroyExternalMemory)(import.0) };
        self.checked("cudaDestroyExternalMemory", code)
    }
}

impl HandleUnion {
    /// The same bytes with a descriptor in the first four, so that none is left undefined.
    fn with_fd(mut self, fd: c_int) -> Self {
        self.fd = fd;
        self
    }
}

/// Contexts, by the driver. Its calls leave the runtime's last error alone.
impl Driver {
    fn checked(call: &'static str, code: CUresult) -> Checked<()> {
        if code == 0 { Ok(()) } else { Err(CallError { call, code: Code(code) }) }
    }

    /// The calling thread's context; null where it has none.
    pub(crate) fn current_context(&self) -> Checked<*mut c_void> {
        let mut context = std::ptr::null_mut();
        // SAFETY: writes one handle.
        let code = unsafe { (self.cuCtxGetCurrent)(&raw mut context) };
        Self::checked("cuCtxGetCurrent", code)?;
        Ok(context)
    }

    /// Whether a device's primary context exists. Creates none.
    pub(crate) fn primary_is_active(&self, device: u32) -> Checked<bool> {
        let mut flags = 0;
        let mut active = 0;
        // SAFETY: writes two ints. The driver numbers the visible devices as the runtime does.
        let code = unsafe { (self.cuDevicePrimaryCtxGetState)(ordinal(device), &raw mut flags, &raw mut active) };
        Self::checked("cuDevicePrimaryCtxGetState", code)?;
        Ok(active != 0)
    }

    /// The number of the calling thread's context, which no later context has; `None` before CUDA 12.
    pub(crate) fn current_context_id(&self) -> Option<Checked<u64>> {
        let call = self.cuCtxGetId?;
        let mut id = 0;
        // SAFETY: a null context means the current one; writes one number.
        let code = unsafe { call(std::ptr::null_mut(), &raw mut id) };
        Some(Self::checked("cuCtxGetId", code).map(|()| id))
    }

    /// The device of a stream's context. Changes the calling thread's context for a moment: for the keeper only.
    pub(crate) fn stream_device(&self, stream: StreamHandle) -> Checked<u32> {
        let mut context = std::ptr::null_mut();
        // SAFETY: the stream lives; writes one handle.
        let code = unsafe { (self.cuStreamGetCtx)(stream.0, &raw mut context) };
        Self::checked("cuStreamGetCtx", code)?;
        // SAFETY: the context of a stream that lives.
        let code = unsafe { (self.cuCtxPushCurrent_v2)(context) };
        Self::checked("cuCtxPushCurrent", code)?;
        let mut device = 0;
        // SAFETY: writes one int.
        let answer = unsafe { (self.cuCtxGetDevice)(&raw mut device) };
        // SAFETY: takes off what was pushed above.
        let code = unsafe { (self.cuCtxPopCurrent_v2)(&raw mut context) };
        Self::checked("cuCtxGetDevice", answer)?;
        Self::checked("cuCtxPopCurrent", code)?;
        Ok(u32::try_from(device).unwrap_or(0))
    }
}

fn ordinal(device: u32) -> c_int {
    c_int::try_from(device).unwrap_or(c_int::MAX)
}

/// The text up to the first zero.
fn text(bytes: &[u8]) -> String {
    CStr::from_bytes_until_nul(bytes).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}
