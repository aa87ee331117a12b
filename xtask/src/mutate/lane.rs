//! The copy of the tree in which guards are removed, with a target folder of its own.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::patch::Patch;
use crate::Result;
use crate::test::tally;
use crate::workspace::Workspace;

/// Seconds. A test that hangs has noticed that its guard is gone.
const TIMEOUT: &str = "120";
/// What coreutils' `timeout` answers when it ended the test, and when it had to kill it.
const TIMED_OUT: [i32; 2] = [124, 137];

pub(super) struct Lane {
    origin: PathBuf,
    tree: PathBuf,
    target: PathBuf,
}

#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Red,
    Hangs,
    /// The test passed without the guard.
    Green,
    /// The changed tree does not compile, so the patch proves nothing.
    Broken,
    /// The filter of the patch matches no test any more.
    NoTest,
}

impl Verdict {
    pub(super) fn is_found(&self) -> bool {
        matches!(self, Self::Red | Self::Hangs)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Red => "found",
            Self::Hangs => "found (the test hangs)",
            Self::Green => "NOT FOUND",
            Self::Broken => "NOT FOUND (the patched tree does not compile)",
            Self::NoTest => "NOT FOUND (no test ran)",
        })
    }
}

impl Lane {
    /// Brings the copy up to date. Unchanged files keep their times, so cargo builds only what changed.
    pub(super) fn prepare(workspace: &Workspace) -> Result<Self> {
        let folder = workspace.target.join("mutants");
        let lane = Self { origin: workspace.root.clone(), tree: folder.join("tree"), target: folder.join("target") };
        let files = workspace.files()?;
        for file in &files {
            lane.restore(file)?;
        }
        lane.remove_strangers(&lane.tree, &files.into_iter().collect())?;
        Ok(lane)
    }

    fn restore(&self, file: &str) -> Result<()> {
        let (from, to) = (self.origin.join(file), self.tree.join(file));
        let content = std::fs::read(&from)?;
        if std::fs::read(&to).is_ok_and(|copy| copy == content) {
            return Ok(());
        }
        std::fs::create_dir_all(to.parent().unwrap_or(&self.tree))?;
        std::fs::copy(&from, &to)?;
        Ok(())
    }

    /// What was deleted from the origin since the last run.
    fn remove_strangers(&self, folder: &Path, files: &BTreeSet<String>) -> Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(&self.tree)?.to_string_lossy().into_owned();
            if path.is_dir() {
                self.remove_strangers(&path, files)?;
            } else if !files.contains(&name) {
                std::fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// A test that fails anyway would prove nothing.
    pub(super) fn demand_green(&self, test: &str) -> Result<()> {
        let (verdict, output) = self.run(test)?;
        if verdict == Verdict::Green {
            return Ok(());
        }
        println!("{output}");
        Err(format!("`cargo test {test}` must pass while all guards are in place").into())
    }

    pub(super) fn judge(&self, patch: &Patch) -> Result<Verdict> {
        patch.apply(&self.tree)?;
        let judged = self.run(&patch.test);
        for file in &patch.files {
            self.restore(file)?;
        }
        let (verdict, output) = judged?;
        if !verdict.is_found() {
            println!("{output}");
        }
        Ok(verdict)
    }

    fn run(&self, test: &str) -> Result<(Verdict, String)> {
        let built = self.cargo(&["cargo", "test", "--no-run"], test).output()?;
        if !built.status.success() {
            return Ok((Verdict::Broken, String::from_utf8_lossy(&built.stderr).into_owned()));
        }
        let done = self.cargo(&["timeout", "--kill-after=5", TIMEOUT, "cargo", "test"], test).output()?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let verdict = match done.status.code() {
            Some(code) if TIMED_OUT.contains(&code) => Verdict::Hangs,
            _ if tally::tests_started(&text) == 0 => Verdict::NoTest,
            Some(0) => Verdict::Green,
            _ => Verdict::Red,
        };
        Ok((verdict, text + &String::from_utf8_lossy(&done.stderr)))
    }

    fn cargo(&self, words: &[&str], test: &str) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(test.split_whitespace());
        command.current_dir(&self.tree).stdin(Stdio::null());
        command.env("CARGO_TARGET_DIR", &self.target);
        // One crate is built again and again with few lines changed.
        command.env("CARGO_INCREMENTAL", "1");
        command
    }
}
