//! A test in a process of its own: the test re-executes the test program with itself as the only test.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Write, stderr, stdout};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Marks the child and holds the name of its test.
const MARKER: &str = "TEST_RUNS_ALONE";
const DONE: &str = "<the test alone is done>";
const QUIET: [&str; 2] = ["<quiet from here>", "<to here>"];

/// What a runtime or the walk reads from the environment; a child sees none of it but what its test sets.
const CLEARED: [&str; 8] = [
    "EDGEFIRST_CUDART",
    "EDGEFIRST_CUDA_SIM",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CUDA_PATH",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
];

/// The full name of the function that this stands in.
macro_rules! this_test {
    () => {{
        fn here() {}
        std::any::type_name_of_val(&here)
    }};
}
pub(crate) use this_test;

/// Runs `body` in a process of its own, where it is the only test.
///
/// `prepare` runs here only: it sets the child's environment, and what it returns lives until the child has ended. In the
/// child the test begins anew, comes here again, runs `body` and ends; so `body` gets what it needs from constants and by
/// [`given`].
pub(crate) fn alone<G>(this_test: &str, prepare: impl FnOnce(&mut Command) -> G, body: impl FnOnce()) {
    let name = this_test.split_once("::").and_then(|(_, rest)| rest.strip_suffix("::here")).expect("this_test!()");
    if std::env::var_os(MARKER).as_deref() == Some(OsStr::new(name)) {
        body();
        say(DONE);
        std::process::exit(0);
    }
    let mut command = Command::new(std::env::current_exe().expect("the test program has a path"));
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(MARKER, name);
    for variable in CLEARED {
        command.env_remove(variable);
    }
    // A child that fails may leave its copies of the simulator; they go with this folder.
    let folder = tempfile::tempdir().expect("a temporary folder");
    command.env("TMPDIR", folder.path());
    let kept = prepare(&mut command);
    let output = command.output().expect("the test program starts");
    drop(kept);
    check(name, &output);
}

/// What `prepare` put into the child's environment.
pub(crate) fn given(variable: &str) -> String {
    std::env::var(variable).expect("prepare sets it")
}

fn check(name: &str, output: &Output) {
    let texts = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let shown = || format!("{name} alone: {}\n--- stdout\n{}\n--- stderr\n{}", output.status, texts[0], texts[1]);
    assert!(output.status.success() && texts[0].contains(DONE), "{}", shown());
    for text in &texts {
        let quiet = text.split(QUIET[0]).skip(1).filter_map(|rest| rest.split_once(QUIET[1]));
        for (between, _) in quiet {
            assert_eq!(between.trim(), "", "something was printed. {}", shown());
        }
    }
}

/// Fails the test when anything at all is printed meanwhile, by whatever library. In a test [`alone`] only.
pub(crate) fn quietly<T>(body: impl FnOnce() -> T) -> T {
    say(QUIET[0]);
    let result = body();
    say(QUIET[1]);
    result
}

/// Past the harness, which may hold back what is printed by `println!`.
fn say(line: &str) {
    writeln!(stdout(), "\n{line}").and_then(|()| stdout().flush()).expect("stdout is open");
    writeln!(stderr(), "\n{line}").expect("stderr is open");
}

/// How many threads this process has, and which files it has open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Held {
    threads: usize,
    files: BTreeMap<PathBuf, PathBuf>,
}

impl Held {
    pub(crate) fn now() -> Self {
        let entries =
            |folder| std::fs::read_dir(folder).expect("procfs is mounted").flatten().map(|entry| entry.path());
        Self {
            threads: entries("/proc/self/task").count(),
            // The descriptor of the listing itself is gone by the time that its link is read.
            files: entries("/proc/self/fd").filter_map(|fd| Some((fd.clone(), fd.read_link().ok()?))).collect(),
        }
    }

    /// Fails the test unless the process comes back to this; a thread may need a moment to end.
    pub(crate) fn is_all_that_is_held(&self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        while Self::now() != *self && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(Self::now(), *self);
    }
}
