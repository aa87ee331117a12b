//! The tiers: what each needs, and what it runs.

use std::process::Command;

use crate::Result;
use crate::mutate;
use crate::tidy;
use crate::wheels;
use crate::workspace::{Workspace, shown, succeed};

use super::count;
use super::tally::Tally;

pub(super) struct Tier {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) run: fn(&Workspace) -> Result<Done>,
}

pub(super) enum Done {
    Ran(Tally),
    /// Something is missing that only root can install: what, and how.
    LeftOut(String),
}

/// In the order in which they run: what is quick and fails often comes first.
pub(super) const TIERS: [Tier; 6] = [
    Tier { name: "lint", what: "format, clippy, house rules, documentation", run: lint },
    Tier { name: "host", what: "all tests that need nothing but cargo, simulated CUDA included", run: host },
    Tier { name: "cudart", what: "the real CUDA runtimes, without a GPU", run: cudart },
    Tier { name: "speed", what: "limits of cost, each beside the raw call in the same run", run: speed },
    Tier { name: "memory", what: "AddressSanitizer and LeakSanitizer", run: memory },
    Tier { name: "mutants", what: "guards removed one by one", run: mutants },
];

fn lint(workspace: &Workspace) -> Result<Done> {
    let cargo = |arguments: &str| {
        let mut command = workspace.cargo();
        command.args(arguments.split(' '));
        command
    };
    let mut doc = cargo("doc --workspace --no-deps");
    doc.env("RUSTDOCFLAGS", "-Dwarnings");
    let checks = [
        check(&mut cargo("fmt --all --check")),
        check(&mut cargo("clippy --workspace --all-targets -- -D warnings")),
        check(&mut doc),
        report("cargo xtask tidy", tidy::run(workspace)),
    ];
    let passed = checks.iter().filter(|passed| **passed).count();
    Ok(Done::Ran(Tally::of_checks(passed, checks.len() - passed)))
}

fn check(command: &mut Command) -> bool {
    println!("$ {}", shown(command));
    let name = shown(command);
    report(&name, succeed(command))
}

fn report(name: &str, result: Result<()>) -> bool {
    match &result {
        Ok(()) => println!("{name}: passed"),
        Err(error) => println!("{name}: FAILED: {error}"),
    }
    result.is_ok()
}

fn host(workspace: &Workspace) -> Result<Done> {
    count(workspace, workspace.cargo().args(["test", "--workspace", "--no-fail-fast"])).map(Done::Ran)
}

fn cudart(workspace: &Workspace) -> Result<Done> {
    with_real_runtimes(workspace, |command| {
        command.args(["test", "-p", "edgefirst-cuda", "--test", "cudart", "--no-fail-fast"]);
        command.env("EDGEFIRST_TEST_REQUIRE_CUDART", "1");
        count(workspace, command)
    })
}

fn speed(workspace: &Workspace) -> Result<Done> {
    with_real_runtimes(workspace, |command| {
        command.args(["bench", "-p", "edgefirst-cuda", "--bench", "cost"]);
        let passed = check(command);
        Ok(Tally::of_checks(usize::from(passed), usize::from(!passed)))
    })
}

fn with_real_runtimes(workspace: &Workspace, run: impl FnOnce(&mut Command) -> Result<Tally>) -> Result<Done> {
    match wheels::fetch(workspace)? {
        wheels::Fetched::Folder(folder) => run(workspace.cargo().env("EDGEFIRST_TEST_CUDART", folder)).map(Done::Ran),
        wheels::Fetched::Needs(what) => Ok(Done::LeftOut(what)),
    }
}

/// The sanitizer's functions live in the test program; a simulator that it opens finds them only if it exports them.
const SANITIZER: &str = "-Zsanitizer=address -Clink-arg=-Wl,--export-dynamic";

fn memory(workspace: &Workspace) -> Result<Done> {
    let mut command = workspace.cargo();
    command.args(["test", "--no-fail-fast", "--lib", "--tests", "--target", "x86_64-unknown-linux-gnu"]);
    command.args(["-p", "edgefirst-cuda", "-p", "edgefirst-cuda-sim", "-p", "edgefirst-tensor"]);
    command.env("CARGO_TARGET_DIR", workspace.target.join("asan"));
    command.env("RUSTC_BOOTSTRAP", "1");
    command.env("RUSTFLAGS", SANITIZER);
    // Tests look for the signal of a stray access, and for null where memory does not suffice; by default either ends
    // the program with a report.
    command.env("ASAN_OPTIONS", "handle_segv=0:allocator_may_return_null=1");
    let leaks = workspace.root.join("xtask/leaks.supp");
    command.env("LSAN_OPTIONS", format!("print_suppressions=0:suppressions={}", leaks.display()));
    count(workspace, &mut command).map(Done::Ran)
}

fn mutants(workspace: &Workspace) -> Result<Done> {
    let outcome = mutate::run_all(workspace)?;
    Ok(Done::Ran(Tally::of_checks(outcome.found, outcome.not_found)))
}
