//! Events.

use std::ffi::{c_int, c_void};

use super::{needs, put};
use crate::call::{Call, Rule};
use crate::copying::{number, opaque};
use crate::error::{Answer, Code};
use crate::event::{Event, Recorded};

/// Blocking wait, no timing, interprocess.
const FLAGS: u32 = 7;

/// `cudaEventCreate`
pub unsafe extern "C" fn create(out: *mut *mut c_void) -> c_int {
    Rule::runtime("cudaEventCreate").run(|call| {
        // SAFETY: as the caller promised.
        unsafe { make(call, out) }
    })
}

/// `cudaEventCreateWithFlags`
pub unsafe extern "C" fn create_with_flags(out: *mut *mut c_void, flags: u32) -> c_int {
    Rule::runtime("cudaEventCreateWithFlags").run(|call| {
        if flags & !FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: as the caller promised.
        unsafe { make(call, out) }
    })
}

unsafe fn make(call: &mut Call, out: *mut *mut c_void) -> Answer {
    needs(out)?;
    let (context, device) = (call.ensure_context()?, call.device_of_call());
    let handle = call.new_handle();
    let event = Event { context, device, recorded: Recorded::Never, made: call.who.clone() };
    call.events.insert(handle, event);
    // SAFETY: as the caller promised.
    unsafe { put(out, opaque(handle)) }
}

/// `cudaEventDestroy`: also of an event that is not complete, or that a stream waits for.
pub unsafe extern "C" fn destroy(event: *mut c_void) -> c_int {
    Rule::runtime("cudaEventDestroy").run(|call| {
        call.event(number(event))?;
        call.events.remove(&number(event));
        let who = call.who.clone();
        call.bury("event", number(event), &who);
        Ok(())
    })
}

/// `cudaEventRecord`
pub unsafe extern "C" fn record(event: *mut c_void, stream: *mut c_void) -> c_int {
    Rule::runtime("cudaEventRecord").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        call.record_event(number(event), stream)
    })
}

/// `cudaEventQuery`
pub unsafe extern "C" fn query(event: *mut c_void) -> c_int {
    Rule::runtime("cudaEventQuery").unsafe_in_capture().queries().run(|call| {
        let Some((op, clock)) = call.event_point(number(event))? else {
            return Ok(());
        };
        call.pump(&[op]);
        if call.work.is_pending(op) {
            return Err(Code::NOT_READY);
        }
        call.learn(&clock);
        Ok(())
    })
}

/// `cudaEventSynchronize`
pub unsafe extern "C" fn synchronize(event: *mut c_void) -> c_int {
    let rule = Rule::runtime("cudaEventSynchronize").unsafe_in_capture().waits_for_event(number(event));
    rule.run(|call| {
        let Some((op, clock)) = call.event_point(number(event))? else {
            return Ok(());
        };
        call.wait_until_done(&[op])?;
        call.learn(&clock);
        Ok(())
    })
}
