//! Each real runtime on a machine without a driver: what the crate makes of it, and the facts that it relies on.

#![expect(unsafe_code, reason = "the facts are asked of the library itself")]
//! # Safety argument
//! The functions are those of NVIDIA's headers, resolved by name in a library that is never unloaded.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int};

use edgefirst_cuda::sys::symbols::{Group, TABLE};
use edgefirst_cuda::{Code, Reason, Runtime};
use libloading::os::unix::Library;

use super::child::{Held, alone, quietly, this_test};
use super::driver;
use super::wheels::{Major, need_wheels};

/// Makes each function a test of each major, in its own process and with no driver in sight.
macro_rules! of_each_major {
    ($($test:ident)*) => {
        of_each_major!(@ v11 V11 $($test)*);
        of_each_major!(@ v12 V12 $($test)*);
        of_each_major!(@ v13 V13 $($test)*);
    };
    (@ $module:ident $major:ident $($test:ident)*) => {
        mod $module {
            use super::*;
            $(#[test] fn $test() {
                need_wheels!();
                alone(this_test!(), driver::none, || super::$test(Major::$major));
            })*
        }
    };
}

of_each_major! {
    every_group_but_the_drivers_resolves
    the_names_that_changed_are_where_the_table_expects_them
    no_driver_is_a_reason_and_leaves_no_trace
    no_driver_is_the_reason_in_a_forked_child_too
    the_path_is_the_file_that_is_mapped
    answers_are_as_the_crate_assumes
    codes_have_nvidias_names
}

/// Nothing was initialised that a fork could break.
fn no_driver_is_the_reason_in_a_forked_child_too(major: Major) {
    let runtime = open(major);
    let is_refused = || match runtime.devices() {
        Err(edgefirst_cuda::Error::Unavailable(why)) => why.reason == Reason::Refused(Code::INSUFFICIENT_DRIVER),
        _ => false,
    };
    assert!(is_refused());
    // SAFETY: the child asks once and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!is_refused())) };
    }
    let mut status = -1;
    // SAFETY: waits for the child; writes one int.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "the child is told something else");
}

/// Bug report 10: groups are on and off one by one.
fn every_group_but_the_drivers_resolves(major: Major) {
    let runtime = open(major);
    let groups: BTreeSet<_> = TABLE.iter().map(|(group, _)| group.name()).collect();
    let missing: Vec<_> =
        TABLE.iter().filter(|(group, _)| runtime.group(*group).is_err()).map(|(group, _)| group.name()).collect();
    assert!(groups.len() > 1 && groups.contains(Group::Driver.name()));
    assert!(missing.iter().all(|name| *name == Group::Driver.name()), "{missing:?}");
    assert!(!missing.is_empty(), "the driver is out of sight");
}

/// `_v2` of the semaphores' functions takes the structures that 13's plain names take.
fn the_names_that_changed_are_where_the_table_expects_them(major: Major) {
    let library = Raw::open(major);
    let exported = |name: &str| library.has(name);
    assert!(exported("cudaWaitExternalSemaphoresAsync") && exported("cudaSignalExternalSemaphoresAsync"));
    assert_eq!(exported("cudaWaitExternalSemaphoresAsync_v2"), major < Major::V13);
    assert_eq!(exported("cudaSignalExternalSemaphoresAsync_v2"), major < Major::V13);
    assert!(exported("cudaGetDeviceProperties"));
    assert_eq!(exported("cudaGetDeviceProperties_v2"), major == Major::V12);
    assert_eq!(exported("cudaStreamGetDevice"), major > Major::V11);
}

/// Bug reports 4 and 13: a typed answer in silence; no thread, file or pending error is left.
fn no_driver_is_a_reason_and_leaves_no_trace(major: Major) {
    let library = Raw::open(major);
    let pending = library.peek();
    let held = Held::now();
    let (_alive, status) = quietly(|| {
        let runtime = open(major);
        let status = runtime.status();
        (runtime, status)
    });
    held.is_all_that_is_held();
    assert_eq!(library.peek(), pending);
    assert_eq!(driver::reason(&status), Reason::Refused(Code::INSUFFICIENT_DRIVER));
    assert!(status.to_string().contains("NVIDIA driver"), "it says what to do: {status}");
}

/// Whatever name it was loaded by.
fn the_path_is_the_file_that_is_mapped(major: Major) {
    let file = major.library().canonicalize().expect("the wheel has it");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let link = folder.path().join("cudart");
    std::os::unix::fs::symlink(&file, &link).expect("the folder is ours");
    assert_eq!(Runtime::load_from(link).expect("the link leads to it").path(), Some(file.as_path()));
    assert_eq!(open(major).path(), Some(file.as_path()));
}

/// What no page states and the crate builds on; the simulator answers the same.
fn answers_are_as_the_crate_assumes(major: Major) {
    const UNTOUCHED: c_int = -7;
    let insufficient = Code::INSUFFICIENT_DRIVER.0;
    let library = Raw::open(major);
    let version = match major {
        Major::V11 => (insufficient, UNTOUCHED),
        Major::V12 => (0, 12090),
        Major::V13 => library.ask(c"cudaRuntimeGetVersion", UNTOUCHED),
    };
    assert_eq!(library.peek(), insufficient, "before any other call");
    assert_eq!(library.ask(c"cudaRuntimeGetVersion", UNTOUCHED), version);
    assert!(major < Major::V13 || version.0 == 0 && (13000..14000).contains(&version.1), "{version:?}");
    assert_eq!(library.ask(c"cudaDriverGetVersion", UNTOUCHED), (0, 0));
    assert_eq!(library.ask(c"cudaGetDeviceCount", UNTOUCHED), (insufficient, UNTOUCHED));
    assert_eq!((library.take_error(), library.peek()), (insufficient, insufficient), "it comes back by itself");
}

fn codes_have_nvidias_names(major: Major) {
    const NO_SUCH_CODE: &str = "unrecognized error code";
    let library = Raw::open(major);
    for (code, name) in Code::KNOWN {
        let theirs = library.error_name(*code);
        let younger = theirs == NO_SUCH_CODE && major < Major::V13;
        assert!(younger || theirs == *name, "{code:?} is {theirs}");
    }
}

fn open(major: Major) -> Runtime {
    Runtime::load_from(major.library()).expect("loading asks no driver")
}

/// The library itself.
struct Raw(Library);

impl Raw {
    fn open(major: Major) -> Self {
        // SAFETY: a CUDA runtime's initialisers may run anywhere.
        let library =
            unsafe { Library::open(Some(major.library()), libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NODELETE) };
        Self(library.expect("the wheel's library loads"))
    }

    fn has(&self, name: &str) -> bool {
        // SAFETY: the address is not used.
        unsafe { self.0.get::<*const ()>(name) }.is_ok()
    }

    /// Calls a function whose only argument is where its answer goes.
    fn ask(&self, name: &CStr, mut answer: c_int) -> (c_int, c_int) {
        // SAFETY: the callers name functions with this signature only.
        let call = unsafe { self.0.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(name) }.expect("it is exported");
        // SAFETY: `answer` outlives the call.
        let code = unsafe { call(&raw mut answer) };
        (code, answer)
    }

    fn peek(&self) -> c_int {
        self.last_error(c"cudaPeekAtLastError")
    }

    fn take_error(&self) -> c_int {
        self.last_error(c"cudaGetLastError")
    }

    fn last_error(&self, name: &CStr) -> c_int {
        // SAFETY: the two callers' functions have this signature.
        let call = unsafe { self.0.get::<unsafe extern "C" fn() -> c_int>(name) }.expect("it is exported");
        // SAFETY: no argument.
        unsafe { call() }
    }

    fn error_name(&self, code: Code) -> String {
        // SAFETY: the header's signature.
        let call = unsafe { self.0.get::<unsafe extern "C" fn(c_int) -> *const c_char>(c"cudaGetErrorName") }
            .expect("it is exported");
        // SAFETY: any number may be asked for.
        let name = unsafe { call(code.0) };
        // SAFETY: the answer is a static string for every number.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}
