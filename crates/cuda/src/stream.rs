//! Streams: the order in which a device works.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use crate::api::Tenancy;
use crate::calls::{RawStream, StreamHandle};
use crate::error::{Code, Error, Result};
use crate::event::Event;
use crate::keeper::Retired;
use crate::runtime::Runtime;
use crate::sys::types::*;

/// A stream: a queue of work that a device does in order.
///
/// Clones are the same stream; the last one ends it, and work that is queued then still runs. Any thread may use it.
#[derive(Clone, Debug)]
pub struct Stream {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    runtime: Runtime,
    device: u32,
    handle: StreamHandle,
    /// What [`Stream::new`] made; `None` for somebody else's stream.
    owned: Option<(RawStream, Tenancy)>,
}

/// A direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyKind {
    /// From host memory to device memory.
    HostToDevice,
    /// From device memory to host memory.
    DeviceToHost,
    /// Within device memory.
    DeviceToDevice,
}

impl CopyKind {
    fn raw(self) -> std::ffi::c_int {
        match self {
            Self::HostToDevice => cudaMemcpyHostToDevice,
            Self::DeviceToHost => cudaMemcpyDeviceToHost,
            Self::DeviceToDevice => cudaMemcpyDeviceToDevice,
        }
    }
}

impl Stream {
    /// A new stream of `device` that does not wait for the legacy default stream.
    pub fn new(runtime: &Runtime, device: u32) -> Result<Self> {
        let (raw, tenancy) = runtime.set_up(device, |desk, tenancy| Ok((desk.api.stream_create()?, tenancy)))?;
        Ok(Self::of(runtime, device, raw.handle(), Some((raw, tenancy))))
    }

    /// Somebody else's stream, which stays theirs. Handles 0 and 1 are the legacy default stream of the device that is
    /// current on this thread.
    ///
    /// # Errors
    /// [`Error::PerThreadStream`] for handle 2: it is another stream on every thread.
    ///
    /// # Safety
    /// The stream must be alive, of this process, and outlive the answer, its clones and every map made on them; a
    /// released map counts until [`Runtime::flush`] has returned.
    #[expect(unsafe_code, reason = "whether a handle is alive cannot be seen")]
    pub unsafe fn from_raw(runtime: &Runtime, handle: *mut c_void) -> Result<Self> {
        // SAFETY: the caller's promise.
        let handle = unsafe { StreamHandle::foreign(handle) };
        if handle.is_per_thread() {
            return Err(Error::PerThreadStream);
        }
        let device = device_of(runtime, handle)?;
        runtime.usable(device)?;
        Ok(Self::of(runtime, device, handle, None))
    }

    /// Takes a stream over: it ends with the last clone.
    ///
    /// # Errors
    /// [`Error::DefaultStream`] for the handles 0, 1 and 2.
    ///
    /// # Safety
    /// The stream must be alive, of this process, and nobody else may end it.
    #[expect(unsafe_code, reason = "whether a handle is alive cannot be seen")]
    pub unsafe fn adopt(runtime: &Runtime, handle: *mut c_void) -> Result<Self> {
        // SAFETY: the caller's promise.
        let raw = unsafe { RawStream::adopt(handle) };
        if raw.handle().is_special() {
            return Err(Error::DefaultStream { handle: handle.addr() });
        }
        let device = device_of(runtime, raw.handle())?;
        let tenancy = runtime.set_up(device, |_, tenancy| Ok(tenancy))?;
        Ok(Self::of(runtime, device, raw.handle(), Some((raw, tenancy))))
    }

    /// Gives the handle away; the stream lives on until somebody destroys it. `None` if there are other clones, or it
    /// is not ours to give.
    pub fn into_raw(self) -> Option<*mut c_void> {
        let mut inner = Arc::into_inner(self.inner)?;
        inner.owned.take().map(|(raw, _)| raw.handle().as_raw())
    }

    /// A stream of the pool, for work that ends before [`Self::keep`].
    fn private(runtime: &Runtime, device: u32) -> Result<Self> {
        runtime.usable(device)?;
        let tenancy = Tenancy { device, context: runtime.api().context(device) };
        let kept = runtime.api().idle().take_stream(tenancy);
        match kept {
            Some(raw) => Ok(Self::of(runtime, device, raw.handle(), Some((raw, tenancy)))),
            None => Self::new(runtime, device),
        }
    }

    /// Puts a private stream back, once its work has ended.
    fn keep(self) {
        if let Some(mut inner) = Arc::into_inner(self.inner)
            && let Some((raw, tenancy)) = inner.owned.take()
        {
            inner.runtime.api().idle().streams.push((tenancy, raw));
        }
    }

    fn of(runtime: &Runtime, device: u32, handle: StreamHandle, owned: Option<(RawStream, Tenancy)>) -> Self {
        Self { inner: Arc::new(Inner { runtime: runtime.clone(), device, handle, owned }) }
    }

    /// The handle, for other users of CUDA. It lives as long as this stream and its clones.
    pub fn as_raw(&self) -> *mut c_void {
        self.inner.handle.as_raw()
    }

    /// Its device.
    pub fn device(&self) -> u32 {
        self.inner.device
    }

    /// Its runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    /// Whether work may be queued that must run: not while the stream is captured into a graph.
    ///
    /// # Errors
    /// [`Error::Capturing`].
    pub fn check(&self) -> Result<()> {
        let handle = self.inner.handle;
        match self.inner.runtime.on_stream(self.device(), move |api| api.stream_is_capturing(handle)) {
            Ok(false) => Ok(()),
            Ok(true) => Err(Error::Capturing),
            // The legacy stream while a stream is captured that waits for it.
            Err(Error::Call(call)) if call.code == Code::CAPTURE_IMPLICIT => Err(Error::Capturing),
            Err(other) => Err(other),
        }
    }

    /// The point after everything that is queued now.
    ///
    /// # Errors
    /// [`Error::Capturing`]: in a capture, nothing runs that an event could tell of.
    pub fn record(&self) -> Result<Event> {
        self.check()?;
        Event::record(&self.inner.runtime, self.device(), self.inner.handle)
    }

    /// Lets what is queued from now on run after `event`. Does not wait. The event may be of another device.
    ///
    /// # Errors
    /// [`Error::Capturing`]; [`Error::Lost`] if the event's device is lost or was reset.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.check()?;
        if event.is_known_complete()? {
            return Ok(());
        }
        let (handle, event) = (self.inner.handle, event.clone());
        self.inner.runtime.on_stream(self.device(), move |api| match event.raw() {
            Some(raw) => api.stream_wait(handle, raw),
            None => Ok(()),
        })
    }

    /// Waits until everything that is queued now has run.
    ///
    /// # Errors
    /// [`Error::Timeout`] after `timeout`; [`Error::Capturing`].
    pub fn synchronize(&self, timeout: Duration) -> Result<()> {
        self.record()?.wait(timeout)
    }

    /// Queues a copy of `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Capturing`].
    ///
    /// # Safety
    /// Both ranges must be valid for `bytes` bytes in the direction given, until the copy has run: an event recorded
    /// after it is complete, or the stream was synchronised. Nothing may write the source or touch the destination
    /// meanwhile.
    #[expect(unsafe_code, reason = "the device will use these addresses later")]
    pub unsafe fn copy(&self, dst: *mut c_void, src: *const c_void, bytes: usize, kind: CopyKind) -> Result<()> {
        self.check()?;
        let (handle, dst, src) = (self.inner.handle, dst.expose_provenance(), src.expose_provenance());
        self.inner.runtime.on_stream(self.device(), move |api| {
            let (dst, src) = (std::ptr::with_exposed_provenance_mut(dst), std::ptr::with_exposed_provenance(src));
            // SAFETY: the caller's promise.
            unsafe { api.copy(dst, src, bytes, kind.raw(), handle) }
        })
    }

    /// Queues setting `bytes` bytes of device memory to `value`.
    ///
    /// # Errors
    /// [`Error::Capturing`].
    ///
    /// # Safety
    /// The range must be device memory, valid for `bytes` bytes until the fill has run, and untouched meanwhile.
    #[expect(unsafe_code, reason = "the device will use this address later")]
    pub unsafe fn fill(&self, dst: *mut c_void, value: u8, bytes: usize) -> Result<()> {
        self.check()?;
        let (handle, dst) = (self.inner.handle, dst.expose_provenance());
        self.inner.runtime.on_stream(self.device(), move |api| {
            // SAFETY: the caller's promise.
            unsafe { api.fill(std::ptr::with_exposed_provenance_mut(dst), value, bytes, handle) }
        })
    }
}

impl Runtime {
    /// Copies `bytes` bytes on a private stream of the device that owns the device's address, and waits for it. What
    /// is queued elsewhere is the caller's to order.
    ///
    /// # Errors
    /// [`Error::Timeout`] after `timeout`; the copy is still under way then.
    ///
    /// # Safety
    /// Both ranges must be valid for `bytes` bytes in the direction given, and stay so until the copy has ended.
    #[expect(unsafe_code, reason = "hands addresses to the device")]
    pub unsafe fn copy(
        &self,
        dst: *mut c_void,
        src: *const c_void,
        bytes: usize,
        kind: CopyKind,
        timeout: Duration,
    ) -> Result<()> {
        let on_device = if kind == CopyKind::HostToDevice { dst.cast_const() } else { src };
        let stream = Stream::private(self, self.pointer_attributes(on_device)?.device)?;
        // SAFETY: the caller's promise.
        unsafe { stream.copy(dst, src, bytes, kind) }?;
        stream.synchronize(timeout)?;
        stream.keep();
        Ok(())
    }
}

/// The device of a stream: the legacy default stream is that of the calling thread's device, any other knows its own.
fn device_of(runtime: &Runtime, handle: StreamHandle) -> Result<u32> {
    if handle.is_legacy() {
        return runtime.current_device();
    }
    runtime.on_keeper(move |desk| match desk.api.stream_device(handle) {
        Some(answer) => Ok(answer?),
        None => {
            let driver = desk.api.driver()?;
            Ok(driver.stream_device(handle)?)
        }
    })
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some((raw, tenancy)) = self.owned.take() {
            self.runtime.keeper().retire(Retired {
                what: "a stream",
                after: Vec::new(),
                tenancy,
                free: Box::new(move |desk| desk.api.stream_destroy(raw)),
                pages: None,
            });
        }
    }
}
