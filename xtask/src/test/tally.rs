//! Counting what test programs say.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// What one tier, or all of them, came to.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Lines `SKIP test: reason`; such a test returns early and the harness calls it passed.
    pub(crate) skips: BTreeSet<String>,
    /// Names of the tests that the harness called passed.
    names: BTreeSet<String>,
}

impl Tally {
    pub(crate) fn of_checks(passed: usize, failed: usize) -> Self {
        Self { passed, failed, ..Self::default() }
    }

    /// Takes one line of a test program's output.
    pub(crate) fn read_line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... ok")) {
            self.names.insert(name.to_owned());
        }
        if line.starts_with("test result:") {
            self.passed += number_before(line, " passed");
            self.failed += number_before(line, " failed");
        }
    }

    /// Takes the lines that tests wrote to the skip log, and no longer counts those tests as passed.
    pub(crate) fn read_skips(&mut self, log: &Path) {
        let lines = std::fs::read_to_string(log).unwrap_or_default();
        self.skips.extend(lines.lines().filter(|line| line.starts_with("SKIP ")).map(str::to_owned));
        self.passed = self.passed.saturating_sub(self.skipped_tests().len());
    }

    fn skipped_tests(&self) -> BTreeSet<&str> {
        self.skips.iter().map(|line| skipped_test(line)).collect()
    }

    /// A test that one tier skips for want of something, and another runs, is not skipped.
    fn ran(&self, test: &str) -> bool {
        self.names.contains(test) && !self.skipped_tests().contains(test)
    }

    pub(crate) fn total(tiers: &[Self]) -> Self {
        let mut total = Self::default();
        for tier in tiers {
            total.passed += tier.passed;
            total.failed += tier.failed;
            let skips = tier.skips.iter();
            let skips = skips.filter(|line| !tiers.iter().any(|other| other.ran(skipped_test(line))));
            total.skips.extend(skips.cloned());
        }
        total
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skipped = self.skipped_tests().len();
        write!(f, "{} passed, {} failed, {skipped} skipped", self.passed, self.failed)
    }
}

/// The test of a line `SKIP test: reason`; a path's `::` belongs to the name.
fn skipped_test(line: &str) -> &str {
    let rest = line.strip_prefix("SKIP ").unwrap_or(line);
    rest.split_once(": ").map_or(rest, |(test, _)| test)
}

fn number_before(line: &str, word: &str) -> usize {
    let before = line.split(word).next().unwrap_or_default();
    let digits = before.rsplit(' ').next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// How many tests the programs began, told before the first of them can hang.
pub(crate) fn tests_started(output: &str) -> usize {
    let lines = output.lines().filter_map(|line| line.strip_prefix("running "));
    lines.filter_map(|rest| rest.split(' ').next()?.parse::<usize>().ok()).sum()
}
