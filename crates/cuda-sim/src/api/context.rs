//! The driver's calls about contexts.

use std::ffi::{c_int, c_void};

use super::{needs, put};
use crate::call::{Call, Rule};
use crate::copying::{number, opaque};
use crate::error::{Answer, Code};

/// `cuCtxGetCurrent`: null if there is none.
pub unsafe extern "C" fn get_current(out: *mut *mut c_void) -> c_int {
    Rule::driver("cuCtxGetCurrent").run(|call| {
        let current = call.current(call.key).unwrap_or(0);
        // SAFETY: as the caller promised.
        unsafe { put(out, opaque(current)) }
    })
}

/// `cuCtxPushCurrent_v2`
pub unsafe extern "C" fn push_current(context: *mut c_void) -> c_int {
    Rule::driver("cuCtxPushCurrent_v2").run(|call| {
        let (context, key) = (number(context), call.key);
        known(call, context)?;
        call.thread(key).contexts.push(context);
        Ok(())
    })
}

/// `cuCtxPopCurrent_v2`
pub unsafe extern "C" fn pop_current(out: *mut *mut c_void) -> c_int {
    Rule::driver("cuCtxPopCurrent_v2").run(|call| {
        let key = call.key;
        let popped = call.thread(key).contexts.pop().ok_or(Code::INVALID_CONTEXT)?;
        if out.is_null() {
            return Ok(());
        }
        // SAFETY: not null, and as the caller promised.
        unsafe { put(out, opaque(popped)) }
    })
}

/// `cuCtxGetDevice`
pub unsafe extern "C" fn get_device(out: *mut c_int) -> c_int {
    Rule::driver("cuCtxGetDevice").run(|call| {
        let context = call.current(call.key).ok_or(Code::INVALID_CONTEXT)?;
        let device = call.contexts.get(&context).ok_or(Code::INVALID_CONTEXT)?.device;
        // SAFETY: as the caller promised.
        unsafe { put(out, device.cast_signed()) }
    })
}

/// `cuCtxGetId`: of the current context if none is given.
pub unsafe extern "C" fn get_id(context: *mut c_void, out: *mut u64) -> c_int {
    Rule::driver("cuCtxGetId").run(|call| {
        let given = Some(number(context)).filter(|context| *context != 0);
        let context = given.or_else(|| call.current(call.key)).ok_or(Code::INVALID_CONTEXT)?;
        known(call, context)?;
        let id = call.contexts[&context].id;
        // SAFETY: as the caller promised.
        unsafe { put(out, id) }
    })
}

/// `cuCtxCreate_v2`: the new context is current at once.
pub unsafe extern "C" fn create(out: *mut *mut c_void, _flags: u32, device: c_int) -> c_int {
    Rule::driver("cuCtxCreate_v2").run(|call| {
        needs(out)?;
        let (device, _) = call.device(device)?;
        let (key, who) = (call.key, call.who.clone());
        let context = call.add_context(device, false, true, &who);
        call.thread(key).contexts.push(context);
        // SAFETY: as the caller promised.
        unsafe { put(out, opaque(context)) }
    })
}

/// `cuCtxDestroy_v2`: popped if it is current on the calling thread; other threads keep it and get 709.
pub unsafe extern "C" fn destroy(context: *mut c_void) -> c_int {
    Rule::driver("cuCtxDestroy_v2").run(|call| {
        let (context, key, who) = (number(context), call.key, call.who.clone());
        known(call, context)?;
        if call.contexts[&context].primary {
            return Err(Code::INVALID_CONTEXT);
        }
        call.end_context(context, &who);
        let own = &mut call.thread(key).contexts;
        if own.last() == Some(&context) {
            own.pop();
        }
        Ok(())
    })
}

/// `cuStreamGetCtx`
pub unsafe extern "C" fn stream_get_context(stream: *mut c_void, out: *mut *mut c_void) -> c_int {
    Rule::driver("cuStreamGetCtx").on(number(stream)).run(|call| {
        let context = match number(stream) {
            0..=2 => call.current(call.key).ok_or(Code::INVALID_CONTEXT)?,
            handle => {
                let stream = call.stream(handle)?;
                call.streams[&stream].context
            }
        };
        // SAFETY: as the caller promised.
        unsafe { put(out, opaque(context)) }
    })
}

/// `cuDevicePrimaryCtxGetState`: creates nothing.
pub unsafe extern "C" fn primary_get_state(device: c_int, flags: *mut u32, active: *mut c_int) -> c_int {
    Rule::driver("cuDevicePrimaryCtxGetState").run(|call| {
        let (device, _) = call.device(device)?;
        needs(flags)?;
        let lives = call.contexts.values().any(|own| own.primary && own.device == device && own.active);
        // SAFETY: as the caller promised.
        unsafe { put(active, c_int::from(lives)) }?;
        // SAFETY: as the caller promised.
        unsafe { put(flags, 0) }
    })
}

/// `cuDevicePrimaryCtxRetain`: begins its life, but makes it current nowhere.
pub unsafe extern "C" fn primary_retain(out: *mut *mut c_void, device: c_int) -> c_int {
    Rule::driver("cuDevicePrimaryCtxRetain").run(|call| {
        needs(out)?;
        let (device, _) = call.device(device)?;
        let who = call.who.clone();
        let context = call.primary(device, &who);
        call.activate(context);
        if let Some(context) = call.contexts.get_mut(&context) {
            context.retained.push(who);
        }
        // SAFETY: as the caller promised.
        unsafe { put(out, opaque(context)) }
    })
}

/// `cuDevicePrimaryCtxRelease_v2`. The runtime's own reference keeps the context alive.
pub extern "C" fn primary_release(device: c_int) -> c_int {
    Rule::driver("cuDevicePrimaryCtxRelease_v2").run(|call| {
        let (device, _) = call.device(device)?;
        let mut contexts = call.contexts.values_mut();
        let primary = contexts.find(|own| own.primary && own.device == device && own.active);
        let released = primary.and_then(|primary| primary.retained.pop());
        released.map(|_| ()).ok_or(Code::INVALID_CONTEXT)
    })
}

fn known(call: &mut Call, context: usize) -> Answer {
    match call.contexts.get(&context) {
        Some(context) if context.primary || context.active => Ok(()),
        Some(_) => Err(Code::CONTEXT_DESTROYED),
        None => Err(Code::INVALID_CONTEXT),
    }
}
