//! The rules that look at the graph of crates.

use crate::Result;
use crate::workspace::{Workspace, output};

use super::Finding;

/// Who may depend on whom, down only. A crate that is missing here may depend on none of ours.
const ARROWS: [(&str, &[&str]); 6] = [
    ("edgefirst-cuda-sim-11", &["edgefirst-cuda-sim"]),
    ("edgefirst-cuda-sim-12", &["edgefirst-cuda-sim"]),
    ("edgefirst-cuda-sim-13", &["edgefirst-cuda-sim"]),
    ("edgefirst-tensor", &["edgefirst-cuda"]),
    ("edgefirst-tensor-cli", &["edgefirst-tensor", "edgefirst-cuda-sim"]),
    ("testkit", &["edgefirst-cuda", "edgefirst-cuda-sim-11", "edgefirst-cuda-sim-12", "edgefirst-cuda-sim-13"]),
];

/// What tests of each crate may use besides.
const TEST_ARROWS: [&str; 2] = ["testkit", "edgefirst-cuda-sim"];

pub(super) fn check_arrows(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut findings = wrong_arrows(&tree(workspace, "normal,build")?, &[]);
    findings.extend(wrong_arrows(&tree(workspace, "dev")?, &TEST_ARROWS));
    Ok(findings)
}

fn tree(workspace: &Workspace, edges: &str) -> Result<String> {
    let form = ["--prefix", "depth", "--depth", "1", "--no-dedupe", "--format", " {p}"];
    output(workspace.cargo().args(["tree", "--workspace", "--edges", edges]).args(form))
}

/// Reads lines such as `0 edgefirst-cuda v0.1.0 (PATH)` and, below, its dependencies with `1`.
pub(super) fn wrong_arrows(tree: &str, besides: &[&str]) -> Vec<Finding> {
    let rows: Vec<(&str, &str)> = tree.lines().filter_map(row).collect();
    let members: Vec<&str> = rows.iter().filter(|(depth, _)| *depth == "0").map(|(_, name)| *name).collect();
    let mut findings = Vec::new();
    let mut from = "";
    for (depth, name) in rows {
        if depth == "0" {
            from = name;
            continue;
        }
        let allowed = ARROWS.iter().find(|(krate, _)| *krate == from).map_or(&[][..], |(_, to)| to);
        if members.contains(&name) && !allowed.contains(&name) && !besides.contains(&name) {
            findings.push(Finding {
                path: "Cargo.toml".to_owned(),
                line: 1,
                rule: "arrows",
                advice: format!("{from} depends on {name}: arrows point down only (ARCHITECTURE.md)"),
            });
        }
    }
    findings
}

fn row(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    Some((words.next()?, words.next()?))
}

pub(super) fn check_duplicates(workspace: &Workspace) -> Result<Vec<Finding>> {
    let form = ["--depth", "0", "--prefix", "none", "--format", "{p}"];
    let tree = output(workspace.cargo().args(["tree", "--workspace", "--duplicates"]).args(form))?;
    let deny = std::fs::read_to_string(workspace.root.join("deny.toml"))?;
    Ok(unexplained(&tree, &deny))
}

/// Of each crate that is there in several versions, all but one need a reason in deny.toml.
pub(super) fn unexplained(tree: &str, deny: &str) -> Vec<Finding> {
    let mut versions: Vec<(&str, &str)> = tree.lines().filter_map(row).collect();
    versions.sort_unstable();
    versions.dedup();
    let is_explained = |name: &str, version: &str| {
        let entry = format!("\"{name}@{}\"", version.trim_start_matches('v'));
        deny.lines().any(|line| line.contains(&entry) && line.contains("reason = \""))
    };
    versions
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|same| same.len() > 1)
        .filter(|same| same.iter().filter(|(name, version)| !is_explained(name, version)).count() > 1)
        .map(|same| {
            let list: Vec<&str> = same.iter().map(|(_, version)| *version).collect();
            Finding {
                path: "deny.toml".to_owned(),
                line: 1,
                rule: "duplicates",
                advice: format!(
                    "{} is there as {}: unify, or add {{ crate = \"{}@VERSION\", reason = \"..\" }} to [bans] skip",
                    same[0].0,
                    list.join(" and "),
                    same[0].0
                ),
            }
        })
        .collect()
}
