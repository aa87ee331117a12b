//! The happens-before checker: every access is compared with the earlier ones that it conflicts with.
//!
//! It looks at the order that the program asked for, not at the one that a schedule happened to give. So a
//! missing wait is found every time, also when the bytes came out right.

use std::collections::HashMap;

use crate::clock::{Clock, Epoch};
use crate::footprint::Footprint;
use crate::ledger::Who;

/// Memory that has one set of bytes, however many addresses lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Backing {
    /// Device memory, by the number of its allocation.
    Device(u64),
    /// The host's own memory; positions are addresses.
    Host,
    /// Another API's memory, by the file's device and inode.
    External(u64, u64),
}

/// Bytes that somebody is about to read or write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) backing: Backing,
    pub(crate) footprint: Footprint,
    pub(crate) write: bool,
}

/// A touch, and when it was.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    touch: Touch,
    epoch: Epoch,
    pub(crate) who: Who,
}

impl Access {
    /// `writes` or `reads`.
    pub(crate) fn verb(&self) -> &'static str {
        if self.touch.write { "writes" } else { "reads" }
    }
}

/// Above this many accesses to one backing those that everybody knows of are dropped.
const PRUNE_ABOVE: usize = 64;

/// Who touched which bytes when.
#[derive(Debug, Default)]
pub(crate) struct History(HashMap<Backing, Vec<Access>>);

impl History {
    /// The first earlier access that conflicts with this one and that the clock does not know of.
    pub(crate) fn conflict(&self, touch: &Touch, clock: &Clock) -> Option<&Access> {
        self.of(touch.backing).find(|earlier| {
            (touch.write || earlier.touch.write)
                && !clock.knows(earlier.epoch)
                && earlier.touch.footprint.overlaps(&touch.footprint)
        })
    }

    /// Remembers an access. Earlier ones that it stands for are dropped.
    pub(crate) fn record(&mut self, touch: Touch, epoch: Epoch, clock: &Clock, who: Who) {
        let accesses = self.0.entry(touch.backing).or_default();
        accesses.retain(|earlier| {
            let stands_for = (touch.write || !earlier.touch.write)
                && clock.knows(earlier.epoch)
                && touch.footprint.covers(&earlier.touch.footprint);
            !stands_for
        });
        accesses.push(Access { touch, epoch, who });
    }

    /// Drops what every later call is ordered after anyway.
    pub(crate) fn prune(&mut self, known_to_all: &Clock) {
        for accesses in self.0.values_mut() {
            if accesses.len() > PRUNE_ABOVE {
                accesses.retain(|access| !known_to_all.knows(access.epoch));
            }
        }
    }

    /// An access to the range that the clock does not know of: it may still be going on.
    pub(crate) fn unfinished(&self, backing: Backing, range: Footprint, clock: &Clock) -> Option<&Access> {
        self.of(backing).find(|access| !clock.knows(access.epoch) && access.touch.footprint.overlaps(&range))
    }

    /// The range is gone.
    pub(crate) fn forget(&mut self, backing: Backing, range: Footprint) {
        if let Some(accesses) = self.0.get_mut(&backing) {
            accesses.retain(|access| !access.touch.footprint.overlaps(&range));
            if accesses.is_empty() {
                self.0.remove(&backing);
            }
        }
    }

    fn of(&self, backing: Backing) -> impl Iterator<Item = &Access> {
        self.0.get(&backing).into_iter().flatten()
    }
}
