//! `cargo xtask mutate`: removes one guard after the other and demands that its test turns red.
//!
//! It works on a copy of the tree below the target folder, so that the developer's files are never touched.

mod lane;
mod patch;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::Result;
use crate::workspace::{Workspace, output};

use lane::{Lane, Verdict};
use patch::Patch;

/// What came of the patches that ran.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) found: usize,
    pub(crate) not_found: usize,
}

pub(crate) fn run(workspace: &Workspace, arguments: Vec<String>) -> Result<()> {
    let outcome = mutate(workspace, &Request::parse(arguments)?)?;
    match outcome.not_found {
        0 => Ok(()),
        count => Err(format!("{count} guards can be removed and no test turns red").into()),
    }
}

/// All patches, for the tier of that name.
pub(crate) fn run_all(workspace: &Workspace) -> Result<Outcome> {
    mutate(workspace, &Request::default())
}

#[derive(Debug, Default, PartialEq)]
struct Request {
    check: bool,
    changed: Option<String>,
    names: Vec<String>,
}

impl Request {
    fn parse(arguments: Vec<String>) -> Result<Self> {
        let mut request = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--check" => request.check = true,
                "--changed" => {
                    request.changed = Some(arguments.next().ok_or("--changed needs a commit")?);
                }
                option if option.starts_with('-') => {
                    return Err(format!("unknown option {option}").into());
                }
                _ => request.names.push(argument),
            }
        }
        Ok(request)
    }
}

fn mutate(workspace: &Workspace, request: &Request) -> Result<Outcome> {
    let patches = choose(Patch::read_all(&workspace.root.join("mutants"))?, &request.names)?;
    demand_that_all_apply(&patches, workspace)?;
    let count = patches.len();
    let run = to_run(workspace, patches, request)?;
    println!("{count} patches apply, {} of them run", run.len());
    if run.is_empty() {
        return Ok(Outcome::default());
    }
    let lane = Lane::prepare(workspace)?;
    for test in run.iter().map(|patch| &patch.test).collect::<BTreeSet<_>>() {
        lane.demand_green(test)?;
    }
    let mut verdicts = Vec::new();
    for patch in &run {
        let verdict = lane.judge(patch)?;
        println!("{}: {verdict}", patch.name);
        verdicts.push((patch, verdict));
    }
    println!("\n{}", table(&verdicts));
    let found = verdicts.iter().filter(|(_, verdict)| verdict.is_found()).count();
    Ok(Outcome { found, not_found: run.len() - found })
}

fn choose(patches: Vec<Patch>, names: &[String]) -> Result<Vec<Patch>> {
    if let Some(unknown) = names.iter().find(|name| !patches.iter().any(|p| p.name == **name)) {
        return Err(format!("no patch mutants/{unknown}.patch").into());
    }
    let wanted = |patch: &Patch| names.is_empty() || names.contains(&patch.name);
    Ok(patches.into_iter().filter(wanted).collect())
}

fn demand_that_all_apply(patches: &[Patch], workspace: &Workspace) -> Result<()> {
    let stale = patches.iter().filter_map(|patch| patch.check(&workspace.root).err());
    let stale: Vec<String> = stale.map(|error| error.to_string()).collect();
    if stale.is_empty() { Ok(()) } else { Err(stale.join("\n").into()) }
}

fn to_run(workspace: &Workspace, patches: Vec<Patch>, request: &Request) -> Result<Vec<Patch>> {
    if request.check {
        return Ok(Vec::new());
    }
    let Some(base) = &request.changed else {
        return Ok(patches);
    };
    let changed = changed_since(workspace, base)?;
    Ok(patches.into_iter().filter(|patch| patch.concerns(&changed)).collect())
}

fn changed_since(workspace: &Workspace, base: &str) -> Result<BTreeSet<String>> {
    let tracked = output(workspace.command("git").args(["diff", "--name-only", "-z", base, "--"]))?;
    let new = output(workspace.command("git").args(["ls-files", "--others", "--exclude-standard", "-z"]))?;
    let names = tracked.split('\0').chain(new.split('\0'));
    Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn table(verdicts: &[(&Patch, Verdict)]) -> String {
    let width = |of: fn(&Patch) -> &str| verdicts.iter().map(|(patch, _)| of(patch).len()).max().unwrap_or(0);
    let (guards, tests) = (width(|p| &p.guard), width(|p| &p.test));
    let mut text = String::new();
    for (patch, verdict) in verdicts {
        text.push_str(&format!("{:guards$}  {:tests$}  {verdict}\n", patch.guard, patch.test));
    }
    text
}
