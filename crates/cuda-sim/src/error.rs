//! Result codes: their numbers, names and texts.

use std::ffi::CStr;

/// A result code of the runtime (`cudaError_t`) or of the driver (`CUresult`); the two agree on their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) i32);

/// What a call answers: nothing, or a code that is not success.
pub(crate) type Answer<T = ()> = Result<T, Code>;

impl Code {
    pub(crate) const INVALID_VALUE: Code = Code(1);
    pub(crate) const OUT_OF_MEMORY: Code = Code(2);
    pub(crate) const NOT_INITIALIZED: Code = Code(3);
    pub(crate) const UNLOADING: Code = Code(4);
    pub(crate) const INVALID_PITCH: Code = Code(12);
    pub(crate) const INVALID_DIRECTION: Code = Code(21);
    pub(crate) const STUB_LIBRARY: Code = Code(34);
    pub(crate) const INSUFFICIENT_DRIVER: Code = Code(35);
    pub(crate) const NO_DEVICE: Code = Code(100);
    pub(crate) const INVALID_DEVICE: Code = Code(101);
    pub(crate) const INVALID_CONTEXT: Code = Code(201);
    pub(crate) const INVALID_HANDLE: Code = Code(400);
    pub(crate) const NOT_READY: Code = Code(600);
    pub(crate) const LAUNCH_TIMEOUT: Code = Code(702);
    pub(crate) const CONTEXT_DESTROYED: Code = Code(709);
    pub(crate) const ALREADY_REGISTERED: Code = Code(712);
    pub(crate) const NOT_REGISTERED: Code = Code(713);
    pub(crate) const NOT_PERMITTED: Code = Code(800);
    pub(crate) const NOT_SUPPORTED: Code = Code(801);
    pub(crate) const CAPTURE_UNSUPPORTED: Code = Code(900);
    pub(crate) const CAPTURE_INVALIDATED: Code = Code(901);
    pub(crate) const CAPTURE_MERGE: Code = Code(902);
    pub(crate) const CAPTURE_UNMATCHED: Code = Code(903);
    pub(crate) const CAPTURE_UNJOINED: Code = Code(904);
    pub(crate) const CAPTURE_ISOLATION: Code = Code(905);
    pub(crate) const CAPTURE_IMPLICIT: Code = Code(906);
    pub(crate) const CAPTURED_EVENT: Code = Code(907);
    pub(crate) const CAPTURE_WRONG_THREAD: Code = Code(908);

    /// The runtime's name, as `cudaGetErrorName` gives it.
    pub(crate) fn name(self) -> &'static CStr {
        self.row().map_or(UNRECOGNIZED, |row| row.1)
    }

    /// The text, as `cudaGetErrorString` and `cuGetErrorString` give it.
    pub(crate) fn text(self) -> &'static CStr {
        self.row().map_or(UNRECOGNIZED, |row| row.3)
    }

    /// The driver's name, where the driver has the code.
    pub(crate) fn driver_name(self) -> Option<&'static CStr> {
        self.row().map(|row| row.2).filter(|name| !name.is_empty())
    }

    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.0 == self.0)
    }
}

const UNRECOGNIZED: &CStr = c"unrecognized error code";

/// Number, runtime's name, driver's name (empty where it has none), text.
type Row = (i32, &'static CStr, &'static CStr, &'static CStr);

const ROWS: &[Row] = &[
    (0, c"cudaSuccess", c"CUDA_SUCCESS", c"no error"),
    (1, c"cudaErrorInvalidValue", c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (2, c"cudaErrorMemoryAllocation", c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (3, c"cudaErrorInitializationError", c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
    (4, c"cudaErrorCudartUnloading", c"CUDA_ERROR_DEINITIALIZED", c"driver shutting down"),
    (9, c"cudaErrorInvalidConfiguration", c"", c"invalid configuration argument"),
    (12, c"cudaErrorInvalidPitchValue", c"", c"invalid pitch argument"),
    (16, c"cudaErrorInvalidHostPointer", c"", c"invalid host pointer"),
    (17, c"cudaErrorInvalidDevicePointer", c"", c"invalid device pointer"),
    (20, c"cudaErrorInvalidChannelDescriptor", c"", c"invalid channel descriptor"),
    (21, c"cudaErrorInvalidMemcpyDirection", c"", c"invalid copy direction for memcpy"),
    (34, c"cudaErrorStubLibrary", c"CUDA_ERROR_STUB_LIBRARY", c"CUDA driver is a stub library"),
    (35, c"cudaErrorInsufficientDriver", c"", c"CUDA driver version is insufficient for CUDA runtime version"),
    (36, c"cudaErrorCallRequiresNewerDriver", c"", c"API call is not supported in the installed CUDA driver"),
    (
        46,
        c"cudaErrorDevicesUnavailable",
        c"CUDA_ERROR_DEVICE_UNAVAILABLE",
        c"CUDA-capable device is busy or unavailable",
    ),
    (49, c"cudaErrorIncompatibleDriverContext", c"", c"incompatible driver context"),
    (100, c"cudaErrorNoDevice", c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
    (101, c"cudaErrorInvalidDevice", c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (127, c"cudaErrorStartupFailure", c"", c"startup failure in cuda runtime"),
    (201, c"cudaErrorDeviceUninitialized", c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
    (205, c"cudaErrorMapBufferObjectFailed", c"CUDA_ERROR_MAP_FAILED", c"mapping of buffer object failed"),
    (206, c"cudaErrorUnmapBufferObjectFailed", c"CUDA_ERROR_UNMAP_FAILED", c"unmapping of buffer object failed"),
    (208, c"cudaErrorAlreadyMapped", c"CUDA_ERROR_ALREADY_MAPPED", c"resource already mapped"),
    (211, c"cudaErrorNotMapped", c"CUDA_ERROR_NOT_MAPPED", c"resource not mapped"),
    (212, c"cudaErrorNotMappedAsArray", c"CUDA_ERROR_NOT_MAPPED_AS_ARRAY", c"resource not mapped as array"),
    (213, c"cudaErrorNotMappedAsPointer", c"CUDA_ERROR_NOT_MAPPED_AS_POINTER", c"resource not mapped as pointer"),
    (214, c"cudaErrorECCUncorrectable", c"CUDA_ERROR_ECC_UNCORRECTABLE", c"uncorrectable ECC error encountered"),
    (
        216,
        c"cudaErrorDeviceAlreadyInUse",
        c"CUDA_ERROR_CONTEXT_ALREADY_IN_USE",
        c"device already in use by a different thread",
    ),
    (
        219,
        c"cudaErrorInvalidGraphicsContext",
        c"CUDA_ERROR_INVALID_GRAPHICS_CONTEXT",
        c"invalid OpenGL or DirectX context",
    ),
    (
        304,
        c"cudaErrorOperatingSystem",
        c"CUDA_ERROR_OPERATING_SYSTEM",
        c"OS call failed or operation not supported on this OS",
    ),
    (400, c"cudaErrorInvalidResourceHandle", c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
    (
        401,
        c"cudaErrorIllegalState",
        c"CUDA_ERROR_ILLEGAL_STATE",
        c"the operation cannot be performed in the present state",
    ),
    (500, c"cudaErrorSymbolNotFound", c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (600, c"cudaErrorNotReady", c"CUDA_ERROR_NOT_READY", c"device not ready"),
    (700, c"cudaErrorIllegalAddress", c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
    (702, c"cudaErrorLaunchTimeout", c"CUDA_ERROR_LAUNCH_TIMEOUT", c"the launch timed out and was terminated"),
    (
        708,
        c"cudaErrorSetOnActiveProcess",
        c"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
        c"cannot set while device is active in this process",
    ),
    (709, c"cudaErrorContextIsDestroyed", c"CUDA_ERROR_CONTEXT_IS_DESTROYED", c"context is destroyed"),
    (
        712,
        c"cudaErrorHostMemoryAlreadyRegistered",
        c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        c"part or all of the memory range is already registered",
    ),
    (
        713,
        c"cudaErrorHostMemoryNotRegistered",
        c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
        c"pointer is not that of a registered memory range",
    ),
    (714, c"cudaErrorHardwareStackError", c"CUDA_ERROR_HARDWARE_STACK_ERROR", c"hardware stack error"),
    (715, c"cudaErrorIllegalInstruction", c"CUDA_ERROR_ILLEGAL_INSTRUCTION", c"an illegal instruction was encountered"),
    (716, c"cudaErrorMisalignedAddress", c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address"),
    (719, c"cudaErrorLaunchFailure", c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
    (800, c"cudaErrorNotPermitted", c"CUDA_ERROR_NOT_PERMITTED", c"operation not permitted"),
    (801, c"cudaErrorNotSupported", c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
    (802, c"cudaErrorSystemNotReady", c"CUDA_ERROR_SYSTEM_NOT_READY", c"system not yet initialized"),
    (
        803,
        c"cudaErrorSystemDriverMismatch",
        c"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        c"unsupported combination of display driver and CUDA driver",
    ),
    (
        804,
        c"cudaErrorCompatNotSupportedOnDevice",
        c"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        c"forward compatibility was attempted on hardware that lacks it",
    ),
    (
        900,
        c"cudaErrorStreamCaptureUnsupported",
        c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        c"operation not permitted when stream is capturing",
    ),
    (
        901,
        c"cudaErrorStreamCaptureInvalidated",
        c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        c"operation failed due to a previous error during capture",
    ),
    (
        902,
        c"cudaErrorStreamCaptureMerge",
        c"CUDA_ERROR_STREAM_CAPTURE_MERGE",
        c"operation would merge separate capture sequences",
    ),
    (
        903,
        c"cudaErrorStreamCaptureUnmatched",
        c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
        c"capture was not ended in the same stream as it began",
    ),
    (
        904,
        c"cudaErrorStreamCaptureUnjoined",
        c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
        c"capturing stream has unjoined work",
    ),
    (
        905,
        c"cudaErrorStreamCaptureIsolation",
        c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
        c"dependency created on uncaptured work in another stream",
    ),
    (
        906,
        c"cudaErrorStreamCaptureImplicit",
        c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        c"operation would make the legacy stream depend on a capturing blocking stream",
    ),
    (
        907,
        c"cudaErrorCapturedEvent",
        c"CUDA_ERROR_CAPTURED_EVENT",
        c"operation not permitted on an event last recorded in a capturing stream",
    ),
    (
        908,
        c"cudaErrorStreamCaptureWrongThread",
        c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
        c"capture was not ended on the thread that began it",
    ),
    (909, c"cudaErrorTimeout", c"CUDA_ERROR_TIMEOUT", c"wait operation timed out"),
    (999, c"cudaErrorUnknown", c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];
