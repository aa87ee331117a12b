//! Host memory for registrations.
//!
//! # Safety
//! A mapping is made, never moved, and unmapped by the drop of its only owner.

#![expect(unsafe_code, reason = "maps memory")]

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use edgefirst_cuda::Pages;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Anonymous pages. They tell whoever asked when they are dropped.
#[derive(Debug)]
pub struct HostPages {
    start: NonNull<u8>,
    bytes: usize,
    foreign: bool,
    dropped: Arc<AtomicBool>,
}

// SAFETY: memory may be used from any thread.
unsafe impl Send for HostPages {}
// SAFETY: only addresses are shared.
unsafe impl Sync for HostPages {}

impl HostPages {
    /// Zeroed pages that may be written.
    ///
    /// # Panics
    /// If there is no memory.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self::mapped(bytes, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Zeroed pages that may only be read.
    ///
    /// # Panics
    /// If there is no memory.
    #[must_use]
    pub fn read_only(bytes: usize) -> Self {
        Self::mapped(bytes, ProtFlags::READ)
    }

    fn mapped(bytes: usize, access: ProtFlags) -> Self {
        // SAFETY: a new mapping, wherever the kernel puts it.
        let start = unsafe { mmap_anonymous(null_mut(), bytes, access, MapFlags::PRIVATE) }.expect("memory");
        let start = NonNull::new(start.cast()).expect("a mapping is not at 0");
        Self { start, bytes, foreign: false, dropped: Arc::default() }
    }

    /// Says that somebody else's code runs when they are dropped.
    #[must_use]
    pub fn foreign(mut self) -> Self {
        self.foreign = true;
        self
    }

    /// Becomes true when they are dropped.
    #[must_use]
    pub fn dropped(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.dropped)
    }
}

impl Drop for HostPages {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Release);
        // SAFETY: our own mapping, which ends here.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

// SAFETY: mapped until the drop, and never moved.
unsafe impl Pages for HostPages {
    fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    fn len(&self) -> usize {
        self.bytes
    }

    fn is_foreign(&self) -> bool {
        self.foreign
    }
}
