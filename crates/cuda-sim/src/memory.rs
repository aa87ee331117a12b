//! Device memory, pinned host memory, and what an address means.
//!
//! Pointers are computed here and followed in [`crate::transfer`] only.

use std::collections::BTreeMap;

use crate::address::{Addresses, Mapping};
use crate::error::{Answer, Code};
use crate::footprint::Footprint;
use crate::history::Backing;
use crate::ledger::Who;

/// Memory of each simulated device.
pub(crate) const DEVICE_BYTES: usize = 8 << 30;

/// Where a range of device addresses comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `cudaMalloc`
    Device,
    /// `cudaMallocAsync`
    StreamOrdered,
    /// `cudaExternalMemoryGetMappedBuffer`, of the import with this handle.
    Mapped(usize),
}

impl Kind {
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Kind::Device => "device-memory",
            Kind::StreamOrdered => "stream-ordered-memory",
            Kind::Mapped(_) => "mapped-buffer",
        }
    }
}

/// A range of device addresses and the bytes behind it.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) start: usize,
    pub(crate) bytes: usize,
    pub(crate) kind: Kind,
    pub(crate) device: u32,
    pub(crate) context: usize,
    pub(crate) backing: Backing,
    /// Position of the first byte in the backing.
    pub(crate) offset: usize,
    pub(crate) mapping: Mapping,
    pub(crate) made: Who,
}

impl Region {
    /// All its bytes, in its backing.
    pub(crate) fn footprint(&self) -> Footprint {
        Footprint::linear(self.offset, self.bytes)
    }
}

/// Host memory that the device may touch.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) start: usize,
    pub(crate) bytes: usize,
    pub(crate) device: u32,
    pub(crate) context: usize,
    /// The device's address of the first byte; the host's own, or another one.
    pub(crate) device_start: usize,
    pub(crate) read_only: bool,
    /// Present if it was allocated; absent if the caller's pages were registered.
    pub(crate) allocation: Option<Mapping>,
    pub(crate) made: Who,
}

impl Pinned {
    pub(crate) fn slug(&self) -> &'static str {
        match self.allocation {
            Some(_) => "host-memory",
            None => "host-registration",
        }
    }

    /// All its bytes, in the host's memory.
    pub(crate) fn footprint(&self) -> Footprint {
        Footprint::linear(self.start, self.bytes)
    }
}

/// Whose address it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A device address, also one that leads to pinned host memory.
    Device,
    /// A host address of pinned memory that serves the device as well.
    Both,
    /// A host address of pinned memory for which the device has another one.
    PinnedHost,
    /// A host address that the device knows nothing of.
    Pageable,
}

/// What an address leads to.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) side: Side,
    pub(crate) backing: Backing,
    /// Position in the backing.
    pub(crate) offset: usize,
    pub(crate) data: *mut u8,
    pub(crate) read_only: bool,
    /// Keeps the bytes mapped while work that uses them waits.
    pub(crate) keep: Option<Mapping>,
}

/// Why an address leads to nothing.
#[derive(Debug)]
pub(crate) enum Miss {
    /// In device memory, but in no allocation, or past the end of one.
    Outside,
    /// In an allocation that was freed.
    Freed(Box<Grave>),
}

/// What was there before.
#[derive(Clone, Debug)]
pub(crate) struct Grave {
    bytes: usize,
    pub(crate) what: &'static str,
    pub(crate) made: Who,
    pub(crate) freed: Who,
}

impl Grave {
    /// "Querying its pointer attributes results in undefined behavior" is said of such memory only.
    pub(crate) fn is_stream_ordered(&self) -> bool {
        self.what == Kind::StreamOrdered.slug()
    }
}

/// All memory that the simulator knows of.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) addresses: Addresses,
    pub(crate) regions: BTreeMap<usize, Region>,
    pub(crate) pinned: BTreeMap<usize, Pinned>,
    /// Device addresses of pinned memory, where they differ: to the host's.
    aliases: BTreeMap<usize, usize>,
    graves: BTreeMap<usize, Grave>,
    next_backing: u64,
}

impl Memory {
    /// A number for a new piece of device memory.
    pub(crate) fn new_backing(&mut self) -> Backing {
        self.next_backing += 1;
        Backing::Device(self.next_backing)
    }

    /// Bytes allocated on a device.
    pub(crate) fn used(&self, device: u32) -> usize {
        let own = |region: &&Region| region.device == device && !matches!(region.kind, Kind::Mapped(_));
        self.regions.values().filter(own).map(|region| region.bytes).sum()
    }

    /// What `bytes` from `address` on are.
    pub(crate) fn place(&self, address: usize, bytes: usize) -> Result<Place, Miss> {
        if let Some((start, region)) = below(&self.regions, address)
            && address < start + region.bytes
        {
            return within(address - start, bytes, region.bytes).map(|at| Place {
                side: Side::Device,
                backing: region.backing,
                offset: region.offset + at,
                data: region.mapping.data().wrapping_add(at),
                read_only: false,
                keep: Some(region.mapping.clone()),
            });
        }
        if let Some((at, pinned)) = self.pinned_at(address) {
            return within(at, bytes, pinned.bytes).map(|at| self.pinned_place(address, at, pinned));
        }
        match self.addresses.contains(address) {
            true => Err(self.grave(address).map_or(Miss::Outside, |grave| Miss::Freed(Box::new(grave)))),
            false => Ok(host_place(Side::Pageable, address, false)),
        }
    }

    /// The pinned memory that the address lies in, by the host's or the device's address, and how far in.
    pub(crate) fn pinned_at(&self, address: usize) -> Option<(usize, &Pinned)> {
        let alias = below(&self.aliases, address).map(|(start, host)| (address - start, *host));
        let by_host = below(&self.pinned, address).map(|(start, _)| (address - start, start));
        [by_host, alias].into_iter().flatten().find_map(|(at, host)| {
            let pinned = self.pinned.get(&host)?;
            (at < pinned.bytes).then_some((at, pinned))
        })
    }

    /// Whether part of the range is pinned already.
    pub(crate) fn overlaps_pinned(&self, start: usize, bytes: usize) -> bool {
        let end = start.saturating_add(bytes);
        let before = self.pinned.range(..end).next_back();
        before.is_some_and(|(_, pinned)| pinned.start + pinned.bytes > start)
    }

    /// Makes pinned memory known.
    pub(crate) fn add_pinned(&mut self, pinned: Pinned) {
        if pinned.device_start != pinned.start {
            self.aliases.insert(pinned.device_start, pinned.start);
        }
        self.pinned.insert(pinned.start, pinned);
    }

    /// Forgets pinned memory; its device address, if it was another one, is dead from now on.
    pub(crate) fn remove_pinned(&mut self, start: usize, by: &Who) -> Option<Pinned> {
        let pinned = self.pinned.remove(&start)?;
        if self.aliases.remove(&pinned.device_start).is_some() {
            let (what, made) = (pinned.slug(), pinned.made.clone());
            self.bury(pinned.device_start, pinned.bytes, what, made, by);
        }
        Some(pinned)
    }

    /// Forgets a region; its address is dead from now on. The bytes stay while pending work needs them.
    pub(crate) fn remove_region(&mut self, start: usize, by: &Who) -> Option<Region> {
        let region = self.regions.remove(&start)?;
        self.bury(start, region.bytes, region.kind.slug(), region.made.clone(), by);
        Some(region)
    }

    /// What was at an address of device memory.
    pub(crate) fn grave(&self, address: usize) -> Option<Grave> {
        let (start, grave) = below(&self.graves, address)?;
        (address < start + grave.bytes.max(1)).then(|| grave.clone())
    }

    fn bury(&mut self, start: usize, bytes: usize, what: &'static str, made: Who, by: &Who) {
        let grave = Grave { bytes, what, made, freed: by.clone() };
        self.graves.insert(start, grave);
    }

    fn pinned_place(&self, address: usize, at: usize, pinned: &Pinned) -> Place {
        let host = pinned.start + at;
        let side = if address != host {
            Side::Device
        } else if pinned.device_start == pinned.start {
            Side::Both
        } else {
            Side::PinnedHost
        };
        host_place(side, host, pinned.read_only)
    }
}

/// The address that the host uses, as a place.
fn host_place(side: Side, address: usize, read_only: bool) -> Place {
    Place {
        side,
        backing: Backing::Host,
        offset: address,
        data: std::ptr::with_exposed_provenance_mut(address),
        read_only,
        keep: None,
    }
}

fn below<T>(map: &BTreeMap<usize, T>, address: usize) -> Option<(usize, &T)> {
    map.range(..=address).next_back().map(|(start, value)| (*start, value))
}

fn within(at: usize, bytes: usize, room: usize) -> Result<usize, Miss> {
    match at.checked_add(bytes) {
        Some(end) if end <= room => Ok(at),
        _ => Err(Miss::Outside),
    }
}

/// Checks a wish for device memory against what there is.
pub(crate) fn check_room(memory: &Memory, device: u32, bytes: usize) -> Answer {
    let used = memory.used(device).checked_add(bytes).ok_or(Code::OUT_OF_MEMORY)?;
    if used > DEVICE_BYTES { Err(Code::OUT_OF_MEMORY) } else { Ok(()) }
}
