//! One call from the outside: what must hold before it, its place in the order of calls, and what it leaves.

use std::ffi::c_int;
use std::ops::{Deref, DerefMut};
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, Epoch};
use crate::device::Driver;
use crate::error::{Answer, Code};
use crate::faults::Manner;
use crate::history::Touch;
use crate::ledger::Who;
use crate::schedule::OpId;
use crate::state::{self, State, Tomb};
use crate::{fork, os};

/// What a call needs before it can do anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// Works always.
    Nothing,
    /// Somebody must have called `cuInit`.
    Initialised,
    /// Calls `cuInit` itself, as the runtime does.
    Driver,
    /// Makes a context current.
    Context,
}

/// What a call that waits, waits for.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Stream(usize),
    Event(usize),
    Device,
}

/// How a symbol behaves, whatever it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    symbol: &'static str,
    stream: Option<usize>,
    need: Need,
    /// Its result becomes the thread's last error.
    sets_last_error: bool,
    /// A script may make it fail.
    can_fail: bool,
    /// Late errors of earlier calls come out here.
    surfaces: bool,
    unsafe_in_capture: bool,
    waits: Option<Waits>,
}

impl Rule {
    /// A call of the runtime that needs a context.
    pub(crate) fn runtime(symbol: &'static str) -> Rule {
        Rule {
            symbol,
            stream: None,
            need: Need::Context,
            sets_last_error: true,
            can_fail: true,
            surfaces: false,
            unsafe_in_capture: false,
            waits: None,
        }
    }

    /// A call of the driver: it makes nothing current and leaves the last error alone.
    pub(crate) fn driver(symbol: &'static str) -> Rule {
        Rule { need: Need::Initialised, sets_last_error: false, ..Rule::runtime(symbol) }
    }

    /// Creates no context.
    pub(crate) fn without_context(self) -> Rule {
        Rule { need: Need::Driver, ..self }
    }

    /// Works without a driver.
    pub(crate) fn without_driver(self) -> Rule {
        Rule { need: Need::Nothing, ..self }
    }

    /// Reads the last error and does not set it. Its result is no failure, so no script makes it fail.
    pub(crate) fn reads_last_error(self) -> Rule {
        Rule { sets_last_error: false, can_fail: false, ..self.without_driver() }
    }

    /// Belongs to a stream.
    pub(crate) fn on(self, stream: usize) -> Rule {
        Rule { stream: Some(stream), ..self }
    }

    /// "Potentially unsafe" while somebody captures.
    pub(crate) fn unsafe_in_capture(self) -> Rule {
        Rule { unsafe_in_capture: true, ..self }
    }

    /// Asks how far the work is; late errors come out.
    pub(crate) fn queries(self) -> Rule {
        Rule { surfaces: true, ..self }
    }

    /// Waits for a stream.
    pub(crate) fn waits_for_stream(self, stream: usize) -> Rule {
        Rule { waits: Some(Waits::Stream(stream)), ..self.on(stream).queries() }
    }

    /// Waits for an event.
    pub(crate) fn waits_for_event(self, event: usize) -> Rule {
        Rule { waits: Some(Waits::Event(event)), ..self.queries() }
    }

    /// Waits for a whole device.
    pub(crate) fn waits_for_device(self) -> Rule {
        Rule { waits: Some(Waits::Device), ..self.queries() }
    }

    /// Carries a call out.
    pub(crate) fn run(self, body: impl FnOnce(&mut Call) -> Answer) -> c_int {
        if fork::is_child() {
            return fork::used_in_child(self.symbol);
        }
        let mut call = Call::begin(&self);
        let answer = call.perform(&self, body);
        call.finish(&self, answer)
    }
}

/// A call while it runs. It holds the lock, except while it sleeps.
pub(crate) struct Call {
    guard: Option<MutexGuard<'static, State>>,
    pub(crate) who: Who,
    /// The calling thread.
    pub(crate) key: u64,
    /// An import is to fail with this, after it closed its file descriptor.
    pub(crate) close_fd: Option<Code>,
}

impl Deref for Call {
    type Target = State;

    fn deref(&self) -> &State {
        self.guard.as_ref().expect("held except while asleep")
    }
}

impl DerefMut for Call {
    fn deref_mut(&mut self) -> &mut State {
        self.guard.as_mut().expect("held except while asleep")
    }
}

impl Call {
    fn begin(rule: &Rule) -> Call {
        let mut state = state::lock();
        let key = state::thread_key();
        let label = state.thread(key).label.clone();
        let who = state.ledger.begin(rule.symbol, label, rule.stream);
        state.stir();
        let mut call = Call { guard: Some(state), who, key, close_fd: None };
        call.learn_from_calls();
        call
    }

    /// A host access: not a call of CUDA's, so neither numbered nor logged.
    pub(crate) fn host_access() -> Call {
        let mut state = state::lock();
        let key = state::thread_key();
        let label = state.thread(key).label.clone();
        let who = state.ledger.host_access(label);
        let mut call = Call { guard: Some(state), who, key, close_fd: None };
        call.learn_from_calls();
        call
    }

    fn perform(&mut self, rule: &Rule, body: impl FnOnce(&mut Call) -> Answer) -> Answer {
        if self.unloaded {
            return Err(Code::UNLOADING);
        }
        self.refuse_in_host_function(rule)?;
        let fault = if rule.can_fail { self.faults.strike(rule.symbol) } else { None };
        match fault {
            Some(fault) if fault.manner == Manner::Plain => return Err(fault.code),
            Some(fault) if fault.manner == Manner::CloseFd => self.close_fd = Some(fault.code),
            _ => {}
        }
        self.provide(rule)?;
        body(self)?;
        match fault {
            Some(fault) if fault.manner == Manner::After => return Err(fault.code),
            Some(fault) if fault.manner == Manner::Late => self.late.push_back(fault.code),
            _ if rule.surfaces => return self.late.pop_front().map_or(Ok(()), Err),
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, rule: &Rule, answer: Answer) -> c_int {
        let code = answer.err().unwrap_or(Code(0));
        let key = self.key;
        if rule.sets_last_error && code.0 != 0 {
            self.thread(key).last_error = code;
        }
        let who = self.who.clone();
        self.ledger.end(&who, code.0);
        self.publish();
        code.0
    }

    /// What this call learned is there for later ones to learn.
    pub(crate) fn publish(&mut self) {
        let key = self.key;
        let known = self.thread(key).clock.clone();
        self.host_clock.join(&known);
    }

    fn provide(&mut self, rule: &Rule) -> Answer {
        match rule.need {
            Need::Nothing => {}
            Need::Initialised if self.initialised => {}
            Need::Initialised => return Err(Code::NOT_INITIALIZED),
            Need::Driver | Need::Context => self.initialise_runtime()?,
        }
        if rule.unsafe_in_capture {
            self.refuse_unsafe()?;
        }
        if rule.need == Need::Context {
            let device = self.device_of_call();
            if let Some(code) = self.lost.get(&device) {
                return Err(*code);
            }
            self.ensure_context()?;
        }
        Ok(())
    }

    /// The context that this call works in.
    pub(crate) fn ensure_context(&mut self) -> Answer<usize> {
        let (key, who) = (self.key, self.who.clone());
        State::ensure_context(self, key, &who)
    }

    /// The device that is current on the calling thread.
    pub(crate) fn device_of_call(&mut self) -> u32 {
        let key = self.key;
        self.current_device(key)
    }

    /// What the caller is ordered after, and a new step of its own. Within a host function both are the
    /// stream's.
    pub(crate) fn position(&mut self) -> (Clock, Epoch) {
        let key = self.key;
        let running = self.thread(key).running.and_then(|op| self.work.position(op));
        running.unwrap_or_else(|| {
            let thread = self.thread(key);
            let epoch = thread.clock.tick(thread.actor);
            (thread.clock.clone(), epoch)
        })
    }

    /// The caller waited for something and is ordered behind it now.
    pub(crate) fn learn(&mut self, clock: &Clock) {
        let key = self.key;
        self.thread(key).clock.join(clock);
    }

    /// The simulator cannot see how host threads order themselves. With `host-order calls` it takes every call
    /// that has returned for known to all later ones.
    fn learn_from_calls(&mut self) {
        if self.settings.host_order_by_calls {
            let known = self.host_clock.clone();
            self.history.prune(&known);
            self.learn(&known);
        }
    }

    /// Gives the lock back until something changes.
    pub(crate) fn sleep(&mut self, at_most: Duration) {
        if let Some(guard) = self.guard.take() {
            let woken = state::changed().wait_timeout(guard, at_most);
            self.guard = Some(woken.unwrap_or_else(PoisonError::into_inner).0);
        }
    }

    /// Compares an access with the earlier ones, and records what is not ordered.
    pub(crate) fn check_touch(&mut self, touch: &Touch, clock: &Clock) {
        let Some(earlier) = self.history.conflict(touch, clock) else {
            return;
        };
        let message = format!(
            "{} {} {} bytes that {} {}, and nothing orders the two: wait for the first, on the host or by an \
             event",
            self.who,
            if touch.write { "writes" } else { "reads" },
            touch.footprint.bytes(),
            earlier.who,
            earlier.verb(),
        );
        self.ledger.find("race", message);
    }

    /// The answer for a handle that is not alive. If it once was, the program uses what it destroyed: no
    /// error code is promised for that, so the process ends here.
    pub(crate) fn no_such(&mut self, handle: usize) -> Code {
        if let Some(Tomb { what, by }) = self.tombs.get(&handle).cloned() {
            self.abort("use-after-destroy", format!("{} uses {what} {handle:#x}, which {by} destroyed", self.who));
        }
        Code::INVALID_HANDLE
    }

    /// Records what no program survives, and ends it.
    pub(crate) fn abort(&mut self, kind: &'static str, message: String) -> ! {
        self.ledger.find(kind, message);
        os::abort()
    }

    /// "The host function must not make any CUDA API calls."
    fn refuse_in_host_function(&mut self, rule: &Rule) -> Answer {
        let key = self.key;
        let Some(own) = self.thread(key).running else {
            return Ok(());
        };
        let function = self.work.who(own).map(ToString::to_string).unwrap_or_default();
        if self.waits_for_itself(rule.waits, own) {
            let message = format!(
                "the host function of {function} waits in {} for work that waits for the host function: {} -> \
                 host function of {function} -> {}",
                self.who, self.who, self.who,
            );
            self.ledger.find("deadlock", message);
        } else {
            let message = format!("{} within the host function of {function}", self.who);
            self.ledger.find("call-in-host-func", message);
        }
        Err(Code::NOT_PERMITTED)
    }

    fn waits_for_itself(&mut self, waits: Option<Waits>, own: OpId) -> bool {
        let targets = match waits {
            None => return false,
            Some(Waits::Device) => return true,
            Some(Waits::Stream(handle)) => self.streams.get(&handle).map(|stream| stream.behind.clone()),
            Some(Waits::Event(handle)) => match self.events.get(&handle).map(|event| event.recorded.clone()) {
                Some(crate::event::Recorded::Point { op, .. }) => Some(vec![op]),
                _ => None,
            },
        };
        targets.is_some_and(|targets| self.work.closure(&targets).contains(&own))
    }
}

impl State {
    /// Remembers a destroyed object.
    pub(crate) fn bury(&mut self, what: &'static str, handle: usize, by: &Who) {
        self.tombs.insert(handle, Tomb { what, by: by.clone() });
    }

    /// Without a driver the last error is always 35: before any call, after each one was fetched, whatever failed.
    pub(crate) fn resting_error(&self) -> Code {
        match self.settings.driver {
            Driver::None => Code::INSUFFICIENT_DRIVER,
            _ => Code(0),
        }
    }
}
