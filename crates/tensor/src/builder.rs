//! From what a tensor is for to the memory that serves it.

use std::marker::PhantomData;
use std::sync::Arc;

use edgefirst_cuda::Runtime;

use crate::dtype::Element;
use crate::error::Result;
use crate::layout::Layout;
use crate::storage::Storage;
use crate::tensor::Tensor;

/// Who is going to use the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Use {
    /// The host, through slices. Always served today: every tensor lies on the heap.
    Host,
    /// CUDA, through a device pointer to the same bytes: whole pages, registered with the device.
    Cuda,
}

/// A tensor to be. Made by [`Tensor::image`] and [`Tensor::of_shape`].
#[derive(Debug)]
#[must_use = "a builder makes no tensor before build()"]
pub struct TensorBuilder<T: Element> {
    layout: Result<Layout>,
    serves_cuda: bool,
    runtime: Option<Runtime>,
    element: PhantomData<T>,
}

impl<T: Element> TensorBuilder<T> {
    pub(crate) fn new(layout: Result<Layout>) -> Self {
        Self { layout, serves_cuda: false, runtime: None, element: PhantomData }
    }

    /// Adds uses that the memory must suit.
    pub fn serves(mut self, uses: &[Use]) -> Self {
        self.serves_cuda |= uses.contains(&Use::Cuda);
        self
    }

    /// The CUDA runtime to register with; without this, the process's own ([`Runtime::get`]).
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Makes the tensor; its bytes are zero.
    ///
    /// A tensor that serves CUDA is registered here, once, which probes the runtime at its first use.
    /// Where there is no CUDA the tensor is made all the same, for the host, and
    /// [`Tensor::try_cuda_map`] tells why.
    ///
    /// # Errors
    /// [`EmptyImage`](crate::Error::EmptyImage), [`TooLarge`](crate::Error::TooLarge),
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn build(self) -> Result<Tensor<T>> {
        let layout = self.layout?;
        let storage = if self.serves_cuda {
            Storage::pinned(layout.bytes(), self.runtime.clone())?
        } else {
            Storage::plain(layout.bytes())?
        };
        Ok(Tensor::new(storage, Arc::new(layout), self.runtime))
    }
}
