//! Which CUDA runtime the process uses.
//!
//! # Safety argument
//!
//! The simulator is a whole implementation of the functions that it resolves, with the signatures
//! of the runtime, and is linked into this program: its functions stay where they are.

#![expect(unsafe_code, reason = "names the simulator's functions as a CUDA runtime")]

use edgefirst_tensor::cuda::{self, Choice, Resolver};

use crate::args::Cuda;

/// Tells the library what the command line asked for, before its first use.
pub(crate) fn choose(cuda: &Cuda) -> Result<(), cuda::Error> {
    match cuda {
        // Not `Choice::Auto`: the environment has its say.
        Cuda::Auto | Cuda::Require => Ok(()),
        Cuda::Off => cuda::init(Choice::Off),
        Cuda::Simulate => cuda::init(Choice::Resolver(simulator())),
        Cuda::Path(path) => cuda::init(Choice::Path(path.clone())),
    }
}

fn simulator() -> Resolver {
    // SAFETY: every address that the simulator resolves is a function of the name's signature, for
    // as long as this program runs.
    unsafe { Resolver::new("edgefirst-cuda-sim", edgefirst_cuda_sim::resolve) }
}
