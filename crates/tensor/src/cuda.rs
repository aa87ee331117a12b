//! CUDA as seen from a tensor: the maps, and the names of the runtime that a consumer needs.

pub(crate) mod backing;

pub use edgefirst_cuda::raw::{
    CUDA_MEMCPY_DEVICE_TO_HOST, CUDA_MEMCPY_HOST_TO_DEVICE, memcpy_device_to_host, memcpy_host_to_device,
    stream_create, stream_destroy, stream_synchronize, try_memcpy,
};
pub use edgefirst_cuda::{
    Choice, CopyKind, CudaStatus, CudaStream, Error, Event, NotAvailable, Ready, Reason, Resolver, Runtime, Stream,
    cuda_status, flush, init, is_cuda_available, refresh, runtime_path,
};

pub use crate::map::{CudaMap, CudaMapMut};
