//! Every CUDA call of each operation fails once in turn: nothing is left behind.

#![expect(unsafe_code, reason = "queues copies to device addresses")]

use std::sync::Arc;

use edgefirst_cuda::{CopyKind, DeviceBuffer, ExternalMemory, HostAccess, HostRegistration, MappedBuffer, Stream};
use testkit::{HostPages, fault_matrix};

mod common;

use common::{PAGE, PATIENCE, round_trip};

#[test]
fn faults_in_device_memory() {
    for pools in ["on", "off"] {
        let injected = fault_matrix(|sim, runtime| {
            sim.control(&format!("mempools {pools}"));
            let buffer = DeviceBuffer::zeroed(runtime, 0, PAGE)?;
            round_trip(sim, runtime, buffer.device_ptr(), PAGE, 1).map(drop)
        });
        assert!(injected > 20, "only {injected} calls were failed");
    }
}

#[test]
fn faults_in_host_registration() {
    let injected = fault_matrix(|sim, runtime| {
        let pages = Arc::new(HostPages::new(PAGE));
        let registration = HostRegistration::new(runtime, 0, pages, HostAccess::ReadWrite)?;
        round_trip(sim, runtime, registration.device_ptr(), PAGE, 1).map(drop)
    });
    assert!(injected > 20, "only {injected} calls were failed");
}

#[test]
fn faults_in_imported_memory() {
    let injected = fault_matrix(|sim, runtime| {
        let memory = ExternalMemory::import_fd(runtime, 0, sim.export_fd(PAGE), PAGE as u64, true)?;
        let buffer = MappedBuffer::map(memory, 0, PAGE)?;
        round_trip(sim, runtime, buffer.device_ptr(), PAGE, 1).map(drop)
    });
    assert!(injected > 20, "only {injected} calls were failed");
}

#[test]
fn faults_in_streams_and_events() {
    let injected = fault_matrix(|_, runtime| {
        let (first, second) = (Stream::new(runtime, 0)?, Stream::new(runtime, 0)?);
        let event = first.record()?;
        second.wait(&event)?;
        second.synchronize(PATIENCE)?;
        event.wait(PATIENCE)
    });
    assert!(injected > 20, "only {injected} calls were failed");
}

#[test]
fn faults_in_pointer_attributes_and_copies() {
    let injected = fault_matrix(|sim, runtime| {
        let buffer = DeviceBuffer::zeroed(runtime, 0, PAGE)?;
        let source = [4_u8; PAGE];
        // SAFETY: both have this many bytes, and after a failure the device is waited for.
        let copied = unsafe {
            runtime.copy(buffer.device_ptr(), source.as_ptr().cast(), PAGE, CopyKind::HostToDevice, PATIENCE)
        };
        sim.quiesce();
        copied
    });
    assert!(injected > 20, "only {injected} calls were failed");
}
