//! A forked child cannot go on with CUDA that its parent has initialised.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::error::Code;
use crate::{ledger, os, state};

/// Id of the process that initialised the driver, or 0.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Called when the driver is initialised.
pub(crate) fn remember_process() {
    PROCESS.store(os::process_id(), Ordering::Relaxed);
}

/// Whether this process is a child of the one that initialised the driver.
pub(crate) fn is_child() -> bool {
    let process = PROCESS.load(Ordering::Relaxed);
    process != 0 && process != os::process_id()
}

/// Records the use of CUDA in a child. The lock may have been taken by a thread that does not exist here.
pub(crate) fn used_in_child(symbol: &'static str) -> c_int {
    let message = format!(
        "{symbol} in process {}, which was forked from process {} after that had initialised CUDA",
        os::process_id(),
        PROCESS.load(Ordering::Relaxed),
    );
    match state::try_lock() {
        Some(mut state) => state.ledger.find("use-after-fork", message),
        None => ledger::print("use-after-fork", &message),
    }
    Code::NOT_INITIALIZED.0
}
