//! The tensor: a layout over a storage.

use std::marker::PhantomData;
use std::sync::Arc;

use edgefirst_cuda::Runtime;

use crate::borrows::Access;
use crate::builder::TensorBuilder;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::format::PixelFormat;
use crate::layout::Layout;
use crate::map::{CudaMap, CudaMapMut, HostMap, HostMapMut};
use crate::storage::Storage;

/// Elements in memory that the host, and CUDA if it was built for it, can map.
///
/// It is `Send` and `Sync`, and not `Clone`: its bytes have one owner. A map waits up to one second
/// for the streams that earlier maps were released on; nothing else waits, dropping included.
#[derive(Debug)]
pub struct Tensor<T: Element> {
    storage: Arc<Storage>,
    layout: Arc<Layout>,
    runtime: Option<Runtime>,
    element: PhantomData<T>,
}

/// Making one.
impl<T: Element> Tensor<T> {
    /// A picture of `width` x `height` pixels, shape height x width x channels.
    pub fn image(width: usize, height: usize, format: PixelFormat) -> TensorBuilder<T> {
        TensorBuilder::new(Layout::image(width, height, format, T::DTYPE))
    }

    /// A plain tensor. Dimensions of 0 are legal; no dimensions are a scalar.
    pub fn of_shape(shape: &[usize]) -> TensorBuilder<T> {
        TensorBuilder::new(Layout::plain(shape, T::DTYPE))
    }

    pub(crate) fn new(storage: Arc<Storage>, layout: Arc<Layout>, runtime: Option<Runtime>) -> Self {
        Self { storage, layout, runtime, element: PhantomData }
    }

    /// Registers the bytes with CUDA after the fact, with the runtime that the builder was given or
    /// the process's own. They move to whole pages for that: one copy, once. Does nothing if the
    /// device sees them already.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) with the reason where there is no CUDA or it refuses;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory); [`Error::Mapped`](crate::Error::Mapped) while an owned map lives.
    pub fn pin(&mut self) -> Result<()> {
        if self.storage.backing.visible().is_ok() {
            return Ok(());
        }
        let from = HostMap::<T>::new(self.storage.hold(Access::Write)?, &self.layout);
        let pinned = Storage::pinned(self.layout.bytes(), self.runtime.clone())?;
        pinned.backing.visible()?;
        let mut to = HostMapMut::<T>::new(pinned.hold(Access::Write)?, &self.layout);
        to.as_mut_slice().copy_from_slice(from.as_slice());
        drop((from, to));
        self.storage = pinned;
        Ok(())
    }
}

/// What it is.
impl<T: Element> Tensor<T> {
    /// Elements in each dimension; height, width, channels of an image.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.layout.dtype()
    }

    /// Bytes that all elements take.
    pub fn bytes(&self) -> usize {
        self.layout.bytes()
    }

    /// Bytes from the start of one row to the start of the next.
    pub fn row_pitch(&self) -> usize {
        self.layout.row_pitch()
    }
}

/// Mapping it. Maps for reading may overlap, host and device alike; a map for writing is alone.
impl<T: Element> Tensor<T> {
    /// The elements as slices, for reading.
    ///
    /// # Errors
    /// [`Error::Mapped`](crate::Error::Mapped) while an owned map for writing lives; [`Error::Timeout`](crate::Error::Timeout) if the device has
    /// not finished with the bytes; [`Error::Cuda`](crate::Error::Cuda) if it cannot be asked.
    pub fn map(&self) -> Result<HostMap<'_, T>> {
        Ok(HostMap::new(self.storage.hold(Access::Read)?, &self.layout))
    }

    /// The elements as slices, for reading and writing.
    ///
    /// # Errors
    /// As [`map`](Self::map); [`Error::Mapped`](crate::Error::Mapped) while any owned map lives.
    pub fn map_mut(&mut self) -> Result<HostMapMut<'_, T>> {
        Ok(HostMapMut::new(self.storage.hold(Access::Write)?, &self.layout))
    }

    /// A device pointer to the same bytes, for reading.
    ///
    /// # Errors
    /// [`Error::NotDeviceVisible`](crate::Error::NotDeviceVisible) if the tensor was not built to serve CUDA; [`Error::Cuda`](crate::Error::Cuda) with
    /// the reason why CUDA is not there, refused the pages, or is lost; else as [`map`](Self::map).
    pub fn try_cuda_map(&self) -> Result<CudaMap<'_>> {
        self.storage.backing.visible()?;
        Ok(CudaMap::new(self.storage.hold(Access::Read)?, &self.layout))
    }

    /// A device pointer to the same bytes, for reading and writing.
    ///
    /// # Errors
    /// As [`try_cuda_map`](Self::try_cuda_map); [`Error::Mapped`](crate::Error::Mapped) while any owned map lives.
    pub fn try_cuda_map_mut(&mut self) -> Result<CudaMapMut<'_>> {
        self.storage.backing.visible()?;
        Ok(CudaMapMut::new(self.storage.hold(Access::Write)?, &self.layout))
    }

    /// [`try_cuda_map`](Self::try_cuda_map), the reason logged once per tensor at debug level.
    pub fn cuda_map(&self) -> Option<CudaMap<'_>> {
        self.try_cuda_map().map_err(|why| self.storage.log_once(&why)).ok()
    }

    /// [`try_cuda_map_mut`](Self::try_cuda_map_mut), the reason logged once per tensor at debug
    /// level. Writers use it as `let Some(dev) = t.cuda_map_mut() else { return on_cpu(t.map_mut()?) };`.
    pub fn cuda_map_mut(&mut self) -> Option<CudaMapMut<'_>> {
        let storage = Arc::clone(&self.storage);
        self.try_cuda_map_mut().map_err(|why| storage.log_once(&why)).ok()
    }
}
