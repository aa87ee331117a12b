//! Several runtimes in one process, each with an answer of its own.

use edgefirst_cuda::{Code, Reason, Runtime};
use testkit::sim::{Major as SimMajor, Sim};

use super::child::{Held, alone, given, this_test};
use super::driver;
use super::wheels::{Major, need_wheels};

/// Bug report 7, with all three majors and a second copy of one.
#[test]
fn majors_and_copies_do_not_meet() {
    need_wheels!();
    let prepare = |command: &mut std::process::Command| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let copy = folder.path().join("libcudart.so.12");
        std::fs::copy(Major::V12.library(), &copy).expect("the folder is ours");
        command.env("COPY", copy);
        (folder, driver::answering(command, 12090, Code::NO_DEVICE.0))
    };
    alone(this_test!(), prepare, || {
        let held = Held::now();
        let files = [Major::V12.library(), given("COPY").into(), Major::V13.library(), Major::V11.library()];
        let runtimes = files.map(|file| (Runtime::load_from(&file).expect("loading asks no driver"), file));
        let expected = [Code::NO_DEVICE, Code::NO_DEVICE, Code::INSUFFICIENT_DRIVER, Code::NO_DEVICE];
        for ((runtime, file), code) in runtimes.iter().zip(expected) {
            assert_eq!(driver::reason(&runtime.status()), Reason::Refused(code), "{}", file.display());
            assert_eq!(runtime.path(), file.canonicalize().ok().as_deref());
        }
        held.is_all_that_is_held();
    });
}

#[test]
fn a_simulated_runtime_works_beside_a_real_one_without_a_driver() {
    need_wheels!();
    alone(this_test!(), driver::none, || {
        let real = Runtime::load_from(Major::V12.library()).expect("loading asks no driver");
        let sim = Sim::open(SimMajor::V12);
        let simulated = Runtime::load_from(sim.path()).expect("it loads");
        assert_eq!(driver::reason(&real.status()), Reason::Refused(Code::INSUFFICIENT_DRIVER));
        assert!(simulated.status().is_ready() && simulated.is_simulated() && !real.is_simulated());
        assert_eq!(driver::reason(&real.status()), Reason::Refused(Code::INSUFFICIENT_DRIVER));
    });
}
