//! Memory of other APIs: what was exported, and what was imported.
//!
//! A file descriptor is importable if the simulator exported it or if it was declared to it. Every other one is
//! refused as an opaque handle with 1, the one fitting code that the reference text lists; what hardware
//! answers for a memfd or a plain file differs between drivers.

use std::collections::{BTreeMap, HashMap};

use crate::abi::{EXTERNAL_MEMORY_DEDICATED, HANDLE_TYPE_OPAQUE_FD};
use crate::address::Mapping;
use crate::call::Call;
use crate::error::{Answer, Code};
use crate::history::Backing;
use crate::ledger::Who;
use crate::memory::{Kind, Region};
use crate::os;

/// Imported memory.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) device: u32,
    pub(crate) context: usize,
    pub(crate) bytes: usize,
    backing: Backing,
    /// Position of the first byte in the file.
    offset: usize,
    mapping: Mapping,
    pub(crate) made: Who,
}

/// What other APIs have, and what was taken from them.
#[derive(Debug, Default)]
pub(crate) struct External {
    /// By device and inode: where in the file the memory begins.
    known: HashMap<(u64, u64), usize>,
    pub(crate) imports: BTreeMap<usize, Import>,
}

impl External {
    /// The imports that live in a context.
    pub(crate) fn of_context(&self, context: usize) -> Vec<usize> {
        let own = self.imports.iter().filter(|(_, import)| import.context == context);
        own.map(|(handle, _)| *handle).collect()
    }

    /// Declares the file behind a descriptor importable. False if the descriptor is not open.
    pub(crate) fn declare(&mut self, fd: i32, offset: usize) -> bool {
        let Some((device, inode, _)) = os::identify(fd) else {
            return false;
        };
        self.known.insert((device, inode), offset);
        true
    }

    /// Whether a file is one of those.
    pub(crate) fn knows(&self, device: u64, inode: u64) -> bool {
        self.known.contains_key(&(device, inode))
    }
}

/// What a program says about the handle that it wants to import, the same for all majors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandleDesc {
    pub(crate) kind: i32,
    pub(crate) fd: i32,
    pub(crate) size: u64,
    pub(crate) flags: u32,
    pub(crate) reserved: [u32; 16],
}

/// What a program says about the buffer that it wants to map, the same for all majors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferDesc {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) flags: u32,
    pub(crate) reserved: [u32; 16],
}

impl Call {
    /// `cudaImportExternalMemory`: on success the descriptor is the simulator's, which closes it at once; on
    /// failure it stays with the caller.
    pub(crate) fn import(&mut self, desc: HandleDesc) -> Answer<usize> {
        if let Some(code) = self.close_fd {
            os::close(desc.fd);
            return Err(code);
        }
        self.check_reserved("cudaExternalMemoryHandleDesc", &desc.reserved);
        if desc.kind != HANDLE_TYPE_OPAQUE_FD || desc.flags & !EXTERNAL_MEMORY_DEDICATED != 0 || desc.size == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let (file_device, inode, file_bytes) = os::identify(desc.fd).ok_or(Code::INVALID_VALUE)?;
        let offset = *self.external.known.get(&(file_device, inode)).ok_or(Code::INVALID_VALUE)?;
        let bytes = usize::try_from(desc.size).map_err(|_| Code::INVALID_VALUE)?;
        let end = desc.size.checked_add(offset as u64).ok_or(Code::INVALID_VALUE)?;
        if end > file_bytes {
            return Err(Code::INVALID_VALUE);
        }
        let mapping = Mapping::shared(desc.fd, offset, bytes)?;
        os::close(desc.fd);
        let handle = self.new_handle();
        let import = Import {
            device: self.device_of_call(),
            context: self.ensure_context()?,
            bytes,
            backing: Backing::External(file_device, inode),
            offset,
            mapping,
            made: self.who.clone(),
        };
        self.external.imports.insert(handle, import);
        Ok(handle)
    }

    /// `cudaExternalMemoryGetMappedBuffer`
    pub(crate) fn map_buffer(&mut self, handle: usize, desc: BufferDesc) -> Answer<usize> {
        let device = self.device_of_call();
        let context = self.ensure_context()?;
        if !self.external.imports.contains_key(&handle) {
            return Err(self.no_such(handle));
        }
        self.check_reserved("cudaExternalMemoryBufferDesc", &desc.reserved);
        let import = self.external.imports.get(&handle).ok_or(Code::INVALID_HANDLE)?;
        let end = desc.offset.checked_add(desc.size).ok_or(Code::INVALID_VALUE)?;
        if desc.flags != 0 || desc.size == 0 || end > import.bytes as u64 {
            return Err(Code::INVALID_VALUE);
        }
        let at = usize::try_from(desc.offset).map_err(|_| Code::INVALID_VALUE)?;
        let bytes = usize::try_from(desc.size).map_err(|_| Code::INVALID_VALUE)?;
        let (backing, offset, owner) = (import.backing, import.offset + at, import.device);
        let mapping = import.mapping.part(at);
        self.check_device("cudaExternalMemoryGetMappedBuffer", owner, device);
        let start = self.memory.addresses.reserve(bytes)?;
        let made = self.who.clone();
        let kind = Kind::Mapped(handle);
        let region = Region { start, bytes, kind, device: owner, context, backing, offset, mapping, made };
        self.memory.regions.insert(start, region);
        Ok(start)
    }

    /// `cudaDestroyExternalMemory`: buffers that are still mapped "must no longer be used and must be
    /// explicitly freed"; which way round is not said, so the order is a finding and not an error.
    pub(crate) fn destroy_import(&mut self, handle: usize) -> Answer {
        let Some(import) = self.external.imports.remove(&handle) else {
            return Err(self.no_such(handle));
        };
        let who = self.who.clone();
        self.bury("external-memory", handle, &who);
        let mapped = self.memory.regions.values().filter(|region| region.kind == Kind::Mapped(handle)).count();
        if mapped > 0 {
            let message = format!(
                "{who} destroys the import of {} while {mapped} of its buffers are mapped: free them first",
                import.made
            );
            self.ledger.find("destroy-while-mapped", message);
        }
        Ok(())
    }

    /// Whether the import behind a mapped buffer was destroyed, and by whom.
    pub(crate) fn import_destroyed_by(&self, region: &Region) -> Option<Who> {
        match region.kind {
            Kind::Mapped(import) => self.tombs.get(&import).map(|tomb| tomb.by.clone()),
            _ => None,
        }
    }

    /// Records a call on a thread where another device is current than the object's.
    pub(crate) fn check_device(&mut self, what: &str, owner: u32, current: u32) {
        if owner != current {
            let message = format!("{}: {what} for device {owner} while device {current} is current", self.who);
            self.ledger.find("foreign-device", message);
        }
    }

    fn check_reserved(&mut self, what: &str, reserved: &[u32; 16]) {
        if reserved.iter().any(|word| *word != 0) {
            let message = format!("{}: reserved words of {what} are not zero", self.who);
            self.ledger.find("nonzero-reserved", message);
        }
    }
}
