//! Errors: which call failed, with which code, and what to do about it.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::status::NotAvailable;
use crate::sys::symbols::Group;

/// The result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A code of the CUDA runtime.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

/// Makes the constants and the table of texts from one list.
macro_rules! codes {
    ($($name:ident = $value:literal $cname:literal $text:literal;)*) => {
        #[expect(missing_docs, reason = "the names are NVIDIA's; `text` says what each means")]
        impl Code {
            $(pub const $name: Self = Self($value);)*

            fn known(self) -> Option<(&'static str, &'static str)> {
                match self.0 {
                    $($value => Some(($cname, $text)),)*
                    _ => None,
                }
            }

            /// Every code with a text of its own.
            pub const KNOWN: &[(Self, &str)] = &[$((Self($value), $cname),)*];
        }
    };
}

codes! {
    SUCCESS = 0 "cudaSuccess" "no error";
    INVALID_VALUE = 1 "cudaErrorInvalidValue" "an argument is out of range";
    MEMORY_ALLOCATION = 2 "cudaErrorMemoryAllocation" "the device or the system is out of memory";
    INITIALIZATION = 3 "cudaErrorInitializationError" "the driver could not be initialised; a process forked after CUDA was used cannot use it";
    UNLOADING = 4 "cudaErrorCudartUnloading" "the runtime is unloading because the process ends";
    STUB_LIBRARY = 34 "cudaErrorStubLibrary" "the driver library found is the toolkit's link-time stub";
    INSUFFICIENT_DRIVER = 35 "cudaErrorInsufficientDriver" "no NVIDIA driver, or one older than this runtime needs";
    DEVICES_UNAVAILABLE = 46 "cudaErrorDevicesUnavailable" "all devices are busy or in exclusive use";
    NO_DEVICE = 100 "cudaErrorNoDevice" "no CUDA device is visible";
    INVALID_DEVICE = 101 "cudaErrorInvalidDevice" "no device has this ordinal";
    ECC_UNCORRECTABLE = 214 "cudaErrorECCUncorrectable" "the device met a memory error that it could not correct";
    INVALID_GRAPHICS_CONTEXT = 219 "cudaErrorInvalidGraphicsContext" "no graphics context that CUDA can use is current";
    NVLINK_UNCORRECTABLE = 220 "cudaErrorNvlinkUncorrectable" "the device met an NVLink error that it could not correct";
    CONTAINED = 226 "cudaErrorContained" "the device met a contained memory error";
    OPERATING_SYSTEM = 304 "cudaErrorOperatingSystem" "a call of the operating system failed";
    INVALID_RESOURCE_HANDLE = 400 "cudaErrorInvalidResourceHandle" "the handle is not of this device or context";
    NOT_READY = 600 "cudaErrorNotReady" "queued work has not finished";
    ILLEGAL_ADDRESS = 700 "cudaErrorIllegalAddress" "a kernel or copy used an address that is not mapped";
    LAUNCH_TIMEOUT = 702 "cudaErrorLaunchTimeout" "a kernel ran for too long";
    CONTEXT_IS_DESTROYED = 709 "cudaErrorContextIsDestroyed" "the context was destroyed";
    ASSERT = 710 "cudaErrorAssert" "an assertion in a kernel failed";
    HOST_MEMORY_ALREADY_REGISTERED = 712 "cudaErrorHostMemoryAlreadyRegistered" "part of the range is registered already";
    HOST_MEMORY_NOT_REGISTERED = 713 "cudaErrorHostMemoryNotRegistered" "the range is not registered";
    HARDWARE_STACK_ERROR = 714 "cudaErrorHardwareStackError" "a kernel's stack was corrupted";
    ILLEGAL_INSTRUCTION = 715 "cudaErrorIllegalInstruction" "a kernel met an illegal instruction";
    MISALIGNED_ADDRESS = 716 "cudaErrorMisalignedAddress" "a kernel used a misaligned address";
    INVALID_ADDRESS_SPACE = 717 "cudaErrorInvalidAddressSpace" "a kernel used an address of the wrong space";
    INVALID_PC = 718 "cudaErrorInvalidPc" "a kernel's program counter left its code";
    LAUNCH_FAILURE = 719 "cudaErrorLaunchFailure" "a kernel failed on the device";
    NOT_PERMITTED = 800 "cudaErrorNotPermitted" "the call is not permitted here";
    NOT_SUPPORTED = 801 "cudaErrorNotSupported" "this system or driver does not support the operation";
    SYSTEM_NOT_READY = 802 "cudaErrorSystemNotReady" "a service that the driver needs is not running";
    SYSTEM_DRIVER_MISMATCH = 803 "cudaErrorSystemDriverMismatch" "the driver's kernel module and its library have different versions";
    COMPAT_NOT_SUPPORTED = 804 "cudaErrorCompatNotSupportedOnDevice" "the forward-compatibility driver does not support this GPU";
    CAPTURE_UNSUPPORTED = 900 "cudaErrorStreamCaptureUnsupported" "the call is not permitted while a stream is captured";
    CAPTURE_INVALIDATED = 901 "cudaErrorStreamCaptureInvalidated" "the capture was invalidated by an earlier error";
    CAPTURE_IMPLICIT = 906 "cudaErrorStreamCaptureImplicit" "the legacy stream would depend on a stream that is captured";
    CAPTURED_EVENT = 907 "cudaErrorCapturedEvent" "the event was recorded in a stream that is captured";
    UNKNOWN = 999 "cudaErrorUnknown" "the driver reports an unknown error";
}

impl Code {
    /// NVIDIA's name, or `CUDA error` for a code that this crate does not know.
    pub fn name(self) -> &'static str {
        self.known().map_or("CUDA error", |(name, _)| name)
    }

    /// What it means.
    pub fn text(self) -> &'static str {
        self.known().map_or("see NVIDIA's reference for this code", |(_, text)| text)
    }

    /// Whether the device is lost: its context answers nothing but this error from now on.
    pub fn is_sticky(self) -> bool {
        const STICKY: &[Code] = &[
            Code::ECC_UNCORRECTABLE,
            Code::NVLINK_UNCORRECTABLE,
            Code::CONTAINED,
            Code::ILLEGAL_ADDRESS,
            Code::LAUNCH_TIMEOUT,
            Code::ASSERT,
            Code::HARDWARE_STACK_ERROR,
            Code::ILLEGAL_INSTRUCTION,
            Code::MISALIGNED_ADDRESS,
            Code::INVALID_ADDRESS_SPACE,
            Code::INVALID_PC,
            Code::LAUNCH_FAILURE,
        ];
        STICKY.contains(&self)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.0, self.name(), self.text())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.name())
    }
}

/// A call of the runtime that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed with {code}")]
pub struct CallError {
    /// The C function.
    pub call: &'static str,
    /// What it returned.
    pub code: Code,
}

/// Why something was not done. Nothing is held and nothing has changed when one is returned.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// CUDA is not there.
    #[error("CUDA is not available: {}", .0.in_one_line())]
    Unavailable(Box<NotAvailable>),
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// This runtime lacks a symbol of the feature.
    #[error("this CUDA runtime has no {symbol}, so {group} is not available; a newer runtime has it")]
    MissingGroup {
        /// The feature.
        group: Group,
        /// The first of its symbols that is missing.
        symbol: &'static str,
    },
    /// The device met an error after which it answers nothing else. A new process can use it again.
    #[error("device {device} is lost: {code}; restart the process to use it again")]
    Lost {
        /// Which device.
        device: u32,
        /// The error that it met.
        code: Code,
    },
    /// Something was not finished in time. It goes on; ask again later.
    #[error("{what} did not finish within {after:?}")]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// How long.
        after: Duration,
    },
    /// The runtime was chosen already, by [`crate::init`] or by its first use.
    #[error("the CUDA runtime of this process is chosen already ({chosen}); call init before the first use of CUDA")]
    AlreadyChosen {
        /// What it was chosen to be.
        chosen: String,
    },
    /// The stream is being captured into a graph, so its work will not run now.
    #[error("the stream is being captured into a graph; use a stream that is not, or map before the capture begins")]
    Capturing,
    /// The per-thread default stream is another stream on every thread.
    #[error("the per-thread default stream (handle 2) is another stream on every thread; pass a stream of your own")]
    PerThreadStream,
    /// The default streams belong to nobody.
    #[error("stream handle {handle:#x} names a default stream; it cannot be owned or destroyed")]
    DefaultStream {
        /// 0, 1 or 2.
        handle: usize,
    },
    /// Two things that must be of one device are not.
    #[error("{what} belongs to device {is}, not to device {wanted}")]
    WrongDevice {
        /// What.
        what: &'static str,
        /// Its device.
        is: u32,
        /// The device of the other.
        wanted: u32,
    },
    /// There is no such device.
    #[error("there is no device {device}; this runtime has {count}")]
    NoSuchDevice {
        /// The ordinal asked for.
        device: u32,
        /// How many there are.
        count: usize,
    },
    /// Zero bytes, more bytes than the address space has, or a range beyond what it lies in.
    #[error("{what}: {value} bytes do not fit; the limit is {limit}")]
    Size {
        /// Of what.
        what: &'static str,
        /// The size that was asked for, or the end of the range.
        value: u64,
        /// The largest that would have been accepted; 0-byte requests say 1 as the least.
        limit: u64,
    },
    /// An address that must lie on a page boundary does not.
    #[error("{what} at {address:#x} is not aligned to {alignment} bytes")]
    Unaligned {
        /// What.
        what: &'static str,
        /// Its address.
        address: usize,
        /// The alignment needed.
        alignment: usize,
    },
    /// This kind of file can never be an exported allocation.
    #[error("a {kind} cannot be imported as memory; export an allocation as an opaque file descriptor")]
    FileKind {
        /// What the descriptor refers to.
        kind: Cow<'static, str>,
    },
    /// The device cannot do this.
    #[error("device {device} does not support {what}")]
    DeviceLacks {
        /// Which device.
        device: u32,
        /// What it lacks.
        what: &'static str,
    },
    /// The runtime succeeded without giving the pointer or handle.
    #[error("{call} reported success but gave a null {what}")]
    Null {
        /// The C function.
        call: &'static str,
        /// What was null.
        what: &'static str,
    },
    /// The thread that sets up and tears down could not be started.
    #[error("the keeper thread could not be started ({0}); the process is at its limit of threads or memory")]
    NoThread(std::io::ErrorKind),
    /// A call of the operating system failed.
    #[error("{call}: {source}")]
    Os {
        /// The system call.
        call: &'static str,
        /// Its error.
        source: rustix::io::Errno,
    },
}

impl From<NotAvailable> for Error {
    fn from(why: NotAvailable) -> Self {
        Self::Unavailable(Box::new(why))
    }
}

impl Error {
    /// The code of the failed call, where a call failed.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Call(e) => Some(e.code),
            Self::Lost { code, .. } => Some(*code),
            _ => None,
        }
    }
}
