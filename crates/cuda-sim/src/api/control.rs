//! The simulator's own symbols: its marker, its script, and what it remembers.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use super::put;
use crate::call::Call;
use crate::copying::number;
use crate::footprint::Footprint;
use crate::history::{Backing, Touch};
use crate::state::{self, Major};
use crate::{address, control, os};

/// `edgefirst_cuda_sim`: the marker. It says what is simulated, and by which version of this crate.
pub extern "C" fn marker() -> *const c_char {
    let text: &CStr = match state::major() {
        Major::V11 => MARKER_11,
        Major::V12 => MARKER_12,
        Major::V13 => MARKER_13,
    };
    text.as_ptr()
}

macro_rules! marker {
    ($name:ident, $version:literal) => {
        const $name: &CStr = match CStr::from_bytes_with_nul(
            concat!("simulated CUDA ", $version, " (edgefirst-cuda-sim ", env!("CARGO_PKG_VERSION"), ")\0").as_bytes(),
        ) {
            Ok(text) => text,
            Err(_) => panic!("one zero, at the end"),
        };
    };
}

marker!(MARKER_11, "11.8");
marker!(MARKER_12, "12.9");
marker!(MARKER_13, "13.5");

/// `sim_control`: commands, separated by `;` or line ends. 0, or 1 if one was not understood; those before it
/// are in effect.
pub unsafe extern "C" fn sim_control(commands: *const c_char) -> c_int {
    if commands.is_null() {
        return 1;
    }
    // SAFETY: not null, and the caller promised a C string.
    let commands = unsafe { CStr::from_ptr(commands) };
    let mut state = state::lock();
    let understood = commands.to_str().is_ok_and(|commands| control::run(&mut state, commands).is_ok());
    c_int::from(!understood)
}

/// `sim_read`: `calls`, `findings` or `ledger`, as lines. Copies at most `room` bytes and returns how many there
/// are in all; nothing for another word.
pub unsafe extern "C" fn sim_read(what: *const c_char, to: *mut c_char, room: usize) -> usize {
    if what.is_null() {
        return 0;
    }
    // SAFETY: not null, and the caller promised a C string.
    let what = unsafe { CStr::from_ptr(what) };
    let state = state::lock();
    let text = match what.to_bytes() {
        b"calls" => state.ledger.calls_text(),
        b"findings" => state.ledger.findings_text(),
        b"ledger" => control::ledger_text(&state),
        _ => return 0,
    };
    let bytes = text.len().min(room);
    if !to.is_null() {
        // SAFETY: the caller promised `room` bytes.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), to, bytes) };
    }
    text.len()
}

/// `sim_export_fd`: memory of another API, as a file descriptor that belongs to the caller. 0 on success.
pub unsafe extern "C" fn sim_export_fd(bytes: usize, out: *mut c_int) -> c_int {
    let Some(fd) = os::memory_file(bytes) else {
        return 1;
    };
    state::lock().external.declare(fd, 0);
    // SAFETY: as the caller promised.
    let written = unsafe { put(out, fd) };
    if written.is_err() {
        os::close(fd);
    }
    c_int::from(written.is_err())
}

/// `sim_adopt_fd`: another API's memory may be imported by this descriptor; its data begin at `offset`. The
/// descriptor stays the caller's. 0 on success.
pub extern "C" fn sim_adopt_fd(fd: c_int, offset: usize) -> c_int {
    c_int::from(!state::lock().external.declare(fd, offset))
}

/// `sim_host_access`: the calling thread reads or writes these bytes now, through a host address. Returns 0.
pub unsafe extern "C" fn sim_host_access(address: *const c_void, bytes: usize, write: c_int) -> c_int {
    let mut call = Call::host_access();
    let (clock, epoch) = call.position();
    for touch in host_touches(&call, number(address), bytes, write != 0) {
        call.check_touch(&touch, &clock);
        let who = call.who.clone();
        call.history.record(touch, epoch, &clock, who);
    }
    call.publish();
    0
}

/// The bytes by what lies behind them: other APIs' memory may be mapped into the host.
fn host_touches(call: &Call, start: usize, bytes: usize, write: bool) -> Vec<Touch> {
    let areas = address::host_areas(start, bytes).unwrap_or_default();
    let foreign = |area: &address::HostArea| call.external.knows(area.file.0, area.file.1);
    if !areas.iter().any(foreign) {
        return vec![Touch { backing: Backing::Host, footprint: Footprint::linear(start, bytes), write }];
    }
    let touch = |area: &address::HostArea| {
        let (from, to) = (start.max(area.start), (start + bytes).min(area.end));
        let (device, inode, offset) = area.file;
        let (backing, at) = match foreign(area) {
            true => (Backing::External(device, inode), usize::try_from(offset).unwrap_or(0) + from - area.start),
            false => (Backing::Host, from),
        };
        Touch { backing, footprint: Footprint::linear(at, to - from), write }
    };
    areas.iter().map(touch).collect()
}
