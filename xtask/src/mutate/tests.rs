//! The header of a patch, and which patches a change concerns.

use std::collections::BTreeSet;
use std::path::Path;

use super::patch::Patch;
use super::{Request, choose};

const DIFF: &str = "--- a/crates/a/src/a.rs\n+++ b/crates/a/src/a.rs\n@@ -1 +1 @@\n-Guard: x\n+Test: y\n";

fn parse(header: &str) -> Result<Patch, String> {
    let text = format!("{header}{DIFF}");
    Patch::parse(Path::new("mutants/wait.patch"), &text).map_err(|error| error.to_string())
}

#[test]
fn a_patch_names_its_guard_its_test_and_its_files() {
    let patch = parse("Guard: the wait\nTest: -p a --test b c\n\n").expect("a whole header");
    assert_eq!((patch.name.as_str(), patch.guard.as_str()), ("wait", "the wait"));
    assert_eq!(patch.test, "-p a --test b c");
    assert_eq!(patch.files, BTreeSet::from(["crates/a/src/a.rs".to_owned()]));
}

#[test]
fn the_header_is_demanded_before_the_diff() {
    assert!(parse("Test: -p a\n").is_err_and(|text| text.contains("Guard:")));
    assert!(parse("Guard: the wait\nTest:\n").is_err_and(|text| text.contains("Test:")));
    let text = "Guard: the wait\nTest: -p a\n";
    assert!(Patch::parse(Path::new("a.patch"), text).is_err(), "no diff");
}

#[test]
fn a_patch_is_concerned_by_its_own_file_and_by_those_it_changes() {
    let patch = parse("Guard: the wait\nTest: -p a\n").expect("a whole header");
    let concerns = |name: &str| patch.concerns(&BTreeSet::from([name.to_owned()]));
    assert!(concerns("crates/a/src/a.rs"));
    assert!(concerns("mutants/wait.patch"));
    assert!(!concerns("crates/a/src/b.rs"));
}

#[test]
fn the_command_line() {
    let parse = |words: &[&str]| Request::parse(words.iter().map(|w| (*w).to_owned()).collect());
    let request = parse(&["--changed", "HEAD~1", "wait"]).expect("legal");
    assert_eq!(request.changed.as_deref(), Some("HEAD~1"));
    assert_eq!(request.names, ["wait"]);
    assert!(parse(&["--changed"]).is_err());
    assert!(parse(&["--chekc"]).is_err());
    let patch = super::tests::parse("Guard: the wait\nTest: -p a\n").expect("a whole header");
    assert!(choose(vec![patch], &["weight".to_owned()]).is_err(), "a name without a patch");
}
