//! Why a tensor could not be made or mapped.

use std::time::Duration;

use edgefirst_cuda as cuda;

use crate::borrows::Access;
use crate::dtype::DType;

/// The result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something was not done. Nothing is held and nothing has changed when one is returned.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A picture without pixels.
    #[error("a picture of {width} x {height} pixels has no bytes; give it at least 1 x 1")]
    EmptyImage {
        /// Pixels in a line.
        width: usize,
        /// Lines.
        height: usize,
    },
    /// The shape needs more bytes than one allocation may have.
    #[error("shape {shape:?} of {dtype} needs more than {limit} bytes, the most that one allocation may have")]
    TooLarge {
        /// The shape that was asked for.
        shape: Box<[usize]>,
        /// The type of its elements.
        dtype: DType,
        /// Bytes that would have been the most.
        limit: usize,
    },
    /// The system has not that much memory.
    #[error("the system gives no memory for {bytes} bytes; ask for a smaller tensor")]
    OutOfMemory {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// The tensor was not made for CUDA, so the device does not see its pages.
    #[error("the device does not see this tensor's bytes; build it with .serves(&[Use::Cuda]), or call pin() once")]
    NotDeviceVisible,
    /// Another map holds the bytes.
    #[error("the tensor is mapped for {held}, so it cannot be mapped for {wanted}; drop the other map first")]
    Mapped {
        /// What the living map is for.
        held: Access,
        /// What was asked for.
        wanted: Access,
    },
    /// A stream that the tensor was released on has not got that far. Map again later.
    #[error("the work that the tensor was released on did not finish within {after:?}; map it again later")]
    Timeout {
        /// How long the map waited.
        after: Duration,
    },
    /// A stream was to end the map, but its progress can be neither recorded nor waited for. The
    /// bytes stay mapped and are never freed, since the device may still use them.
    #[error("the stream's use of the tensor cannot be followed, so the tensor stays mapped for good: {0}")]
    NotReleased(#[source] Box<Error>),
    /// CUDA is not there, or said no.
    #[error(transparent)]
    Cuda(#[from] cuda::Error),
}
