//! Imported memory with an address.

use std::ffi::c_void;
use std::sync::Arc;

use super::ExternalMemory;
use crate::calls::DevicePtr;
use crate::error::{CallError, Error, Result};
use crate::event::Event;
use crate::keeper::Desk;
use crate::runtime::Runtime;
use crate::tenure::Tenure;

/// A range of imported memory, mapped for its device.
///
/// It holds the import, so only the right order of destruction exists: the mapping is freed, then the import is
/// destroyed.
#[derive(Debug)]
pub struct MappedBuffer {
    tenure: Tenure,
    /// `None` once it was handed over.
    mapping: Option<(DevicePtr, Arc<ExternalMemory>)>,
    address: usize,
    bytes: usize,
}

impl MappedBuffer {
    /// Maps `bytes` bytes from `offset` on. Several buffers may share an import.
    ///
    /// # Errors
    /// [`Error::Size`] for 0 bytes and for a range beyond the import; CUDA's code where the driver refuses.
    pub fn map(memory: impl Into<Arc<ExternalMemory>>, offset: u64, bytes: usize) -> Result<Self> {
        let memory = memory.into();
        let limit = memory.len();
        let end = offset.saturating_add(bytes as u64);
        if bytes == 0 || end > limit {
            return Err(Error::Size { what: "a buffer in imported memory", value: end, limit });
        }
        let (runtime, tenancy, held) = (memory.runtime().clone(), memory.tenancy(), Arc::clone(&memory));
        let mapped = runtime.set_up(tenancy.device, move |desk, _| Ok(held.map(&desk.api, offset, bytes as u64)?))?;
        let address = mapped.address().expose_provenance();
        if address == 0 {
            return Err(Error::Null { call: "cudaExternalMemoryGetMappedBuffer", what: "pointer" });
        }
        let tenure = Tenure::new("a mapped buffer", &runtime, tenancy);
        Ok(Self { tenure, mapping: Some((mapped, memory)), address, bytes })
    }

    /// The device's address of the first byte.
    pub fn device_ptr(&self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.address)
    }

    /// Its size in bytes; never 0.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Its device.
    pub fn device(&self) -> u32 {
        self.tenure.tenancy.device
    }

    /// Its runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.tenure.runtime
    }

    /// Keeps the mapping until `event` is complete, however early it is dropped.
    pub fn after(&self, event: Event) {
        self.tenure.after(event);
    }
}

impl Drop for MappedBuffer {
    fn drop(&mut self) {
        if let Some((mapped, memory)) = self.mapping.take() {
            self.tenure.end(Box::new(move |desk| free(desk, mapped, memory)), None);
        }
    }
}

/// NVIDIA's reference demands both ends and leaves their order open. The mapping is of the import, so it goes first;
/// the import follows when its last buffer has let go of it, also if freeing the mapping failed.
fn free(desk: &mut Desk, mapped: DevicePtr, memory: Arc<ExternalMemory>) -> Result<(), CallError> {
    let freed = desk.api.free(mapped);
    drop(memory);
    freed
}
