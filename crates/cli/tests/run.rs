//! `edgefirst-tensor run`, as a user meets it.

#![expect(clippy::unwrap_used, reason = "what a test sets up must work")]

mod program;

use std::path::Path;

use program::{SAMPLE, run};
use testkit::sim::{Major, Sim};

#[test]
fn the_simulated_path_reads_as_it_should() {
    let outcome = run(&[SAMPLE, "--cuda", "simulate"], &[]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome.matches_golden("simulate.txt");
}

#[test]
fn the_host_path_reads_as_it_should() {
    let outcome = run(&[SAMPLE, "--cuda", "off"], &[]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome.matches_golden("off.txt");
}

#[test]
fn a_failed_demand_reads_as_it_should() {
    let outcome = run(&[SAMPLE, "--cuda", "require"], &[("EDGEFIRST_CUDART", "off")]);
    assert_eq!((outcome.code, outcome.out.as_str()), (4, ""));
    outcome.matches_golden("require.txt");
}

/// What the decoder makes of the sample, without a tensor.
fn digest_of_sample() -> String {
    use sha2::{Digest, Sha256};
    let pixels = image::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE)).unwrap();
    format!("{:x}", Sha256::digest(pixels.into_rgb8().as_raw()))
}

#[test]
fn every_path_gives_the_digest_of_the_pixels() {
    let sim = Sim::open(Major::V12);
    let library = sim.path().to_str().unwrap();
    for mode in ["simulate", "off", library] {
        let outcome = run(&[SAMPLE, "--cuda", mode], &[]);
        assert_eq!(outcome.entry("sha256"), digest_of_sample(), "{mode}: {outcome:?}");
    }
}

#[test]
fn each_schedule_and_both_kinds_of_pinned_memory_give_that_digest_and_leave_nothing_behind() {
    for commands in ["schedule late", "schedule early", "schedule random:7", "pinned same", "pinned different"] {
        let commands = format!("{commands};fail-at-exit");
        let outcome = run(&[SAMPLE, "--cuda", "simulate"], &[("EDGEFIRST_CUDA_SIM", &commands)]);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{commands}");
        assert_eq!(outcome.entry("sha256"), digest_of_sample(), "{commands}");
    }
}

/// A library that says of itself that it is simulated is never taken for a GPU, however it is found.
#[test]
fn a_simulator_found_by_path_says_so() {
    let sim = Sim::open(Major::V13);
    let library = sim.path().to_str().unwrap();
    let by_argument = run(&[SAMPLE, "--cuda", library], &[]);
    let by_variable = run(&[SAMPLE, "--cuda", "require"], &[("EDGEFIRST_CUDART", library)]);
    for outcome in [by_argument, by_variable] {
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.out.starts_with("SIMULATED"), "{outcome:?}");
        assert!(outcome.entry("path").starts_with("CUDA device 0"), "{outcome:?}");
        assert!(outcome.out.contains(library), "{outcome:?}");
    }
}

#[test]
fn auto_falls_back_to_the_host_and_says_why() {
    let sim = Sim::open(Major::V12);
    let library = sim.path().to_str().unwrap();
    for (commands, reason) in [
        ("driver no-device", "100 cudaErrorNoDevice"),
        ("driver none", "35 cudaErrorInsufficientDriver"),
        ("fault cudaHostRegister 1 2", "cudaHostRegister failed with 2 cudaErrorMemoryAllocation"),
        ("fault cudaMemcpyAsync 1 999", "cudaMemcpyAsync failed with 999 cudaErrorUnknown"),
    ] {
        let environment = [("EDGEFIRST_CUDART", library), ("EDGEFIRST_CUDA_SIM", commands)];
        let outcome = run(&[SAMPLE], &environment);
        assert_eq!(outcome.code, 0, "{commands}: {outcome:?}");
        assert_eq!(outcome.entry("path"), "host", "{commands}: {outcome:?}");
        assert!(outcome.entry("why").contains(reason), "{commands}: {outcome:?}");
        assert_eq!(outcome.entry("sha256"), digest_of_sample(), "{commands}");

        let demanded = run(&[SAMPLE, "--cuda", "require"], &environment);
        assert_eq!(demanded.code, 4, "{commands}: {demanded:?}");
        assert!(demanded.complaint().contains(reason), "{commands}: {demanded:?}");
    }
}

#[test]
fn a_path_that_is_no_runtime_is_an_error_with_the_loaders_words() {
    for (path, words) in [("/nowhere/libcudart.so", "No such file"), (SAMPLE, "invalid ELF header")] {
        let outcome = run(&[SAMPLE, "--cuda", path], &[]);
        assert_eq!((outcome.code, outcome.out.as_str()), (4, ""), "{outcome:?}");
        assert!(outcome.err.contains(path) && outcome.complaint().contains(words), "{outcome:?}");
    }
}

#[test]
fn help_tells_the_exit_codes_within_80_columns() {
    for arguments in [&["--help"][..], &["run", "--help"]] {
        let outcome = program::start(arguments, &[]);
        assert_eq!(outcome.code, 0);
        for code in ["0  done", "2  the command line", "3  the picture", "4  CUDA was demanded"] {
            assert!(outcome.out.contains(code), "{outcome:?}");
        }
        outcome.fits_80_columns();
    }
}

#[test]
fn a_wrong_command_line_is_code_2() {
    for arguments in [&[][..], &["run"], &["run", SAMPLE, "--gpu"], &["walk", SAMPLE]] {
        assert_eq!(program::start(arguments, &[]).code, 2, "{arguments:?}");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_code_1() {
    let outcome = program::start_into("/dev/full", &["run", SAMPLE, "--cuda", "off"]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.complaint().contains("cannot write the report"), "{outcome:?}");
}
