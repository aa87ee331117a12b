//! One runtime's functions and what is known of its devices: what its keeper and its owners share.

use std::ffi::{CStr, OsStr, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::calls::{RawEvent, RawStream};
use crate::error::{CallError, Code, Error, Result};
use crate::fork;
use crate::loader::os::{self, Module};
use crate::loader::{Outcome, Resolver};
use crate::status::{Device, Reason};
use crate::sys::symbols::{Base, Driver, Group, Groups};

/// The symbol by which a simulated runtime says so.
const SIMULATOR: &CStr = c"edgefirst_cuda_sim";

/// The driver's library.
const DRIVER: &str = "libcuda.so.1";

/// Where the functions come from.
#[derive(Debug)]
pub(crate) enum Home {
    Module(Module),
    Resolver(Resolver),
}

impl Home {
    fn symbol(&self, name: &CStr) -> *const c_void {
        match self {
            Self::Module(module) => module.symbol(name),
            Self::Resolver(resolver) => resolver.resolve(name),
        }
    }
}

/// What a device answered when it was asked first, and what happened to it since.
#[derive(Debug)]
pub(crate) struct DeviceState {
    pub(crate) device: Device,
    /// The sticky error that it met; 0 while it works.
    lost: AtomicI32,
    /// Its primary context, once the keeper has seen it.
    primary: AtomicPtr<c_void>,
    /// The number of that context: see [`Tenancy`].
    context: AtomicU64,
}

impl DeviceState {
    pub(crate) fn new(device: Device) -> Self {
        Self { device, lost: AtomicI32::new(0), primary: AtomicPtr::default(), context: AtomicU64::new(Tenancy::GONE) }
    }
}

/// The context that a resource was made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tenancy {
    pub(crate) device: u32,
    /// The driver's number of the context, which no later context has.
    pub(crate) context: u64,
}

impl Tenancy {
    /// The number of every context of a driver that does not number them (before CUDA 12).
    pub(crate) const UNNUMBERED: u64 = u64::MAX;
    /// There is no context.
    pub(crate) const GONE: u64 = u64::MAX - 1;
}

/// What a runtime answered when it was probed.
#[derive(Debug)]
pub(crate) struct Probed {
    pub(crate) version: i32,
    pub(crate) driver_version: i32,
    pub(crate) devices: Vec<DeviceState>,
}

/// Handles kept for the next user.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    pub(crate) events: Vec<(Tenancy, RawEvent)>,
    pub(crate) streams: Vec<(Tenancy, RawStream)>,
}

/// How many resources are on their way out.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// Handed to the keeper and neither freed nor given up.
    pub(crate) retiring: AtomicUsize,
    /// Host memory whose owner is being told that it is free again.
    pub(crate) releasing: AtomicUsize,
    /// Never to be freed: its device is lost or was reset, or the call that frees it failed.
    pub(crate) abandoned: AtomicUsize,
}

#[derive(Debug)]
pub(crate) struct Api {
    pub(crate) base: Base,
    pub(crate) path: Option<PathBuf>,
    pub(crate) simulated: bool,
    pub(crate) census: Census,
    home: Home,
    groups: OnceLock<Groups>,
    driver: OnceLock<Result<Driver, &'static str>>,
    /// The fork generation in which the first call was made; 0 before.
    used_in: AtomicU32,
    pub(crate) probed: OnceLock<Result<Probed, (Reason, Outcome)>>,
    idle: Mutex<Idle>,
}

impl Api {
    /// Opens a library and resolves its base symbols. Makes no CUDA call.
    pub(crate) fn open(name: &OsStr) -> Result<Self, Outcome> {
        let module = os::checked_name(name).and_then(Module::open).map_err(Outcome::NotLoadable)?;
        Self::resolve(Home::Module(module))
    }

    pub(crate) fn resolve(home: Home) -> Result<Self, Outcome> {
        let address = home.symbol(c"cudaGetDeviceCount");
        let path = match &home {
            Home::Module(_) if !address.is_null() => os::path_of(address),
            _ => None,
        };
        let base = Base::load(&|name| home.symbol(name), 0).map_err(Outcome::MissingSymbol)?;
        Ok(Self {
            base,
            path,
            simulated: !home.symbol(SIMULATOR).is_null(),
            census: Census::default(),
            home,
            groups: OnceLock::new(),
            driver: OnceLock::new(),
            used_in: AtomicU32::new(0),
            probed: OnceLock::new(),
            idle: Mutex::default(),
        })
    }

    /// The features' functions. Resolved when first asked for: without a driver nobody does.
    pub(crate) fn groups(&self) -> &Groups {
        let major = || major_of(&self.base, self.path.as_deref());
        self.groups.get_or_init(|| Groups::load(&|name| self.home.symbol(name), major()))
    }

    /// The driver's functions, once the runtime was probed: looking for them loads the driver, which the runtime then
    /// has done itself.
    pub(crate) fn driver(&self) -> Result<&Driver> {
        let found = self.driver.get_or_init(|| {
            if !self.home.symbol(c"cuCtxGetCurrent").is_null() {
                return Driver::load(&|name| self.home.symbol(name), 0);
            }
            let name = OsStr::new(DRIVER);
            match Module::loaded(name).or_else(|| Module::open(name).ok()) {
                Some(module) => Driver::load(&|symbol| module.symbol(symbol), 0),
                None => Err("cuCtxGetCurrent"),
            }
        });
        found.as_ref().map_err(|symbol| Error::MissingGroup { group: Group::Driver, symbol })
    }

    /// The runtime's refusal where the driver's library cannot be loaded, with the loader's words for it.
    ///
    /// This needs no keeper: without a driver every call of the runtime fails alike on every thread, and the same error
    /// is pending before and after. So a machine without a GPU pays for no thread.
    pub(crate) fn refusal_without_driver(&self) -> Option<(CallError, String)> {
        if !self.home.symbol(c"cuCtxGetCurrent").is_null() {
            return None;
        }
        let text = Module::open(OsStr::new(DRIVER)).err()?;
        let refusal = self.device_count().err()?;
        (refusal.code == Code::INSUFFICIENT_DRIVER).then_some((refusal, text))
    }

    /// Notes that CUDA is used in this process from now on.
    pub(crate) fn mark_used(&self) {
        self.used_in.store(fork::generation(), Ordering::Release);
    }

    /// Whether CUDA was used before a fork that made this process.
    pub(crate) fn is_forked(&self) -> bool {
        let used = self.used_in.load(Ordering::Acquire);
        used != 0 && used != fork::generation()
    }

    pub(crate) fn device(&self, device: u32) -> Option<&DeviceState> {
        self.probed.get()?.as_ref().ok()?.devices.get(device as usize)
    }

    /// The error by which the device is lost, if it is.
    pub(crate) fn lost(&self, device: u32) -> Option<Code> {
        let code = self.device(device)?.lost.load(Ordering::Acquire);
        (code != 0).then_some(Code(code))
    }

    /// Remembers a sticky error of the device, and answers the error for the caller.
    pub(crate) fn note(&self, device: u32, error: CallError) -> Error {
        if !error.code.is_sticky() {
            return Error::Call(error);
        }
        if let Some(state) = self.device(device) {
            state.lost.store(error.code.0, Ordering::Release);
        }
        Error::Lost { device, code: error.code }
    }

    /// The keeper saw that this is the device's primary context.
    pub(crate) fn note_context(&self, device: u32, primary: *mut c_void, number: u64) {
        if let Some(state) = self.device(device) {
            state.primary.store(primary, Ordering::Release);
            state.context.store(number, Ordering::Release);
        }
    }

    /// The number of the device's context, as the keeper saw it last.
    pub(crate) fn context(&self, device: u32) -> u64 {
        self.device(device).map_or(Tenancy::GONE, |state| state.context.load(Ordering::Acquire))
    }

    /// Whether the calling thread may make a call that carries a stream of `device`: the device's primary context is
    /// current here, and no error of the application is pending that the call would hide or take.
    ///
    /// Anywhere else such a call could create a context, run in another one, or answer somebody else's error.
    pub(crate) fn may_call_here(&self, device: u32) -> bool {
        let Some(state) = self.device(device) else { return false };
        let primary = state.primary.load(Ordering::Acquire);
        let Ok(driver) = self.driver() else { return false };
        !primary.is_null()
            && driver.current_context().is_ok_and(|current| current == primary)
            && self.pending_error() == Code::SUCCESS
    }

    pub(crate) fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    pub(crate) fn take_event(&mut self, tenancy: Tenancy) -> Option<RawEvent> {
        take(&mut self.events, tenancy)
    }

    pub(crate) fn take_stream(&mut self, tenancy: Tenancy) -> Option<RawStream> {
        take(&mut self.streams, tenancy)
    }
}

fn take<T>(kept: &mut Vec<(Tenancy, T)>, tenancy: Tenancy) -> Option<T> {
    let at = kept.iter().rposition(|(of, _)| *of == tenancy)?;
    Some(kept.swap_remove(at).1)
}

/// The runtime's major version, by its file's name; a renamed or linked-in one is asked.
fn major_of(base: &Base, path: Option<&Path>) -> i32 {
    let name = path.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    if let Some(major) = name.strip_prefix("libcudart.so.").and_then(|rest| rest.split('.').next()?.parse().ok()) {
        return major;
    }
    let mut version = 0;
    #[expect(unsafe_code, reason = "the version decides which symbols may be used, before there is a table of them")]
    // SAFETY: writes one int; needs no driver.
    unsafe {
        (base.cudaRuntimeGetVersion)(&raw mut version)
    };
    version / 1000
}
