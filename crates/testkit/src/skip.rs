//! Skips that can be seen and counted.

use std::fs::OpenOptions;
use std::io::Write;

/// Leaves the test and counts it as skipped: `skip!("no C compiler")`, or where an environment variable
/// can demand that it is run, `skip!(needs "EDGEFIRST_TEST_REQUIRE_CUDART", "no wheels")`.
#[macro_export]
macro_rules! skip {
    (needs $variable:literal, $($reason:tt)+) => {{
        $crate::skip::require($variable, &format!($($reason)+));
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
/// If `variable` is 1.
pub fn require(variable: &str, reason: &str) {
    let demanded = std::env::var_os(variable).is_some_and(|value| value == "1");
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
