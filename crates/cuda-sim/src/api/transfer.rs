//! Copies, fills and host functions.

use std::ffi::{c_int, c_void};

use crate::abi::HostFn;
use crate::call::Rule;
use crate::copying::{CopyDesc, number};
use crate::error::Code;
use crate::schedule::{Action, HostFunction};

/// `cudaMemcpy`
pub unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> c_int {
    let rule = Rule::runtime("cudaMemcpy").waits_for_stream(0);
    rule.run(|call| {
        let stream = call.stream(0)?;
        call.refuse_captured(stream)?;
        call.refuse_unsafe()?;
        call.copy_and_wait(stream, CopyDesc::linear(number(to), number(from), bytes, kind))
    })
}

/// `cudaMemcpyAsync`
pub unsafe extern "C" fn memcpy_async(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: *mut c_void,
) -> c_int {
    Rule::runtime("cudaMemcpyAsync").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        call.copy(stream, CopyDesc::linear(number(to), number(from), bytes, kind)).map(|_| ())
    })
}

/// `cudaMemcpy2DAsync`
pub unsafe extern "C" fn memcpy_2d_async(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    row: usize,
    rows: usize,
    kind: c_int,
    stream: *mut c_void,
) -> c_int {
    Rule::runtime("cudaMemcpy2DAsync").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        let (to, from) = (number(to), number(from));
        call.copy(stream, CopyDesc { to, to_pitch, from, from_pitch, row, rows, kind }).map(|_| ())
    })
}

/// `cudaMemset`
pub unsafe extern "C" fn memset(to: *mut c_void, value: c_int, bytes: usize) -> c_int {
    Rule::runtime("cudaMemset").on(0).run(|call| {
        let stream = call.stream(0)?;
        call.fill_and_wait(stream, number(to), low_byte(value), bytes)
    })
}

/// `cudaMemsetAsync`: like a kernel, and unlike a copy, it wants the stream's device to be current.
pub unsafe extern "C" fn memset_async(to: *mut c_void, value: c_int, bytes: usize, stream: *mut c_void) -> c_int {
    Rule::runtime("cudaMemsetAsync").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        let (owner, current) = (call.streams[&stream].device, call.device_of_call());
        call.check_device("a fill in a stream", owner, current);
        call.fill(stream, number(to), low_byte(value), bytes).map(|_| ())
    })
}

/// `cudaLaunchHostFunc`
pub unsafe extern "C" fn launch_host_func(stream: *mut c_void, function: Option<HostFn>, data: *mut c_void) -> c_int {
    Rule::runtime("cudaLaunchHostFunc").on(number(stream)).run(|call| {
        let stream = call.stream(number(stream))?;
        let function = function.ok_or(Code::INVALID_VALUE)?;
        call.enqueue(stream, Action::Host(HostFunction::new(function, data)), &[]).map(|_| ())
    })
}

fn low_byte(value: c_int) -> u8 {
    value.to_le_bytes()[0]
}
