//! What the tests of this workspace share.
//!
//! - [`sim`]: copies of the simulated CUDA, each with its own ledger, log and faults.
//! - [`app`]: the application's own CUDA calls on such a copy.
//! - [`faults`]: every CUDA call of an operation fails once in turn.
//! - [`pages`]: host memory for registrations.
//! - [`mod@skip`]: skips that are seen and counted.

pub mod app;
pub mod faults;
pub mod pages;
pub mod sim;
pub mod skip;

pub use app::Gate;
pub use faults::{Traces, eventually, fault_matrix};
pub use pages::HostPages;
pub use sim::{Major, Sim};
