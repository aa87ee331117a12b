//! Errors: `cudaGetLastError`, names and texts.

use std::ffi::{c_char, c_int};
use std::ptr;

use super::put;
use crate::call::Rule;
use crate::error::{Answer, Code};

/// `cudaGetErrorName`
pub extern "C" fn get_error_name(code: c_int) -> *const c_char {
    Code(code).name().as_ptr()
}

/// `cudaGetErrorString`
pub extern "C" fn get_error_string(code: c_int) -> *const c_char {
    Code(code).text().as_ptr()
}

/// `cudaGetLastError`
pub extern "C" fn get_last_error() -> c_int {
    Rule::runtime("cudaGetLastError").reads_last_error().run(|call| {
        let (key, resting) = (call.key, call.resting_error());
        let last = std::mem::replace(&mut call.thread(key).last_error, Code(0));
        as_answer(last, resting)
    })
}

/// `cudaPeekAtLastError`
pub extern "C" fn peek_at_last_error() -> c_int {
    Rule::runtime("cudaPeekAtLastError").reads_last_error().run(|call| {
        let (key, resting) = (call.key, call.resting_error());
        as_answer(call.thread(key).last_error, resting)
    })
}

/// `cuGetErrorName`
pub unsafe extern "C" fn driver_error_name(code: c_int, out: *mut *const c_char) -> c_int {
    let name = Code(code).driver_name();
    // SAFETY: as the caller promised.
    let written = unsafe { put(out, name.map_or(ptr::null(), |name| name.as_ptr())) };
    match (written, name) {
        (Ok(()), Some(_)) => 0,
        _ => Code::INVALID_VALUE.0,
    }
}

/// `cuGetErrorString`
pub unsafe extern "C" fn driver_error_string(code: c_int, out: *mut *const c_char) -> c_int {
    let known = Code(code).driver_name().is_some();
    let text = if known { Code(code).text().as_ptr() } else { ptr::null() };
    // SAFETY: as the caller promised.
    let written = unsafe { put(out, text) };
    if written.is_ok() && known { 0 } else { Code::INVALID_VALUE.0 }
}

/// Where there is a resting error, it covers every other.
fn as_answer(last: Code, resting: Code) -> Answer {
    let code = if resting.0 == 0 { last } else { resting };
    if code.0 == 0 { Ok(()) } else { Err(code) }
}
