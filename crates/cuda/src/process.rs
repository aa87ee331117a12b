//! The runtime of the process: chosen, found and probed once, and asked again on request.

#![expect(unsafe_code, reason = "a pointer is replaced after a fork, when no lock of the parent can be trusted")]
//!
//! # Safety argument
//! [`SLOT`] points to a leaked box or to nothing, so what it points to lives for ever and may be shared.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::fork;
use crate::loader::{self, Attempt, Choice, Search};
use crate::runtime::Runtime;
use crate::status::{CudaStatus, NotAvailable, Reason};

const UNKNOWN: u8 = 0;
const READY: u8 = 1;
const UNAVAILABLE: u8 = 2;

/// The answer of [`is_cuda_available`], for a call that costs one load.
static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);

/// What this process knows. A forked child makes its own: the parent's lock may have been held by a thread that the
/// child does not have.
static SLOT: AtomicPtr<Slot> = AtomicPtr::new(std::ptr::null_mut());

/// What was chosen; set by the first use if not before. Not part of a slot, so that a child keeps it.
static CHOICE: OnceLock<Choice> = OnceLock::new();

struct Slot {
    generation: u32,
    /// Whether a driver was, or may have been, initialised.
    used: AtomicBool,
    found: Mutex<Option<Found>>,
}

struct Found {
    runtime: Result<Runtime, Reason>,
    attempts: Vec<Attempt>,
}

impl Slot {
    fn current() -> &'static Self {
        let generation = fork::generation();
        let known = SLOT.load(Ordering::Acquire);
        // SAFETY: null or a leaked box.
        let slot = unsafe { known.as_ref() };
        if let Some(slot) = slot
            && slot.generation == generation
        {
            return slot;
        }
        let fresh = Box::into_raw(Box::new(Self::after(slot, generation)));
        match SLOT.compare_exchange(known, fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: the box just leaked.
            Ok(_) => unsafe { &*fresh },
            Err(_) => {
                // SAFETY: nobody else has seen this box.
                drop(unsafe { Box::from_raw(fresh) });
                Self::current()
            }
        }
    }

    /// What a process starts with: nothing, or the knowledge that its parent used CUDA.
    fn after(parent: Option<&Self>, generation: u32) -> Self {
        let forked = parent.is_some_and(|slot| slot.used.load(Ordering::Acquire));
        let found = forked.then(|| Found { runtime: Err(Reason::Forked), attempts: Vec::new() });
        Self { generation, used: AtomicBool::new(forked), found: Mutex::new(found) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found, after a walk if there was none yet.
    fn found<R>(&self, read: impl FnOnce(&Found) -> R) -> R {
        let mut known = self.lock();
        let found = known.get_or_insert_with(|| self.look());
        ANSWER.store(if found.runtime.is_ok() { READY } else { UNAVAILABLE }, Ordering::Release);
        read(found)
    }

    fn look(&self) -> Found {
        self.used.store(true, Ordering::Release);
        let mut search = Search::from_process();
        search.choice = CHOICE.get_or_init(Choice::default).clone();
        let (runtime, attempts) = loader::walk(&search);
        if !attempts.iter().any(|attempt| attempt.outcome.asked_a_driver()) {
            // A child may still look.
            self.used.store(false, Ordering::Release);
        }
        Found { runtime, attempts }
    }
}

/// For the fork handler: stores to an atomic and nothing else.
pub(crate) fn forget_answer() {
    ANSWER.store(UNKNOWN, Ordering::Release);
}

/// Chooses the runtime of this process. Loads nothing yet.
///
/// # Errors
/// [`Error::AlreadyChosen`] after the first use, or a second time.
pub fn init(choice: Choice) -> Result<()> {
    let chosen = |_| Error::AlreadyChosen { chosen: CHOICE.get_or_init(Choice::default).to_string() };
    CHOICE.set(choice).map_err(chosen)
}

/// Whether the runtime is loaded and the driver and at least one device answer.
///
/// The first call finds out, which initialises the driver and may take a second; later calls are one atomic load.
#[inline]
pub fn is_cuda_available() -> bool {
    match ANSWER.load(Ordering::Acquire) {
        READY => true,
        UNAVAILABLE => false,
        _ => find_out(),
    }
}

#[cold]
fn find_out() -> bool {
    Slot::current().found(|found| found.runtime.is_ok())
}

/// What is known of CUDA in this process: the runtime and its devices, or why there is none and what was tried.
pub fn cuda_status() -> CudaStatus {
    let (runtime, attempts) = Slot::current().found(|found| (found.runtime.clone(), found.attempts.clone()));
    match runtime {
        Ok(runtime) => runtime.status_after(attempts),
        Err(reason) => CudaStatus::Unavailable(NotAvailable { reason, attempts }),
    }
}

/// Looks again where CUDA was not available: a driver may have been loaded or a device plugged in since. A runtime
/// that is in use stays.
pub fn refresh() -> CudaStatus {
    let slot = Slot::current();
    let mut known = slot.lock();
    if known.as_ref().is_some_and(|found| matches!(&found.runtime, Err(reason) if *reason != Reason::Forked)) {
        *known = None;
        forget_answer();
    }
    drop(known);
    cuda_status()
}

/// The absolute path of the library that is mapped; `None` for a linked-in one, and where there is none.
pub fn runtime_path() -> Option<&'static Path> {
    // A runtime that was found is never replaced.
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    if let Some(path) = PATH.get() {
        return Some(path);
    }
    let path = runtime().ok()?.path()?.to_owned();
    Some(PATH.get_or_init(|| path))
}

/// Waits until everything that was dropped is freed, and frees what is kept for reuse.
///
/// # Errors
/// [`Error::Timeout`] if some of it is still in use then; it is freed later.
pub fn flush(timeout: Duration) -> Result<()> {
    let runtime = Slot::current().lock().as_ref().and_then(|found| found.runtime.as_ref().ok().cloned());
    runtime.map_or(Ok(()), |runtime| runtime.flush(timeout))
}

pub(crate) fn runtime() -> Result<Runtime> {
    Slot::current().found(|found| match &found.runtime {
        Ok(runtime) => Ok(runtime.clone()),
        Err(reason) => Err(NotAvailable { reason: reason.clone(), attempts: found.attempts.clone() }.into()),
    })
}
