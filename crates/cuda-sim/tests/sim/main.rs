//! Tests of the simulated CUDA, through the libraries that export it.
//!
//! Each finding has a program that is wrong in exactly that way, and the corrected one, which has none.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::too_many_arguments, reason = "some signatures are NVIDIA's")]

mod capture;
mod contexts;
mod devices;
mod external;
mod faults;
mod lifetimes;
mod memory;
mod order;
mod process;
mod schedules;
mod support;
