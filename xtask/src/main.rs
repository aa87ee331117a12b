//! The work around the code: `cargo xtask tidy | test | mutate`.
//!
//! It uses no crate, so that it builds in seconds on a machine that is new.

#![expect(clippy::print_stdout, reason = "a command-line tool for developers: its output is its purpose")]

mod mutate;
mod test;
mod tidy;
mod wheels;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

/// Somebody reads it and acts: the text is the error.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const HELP: &str = "\
cargo xtask tidy
    Checks the house rules that rustc and clippy do not.
cargo xtask test [--tier NAME]... [--require-all]
    Runs the tiers of test, all of them unless some are named.
    --require-all: a tier that cannot run here is a failure.
cargo xtask mutate [--check] [--changed BASE] [NAME]...
    Removes one guard after the other and demands that its test turns red.
    --check: only that every patch applies.
    --changed BASE: runs those whose files changed since BASE, checks the rest.
";

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: Vec<String>) -> Result<()> {
    if arguments.is_empty() || arguments.iter().any(|a| a == "-h" || a == "--help") {
        print!("{HELP}");
        return Ok(());
    }
    let command = arguments.remove(0);
    let workspace = Workspace::find()?;
    match command.as_str() {
        "tidy" if arguments.is_empty() => tidy::run(&workspace),
        "test" => test::run(&workspace, arguments),
        "mutate" => mutate::run(&workspace, arguments),
        _ => Err(format!("not understood: {command} {}\n{HELP}", arguments.join(" ")).into()),
    }
}
