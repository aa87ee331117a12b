//! The program `edgefirst-tensor`: takes a picture through a tensor to the device, or says why not.

mod args;
mod consumer;
mod error;
mod picture;
mod report;
mod run;
mod runtime;
mod stages;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::error::Error;
use crate::text::{COLUMNS, wrap};

fn main() -> ExitCode {
    let Args { command } = Args::parse();
    let outcome = match command {
        Command::Run(args) => run::run(&args).and_then(|report| print(&report)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            error.exit_code()
        }
    }
}

fn print(report: &impl std::fmt::Display) -> Result<(), Error> {
    // In one piece: a reader who has seen enough leaves the rest unread, not half of it unwritten.
    let text = report.to_string();
    io::stdout().write_all(text.as_bytes()).map_err(Error::Output)
}

fn complain(error: &Error) {
    for line in format!("error: {error}").lines() {
        let indent = if line.starts_with(' ') { "    " } else { "  " };
        for part in wrap(line, COLUMNS, indent) {
            eprintln!("{part}");
        }
    }
}
