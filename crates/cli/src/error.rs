//! Why the program ends, and with which exit code.

use std::fmt::Write;
use std::io;
use std::process::ExitCode;

use edgefirst_tensor::{CudaStatus, cuda};

use crate::picture;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Picture(#[from] picture::Error),
    #[error(transparent)]
    Tensor(#[from] edgefirst_tensor::Error),
    #[error(transparent)]
    Cuda(#[from] cuda::Error),
    #[error("{}", no_cuda(why, status))]
    NoCuda { why: edgefirst_tensor::Error, status: Box<CudaStatus> },
    #[error("cannot write the report: {0}")]
    Output(io::Error),
}

impl Error {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Picture(_) => ExitCode::from(3),
            Self::NoCuda { .. } => ExitCode::from(4),
            Self::Tensor(_) | Self::Cuda(_) | Self::Output(_) => ExitCode::FAILURE,
        }
    }
}

fn no_cuda(why: &edgefirst_tensor::Error, status: &CudaStatus) -> String {
    let mut text = format!("CUDA was demanded. {why}");
    // Of a single attempt the reason tells already.
    let attempts = status.attempts();
    for attempt in attempts.iter().filter(|_| attempts.len() > 1) {
        let _ = write!(text, "\n  {attempt}");
    }
    text + "\nTo go on without CUDA where it is missing, use --cuda auto."
}
