//! `cargo xtask test`: the tests by tier, counted.

pub(crate) mod tally;
#[cfg(test)]
mod tests;
mod tiers;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Result;
use crate::workspace::{Workspace, shown};

use tally::Tally;
use tiers::{TIERS, Tier};

pub(crate) fn run(workspace: &Workspace, arguments: Vec<String>) -> Result<()> {
    let request = Request::parse(arguments)?;
    let mut summary = Vec::new();
    let mut tallies = Vec::new();
    for tier in &request.tiers {
        println!("\n=== tier {}: {}", tier.name, tier.what);
        let started = Instant::now();
        let (tally, note) = match (tier.run)(workspace) {
            Ok(tiers::Done::Ran(tally)) => (tally, String::new()),
            Ok(tiers::Done::LeftOut(why)) => left_out(&why, request.demands_all),
            Err(error) => (Tally::of_checks(0, 1), format!("  ({error})")),
        };
        let seconds = started.elapsed().as_secs_f64();
        summary.push(format!("{:8} {seconds:6.1} s  {tally}{note}", tier.name));
        tallies.push(tally);
    }
    let total = Tally::total(&tallies);
    println!("\n{}", summary.join("\n"));
    for skip in &total.skips {
        println!("{skip}");
    }
    println!("{total}");
    match total.failed {
        0 => Ok(()),
        _ => Err("not all tests passed".into()),
    }
}

fn left_out(why: &str, is_failure: bool) -> (Tally, String) {
    (Tally::of_checks(0, usize::from(is_failure)), format!("  LEFT OUT: {why}"))
}

struct Request {
    tiers: Vec<&'static Tier>,
    demands_all: bool,
}

impl Request {
    fn parse(arguments: Vec<String>) -> Result<Self> {
        let mut tiers = Vec::new();
        let mut demands_all = false;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--require-all" => demands_all = true,
                "--tier" => tiers.push(find(&arguments.next().unwrap_or_default())?),
                _ => return Err(format!("unknown argument {argument}").into()),
            }
        }
        if tiers.is_empty() {
            tiers = TIERS.iter().collect();
        } else {
            demands_all = true;
        }
        Ok(Self { tiers, demands_all })
    }
}

fn find(name: &str) -> Result<&'static Tier> {
    TIERS.iter().find(|tier| tier.name == name).ok_or_else(|| {
        let names: Vec<&str> = TIERS.iter().map(|tier| tier.name).collect();
        format!("no tier {name:?}; there are {}", names.join(", ")).into()
    })
}

/// Runs a command that ends in test programs; shows its output and counts it.
fn count(workspace: &Workspace, command: &mut Command) -> Result<Tally> {
    let log = workspace.target.join("skipped-tests");
    std::fs::create_dir_all(&workspace.target)?;
    std::fs::write(&log, "")?;
    println!("$ {}", shown(command));
    let mut child = command.env("EDGEFIRST_TEST_SKIP_LOG", &log).stdout(Stdio::piped()).spawn()?;
    let mut tally = Tally::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            tally.read_line(&line);
            println!("{line}");
        }
    }
    tally.read_skips(&log);
    // A program that did not build, or died, counted nothing.
    if !child.wait()?.success() && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}
