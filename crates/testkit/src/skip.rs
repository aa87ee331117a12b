//! Skips that can be seen and counted.

use std::fs::OpenOptions;
use std::io::Write;

/// Leaves the test and counts it as skipped: `skip!("no C compiler")`, or `skip!(needs "CUDART", "no wheels")` for what
/// `EDGEFIRST_TEST_REQUIRE_CUDART=1` demands.
#[macro_export]
macro_rules! skip {
    (needs $what:literal, $($reason:tt)+) => {{
        $crate::skip::require($what, &format!($($reason)+));
        $crate::skip!($($reason)+);
    }};
    ($($reason:tt)+) => {{
        $crate::skip::note(&format!($($reason)+));
        return;
    }};
}

/// Fails where the environment demands what a test wanted to skip for.
///
/// # Panics
/// If `EDGEFIRST_TEST_REQUIRE_<what>` is 1.
pub fn require(what: &str, reason: &str) {
    let variable = format!("EDGEFIRST_TEST_REQUIRE_{what}");
    let demanded = std::env::var_os(&variable).is_some_and(|value| value == "1");
    assert!(!demanded, "{variable} is set, but: {reason}");
}

/// Writes the skip where it is seen: the harness swallows what a passing test prints, so this goes to the process's
/// stderr itself, and into the file that `EDGEFIRST_TEST_SKIP_LOG` names.
pub fn note(reason: &str) {
    let thread = std::thread::current();
    let line = format!("SKIP {}: {reason}\n", thread.name().unwrap_or("?"));
    // A test must not fail because its skip could not be printed.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(file) = std::env::var_os("EDGEFIRST_TEST_SKIP_LOG") {
        let log = OpenOptions::new().create(true).append(true).open(file);
        let _ = log.and_then(|mut log| log.write_all(line.as_bytes()));
    }
}
