//! A driver of our own (driver.c) under the real runtimes: every reason for which a machine with NVIDIA's software may
//! still have no CUDA.

use std::path::Path;
use std::process::Command;

use edgefirst_cuda::sys::symbols::Group;
use edgefirst_cuda::{Attempt, Code, CudaStatus, Error, Outcome, Reason, Result, Runtime, Search, Target};
use tempfile::TempDir;

use super::cc;
use super::child::{alone, given, quietly, this_test};
use super::wheels::{ALL, Major, need_wheels};

/// Puts a folder with this file as `libcuda.so.1` before the loader's own.
fn install(command: &mut Command, make: impl FnOnce(&Path)) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    make(&folder.path().join("libcuda.so.1"));
    command.env("LD_LIBRARY_PATH", folder.path());
    folder
}

/// No driver, on a machine that has one too: the loader's search ends at a file that is no library.
pub(crate) fn none(command: &mut Command) -> TempDir {
    install(command, |file| std::fs::write(file, "not a library\n").expect("the folder is ours"))
}

/// A driver for CUDA `version` (12090 is 12.9) whose initialisation answers `code`.
pub(crate) fn answering(command: &mut Command, version: i32, code: i32) -> TempDir {
    command.env("STUB_DRIVER_VERSION", version.to_string()).env("STUB_CUINIT", code.to_string());
    install(command, |file| cc::compile(cc::library(file).arg(source())))
}

fn source() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cudart/driver.c"))
}

/// Bug report 5 is among them: the toolkit's stub library.
#[test]
fn each_answer_of_the_driver_is_a_reason() {
    need_wheels!();
    const PASSED_ON: [Code; 7] = [
        Code::INITIALIZATION,
        Code::STUB_LIBRARY,
        Code::NO_DEVICE,
        Code::SYSTEM_NOT_READY,
        Code::SYSTEM_DRIVER_MISMATCH,
        Code::COMPAT_NOT_SUPPORTED,
        Code::UNKNOWN,
    ];
    for (runtime, fitting, too_old) in
        [(Major::V11, 11040, 10020), (Major::V12, 12000, 11040), (Major::V13, 13000, 12090)]
    {
        for code in PASSED_ON {
            reason_is(this_test!(), runtime, (fitting, code), code);
        }
        reason_is(this_test!(), runtime, (too_old, Code::NO_DEVICE), Code::INSUFFICIENT_DRIVER);
    }
}

fn reason_is(this_test: &str, runtime: Major, (driver, init): (i32, Code), expected: Code) {
    let prepare = |command: &mut Command| {
        command.env("RUNTIME", runtime.library()).env("EXPECTED", expected.0.to_string());
        answering(command, driver, init.0)
    };
    alone(this_test, prepare, || {
        let expected = Code(given("EXPECTED").parse().expect("a number"));
        let runtime = Runtime::load_from(given("RUNTIME")).expect("loading asks no driver");
        assert_eq!(reason(&quietly(|| runtime.status())), Reason::Refused(expected));
    });
}

/// Bug report 8: the newest runtime is too new for the driver, the one beside it is not.
#[test]
fn runtime_13_on_a_12_driver_gives_way_to_runtime_12() {
    need_wheels!();
    alone(
        this_test!(),
        |command| (both_wheels(command), answering(command, 12090, Code::NO_DEVICE.0)),
        || {
            let (runtime, attempts) = Runtime::search(&only_wheels_below(given("SITE_PACKAGES")));
            assert_eq!(
                refusals(&attempts),
                [("libcudart.so.13", Code::INSUFFICIENT_DRIVER), ("libcudart.so.12", Code::NO_DEVICE)]
            );
            assert_eq!(why(runtime), Reason::Refused(Code::NO_DEVICE));
        },
    );
}

/// What an older runtime could not say better ends the search.
#[test]
fn no_device_is_the_last_word_of_the_newest_runtime() {
    need_wheels!();
    alone(
        this_test!(),
        |command| (both_wheels(command), answering(command, 13000, Code::NO_DEVICE.0)),
        || {
            let (runtime, attempts) = Runtime::search(&only_wheels_below(given("SITE_PACKAGES")));
            assert_eq!(refusals(&attempts), [("libcudart.so.13", Code::NO_DEVICE)]);
            assert_eq!(why(runtime), Reason::Refused(Code::NO_DEVICE));
        },
    );
}

/// Loading and resolving stay this side of the driver's initialisation, which a later fork would not survive.
#[test]
fn loading_does_not_initialise_the_driver() {
    need_wheels!();
    let prepare = |command: &mut Command| {
        let folder = answering(command, 13000, Code::NO_DEVICE.0);
        command.env("STUB_MARK", folder.path().join("initialised"));
        folder
    };
    alone(this_test!(), prepare, || {
        let initialised = || Path::new(&given("STUB_MARK")).exists();
        let runtimes = ALL.map(|major| Runtime::load_from(major.library()).expect("loading asks no driver"));
        assert!(runtimes.iter().all(|runtime| runtime.group(Group::Base).is_ok() && runtime.path().is_some()));
        assert!(!initialised());
        assert!(runtimes.iter().all(|runtime| runtime.devices().is_err()));
        assert!(initialised());
    });
}

/// Bug report 6: the driver is installed, but not all that it needs.
#[test]
fn a_driver_that_lacks_a_library_is_named_with_it() {
    need_wheels!();
    let prepare = |command: &mut Command| {
        install(command, |file| {
            let needed = file.with_file_name("libnvidia-needed.so");
            cc::compile(cc::library(&needed).arg(source()));
            cc::compile(cc::library(file).arg(source()).arg("-Wl,--no-as-needed").arg(&needed));
            std::fs::remove_file(needed).expect("it was made");
        })
    };
    alone(this_test!(), prepare, || {
        let runtime = Runtime::load_from(Major::V12.library()).expect("loading asks no driver");
        let status = runtime.status();
        assert_eq!(reason(&status), Reason::Refused(Code::INSUFFICIENT_DRIVER));
        assert!(status.to_string().contains("libnvidia-needed.so"), "{status}");
    });
}

/// A site-packages folder with 12 and 13, as after installing both packages.
fn both_wheels(command: &mut Command) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let nvidia = folder.path().join("nvidia");
    std::fs::create_dir(&nvidia).expect("the folder is ours");
    for (major, package) in [(Major::V12, "cuda_runtime"), (Major::V13, "cu13")] {
        let wheel = major.site_packages().join("nvidia").join(package);
        std::os::unix::fs::symlink(wheel, nvidia.join(package)).expect("the folder is ours");
    }
    command.env("SITE_PACKAGES", folder.path());
    folder
}

fn only_wheels_below(site_packages: String) -> Search {
    let mut search = Search::nowhere();
    search.wheel_dirs = vec![site_packages.into()];
    search
}

/// The file and the answer of each attempt, which all must have come to an answer.
fn refusals(attempts: &[Attempt]) -> Vec<(&str, Code)> {
    attempts.iter().map(|attempt| refusal(attempt).unwrap_or_else(|| panic!("{attempt}"))).collect()
}

fn refusal(attempt: &Attempt) -> Option<(&str, Code)> {
    match (&attempt.target, &attempt.outcome) {
        (Target::Path(path), Outcome::Refused(error)) => Some((path.file_name()?.to_str()?, error.code)),
        _ => None,
    }
}

/// Why it is not available.
pub(crate) fn reason(status: &CudaStatus) -> Reason {
    match status {
        CudaStatus::Unavailable(why) => why.reason.clone(),
        CudaStatus::Ready(_) => panic!("{status}"),
    }
}

fn why(runtime: Result<Runtime>) -> Reason {
    match runtime {
        Err(Error::Unavailable(why)) => why.reason,
        other => panic!("{other:?}"),
    }
}
