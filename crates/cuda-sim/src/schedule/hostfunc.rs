//! Host functions: the program's code, run in the order of a stream by a thread of the simulator.
//!
//! # Safety
//!
//! The one unsafe act is to call such a function with the pointer that came with it, as the program asked.

#![expect(unsafe_code, reason = "a host function is the program's own code")]

use std::ffi::c_void;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

use crate::abi::HostFn;
use crate::device::Schedule;
use crate::state::{self, State};

use super::{Action, OpId, Step};

/// A function, and what it is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostFunction {
    function: HostFn,
    data: *mut c_void,
}

// SAFETY: the program hands the pointer over to be used on another thread; that is what the call is for.
unsafe impl Send for HostFunction {}
// SAFETY: as for Send.
unsafe impl Sync for HostFunction {}

impl HostFunction {
    pub(crate) fn new(function: HostFn, data: *mut c_void) -> HostFunction {
        HostFunction { function, data }
    }

    fn call(self) {
        // SAFETY: the program gave function and data for this one call, in this order of its stream.
        unsafe { (self.function)(self.data) };
    }
}

/// Starts the thread that runs host functions. False if the system has no more threads.
pub(crate) fn start_thread() -> bool {
    thread::Builder::new().name("cuda-sim-host".into()).spawn(serve_host_functions).is_ok()
}

impl Schedule {
    /// How long a host function waits that nobody asks for.
    fn delay(self, op: OpId) -> Duration {
        match self {
            Schedule::Early => Duration::ZERO,
            Schedule::Late => Duration::from_millis(10),
            Schedule::Random(seed) => Duration::from_millis((seed ^ op.0) % 10),
        }
    }
}

/// The thread that runs host functions, one after the other, which is allowed and the least that a program
/// may count on.
fn serve_host_functions() {
    let key = state::thread_key();
    let mut state = state::lock();
    loop {
        let id = match state.next_host_function() {
            Ok(id) => id,
            Err(wait) => {
                let wait = wait.unwrap_or(Duration::from_secs(3600));
                let woken = state::changed().wait_timeout(state, wait);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
        };
        while let Step::Run(before) = state.work.step(&state.work.ops[&id].after.clone()) {
            state.run(before);
        }
        let lost = state.work.ops.get(&id).is_some_and(|op| state.lost.contains_key(&op.device));
        if let Some(function) = state.begin_host_function(key, id)
            && !lost
        {
            drop(state);
            function.call();
            state = state::lock();
        }
        state.end_host_function(key, id);
        state::changed().notify_all();
    }
}

impl State {
    /// The host function that is to run next, or how long to wait for one.
    fn next_host_function(&self) -> Result<OpId, Option<Duration>> {
        let mut shortest = None;
        for (id, op) in self.work.ops.iter().filter(|(_, op)| op.is_host_function()) {
            let delay = if op.demanded { Duration::ZERO } else { self.settings.schedule.delay(*id) };
            let left = delay.saturating_sub(op.queued.elapsed());
            let blocked = self.work.closure(&op.after).iter().any(|before| self.work.ops[before].is_host_function());
            if left.is_zero() && !blocked {
                return Ok(*id);
            }
            if !blocked {
                shortest = Some(shortest.map_or(left, |shortest: Duration| shortest.min(left)));
            }
        }
        Err(shortest)
    }

    fn begin_host_function(&mut self, key: u64, id: OpId) -> Option<HostFunction> {
        self.thread(key).running = Some(id);
        let op = self.work.ops.get_mut(&id)?;
        op.running = true;
        // Whoever the function signals is ordered behind it; nobody else can tell us of that.
        self.host_clock.join(&op.clock);
        match op.action {
            Action::Host(function) => Some(function),
            _ => None,
        }
    }

    fn end_host_function(&mut self, key: u64, id: OpId) {
        self.thread(key).running = None;
        self.work.ops.remove(&id);
        if self.settings.schedule == Schedule::Early {
            self.run_ready();
        }
    }
}
