//! The loader of Linux: opening libraries, their symbols, and what is loaded already.

#![expect(unsafe_code, reason = "loading a library runs its code, and addresses come back untyped")]
//!
//! # Safety argument
//! A library is opened only because the caller, its environment or the system named it as a CUDA runtime; running the
//! initialisers of such a library is what loading it means. It is never closed, so its addresses stay valid for ever.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::candidates::NAMES;
use super::report::Target;

/// `RTLD_NOLOAD`: answer only what is loaded already.
const NO_LOAD: i32 = libc::RTLD_NOLOAD;

/// A library that stays loaded.
#[derive(Debug)]
pub(crate) struct Module {
    library: std::mem::ManuallyDrop<Library>,
}

impl Module {
    /// Opens a file, or a name that the system's loader looks for. The error is the loader's own text.
    pub(crate) fn open(name: &OsStr) -> Result<Self, String> {
        Self::open_with(name, RTLD_NOW | RTLD_LOCAL)
    }

    /// A library that is loaded already, by its SONAME or path.
    pub(crate) fn loaded(name: &OsStr) -> Option<Self> {
        Self::open_with(name, RTLD_NOW | RTLD_LOCAL | NO_LOAD).ok()
    }

    fn open_with(name: &OsStr, flags: i32) -> Result<Self, String> {
        // SAFETY: the caller means to load this library: see the module.
        let library = unsafe { Library::open(Some(name), flags) }.map_err(|error| in_full(&error))?;
        Ok(Self { library: std::mem::ManuallyDrop::new(library) })
    }

    /// The address of a symbol; null where there is none.
    pub(crate) fn symbol(&self, name: &CStr) -> *const c_void {
        // SAFETY: the symbol is taken as an address only; `sys::symbols` gives it its type.
        match unsafe { self.library.get::<*const c_void>(name.to_bytes_with_nul()) } {
            Ok(symbol) => symbol.into_raw().cast_const(),
            Err(_) => std::ptr::null(),
        }
    }
}

/// The error with the causes that the loader gave.
fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// The absolute path of the library that holds `address`.
pub(crate) fn path_of(address: *const c_void) -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` takes any address and writes `info` when it answers other than 0.
    if unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: it was zeroed, which is valid for this struct of pointers, and then written.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's name of a loaded library is a string that lives as long as the library: for ever.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    // The loader keeps the name that it was given, which may be a link's.
    Some(std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned()))
}

/// Whether the process runs with more rights than its user: then its environment is not to be trusted.
pub(crate) fn is_privileged() -> bool {
    // SAFETY: reads the auxiliary vector; any argument is allowed.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Runtimes in this process: by SONAME first, then by file name, which also finds copies that a wheel renamed.
pub(crate) fn loaded_runtimes() -> Vec<Target> {
    let by_soname = NAMES.iter().filter(|name| Module::loaded(OsStr::new(name)).is_some());
    let mut found: Vec<Target> = by_soname.map(|name| Target::Name((*name).to_owned())).collect();
    for file in mapped_runtimes() {
        found.push(Target::Path(file));
    }
    found
}

/// Loaded libraries whose file is named `libcudart*.so*`, also where that file is gone by now.
fn mapped_runtimes() -> Vec<PathBuf> {
    let mut files = Vec::<PathBuf>::new();
    // SAFETY: `note` takes what `dl_iterate_phdr` hands it, and `files` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut files).cast()) };
    files
}

/// Keeps the path of a library if it is named like a runtime.
unsafe extern "C" fn note(library: *mut libc::dl_phdr_info, _size: usize, files: *mut c_void) -> libc::c_int {
    // SAFETY: the loader passes a library's description that is valid during the call.
    let name = unsafe { (*library).dlpi_name };
    if name.is_null() {
        return 0;
    }
    // SAFETY: the loader's name of a library is a string that lives as long as the library.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
    let file = path.file_name().unwrap_or_default().as_encoded_bytes();
    if file.starts_with(b"libcudart") && file.windows(3).any(|part| part == b".so") {
        // SAFETY: `mapped_runtimes` passes its vector, which nobody else uses meanwhile.
        unsafe { (*files.cast::<Vec<PathBuf>>()).push(path.to_owned()) };
    }
    0
}

/// A path or name as the loader takes it; a zero inside makes it unusable.
pub(crate) fn checked_name(name: &OsStr) -> Result<&OsStr, String> {
    match CString::new(name.as_bytes()) {
        Ok(_) => Ok(name),
        Err(_) => Err("the name holds a zero byte".to_owned()),
    }
}
