//! The C compiler: headers and libraries that no Rust program should pretend to be.

use std::path::Path;
use std::process::Command;

/// A run of `cc` that makes `output`.
pub(crate) fn to(output: &Path) -> Command {
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"]).arg(output);
    command
}

/// As [`to`], for a shared library.
pub(crate) fn library(output: &Path) -> Command {
    let mut command = to(output);
    command.args(["-shared", "-fPIC"]);
    command
}

/// Whether there is a C compiler.
pub(crate) fn is_there() -> bool {
    Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Runs it and fails the test with the compiler's own words.
pub(crate) fn compile(command: &mut Command) {
    let output = command.output().expect("cc starts");
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}
