//! The functions behind the symbols, by topic.
//!
//! # Safety
//!
//! Every function takes what NVIDIA's reference text says that it takes: pointers for output that are null or
//! writable, descriptors that are null or readable. Outputs are written on success only. Addresses of memory
//! and handles are numbers here, and looked up before use.

#![expect(unsafe_code, reason = "pointers of a C interface are read and written")]
#![expect(clippy::multiple_unsafe_ops_per_block, reason = "one of several structures is read or written, by major")]
#![expect(clippy::missing_safety_doc, reason = "the contract of each function is NVIDIA's reference text")]

use crate::error::{Answer, Code};

pub mod context;
pub mod control;
pub mod device;
pub mod error;
pub mod event;
pub mod external;
pub mod memory;
pub mod stream;
pub mod transfer;

/// Writes an output, unless the caller gave no room for it.
///
/// # Safety
///
/// `out` is null or valid for a write of `T`.
unsafe fn put<T>(out: *mut T, value: T) -> Answer {
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller vouches for the rest.
    unsafe { out.write_unaligned(value) };
    Ok(())
}

/// Refuses a missing output before anything happens.
fn needs<T>(out: *mut T) -> Answer {
    if out.is_null() { Err(Code::INVALID_VALUE) } else { Ok(()) }
}
