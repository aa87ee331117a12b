//! The rules that look at one file.

use super::source::{Line, is_name};
use super::{File, Finding};

const CODE_LINES: usize = 500;
const TEST_CODE_LINES: usize = 800;
/// How many lines of code may stand between a SAFETY comment and its `unsafe`: a statement broken by rustfmt.
const SAFETY_REACH: usize = 3;

pub(super) fn check(file: &File) -> Vec<Finding> {
    let rules = [length, safety, unsafe_module, repr_c, platform, forbidden, thread_local];
    rules.iter().flat_map(|rule| rule(file)).collect()
}

fn length(file: &File) -> Vec<Finding> {
    let generated = file.text.lines().take(5).any(|line| line.contains("@generated"));
    let limit = if file.is_test() { TEST_CODE_LINES } else { CODE_LINES };
    let code = file.lines.iter().filter(|line| line.has_code()).count();
    if generated || code <= limit {
        return Vec::new();
    }
    let advice = format!("{code} lines of code, at most {limit}: split it by topic");
    vec![file.finding(0, "length", advice)]
}

/// As clippy's undocumented_unsafe_blocks, but also in macros and in code for other platforms.
fn safety(file: &File) -> Vec<Finding> {
    let needs = |line: &Line| line.code.contains("unsafe {") || line.code.contains("unsafe impl");
    (0..file.lines.len())
        .filter(|&at| needs(&file.lines[at]) && !is_argued(&file.lines, at))
        .map(|at| {
            let advice = "write `// SAFETY:` above it: the obligation, and why it holds";
            file.finding(at, "safety", advice)
        })
        .collect()
}

fn is_argued(lines: &[Line], at: usize) -> bool {
    let mut code_between = 0;
    for line in lines[..=at].iter().rev() {
        if line.comment.contains("SAFETY:") {
            return true;
        }
        code_between += usize::from(line.has_code());
        if code_between > SAFETY_REACH {
            return false;
        }
    }
    false
}

/// The line on which a whole module opts in to unsafe code; a single item does so with its own attribute.
pub(super) fn opts_in_to_unsafe(file: &File) -> Option<usize> {
    (0..file.lines.len()).find(|&at| {
        let attribute = &file.lines[at.saturating_sub(1)..=at];
        file.lines[at].code.contains("unsafe_code") && attribute.iter().any(|line| line.code.starts_with("#!["))
    })
}

fn unsafe_module(file: &File) -> Vec<Finding> {
    let Some(at) = opts_in_to_unsafe(file) else {
        return Vec::new();
    };
    let attribute = &file.lines[at.saturating_sub(1)..=at];
    if attribute.iter().any(|line| line.code.contains("[allow(")) {
        let advice = "use #![expect(unsafe_code, reason = ..)], which ends when it is not needed";
        return vec![file.finding(at, "unsafe-module", advice)];
    }
    let argued =
        file.lines.iter().any(|line| line.comment.starts_with("//!") && line.comment.to_lowercase().contains("safe"));
    if argued || file.is_test() {
        return Vec::new();
    }
    let advice = "say in the module's `//!` text what keeps its unsafe code safe";
    vec![file.finding(at, "unsafe-module", advice)]
}

fn repr_c(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for at in 0..file.lines.len() {
        if !file.lines[at].code.contains("repr(C") {
            continue;
        }
        let Some((kind, name)) = file.lines[at..].iter().find_map(|line| type_name(&line.code)) else {
            continue;
        };
        let missing: Vec<&str> =
            asserts(kind).iter().filter(|assert| !has_assert(file, assert, &name)).copied().collect();
        if !missing.is_empty() {
            let advice = format!("assert {} of {name} in a const, in this file", missing.join(" and "));
            findings.push(file.finding(at, "repr-c", advice));
        }
    }
    findings
}

fn asserts(kind: &str) -> &'static [&'static str] {
    match kind {
        "struct" => &["size_of", "offset_of"],
        _ => &["size_of"],
    }
}

/// `size_of::<Name>`, `offset_of!(Name`, or a macro of the file that is named for them: `layout!(Name`.
fn has_assert(file: &File, assert: &str, name: &str) -> bool {
    let named = |start: usize, code: &str| {
        let tail = code[start..].trim_start_matches(['!', ':', '<', '(', '{', ' ']);
        tail.strip_prefix(name).is_some_and(|rest| !rest.starts_with(is_name))
    };
    file.lines.iter().any(|line| {
        ["layout", assert]
            .iter()
            .any(|word| line.code.match_indices(word).any(|(start, _)| named(start + word.len(), &line.code)))
    })
}

fn type_name(code: &str) -> Option<(&'static str, String)> {
    ["struct", "union", "enum"].into_iter().find_map(|kind| {
        let start = code.find(&format!("{kind} "))?;
        let name = code[start + kind.len()..].trim_start();
        let end = name.find(|c| !is_name(c) && c != '$').unwrap_or(name.len());
        (end > 0).then(|| (kind, name[..end].to_owned()))
    })
}

fn platform(file: &File) -> Vec<Finding> {
    let words = ["target_os", "target_family", "unix", "windows"];
    let asks = |code: &str| {
        let start = code.find("cfg(").or_else(|| code.find("cfg!("));
        start.is_some_and(|start| words.iter().any(|word| has_word(&code[start..], word)))
    };
    let mut findings = Vec::new();
    for (at, line) in file.lines.iter().enumerate() {
        let code = line.code.trim_start();
        let whole_file = code.starts_with("#![");
        if !asks(code) || whole_file || (code.starts_with("#[") && chooses_module(&file.lines[at..])) {
            continue;
        }
        let advice = "a platform chooses a module (`mod`, `use`), not a line: move the code into one";
        findings.push(file.finding(at, "platform", advice));
    }
    findings
}

fn chooses_module(lines: &[Line]) -> bool {
    let item = lines
        .iter()
        .map(|line| line.code.trim())
        .find(|code| !code.is_empty() && !code.starts_with("#["))
        .unwrap_or_default();
    let item = match item.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')').map_or(rest, |(_, tail)| tail),
        Some(rest) => rest,
        None => item,
    };
    ["mod ", "use ", "compile_error!"].iter().any(|word| item.trim_start().starts_with(word))
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

/// Written in two halves, so that this file does not break its own rule.
const FORBIDDEN: [(&str, &str); 6] = [
    (concat!("TO", "DO"), "do it, or file an issue"),
    (concat!("FIX", "ME"), "do it, or file an issue"),
    (concat!("to", "do!"), "write the code"),
    (concat!("unimple", "mented!"), "write the code"),
    (concat!("db", "g!"), "remove it, or log"),
    (concat!("#[ig", "nore"), "use testkit::skip!, which is counted"),
];

const MACHINE_FOLDERS: [&str; 3] = [concat!("/wo", "rk"), concat!("/ho", "me"), concat!("/ro", "ot")];

fn forbidden(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        for (word, instead) in FORBIDDEN {
            let found = match word.starts_with('#') {
                true => line.contains(word),
                false => has_word(line, word),
            };
            if found {
                findings.push(file.finding(at, "forbidden", format!("`{word}`: {instead}")));
            }
        }
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| names_folder(line, folder)) {
            let advice = format!("`{folder}` is a folder of one machine: use a relative path");
            findings.push(file.finding(at, "forbidden", advice));
        }
    }
    findings
}

/// A thread's own objects are dropped after CUDA's runtime is gone.
fn thread_local(file: &File) -> Vec<Finding> {
    let owns_cuda = ["crates/cuda/src", "crates/tensor/src"].iter().any(|folder| file.path.starts_with(folder));
    let lines = file.text.lines().enumerate().filter(|(_, line)| owns_cuda && has_word(line, "thread_local!"));
    let advice = "a CUDA object in a thread-local outlives its runtime: let the keeper hold it";
    lines.map(|(at, _)| file.finding(at, "thread-local", advice.to_owned())).collect()
}

/// Whether an absolute path begins with the folder; a longer path that ends so is fine.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + folder.len()..].chars().next();
        let inside = |c: char| is_name(c) || ".-/~})$*".contains(c);
        !before.is_some_and(inside) && !after.is_some_and(|c| is_name(c) || c == '-')
    })
}
