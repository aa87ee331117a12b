//! Folders as people have them: wheels, toolkits, and rubbish.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use edgefirst_cuda::{Attempt, Error, Reason, Result, Runtime, Search};
use tempfile::TempDir;
use testkit::sim::Major;

/// A temporary folder with a tree in it.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, path: impl AsRef<OsStr>) -> PathBuf {
        self.root().join(path.as_ref())
    }

    pub(crate) fn file(&self, path: &str, content: &[u8]) {
        fs::write(self.place(path), content).expect("the folder is ours");
    }

    pub(crate) fn folder(&self, path: &str) {
        fs::create_dir_all(self.at(path)).expect("the folder is ours");
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.place(path)).expect("the folder is ours");
    }

    /// A library that works, with state of its own: a copy of the simulator.
    pub(crate) fn runtime(&self, path: impl AsRef<OsStr>, major: Major) {
        fs::copy(major.built(), self.place(path)).expect("the folder is ours");
    }

    /// The path, in a folder that exists.
    pub(crate) fn place(&self, path: impl AsRef<OsStr>) -> PathBuf {
        let place = self.at(path);
        fs::create_dir_all(place.parent().expect("it is below the root")).expect("the folder is ours");
        place
    }

    /// Searches, and answers each attempt as [`lines`] does.
    pub(crate) fn search(&self, search: &Search) -> (Result<Runtime>, Vec<String>) {
        let (runtime, attempts) = Runtime::search(search);
        (runtime, lines(self.root(), &attempts))
    }
}

/// Each attempt as the report prints it, with `~` for `root`.
pub(crate) fn lines(root: &Path, attempts: &[Attempt]) -> Vec<String> {
    let root = root.display().to_string();
    attempts.iter().map(|attempt| attempt.to_string().replace(&root, "~")).collect()
}

/// Why there is no runtime.
pub(crate) fn reason(runtime: Result<Runtime>) -> Reason {
    match runtime {
        Err(Error::Unavailable(why)) => why.reason,
        other => panic!("it is available, or fails otherwise: {other:?}"),
    }
}
