//! Zeroed bytes of the program's heap.
//!
//! # Safety argument
//!
//! A [`Heap`] owns one block of the allocator from [`Heap::zeroed`] to its drop. `start` lies in
//! the block and `len` bytes from there do too, so `start..start + len` stays readable and writable
//! as long as the `Heap` lives. Nobody but the holder of a borrow (`borrows.rs`) makes references
//! to those bytes.

#![expect(unsafe_code, reason = "allocates memory and hands its address to CUDA")]

use std::alloc::{self, Layout};
use std::ptr::NonNull;

use edgefirst_cuda::Pages;

use crate::error::{Error, Result};

/// More than any element needs, and the most for which the system's fresh pages serve as the zeroes.
const ALIGNMENT: usize = 16;

/// Bytes, all zero at first.
#[derive(Debug)]
pub(crate) struct Heap {
    block: NonNull<u8>,
    layout: Layout,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the fields are an address that this value alone owns, and numbers; who touches the bytes
// behind it is settled by the borrows of the storage, not by the thread that holds the value.
unsafe impl Send for Heap {}
// SAFETY: as above; no method changes the value through a shared reference.
unsafe impl Sync for Heap {}

impl Heap {
    /// `bytes` zeroes.
    pub(crate) fn zeroed(bytes: usize) -> Result<Self> {
        Self::within(bytes, bytes, ALIGNMENT)
    }

    /// At least `bytes` zeroes, on pages that hold nothing else.
    ///
    /// The pages lie inside a larger block, since an allocator that is asked for page alignment
    /// writes every zero at once, which an absurd size would not survive.
    pub(crate) fn pages(bytes: usize) -> Result<Self> {
        let page = rustix::param::page_size();
        let len = bytes.checked_next_multiple_of(page);
        let block = len.and_then(|len| len.checked_add(page));
        match (len, block) {
            (Some(len), Some(block)) => Self::within(block, len, page),
            _ => Err(Error::OutOfMemory { bytes }),
        }
    }

    /// `len` bytes at a multiple of `alignment` in a block of `block` bytes, which must have them.
    fn within(block: usize, len: usize, alignment: usize) -> Result<Self> {
        let refused = Error::OutOfMemory { bytes: len };
        // An allocation of no bytes is not defined; one byte is.
        let Ok(layout) = Layout::from_size_align(block.max(1), ALIGNMENT) else {
            return Err(refused);
        };
        // SAFETY: the layout has a size of at least one byte.
        let block = unsafe { alloc::alloc_zeroed(layout) };
        let Some(block) = NonNull::new(block) else {
            return Err(refused);
        };
        let gap = block.addr().get().next_multiple_of(alignment) - block.addr().get();
        // SAFETY: the gap is 0 for `zeroed`; for `pages` it is less than a page, and the block has a
        // page more than `len`. So the result lies in the block, and `len` bytes follow it there.
        let start = unsafe { block.add(gap) };
        Ok(Self { block, layout, start, len })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

// SAFETY: `start..start + len` is memory of this value, at one address, until it is dropped.
unsafe impl Pages for Heap {
    fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: `block` came from the allocator with this layout, and this is its only end.
        unsafe { alloc::dealloc(self.block.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_aligned_and_rounded_up() {
        let page = rustix::param::page_size();
        for (bytes, rounded) in [(1, page), (page, page), (page + 1, 2 * page)] {
            let heap = Heap::pages(bytes).unwrap();
            assert!(heap.start.addr().get().is_multiple_of(page));
            assert_eq!(heap.len(), rounded);
        }
    }

    #[test]
    fn the_block_holds_what_it_says() {
        for heap in [Heap::zeroed(5).unwrap(), Heap::pages(5).unwrap()] {
            let block = heap.block.addr().get()..=heap.block.addr().get() + heap.layout.size();
            assert!(block.contains(&heap.start.addr().get()));
            assert!(block.contains(&(heap.start.addr().get() + heap.len)));
        }
    }

    #[test]
    fn sizes_beyond_memory_are_refused() {
        let most = isize::MAX.unsigned_abs();
        for bytes in [most, most - rustix::param::page_size(), 1 << 62] {
            assert!(matches!(Heap::zeroed(bytes), Err(Error::OutOfMemory { .. })));
            assert!(matches!(Heap::pages(bytes), Err(Error::OutOfMemory { .. })));
        }
    }
}
