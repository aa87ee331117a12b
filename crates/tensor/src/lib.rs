//! One tensor wherever its bytes live: host maps, and CUDA device pointers to the same bytes.
//!
//! CUDA is looked for at run time. A consumer asks for the device pointer first and falls back to
//! the host's slices; the bytes are the same, nothing is copied:
//!
//! ```
//! use edgefirst_tensor::{PixelFormat, Tensor, Use};
//!
//! # fn infer(_: *const std::ffi::c_void, _: usize) {}
//! # fn infer_on_cpu(_: &[u8]) {}
//! let mut frame =
//!     Tensor::<u8>::image(1920, 1080, PixelFormat::Rgba).serves(&[Use::Host, Use::Cuda]).build()?;
//! for row in frame.map_mut()?.rows_mut() {
//!     row.fill(7);
//! }
//! match frame.cuda_map() {
//!     Some(dev) => infer(dev.device_ptr(), dev.row_pitch()),
//!     None => infer_on_cpu(frame.map()?.as_slice()),
//! }
//! # Ok::<(), edgefirst_tensor::Error>(())
//! ```
//!
//! # Choices
//!
//! - **`None` is never a mystery.** [`Tensor::try_cuda_map`] returns the typed reason.
//! - **Pages are registered with CUDA only on request**, by [`Use::Cuda`] or [`Tensor::pin`].
//! - **May I?** References settle it for one handle, at compile time:
//!
//!   ```compile_fail,E0502
//!   # use edgefirst_tensor::Tensor;
//!   let mut tensor = Tensor::<u8>::of_shape(&[4]).build().unwrap();
//!   let reader = tensor.map().unwrap();
//!   tensor.map_mut().unwrap().as_mut_slice()[0] = 1;
//!   assert_eq!(reader.as_slice()[0], 0);
//!   ```
//!
//!   A run-time borrow settles it for guards that own their storage: many readers or one writer,
//!   else [`Error::Mapped`].
//! - **Is it ready?** A map that ends while its stream still works is released *on* that stream;
//!   later maps wait for it, up to a second, then answer [`Error::Timeout`].

pub mod cuda;

mod borrows;
mod builder;
mod dtype;
mod error;
mod format;
mod layout;
mod map;
mod storage;
mod tensor;
mod timeline;

pub use self::borrows::Access;
pub use self::builder::{TensorBuilder, Use};
pub use self::cuda::{
    CUDA_MEMCPY_DEVICE_TO_HOST, CUDA_MEMCPY_HOST_TO_DEVICE, Choice, CudaStatus, CudaStream, Stream, cuda_status,
    is_cuda_available, memcpy_device_to_host, memcpy_host_to_device, runtime_path as cuda_runtime_path, stream_create,
    stream_destroy, stream_synchronize,
};
pub use self::dtype::{DType, Element};
pub use self::error::{Error, Result};
pub use self::format::PixelFormat;
pub use self::map::{CudaMap, CudaMapMut, HostMap, HostMapMut};
pub use self::tensor::Tensor;
