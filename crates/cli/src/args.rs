//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueHint};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  something else failed, for example the output could not be written
  2  the command line is wrong
  3  the picture cannot be read
  4  CUDA was demanded (require, simulate or PATH) and cannot be used";

/// Tensors that the host and CUDA see without a copy.
#[derive(Debug, Parser)]
#[command(name = "edgefirst-tensor", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
}

/// Take a picture through a tensor to a consumer, and tell which way
///
/// The picture is decoded into a tensor. A consumer copies its bytes from the
/// device pointer where CUDA gives one, and reads them on the host otherwise.
/// Either way it prints their digest, and why it went that way.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = EXIT_CODES)]
pub(crate) struct Run {
    /// A PNG or JPEG file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) picture: PathBuf,

    /// Which CUDA runtime to use
    ///
    /// auto      the one that is found; the host's memory where there is none
    /// off       none
    /// require   the one that is found; fail where there is none
    /// simulate  the simulator in this program; no GPU takes part
    /// PATH      this library; fail if it cannot be used (./auto for a file
    ///           of that name)
    #[arg(
        long,
        verbatim_doc_comment,
        value_name = "auto|off|require|simulate|PATH",
        default_value = "auto",
        value_parser = OsStringValueParser::new().map(Cuda::from),
    )]
    pub(crate) cuda: Cuda,
}

/// The value of `--cuda`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cuda {
    Auto,
    Off,
    Require,
    Simulate,
    Path(PathBuf),
}

impl Cuda {
    /// Whether the host path is not good enough.
    pub(crate) fn is_demanded(&self) -> bool {
        matches!(self, Self::Require | Self::Simulate | Self::Path(_))
    }
}

impl From<OsString> for Cuda {
    fn from(value: OsString) -> Self {
        match value.to_str() {
            Some("auto") => Self::Auto,
            Some("off") => Self::Off,
            Some("require") => Self::Require,
            Some("simulate") => Self::Simulate,
            _ => Self::Path(value.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuda(value: &str) -> Cuda {
        let args = Args::try_parse_from(["edgefirst-tensor", "run", "p.png", "--cuda", value]);
        let Command::Run(run) = args.unwrap().command;
        run.cuda
    }

    #[test]
    fn words_are_modes_and_everything_else_is_a_path() {
        assert_eq!(cuda("off"), Cuda::Off);
        assert_eq!(cuda("require"), Cuda::Require);
        assert_eq!(cuda("./off"), Cuda::Path("./off".into()));
        assert_eq!(cuda("Off"), Cuda::Path("Off".into()));
    }
}
