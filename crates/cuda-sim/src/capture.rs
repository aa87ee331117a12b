//! Graph capture: streams whose work is noted instead of run, and what that forbids to everybody else.

use std::collections::BTreeMap;

use crate::call::Call;
use crate::clock::Clock;
use crate::error::{Answer, Code};
use crate::event::Recorded;
use crate::stream::Kind;

/// `cudaStreamCaptureModeGlobal`, `ThreadLocal`, `Relaxed`.
const GLOBAL: i32 = 0;
const RELAXED: i32 = 2;

/// `cudaStreamCaptureStatus`.
pub(crate) const STATUS_NONE: i32 = 0;
const STATUS_ACTIVE: i32 = 1;
const STATUS_INVALIDATED: i32 = 2;

/// A capture that has begun and not ended.
#[derive(Debug)]
pub(crate) struct Capture {
    origin: usize,
    mode: i32,
    thread: u64,
    pub(crate) invalidated: bool,
    /// The streams that take part, each with the nodes that its next one depends on.
    members: BTreeMap<usize, Clock>,
}

/// Whether a number is a `cudaStreamCaptureMode`.
pub(crate) fn is_mode(mode: i32) -> bool {
    (GLOBAL..=RELAXED).contains(&mode)
}

impl Call {
    /// Whether a stream takes part in a capture.
    pub(crate) fn is_capturing(&self, stream: usize) -> bool {
        self.capture_id(stream).is_some()
    }

    /// Notes a node if the stream is being captured. False means: run it.
    pub(crate) fn capture_node(&mut self, stream: usize) -> Answer<bool> {
        let Some(id) = self.capture_id(stream) else {
            return Ok(false);
        };
        let actor = self.streams[&stream].actor;
        let capture = self.captures.get_mut(&id).ok_or(Code::CAPTURE_INVALIDATED)?;
        if capture.invalidated {
            return Err(Code::CAPTURE_INVALIDATED);
        }
        capture.members.entry(stream).or_default().tick(actor);
        Ok(true)
    }

    /// What an event records in a capturing stream.
    pub(crate) fn captured_point(&mut self, stream: usize) -> Answer<Recorded> {
        let id = self.capture_id(stream).ok_or(Code::CAPTURE_INVALIDATED)?;
        let capture = self.captures.get(&id).ok_or(Code::CAPTURE_INVALIDATED)?;
        let clock = capture.members.get(&stream).cloned().unwrap_or_default();
        Ok(Recorded::Captured { capture: id, clock })
    }

    /// A stream waits for a point in a capture and so becomes part of it.
    pub(crate) fn join_capture(&mut self, stream: usize, id: u64, clock: &Clock) -> Answer {
        match self.capture_id(stream) {
            Some(own) if own != id => {
                self.invalidate(own);
                self.invalidate(id);
                return Err(Code::CAPTURE_MERGE);
            }
            _ => {}
        }
        let capture = self.captures.get_mut(&id).ok_or(Code::CAPTURED_EVENT)?;
        if capture.invalidated {
            return Err(Code::CAPTURE_INVALIDATED);
        }
        capture.members.entry(stream).or_default().join(clock);
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.capture = Some(id);
        }
        Ok(())
    }

    /// A capturing stream was to wait for work outside of the capture.
    pub(crate) fn isolate_capture(&mut self, stream: usize) -> Answer {
        if let Some(id) = self.capture_id(stream) {
            self.invalidate(id);
        }
        Err(Code::CAPTURE_ISOLATION)
    }

    /// The capture can only be ended now.
    pub(crate) fn invalidate(&mut self, id: u64) {
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.invalidated = true;
        }
    }

    /// Work in the legacy stream would wait for the blocking streams; not if one of them is captured.
    pub(crate) fn refuse_implicit_capture(&mut self, stream: usize) -> Answer {
        let own = self.streams.get(&stream).ok_or(Code::INVALID_HANDLE)?;
        if own.kind != Kind::Legacy {
            return Ok(());
        }
        let context = own.context;
        let captured = self.streams.values().find_map(|other| {
            let concerned = other.context == context && other.kind != Kind::NonBlocking;
            if concerned { other.capture } else { None }
        });
        match captured {
            Some(id) => {
                self.invalidate(id);
                Err(Code::CAPTURE_IMPLICIT)
            }
            None => Ok(()),
        }
    }

    /// "Potentially unsafe API calls" are forbidden by captures of this thread, and by those of others that
    /// are global if this thread is. The attempt spoils them.
    pub(crate) fn refuse_unsafe(&mut self) -> Answer {
        let key = self.key;
        let mode = self.thread(key).capture_mode;
        let forbids = |capture: &Capture| match capture.thread == key {
            true => capture.mode != RELAXED,
            false => mode == GLOBAL && capture.mode == GLOBAL,
        };
        if mode == RELAXED {
            return Ok(());
        }
        let spoilt: Vec<_> = self.captures.iter().filter(|(_, capture)| forbids(capture)).map(|(id, _)| *id).collect();
        for id in &spoilt {
            self.invalidate(*id);
        }
        if spoilt.is_empty() { Ok(()) } else { Err(Code::CAPTURE_UNSUPPORTED) }
    }

    /// A capturing stream cannot be waited for or asked.
    pub(crate) fn refuse_captured(&mut self, stream: usize) -> Answer {
        match self.capture_id(stream) {
            Some(id) => {
                self.invalidate(id);
                Err(Code::CAPTURE_UNSUPPORTED)
            }
            None => self.refuse_implicit_capture(stream),
        }
    }

    /// A device cannot be waited for while any of its streams is captured.
    pub(crate) fn refuse_captured_context(&mut self, context: usize) -> Answer {
        let in_context = self.streams.values().filter(|stream| stream.context == context);
        let ids: Vec<_> = in_context.filter_map(|stream| stream.capture).collect();
        for id in &ids {
            self.invalidate(*id);
        }
        if ids.is_empty() { Ok(()) } else { Err(Code::CAPTURE_UNSUPPORTED) }
    }

    /// `cudaStreamIsCapturing`
    pub(crate) fn capture_status(&mut self, stream: usize) -> Answer<i32> {
        let Some(id) = self.capture_id(stream) else {
            return self.refuse_implicit_capture(stream).map(|()| STATUS_NONE);
        };
        let spoilt = self.captures.get(&id).is_none_or(|capture| capture.invalidated);
        Ok(if spoilt { STATUS_INVALIDATED } else { STATUS_ACTIVE })
    }

    /// `cudaStreamBeginCapture`
    pub(crate) fn begin_capture(&mut self, stream: usize, mode: i32) -> Answer {
        let id = self.new_handle() as u64;
        let key = self.key;
        let own = self.streams.get_mut(&stream).ok_or(Code::INVALID_HANDLE)?;
        if own.kind == Kind::Legacy {
            return Err(Code::CAPTURE_UNSUPPORTED);
        }
        if own.capture.is_some() || !is_mode(mode) {
            return Err(Code::INVALID_VALUE);
        }
        own.capture = Some(id);
        let members = BTreeMap::from([(stream, Clock::default())]);
        let capture = Capture { origin: stream, mode, thread: key, invalidated: false, members };
        self.captures.insert(id, capture);
        Ok(())
    }

    /// `cudaStreamEndCapture`: a handle of the graph, which this simulator keeps but cannot launch.
    pub(crate) fn end_capture(&mut self, stream: usize) -> Answer<usize> {
        let id = self.capture_id(stream).ok_or(Code::INVALID_VALUE)?;
        let key = self.key;
        let capture = self.captures.get_mut(&id).ok_or(Code::INVALID_VALUE)?;
        if capture.origin != stream {
            capture.invalidated = true;
            return Err(Code::CAPTURE_UNMATCHED);
        }
        if capture.mode != RELAXED && capture.thread != key {
            capture.invalidated = true;
            return Err(Code::CAPTURE_WRONG_THREAD);
        }
        self.finish_capture(id)
    }

    fn finish_capture(&mut self, id: u64) -> Answer<usize> {
        let capture = self.captures.remove(&id).ok_or(Code::INVALID_VALUE)?;
        for member in capture.members.keys() {
            if let Some(stream) = self.streams.get_mut(member) {
                stream.capture = None;
            }
        }
        let known = capture.members.get(&capture.origin).cloned().unwrap_or_default();
        if capture.invalidated {
            return Err(Code::CAPTURE_INVALIDATED);
        }
        if !capture.members.values().all(|clock| clock.is_known_to(&known)) {
            return Err(Code::CAPTURE_UNJOINED);
        }
        let graph = self.new_handle();
        let who = self.who.clone();
        self.graphs.insert(graph, who);
        Ok(graph)
    }

    fn capture_id(&self, stream: usize) -> Option<u64> {
        self.streams.get(&stream)?.capture
    }
}
