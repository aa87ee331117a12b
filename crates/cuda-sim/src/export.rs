//! The table of symbols, and the macro by which a library exports those of one major.
//!
//! One row a symbol: name, arguments, result, and the function of [`crate::api`] behind it. What a major has
//! more than the others, or otherwise, stands in its own list.

/// Hands the rows that all majors have, and those given, to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! symbols_of_all {
    ($then:ident, $major:ident, { $($own:tt)* }) => {
        $then! { $major;
            $($own)*
            cudaRuntimeGetVersion(out: *mut c_int) -> c_int = device::runtime_get_version;
            cudaDriverGetVersion(out: *mut c_int) -> c_int = device::driver_get_version;
            cudaGetDeviceCount(out: *mut c_int) -> c_int = device::get_device_count;
            cudaGetDevice(out: *mut c_int) -> c_int = device::get_device;
            cudaSetDevice(device: c_int) -> c_int = device::set_device;
            cudaDeviceGetAttribute(out: *mut c_int, attribute: c_int, device: c_int) -> c_int = device::get_attribute;
            cudaDeviceGetPCIBusId(out: *mut c_char, room: c_int, device: c_int) -> c_int = device::get_pci_bus_id;
            cudaDeviceSynchronize() -> c_int = device::device_synchronize;
            cudaDeviceReset() -> c_int = device::device_reset;
            cudaGetErrorName(code: c_int) -> *const c_char = error::get_error_name;
            cudaGetErrorString(code: c_int) -> *const c_char = error::get_error_string;
            cudaGetLastError() -> c_int = error::get_last_error;
            cudaPeekAtLastError() -> c_int = error::peek_at_last_error;
            cudaMalloc(out: *mut *mut c_void, bytes: usize) -> c_int = memory::malloc;
            cudaFree(address: *mut c_void) -> c_int = memory::free;
            cudaMallocAsync(out: *mut *mut c_void, bytes: usize, stream: *mut c_void) -> c_int = memory::malloc_async;
            cudaFreeAsync(address: *mut c_void, stream: *mut c_void) -> c_int = memory::free_async;
            cudaHostAlloc(out: *mut *mut c_void, bytes: usize, flags: u32) -> c_int = memory::host_alloc;
            cudaMallocHost(out: *mut *mut c_void, bytes: usize) -> c_int = memory::malloc_host;
            cudaFreeHost(address: *mut c_void) -> c_int = memory::free_host;
            cudaHostRegister(address: *mut c_void, bytes: usize, flags: u32) -> c_int = memory::host_register;
            cudaHostUnregister(address: *mut c_void) -> c_int = memory::host_unregister;
            cudaHostGetDevicePointer(out: *mut *mut c_void, host: *mut c_void, flags: u32) -> c_int = memory::host_get_device_pointer;
            cudaPointerGetAttributes(out: *mut c_void, address: *const c_void) -> c_int = memory::pointer_get_attributes;
            cudaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> c_int = transfer::memcpy;
            cudaMemcpyAsync(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int, stream: *mut c_void) -> c_int = transfer::memcpy_async;
            cudaMemcpy2DAsync(to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, row: usize, rows: usize, kind: c_int, stream: *mut c_void) -> c_int = transfer::memcpy_2d_async;
            cudaMemset(to: *mut c_void, value: c_int, bytes: usize) -> c_int = transfer::memset;
            cudaMemsetAsync(to: *mut c_void, value: c_int, bytes: usize, stream: *mut c_void) -> c_int = transfer::memset_async;
            cudaLaunchHostFunc(stream: *mut c_void, function: Option<HostFn>, data: *mut c_void) -> c_int = transfer::launch_host_func;
            cudaStreamCreate(out: *mut *mut c_void) -> c_int = stream::create;
            cudaStreamCreateWithFlags(out: *mut *mut c_void, flags: u32) -> c_int = stream::create_with_flags;
            cudaStreamDestroy(stream: *mut c_void) -> c_int = stream::destroy;
            cudaStreamSynchronize(stream: *mut c_void) -> c_int = stream::synchronize;
            cudaStreamQuery(stream: *mut c_void) -> c_int = stream::query;
            cudaStreamWaitEvent(stream: *mut c_void, event: *mut c_void, flags: u32) -> c_int = stream::wait_event;
            cudaStreamIsCapturing(stream: *mut c_void, out: *mut c_int) -> c_int = stream::is_capturing;
            cudaStreamBeginCapture(stream: *mut c_void, mode: c_int) -> c_int = stream::begin_capture;
            cudaStreamEndCapture(stream: *mut c_void, out: *mut *mut c_void) -> c_int = stream::end_capture;
            cudaGraphDestroy(graph: *mut c_void) -> c_int = stream::graph_destroy;
            cudaThreadExchangeStreamCaptureMode(mode: *mut c_int) -> c_int = stream::exchange_capture_mode;
            cudaEventCreate(out: *mut *mut c_void) -> c_int = event::create;
            cudaEventCreateWithFlags(out: *mut *mut c_void, flags: u32) -> c_int = event::create_with_flags;
            cudaEventDestroy(event: *mut c_void) -> c_int = event::destroy;
            cudaEventRecord(event: *mut c_void, stream: *mut c_void) -> c_int = event::record;
            cudaEventQuery(event: *mut c_void) -> c_int = event::query;
            cudaEventSynchronize(event: *mut c_void) -> c_int = event::synchronize;
            cudaImportExternalMemory(out: *mut *mut c_void, desc: *const c_void) -> c_int = external::import;
            cudaExternalMemoryGetMappedBuffer(out: *mut *mut c_void, memory: *mut c_void, desc: *const c_void) -> c_int = external::get_mapped_buffer;
            cudaDestroyExternalMemory(memory: *mut c_void) -> c_int = external::destroy;
            cuInit(flags: u32) -> c_int = device::init;
            cuDriverGetVersion(out: *mut c_int) -> c_int = device::driver_version;
            cuGetErrorName(code: c_int, out: *mut *const c_char) -> c_int = error::driver_error_name;
            cuGetErrorString(code: c_int, out: *mut *const c_char) -> c_int = error::driver_error_string;
            cuCtxGetCurrent(out: *mut *mut c_void) -> c_int = context::get_current;
            cuCtxPushCurrent(context: *mut c_void) -> c_int = context::push_current;
            cuCtxPushCurrent_v2(context: *mut c_void) -> c_int = context::push_current;
            cuCtxPopCurrent_v2(out: *mut *mut c_void) -> c_int = context::pop_current;
            cuCtxGetDevice(out: *mut c_int) -> c_int = context::get_device;
            cuCtxGetId(context: *mut c_void, out: *mut u64) -> c_int = context::get_id;
            cuCtxCreate_v2(out: *mut *mut c_void, flags: u32, device: c_int) -> c_int = context::create;
            cuCtxDestroy_v2(context: *mut c_void) -> c_int = context::destroy;
            cuStreamGetCtx(stream: *mut c_void, out: *mut *mut c_void) -> c_int = context::stream_get_context;
            cuDevicePrimaryCtxGetState(device: c_int, flags: *mut u32, active: *mut c_int) -> c_int = context::primary_get_state;
            cuDevicePrimaryCtxRetain(out: *mut *mut c_void, device: c_int) -> c_int = context::primary_retain;
            cuDevicePrimaryCtxRelease_v2(device: c_int) -> c_int = context::primary_release;
            edgefirst_cuda_sim() -> *const c_char = control::marker;
            sim_control(commands: *const c_char) -> c_int = control::sim_control;
            sim_read(what: *const c_char, to: *mut c_char, room: usize) -> usize = control::sim_read;
            sim_export_fd(bytes: usize, out: *mut c_int) -> c_int = control::sim_export_fd;
            sim_adopt_fd(fd: c_int, offset: usize) -> c_int = control::sim_adopt_fd;
            sim_host_access(address: *const c_void, bytes: usize, write: c_int) -> c_int = control::sim_host_access;
        }
    };
}

/// The symbols of 11.
#[doc(hidden)]
#[macro_export]
macro_rules! symbols_v11 {
    ($then:ident, $major:ident) => {
        $crate::symbols_of_all! { $then, $major, {
            cudaGetDeviceProperties(out: *mut c_void, device: c_int) -> c_int = device::get_properties;
        } }
    };
}

/// The symbols of 12.
#[doc(hidden)]
#[macro_export]
macro_rules! symbols_v12 {
    ($then:ident, $major:ident) => {
        $crate::symbols_of_all! { $then, $major, {
            cudaGetDeviceProperties(out: *mut c_void, device: c_int) -> c_int = device::get_properties_v1;
            cudaGetDeviceProperties_v2(out: *mut c_void, device: c_int) -> c_int = device::get_properties;
            cudaStreamGetDevice(stream: *mut c_void, out: *mut c_int) -> c_int = stream::get_device;
        } }
    };
}

/// The symbols of 13.
#[doc(hidden)]
#[macro_export]
macro_rules! symbols_v13 {
    ($then:ident, $major:ident) => {
        $crate::symbols_of_all! { $then, $major, {
            cudaGetDeviceProperties(out: *mut c_void, device: c_int) -> c_int = device::get_properties;
            cudaStreamGetDevice(stream: *mut c_void, out: *mut c_int) -> c_int = stream::get_device;
        } }
    };
}

/// Exports the symbols of a major: `edgefirst_cuda_sim::export!(symbols_v12, V12);`
#[macro_export]
macro_rules! export {
    ($symbols:ident, $major:ident) => {
        use std::ffi::{c_char, c_int, c_void};
        use $crate::abi::HostFn;
        use $crate::{export_rows, $symbols};
        $symbols! { export_rows, $major }
    };
}

/// What [`export!`](crate::export) makes of the rows.
#[doc(hidden)]
#[macro_export]
macro_rules! export_rows {
    ($major:ident; $($symbol:ident($($argument:ident: $type:ty),*) -> $result:ty = $topic:ident::$function:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(unused_unsafe, reason = "some rows are safe to call")]
            unsafe extern "C" fn $symbol($($argument: $type),*) -> $result {
                $crate::speak_as($crate::Major::$major);
                // SAFETY: the caller's promise is passed on as it came.
                unsafe { $crate::api::$topic::$function($($argument),*) }
            }
        )*
    };
}
