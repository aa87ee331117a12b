//! Structures and constants of the runtime, in the layout of CUDA 13.
//!
//! Version 13 only appended reserved words to the *input* structures, so versions 11 and 12 read their own prefix of
//! what is declared here; a zeroed structure of this layout is right for all three. *Output* structures grew too:
//! [`cudaPointerAttributes`] is declared in its largest form, so that every version writes inside it.
//!
//! Sizes and offsets are asserted below and compared with NVIDIA's headers by the test tier `cudart`.

#![expect(non_camel_case_types, reason = "the names are those of the C headers")]
#![expect(non_upper_case_globals, reason = "the names are those of the C headers")]
#![expect(non_snake_case, reason = "the names are those of the C headers")]

use std::ffi::{c_int, c_uint, c_void};

/// What every call of the runtime returns; 0 is success.
pub type cudaError_t = c_int;
/// What every call of the driver returns; 0 is success. The numbers are those of `cudaError_t` where both exist.
pub type CUresult = c_int;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub type $name = *mut c_void;
    )*};
}

handles! {
    /// A stream. 0, 1 and 2 are the legacy default, the explicit legacy and the per-thread stream.
    cudaStream_t;
    /// An event.
    cudaEvent_t;
    /// An imported allocation.
    cudaExternalMemory_t;
    /// An imported semaphore or fence.
    cudaExternalSemaphore_t;
    /// An array: opaque, tiled memory.
    cudaArray_t;
    /// An array with levels.
    cudaMipmappedArray_t;
    /// A registered graphics object.
    cudaGraphicsResource_t;
    /// A context of the driver.
    CUcontext;
}

/// Fails to compile when `$type` is not `$size` bytes long or a field is not at its offset.
macro_rules! layout {
    ($type:ty, size $size:expr $(, $field:tt @ $offset:expr)*) => {
        const _: () = {
            assert!(size_of::<$type>() == $size);
            $(assert!(core::mem::offset_of!($type, $field) == $offset);)*
        };
    };
}

/// `win32` of the handle unions: a handle, or the name of one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Win32Handle {
    /// The NT handle.
    pub handle: *mut c_void,
    /// The name of the handle, where `handle` is null.
    pub name: *const c_void,
}
layout!(Win32Handle, size 16, handle @ 0, name @ 8);

/// Whose allocation is imported: a file descriptor, or a handle of Windows.
#[repr(C)]
#[derive(Clone, Copy)]
pub union HandleUnion {
    /// A file descriptor.
    pub fd: c_int,
    /// A handle of Windows.
    pub win32: Win32Handle,
    /// An NvSci object.
    pub nvsci: *const c_void,
}
layout!(HandleUnion, size 16, fd @ 0, win32 @ 0, nvsci @ 0);

impl std::fmt::Debug for HandleUnion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HandleUnion")
    }
}

/// Input of `cudaImportExternalMemory`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaExternalMemoryHandleDesc {
    /// One of the `cudaExternalMemoryHandleType` values.
    pub r#type: c_int,
    /// Whose memory.
    pub handle: HandleUnion,
    /// Its size in bytes.
    pub size: u64,
    /// 0 or [`cudaExternalMemoryDedicated`].
    pub flags: c_uint,
    /// Zero.
    pub reserved: [c_uint; 16],
}
layout!(cudaExternalMemoryHandleDesc, size 104, r#type @ 0, handle @ 8, size @ 24, flags @ 32, reserved @ 36);

/// Input of `cudaExternalMemoryGetMappedBuffer`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaExternalMemoryBufferDesc {
    /// First byte of the buffer in the import.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Zero.
    pub flags: c_uint,
    /// Zero.
    pub reserved: [c_uint; 16],
}
layout!(cudaExternalMemoryBufferDesc, size 88, offset @ 0, size @ 8, flags @ 16, reserved @ 20);

/// Bits of each channel of an array's element, and what they mean.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cudaChannelFormatDesc {
    /// Bits of the first channel.
    pub x: c_int,
    /// Bits of the second.
    pub y: c_int,
    /// Bits of the third.
    pub z: c_int,
    /// Bits of the fourth.
    pub w: c_int,
    /// One of the `cudaChannelFormatKind` values.
    pub f: c_int,
}
layout!(cudaChannelFormatDesc, size 20, x @ 0, y @ 4, z @ 8, w @ 12, f @ 16);

/// Size of an array or a copy: elements, rows, slices. Depth 0 means two dimensions for an array.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cudaExtent {
    /// Elements of a row (bytes for linear memory).
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}
layout!(cudaExtent, size 24, width @ 0, height @ 8, depth @ 16);

/// Input of `cudaExternalMemoryGetMappedMipmappedArray`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaExternalMemoryMipmappedArrayDesc {
    /// First byte of the image in the import.
    pub offset: u64,
    /// Its element.
    pub formatDesc: cudaChannelFormatDesc,
    /// Its size.
    pub extent: cudaExtent,
    /// For example [`cudaArrayColorAttachment`].
    pub flags: c_uint,
    /// Its number of levels.
    pub numLevels: c_uint,
    /// Zero.
    pub reserved: [c_uint; 16],
}
layout!(cudaExternalMemoryMipmappedArrayDesc, size 128, offset @ 0, formatDesc @ 8, extent @ 32, flags @ 56, numLevels @ 60, reserved @ 64);

/// Input of `cudaImportExternalSemaphore`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaExternalSemaphoreHandleDesc {
    /// One of the `cudaExternalSemaphoreHandleType` values.
    pub r#type: c_int,
    /// Whose semaphore.
    pub handle: HandleUnion,
    /// Zero.
    pub flags: c_uint,
    /// Zero.
    pub reserved: [c_uint; 16],
}
layout!(cudaExternalSemaphoreHandleDesc, size 96, r#type @ 0, handle @ 8, flags @ 24, reserved @ 28);

/// A value of a fence, an NvSci fence, and a keyed mutex: what a semaphore is signalled with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaExternalSemaphoreSignalParams {
    /// The fence's value.
    pub fence_value: u64,
    /// An NvSci fence.
    pub nvSciSync: *mut c_void,
    /// The keyed mutex's key.
    pub keyedMutex_key: u64,
    /// Zero.
    pub params_reserved: [c_uint; 12],
    /// Zero.
    pub flags: c_uint,
    /// Zero.
    pub reserved: [c_uint; 16],
}
layout!(cudaExternalSemaphoreSignalParams, size 144, fence_value @ 0, nvSciSync @ 8, keyedMutex_key @ 16, params_reserved @ 24, flags @ 72, reserved @ 76);

/// What a semaphore is waited for with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaExternalSemaphoreWaitParams {
    /// The fence's value.
    pub fence_value: u64,
    /// An NvSci fence.
    pub nvSciSync: *mut c_void,
    /// The keyed mutex's key.
    pub keyedMutex_key: u64,
    /// How long a keyed mutex is waited for, in milliseconds.
    pub keyedMutex_timeoutMs: c_uint,
    /// Zero.
    pub params_reserved: [c_uint; 11],
    /// Zero.
    pub flags: c_uint,
    /// Zero.
    pub reserved: [c_uint; 16],
}
layout!(cudaExternalSemaphoreWaitParams, size 144, fence_value @ 0, nvSciSync @ 8, keyedMutex_key @ 16, keyedMutex_timeoutMs @ 24, flags @ 72, reserved @ 76);

/// Output of `cudaPointerGetAttributes`. CUDA 13 writes 88 bytes, earlier versions 24.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaPointerAttributes {
    /// One of the `cudaMemoryType` values.
    pub r#type: c_int,
    /// The device that owns the memory, or that the host memory was registered with.
    pub device: c_int,
    /// The address for that device, or null.
    pub devicePointer: *mut c_void,
    /// The address for the host, or null.
    pub hostPointer: *mut c_void,
    /// Written by CUDA 13.
    pub reserved: [u64; 8],
}
layout!(cudaPointerAttributes, size 88, r#type @ 0, device @ 4, devicePointer @ 8, hostPointer @ 16, reserved @ 24);

/// A pitched pointer of a three-dimensional copy.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaPitchedPtr {
    /// The first byte.
    pub ptr: *mut c_void,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Elements of a row.
    pub xsize: usize,
    /// Rows.
    pub ysize: usize,
}
layout!(cudaPitchedPtr, size 32, ptr @ 0, pitch @ 8, xsize @ 16, ysize @ 24);

/// Input of `cudaMemcpy3D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cudaMemcpy3DParms {
    /// The array to read, or null.
    pub srcArray: cudaArray_t,
    /// Where in the source.
    pub srcPos: cudaExtent,
    /// The memory to read, where there is no array.
    pub srcPtr: cudaPitchedPtr,
    /// The array to write, or null.
    pub dstArray: cudaArray_t,
    /// Where in the destination.
    pub dstPos: cudaExtent,
    /// The memory to write, where there is no array.
    pub dstPtr: cudaPitchedPtr,
    /// How much.
    pub extent: cudaExtent,
    /// One of the `cudaMemcpyKind` values.
    pub kind: c_int,
}
layout!(cudaMemcpy3DParms, size 160, srcArray @ 0, srcPos @ 8, srcPtr @ 32, dstArray @ 64, dstPos @ 72, dstPtr @ 96, extent @ 128, kind @ 152);

/// A handle of an allocation for other processes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cudaIpcMemHandle_t {
    /// Opaque.
    pub reserved: [u8; 64],
}
layout!(cudaIpcMemHandle_t, size 64, reserved @ 0);

/// `cudaDeviceProp`, of which only a few fields have the same place in every version.
///
/// The runtime writes 728 (11), 1032 (12) or 1008 (13) bytes; the buffer is larger than any of them.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct DeviceProperties {
    /// The name, ended by a zero.
    pub name: [u8; 256],
    /// The UUID.
    pub uuid: [u8; 16],
    /// The LUID on Windows.
    pub luid: [u8; 8],
    /// The mask of nodes of that LUID.
    pub luidDeviceNodeMask: c_uint,
    /// Bytes of memory.
    pub totalGlobalMem: usize,
    rest: [u8; 3800],
}
layout!(DeviceProperties, size 4096, name @ 0, uuid @ 256, luid @ 272, luidDeviceNodeMask @ 280, totalGlobalMem @ 288);

impl Default for DeviceProperties {
    fn default() -> Self {
        Self { name: [0; 256], uuid: [0; 16], luid: [0; 8], luidDeviceNodeMask: 0, totalGlobalMem: 0, rest: [0; 3800] }
    }
}

macro_rules! constants {
    ($($doc:literal $ty:ident { $($name:ident = $value:expr;)* })*) => {$(
        $(
            #[doc = $doc]
            pub const $name: $ty = $value;
        )*
    )*};
}

constants! {
    "A kind of handle for `cudaImportExternalMemory`."
    c_int {
        cudaExternalMemoryHandleTypeOpaqueFd = 1;
        cudaExternalMemoryHandleTypeOpaqueWin32 = 2;
        cudaExternalMemoryHandleTypeOpaqueWin32Kmt = 3;
        cudaExternalMemoryHandleTypeD3D12Heap = 4;
        cudaExternalMemoryHandleTypeD3D12Resource = 5;
        cudaExternalMemoryHandleTypeD3D11Resource = 6;
        cudaExternalMemoryHandleTypeD3D11ResourceKmt = 7;
        cudaExternalMemoryHandleTypeNvSciBuf = 8;
    }
    "A kind of handle for `cudaImportExternalSemaphore`."
    c_int {
        cudaExternalSemaphoreHandleTypeOpaqueFd = 1;
        cudaExternalSemaphoreHandleTypeOpaqueWin32 = 2;
        cudaExternalSemaphoreHandleTypeOpaqueWin32Kmt = 3;
        cudaExternalSemaphoreHandleTypeD3D12Fence = 4;
        cudaExternalSemaphoreHandleTypeD3D11Fence = 5;
        cudaExternalSemaphoreHandleTypeNvSciSync = 6;
        cudaExternalSemaphoreHandleTypeKeyedMutex = 7;
        cudaExternalSemaphoreHandleTypeKeyedMutexKmt = 8;
        cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd = 9;
        cudaExternalSemaphoreHandleTypeTimelineSemaphoreWin32 = 10;
    }
    "A flag of an import, an array, a registration, a stream or an event."
    c_uint {
        cudaExternalMemoryDedicated = 1;
        cudaArrayColorAttachment = 0x20;
        cudaHostRegisterDefault = 0;
        cudaHostRegisterPortable = 1;
        cudaHostRegisterMapped = 2;
        cudaHostRegisterReadOnly = 8;
        cudaStreamNonBlocking = 1;
        cudaEventDisableTiming = 2;
    }
    "A direction of a copy."
    c_int {
        cudaMemcpyHostToHost = 0;
        cudaMemcpyHostToDevice = 1;
        cudaMemcpyDeviceToHost = 2;
        cudaMemcpyDeviceToDevice = 3;
        cudaMemcpyDefault = 4;
    }
    "What a channel's bits mean."
    c_int {
        cudaChannelFormatKindSigned = 0;
        cudaChannelFormatKindUnsigned = 1;
        cudaChannelFormatKindFloat = 2;
    }
    "What a pointer points to."
    c_int {
        cudaMemoryTypeUnregistered = 0;
        cudaMemoryTypeHost = 1;
        cudaMemoryTypeDevice = 2;
        cudaMemoryTypeManaged = 3;
    }
    "How strictly a capture forbids calls that would break it."
    c_int {
        cudaStreamCaptureModeGlobal = 0;
        cudaStreamCaptureModeThreadLocal = 1;
        cudaStreamCaptureModeRelaxed = 2;
    }
    "Whether a stream is being captured."
    c_int {
        cudaStreamCaptureStatusNone = 0;
        cudaStreamCaptureStatusActive = 1;
        cudaStreamCaptureStatusInvalidated = 2;
    }
    "An attribute of a device."
    c_int {
        cudaDevAttrHostRegisterSupported = 99;
        cudaDevAttrHostRegisterReadOnlySupported = 113;
        cudaDevAttrMemoryPoolsSupported = 115;
    }
}

/// The legacy default stream by name; the null handle means the same.
pub const cudaStreamLegacy: usize = 1;
/// The per-thread default stream: another stream on every thread.
pub const cudaStreamPerThread: usize = 2;
