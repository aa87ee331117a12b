//! Starts the program and looks at what it says.

#![allow(dead_code, reason = "each test program uses its part")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// The public-domain picture, as seen from the crate's folder.
pub(crate) const SAMPLE: &str = "samples/astronaut.jpg";

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// `edgefirst-tensor run ARGUMENTS` in the crate's folder.
pub(crate) fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Outcome {
    start(&[&["run"], arguments].concat(), environment)
}

/// `edgefirst-tensor ARGUMENTS`, with no variable set that says where CUDA is, but `environment`.
pub(crate) fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Outcome {
    finish(command(arguments).envs(environment.iter().copied()))
}

/// The same, with standard output going to a file.
pub(crate) fn start_into(file: &str, arguments: &[&str]) -> Outcome {
    let file = File::options().write(true).open(file).unwrap();
    finish(command(arguments).stdout(Stdio::from(file)))
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_edgefirst-tensor"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    for name in ["EDGEFIRST_CUDART", "EDGEFIRST_CUDA_SIM", "CUDA_VISIBLE_DEVICES"] {
        command.env_remove(name);
    }
    command
}

fn finish(command: &mut Command) -> Outcome {
    let output = command.output().unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Outcome {
    /// The text behind a label, its lines joined.
    pub(crate) fn entry(&self, label: &str) -> String {
        let mut lines = self.out.lines().skip_while(|line| !line.starts_with(label));
        let first = lines.next().unwrap_or_else(|| panic!("no {label}: {self:?}"));
        let rest = lines.take_while(|line| line.starts_with(' '));
        let words = first[label.len()..].split_whitespace().chain(rest.flat_map(str::split_whitespace));
        words.collect::<Vec<_>>().join(" ")
    }

    /// What went wrong, its lines joined.
    pub(crate) fn complaint(&self) -> String {
        self.err.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Compares both streams with a file, but for times and the digest. Set `UPDATE_GOLDEN=1` to
    /// write the file, and look at the difference.
    pub(crate) fn matches_golden(&self, file: &str) {
        self.fits_80_columns();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
        let text = masked(&format!("{}{}", self.out, self.err));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(text, fs::read_to_string(&path).unwrap(), "{}", path.display());
    }

    pub(crate) fn fits_80_columns(&self) {
        for line in self.out.lines().chain(self.err.lines()) {
            assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
        }
    }
}

/// Digests and times become `#`; and the times are one line, as where it breaks depends on them.
fn masked(text: &str) -> String {
    let text = text.replace(" ms,\n         ", " ms, ");
    let mut masked = String::new();
    for line in text.lines() {
        let times = line.contains(" ms,") || line.ends_with(" ms");
        let words = line.split_inclusive(' ').map(|word| {
            let bare = word.trim_end();
            let is_time = times && bare.parse::<f64>().is_ok();
            let is_digest = bare.len() == 64 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_time || is_digest { word.replace(bare, "#") } else { word.to_owned() }
        });
        masked.extend(words);
        masked.push('\n');
    }
    masked
}
