//! Somebody who wants the picture's bytes: from the device if it has them, else from the host.
//!
//! # Safety argument
//!
//! A device map's pointer is valid for reading as many bytes as the map says, as long as the map
//! lives. The copy is waited for, so the map and the buffer outlive it.

#![expect(unsafe_code, reason = "copies from a device pointer")]

use edgefirst_tensor::cuda::{CopyKind, try_memcpy};
use edgefirst_tensor::{CudaMap, Error, Tensor};
use sha2::{Digest, Sha256};

use crate::stages::Stages;

/// What the consumer saw.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) way: Way,
    /// SHA-256 of the bytes, in hexadecimal.
    pub(crate) digest: String,
    /// Bytes that were copied to get there.
    pub(crate) copied: usize,
}

/// How the bytes came to the consumer.
#[derive(Debug)]
pub(crate) enum Way {
    Device { ordinal: u32 },
    Host { why: Error },
}

/// Reads the whole tensor and makes its digest.
pub(crate) fn consume(tensor: &Tensor<u8>, stages: &mut Stages) -> Result<Seen, Error> {
    from_device(tensor, stages).or_else(|why| from_host(tensor, why, stages))
}

fn from_device(tensor: &Tensor<u8>, stages: &mut Stages) -> Result<Seen, Error> {
    let map = stages.time("cuda map", || tensor.try_cuda_map())?;
    let copy = stages.time("copy", || download(&map))?;
    let digest = stages.time("digest", || hexadecimal(&copy));
    Ok(Seen { way: Way::Device { ordinal: map.device() }, digest, copied: copy.len() })
}

fn from_host(tensor: &Tensor<u8>, why: Error, stages: &mut Stages) -> Result<Seen, Error> {
    let map = stages.time("host map", || tensor.map())?;
    let digest = stages.time("digest", || hexadecimal(map.as_slice()));
    Ok(Seen { way: Way::Host { why }, digest, copied: 0 })
}

fn download(map: &CudaMap<'_>) -> Result<Vec<u8>, Error> {
    let mut copy = vec![0; map.len()];
    let (to, from) = (copy.as_mut_ptr().cast(), map.device_ptr());
    // SAFETY: the map lives, so its pointer is good for its length; the buffer has that length, and
    // lives for ever where the copy may still be under way.
    match unsafe { try_memcpy(to, from, map.len(), CopyKind::DeviceToHost) } {
        Ok(()) => Ok(copy),
        Err(why) => {
            copy.leak();
            Err(why.into())
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
