//! Everything that one copy of the simulator knows, behind one lock.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::capture::Capture;
use crate::clock::{Actor, Clock};
use crate::context::Context;
use crate::control;
use crate::device::Settings;
use crate::error::Code;
use crate::event::Event;
use crate::external::External;
use crate::faults::Faults;
use crate::history::History;
use crate::ledger::{Ledger, Who};
use crate::memory::Memory;
use crate::os;
use crate::schedule::{OpId, Work};
use crate::stream::Stream;

/// Which CUDA this copy plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Major {
    /// As 11.8.
    V11,
    /// As 12.9.
    V12,
    /// As 13.5.
    V13,
}

impl Major {
    /// What `cudaRuntimeGetVersion` answers.
    pub(crate) fn version(self) -> i32 {
        match self {
            Major::V11 => 11080,
            Major::V12 => 12090,
            Major::V13 => 13050,
        }
    }
}

static MAJOR: AtomicI32 = AtomicI32::new(12);

/// Says which major the next calls are to follow. Each library with a major's symbols says it in each of them.
pub fn speak_as(major: Major) {
    MAJOR.store(major.version() / 1000, Ordering::Relaxed);
}

/// The major that this copy plays; 12 unless a library said otherwise.
pub(crate) fn major() -> Major {
    match MAJOR.load(Ordering::Relaxed) {
        11 => Major::V11,
        13 => Major::V13,
        _ => Major::V12,
    }
}

/// Handles are no addresses: to follow one faults, and none is given out twice.
const HANDLES: usize = 0x0ED6_0000_0000_0000;

/// What a host thread has of its own.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Name and kernel thread id.
    pub(crate) label: Arc<str>,
    pub(crate) actor: Actor,
    pub(crate) clock: Clock,
    pub(crate) device: u32,
    /// Current contexts; the last one counts.
    pub(crate) contexts: Vec<usize>,
    pub(crate) last_error: Code,
    pub(crate) capture_mode: i32,
    /// The host function that it runs for a stream.
    pub(crate) running: Option<OpId>,
}

/// An object that is gone.
#[derive(Clone, Debug)]
pub(crate) struct Tomb {
    pub(crate) what: &'static str,
    pub(crate) by: Who,
}

/// The whole.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    /// `CUDA_VISIBLE_DEVICES`, read once, as the real runtime does.
    pub(crate) visible: Option<String>,
    pub(crate) ledger: Ledger,
    pub(crate) faults: Faults,
    /// Codes that wait for a call that synchronises or queries.
    pub(crate) late: VecDeque<Code>,
    pub(crate) lost: HashMap<u32, Code>,
    pub(crate) unloaded: bool,
    pub(crate) initialised: bool,
    pub(crate) threads: HashMap<u64, Thread>,
    /// What some returned call knew: with `host-order calls` every later call knows it, too.
    pub(crate) host_clock: Clock,
    pub(crate) contexts: HashMap<usize, Context>,
    pub(crate) streams: BTreeMap<usize, Stream>,
    /// What the destroyed streams of each device knew.
    pub(crate) retired: HashMap<u32, Clock>,
    pub(crate) events: BTreeMap<usize, Event>,
    pub(crate) graphs: BTreeMap<usize, Who>,
    pub(crate) captures: BTreeMap<u64, Capture>,
    pub(crate) external: External,
    pub(crate) memory: Memory,
    pub(crate) history: History,
    pub(crate) work: Work,
    pub(crate) tombs: HashMap<usize, Tomb>,
    handles: usize,
    actors: u32,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    let mut state = State::new();
    control::from_environment(&mut state);
    Mutex::new(state)
});
static CHANGED: Condvar = Condvar::new();
static THREADS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static KEY: Cell<u64> = const { Cell::new(0) };
}

/// Takes the lock. A panic under it left nothing half done that matters more than going on.
pub(crate) fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the lock if nobody has it, as in a child whose parent may have held it when it forked.
pub(crate) fn try_lock() -> Option<MutexGuard<'static, State>> {
    STATE.try_lock().ok()
}

/// What is notified when work was queued, demanded or done.
pub(crate) fn changed() -> &'static Condvar {
    &CHANGED
}

/// A number for the calling thread that no other ever has.
pub(crate) fn thread_key() -> u64 {
    KEY.with(|key| {
        if key.get() == 0 {
            key.set(THREADS.fetch_add(1, Ordering::Relaxed));
        }
        key.get()
    })
}

impl State {
    fn new() -> State {
        State {
            settings: Settings::default(),
            visible: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
            ledger: Ledger::default(),
            faults: Faults::default(),
            late: VecDeque::new(),
            lost: HashMap::new(),
            unloaded: false,
            initialised: false,
            threads: HashMap::new(),
            host_clock: Clock::default(),
            contexts: HashMap::new(),
            streams: BTreeMap::new(),
            retired: HashMap::new(),
            events: BTreeMap::new(),
            graphs: BTreeMap::new(),
            captures: BTreeMap::new(),
            external: External::default(),
            memory: Memory::default(),
            history: History::default(),
            work: Work::default(),
            tombs: HashMap::new(),
            handles: HANDLES,
            actors: 0,
        }
    }

    /// Back to the beginning. Handles and addresses go on, so that old ones stay recognisable.
    pub(crate) fn reset(&mut self) {
        let mut fresh = State::new();
        fresh.handles = self.handles;
        fresh.actors = self.actors;
        fresh.memory.addresses = std::mem::take(&mut self.memory.addresses);
        fresh.work = self.work.after_reset();
        *self = fresh;
    }

    /// A handle that was never given out before.
    pub(crate) fn new_handle(&mut self) -> usize {
        self.handles += 16;
        self.handles
    }

    /// An actor that nobody knows anything of.
    pub(crate) fn new_actor(&mut self) -> Actor {
        self.actors += 1;
        Actor(self.actors)
    }

    /// The calling thread's entry.
    pub(crate) fn thread(&mut self, key: u64) -> &mut Thread {
        if !self.threads.contains_key(&key) {
            let thread = Thread {
                label: os::thread_label().into(),
                actor: self.new_actor(),
                clock: Clock::default(),
                device: 0,
                contexts: Vec::new(),
                last_error: Code(0),
                capture_mode: 0,
                running: None,
            };
            self.threads.insert(key, thread);
        }
        self.threads.get_mut(&key).expect("inserted above")
    }
}
