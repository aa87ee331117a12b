//! What several of these tests need.
//!
//! # Safety argument
//! Device addresses come with their size, and nothing is queued any more when a function returns.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(unreachable_pub, reason = "each test program has a copy")]

use std::time::Duration;

use edgefirst_cuda::{CopyKind, Error, Runtime, Stream};
use testkit::{Major, Sim};

pub const PATIENCE: Duration = Duration::from_secs(5);
pub const PAGE: usize = 4096;

/// A copy of the simulator and a runtime on it.
pub fn simulated(major: Major) -> (Sim, Runtime) {
    let sim = Sim::open(major);
    let runtime = Runtime::load_from(sim.path()).expect("the simulator loads");
    (sim, runtime)
}

pub fn finish(sim: Sim, runtime: Runtime) {
    runtime.flush(PATIENCE).expect("nothing is in use");
    drop(runtime);
    sim.finish();
}

#[expect(unsafe_code, reason = "queues copies to device addresses")]
/// Writes and reads device memory through a stream, and answers what came back. Nothing is queued when it returns.
pub fn round_trip(
    sim: &Sim,
    runtime: &Runtime,
    device_ptr: *mut std::ffi::c_void,
    bytes: usize,
    value: u8,
) -> Result<Vec<u8>, Error> {
    let stream = Stream::new(runtime, 0)?;
    let mut back = vec![0; bytes];
    // SAFETY: device memory of this size, by the callers; the host's bytes live beyond the synchronisation.
    let queued = unsafe { stream.fill(device_ptr, value, bytes) }
        .and_then(|()| unsafe { stream.copy(back.as_mut_ptr().cast(), device_ptr, bytes, CopyKind::DeviceToHost) });
    if let Err(error) = queued.and_then(|()| stream.synchronize(PATIENCE)) {
        // Whatever failed, the caller may end the memory only when nothing uses it.
        sim.quiesce();
        return Err(error);
    }
    Ok(back)
}
