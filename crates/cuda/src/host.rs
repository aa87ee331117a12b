//! Registering host pages, so that the device reads and writes them in place.

#![expect(unsafe_code, reason = "registers address ranges with the driver")]
//!
//! # Safety argument
//! The implementor of [`Pages`] promises that its range is mapped and stays where it is for as long as it lives. The
//! registration holds it, and the keeper drops it only after the range is unregistered.

use std::ffi::c_void;
use std::sync::Arc;

use crate::api::Api;
use crate::error::{CallError, Code, Error, Result};
use crate::event::Event;
use crate::runtime::Runtime;
use crate::sys::symbols::{Group, HostRegistration as Symbols};
use crate::sys::types::*;
use crate::tenure::Tenure;

/// Host memory that can be registered: a range, kept alive by whoever holds this.
///
/// # Safety
/// The range must be mapped, must not move, and must stay mapped until the value is dropped.
pub unsafe trait Pages: Send + Sync + std::fmt::Debug {
    /// The first byte.
    fn as_ptr(&self) -> *mut u8;

    /// The size in bytes.
    fn len(&self) -> usize;

    /// Whether the range has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether dropping this runs somebody else's code: then it is dropped on a thread of its own.
    fn is_foreign(&self) -> bool {
        false
    }
}

/// What the device may do with registered pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAccess {
    /// Read only: for pages that the process itself may not write. Not every device can.
    Read,
    /// Read and write.
    ReadWrite,
}

/// A registration of host pages with a device.
///
/// Dropping it hands it to the keeper, which unregisters the pages once the events given to [`Self::after`] are
/// complete, and drops them then. Only what it registered itself is unregistered.
#[derive(Debug)]
pub struct HostRegistration {
    tenure: Tenure,
    pages: Arc<dyn Pages>,
    registered: Option<Registered>,
    device_address: usize,
}

/// Pages that are registered and must be unregistered.
#[derive(Debug)]
struct Registered {
    symbols: Symbols,
    address: usize,
}

impl Registered {
    fn end(self, api: &Api) -> Result<(), CallError> {
        // SAFETY: registered by `register`, whose owner promised the pages; the keeper saw their last use complete.
        unsafe { api.host_unregister(&self.symbols, std::ptr::with_exposed_provenance_mut(self.address)) }
    }
}

impl HostRegistration {
    /// Registers all of `pages`, which must begin on a page boundary.
    ///
    /// # Errors
    /// [`Error::Size`] for 0 bytes, [`Error::Unaligned`], [`Error::DeviceLacks`] where the device cannot; CUDA's 712
    /// where part of the range is registered already.
    pub fn new(runtime: &Runtime, device: u32, pages: Arc<dyn Pages>, access: HostAccess) -> Result<Self> {
        let (address, bytes) = (pages.as_ptr().expose_provenance(), pages.len());
        check_range(address, bytes)?;
        let symbols = group(runtime)?;
        // The request holds the pages too: if the caller goes while it runs, they stay until it is done.
        let held = Arc::clone(&pages);
        let (device_address, tenancy, registered) = runtime.set_up(device, move |desk, tenancy| {
            let registered = register(&desk.api, tenancy.device, symbols, (address, bytes), access)?;
            match device_address(&desk.api, &registered) {
                Ok(device_address) => Ok((device_address, tenancy, registered)),
                Err(error) => {
                    if let Err(second) = registered.end(&desk.api) {
                        log::warn!("host pages stay registered after a failure: {second}");
                        crate::keeper::keep_for_ever(Some(held));
                    }
                    Err(error)
                }
            }
        })?;
        let tenure = Tenure::new("registered host pages", runtime, tenancy);
        Ok(Self { tenure, pages, registered: Some(registered), device_address })
    }

    /// The device's address of the first byte; it may equal the host's or not.
    pub fn device_ptr(&self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.device_address)
    }

    /// The size in bytes; never 0.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// The device that it was registered with.
    pub fn device(&self) -> u32 {
        self.tenure.tenancy.device
    }

    /// Its runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.tenure.runtime
    }

    /// Keeps the pages registered until `event` is complete, however early this is dropped.
    pub fn after(&self, event: Event) {
        self.tenure.after(event);
    }
}

impl Drop for HostRegistration {
    fn drop(&mut self) {
        if let Some(registered) = self.registered.take() {
            self.tenure.end(Box::new(move |desk| registered.end(&desk.api)), Some(Arc::clone(&self.pages)));
        }
    }
}

fn check_range(address: usize, bytes: usize) -> Result<()> {
    let limit = usize::MAX - address;
    if bytes == 0 || bytes > limit {
        return Err(Error::Size { what: "registered host pages", value: bytes as u64, limit: limit as u64 });
    }
    let alignment = rustix::param::page_size();
    if !address.is_multiple_of(alignment) {
        return Err(Error::Unaligned { what: "registered host memory", address, alignment });
    }
    Ok(())
}

fn group(runtime: &Runtime) -> Result<Symbols> {
    let found = runtime.api().groups().host_registration;
    found.map_err(|symbol| Error::MissingGroup { group: Group::HostRegistration, symbol })
}

fn register(api: &Api, device: u32, symbols: Symbols, range: (usize, usize), access: HostAccess) -> Result<Registered> {
    let (needed, what, access) = match access {
        HostAccess::ReadWrite => (cudaDevAttrHostRegisterSupported, "registering host memory", 0),
        HostAccess::Read => {
            (cudaDevAttrHostRegisterReadOnlySupported, "registering read-only host memory", cudaHostRegisterReadOnly)
        }
    };
    match api.attribute(needed, device) {
        Ok(0) => return Err(Error::DeviceLacks { device, what }),
        // Older than the question: let the registration itself answer.
        Ok(_) | Err(CallError { code: Code::INVALID_VALUE, .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let (address, bytes) = range;
    // Portable, so that the pages are registered for every device's context.
    let flags = cudaHostRegisterPortable | cudaHostRegisterMapped | access;
    // SAFETY: the pages are held until they are unregistered: see the module.
    unsafe { api.host_register(&symbols, std::ptr::with_exposed_provenance_mut(address), bytes, flags) }?;
    Ok(Registered { symbols, address })
}

fn device_address(api: &Api, registered: &Registered) -> Result<usize> {
    let host = std::ptr::with_exposed_provenance_mut(registered.address);
    let address = api.host_device_pointer(&registered.symbols, host)?.expose_provenance();
    if address == 0 {
        return Err(Error::Null { call: "cudaHostGetDevicePointer", what: "pointer" });
    }
    Ok(address)
}
