//! Points in a stream's work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::api::{Api, Tenancy};
use crate::calls::{RawEvent, StreamHandle};
use crate::error::{CallError, Code, Error, Result};
use crate::keeper::TURN;
use crate::runtime::Runtime;
use crate::sys::types::cudaStreamCaptureModeRelaxed;

/// A point in the work of a stream, recorded by [`crate::Stream::record`].
///
/// Clones are the same point. The event behind it goes back to a pool with the last clone. Any thread may ask and
/// wait; asking leaves the thread's current device, pending error and graph capture as they are.
#[derive(Clone, Debug)]
pub struct Event {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    runtime: Runtime,
    tenancy: Tenancy,
    /// `None` once it went back to the pool.
    raw: Option<RawEvent>,
    complete: AtomicBool,
}

impl Event {
    /// Records an event after what is queued in `stream` now.
    pub(crate) fn record(runtime: &Runtime, device: u32, stream: StreamHandle) -> Result<Self> {
        let (tenancy, raw) = take(runtime, device)?;
        let inner = Inner { runtime: runtime.clone(), tenancy, raw: Some(raw), complete: AtomicBool::new(false) };
        // From here on its drop gives the event back, recorded or not.
        let event = Self { inner: Arc::new(inner) };
        let this = event.clone();
        runtime.on_stream(device, move |api| match this.raw() {
            Some(raw) => api.event_record(raw, stream),
            None => Ok(()),
        })?;
        Ok(event)
    }

    /// Whether everything before it has run.
    ///
    /// # Errors
    /// [`Error::Lost`] if its device is lost or was reset: then nothing of it runs any more.
    pub fn is_complete(&self) -> Result<bool> {
        self.is_complete_within(TURN)
    }

    /// [`Self::is_complete`], with a bound on the wait for the keeper where this thread may not ask itself.
    pub(crate) fn is_complete_within(&self, turn: Duration) -> Result<bool> {
        if self.is_known_complete()? {
            return Ok(true);
        }
        let this = self.clone();
        let complete = self.inner.runtime.on_stream_within(turn, self.device(), move |api| this.query(api))?;
        Ok(self.remember(complete))
    }

    /// Whether it was seen to be complete. Asks nobody.
    pub(crate) fn was_complete(&self) -> bool {
        self.inner.complete.load(Ordering::Acquire)
    }

    /// Waits until everything before it has run.
    ///
    /// # Errors
    /// [`Error::Timeout`] after `timeout`; [`Error::Lost`] as for [`Self::is_complete`].
    pub fn wait(&self, timeout: Duration) -> Result<()> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(10);
        while !self.is_complete_within(timeout.saturating_sub(start.elapsed()).max(pause))? {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(Error::Timeout { what: "the work before an event", after: timeout });
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(1));
        }
        Ok(())
    }

    /// The device of its stream.
    pub fn device(&self) -> u32 {
        self.inner.tenancy.device
    }

    pub(crate) fn raw(&self) -> Option<&RawEvent> {
        self.inner.raw.as_ref()
    }

    /// [`Self::is_complete`] on the keeper, which must not ask itself.
    pub(crate) fn query_here(&self) -> Result<bool> {
        if self.is_known_complete()? {
            return Ok(true);
        }
        let api = self.inner.runtime.api();
        let complete = api.event_query_or_complete(self.raw()).map_err(|error| api.note(self.device(), error))?;
        Ok(self.remember(complete))
    }

    /// The answer that needs no call: it completed before, or it never will.
    pub(crate) fn is_known_complete(&self) -> Result<bool> {
        let (api, tenancy) = (self.inner.runtime.api(), self.inner.tenancy);
        if self.was_complete() {
            return Ok(true);
        }
        let lost = api.lost(tenancy.device);
        let reset = (api.context(tenancy.device) != tenancy.context).then_some(Code::CONTEXT_IS_DESTROYED);
        lost.or(reset).map_or(Ok(false), |code| Err(Error::Lost { device: tenancy.device, code }))
    }

    /// Queries it where another thread may be capturing a graph: the query is forbidden then but in relaxed mode.
    fn query(&self, api: &Api) -> Result<bool, CallError> {
        let mode = api.exchange_capture_mode(cudaStreamCaptureModeRelaxed)?;
        let complete = api.event_query_or_complete(self.raw());
        api.exchange_capture_mode(mode)?;
        complete
    }

    fn remember(&self, complete: bool) -> bool {
        if complete {
            self.inner.complete.store(true, Ordering::Release);
        }
        complete
    }
}

impl Api {
    fn event_query_or_complete(&self, event: Option<&RawEvent>) -> Result<bool, CallError> {
        event.map_or(Ok(true), |event| self.event_query(event))
    }
}

/// An event from the pool, or a new one.
fn take(runtime: &Runtime, device: u32) -> Result<(Tenancy, RawEvent)> {
    runtime.usable(device)?;
    let tenancy = Tenancy { device, context: runtime.api().context(device) };
    let kept = runtime.api().idle().take_event(tenancy);
    match kept {
        Some(event) => Ok((tenancy, event)),
        None => runtime.set_up(device, |desk, tenancy| Ok((tenancy, desk.api.event_create()?))),
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let api = self.runtime.api();
        if let Some(raw) = self.raw.take()
            && !api.is_forked()
        {
            api.idle().events.push((self.tenancy, raw));
        }
    }
}
