//! What the device sees of a storage.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use edgefirst_cuda::{self as cuda, Event, HostAccess, HostRegistration, Pages, Runtime};

use crate::error::{Error, Result};
use crate::storage::Heap;

/// Through which device pages are registered. Every device of the runtime sees them afterwards.
pub(crate) const DEVICE: u32 = 0;

#[derive(Debug)]
pub(crate) enum Backing {
    /// The storage was not made for CUDA.
    Unasked,
    /// It was, and this is why the device does not see it.
    Refused(cuda::Error),
    /// There are no bytes to see. CUDA registers no empty range.
    Empty,
    /// The pages are registered.
    Pinned(HostRegistration),
}

impl Backing {
    pub(crate) fn register(runtime: &Runtime, heap: &Arc<Heap>) -> cuda::Result<Self> {
        runtime.device(DEVICE)?;
        if heap.len() == 0 {
            return Ok(Self::Empty);
        }
        let pages: Arc<dyn Pages> = Arc::clone(heap) as _;
        HostRegistration::new(runtime, DEVICE, pages, HostAccess::ReadWrite).map(Self::Pinned)
    }

    /// Whether the device sees the bytes, and if not, why.
    pub(crate) fn visible(&self) -> Result<()> {
        match self {
            Self::Unasked => Err(Error::NotDeviceVisible),
            Self::Refused(reason) => Err(reason.clone().into()),
            Self::Empty => Ok(()),
            Self::Pinned(registration) => Ok(registration.runtime().usable(registration.device())?),
        }
    }

    /// The device's address of the first byte; null where it sees none.
    pub(crate) fn device_ptr(&self) -> *mut c_void {
        match self {
            Self::Pinned(registration) => registration.device_ptr(),
            Self::Unasked | Self::Refused(_) | Self::Empty => ptr::null_mut(),
        }
    }

    /// The registration ends after `ended` at the earliest.
    pub(crate) fn busy_until(&self, ended: Event) {
        if let Self::Pinned(registration) = self {
            registration.after(ended);
        }
    }
}
