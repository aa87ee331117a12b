//! Copies and fills: the work that moves bytes.
//!
//! # Safety
//!
//! A [`Spot`] is made from a [`Place`] that was checked to hold every byte of the transfer. It keeps device
//! and external memory mapped. Host memory is the caller's, who promised CUDA that it stays until the work is
//! done; pinned memory is looked up once more before it is touched, since a program that unmaps it early is
//! what this simulator is there to find.

#![expect(unsafe_code, reason = "bytes are read and written at addresses that a program gave")]

use std::hash::{DefaultHasher, Hasher};
use std::ptr;
use std::slice;

use crate::address::{self, Mapping};
use crate::footprint::Footprint;
use crate::history::{Backing, Touch};
use crate::memory::{Place, Side};

/// Rows of bytes somewhere.
#[derive(Debug)]
pub(crate) struct Spot {
    data: *mut u8,
    row: usize,
    pitch: usize,
    rows: usize,
    /// Host memory that the program may take away.
    pinned: bool,
    _keep: Option<Mapping>,
}

// SAFETY: the pointer is followed under the lock of the state only, see the module's argument.
unsafe impl Send for Spot {}
// SAFETY: as for Send.
unsafe impl Sync for Spot {}

impl Spot {
    /// The rows that begin at a place.
    pub(crate) fn new(place: &Place, row: usize, pitch: usize, rows: usize) -> Spot {
        Spot {
            data: place.data,
            row,
            pitch,
            rows,
            pinned: place.backing == Backing::Host && place.side != Side::Pageable,
            _keep: place.keep.clone(),
        }
    }

    /// Whether the pages are there still. Pageable memory is believed to be: a heap cannot be asked.
    fn is_mapped(&self, to_write: bool) -> bool {
        if !self.pinned || self.row == 0 || self.rows == 0 {
            return true;
        }
        let bytes = self.pitch * (self.rows - 1) + self.row;
        address::host_areas(self.data.addr(), bytes)
            .is_some_and(|areas| areas.iter().all(|area| area.readable && (area.writable || !to_write)))
    }

    fn row_at(&self, row: usize) -> *mut u8 {
        self.data.wrapping_add(row * self.pitch)
    }

    /// A number that changes when the bytes do.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for row in 0..self.rows {
            // SAFETY: the place was checked to hold all rows; see the module's argument for how long.
            hasher.write(unsafe { slice::from_raw_parts(self.row_at(row), self.row) });
        }
        hasher.finish()
    }
}

/// A copy that waits in a stream.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) to: Spot,
    pub(crate) from: Spot,
    /// What a host source looked like when the copy was queued, unless other work was to write it first.
    pub(crate) seen: Option<u64>,
}

/// What went wrong while bytes were moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Pinned pages are not mapped any more.
    Unmapped,
    /// The host wrote the source after the copy was queued.
    SourceChanged,
}

impl Copy {
    /// Moves the bytes.
    pub(crate) fn perform(&self) -> Result<(), Trouble> {
        if !self.from.is_mapped(false) || !self.to.is_mapped(true) {
            return Err(Trouble::Unmapped);
        }
        let changed = self.seen.is_some_and(|seen| seen != self.from.fingerprint());
        for row in 0..self.from.rows {
            // SAFETY: both places were checked to hold all rows, and are mapped. `copy` allows an overlap.
            unsafe { ptr::copy(self.from.row_at(row), self.to.row_at(row), self.from.row) };
        }
        if changed { Err(Trouble::SourceChanged) } else { Ok(()) }
    }
}

/// A fill that waits in a stream.
#[derive(Debug)]
pub(crate) struct Fill {
    pub(crate) to: Spot,
    pub(crate) value: u8,
}

impl Fill {
    /// Writes the bytes.
    pub(crate) fn perform(&self) -> Result<(), Trouble> {
        if !self.to.is_mapped(true) {
            return Err(Trouble::Unmapped);
        }
        for row in 0..self.to.rows {
            // SAFETY: the place was checked to hold all rows, and is mapped.
            unsafe { ptr::write_bytes(self.to.row_at(row), self.value, self.to.row) };
        }
        Ok(())
    }
}

/// The access that a transfer makes at a place.
pub(crate) fn touch(place: &Place, row: usize, pitch: usize, rows: usize, write: bool) -> Touch {
    let footprint = Footprint { start: place.offset, row, pitch, rows };
    Touch { backing: place.backing, footprint, write }
}
