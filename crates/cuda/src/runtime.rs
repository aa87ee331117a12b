//! A runtime: found, probed, used.

use std::ffi::{OsStr, c_int, c_void};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::api::{Api, DeviceState, Home, Probed, Tenancy};
use crate::error::{CallError, Error, Result};
use crate::keeper::{Desk, Keeper, TURN};
use crate::loader::{self, Attempt, Outcome, Resolver, Search, Source, Target};
use crate::process;
use crate::status::{CudaStatus, Device, NotAvailable, Ready, Reason};
use crate::sys::symbols::Group;
use crate::sys::types::*;

/// A CUDA runtime. A cheap handle: clones are the same runtime, with one keeper thread.
///
/// It is *found* when its library is loaded and its symbols are resolved; no CUDA call has been made then. It is
/// *probed* by the first use that needs a device: that initialises the driver, after which a fork of this process
/// cannot use CUDA. Several runtimes may live side by side; pointers of one are valid in the others.
///
/// ```
/// # fn main() -> edgefirst_cuda::Result<()> {
/// use edgefirst_cuda::{DeviceBuffer, Runtime};
///
/// match Runtime::get() {
///     Ok(runtime) => println!("{} bytes on the device", DeviceBuffer::zeroed(&runtime, 0, 4096)?.len()),
///     Err(why) => println!("on the host then: {why}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    api: Arc<Api>,
    keeper: Keeper,
}

/// What a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Memory that CUDA knows nothing of.
    Unregistered,
    /// Pinned or registered host memory.
    Host,
    /// Device memory.
    Device,
    /// Managed memory.
    Managed,
}

/// What CUDA knows of a pointer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PointerAttributes {
    /// What it points to.
    pub kind: MemoryKind,
    /// The device that owns the memory, or that was current when it was registered. Of no meaning for
    /// [`MemoryKind::Unregistered`].
    pub device: u32,
    /// The address for the device; null where it has none.
    pub device_pointer: *mut c_void,
    /// The address for the host; null where it has none.
    pub host_pointer: *mut c_void,
}

impl Runtime {
    /// The runtime of this process: chosen by [`crate::init`], else found. Probes it.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the reason and all that was tried.
    pub fn get() -> Result<Self> {
        process::runtime()
    }

    /// Loads one library. Makes no CUDA call.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if it cannot be loaded or is no CUDA runtime.
    pub fn load_from(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let refused = |outcome| loader::refused(Source::Explicit, Target::Path(path.to_owned()), outcome);
        Ok(Self::found_at(path.as_os_str()).map_err(refused)?)
    }

    /// Uses functions that are linked into the program.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if a symbol is missing without which nothing works.
    pub fn from_resolver(resolver: Resolver) -> Result<Self> {
        let refused = |outcome| loader::refused(Source::Explicit, Target::Resolver(resolver.name()), outcome);
        Ok(Self::found_in_resolver(resolver).map_err(refused)?)
    }

    /// Walks `search` and probes what it finds, apart from the runtime of the process. Answers all attempts, also
    /// where one succeeded.
    pub fn search(search: &Search) -> (Result<Self>, Vec<Attempt>) {
        let (found, attempts) = loader::walk(search);
        let found = found.map_err(|reason| NotAvailable { reason, attempts: attempts.clone() }.into());
        (found, attempts)
    }

    pub(crate) fn found_at(name: &OsStr) -> Result<Self, Outcome> {
        Ok(Self::of(Api::open(name)?))
    }

    pub(crate) fn found_in_resolver(resolver: Resolver) -> Result<Self, Outcome> {
        Ok(Self::of(Api::resolve(Home::Resolver(resolver))?))
    }

    fn of(api: Api) -> Self {
        let api = Arc::new(api);
        Self { inner: Arc::new(Inner { keeper: Keeper::new(Arc::clone(&api)), api }) }
    }

    /// The absolute path of the library that is mapped; `None` for a linked-in one.
    pub fn path(&self) -> Option<&Path> {
        self.api().path.as_deref()
    }

    /// Whether this is the simulator. Needs no probe.
    pub fn is_simulated(&self) -> bool {
        self.api().simulated
    }

    /// The devices, by ordinal; never empty. Probes.
    pub fn devices(&self) -> Result<Vec<Device>> {
        Ok(self.probed()?.devices.iter().map(|state| state.device.clone()).collect())
    }

    /// The device with this ordinal. Probes.
    ///
    /// # Errors
    /// [`Error::NoSuchDevice`] with the number of devices.
    pub fn device(&self, ordinal: u32) -> Result<Device> {
        let devices = &self.probed()?.devices;
        let found = devices.get(ordinal as usize).map(|state| state.device.clone());
        found.ok_or(Error::NoSuchDevice { device: ordinal, count: devices.len() })
    }

    /// The device that is current on the calling thread. Probes; creates no context.
    pub fn current_device(&self) -> Result<u32> {
        self.probed()?;
        Ok(self.api().current_device()?)
    }

    /// Whether a feature's symbols are there. Probes for [`Group::Driver`] only.
    ///
    /// # Errors
    /// [`Error::MissingGroup`] naming the first missing symbol.
    pub fn group(&self, group: Group) -> Result<()> {
        if group == Group::Driver {
            self.probed()?;
            return self.api().driver().map(|_| ());
        }
        let missing = self.api().groups().missing().into_iter().find_map(|(of, symbol)| symbol.filter(|_| of == group));
        missing.map_or(Ok(()), |symbol| Err(Error::MissingGroup { group, symbol }))
    }

    /// What is known of this runtime now. Probes.
    pub fn status(&self) -> CudaStatus {
        self.status_after(Vec::new())
    }

    pub(crate) fn status_after(&self, attempts: Vec<Attempt>) -> CudaStatus {
        let probed = match self.probed() {
            Ok(probed) => probed,
            Err(Error::Unavailable(why)) if attempts.is_empty() => return CudaStatus::Unavailable(*why),
            Err(Error::Unavailable(why)) => return CudaStatus::Unavailable(NotAvailable { attempts, ..*why }),
            Err(_) => return CudaStatus::Unavailable(NotAvailable { reason: Reason::NoThread, attempts }),
        };
        let api = self.api();
        let driver = match api.driver() {
            Err(Error::MissingGroup { group, symbol }) => (group, Some(symbol)),
            _ => (Group::Driver, None),
        };
        CudaStatus::Ready(Ready {
            path: api.path.clone(),
            version: probed.version,
            driver_version: probed.driver_version,
            devices: probed.devices.iter().map(|state| state.device.clone()).collect(),
            simulated: api.simulated,
            groups: api.groups().missing().into_iter().chain([driver]).collect(),
            attempts,
            quarantined: self.inner.keeper.waiting(),
            abandoned: api.census.abandoned.load(Ordering::Acquire),
        })
    }

    /// What CUDA knows of an address. Any address may be asked about. Creates no context.
    pub fn pointer_attributes(&self, address: *const c_void) -> Result<PointerAttributes> {
        let address = address.expose_provenance();
        let raw = self.on_keeper(move |desk| {
            desk.relax()?;
            Ok(desk.api.pointer_attributes(std::ptr::with_exposed_provenance(address))?)
        })?;
        const KINDS: [(c_int, MemoryKind); 3] = [
            (cudaMemoryTypeHost, MemoryKind::Host),
            (cudaMemoryTypeDevice, MemoryKind::Device),
            (cudaMemoryTypeManaged, MemoryKind::Managed),
        ];
        let known = KINDS.iter().find(|(number, _)| *number == raw.kind);
        let kind = known.map_or(MemoryKind::Unregistered, |(_, kind)| *kind);
        Ok(PointerAttributes {
            kind,
            device: u32::try_from(raw.device).unwrap_or(0),
            device_pointer: raw.device_pointer,
            host_pointer: raw.host_pointer,
        })
    }

    /// Waits until everything that was dropped is freed, and frees what is kept for reuse.
    ///
    /// # Errors
    /// [`Error::Timeout`] if some of it is still in use then; it is freed later.
    pub fn flush(&self, timeout: Duration) -> Result<()> {
        if self.api().is_forked() { Ok(()) } else { self.inner.keeper.flush(timeout) }
    }

    pub(crate) fn api(&self) -> &Api {
        &self.inner.api
    }

    pub(crate) fn keeper(&self) -> &Keeper {
        &self.inner.keeper
    }

    /// What the walk notes of this candidate.
    pub(crate) fn probe_outcome(&self) -> Result<(), (Reason, Outcome)> {
        match self.probe() {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(refused)) => Err(refused.clone()),
            Err(_) => Err((Reason::NoThread, Outcome::Unusable)),
        }
    }

    fn probed(&self) -> Result<&Probed> {
        if self.api().is_forked() {
            return Err(NotAvailable { reason: Reason::Forked, attempts: Vec::new() }.into());
        }
        let refused = |(reason, outcome): &(Reason, Outcome)| {
            let target =
                self.path().map_or(Target::Resolver("functions of this program"), |path| Target::Path(path.to_owned()));
            let attempts = vec![Attempt { source: Source::Explicit, target, outcome: outcome.clone() }];
            NotAvailable { reason: reason.clone(), attempts }.into()
        };
        self.probe()?.as_ref().map_err(refused)
    }

    /// Asks the driver for its devices, once. `Err` if not even that was possible.
    fn probe(&self) -> Result<&Result<Probed, (Reason, Outcome)>> {
        if let Some(probed) = self.api().probed.get() {
            return Ok(probed);
        }
        let answer = match self.api().refusal_without_driver() {
            Some((error, text)) => Err((Reason::Refused(error.code), Outcome::NoDriver(error, text))),
            None => {
                self.api().mark_used();
                match self.inner.keeper.ask(TURN, probe) {
                    Ok(answer) => answer,
                    // Another caller's probe may have failed and ended the keeper.
                    Err(error) => return self.api().probed.get().ok_or(error),
                }
            }
        };
        // Two callers may have asked at once; the answers are the same.
        let probed = self.api().probed.get_or_init(|| answer);
        if probed.is_err() {
            self.inner.keeper.stop();
        }
        Ok(probed)
    }

    /// Whether a device exists and works. Costs no CUDA call once the runtime is probed.
    ///
    /// # Errors
    /// [`Error::NoSuchDevice`]; [`Error::Lost`] with the error that the device met; [`Error::Unavailable`] also in a
    /// forked child.
    pub fn usable(&self, device: u32) -> Result<()> {
        self.device_exists(device)?;
        match self.api().lost(device) {
            Some(code) => Err(Error::Lost { device, code }),
            None => Ok(()),
        }
    }

    fn device_exists(&self, device: u32) -> Result<()> {
        let count = self.probed()?.devices.len();
        if (device as usize) < count { Ok(()) } else { Err(Error::NoSuchDevice { device, count }) }
    }

    /// Asks something on the keeper that needs no device.
    pub(crate) fn on_keeper<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Desk) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.probed()?;
        self.inner.keeper.ask(TURN, work)?
    }

    /// Runs a set-up of something on `device` on the keeper. `work` finds the device selected.
    pub(crate) fn set_up<R: Send + 'static>(
        &self,
        device: u32,
        work: impl FnOnce(&mut Desk, Tenancy) -> Result<R, Error> + Send + 'static,
    ) -> Result<R> {
        self.usable(device)?;
        let done = self.inner.keeper.ask(TURN, move |desk| {
            let tenancy = desk.tenancy(device)?;
            work(desk, tenancy)
        })?;
        done.map_err(|error| match error {
            Error::Call(call) => self.api().note(device, call),
            other => other,
        })
    }

    /// Runs a call that carries a stream of `device`: on this thread where that is right, else on the keeper.
    pub(crate) fn on_stream<R: Send + 'static>(
        &self,
        device: u32,
        call: impl FnOnce(&Api) -> Result<R, CallError> + Send + 'static,
    ) -> Result<R> {
        self.on_stream_within(TURN, device, call)
    }

    /// [`Self::on_stream`] with a bound on the wait for the keeper.
    pub(crate) fn on_stream_within<R: Send + 'static>(
        &self,
        turn: Duration,
        device: u32,
        call: impl FnOnce(&Api) -> Result<R, CallError> + Send + 'static,
    ) -> Result<R> {
        self.usable(device)?;
        let result = if self.api().may_call_here(device) {
            call(self.api())
        } else {
            self.inner.keeper.ask(turn, move |desk| {
                desk.select(device)?;
                call(&desk.api)
            })?
        };
        result.map_err(|error| self.api().note(device, error))
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("path", &self.path()).field("simulated", &self.is_simulated()).finish()
    }
}

/// The first call of a runtime: it initialises the driver.
fn probe(desk: &mut Desk) -> Result<Probed, (Reason, Outcome)> {
    let refused = |error: CallError| (Reason::Refused(error.code), Outcome::Refused(error));
    let api = &desk.api;
    let count = api.device_count().map_err(refused)?;
    if count == 0 {
        return Err((Reason::Refused(crate::error::Code::NO_DEVICE), Outcome::NoDevices));
    }
    Ok(Probed {
        version: api.runtime_version().map_err(refused)?,
        driver_version: api.driver_version().map_err(refused)?,
        devices: (0..count)
            .map(|device| api.describe(device).map(DeviceState::new))
            .collect::<Result<_, _>>()
            .map_err(refused)?,
    })
}
