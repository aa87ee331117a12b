//! What became of each candidate.

use std::fmt;
use std::path::PathBuf;

use crate::error::{CallError, Code};

/// Why a library was looked for at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// `init` named it.
    Explicit,
    /// `EDGEFIRST_CUDART` named it.
    Environment,
    /// It was loaded in this process already.
    Loaded,
    /// A wheel of Python's has it.
    Wheel,
    /// The active conda environment has it.
    Conda,
    /// The operating system's loader finds it by name.
    OsLoader,
    /// `CUDA_PATH` names the toolkit.
    CudaPath,
    /// `CUDA_HOME` names the toolkit.
    CudaHome,
    /// The toolkit's usual folder.
    Toolkit,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Explicit => "asked for",
            Self::Environment => "EDGEFIRST_CUDART",
            Self::Loaded => "already loaded",
            Self::Wheel => "wheel",
            Self::Conda => "CONDA_PREFIX",
            Self::OsLoader => "loader",
            Self::CudaPath => "CUDA_PATH",
            Self::CudaHome => "CUDA_HOME",
            Self::Toolkit => "toolkit",
        })
    }
}

/// What was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A file.
    Path(PathBuf),
    /// A name that the operating system's loader looks for.
    Name(String),
    /// A folder that was searched for files named `libcudart.so*`.
    Folder(PathBuf),
    /// A table of functions of this program.
    Resolver(&'static str),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Folder(folder) => write!(f, "{}/libcudart.so*", folder.display()),
            Self::Resolver(name) => write!(f, "linked in: {name}"),
        }
    }
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is used.
    Used,
    /// There is nothing there.
    Absent,
    /// The loader's own words.
    NotLoadable(String),
    /// It lacks a symbol without which nothing works.
    MissingSymbol(&'static str),
    /// It is the library that was tried before.
    Repeated,
    /// It answered with this code when asked for its devices.
    Refused(CallError),
    /// It answered with this code because the driver's library cannot be loaded, for the loader's reason.
    NoDriver(CallError, String),
    /// It answered that there are no devices, without an error.
    NoDevices,
    /// It cannot be used in this process, for the reason of the report.
    Unusable,
}

impl Outcome {
    /// Whether a driver was, or may have been, initialised.
    pub(crate) fn asked_a_driver(&self) -> bool {
        matches!(self, Self::Used | Self::Refused(_) | Self::NoDevices | Self::Unusable)
    }

    /// Whether another runtime may do better.
    pub(crate) fn go_on(&self) -> bool {
        match self {
            Self::Refused(e) | Self::NoDriver(e, _) => e.code == Code::INSUFFICIENT_DRIVER,
            Self::Used | Self::NoDevices | Self::Unusable => false,
            Self::Absent | Self::NotLoadable(_) | Self::MissingSymbol(_) | Self::Repeated => true,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Used => f.write_str("used"),
            Self::Absent => f.write_str("not there"),
            Self::NotLoadable(text) => write!(f, "not loadable: {text}"),
            Self::MissingSymbol(symbol) => write!(f, "not a usable CUDA runtime: {symbol} is missing"),
            Self::Repeated => f.write_str("the same library again"),
            Self::Refused(error) => error.fmt(f),
            Self::NoDriver(error, text) => write!(f, "{error} ({text})"),
            Self::NoDevices => f.write_str("it has no devices"),
            Self::Unusable => f.write_str("it cannot be used in this process"),
        }
    }
}

/// One candidate and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Why it was looked for there.
    pub source: Source,
    /// What was tried.
    pub target: Target,
    /// What became of it.
    pub outcome: Outcome,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.source, self.target, self.outcome)
    }
}
