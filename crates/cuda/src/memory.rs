//! Device memory.

use std::ffi::c_void;

use crate::api::{Api, Tenancy};
use crate::calls::{DevicePtr, RawStream};
use crate::error::{CallError, Code, Error, Result};
use crate::event::Event;
use crate::keeper::Desk;
use crate::runtime::Runtime;
use crate::sys::symbols::StreamOrdered;
use crate::sys::types::cudaDevAttrMemoryPoolsSupported;
use crate::tenure::Tenure;

/// Memory of a device, aligned to 256 bytes.
///
/// Dropping it hands it to the keeper, which frees it once the events given to [`Self::after`] are complete. Where the
/// device has memory pools it is allocated and freed in stream order: a plain free would block behind whatever the
/// device is doing.
#[derive(Debug)]
pub struct DeviceBuffer {
    tenure: Tenure,
    /// `None` once it was handed over.
    memory: Option<(DevicePtr, How)>,
    address: usize,
    bytes: usize,
}

/// By which pair of calls it is allocated and freed.
#[derive(Clone, Copy, Debug)]
enum How {
    Plain,
    StreamOrdered(StreamOrdered),
}

impl DeviceBuffer {
    /// Zeroed memory: nothing of another use shows.
    ///
    /// # Errors
    /// [`Error::Size`] for 0 bytes and for more than the device has; CUDA's code if it is out of memory now.
    pub fn zeroed(runtime: &Runtime, device: u32, bytes: usize) -> Result<Self> {
        let limit = runtime.device(device)?.total_memory;
        if bytes == 0 || bytes as u64 > limit {
            return Err(Error::Size { what: "device memory", value: bytes as u64, limit });
        }
        let (memory, how, tenancy) = runtime.set_up(device, move |desk, tenancy| {
            let (memory, how) = allocate(desk, tenancy, bytes)?;
            Ok((memory, how, tenancy))
        })?;
        let address = memory.address().expose_provenance();
        let buffer = Self {
            tenure: Tenure::new("device memory", runtime, tenancy),
            memory: Some((memory, how)),
            address,
            bytes,
        };
        if address == 0 {
            return Err(Error::Null { call: "cudaMalloc", what: "pointer" });
        }
        Ok(buffer)
    }

    /// The device's address of the first byte.
    pub fn device_ptr(&self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.address)
    }

    /// Its size in bytes; never 0.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Its device.
    pub fn device(&self) -> u32 {
        self.tenure.tenancy.device
    }

    /// Keeps the memory until `event` is complete, however early it is dropped.
    pub fn after(&self, event: Event) {
        self.tenure.after(event);
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if let Some((memory, how)) = self.memory.take() {
            let tenancy = self.tenure.tenancy;
            self.tenure.end(Box::new(move |desk| free(desk, tenancy, memory, how)), None);
        }
    }
}

fn allocate(desk: &mut Desk, tenancy: Tenancy, bytes: usize) -> Result<(DevicePtr, How)> {
    let how = how(&desk.api, tenancy.device)?;
    let stream = desk.private_stream(tenancy)?;
    let allocated = allocate_in(&desk.api, how, bytes, &stream);
    desk.keep_stream(tenancy, stream);
    Ok((allocated?, how))
}

fn allocate_in(api: &Api, how: How, bytes: usize, stream: &RawStream) -> Result<DevicePtr, CallError> {
    let memory = match how {
        How::Plain => api.malloc(bytes)?,
        How::StreamOrdered(group) => api.malloc_async(&group, bytes, stream)?,
    };
    if let Err(error) = zero(api, &memory, bytes, stream) {
        if let Err(second) = give_back(api, memory, how, stream) {
            log::warn!("device memory was given up after its zeroing failed: {second}");
        }
        return Err(error);
    }
    Ok(memory)
}

/// Zeroes fresh memory and waits for it, after which every stream may use it.
fn zero(api: &Api, memory: &DevicePtr, bytes: usize, stream: &RawStream) -> Result<(), CallError> {
    #[expect(unsafe_code, reason = "hands an address to the device")]
    // SAFETY: the memory was just allocated with this size, and the synchronisation below ends the fill.
    unsafe { api.fill(memory.address(), 0, bytes, stream.handle()) }?;
    api.stream_synchronize(stream.handle())
}

/// In stream order where the device can.
fn how(api: &Api, device: u32) -> Result<How> {
    let Ok(group) = api.groups().stream_ordered else { return Ok(How::Plain) };
    match api.attribute(cudaDevAttrMemoryPoolsSupported, device) {
        Ok(0) => Ok(How::Plain),
        Ok(_) => Ok(How::StreamOrdered(group)),
        // A runtime or driver too old to know the attribute has no pools.
        Err(error) if error.code == Code::INVALID_VALUE => Ok(How::Plain),
        Err(error) => Err(error.into()),
    }
}

fn free(desk: &Desk, tenancy: Tenancy, memory: DevicePtr, how: How) -> Result<(), CallError> {
    let stream = match how {
        How::Plain => None,
        How::StreamOrdered(_) => desk.private_stream(tenancy).ok(),
    };
    // A plain free ends memory of either kind; it only may block.
    let Some(stream) = stream else { return desk.api.free(memory) };
    let freed = give_back(&desk.api, memory, how, &stream);
    desk.keep_stream(tenancy, stream);
    freed
}

fn give_back(api: &Api, memory: DevicePtr, how: How, stream: &RawStream) -> Result<(), CallError> {
    match how {
        How::Plain => api.free(memory),
        How::StreamOrdered(group) => {
            api.free_async(&group, memory, stream)?;
            api.stream_synchronize(stream.handle())
        }
    }
}
