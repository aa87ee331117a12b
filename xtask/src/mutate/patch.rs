//! A patch that removes one guard: two header lines, then a unified diff.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::workspace::output;

#[derive(Debug)]
pub(super) struct Patch {
    /// The file's name without `.patch`.
    pub(super) name: String,
    path: PathBuf,
    /// What is removed.
    pub(super) guard: String,
    /// The arguments of cargo test for the test that must turn red.
    pub(super) test: String,
    /// The files that the patch changes.
    pub(super) files: BTreeSet<String>,
}

impl Patch {
    pub(super) fn read_all(folder: &Path) -> Result<Vec<Self>> {
        let mut patches = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "patch") {
                patches.push(Self::parse(&path, &std::fs::read_to_string(&path)?)?);
            }
        }
        if patches.is_empty() {
            return Err(format!("no patch in {}", folder.display()).into());
        }
        patches.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(patches)
    }

    pub(super) fn parse(path: &Path, text: &str) -> Result<Self> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let header = |key: &str| {
            let before_diff = text.lines().take_while(|line| !line.starts_with("--- "));
            let value = before_diff.filter_map(|line| line.strip_prefix(key)).next();
            let value = value.map(str::trim).filter(|value| !value.is_empty());
            value.map(str::to_owned).ok_or_else(|| format!("{name}.patch: no line `{key} ..` before the diff"))
        };
        let (guard, test) = (header("Guard:")?, header("Test:")?);
        let files = text.lines().filter_map(|line| line.strip_prefix("--- a/"));
        let files: BTreeSet<String> = files.map(|file| file.trim_end().to_owned()).collect();
        if files.is_empty() {
            return Err(format!("{name}.patch: no file to change: make it with `git diff`").into());
        }
        Ok(Self { name, path: path.to_owned(), guard, test, files })
    }

    /// Whether the patch, or a file that it changes, is among these.
    pub(super) fn concerns(&self, changed: &BTreeSet<String>) -> bool {
        changed.contains(&format!("mutants/{}.patch", self.name)) || !self.files.is_disjoint(changed)
    }

    pub(super) fn check(&self, tree: &Path) -> Result<()> {
        self.git_apply(tree, &["--check"])
    }

    pub(super) fn apply(&self, tree: &Path) -> Result<()> {
        self.git_apply(tree, &[])
    }

    fn git_apply(&self, tree: &Path, options: &[&str]) -> Result<()> {
        let mut git = Command::new("git");
        // Keeps git from finding a repository above the copy: it would silently skip all paths outside of its folder.
        git.current_dir(tree).env("GIT_CEILING_DIRECTORIES", tree.parent().unwrap_or(tree));
        output(git.arg("apply").args(options).arg(&self.path))
            .map(drop)
            .map_err(|error| format!("{}.patch does not apply: {error}", self.name).into())
    }
}
