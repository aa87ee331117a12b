//! What is known of a runtime: the answer to "is there CUDA here, and if not, why?"

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{CallError, Code};
use crate::loader::Attempt;
use crate::sys::symbols::Group;

/// Whether CUDA can be used.
#[derive(Clone, Debug)]
pub enum CudaStatus {
    /// The runtime is loaded, and the driver and at least one device answer.
    Ready(Ready),
    /// CUDA cannot be used; the host paths can.
    Unavailable(NotAvailable),
}

/// A usable runtime.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ready {
    /// The library that is really mapped; `None` for a linked-in one.
    pub path: Option<PathBuf>,
    /// The runtime's version, for example 12090 for 12.9.
    pub version: i32,
    /// The newest version that the driver supports.
    pub driver_version: i32,
    /// The devices, by ordinal. Never empty.
    pub devices: Vec<Device>,
    /// Whether this is the simulator: nothing runs on a GPU.
    pub simulated: bool,
    /// Each feature with the symbol that it lacks, if it lacks one.
    pub groups: Vec<(Group, Option<&'static str>)>,
    /// What was tried before it, and it.
    pub attempts: Vec<Attempt>,
    /// Dropped resources whose last use has not completed, so that they are not freed yet.
    pub quarantined: Vec<&'static str>,
    /// Resources that were given up: the call that frees them failed, or their device is lost.
    pub abandoned: usize,
}

/// Why there is no CUDA, with all that was tried.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NotAvailable {
    /// The reason.
    pub reason: Reason,
    /// Every candidate and what became of it, in order.
    pub attempts: Vec<Attempt>,
}

/// Why there is no CUDA.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It was switched off by `init(Choice::Off)` or `EDGEFIRST_CUDART=off`.
    Off,
    /// No library could be loaded.
    NotFound,
    /// The library that was asked for cannot be used. Nothing else was tried.
    ExplicitFailed,
    /// A runtime was loaded; this is what it said when asked for its devices.
    Refused(Code),
    /// The process was forked after CUDA was used.
    Forked,
    /// Loading is not possible under this interpreter.
    Miri,
    /// The thread that would call the runtime could not be started.
    NoThread,
}

impl Reason {
    /// How near to a working CUDA this is: of several reasons the report names the nearest.
    pub(crate) fn nearness(&self) -> u8 {
        match self {
            Self::Refused(Code::INSUFFICIENT_DRIVER) => 1,
            Self::Refused(Code::STUB_LIBRARY) => 2,
            Self::Refused(_) => 3,
            _ => 0,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("it is switched off, by the program or by EDGEFIRST_CUDART=off"),
            Self::NotFound => f.write_str(
                "no CUDA runtime was found; install one (for example the package nvidia-cuda-runtime-cu12 from PyPI), \
                 or name it in EDGEFIRST_CUDART",
            ),
            Self::ExplicitFailed => {
                f.write_str("the runtime that was asked for cannot be used; nothing else was tried")
            }
            Self::Refused(code) => write!(f, "{code}{}", advice(*code)),
            Self::Forked => {
                f.write_str("this process was forked after CUDA was used; use CUDA after the fork only, or spawn")
            }
            Self::Miri => f.write_str("Miri cannot load libraries"),
            Self::NoThread => {
                f.write_str("the keeper thread could not be started; the process is at its limit of threads")
            }
        }
    }
}

fn advice(code: Code) -> &'static str {
    match code {
        Code::INSUFFICIENT_DRIVER => "; install or update the NVIDIA driver, or use an older runtime",
        Code::NO_DEVICE => "; look at CUDA_VISIBLE_DEVICES and nvidia-smi",
        Code::STUB_LIBRARY => "; remove the toolkit's stubs folder from the library search path",
        Code::SYSTEM_NOT_READY => "; start nvidia-fabricmanager or nvidia-persistenced",
        Code::SYSTEM_DRIVER_MISMATCH => "; reboot, or reload the NVIDIA kernel modules",
        Code::COMPAT_NOT_SUPPORTED => "; remove the cuda-compat library from the library search path",
        Code::INITIALIZATION => "; a process forked after CUDA was used must not use it",
        Code::UNKNOWN => "; look at the kernel log for the NVIDIA driver's messages",
        _ => "",
    }
}

/// A device, as the runtime describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// Its number in this process.
    pub ordinal: u32,
    /// Its name.
    pub name: String,
    /// Its UUID, the same in every API.
    pub uuid: [u8; 16],
    /// The LUID of its adapter (Windows; zero elsewhere).
    pub luid: [u8; 8],
    /// The mask of its nodes in that adapter.
    pub node_mask: u32,
    /// Domain, bus, device and function, as `0000:01:00.0`.
    pub pci_bus_id: String,
    /// Bytes of memory.
    pub total_memory: u64,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {} {} ({}, {} MiB)", self.ordinal, self.name, self.pci_bus_id, self.total_memory >> 20)
    }
}

impl CudaStatus {
    /// Whether CUDA can be used.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_))
    }

    /// The library that is used, where one is.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Ready(ready) => ready.path.as_deref(),
            Self::Unavailable(_) => None,
        }
    }

    /// Every candidate and what became of it.
    pub fn attempts(&self) -> &[Attempt] {
        match self {
            Self::Ready(ready) => &ready.attempts,
            Self::Unavailable(why) => &why.attempts,
        }
    }
}

impl From<CallError> for Reason {
    fn from(error: CallError) -> Self {
        Self::Refused(error.code)
    }
}

/// `12090` as `12.9`.
fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

impl fmt::Display for CudaStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(ready) => ready.fmt(f),
            Self::Unavailable(why) => why.fmt(f),
        }
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let simulated = if self.simulated { "SIMULATED " } else { "" };
        let driver = dotted(self.driver_version);
        write!(f, "{simulated}CUDA {}, driver for {driver}", dotted(self.version))?;
        if let Some(path) = &self.path {
            write!(f, "\n  {}", path.display())?;
        }
        for device in &self.devices {
            write!(f, "\n  {device}")?;
        }
        for (group, missing) in &self.groups {
            if let Some(symbol) = missing {
                write!(f, "\n  no {group}: {symbol} is missing")?;
            }
        }
        if !self.quarantined.is_empty() {
            write!(f, "\n  still in use: {}", self.quarantined.join(", "))?;
        }
        if self.abandoned > 0 {
            write!(f, "\n  given up: {}", self.abandoned)?;
        }
        Ok(())
    }
}

impl NotAvailable {
    /// The reason; and what became of the library, where only one was tried.
    pub(crate) fn in_one_line(&self) -> String {
        match self.attempts.as_slice() {
            [attempt] => format!("{} ({attempt})", self.reason),
            _ => self.reason.to_string(),
        }
    }
}

impl fmt::Display for NotAvailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CUDA is not available: {}", self.reason)?;
        for attempt in &self.attempts {
            write!(f, "\n  {attempt}")?;
        }
        Ok(())
    }
}
