//! Memory of other APIs, imported.

mod buffer;
mod fd;
mod memory;

pub use buffer::MappedBuffer;
pub use memory::ExternalMemory;
