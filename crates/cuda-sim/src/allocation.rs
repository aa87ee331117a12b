//! Allocating, freeing, registering.

use crate::abi::HOST_REGISTER_READ_ONLY;
use crate::address::{Mapping, host_areas};
use crate::call::Call;
use crate::error::{Answer, Code};
use crate::footprint::Footprint;
use crate::history::{Backing, Touch};
use crate::ledger::Who;
use crate::memory::{Kind, Miss, Pinned, Region, check_room};
use crate::schedule::Action;

/// `cudaHostAlloc` knows three flags, `cudaHostRegister` four.
const HOST_ALLOC_FLAGS: u32 = 7;
const HOST_REGISTER_FLAGS: u32 = 15;

impl Call {
    /// `cudaMalloc`: null for nothing.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Answer<usize> {
        let (device, context) = (self.device_of_call(), self.ensure_context()?);
        self.new_region(Kind::Device, device, context, bytes)
    }

    /// `cudaMallocAsync`: the memory exists for work that is ordered behind this point.
    pub(crate) fn allocate_in_order(&mut self, stream: usize, bytes: usize) -> Answer<usize> {
        if !self.settings.memory_pools {
            return Err(Code::NOT_SUPPORTED);
        }
        let owner = self.streams.get(&stream).ok_or(Code::INVALID_HANDLE)?;
        let (device, context) = (owner.device, owner.context);
        let start = self.new_region(Kind::StreamOrdered, device, context, bytes)?;
        // A write to all of it, as far as order goes: whoever uses it must come behind.
        let touches: Vec<_> = self.memory.regions.get(&start).map(whole).into_iter().collect();
        self.enqueue(stream, Action::Nothing, &touches)?;
        Ok(start)
    }

    fn new_region(&mut self, kind: Kind, device: u32, context: usize, bytes: usize) -> Answer<usize> {
        if bytes == 0 {
            return Ok(0);
        }
        check_room(&self.memory, device, bytes)?;
        let mapping = Mapping::anonymous(bytes)?;
        let start = self.memory.addresses.reserve(bytes)?;
        let backing = self.memory.new_backing();
        let made = self.who.clone();
        let region = Region { start, bytes, kind, device, context, backing, offset: 0, mapping, made };
        self.memory.regions.insert(start, region);
        Ok(start)
    }

    /// `cudaFree`. It waits for what the device has to do, but promises no order to the host ("may perform
    /// implicit synchronization"), and none at all for stream-ordered memory.
    pub(crate) fn free(&mut self, address: usize) -> Answer {
        if address == 0 {
            return Ok(());
        }
        let Some(region) = self.memory.regions.get(&address).cloned() else {
            return Err(self.not_freeable(address));
        };
        if let Some(code) = self.lost.get(&region.device) {
            return Err(*code);
        }
        if let Some(by) = self.import_destroyed_by(&region) {
            let message = format!("{} frees the buffer of {} after {by} destroyed its import", self.who, region.made);
            self.ledger.find("free-after-destroy", message);
        }
        if region.kind == Kind::StreamOrdered {
            self.check_unused(region.backing, region.footprint(), "frees", &region.made);
        }
        let mut pending = self.work.on_device(region.device);
        pending.extend(self.work.users(region.backing, region.footprint()));
        self.wait_until_done(&pending)?;
        self.drop_region(address);
        Ok(())
    }

    /// `cudaFreeAsync`: the address is dead at once, the bytes go when the stream gets there.
    pub(crate) fn free_in_order(&mut self, stream: usize, address: usize) -> Answer {
        let Some(region) = self.memory.regions.get(&address).cloned() else {
            return Err(self.not_freeable(address));
        };
        if region.kind != Kind::StreamOrdered {
            return Err(Code::INVALID_VALUE);
        }
        self.enqueue(stream, Action::Nothing, &[whole(&region)])?;
        self.drop_region(address);
        Ok(())
    }

    fn drop_region(&mut self, address: usize) {
        let who = self.who.clone();
        if let Some(region) = self.memory.remove_region(address, &who)
            && matches!(region.backing, Backing::Device(_))
        {
            self.history.forget(region.backing, region.footprint());
        }
    }

    fn not_freeable(&mut self, address: usize) -> Code {
        if let Some(grave) = self.memory.grave(address) {
            let message = format!(
                "{} frees {} {address:#x} of {} again, which {} freed",
                self.who, grave.what, grave.made, grave.freed,
            );
            self.ledger.find("double-free", message);
        }
        Code::INVALID_VALUE
    }

    /// `cudaHostAlloc`, `cudaMallocHost`
    pub(crate) fn allocate_host(&mut self, bytes: usize, flags: u32) -> Answer<usize> {
        if flags & !HOST_ALLOC_FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if bytes == 0 {
            return Ok(0);
        }
        let mapping = Mapping::anonymous(bytes)?;
        let start = mapping.data().expose_provenance();
        self.pin(start, bytes, false, Some(mapping))?;
        Ok(start)
    }

    /// `cudaFreeHost`
    pub(crate) fn free_host(&mut self, address: usize) -> Answer {
        if address == 0 {
            return Ok(());
        }
        let allocated = self.memory.pinned.get(&address).is_some_and(|pinned| pinned.allocation.is_some());
        if allocated { self.unpin(address, "frees") } else { Err(Code::INVALID_VALUE) }
    }

    /// `cudaHostRegister`
    pub(crate) fn register(&mut self, address: usize, bytes: usize, flags: u32) -> Answer {
        if address == 0 || bytes == 0 || flags & !HOST_REGISTER_FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let read_only = flags & HOST_REGISTER_READ_ONLY != 0;
        if read_only && !self.settings.host_read_only {
            return Err(Code::NOT_SUPPORTED);
        }
        if self.memory.overlaps_pinned(address, bytes) {
            return Err(Code::ALREADY_REGISTERED);
        }
        let areas = host_areas(address, bytes).ok_or(Code::INVALID_VALUE)?;
        if !areas.iter().all(|area| area.readable && (area.writable || read_only)) {
            return Err(Code::INVALID_VALUE);
        }
        self.pin(address, bytes, read_only, None)
    }

    /// `cudaHostUnregister`
    pub(crate) fn unregister(&mut self, address: usize) -> Answer {
        let Some(pinned) = self.memory.pinned.get(&address) else {
            return Err(Code::NOT_REGISTERED);
        };
        if pinned.allocation.is_some() {
            return Err(Code::INVALID_VALUE);
        }
        if host_areas(address, pinned.bytes).is_none() {
            let message = format!("{} unregisters pages of {} that are not mapped any more", self.who, pinned.made);
            self.ledger.find("unmapped-while-registered", message);
        }
        self.unpin(address, "unregisters")
    }

    fn pin(&mut self, start: usize, bytes: usize, read_only: bool, allocation: Option<Mapping>) -> Answer {
        let device_start = match self.settings.pinned_same {
            true => start,
            false => self.memory.addresses.reserve(bytes)?,
        };
        let (device, context, made) = (self.device_of_call(), self.ensure_context()?, self.who.clone());
        let pinned = Pinned { start, bytes, device, context, device_start, read_only, allocation, made };
        self.memory.add_pinned(pinned);
        Ok(())
    }

    /// Unpins memory. No text says that this waits, so work that may still use it is a finding; it is run
    /// first, because the pages may go next.
    fn unpin(&mut self, address: usize, verb: &'static str) -> Answer {
        let Some(pinned) = self.memory.pinned.get(&address) else {
            return Err(Code::NOT_REGISTERED);
        };
        if let Some(code) = self.lost.get(&pinned.device) {
            return Err(*code);
        }
        let (footprint, made) = (pinned.footprint(), pinned.made.clone());
        self.check_unused(Backing::Host, footprint, verb, &made);
        let pending = self.work.users(Backing::Host, footprint);
        self.wait_until_done(&pending)?;
        self.history.forget(Backing::Host, footprint);
        let who = self.who.clone();
        self.memory.remove_pinned(address, &who);
        Ok(())
    }

    /// Records that memory is taken away while something uses it that the caller did not wait for.
    fn check_unused(&mut self, backing: Backing, footprint: Footprint, verb: &str, made: &Who) {
        let (clock, _) = self.position();
        let Some(user) = self.history.unfinished(backing, footprint, &clock) else {
            return;
        };
        let message = format!(
            "{} {verb} the memory of {made} that {} {}; nothing waited for that",
            self.who,
            user.who,
            user.verb(),
        );
        self.ledger.find("freed-in-use", message);
    }

    /// The device's address of pinned memory.
    pub(crate) fn device_pointer(&mut self, host: usize, flags: u32) -> Answer<usize> {
        let (at, pinned) = self.memory.pinned_at(host).ok_or(Code::INVALID_VALUE)?;
        match flags == 0 && host == pinned.start + at {
            true => Ok(pinned.device_start + at),
            false => Err(Code::INVALID_VALUE),
        }
    }

    /// The answer for an address that leads nowhere. Memory that was freed is used: the process ends here.
    pub(crate) fn missed(&mut self, address: usize, miss: Miss) -> Code {
        match miss {
            Miss::Outside => Code::INVALID_VALUE,
            Miss::Freed(grave) => {
                let message = format!(
                    "{} uses {} {address:#x} of {}, which {} freed",
                    self.who, grave.what, grave.made, grave.freed,
                );
                self.abort("use-after-free", message)
            }
        }
    }
}

/// All of a region, as something that is written.
fn whole(region: &Region) -> Touch {
    Touch { backing: region.backing, footprint: region.footprint(), write: true }
}
