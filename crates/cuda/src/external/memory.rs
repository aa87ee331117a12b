//! An imported allocation.

use std::os::fd::OwnedFd;

use super::fd::{self, Passed};
use crate::api::{Api, Tenancy};
use crate::calls::{DevicePtr, RawImport};
use crate::error::{CallError, Code, Error, Result};
use crate::event::Event;
use crate::runtime::Runtime;
use crate::sys::symbols::{ExternalMemory as Symbols, Group};
use crate::sys::types::cudaExternalMemoryDedicated;
use crate::tenure::Tenure;

/// Memory that another API allocated and exported as an opaque file descriptor, imported into CUDA.
///
/// By itself it has no address: see [`super::MappedBuffer`]. It keeps the descriptor that it was made of.
#[derive(Debug)]
pub struct ExternalMemory {
    tenure: Tenure,
    import: Option<Import>,
    bytes: u64,
    _fd: OwnedFd,
}

/// An import that must be destroyed.
#[derive(Debug)]
struct Import {
    raw: RawImport,
    symbols: Symbols,
}

impl Import {
    fn end(self, api: &Api) -> Result<(), CallError> {
        api.import_destroy(&self.symbols, self.raw)
    }
}

impl ExternalMemory {
    /// Imports `bytes` bytes behind `fd`: all of the allocation. `dedicated` says that it was made for one image or
    /// buffer alone, as its exporter knows.
    ///
    /// # Errors
    /// [`Error::FileKind`] and [`Error::Size`] before CUDA is asked; CUDA's code where the driver refuses the memory.
    /// After an error no descriptor is left over, even if the driver closed the one that it was given.
    pub fn import_fd(runtime: &Runtime, device: u32, fd: OwnedFd, bytes: u64, dedicated: bool) -> Result<Self> {
        fd::check(&fd, bytes)?;
        let symbols = runtime.api().groups().external_memory;
        let symbols = symbols.map_err(|symbol| Error::MissingGroup { group: Group::ExternalMemory, symbol })?;
        let flags = if dedicated { cudaExternalMemoryDedicated } else { 0 };
        let (fd, raw, tenancy) = runtime.set_up(device, move |desk, tenancy| {
            let passed = Passed::duplicate(&fd)?;
            match desk.api.import_fd(&symbols, passed.as_fd(), bytes, flags) {
                Ok(raw) => Ok((fd, raw, tenancy)),
                Err(error) => {
                    passed.take_back(&fd);
                    Err(error.into())
                }
            }
        })?;
        let tenure = Tenure::new("imported memory", runtime, tenancy);
        Ok(Self { tenure, import: Some(Import { raw, symbols }), bytes, _fd: fd })
    }

    /// Its size in bytes; never 0.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Keeps the import until `event` is complete, however early it is dropped.
    pub fn after(&self, event: Event) {
        self.tenure.after(event);
    }

    pub(super) fn runtime(&self) -> &Runtime {
        &self.tenure.runtime
    }

    pub(super) fn tenancy(&self) -> Tenancy {
        self.tenure.tenancy
    }

    /// Maps a range that was checked to lie in it.
    pub(super) fn map(&self, api: &Api, offset: u64, bytes: u64) -> Result<DevicePtr, CallError> {
        match &self.import {
            Some(import) => api.import_map(&import.symbols, &import.raw, offset, bytes),
            None => Err(CallError { call: "cudaExternalMemoryGetMappedBuffer", code: Code::INVALID_RESOURCE_HANDLE }),
        }
    }
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        if let Some(import) = self.import.take() {
            self.tenure.end(Box::new(move |desk| import.end(&desk.api)), None);
        }
    }
}
