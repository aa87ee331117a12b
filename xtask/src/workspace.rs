//! Where things are, and how to start other programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// The tree that the command works on.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// What cargo builds into; our own lanes are folders below it.
    pub(crate) target: PathBuf,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let manifest =
            std::env::var_os("CARGO_MANIFEST_DIR").ok_or("start it as `cargo xtask`: CARGO_MANIFEST_DIR is not set")?;
        let root = Path::new(&manifest).parent().ok_or("the folder of xtask has no parent")?.to_path_buf();
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => root.join(folder),
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// Tracked files, and untracked ones that git does not ignore; relative to the root.
    pub(crate) fn files(&self) -> Result<Vec<String>> {
        let list = output(self.command("git").args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]))?;
        let mut files: Vec<String> = list
            .split('\0')
            .filter(|name| !name.is_empty() && self.root.join(name).is_file())
            .map(str::to_owned)
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// A program that runs at the root.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// The cargo that started us, with its target folder made explicit.
    pub(crate) fn cargo(&self) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = self.command(cargo);
        command.env("CARGO_TARGET_DIR", &self.target);
        command
    }
}

/// Runs a command to its end and returns what it wrote to stdout.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let done = command.output().map_err(|error| format!("{}: {error}", shown(command)))?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{}: {}\n{text}", shown(command), done.status).into());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Runs a command whose output the reader sees as it comes.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| format!("{}: {error}", shown(command)))?;
    if !status.success() {
        return Err(format!("{}: {status}", shown(command)).into());
    }
    Ok(())
}

/// Whether a program is there and answers with success.
pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|done| done.status.success())
}

/// A command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut text = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
