//! Addresses and the bytes behind them.
//!
//! A device address lies in a range that is reserved without any right of access, so that a host that follows
//! it faults. The bytes are a second mapping that only the simulator knows. Addresses are never given out
//! twice: what is stale stays recognisable.
//!
//! # Safety
//!
//! The unsafe code here is `mmap`, `munmap` and reads of `/proc`. Ranges come from the kernel, belong to the
//! value that holds them, and are given back once, when it is dropped.

#![expect(unsafe_code, reason = "mmap and munmap")]

use std::ffi::c_void;
use std::fs;
use std::ptr;
use std::sync::Arc;

use crate::error::{Answer, Code};

/// What `cudaMalloc` promises, and no more: a program that needs 512 has to find out here.
const ALIGNMENT: usize = 256;
/// Free space behind each range, so that a run past the end hits nothing.
const GAP: usize = 4096;
const ARENA: usize = 64 << 30;
/// What real memory holds at first is not promised; larger blocks are left zero to spare the machine.
const GARBAGE_LIMIT: usize = 64 << 20;
const GARBAGE: u8 = 0xA5;

/// Hands out device addresses, none of them twice.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    arenas: Vec<(usize, usize)>,
    next: usize,
}

impl Addresses {
    /// A range of fresh device addresses. It is aligned to 256 and to nothing more.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Answer<usize> {
        let need = bytes.checked_add(GAP + 2 * ALIGNMENT).ok_or(Code::OUT_OF_MEMORY)?;
        let room = self.arenas.last().map_or(0, |arena| arena.1 - self.next);
        if room < need {
            self.add_arena(need)?;
        }
        let start = self.next.next_multiple_of(2 * ALIGNMENT) + ALIGNMENT;
        self.next = start + bytes + GAP;
        Ok(start)
    }

    /// Whether the address lies where device memory is.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.arenas.iter().any(|&(start, end)| (start..end).contains(&address))
    }

    fn add_arena(&mut self, need: usize) -> Answer {
        let bytes = need.max(ARENA);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that exists.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(Code::OUT_OF_MEMORY);
        }
        self.arenas.push((start.addr(), start.addr() + bytes));
        self.next = start.addr();
        Ok(())
    }
}

/// Bytes that the host may touch: a mapping of the simulator's own, or a part of one. What work needs stays
/// mapped, since it holds a clone.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    pages: Arc<Pages>,
    /// From the first page to the first byte.
    lead: usize,
}

/// What mmap gave.
#[derive(Debug)]
struct Pages {
    start: *mut c_void,
    bytes: usize,
}

// SAFETY: the range belongs to this value alone and munmap may be called from any thread.
unsafe impl Send for Pages {}
// SAFETY: a shared reference gives out the address only.
unsafe impl Sync for Pages {}

impl Mapping {
    /// Anonymous memory. Small blocks begin as garbage, because real ones do.
    pub(crate) fn anonymous(bytes: usize) -> Answer<Mapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let mapping = Mapping::map(bytes, flags, -1, 0)?;
        if bytes <= GARBAGE_LIMIT {
            // SAFETY: the mapping is `bytes` long, writable, and nobody else knows of it yet.
            unsafe { ptr::write_bytes(mapping.data(), GARBAGE, bytes) };
        }
        Ok(mapping)
    }

    /// The bytes of a file, shared with everybody who maps it.
    pub(crate) fn shared(fd: i32, offset: usize, bytes: usize) -> Answer<Mapping> {
        Mapping::map(bytes, libc::MAP_SHARED, fd, offset)
    }

    /// The same memory from a later byte on.
    pub(crate) fn part(&self, offset: usize) -> Mapping {
        Mapping { pages: Arc::clone(&self.pages), lead: self.lead + offset }
    }

    pub(crate) fn data(&self) -> *mut u8 {
        self.pages.start.cast::<u8>().wrapping_add(self.lead)
    }

    fn map(bytes: usize, flags: i32, fd: i32, offset: usize) -> Answer<Mapping> {
        let lead = offset % page_size();
        let length = bytes.checked_add(lead).ok_or(Code::INVALID_VALUE)?;
        let at = i64::try_from(offset - lead).map_err(|_| Code::INVALID_VALUE)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that exists.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, fd, at) };
        match start == libc::MAP_FAILED {
            true => Err(Code::OUT_OF_MEMORY),
            false => Ok(Mapping { pages: Arc::new(Pages { start, bytes: length }), lead }),
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range is this value's own, from mmap, and nothing uses it after its owner.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

fn page_size() -> usize {
    // SAFETY: sysconf reads a constant.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// What the kernel says about a stretch of the host's addresses.
#[derive(Clone, Debug)]
pub(crate) struct HostArea {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// Device and inode of the file, and the offset in it of `start`.
    pub(crate) file: (u64, u64, u64),
}

/// The areas that cover the range, or none if part of it is not mapped.
pub(crate) fn host_areas(start: usize, bytes: usize) -> Option<Vec<HostArea>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let end = start.checked_add(bytes)?;
    let areas: Vec<_> =
        maps.lines().filter_map(parse_area).filter(|area| area.start < end && start < area.end).collect();
    let mut covered = start;
    for area in &areas {
        if area.start > covered {
            return None;
        }
        covered = area.end;
    }
    (covered >= end).then_some(areas)
}

fn parse_area(line: &str) -> Option<HostArea> {
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let rights = fields.next()?.as_bytes();
    let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let major = u32::from_str_radix(major, 16).ok()?;
    let minor = u32::from_str_radix(minor, 16).ok()?;
    Some(HostArea {
        start: usize::from_str_radix(start, 16).ok()?,
        end: usize::from_str_radix(end, 16).ok()?,
        readable: rights.first() == Some(&b'r'),
        writable: rights.get(1) == Some(&b'w'),
        file: (libc::makedev(major, minor), fields.next()?.parse().ok()?, offset),
    })
}
