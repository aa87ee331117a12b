//! The few questions to the operating system that are not about memory.
//!
//! # Safety
//!
//! Every call here takes plain numbers or a buffer of its own, and reports failure by value.

#![expect(unsafe_code, reason = "system calls without a safe wrapper in libc")]

use std::ffi::CStr;
use std::mem::MaybeUninit;

/// Name and kernel thread id of the calling thread, `main/4711`.
pub(crate) fn thread_label() -> String {
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, which is what the buffer holds.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    // SAFETY: gettid has no preconditions.
    let id = unsafe { libc::gettid() };
    let name = CStr::from_bytes_until_nul(&name).unwrap_or(c"?");
    format!("{}/{id}", name.to_string_lossy().replace(['\t', '\n'], " "))
}

/// Id of this process.
pub(crate) fn process_id() -> i32 {
    // SAFETY: getpid has no preconditions.
    unsafe { libc::getpid() }
}

/// Closes a file descriptor that belongs to the simulator now.
pub(crate) fn close(fd: i32) {
    // SAFETY: a number that is not open is refused by the kernel; whose it is was decided by the caller.
    unsafe { libc::close(fd) };
}

/// What a file descriptor refers to: device, inode, bytes.
pub(crate) fn identify(fd: i32) -> Option<(u64, u64, u64)> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: fstat writes a `stat` into the buffer, or fails.
    if unsafe { libc::fstat(fd, stat.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: fstat succeeded, and zeroes would have been valid, too.
    let stat = unsafe { stat.assume_init() };
    Some((stat.st_dev, stat.st_ino, u64::try_from(stat.st_size).ok()?))
}

/// A new file in memory of that many bytes.
pub(crate) fn memory_file(bytes: usize) -> Option<i32> {
    let length = i64::try_from(bytes).ok()?;
    // SAFETY: the name is a C string; the result is a new descriptor or -1.
    let fd = unsafe { libc::memfd_create(c"edgefirst-cuda-sim".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return None;
    }
    // SAFETY: the descriptor was made above.
    if unsafe { libc::ftruncate(fd, length) } != 0 {
        close(fd);
        return None;
    }
    Some(fd)
}

/// Has a function run when the process exits.
pub(crate) fn at_exit(run: extern "C" fn()) {
    // SAFETY: `run` stays where it is: the simulator is never unloaded.
    unsafe { libc::atexit(run) };
}

/// Ends the process with a status, after what C has buffered was written.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: null means all output streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(status) }
}

/// Ends the process at once.
pub(crate) fn abort() -> ! {
    std::process::abort()
}
