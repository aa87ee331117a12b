//! Each rule on the smallest file that breaks it, and on one that does not.

use super::{File, crates, rules, source, variables};

fn rules_broken(path: &str, text: &str) -> Vec<String> {
    let file = File::new(path, text.to_owned());
    let findings = rules::check(&file).into_iter();
    findings.map(|f| format!("{}:{}", f.rule, f.line)).collect()
}

fn broken(text: &str) -> Vec<String> {
    rules_broken("crates/a/src/a.rs", text)
}

const NONE: [&str; 0] = [];

#[test]
fn comments_and_literals_are_told_from_code() {
    let code =
        |text: &str| -> Vec<String> { source::lines(text).iter().map(|line| line.code.replace('"', "")).collect() };
    assert_eq!(code("a // b"), ["a "]);
    assert_eq!(code("a /* b /* c */ d\n e */ f"), ["a ", " f"]);
    assert_eq!(code(r#"a("x // \" y") b"#), ["a(   ) b"]);
    assert_eq!(code("a(r#\"x \" // y\"#) b"), ["a(   ) b"]);
    assert_eq!(code("a('\"') b<'a>('\\'')"), ["a() b<'a>()"]);
}

#[test]
fn a_line_inside_a_string_is_code() {
    let lines = source::lines("let a = \"\n// b\n\";\n// c\n\n");
    let code: Vec<bool> = lines.iter().map(source::Line::has_code).collect();
    assert_eq!(code, [true, true, true, false, false]);
}

#[test]
fn length_counts_code_only() {
    let lines = |code: usize| "let a = 1;\n// why\n\n".repeat(code);
    assert_eq!(broken(&lines(500)), NONE);
    assert_eq!(broken(&lines(501)), ["length:1"]);
    assert_eq!(rules_broken("crates/a/tests/t.rs", &lines(800)), NONE);
    assert_eq!(rules_broken("crates/a/src/tests.rs", &lines(801)), ["length:1"]);
    assert_eq!(broken(&format!("// @generated\n{}", lines(501))), NONE);
}

#[test]
fn an_unsafe_block_needs_its_safety_comment() {
    assert_eq!(broken("// SAFETY: it lives.\nlet a =\n    unsafe { b() };"), NONE);
    assert_eq!(broken("let a = unsafe { b() };"), ["safety:1"]);
    assert_eq!(broken("// SAFETY: no.\na();\nb();\nc();\nunsafe { d() };"), ["safety:5"]);
    assert_eq!(broken("unsafe impl Send for A {}"), ["safety:1"]);
    assert_eq!(broken("// a comment on unsafe { } code\nlet a = \"unsafe {\";"), NONE);
}

#[test]
fn a_module_that_opts_in_to_unsafe_argues_why_it_is_safe() {
    let opt_in = "#![expect(unsafe_code, reason = \"calls C\")]\n";
    assert_eq!(broken(&format!("//! # Safety\n//! All pointers live.\n{opt_in}")), NONE);
    assert_eq!(broken(&format!("//! Calls C.\n{opt_in}")), ["unsafe-module:2"]);
    assert_eq!(rules_broken("crates/a/tests/t.rs", opt_in), NONE);
    let broken_lines = "//! Safety: none.\n#![expect(\n    unsafe_code,\n    reason = \"calls C\"\n)]";
    assert_eq!(broken(broken_lines), NONE);
    assert_eq!(broken("//! Safety: none.\n#![allow(unsafe_code)]"), ["unsafe-module:2"]);
}

#[test]
fn a_c_layout_is_asserted_in_its_file() {
    let with = |asserts: &str| format!("#[repr(C)]\n#[derive(Clone)]\npub struct Desc<T> {{ a: T }}\n{asserts}");
    let size = "const _: () = assert!(size_of::<Desc>() == 8);\n";
    let offset = "const _: () = assert!(std::mem::offset_of!(Desc, a) == 0);\n";
    assert_eq!(broken(&with(&format!("{size}{offset}"))), NONE);
    assert_eq!(broken(&with(size)), ["repr-c:1"]);
    assert_eq!(broken(&with(offset)), ["repr-c:1"]);
    assert_eq!(broken(&with("const _: () = assert!(size_of::<Description>() == 8);")), ["repr-c:1"]);
    assert_eq!(broken(&with("layout!(Desc, 8, a: 0);")), NONE);
    assert_eq!(broken("#[repr(C)]\nunion U { a: u8 }\nconst _: () = assert!(size_of::<U>() == 1);"), NONE);
}

#[test]
fn a_platform_chooses_modules_only() {
    assert_eq!(broken("#[cfg(target_os = \"linux\")]\nmod linux;"), NONE);
    assert_eq!(broken("#[cfg(unix)]\n#[path = \"a.rs\"]\npub(crate) mod os;"), NONE);
    assert_eq!(broken("#[cfg(not(windows))]\npub use os::fd;"), NONE);
    assert_eq!(broken("#![cfg(target_os = \"linux\")]"), NONE);
    assert_eq!(broken("#[cfg(not(unix))]\ncompile_error!(\"no\");"), NONE);
    assert_eq!(broken("#[cfg(unix)]\nlet a = 1;"), ["platform:1"]);
    assert_eq!(broken("#[cfg(all(test, unix))]\nfn a() {}"), ["platform:1"]);
    assert_eq!(broken("if cfg!(target_os = \"linux\") {}"), ["platform:1"]);
    assert_eq!(broken("#[cfg(test)]\nfn unix() {}"), NONE);
}

#[test]
fn thread_locals_are_found_where_cuda_is_owned() {
    let text = "thread_local! { static A: u8 = 1; }";
    assert_eq!(rules_broken("crates/cuda/src/a.rs", text), ["thread-local:1"]);
    assert_eq!(rules_broken("crates/cuda-sim/src/a.rs", text), NONE);
}

#[test]
fn forbidden_words_are_found_as_words() {
    for word in [concat!("TO", "DO"), concat!("db", "g!"), concat!("#[ig", "nore]")] {
        assert_eq!(broken(&format!("// {word} later")), ["forbidden:1"], "{word}");
    }
    assert_eq!(broken("// a TODOList, an ignored result"), NONE);
    assert_eq!(rules_broken("a.md", concat!("see /ho", "me/me/x")), ["forbidden:1"]);
    assert_eq!(rules_broken("a.sh", concat!("cd /wo", "rk")), ["forbidden:1"]);
    assert_eq!(rules_broken("a.md", "https://example.org/work/x, /workshop, target/root/"), NONE);
}

fn variables(readme: &str, sources: &[(&str, &str)]) -> Vec<String> {
    let mut files = vec![File::new("README.md", readme.to_owned())];
    files.extend(sources.iter().map(|(path, text)| File::new(path, (*text).to_owned())));
    variables::check(&files).into_iter().map(|f| f.to_string()).collect()
}

#[test]
fn each_variable_has_one_row() {
    let ours = concat!("EDGE", "FIRST_X");
    let row = format!("| `{ours}` | what |\n");
    let reads = format!("let x = var_os(\"{ours}\");");
    let source = ("crates/a/src/a.rs", reads.as_str());
    assert_eq!(variables(&row, &[source]), NONE);
    assert_eq!(variables("", &[source]).len(), 1);
    assert_eq!(variables(&row, &[]).len(), 1, "a row that nothing reads");
    assert_eq!(variables(&row.repeat(2), &[source]).len(), 1, "two rows");
    assert_eq!(variables("| `A_B` | what |", &[("crates/a/src/a.rs", "var(\"A_B\")")]), NONE);
    assert_eq!(variables("", &[("crates/a/src/a.rs", "var(\"A_B\")")]).len(), 1);
    assert_eq!(variables("", &[("crates/a/tests/a.rs", "var(\"A_B\")")]), NONE);
}

#[test]
fn arrows_point_down() {
    let tree = "0 edgefirst-cuda v0 (p)\n1 libc v1\n\n0 edgefirst-tensor v0 (p)\n1 edgefirst-cuda v0 (p)\n\n0 testkit v0 (p)\n";
    assert_eq!(crates::wrong_arrows(tree, &[]), []);
    let up = format!("{tree}\n0 edgefirst-cuda-sim v0 (p)\n1 edgefirst-cuda v0 (p)\n1 testkit v0 (p)\n");
    assert_eq!(crates::wrong_arrows(&up, &[]).len(), 2);
    assert_eq!(crates::wrong_arrows(&up, &["testkit"]).len(), 1);
}

#[test]
fn a_second_version_needs_a_reason() {
    let tree = "a v1.0.0\n\na v2.0.0\n\nb v1.0.0\n";
    assert_eq!(crates::unexplained(tree, "skip = []").len(), 1);
    assert_eq!(crates::unexplained(tree, "{ crate = \"a@1.0.0\" },").len(), 1);
    let deny = "{ crate = \"a@1.0.0\", reason = \"c still uses it\" },";
    assert_eq!(crates::unexplained(tree, deny), []);
}
