//! Streams, and how work that is put into one is ordered behind other work.

use crate::call::Call;
use crate::clock::{Actor, Clock};
use crate::error::{Answer, Code};
use crate::history::Touch;
use crate::ledger::Who;
use crate::schedule::{Action, Op, OpId};
use crate::state::State;

/// How a stream orders itself against the legacy stream of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Waits for all blocking streams, and they wait for it.
    Legacy,
    Blocking,
    NonBlocking,
    /// Handle 2: another stream on each thread. Blocking.
    PerThread(u64),
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) handle: usize,
    pub(crate) context: usize,
    pub(crate) device: u32,
    pub(crate) kind: Kind,
    pub(crate) actor: Actor,
    /// What its next operation is ordered after.
    pub(crate) clock: Clock,
    /// Operations that must be done before its next one.
    pub(crate) behind: Vec<OpId>,
    /// The capture that it belongs to.
    pub(crate) capture: Option<u64>,
    pub(crate) made: Who,
}

impl Stream {
    fn is_blocking(&self) -> bool {
        matches!(self.kind, Kind::Blocking | Kind::PerThread(_))
    }

    /// Made by the program, and not by the simulator for handle 0, 1 or 2.
    pub(crate) fn is_created(&self) -> bool {
        matches!(self.kind, Kind::Blocking | Kind::NonBlocking)
    }
}

impl State {
    /// A new stream in a context.
    pub(crate) fn add_stream(&mut self, context: usize, kind: Kind, who: &Who) -> usize {
        let handle = self.new_handle();
        let stream = Stream {
            handle,
            context,
            device: self.contexts.get(&context).map_or(0, |context| context.device),
            kind,
            actor: self.new_actor(),
            clock: Clock::default(),
            behind: Vec::new(),
            capture: None,
            made: who.clone(),
        };
        self.streams.insert(handle, stream);
        handle
    }

    /// Forgets a stream. Its work goes on; the legacy stream still waits for it if it was blocking.
    pub(crate) fn bury_stream(&mut self, handle: usize, who: &Who) {
        let Some(stream) = self.streams.remove(&handle) else {
            return;
        };
        if let Some(capture) = stream.capture.and_then(|id| self.captures.get_mut(&id)) {
            capture.invalidated = true;
        }
        self.retired.entry(stream.device).or_default().join(&stream.clock);
        if stream.is_blocking() {
            let legacy = self.default_stream(stream.context, Kind::Legacy, who);
            if let Some(legacy) = self.streams.get_mut(&legacy) {
                legacy.clock.join(&stream.clock);
                legacy.behind.extend(&stream.behind);
            }
        }
        self.bury("stream", handle, who);
    }

    /// The stream that handle 0, 1 or 2 means in a context.
    pub(crate) fn default_stream(&mut self, context: usize, kind: Kind, who: &Who) -> usize {
        let found = self.streams.values().find(|stream| stream.context == context && stream.kind == kind);
        match found {
            Some(stream) => stream.handle,
            None => self.add_stream(context, kind, who),
        }
    }

    /// What everything queued on a device knows.
    pub(crate) fn device_clock(&self, device: u32) -> Clock {
        let mut clock = self.retired.get(&device).cloned().unwrap_or_default();
        for stream in self.streams.values().filter(|stream| stream.device == device) {
            clock.join(&stream.clock);
        }
        clock
    }

    /// The streams whose order against this one is implied: the legacy stream and the blocking ones of a
    /// context wait for each other.
    fn implied(&self, handle: usize) -> Vec<usize> {
        let Some(own) = self.streams.get(&handle) else {
            return Vec::new();
        };
        let peers = self.streams.values().filter(|other| other.context == own.context);
        let waits_for = |other: &&Stream| match own.kind {
            Kind::Legacy => other.is_blocking(),
            Kind::NonBlocking => false,
            Kind::Blocking | Kind::PerThread(_) => other.kind == Kind::Legacy,
        };
        peers.filter(waits_for).map(|other| other.handle).collect()
    }
}

impl Call {
    /// The stream that a handle means on this thread. A dead one is recorded, and the process aborts.
    pub(crate) fn stream(&mut self, handle: usize) -> Answer<usize> {
        let kind = match handle {
            0 | 1 => Kind::Legacy,
            2 => Kind::PerThread(self.key),
            _ => return self.created_stream(handle),
        };
        let who = self.who.clone();
        let context = self.ensure_context()?;
        Ok(self.default_stream(context, kind, &who))
    }

    fn created_stream(&mut self, handle: usize) -> Answer<usize> {
        let Some(stream) = self.streams.get(&handle) else {
            return Err(self.no_such(handle));
        };
        let device = stream.device;
        self.lost.get(&device).map_or(Ok(handle), |code| Err(*code))
    }

    /// Puts work into a stream. While the stream is captured, the work is noted and does not run.
    pub(crate) fn enqueue(&mut self, stream: usize, action: Action, touches: &[Touch]) -> Answer<Option<OpId>> {
        if self.capture_node(stream)? {
            return Ok(None);
        }
        self.refuse_implicit_capture(stream)?;
        self.order_behind_implied(stream);
        let (host, _) = self.position();
        let own = self.streams.get_mut(&stream).ok_or(Code::INVALID_HANDLE)?;
        own.clock.join(&host);
        let epoch = own.clock.tick(own.actor);
        let (clock, device, after) = (own.clock.clone(), own.device, std::mem::take(&mut own.behind));
        for touch in touches {
            self.check_touch(touch, &clock);
            let who = self.who.clone();
            self.history.record(*touch, epoch, &clock, who);
        }
        let who = self.who.clone();
        let op = self.work.add(Op::new(device, after, action, clock, epoch, touches.to_vec(), who));
        if let Some(own) = self.streams.get_mut(&stream) {
            own.behind = vec![op];
        }
        self.work_added();
        Ok(Some(op))
    }

    /// Makes later work of a stream wait for an operation, and know what it knows.
    pub(crate) fn order_behind(&mut self, stream: usize, op: OpId, clock: &Clock) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.clock.join(clock);
            stream.behind.push(op);
        }
    }

    /// All operations of a stream so far, and what having waited for them teaches. Those of blocking streams
    /// are among the legacy stream's; theirs do not include its own, until new work makes them wait for it.
    pub(crate) fn tail(&mut self, stream: usize) -> (Vec<OpId>, Clock) {
        if self.streams.get(&stream).is_some_and(|own| own.kind == Kind::Legacy) {
            self.order_behind_implied(stream);
        }
        let behind = self.streams.get(&stream).map(|own| own.behind.clone()).unwrap_or_default();
        (behind, self.stream_clock(stream))
    }

    /// What the work of a stream so far knows.
    pub(crate) fn stream_clock(&self, stream: usize) -> Clock {
        self.streams.get(&stream).map(|own| own.clock.clone()).unwrap_or_default()
    }

    fn order_behind_implied(&mut self, stream: usize) {
        for other in self.implied(stream) {
            let Some(other) = self.streams.get(&other) else {
                continue;
            };
            let (clock, behind) = (other.clock.clone(), other.behind.clone());
            if let Some(own) = self.streams.get_mut(&stream) {
                own.clock.join(&clock);
                own.behind.extend(behind);
                own.behind.sort_unstable();
                own.behind.dedup();
            }
        }
    }
}
