//! Counting: what the harness says, what was skipped, and what counts once.

use super::Request;
use super::tally::{Tally, tests_started};

fn tally(output: &str, skips: &[&str]) -> Tally {
    let mut tally = Tally::default();
    output.lines().for_each(|line| tally.read_line(line));
    let folder = std::env::temp_dir().join(format!("xtask-{}-{:p}", std::process::id(), &tally));
    std::fs::write(&folder, skips.join("\n")).expect("a writable temporary folder");
    tally.read_skips(&folder);
    std::fs::remove_file(&folder).expect("our own file");
    tally
}

const TWO: &str = "\
running 2 tests
test a::one ... ok
test a::two ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

#[test]
fn results_of_several_programs_add_up() {
    let failing = "test result: FAILED. 3 passed; 14 failed; 0 ignored; 0 measured";
    let tally = tally(&format!("{TWO}{failing}"), &[]);
    assert_eq!(tally.to_string(), "5 passed, 14 failed, 0 skipped");
}

#[test]
fn a_skipped_test_is_not_a_passed_one() {
    let tally = tally(TWO, &["SKIP a::two: no compiler", "SKIP a::two: no compiler", "noise"]);
    assert_eq!(tally.to_string(), "1 passed, 0 failed, 1 skipped");
}

#[test]
fn a_test_that_another_tier_ran_is_not_skipped() {
    let skipped = tally(TWO, &["SKIP a::one: no wheels", "SKIP a::two: no root"]);
    let ran = tally("test a::one ... ok\ntest result: ok. 1 passed; 0 failed;", &[]);
    let total = Tally::total(&[skipped, ran]);
    assert_eq!(total.to_string(), "1 passed, 0 failed, 1 skipped");
    assert!(total.skips.contains("SKIP a::two: no root"));
}

#[test]
fn tests_are_counted_when_they_begin() {
    assert_eq!(tests_started(TWO), 2);
    assert_eq!(tests_started("running 1 test\nrunning 0 tests\nrunning late\n"), 1);
}

#[test]
fn the_command_line() {
    let parse = |words: &[&str]| Request::parse(words.iter().map(|w| (*w).to_owned()).collect());
    let all = parse(&[]).expect("legal");
    assert!(all.tiers.len() > 1 && !all.demands_all);
    let one = parse(&["--tier", "host"]).expect("legal");
    assert!(one.tiers.len() == 1 && one.demands_all, "a tier that was named is not left out");
    assert!(parse(&["--tier", "hots"]).is_err());
    assert!(parse(&["--tiers"]).is_err());
}
