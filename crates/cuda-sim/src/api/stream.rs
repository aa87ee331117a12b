//! Streams and their capture.

use std::ffi::{c_int, c_void};

use super::{needs, put};
use crate::abi::STREAM_NON_BLOCKING;
use crate::call::{Call, Rule};
use crate::capture::is_mode;
use crate::copying::{number, opaque};
use crate::error::{Answer, Code};
use crate::stream::Kind;

/// `cudaStreamCreate`
pub unsafe extern "C" fn create(out: *mut *mut c_void) -> c_int {
    Rule::runtime("cudaStreamCreate").run(|call| {
        // SAFETY: as the caller promised.
        unsafe { make(call, out, Kind::Blocking) }
    })
}

/// `cudaStreamCreateWithFlags`
pub unsafe extern "C" fn create_with_flags(out: *mut *mut c_void, flags: u32) -> c_int {
    Rule::runtime("cudaStreamCreateWithFlags").run(|call| {
        let kind = match flags {
            0 => Kind::Blocking,
            STREAM_NON_BLOCKING => Kind::NonBlocking,
            _ => return Err(Code::INVALID_VALUE),
        };
        // SAFETY: as the caller promised.
        unsafe { make(call, out, kind) }
    })
}

unsafe fn make(call: &mut Call, out: *mut *mut c_void, kind: Kind) -> Answer {
    needs(out)?;
    let (context, who) = (call.ensure_context()?, call.who.clone());
    let handle = call.add_stream(context, kind, &who);
    // SAFETY: as the caller promised.
    unsafe { put(out, opaque(handle)) }
}

/// `cudaStreamDestroy`: returns at once, whatever the stream has still to do.
pub unsafe extern "C" fn destroy(stream: *mut c_void) -> c_int {
    Rule::runtime("cudaStreamDestroy").on(number(stream)).run(|call| {
        if number(stream) <= 2 {
            return Err(Code::INVALID_HANDLE);
        }
        let (handle, who) = (call.stream(number(stream))?, call.who.clone());
        call.bury_stream(handle, &who);
        Ok(())
    })
}

/// `cudaStreamSynchronize`
pub unsafe extern "C" fn synchronize(stream: *mut c_void) -> c_int {
    Rule::runtime("cudaStreamSynchronize").waits_for_stream(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        call.refuse_captured(stream)?;
        call.refuse_unsafe()?;
        let (tail, clock) = call.tail(stream);
        call.wait_until_done(&tail)?;
        call.learn(&clock);
        Ok(())
    })
}

/// `cudaStreamQuery`
pub unsafe extern "C" fn query(stream: *mut c_void) -> c_int {
    Rule::runtime("cudaStreamQuery").on(number(stream)).queries().run(|call| {
        let stream = call.stream(number(stream))?;
        call.refuse_captured(stream)?;
        call.refuse_unsafe()?;
        let (tail, clock) = call.tail(stream);
        call.pump(&tail);
        if tail.iter().any(|op| call.work.is_pending(*op)) {
            return Err(Code::NOT_READY);
        }
        call.learn(&clock);
        Ok(())
    })
}

/// `cudaStreamWaitEvent`: the event may be another device's.
pub unsafe extern "C" fn wait_event(stream: *mut c_void, event: *mut c_void, flags: u32) -> c_int {
    Rule::runtime("cudaStreamWaitEvent").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        call.wait_event(stream, number(event))
    })
}

/// `cudaStreamGetDevice`, from 12.8 on.
pub unsafe extern "C" fn get_device(stream: *mut c_void, out: *mut c_int) -> c_int {
    Rule::runtime("cudaStreamGetDevice").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        let device = call.streams[&stream].device;
        // SAFETY: as the caller promised.
        unsafe { put(out, device.cast_signed()) }
    })
}

/// `cudaStreamIsCapturing`
pub unsafe extern "C" fn is_capturing(stream: *mut c_void, out: *mut c_int) -> c_int {
    Rule::runtime("cudaStreamIsCapturing").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        let status = call.capture_status(stream)?;
        // SAFETY: as the caller promised.
        unsafe { put(out, status) }
    })
}

/// `cudaStreamBeginCapture`
pub unsafe extern "C" fn begin_capture(stream: *mut c_void, mode: c_int) -> c_int {
    Rule::runtime("cudaStreamBeginCapture").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        call.begin_capture(stream, mode)
    })
}

/// `cudaStreamEndCapture`
pub unsafe extern "C" fn end_capture(stream: *mut c_void, out: *mut *mut c_void) -> c_int {
    Rule::runtime("cudaStreamEndCapture").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        needs(out)?;
        let graph = call.end_capture(stream)?;
        // SAFETY: as the caller promised.
        unsafe { put(out, opaque(graph)) }
    })
}

/// `cudaGraphDestroy`
pub unsafe extern "C" fn graph_destroy(graph: *mut c_void) -> c_int {
    Rule::runtime("cudaGraphDestroy").run(|call| {
        if call.graphs.remove(&number(graph)).is_none() {
            return Err(call.no_such(number(graph)));
        }
        let who = call.who.clone();
        call.bury("graph", number(graph), &who);
        Ok(())
    })
}

/// `cudaThreadExchangeStreamCaptureMode`
pub unsafe extern "C" fn exchange_capture_mode(mode: *mut c_int) -> c_int {
    Rule::runtime("cudaThreadExchangeStreamCaptureMode").without_context().run(|call| {
        needs(mode)?;
        // SAFETY: not null, and the caller vouches for the rest.
        let wanted = unsafe { mode.read_unaligned() };
        if !is_mode(wanted) {
            return Err(Code::INVALID_VALUE);
        }
        let key = call.key;
        let previous = std::mem::replace(&mut call.thread(key).capture_mode, wanted);
        // SAFETY: as for the read.
        unsafe { put(mode, previous) }
    })
}
