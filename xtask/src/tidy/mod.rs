//! `cargo xtask tidy`: the house rules that rustc and clippy do not check.

mod crates;
mod rules;
mod source;
#[cfg(test)]
mod tests;
mod variables;

use std::collections::BTreeMap;
use std::fmt;

use crate::Result;
use crate::workspace::Workspace;

/// A place that breaks a rule, and what to do about it.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    /// Counted from 1.
    line: usize,
    rule: &'static str,
    advice: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, advice } = self;
        write!(f, "{path}:{line}: {rule}: {advice}")
    }
}

/// A text file of the tree.
struct File {
    path: String,
    text: String,
    /// Empty unless it is Rust.
    lines: Vec<source::Line>,
}

impl File {
    fn new(path: &str, text: String) -> Self {
        let lines = if path.ends_with(".rs") { source::lines(&text) } else { Vec::new() };
        Self { path: path.to_owned(), text, lines }
    }

    fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("tests.rs")
    }

    /// `index` counts from 0.
    fn finding(&self, index: usize, rule: &'static str, advice: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line: index + 1, rule, advice: advice.into() }
    }
}

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let files = read(workspace)?;
    let mut findings: Vec<Finding> = files.iter().flat_map(rules::check).collect();
    findings.extend(variables::check(&files));
    findings.extend(crates::check_arrows(workspace)?);
    findings.extend(crates::check_duplicates(workspace)?);
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    for finding in &findings {
        println!("{finding}");
    }
    println!("modules that opt in to unsafe: {}", unsafe_modules(&files));
    match findings.len() {
        0 => {
            println!("tidy: {} files, nothing to do", files.len());
            Ok(())
        }
        count => Err(format!("tidy: {count} places break a house rule").into()),
    }
}

fn read(workspace: &Workspace) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for path in workspace.files()? {
        // What is not text (the sample picture) has no rule.
        if let Ok(text) = String::from_utf8(std::fs::read(workspace.root.join(&path))?) {
            files.push(File::new(&path, text));
        }
    }
    Ok(files)
}

fn unsafe_modules(files: &[File]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|f| !f.is_test() && rules::opts_in_to_unsafe(f).is_some()) {
        let krate = file.path.strip_prefix("crates/").unwrap_or(&file.path);
        let krate = krate.split_once('/').map_or(krate, |(name, _)| name);
        *counts.entry(krate).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
    counts.join(", ")
}
