//! The same on a real GPU, where there is one. A simulated runtime never counts as one.
//!
//! # Safety argument
//! Addresses are used for the length of their owners, which outlive the copies.

#![expect(unsafe_code, reason = "copies to device addresses")]

use std::sync::Arc;
use std::time::Duration;

use edgefirst_cuda::{CopyKind, DeviceBuffer, HostAccess, HostRegistration, Runtime, Stream};
use testkit::{HostPages, skip};

const PATIENCE: Duration = Duration::from_secs(5);

fn real_runtime() -> Result<Runtime, String> {
    let runtime = Runtime::get().map_err(|error| error.to_string())?;
    if runtime.is_simulated() { Err("the CUDA runtime is simulated".to_owned()) } else { Ok(runtime) }
}

#[test]
fn bytes_come_back_from_the_gpu() {
    let runtime = match real_runtime() {
        Ok(runtime) => runtime,
        Err(why) => skip!(needs "EDGEFIRST_TEST_REQUIRE_CUDA", "{why}"),
    };
    println!("{}", runtime.status());
    for device in runtime.devices().unwrap() {
        let buffer = DeviceBuffer::zeroed(&runtime, device.ordinal, 1000).unwrap();
        let mut back = vec![1_u8; 1000];
        // SAFETY: both have 1000 bytes.
        unsafe { runtime.copy(back.as_mut_ptr().cast(), buffer.device_ptr(), 1000, CopyKind::DeviceToHost, PATIENCE) }
            .unwrap();
        assert_eq!(back, vec![0; 1000]);
    }
    runtime.flush(PATIENCE).unwrap();
}

#[test]
fn the_gpu_writes_registered_pages() {
    let runtime = match real_runtime() {
        Ok(runtime) => runtime,
        Err(why) => skip!(needs "EDGEFIRST_TEST_REQUIRE_CUDA", "{why}"),
    };
    let pages = HostPages::new(8192);
    let host = edgefirst_cuda::Pages::as_ptr(&pages);
    let registration = HostRegistration::new(&runtime, 0, Arc::new(pages), HostAccess::ReadWrite).unwrap();
    println!("host {host:p}, device {:p}", registration.device_ptr());
    let stream = Stream::new(&runtime, 0).unwrap();
    // SAFETY: the registration has 8192 bytes, and is kept until the fill has run.
    unsafe { stream.fill(registration.device_ptr(), 9, 8192) }.unwrap();
    stream.synchronize(PATIENCE).unwrap();
    // SAFETY: the registration keeps the pages; nobody writes now.
    assert!(unsafe { std::slice::from_raw_parts(host, 8192) }.iter().all(|&byte| byte == 9));
    drop((registration, stream));
    runtime.flush(PATIENCE).unwrap();
}
