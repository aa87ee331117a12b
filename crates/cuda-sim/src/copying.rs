//! Copies and fills, from what a program asks for to what is queued.

use std::ptr;

use crate::address::Mapping;
use crate::call::Call;
use crate::error::{Answer, Code};
use crate::memory::{Place, Side};
use crate::schedule::{Action, OpId};
use crate::transfer::{Copy, Fill, Spot, touch};

/// Largest pitch, in bytes, as `cudaDevAttrMaxPitch` of common devices.
const MAX_PITCH: usize = i32::MAX as usize;

/// What a program asks to be copied. A linear copy is one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyDesc {
    pub(crate) to: usize,
    pub(crate) to_pitch: usize,
    pub(crate) from: usize,
    pub(crate) from_pitch: usize,
    pub(crate) row: usize,
    pub(crate) rows: usize,
    /// `cudaMemcpyKind`
    pub(crate) kind: i32,
}

impl CopyDesc {
    /// Bytes without gaps.
    pub(crate) fn linear(to: usize, from: usize, bytes: usize, kind: i32) -> CopyDesc {
        CopyDesc { to, to_pitch: bytes, from, from_pitch: bytes, row: bytes, rows: 1, kind }
    }

    fn is_empty(&self) -> bool {
        self.row == 0 || self.rows == 0
    }

    fn check(&self) -> Answer {
        if !(0..=4).contains(&self.kind) {
            return Err(Code::INVALID_DIRECTION);
        }
        if self.rows > 1 && self.from_pitch.max(self.to_pitch) > MAX_PITCH {
            return Err(Code::INVALID_VALUE);
        }
        match self.row > self.from_pitch || self.row > self.to_pitch {
            true => Err(Code::INVALID_PITCH),
            false => Ok(()),
        }
    }

    /// Whether the kind says that source and destination are device memory.
    fn sides(&self) -> Option<(bool, bool)> {
        match self.kind {
            0 => Some((false, false)),
            1 => Some((false, true)),
            2 => Some((true, false)),
            3 => Some((true, true)),
            _ => None,
        }
    }
}

impl Call {
    /// Queues a copy. Its source is read when its turn comes, pageable memory, too: "may be synchronous" is
    /// nothing to build on.
    pub(crate) fn copy(&mut self, stream: usize, desc: CopyDesc) -> Answer<Option<OpId>> {
        match self.places(desc)? {
            Some((from, to)) => self.queue_copy(stream, &from, &to, desc),
            None => Ok(None),
        }
    }

    fn queue_copy(&mut self, stream: usize, from: &Place, to: &Place, desc: CopyDesc) -> Answer<Option<OpId>> {
        let CopyDesc { row, rows, .. } = desc;
        let read = touch(from, row, desc.from_pitch, rows, false);
        let write = touch(to, row, desc.to_pitch, rows, true);
        let source = Spot::new(from, row, desc.from_pitch, rows);
        let host_source = from.side != Side::Device && !self.work.will_write(&read) && !self.is_capturing(stream);
        let seen = host_source.then(|| source.fingerprint());
        let copy = Copy { to: Spot::new(to, row, desc.to_pitch, rows), from: source, seen };
        self.enqueue(stream, Action::Copy(copy), &[read, write])
    }

    /// `cudaMemcpy`. Between two places on the device it does not wait; from pageable memory it waits until
    /// the source was read, and not until the bytes have arrived.
    pub(crate) fn copy_and_wait(&mut self, stream: usize, desc: CopyDesc) -> Answer {
        let Some((from, to)) = self.places(desc)? else {
            return Ok(());
        };
        if from.side == Side::Pageable && to.side == Side::Device {
            return self.copy_staged(stream, &from, &to, desc);
        }
        let op = self.queue_copy(stream, &from, &to, desc)?;
        let on_device = from.side == Side::Device && to.side == Side::Device;
        match op {
            Some(op) if !on_device => self.wait_and_learn(stream, op),
            _ => Ok(()),
        }
    }

    fn copy_staged(&mut self, stream: usize, from: &Place, to: &Place, desc: CopyDesc) -> Answer {
        let read = touch(from, desc.row, desc.row, 1, false);
        if let Some(op) = self.enqueue(stream, Action::Nothing, &[read])? {
            self.wait_and_learn(stream, op)?;
        }
        let staging = Mapping::anonymous(desc.row)?;
        let staged = Place { data: staging.data(), keep: Some(staging), ..from.clone() };
        let whole = |place: &Place| Spot::new(place, desc.row, desc.row, 1);
        Copy { to: whole(&staged), from: whole(from), seen: None }.perform().map_err(|_| Code::INVALID_VALUE)?;
        let copy = Copy { to: whole(to), from: whole(&staged), seen: None };
        let write = touch(to, desc.row, desc.row, 1, true);
        self.enqueue(stream, Action::Copy(copy), &[write]).map(|_| ())
    }

    /// Queues a fill; the address must be one for the device.
    pub(crate) fn fill(&mut self, stream: usize, address: usize, value: u8, bytes: usize) -> Answer<Option<OpId>> {
        let to = self.place(address, bytes)?;
        if bytes == 0 {
            return Ok(None);
        }
        self.check_side(&to, true, "fills")?;
        if !self.may_write(&to) {
            return Ok(None);
        }
        let fill = Fill { to: Spot::new(&to, bytes, bytes, 1), value };
        self.enqueue(stream, Action::Fill(fill), &[touch(&to, bytes, bytes, 1, true)])
    }

    /// `cudaMemset`: it waits only if the destination is pinned host memory.
    pub(crate) fn fill_and_wait(&mut self, stream: usize, address: usize, value: u8, bytes: usize) -> Answer {
        let op = self.fill(stream, address, value, bytes)?;
        let pinned = self.memory.pinned_at(address).is_some();
        match op {
            Some(op) if pinned => self.wait_and_learn(stream, op),
            _ => Ok(()),
        }
    }

    fn wait_and_learn(&mut self, stream: usize, op: OpId) -> Answer {
        // Taken before the wait, during which others may queue more.
        let clock = self.stream_clock(stream);
        self.wait_until_done(&[op])?;
        self.learn(&clock);
        Ok(())
    }

    /// Where a copy goes from and to; nothing if it has nothing to do.
    fn places(&mut self, desc: CopyDesc) -> Answer<Option<(Place, Place)>> {
        desc.check()?;
        if desc.is_empty() {
            return Ok(None);
        }
        let from = self.place(desc.from, extent(desc.row, desc.from_pitch, desc.rows)?)?;
        let to = self.place(desc.to, extent(desc.row, desc.to_pitch, desc.rows)?)?;
        if let Some((from_device, to_device)) = desc.sides() {
            self.check_side(&from, from_device, "copies from")?;
            self.check_side(&to, to_device, "copies to")?;
        }
        Ok(self.may_write(&to).then_some((from, to)))
    }

    fn place(&mut self, address: usize, bytes: usize) -> Answer<Place> {
        if address == 0 && bytes > 0 {
            return Err(Code::INVALID_VALUE);
        }
        let place = self.memory.place(address, bytes).map_err(|miss| self.missed(address, miss))?;
        let region = self.memory.regions.range(..=address).next_back().map(|(_, region)| region.clone());
        if let Some(region) = region.filter(|_| place.keep.is_some())
            && let Some(by) = self.import_destroyed_by(&region)
        {
            let message = format!("{} uses the buffer of {} after {by} destroyed its import", self.who, region.made);
            self.abort("use-after-destroy", message);
        }
        Ok(place)
    }

    /// A direction that does not fit the pointers is undefined; memory that the device does not know is refused.
    fn check_side(&mut self, place: &Place, device: bool, verb: &str) -> Answer {
        if device && place.side == Side::Pageable {
            return Err(Code::INVALID_VALUE);
        }
        let wrong = match place.side {
            Side::Device => !device,
            Side::PinnedHost => device,
            Side::Both | Side::Pageable => false,
        };
        if wrong {
            let (is, should) = if device { ("host", "device") } else { ("device", "host") };
            let message = format!("{} {verb} a {is} address where the call says that it is the {should}'s", self.who);
            self.ledger.find("wrong-direction", message);
        }
        Ok(())
    }

    /// Pages registered read-only are not written. What hardware does then is not known; here nothing.
    fn may_write(&mut self, to: &Place) -> bool {
        if to.read_only {
            let message = format!("{} writes host pages that were registered read-only", self.who);
            self.ledger.find("write-to-read-only", message);
        }
        !to.read_only
    }
}

fn extent(row: usize, pitch: usize, rows: usize) -> Answer<usize> {
    let before = pitch.checked_mul(rows - 1).ok_or(Code::INVALID_VALUE)?;
    before.checked_add(row).ok_or(Code::INVALID_VALUE)
}

/// An address as a number. It is looked up before anything follows it.
pub(crate) fn number<T>(pointer: *const T) -> usize {
    pointer.expose_provenance()
}

/// A device address or handle, which leads nowhere, as a pointer.
pub(crate) fn opaque<T>(number: usize) -> *mut T {
    ptr::without_provenance_mut(number)
}
