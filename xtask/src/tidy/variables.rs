//! Every environment variable stands in the one table of the README.

use std::collections::BTreeMap;

use super::source::is_name;
use super::{File, Finding};

const OURS: &str = concat!("EDGE", "FIRST_");
const README: &str = "README.md";

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let Some(readme) = files.iter().find(|file| file.path == README) else {
        return vec![Finding {
            path: README.to_owned(),
            line: 1,
            rule: "variables",
            advice: "write it, with the table of environment variables".to_owned(),
        }];
    };
    let table = table(readme);
    let used = used(files);
    let mut findings = Vec::new();
    for (name, (file, at)) in &used {
        if !table.iter().any(|(row, _)| row == name || (name.ends_with('_') && row.starts_with(name))) {
            let advice = format!("add a row for {name} to the table of environment variables in {README}");
            findings.push(file.finding(*at, "variables", advice));
        }
    }
    for (index, (row, at)) in table.iter().enumerate() {
        if table[..index].iter().any(|(earlier, _)| earlier == row) {
            findings.push(readme.finding(*at, "variables", format!("{row} has two rows: keep one")));
        }
        if row.starts_with(OURS) && !used.contains_key(row) {
            findings.push(readme.finding(*at, "variables", format!("nothing reads {row}: remove the row")));
        }
    }
    findings
}

/// The first column of each row that names a variable, with its line from 0.
fn table(readme: &File) -> Vec<(String, usize)> {
    let name_of = |line: &str| {
        let (name, _) = line.strip_prefix("| `")?.split_once('`')?;
        let is_variable =
            name.contains('_') && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        is_variable.then(|| name.to_owned())
    };
    let rows = readme.text.lines().enumerate();
    rows.filter_map(|(at, line)| Some((name_of(line)?, at))).collect()
}

/// Where each variable stands first: ours anywhere in sources, others where a crate's own code reads them.
fn used(files: &[File]) -> BTreeMap<String, (&File, usize)> {
    let mut used = BTreeMap::new();
    for file in files.iter().filter(|file| is_source(&file.path)) {
        for (at, line) in file.text.lines().enumerate() {
            let mut names = ours(line);
            if file.path.contains("/src/") && file.path.starts_with("crates/") && !file.is_test() {
                names.extend(read_by_name(line));
            }
            for name in names {
                used.entry(name).or_insert((file, at));
            }
        }
    }
    used
}

fn is_source(path: &str) -> bool {
    path.ends_with(".rs") || path.ends_with(".sh") || path == ".ci/run"
}

fn ours(line: &str) -> Vec<String> {
    line.match_indices(OURS)
        .map(|(start, _)| line[start..].chars().take_while(|c| is_name(*c)).collect::<String>())
        .filter(|name| name.len() > OURS.len())
        .collect()
}

/// `var("NAME")` and `var_os("NAME")`.
fn read_by_name(line: &str) -> Vec<String> {
    ["var(\"", "var_os(\""]
        .iter()
        .flat_map(|call| line.match_indices(call).map(move |(start, _)| &line[start + call.len()..]))
        .map(|rest| rest.chars().take_while(|c| is_name(*c)).collect())
        .collect()
}
