//! The device's guards: bytes as a device pointer.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use edgefirst_cuda::Stream;

use crate::cuda::backing::DEVICE;
use crate::dtype::DType;
use crate::error::Result;
use crate::layout::Layout;
use crate::storage::Hold;

/// A device pointer to the tensor's bytes, for reading. Made by
/// [`Tensor::cuda_map`](crate::Tensor::cuda_map).
///
/// Dropping it is the caller's word that its own work on the bytes is finished. Work that still
/// waits in a stream is handed over by [`release_on`](Self::release_on) instead.
#[derive(Debug)]
pub struct CudaMap<'t> {
    hold: Hold,
    layout: Arc<Layout>,
    borrowed: PhantomData<&'t ()>,
}

impl<'t> CudaMap<'t> {
    /// `hold` is of a storage that the device sees.
    pub(crate) fn new(hold: Hold, layout: &Arc<Layout>) -> Self {
        Self { hold, layout: Arc::clone(layout), borrowed: PhantomData }
    }

    /// The device's address of the first element; null for a tensor of no elements. It may differ
    /// from the host's address of the same byte.
    pub fn device_ptr(&self) -> *const c_void {
        self.hold.storage().backing.device_ptr().cast_const()
    }

    /// Bytes from the pointer on.
    pub fn len(&self) -> usize {
        self.layout.bytes()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ordinal of the device that the pointer was asked of.
    pub fn device(&self) -> u32 {
        DEVICE
    }

    /// Elements in each dimension; height, width, channels of an image.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.layout.dtype()
    }

    /// Bytes from the start of one row to the start of the next.
    pub fn row_pitch(&self) -> usize {
        self.layout.row_pitch()
    }

    /// The largest power of two that divides the address, up to a page of 4096.
    pub fn alignment(&self) -> usize {
        1 << self.device_ptr().addr().trailing_zeros().min(12)
    }

    /// Ends the map now, and the use of the bytes once `stream` has done what is queued there. Later
    /// maps that conflict wait for that, and so does the memory itself when the tensor is dropped.
    ///
    /// # Errors
    /// Those of recording an event, where waiting for the stream did not help either:
    /// [`Error::Cuda`](crate::Error::Cuda) if the device is lost,
    /// [`Error::NotReleased`](crate::Error::NotReleased) otherwise.
    pub fn release_on(self, stream: &Stream) -> Result<()> {
        self.hold.release_on(stream)
    }

    /// The same guard, free of the tensor's lifetime: it keeps the storage, also when the tensor is
    /// gone, and other maps meet it as [`Error::Mapped`](crate::Error::Mapped).
    pub fn into_owned(self) -> CudaMap<'static> {
        CudaMap::new(self.hold, &self.layout)
    }
}

/// A device pointer to the tensor's bytes, for reading and writing. Made by
/// [`Tensor::cuda_map_mut`](crate::Tensor::cuda_map_mut).
///
/// Dropping it is the caller's word that its own work on the bytes is finished. Work that still
/// waits in a stream is handed over by [`finish_on`](Self::finish_on) instead.
#[derive(Debug)]
pub struct CudaMapMut<'t> {
    map: CudaMap<'t>,
}

impl<'t> CudaMapMut<'t> {
    pub(crate) fn new(hold: Hold, layout: &Arc<Layout>) -> Self {
        Self { map: CudaMap::new(hold, layout) }
    }

    /// As [`CudaMap::device_ptr`], and the device may write there.
    pub fn device_ptr(&self) -> *mut c_void {
        self.map.device_ptr().cast_mut()
    }

    /// Ends the map; the caller's work on the bytes is finished. Tells whether it can have been.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) if the device cannot be used any more: nobody knows what
    /// was written then.
    pub fn finish(self) -> Result<()> {
        self.map.hold.storage().backing.visible()
    }

    /// As [`CudaMap::release_on`], after writes.
    ///
    /// # Errors
    /// As [`CudaMap::release_on`]. An error of the work itself surfaces at a later map.
    pub fn finish_on(self, stream: &Stream) -> Result<()> {
        self.map.release_on(stream)
    }

    /// The same guard, free of the tensor's lifetime; see [`CudaMap::into_owned`].
    pub fn into_owned(self) -> CudaMapMut<'static> {
        CudaMapMut { map: self.map.into_owned() }
    }
}

/// Everything but the pointer is as for a map for reading.
impl<'t> Deref for CudaMapMut<'t> {
    type Target = CudaMap<'t>;

    fn deref(&self) -> &Self::Target {
        &self.map
    }
}
