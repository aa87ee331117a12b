//! Events: a point in a stream that others can wait for.

use crate::call::Call;
use crate::clock::Clock;
use crate::error::{Answer, Code};
use crate::ledger::Who;
use crate::schedule::{Action, OpId};

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: usize,
    pub(crate) device: u32,
    pub(crate) recorded: Recorded,
    pub(crate) made: Who,
}

/// What an event stands for at the moment.
#[derive(Clone, Debug)]
pub(crate) enum Recorded {
    /// Nothing yet: complete from the beginning.
    Never,
    /// A point in a stream.
    Point { op: OpId, clock: Clock },
    /// A point in a capture, with what the capturing stream knew of its nodes.
    Captured { capture: u64, clock: Clock },
}

impl Call {
    /// The event of a handle. A dead one is recorded, and the process aborts.
    pub(crate) fn event(&mut self, handle: usize) -> Answer<&mut Event> {
        let Some(event) = self.events.get(&handle) else {
            return Err(self.no_such(handle));
        };
        if let Some(code) = self.lost.get(&event.device) {
            return Err(*code);
        }
        self.events.get_mut(&handle).ok_or(Code::INVALID_HANDLE)
    }

    /// `cudaEventRecord`: both must be of one context.
    pub(crate) fn record_event(&mut self, event: usize, stream: usize) -> Answer {
        let context = self.event(event)?.context;
        if self.streams.get(&stream).is_some_and(|stream| stream.context != context) {
            return Err(Code::INVALID_HANDLE);
        }
        let recorded = match self.enqueue(stream, Action::Nothing, &[])? {
            Some(op) => Recorded::Point { op, clock: self.stream_clock(stream) },
            None => self.captured_point(stream)?,
        };
        self.event(event)?.recorded = recorded;
        Ok(())
    }

    /// `cudaStreamWaitEvent`: later work of the stream waits for what the event stands for now.
    pub(crate) fn wait_event(&mut self, stream: usize, event: usize) -> Answer {
        match self.event(event)?.recorded.clone() {
            Recorded::Never => Ok(()),
            Recorded::Captured { capture, clock } => self.join_capture(stream, capture, &clock),
            Recorded::Point { .. } if self.is_capturing(stream) => self.isolate_capture(stream),
            Recorded::Point { op, clock } => {
                self.order_behind(stream, op, &clock);
                Ok(())
            }
        }
    }

    /// The operation that completes the event; none if it stands for nothing.
    pub(crate) fn event_point(&mut self, event: usize) -> Answer<Option<(OpId, Clock)>> {
        match self.event(event)?.recorded.clone() {
            Recorded::Never => Ok(None),
            Recorded::Point { op, clock } => Ok(Some((op, clock))),
            Recorded::Captured { capture, .. } => {
                self.invalidate(capture);
                Err(Code::CAPTURED_EVENT)
            }
        }
    }
}
