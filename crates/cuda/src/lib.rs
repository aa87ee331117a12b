//! The CUDA runtime, found and loaded at run time; safe owners over it.
//!
//! Nothing here links to anything of NVIDIA's. Where there is no runtime, driver or device, every question is answered
//! with the reason, and the program goes on.
//!
//! ```
//! use edgefirst_cuda::cuda_status;
//!
//! // For people: which library, which devices; or why not, and what became of each candidate.
//! println!("{}", cuda_status());
//! ```
//!
//! # How it is built
//! - `sys` is the binary interface: one table of symbols in groups, structures with asserted layouts.
//! - `calls` is the only place where a function of CUDA is called; every result is checked.
//! - The *keeper* is a thread of each runtime. It does whatever needs a current device: on the caller's thread no
//!   device is ever selected, no error is left pending or taken away, and no graph capture is broken.
//! - [`Stream`], [`Event`], [`DeviceBuffer`], [`HostRegistration`], [`ExternalMemory`] and [`MappedBuffer`] own one
//!   thing each. Dropping one never blocks: the keeper frees it once its last use is complete. An owner holds what it
//!   depends on.
//!
//! # Threads
//! Everything is `Send` and `Sync`. No CUDA object is in a thread-local.
//!
//! # What is deliberately absent
//! Kernels, graphs, unified memory, and a safe slice over device memory: a device pointer is handed to somebody who
//! launches work with it, and only that one knows when it ends.

#[cfg(not(target_os = "linux"))]
compile_error!("edgefirst-cuda is built and tested on Linux; other systems come with tests of their own");

mod api;
mod calls;
mod error;
mod event;
mod external;
mod fork;
mod host;
mod keeper;
mod loader;
mod memory;
mod process;
pub mod raw;
mod runtime;
mod status;
mod stream;
pub mod sys;
mod tenure;

pub use error::{CallError, Code, Error, Result};
pub use event::Event;
pub use external::{ExternalMemory, MappedBuffer};
pub use host::{HostAccess, HostRegistration, Pages};
pub use loader::{Attempt, Choice, Outcome, Resolver, Search, Source, Target};
pub use memory::DeviceBuffer;
pub use process::{cuda_status, flush, init, is_cuda_available, refresh, runtime_path};
pub use runtime::{MemoryKind, PointerAttributes, Runtime};
pub use status::{CudaStatus, Device, NotAvailable, Ready, Reason};
pub use stream::{CopyKind, Stream};
pub use sys::symbols::Group;

/// The name of [`Stream`] where both are in sight.
pub type CudaStream = Stream;
