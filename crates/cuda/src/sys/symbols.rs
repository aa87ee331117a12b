//! The one table of symbols: name, signature, group, version rule.
//!
//! A group is what one feature needs. A group with a missing symbol is off and says which symbol it was; only
//! [`Base`] is demanded of a runtime. Nothing else in the crate names a symbol of CUDA.

#![expect(unsafe_code, reason = "function pointers are made from the addresses that the loader resolved")]
#![expect(non_snake_case, reason = "fields are named as the C functions")]
#![expect(missing_docs, reason = "the functions are documented by NVIDIA's reference")]
//!
//! # Safety argument
//! The only unsafe operation turns a resolved address into a function pointer. It is sound because the address was
//! resolved under the name in the same row of the table, and the row's signature is that of NVIDIA's headers for every
//! version which the row's rule admits. `Resolve` promises that its addresses stay mapped for ever.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};

use super::types::*;

/// Finds the address of a symbol; null where there is none.
pub(crate) type Resolve<'a> = &'a dyn Fn(&CStr) -> *const c_void;

/// A feature's set of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Group {
    /// What every use of CUDA needs.
    Base,
    /// Importing other APIs' memory as a buffer.
    ExternalMemory,
    /// Importing other APIs' images.
    MappedArrays,
    /// Waiting for and signalling other APIs' semaphores.
    ExternalSemaphores,
    /// Registered graphics objects, and those of OpenGL.
    Gl,
    /// Images of EGL.
    Egl,
    /// Registering host pages.
    HostRegistration,
    /// Allocating in stream order.
    StreamOrdered,
    /// Contexts, from the driver's own library.
    Driver,
}

impl Group {
    /// The group's name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::ExternalMemory => "external memory",
            Self::MappedArrays => "mapped arrays",
            Self::ExternalSemaphores => "external semaphores",
            Self::Gl => "OpenGL",
            Self::Egl => "EGL",
            Self::HostRegistration => "host registration",
            Self::StreamOrdered => "stream-ordered memory",
            Self::Driver => "driver",
        }
    }
}

impl std::fmt::Display for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Under which names a row may be resolved.
struct Rule {
    /// Tried in this order.
    names: &'static [&'static CStr],
    /// The last name is for runtimes of this major or newer: below it, it means another signature.
    last_from: i32,
}

impl Rule {
    fn address(&self, resolve: Resolve<'_>, major: i32) -> *const c_void {
        let admitted = if major < self.last_from { self.names.len() - 1 } else { self.names.len() };
        self.names[..admitted].iter().map(|name| resolve(name)).find(|a| !a.is_null()).unwrap_or(std::ptr::null())
    }
}

/// Makes a struct of function pointers and its loading out of each group's rows.
///
/// `optional` rows are younger than the oldest runtime, so their absence does not switch the group off.
/// `("a" or "b" from N)` resolves `a`, else `b` in a runtime whose major is at least N.
macro_rules! table {
    (@rule $name:ident) => {
        const { Rule { names: &[cstr!(stringify!($name))], last_from: 0 } }
    };
    (@rule $name:ident $first:literal $last:literal $from:literal) => {
        const { Rule { names: &[cstr!($first), cstr!($last)], last_from: $from } }
    };
    ($($(#[$doc:meta])* $group:ident = $variant:ident {
        $(fn $name:ident($($arg:ty),*) -> $ret:ty $(: ($first:literal or $last:literal from $from:literal))?;)*
        $(optional fn $oname:ident($($oarg:ty),*) -> $oret:ty;)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[non_exhaustive]
            pub struct $group {
                $(pub $name: unsafe extern "C" fn($($arg),*) -> $ret,)*
                $(pub $oname: Option<unsafe extern "C" fn($($oarg),*) -> $oret>,)*
            }

            impl $group {
                pub(crate) fn load(resolve: Resolve<'_>, major: i32) -> Result<Self, &'static str> {
                    // The optional rows do not ask.
                    let _ = major;
                    Ok(Self {
                        $($name: {
                            let address = table!(@rule $name $($first $last $from)?).address(resolve, major);
                            if address.is_null() {
                                return Err(stringify!($name));
                            }
                            // SAFETY: not null, and resolved under this row's name: see the module.
                            unsafe { std::mem::transmute::<*const c_void, unsafe extern "C" fn($($arg),*) -> $ret>(address) }
                        },)*
                        $($oname: {
                            let address = resolve(cstr!(stringify!($oname)));
                            // SAFETY: null is the pointer's `None`; otherwise resolved under this row's name.
                            unsafe { std::mem::transmute::<*const c_void, Option<unsafe extern "C" fn($($oarg),*) -> $oret>>(address) }
                        },)*
                    })
                }
            }
        )*

        /// Every symbol's name and group.
        pub const TABLE: &[(Group, &str)] = &[$($((Group::$variant, stringify!($name)),)* $((Group::$variant, stringify!($oname)),)*)*];
    };
}

macro_rules! cstr {
    ($text:expr) => {
        match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a symbol's name holds a zero"),
        }
    };
}

table! {
    /// What every use of CUDA needs.
    Base = Base {
        fn cudaRuntimeGetVersion(*mut c_int) -> cudaError_t;
        fn cudaDriverGetVersion(*mut c_int) -> cudaError_t;
        fn cudaGetDeviceCount(*mut c_int) -> cudaError_t;
        fn cudaGetDevice(*mut c_int) -> cudaError_t;
        fn cudaSetDevice(c_int) -> cudaError_t;
        fn cudaDeviceGetAttribute(*mut c_int, c_int, c_int) -> cudaError_t;
        fn cudaDeviceGetPCIBusId(*mut c_char, c_int, c_int) -> cudaError_t;
        fn cudaGetDeviceProperties(*mut DeviceProperties, c_int) -> cudaError_t: ("cudaGetDeviceProperties_v2" or "cudaGetDeviceProperties" from 0);
        fn cudaGetErrorName(cudaError_t) -> *const c_char;
        fn cudaGetErrorString(cudaError_t) -> *const c_char;
        fn cudaGetLastError() -> cudaError_t;
        fn cudaPeekAtLastError() -> cudaError_t;
        fn cudaMalloc(*mut *mut c_void, usize) -> cudaError_t;
        fn cudaFree(*mut c_void) -> cudaError_t;
        fn cudaMemcpyAsync(*mut c_void, *const c_void, usize, c_int, cudaStream_t) -> cudaError_t;
        fn cudaMemsetAsync(*mut c_void, c_int, usize, cudaStream_t) -> cudaError_t;
        fn cudaPointerGetAttributes(*mut cudaPointerAttributes, *const c_void) -> cudaError_t;
        fn cudaStreamCreateWithFlags(*mut cudaStream_t, c_uint) -> cudaError_t;
        fn cudaStreamDestroy(cudaStream_t) -> cudaError_t;
        fn cudaStreamSynchronize(cudaStream_t) -> cudaError_t;
        fn cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, c_uint) -> cudaError_t;
        fn cudaStreamIsCapturing(cudaStream_t, *mut c_int) -> cudaError_t;
        fn cudaThreadExchangeStreamCaptureMode(*mut c_int) -> cudaError_t;
        fn cudaEventCreateWithFlags(*mut cudaEvent_t, c_uint) -> cudaError_t;
        fn cudaEventDestroy(cudaEvent_t) -> cudaError_t;
        fn cudaEventRecord(cudaEvent_t, cudaStream_t) -> cudaError_t;
        fn cudaEventQuery(cudaEvent_t) -> cudaError_t;
        optional fn cudaStreamGetDevice(cudaStream_t, *mut c_int) -> cudaError_t;
    }
    /// Importing other APIs' memory as a buffer.
    ExternalMemory = ExternalMemory {
        fn cudaImportExternalMemory(*mut cudaExternalMemory_t, *const cudaExternalMemoryHandleDesc) -> cudaError_t;
        fn cudaExternalMemoryGetMappedBuffer(*mut *mut c_void, cudaExternalMemory_t, *const cudaExternalMemoryBufferDesc) -> cudaError_t;
        fn cudaDestroyExternalMemory(cudaExternalMemory_t) -> cudaError_t;
    }
    /// Importing other APIs' images.
    MappedArrays = MappedArrays {
        fn cudaExternalMemoryGetMappedMipmappedArray(*mut cudaMipmappedArray_t, cudaExternalMemory_t, *const cudaExternalMemoryMipmappedArrayDesc) -> cudaError_t;
        fn cudaGetMipmappedArrayLevel(*mut cudaArray_t, cudaMipmappedArray_t, c_uint) -> cudaError_t;
        fn cudaFreeMipmappedArray(cudaMipmappedArray_t) -> cudaError_t;
        fn cudaMemcpy2DFromArrayAsync(*mut c_void, usize, cudaArray_t, usize, usize, usize, usize, c_int, cudaStream_t) -> cudaError_t;
        fn cudaMemcpy2DToArrayAsync(cudaArray_t, usize, usize, *const c_void, usize, usize, usize, c_int, cudaStream_t) -> cudaError_t;
    }
    /// Waiting for and signalling other APIs' semaphores, with the 144-byte structures in every version.
    ExternalSemaphores = ExternalSemaphores {
        fn cudaImportExternalSemaphore(*mut cudaExternalSemaphore_t, *const cudaExternalSemaphoreHandleDesc) -> cudaError_t;
        fn cudaDestroyExternalSemaphore(cudaExternalSemaphore_t) -> cudaError_t;
        fn cudaSignalExternalSemaphoresAsync(*const cudaExternalSemaphore_t, *const cudaExternalSemaphoreSignalParams, c_uint, cudaStream_t) -> cudaError_t: ("cudaSignalExternalSemaphoresAsync_v2" or "cudaSignalExternalSemaphoresAsync" from 13);
        fn cudaWaitExternalSemaphoresAsync(*const cudaExternalSemaphore_t, *const cudaExternalSemaphoreWaitParams, c_uint, cudaStream_t) -> cudaError_t: ("cudaWaitExternalSemaphoresAsync_v2" or "cudaWaitExternalSemaphoresAsync" from 13);
    }
    /// Registered graphics objects, and those of OpenGL.
    Gl = Gl {
        fn cudaGraphicsGLRegisterBuffer(*mut cudaGraphicsResource_t, c_uint, c_uint) -> cudaError_t;
        fn cudaGLGetDevices(*mut c_uint, *mut c_int, c_uint, c_int) -> cudaError_t;
        fn cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t, c_uint) -> cudaError_t;
        fn cudaGraphicsMapResources(c_int, *mut cudaGraphicsResource_t, cudaStream_t) -> cudaError_t;
        fn cudaGraphicsUnmapResources(c_int, *mut cudaGraphicsResource_t, cudaStream_t) -> cudaError_t;
        fn cudaGraphicsResourceGetMappedPointer(*mut *mut c_void, *mut usize, cudaGraphicsResource_t) -> cudaError_t;
        fn cudaGraphicsUnregisterResource(cudaGraphicsResource_t) -> cudaError_t;
    }
    /// Images of EGL.
    Egl = Egl {
        fn cudaGraphicsEGLRegisterImage(*mut cudaGraphicsResource_t, *mut c_void, c_uint) -> cudaError_t;
        fn cudaGraphicsResourceGetMappedEglFrame(*mut c_void, cudaGraphicsResource_t, c_uint, c_uint) -> cudaError_t;
    }
    /// Registering host pages.
    HostRegistration = HostRegistration {
        fn cudaHostRegister(*mut c_void, usize, c_uint) -> cudaError_t;
        fn cudaHostUnregister(*mut c_void) -> cudaError_t;
        fn cudaHostGetDevicePointer(*mut *mut c_void, *mut c_void, c_uint) -> cudaError_t;
    }
    /// Allocating in stream order.
    StreamOrdered = StreamOrdered {
        fn cudaMallocAsync(*mut *mut c_void, usize, cudaStream_t) -> cudaError_t;
        fn cudaFreeAsync(*mut c_void, cudaStream_t) -> cudaError_t;
    }
    /// Contexts, from the driver's own library.
    Driver = Driver {
        fn cuCtxGetCurrent(*mut CUcontext) -> CUresult;
        fn cuCtxPushCurrent_v2(CUcontext) -> CUresult;
        fn cuCtxPopCurrent_v2(*mut CUcontext) -> CUresult;
        fn cuCtxGetDevice(*mut c_int) -> CUresult;
        fn cuStreamGetCtx(cudaStream_t, *mut CUcontext) -> CUresult;
        fn cuDevicePrimaryCtxGetState(c_int, *mut c_uint, *mut c_int) -> CUresult;
        optional fn cuCtxGetId(CUcontext, *mut c_ulonglong) -> CUresult;
    }
}

/// The groups of one library beside [`Base`]: each is there, or names the symbol that is not. ([`Driver`] is of another
/// library.)
#[derive(Debug)]
#[non_exhaustive]
pub struct Groups {
    pub external_memory: Result<ExternalMemory, &'static str>,
    pub mapped_arrays: Result<MappedArrays, &'static str>,
    pub external_semaphores: Result<ExternalSemaphores, &'static str>,
    pub gl: Result<Gl, &'static str>,
    pub egl: Result<Egl, &'static str>,
    pub host_registration: Result<HostRegistration, &'static str>,
    pub stream_ordered: Result<StreamOrdered, &'static str>,
}

impl Groups {
    /// Resolves every group of a runtime with this major version.
    pub(crate) fn load(resolve: Resolve<'_>, major: i32) -> Self {
        Self {
            external_memory: ExternalMemory::load(resolve, major),
            mapped_arrays: MappedArrays::load(resolve, major),
            external_semaphores: ExternalSemaphores::load(resolve, major),
            gl: Gl::load(resolve, major),
            egl: Egl::load(resolve, major),
            host_registration: HostRegistration::load(resolve, major),
            stream_ordered: StreamOrdered::load(resolve, major),
        }
    }

    /// Each group with its missing symbol, if one is missing.
    pub fn missing(&self) -> [(Group, Option<&'static str>); 8] {
        fn missing<T>(group: &Result<T, &'static str>) -> Option<&'static str> {
            group.as_ref().err().copied()
        }
        [
            (Group::Base, None),
            (Group::ExternalMemory, missing(&self.external_memory)),
            (Group::MappedArrays, missing(&self.mapped_arrays)),
            (Group::ExternalSemaphores, missing(&self.external_semaphores)),
            (Group::Gl, missing(&self.gl)),
            (Group::Egl, missing(&self.egl)),
            (Group::HostRegistration, missing(&self.host_registration)),
            (Group::StreamOrdered, missing(&self.stream_ordered)),
        ]
    }
}
