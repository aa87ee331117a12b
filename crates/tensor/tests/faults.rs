//! Every CUDA call on the way of a tensor fails once in turn: nothing is left behind, and the host path works.
//!
//! # Safety argument
//! The device pointer is used for the length of its map; after a failure the device is waited for.

#![expect(unsafe_code, reason = "a CUDA consumer uses raw pointers")]

use std::time::Duration;

use edgefirst_tensor::cuda::{CopyKind, Runtime, Stream};
use edgefirst_tensor::{Error, PixelFormat, Tensor, Use};
use testkit::{Sim, fault_matrix};

const SOON: Duration = Duration::from_secs(5);

/// What a device consumer does; its own stream and copy may fail, too.
fn read_on_device(sim: &Sim, runtime: &Runtime, tensor: &Tensor<u8>, seen: &mut [u8]) -> Result<(), Error> {
    let map = tensor.try_cuda_map()?;
    let stream = Stream::new(runtime, 0)?;
    // SAFETY: the pointer is the map's, for its length, and the destination is as long.
    let queued = unsafe { stream.copy(seen.as_mut_ptr().cast(), map.device_ptr(), map.len(), CopyKind::DeviceToHost) };
    let ended = queued.and_then(|()| stream.synchronize(SOON));
    if ended.is_err() {
        sim.quiesce();
    }
    ended?;
    map.release_on(&stream)
}

#[test]
fn faults_between_building_and_releasing() {
    let injected = fault_matrix(|sim, runtime| {
        let mut tensor = Tensor::<u8>::image(33, 5, PixelFormat::Rgb)
            .serves(&[Use::Host, Use::Cuda])
            .runtime(runtime.clone())
            .build()?;
        tensor.map_mut()?.as_mut_slice().fill(7);
        let mut seen = vec![0; tensor.bytes()];
        let on_device = read_on_device(sim, runtime, &tensor, &mut seen);
        if on_device.is_ok() {
            assert!(seen.iter().all(|&byte| byte == 7), "the device read other bytes");
        }
        assert!(tensor.map()?.as_slice().iter().all(|&byte| byte == 7), "the host reads other bytes");
        on_device
    });
    assert!(injected > 20, "only {injected} calls were failed");
}
