//! Versions, devices, and the state of a whole device.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use super::{needs, put};
use crate::abi::{v11, v12, v13};
use crate::call::Rule;
use crate::device::{Device, version_needs_driver};
use crate::error::Code;
use crate::memory::DEVICE_BYTES;
use crate::state::{Major, major};

/// `cudaRuntimeGetVersion`
pub unsafe extern "C" fn runtime_get_version(out: *mut c_int) -> c_int {
    let rule = Rule::runtime("cudaRuntimeGetVersion");
    let rule = if version_needs_driver() { rule.without_context() } else { rule.without_driver() };
    // SAFETY: as the caller promised.
    rule.run(|_| unsafe { put(out, major().version()) })
}

/// `cudaDriverGetVersion`
pub unsafe extern "C" fn driver_get_version(out: *mut c_int) -> c_int {
    Rule::runtime("cudaDriverGetVersion").without_driver().run(|call| {
        let version = call.settings.driver_version();
        // SAFETY: as the caller promised.
        unsafe { put(out, version) }
    })
}

/// `cudaGetDeviceCount`
pub unsafe extern "C" fn get_device_count(out: *mut c_int) -> c_int {
    Rule::runtime("cudaGetDeviceCount").without_context().run(|call| {
        let count = c_int::try_from(call.devices().len()).map_err(|_| Code::INVALID_VALUE)?;
        // SAFETY: as the caller promised.
        unsafe { put(out, count) }
    })
}

/// `cudaGetDevice`
pub unsafe extern "C" fn get_device(out: *mut c_int) -> c_int {
    Rule::runtime("cudaGetDevice").without_context().run(|call| {
        let device = call.device_of_call();
        // SAFETY: as the caller promised.
        unsafe { put(out, device.cast_signed()) }
    })
}

/// `cudaSetDevice`
pub extern "C" fn set_device(device: c_int) -> c_int {
    Rule::runtime("cudaSetDevice").without_context().run(|call| {
        let (device, _) = call.device(device)?;
        let (key, who) = (call.key, call.who.clone());
        call.select_device(key, device, &who);
        Ok(())
    })
}

/// `cudaDeviceGetAttribute`
pub unsafe extern "C" fn get_attribute(out: *mut c_int, attribute: c_int, device: c_int) -> c_int {
    Rule::runtime("cudaDeviceGetAttribute").without_context().run(|call| {
        let (_, device) = call.device(device)?;
        let value = call.attribute(attribute, device)?;
        // SAFETY: as the caller promised.
        unsafe { put(out, value) }
    })
}

/// `cudaDeviceGetPCIBusId`
pub unsafe extern "C" fn get_pci_bus_id(out: *mut c_char, room: c_int, device: c_int) -> c_int {
    Rule::runtime("cudaDeviceGetPCIBusId").without_context().run(|call| {
        let (_, device) = call.device(device)?;
        needs(out)?;
        let text = device.pci_bus_id();
        let room = usize::try_from(room).map_err(|_| Code::INVALID_VALUE)?;
        if room < text.len() + 1 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller promised `room` bytes, and that many are enough.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), out, text.len()) };
        // SAFETY: as before; this is the last of them.
        unsafe { out.add(text.len()).write(0) };
        Ok(())
    })
}

/// `cudaGetDeviceProperties` of 11 and 13, `cudaGetDeviceProperties_v2` of 12: the structure of the major.
pub unsafe extern "C" fn get_properties(out: *mut c_void, device: c_int) -> c_int {
    let symbol = match major() {
        Major::V12 => "cudaGetDeviceProperties_v2",
        Major::V11 | Major::V13 => "cudaGetDeviceProperties",
    };
    Rule::runtime(symbol).without_context().run(|call| {
        let (_, device) = call.device(device)?;
        // SAFETY: the caller gave room for the structure of this major.
        unsafe {
            match major() {
                Major::V11 => put(out.cast(), properties_v11(device)),
                Major::V12 => put(out.cast(), properties_v12(device)),
                Major::V13 => put(out.cast(), properties_v13(device)),
            }
        }
    })
}

/// The plain `cudaGetDeviceProperties` of 12, with the structure of 11.
pub unsafe extern "C" fn get_properties_v1(out: *mut c_void, device: c_int) -> c_int {
    Rule::runtime("cudaGetDeviceProperties").without_context().run(|call| {
        let (_, device) = call.device(device)?;
        // SAFETY: the caller gave room for the structure of 11.
        unsafe { put(out.cast(), properties_v12_v1(device)) }
    })
}

/// `cudaDeviceSynchronize`
pub extern "C" fn device_synchronize() -> c_int {
    Rule::runtime("cudaDeviceSynchronize").waits_for_device().run(|call| {
        let context = call.ensure_context()?;
        call.refuse_captured_context(context)?;
        let device = call.device_of_call();
        let pending = call.work.on_device(device);
        let clock = call.device_clock(device);
        call.wait_until_done(&pending)?;
        call.learn(&clock);
        Ok(())
    })
}

/// `cudaDeviceReset`
pub extern "C" fn device_reset() -> c_int {
    Rule::runtime("cudaDeviceReset").without_context().unsafe_in_capture().run(|call| {
        let device = call.device_of_call();
        let (key, who) = (call.key, call.who.clone());
        let pending = call.work.on_device(device);
        call.wait_until_done(&pending)?;
        let context = match call.current(key) {
            Some(context) => context,
            None => call.primary(device, &who),
        };
        call.end_context(context, &who);
        call.lost.remove(&device);
        Ok(())
    })
}

/// `cuInit`
pub extern "C" fn init(flags: u32) -> c_int {
    Rule::driver("cuInit").without_driver().run(|call| match flags {
        0 => call.initialise(),
        _ => Err(Code::INVALID_VALUE),
    })
}

/// `cuDriverGetVersion`
pub unsafe extern "C" fn driver_version(out: *mut c_int) -> c_int {
    Rule::driver("cuDriverGetVersion").without_driver().run(|call| {
        let version = call.settings.driver_version();
        // SAFETY: as the caller promised.
        unsafe { put(out, version) }
    })
}

macro_rules! properties {
    ($function:ident, $struct:ty) => {
        fn $function(device: Device) -> $struct {
            // SAFETY: the structure is numbers only, for which zeroes are valid.
            let mut properties: $struct = unsafe { std::mem::zeroed() };
            let name = device.name();
            properties.name[..name.len()].copy_from_slice(name.as_bytes());
            properties.uuid = device.uuid();
            properties.luid = device.luid();
            properties.luid_device_node_mask = 1;
            properties.total_global_mem = DEVICE_BYTES;
            properties.major = 9;
            properties
        }
    };
}

properties!(properties_v11, v11::DeviceProp);
properties!(properties_v12, v12::DeviceProp);
properties!(properties_v12_v1, v12::DevicePropV1);
properties!(properties_v13, v13::DeviceProp);
