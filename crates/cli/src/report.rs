//! What `run` prints: one labelled entry a line, wrapped at 80 columns.

use std::fmt;
use std::path::PathBuf;

use edgefirst_tensor::{CudaStatus, PixelFormat};

use crate::consumer::Way;
use crate::stages::Stages;
use crate::text::{COLUMNS, wrap};

const LABEL: usize = 9;

#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) picture: PathBuf,
    pub(crate) file_bytes: usize,
    pub(crate) kind: &'static str,
    pub(crate) format: PixelFormat,
    pub(crate) shape: Box<[usize]>,
    pub(crate) row_pitch: usize,
    pub(crate) bytes: usize,
    pub(crate) way: Way,
    pub(crate) digest: String,
    pub(crate) copied: usize,
    pub(crate) status: CudaStatus,
    pub(crate) stages: Stages,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_simulated() {
            writeln!(f, "SIMULATED: no GPU takes part in this run; its CUDA is a simulator.\n")?;
        }
        entry(f, "picture", &self.picture())?;
        entry(f, "tensor", &self.tensor())?;
        entry(f, "path", &self.path())?;
        entry(f, "why", &self.why())?;
        entry(f, "runtime", &self.runtime())?;
        entry(f, "copied", &self.copied())?;
        entry(f, "sha256", &self.digest)?;
        entry(f, "time", &self.stages.to_string())
    }
}

impl Report {
    fn is_simulated(&self) -> bool {
        matches!(&self.status, CudaStatus::Ready(ready) if ready.simulated)
    }

    fn picture(&self) -> String {
        format!("{} ({}, {} bytes)", self.picture.display(), self.kind, self.file_bytes)
    }

    fn tensor(&self) -> String {
        let Self { format, shape, row_pitch, bytes, .. } = self;
        format!("{format}, shape {shape:?} of u8, {bytes} bytes, rows of {row_pitch} bytes")
    }

    fn path(&self) -> String {
        match &self.way {
            Way::Device { ordinal } => format!("CUDA device {ordinal} {}", self.device_name(*ordinal)),
            Way::Host { .. } => "host".into(),
        }
    }

    fn device_name(&self, ordinal: u32) -> String {
        let CudaStatus::Ready(ready) = &self.status else {
            return String::new();
        };
        let simulated = if ready.simulated { " (SIMULATED)" } else { "" };
        let name = ready.devices.iter().find(|device| device.ordinal == ordinal).map_or("", |device| &device.name);
        format!("{name:?}{simulated}")
    }

    fn why(&self) -> String {
        match &self.way {
            Way::Device { .. } => "the tensor serves CUDA: its pages are registered with the device".into(),
            Way::Host { why } => why.to_string(),
        }
    }

    /// The one in use with its devices, or all that was tried.
    fn runtime(&self) -> String {
        match &self.status {
            CudaStatus::Ready(ready) => ready.to_string(),
            CudaStatus::Unavailable(none) => {
                let tried = none.attempts.iter().map(|attempt| format!("\n{attempt}"));
                "none".to_owned() + &tried.collect::<String>()
            }
        }
    }

    fn copied(&self) -> String {
        match self.way {
            Way::Device { .. } => format!("{} bytes, from the device to the host", self.copied),
            Way::Host { .. } => format!("{} bytes: the host reads the tensor's own", self.copied),
        }
    }
}

/// A label, and its lines of text. The first is a paragraph; those that follow are the items of a list.
fn entry(f: &mut fmt::Formatter<'_>, label: &str, text: &str) -> fmt::Result {
    let mut label = label;
    for (position, line) in text.lines().enumerate() {
        let indent = if position == 0 { "" } else { "  " };
        for part in wrap(line.trim(), COLUMNS - LABEL, indent) {
            writeln!(f, "{label:LABEL$}{part}")?;
            label = "";
        }
    }
    Ok(())
}
