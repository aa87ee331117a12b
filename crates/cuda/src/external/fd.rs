//! Descriptors that are handed to a driver.
//!
//! A successful import takes the descriptor over. A failed one leaves it with the caller; but some drivers close it
//! all the same, and by then another thread may have been given its number. So a duplicate is handed over, the
//! original stays, and after a failure the duplicate is closed only if it still is a duplicate of the original.

#![expect(unsafe_code, reason = "kcmp has no safe wrapper, and a descriptor is closed by its number")]
//!
//! # Safety argument
//! A number is closed only when the kernel says that it refers to the same open file as our original. Nobody else
//! duplicated the original (it is owned and was not handed out), so such a number can only be our duplicate.

use std::borrow::Cow;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use rustix::fs::{FileType, fstat};

use crate::error::{Error, Result};

/// A duplicate on its way to a driver: a number, not an owner, since the driver may close it at any moment.
#[derive(Debug)]
pub(super) struct Passed {
    number: RawFd,
}

impl Passed {
    pub(super) fn duplicate(original: &OwnedFd) -> Result<Self> {
        let duplicate = rustix::io::fcntl_dupfd_cloexec(original, 0)
            .map_err(|source| Error::Os { call: "F_DUPFD_CLOEXEC", source })?;
        Ok(Self { number: duplicate.into_raw_fd() })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: open until the driver has it, which is the call that this is borrowed for.
        unsafe { BorrowedFd::borrow_raw(self.number) }
    }

    /// The import failed: closes the duplicate if it still is one.
    pub(super) fn take_back(self, original: &OwnedFd) {
        if is_same_open_file(original, self.number) {
            // SAFETY: it is our duplicate: see the module.
            drop(unsafe { OwnedFd::from_raw_fd(self.number) });
        }
    }
}

/// Whether `number` refers to the open file of `original` now.
fn is_same_open_file(original: &OwnedFd, number: RawFd) -> bool {
    const KCMP_FILE: libc::c_int = 0;
    // SAFETY: takes no arguments.
    let process = unsafe { libc::getpid() };
    // SAFETY: compares two numbers of this process; any numbers are allowed.
    let answer = unsafe { libc::syscall(libc::SYS_kcmp, process, process, KCMP_FILE, original.as_raw_fd(), number) };
    match answer {
        0 => true,
        // The kernel has no kcmp or a sandbox forbids it: the same file is the best that can be seen.
        -1 => has_same_file(original, number),
        _ => false,
    }
}

fn has_same_file(original: &OwnedFd, number: RawFd) -> bool {
    let mut status = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: any number may be asked about; writes one struct.
    if unsafe { libc::fstat(number, status.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: zeroed, which is valid for its integers, and then written.
    let theirs = unsafe { status.assume_init() };
    fstat(original.as_fd()).is_ok_and(|ours| (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino))
}

/// Refuses descriptors that no API exports memory as, and sizes beyond what the kernel says.
pub(super) fn check(fd: &OwnedFd, bytes: u64) -> Result<()> {
    let status = fstat(fd).map_err(|source| Error::Os { call: "fstat", source })?;
    let kind = match FileType::from_raw_mode(status.st_mode) {
        FileType::Directory => "directory",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::Symlink => "symbolic link",
        FileType::BlockDevice => "block device",
        _ => "",
    };
    if !kind.is_empty() {
        return Err(Error::FileKind { kind: Cow::Borrowed(kind) });
    }
    // Drivers' own descriptors know no size and answer 0 or an error.
    let end = rustix::fs::seek(fd, rustix::fs::SeekFrom::End(0)).unwrap_or(0);
    if bytes == 0 || (end > 0 && bytes > end) {
        return Err(Error::Size { what: "imported memory", value: bytes, limit: if end > 0 { end } else { u64::MAX } });
    }
    Ok(())
}
