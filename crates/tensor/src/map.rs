//! Guards: as long as one lives, the bytes are its holder's.

mod device;
mod host;

pub use self::device::{CudaMap, CudaMapMut};
pub use self::host::{HostMap, HostMapMut};
