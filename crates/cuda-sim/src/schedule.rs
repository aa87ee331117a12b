//! Queued work, and when it runs.
//!
//! All work is one graph: an operation names those that must be done before it. A schedule chooses among what
//! is allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::call::Call;
use crate::clock::{Clock, Epoch};
use crate::device::Schedule;
use crate::error::{Answer, Code};
use crate::footprint::Footprint;
use crate::history::{Backing, Touch};
use crate::ledger::Who;
use crate::state::{self, State};
use crate::transfer::{Copy, Fill, Trouble};

mod hostfunc;

pub(crate) use hostfunc::HostFunction;

/// Number of an operation. Those that it waits for have smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OpId(u64);

/// What an operation does.
#[derive(Debug)]
pub(crate) enum Action {
    /// A point in a stream: an event, an allocation, a free.
    Nothing,
    Copy(Copy),
    Fill(Fill),
    Host(HostFunction),
}

/// Queued work.
#[derive(Debug)]
pub(crate) struct Op {
    device: u32,
    after: Vec<OpId>,
    action: Action,
    clock: Clock,
    epoch: Epoch,
    touches: Vec<Touch>,
    who: Who,
    queued: Instant,
    /// A host function that somebody waits for.
    demanded: bool,
    running: bool,
}

impl Op {
    pub(crate) fn new(
        device: u32,
        after: Vec<OpId>,
        action: Action,
        clock: Clock,
        epoch: Epoch,
        touches: Vec<Touch>,
        who: Who,
    ) -> Op {
        let queued = Instant::now();
        Op { device, after, action, clock, epoch, touches, who, queued, demanded: false, running: false }
    }

    fn is_host_function(&self) -> bool {
        matches!(self.action, Action::Host(_))
    }
}

/// Work that is not done.
#[derive(Debug, Default)]
pub(crate) struct Work {
    ops: BTreeMap<OpId, Op>,
    last: u64,
    has_thread: bool,
}

/// How to come nearer to an operation's end.
enum Step {
    Run(OpId),
    /// The host function must return first.
    Await(OpId),
    Done,
}

impl Work {
    pub(crate) fn add(&mut self, op: Op) -> OpId {
        self.last += 1;
        let id = OpId(self.last);
        self.ops.insert(id, op);
        id
    }

    /// Work after a reset: none, but numbers go on and the thread stays.
    pub(crate) fn after_reset(&self) -> Work {
        Work { ops: BTreeMap::new(), last: self.last, has_thread: self.has_thread }
    }

    /// Whether the operation is not done.
    pub(crate) fn is_pending(&self, op: OpId) -> bool {
        self.ops.contains_key(&op)
    }

    /// What is not done on a device.
    pub(crate) fn on_device(&self, device: u32) -> Vec<OpId> {
        self.ops.iter().filter(|(_, op)| op.device == device).map(|(id, _)| *id).collect()
    }

    /// What is not done and uses these bytes.
    pub(crate) fn users(&self, backing: Backing, footprint: Footprint) -> Vec<OpId> {
        let uses = |touch: &Touch| touch.backing == backing && touch.footprint.overlaps(&footprint);
        self.ops.iter().filter(|(_, op)| op.touches.iter().any(uses)).map(|(id, _)| *id).collect()
    }

    /// Whether something that is not done is to write bytes of these.
    pub(crate) fn will_write(&self, bytes: &Touch) -> bool {
        let writes =
            |touch: &Touch| touch.write && touch.backing == bytes.backing && touch.footprint.overlaps(&bytes.footprint);
        self.ops.values().any(|op| op.touches.iter().any(writes))
    }

    /// Everything not done that must be done before these are, themselves included.
    pub(crate) fn closure(&self, targets: &[OpId]) -> BTreeSet<OpId> {
        let mut found = BTreeSet::new();
        let mut open = targets.to_vec();
        while let Some(id) = open.pop() {
            if let Some(op) = self.ops.get(&id)
                && found.insert(id)
            {
                open.extend(&op.after);
            }
        }
        found
    }

    pub(crate) fn who(&self, op: OpId) -> Option<&Who> {
        self.ops.get(&op).map(|op| &op.who)
    }

    /// The clock of an operation's effects, and its own step in it.
    pub(crate) fn position(&self, op: OpId) -> Option<(Clock, Epoch)> {
        self.ops.get(&op).map(|op| (op.clock.clone(), op.epoch))
    }

    fn is_ready(&self, op: &Op) -> bool {
        !op.running && op.after.iter().all(|before| !self.is_pending(*before))
    }

    fn ready(&self) -> Vec<OpId> {
        let ready = |(id, op): (&OpId, &Op)| (self.is_ready(op) && !op.is_host_function()).then_some(*id);
        self.ops.iter().filter_map(ready).collect()
    }

    /// The next step towards the end of these. What can be run goes before what must be waited for.
    fn step(&self, targets: &[OpId]) -> Step {
        let closure = self.closure(targets);
        let mut awaited = None;
        for id in closure {
            let op = &self.ops[&id];
            if op.running || self.is_ready(op) && op.is_host_function() {
                awaited = awaited.or(Some(id));
            } else if self.is_ready(op) {
                return Step::Run(id);
            }
        }
        awaited.map_or(Step::Done, Step::Await)
    }
}

impl State {
    /// Performs an operation whose turn has come.
    fn run(&mut self, id: OpId) {
        let Some(op) = self.work.ops.remove(&id) else {
            return;
        };
        if self.lost.contains_key(&op.device) {
            return;
        }
        let result = match &op.action {
            Action::Copy(copy) => copy.perform(),
            Action::Fill(fill) => fill.perform(),
            Action::Nothing | Action::Host(_) => Ok(()),
        };
        let who = &op.who;
        match result {
            Ok(()) => {}
            Err(Trouble::Unmapped) => {
                let message = format!("{who} ran after its pinned pages were unmapped; nothing was copied");
                self.ledger.find("unmapped-in-use", message);
            }
            Err(Trouble::SourceChanged) => {
                let message = format!("the host changed the source of {who} before the copy read it");
                self.ledger.find("race", message);
            }
        }
    }

    /// Performs everything that may run now.
    fn run_ready(&mut self) {
        while let Some(id) = self.work.ready().first() {
            self.run(*id);
        }
    }

    /// One step towards these, for a query. True if there was one.
    pub(crate) fn pump(&mut self, targets: &[OpId]) -> bool {
        match self.work.step(targets) {
            Step::Run(id) => {
                self.run(id);
                true
            }
            Step::Await(id) => {
                self.demand(id);
                false
            }
            Step::Done => false,
        }
    }

    /// A few steps anywhere, if the schedule is the random one.
    pub(crate) fn stir(&mut self) {
        let Schedule::Random(seed) = self.settings.schedule else {
            return;
        };
        let mut seed = seed;
        while next_random(&mut seed).is_multiple_of(3) {
            let ready = self.work.ready();
            if let Some(at) = next_random(&mut seed).checked_rem(ready.len() as u64) {
                self.run(ready[usize::try_from(at).unwrap_or(0)]);
            }
        }
        self.settings.schedule = Schedule::Random(seed);
    }

    fn demand(&mut self, id: OpId) {
        if let Some(op) = self.work.ops.get_mut(&id) {
            op.demanded = true;
        }
        state::changed().notify_all();
    }

    /// Tells the schedule that work came in.
    pub(crate) fn work_added(&mut self) {
        if self.settings.schedule == Schedule::Early {
            self.run_ready();
        }
        if self.work.ops.values().any(Op::is_host_function) {
            self.work.has_thread = self.work.has_thread || hostfunc::start_thread();
            state::changed().notify_all();
        }
    }
}

impl Call {
    /// Runs what must run and waits until these are done. What waiting taught is the caller's to learn.
    pub(crate) fn wait_until_done(&mut self, targets: &[OpId]) -> Answer {
        let begun = Instant::now();
        loop {
            match self.work.step(targets) {
                Step::Done => return Ok(()),
                Step::Run(id) => self.run(id),
                Step::Await(id) => {
                    self.demand(id);
                    let patience = Duration::from_millis(self.settings.patience_ms);
                    match patience.checked_sub(begun.elapsed()) {
                        Some(left) => self.sleep(left),
                        None => return Err(self.deadlock(id)),
                    }
                }
            }
        }
    }

    fn deadlock(&mut self, id: OpId) -> Code {
        let function = self.work.who(id).map(ToString::to_string).unwrap_or_default();
        let message = format!(
            "{} waits for the host function of {function}, which has not returned for {} ms: if it waits for \
             anything that the calling thread is to do, this never ends",
            self.who, self.settings.patience_ms,
        );
        self.ledger.find("deadlock", message);
        Code::LAUNCH_TIMEOUT
    }
}

/// Xorshift: the same seed gives the same order.
fn next_random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}
