//! Noticing that the process was forked.
//!
//! A process that used CUDA cannot use it after a fork: the driver's state and the keeper stayed behind. The child
//! finds that out from a generation number that the C library's fork handler counts up, so that no call has to ask
//! for the process's number.

#![expect(unsafe_code, reason = "registers a fork handler with the C library")]
//!
//! # Safety argument
//! The handler only stores to atomics, which is allowed between a fork and what follows it.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(1);

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    crate::process::forget_answer();
}

/// The number of forks between this process and the first that loaded the crate, plus one. Never 0.
pub(crate) fn generation() -> u32 {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // SAFETY: the handler is a function that lives as long as the program and does what is allowed in a child.
        let code = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        if code != 0 {
            log::warn!("forks cannot be noticed (pthread_atfork: {code}); do not use CUDA in a forked child");
        }
    });
    GENERATION.load(Ordering::Acquire)
}
