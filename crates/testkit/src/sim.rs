//! Copies of the simulated CUDA.
//!
//! Each test opens its own copy of the library's file. A copy has its own statics, so it has its own devices,
//! ledger, log and faults, and tests do not see each other.
//!
//! # Safety
//!
//! The library is of this workspace, and the signatures used here are those of its table of symbols. It is never
//! unloaded, as no CUDA runtime is: what was found in it stays valid.

#![expect(unsafe_code, reason = "functions of a library are called")]

use std::env;
use std::ffi::{CString, c_char, c_int, c_void};
use std::fs;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use tempfile::TempDir;

/// Which CUDA a copy plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// As 11.8.
    V11,
    /// As 12.9.
    V12,
    /// As 13.5.
    V13,
}

impl Major {
    /// All of them, oldest first.
    pub const ALL: [Major; 3] = [Major::V11, Major::V12, Major::V13];

    /// The file name under which the real runtime is found.
    #[must_use]
    pub fn soname(self) -> &'static str {
        match self {
            Major::V11 => "libcudart.so.11.0",
            Major::V12 => "libcudart.so.12",
            Major::V13 => "libcudart.so.13",
        }
    }

    /// The library as cargo built it, beside the test program.
    ///
    /// # Panics
    ///
    /// If it is not there.
    #[must_use]
    pub fn built(self) -> PathBuf {
        let file = match self {
            Major::V11 => "libedgefirst_cuda_sim_11.so",
            Major::V12 => "libedgefirst_cuda_sim_12.so",
            Major::V13 => "libedgefirst_cuda_sim_13.so",
        };
        let program = env::current_exe().expect("path of the test program");
        let folder = program.parent().expect("a program lies in a folder");
        let found = [folder.join(file), folder.join("deps").join(file)].into_iter().find(|path| path.is_file());
        found.unwrap_or_else(|| panic!("{file} is not beside {}: build it", program.display()))
    }
}

/// A line of the call log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Number, from 1 on.
    pub seq: u64,
    /// Name of the calling thread, at most 15 bytes.
    pub thread: String,
    /// The kernel's id of the calling thread.
    pub tid: i32,
    /// What was called.
    pub symbol: String,
    /// The stream's handle, if the call has one.
    pub stream: Option<usize>,
    /// What it returned; none if it has not.
    pub result: Option<i32>,
}

/// Something that a program should not have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A fixed word such as `race`.
    pub kind: String,
    /// Who, what, when.
    pub message: String,
}

/// An object that was made and not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// A fixed word such as `stream`.
    pub what: String,
    /// Handle or address.
    pub handle: usize,
    /// Size, 0 where it has none.
    pub bytes: usize,
    /// The call that made it.
    pub made: String,
}

/// A copy of the simulated runtime. Dropping it fails the test if there are findings that nobody took.
#[derive(Debug)]
pub struct Sim {
    library: ManuallyDrop<Library>,
    path: PathBuf,
    _folder: TempDir,
}

impl Sim {
    /// Copies the library into a folder of its own and loads it.
    ///
    /// # Panics
    ///
    /// If that fails.
    #[must_use]
    pub fn open(major: Major) -> Sim {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(major.soname());
        fs::copy(major.built(), &path).expect("copy of the simulated runtime");
        // SAFETY: the library is ours; its initialisers are those of Rust's standard library.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
        let library = library.unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
        Sim { library: ManuallyDrop::new(library), path, _folder: folder }
    }

    /// The file of this copy, for `Runtime::load_from`. It is removed when this value is dropped.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Carries out commands, separated by `;`.
    ///
    /// # Panics
    ///
    /// If one is not understood.
    pub fn control(&self, commands: &str) {
        let text = CString::new(commands).expect("commands hold no zero byte");
        // SAFETY: the signature is that of the table of symbols.
        let control = unsafe { self.symbol::<unsafe extern "C" fn(*const c_char) -> c_int>("sim_control") };
        // SAFETY: a C string that lives through the call.
        let result = unsafe { control(text.as_ptr()) };
        assert_eq!(result, 0, "`{commands}` is not understood");
    }

    /// All calls so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.lines("calls", |[seq, thread, symbol, stream, result]| {
            let (thread, tid) = thread.rsplit_once('/')?;
            Some(Call {
                seq: seq.parse().ok()?,
                thread: thread.to_owned(),
                tid: tid.parse().ok()?,
                symbol: symbol.to_owned(),
                stream: if stream == "-" { None } else { Some(number(stream)?) },
                result: if result == "-" { None } else { Some(result.parse().ok()?) },
            })
        })
    }

    /// All findings so far.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.lines("findings", |[kind, message]| {
            let (kind, message) = (kind.to_owned(), message.to_owned());
            Some(Finding { kind, message })
        })
    }

    /// The findings so far, which then count as dealt with.
    #[must_use]
    pub fn take_findings(&self) -> Vec<Finding> {
        let findings = self.findings();
        self.control("clear-findings");
        findings
    }

    /// What lives.
    #[must_use]
    pub fn ledger(&self) -> Vec<Live> {
        self.lines("ledger", |[what, handle, bytes, made]| {
            Some(Live {
                what: what.to_owned(),
                handle: number(handle)?,
                bytes: bytes.parse().ok()?,
                made: made.to_owned(),
            })
        })
    }

    /// Memory of another API, importable as an opaque file descriptor.
    ///
    /// # Panics
    ///
    /// If the system has no more descriptors.
    #[must_use]
    pub fn export_fd(&self, bytes: usize) -> OwnedFd {
        let mut fd = -1;
        // SAFETY: the signature is that of the table of symbols.
        let export = unsafe { self.symbol::<unsafe extern "C" fn(usize, *mut c_int) -> c_int>("sim_export_fd") };
        // SAFETY: the output is a local.
        let result = unsafe { export(bytes, &raw mut fd) };
        assert_eq!(result, 0, "no file descriptor for {bytes} bytes");
        // SAFETY: the call gave a new descriptor away.
        unsafe { OwnedFd::from_raw_fd(fd) }
    }

    /// Declares another API's descriptor importable; its data begin at `offset`.
    ///
    /// # Panics
    ///
    /// If it is not open.
    pub fn adopt_fd(&self, fd: BorrowedFd<'_>, offset: usize) {
        // SAFETY: the signature is that of the table of symbols.
        let adopt = unsafe { self.symbol::<unsafe extern "C" fn(c_int, usize) -> c_int>("sim_adopt_fd") };
        // SAFETY: numbers only.
        let result = unsafe { adopt(fd.as_raw_fd(), offset) };
        assert_eq!(result, 0, "the descriptor is not open");
    }

    /// Says that this thread reads or writes host memory now, so that the order of that is checked.
    pub fn host_access<T>(&self, memory: *const T, bytes: usize, write: bool) {
        type HostAccess = unsafe extern "C" fn(*const c_void, usize, c_int) -> c_int;
        // SAFETY: the signature is that of the table of symbols.
        let access = unsafe { self.symbol::<HostAccess>("sim_host_access") };
        // SAFETY: the address is looked up and not followed.
        unsafe { access(memory.cast(), bytes, c_int::from(write)) };
    }

    /// A function of this copy.
    ///
    /// # Panics
    ///
    /// If there is none of that name.
    ///
    /// # Safety
    ///
    /// `F` is the type of a pointer to that function.
    #[must_use]
    pub unsafe fn symbol<F: Copy>(&self, name: &str) -> F {
        let found = self.find(name).unwrap_or_else(|| panic!("the simulated runtime has no `{name}`"));
        assert_eq!(size_of::<F>(), size_of_val(&found), "`F` is no function pointer");
        // SAFETY: of one size, and the caller vouches for the type.
        unsafe { std::mem::transmute_copy(&found) }
    }

    /// The address of a symbol, if the copy has it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<*const c_void> {
        // SAFETY: an address is asked for, of whatever type.
        let symbol = unsafe { self.library.get::<*const c_void>(name) };
        symbol.ok().map(|symbol| symbol.into_raw().cast_const())
    }

    /// Ends the test: nothing may be found, nothing may live.
    ///
    /// # Panics
    ///
    /// If there is a finding or a live object.
    pub fn finish(self) {
        let ledger = self.ledger();
        assert!(ledger.is_empty(), "alive at the end: {ledger:#?}");
        drop(self);
    }

    fn lines<const N: usize, T>(&self, what: &str, parse: impl Fn([&str; N]) -> Option<T>) -> Vec<T> {
        let text = self.read(what);
        let parse_line = |line: &str| {
            let fields: Vec<&str> = line.split('\t').collect();
            let parsed = <[&str; N]>::try_from(fields).ok().and_then(&parse);
            parsed.unwrap_or_else(|| panic!("a line of `{what}` that is not understood: {line}"))
        };
        text.lines().map(parse_line).collect()
    }

    fn read(&self, what: &str) -> String {
        type Read = unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> usize;
        let what = CString::new(what).expect("a word");
        // SAFETY: the signature is that of the table of symbols.
        let read = unsafe { self.symbol::<Read>("sim_read") };
        let mut text = Vec::<u8>::new();
        loop {
            // Other threads may add lines between the two calls, so the length is asked for until it fits.
            // SAFETY: a C string, and a buffer of the length that is named.
            let needed = unsafe { read(what.as_ptr(), text.as_mut_ptr().cast(), text.len()) };
            if needed <= text.len() {
                text.truncate(needed);
                return String::from_utf8(text).expect("the simulator writes UTF-8");
            }
            text.resize(needed, 0);
        }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        let findings = self.findings();
        assert!(findings.is_empty(), "the simulated CUDA found: {findings:#?}");
    }
}

fn number(text: &str) -> Option<usize> {
    usize::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
