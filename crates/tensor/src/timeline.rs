//! When the bytes are ready: the device's uses of them that have not ended yet.
//!
//! Exactly two functions wait or record, [`Timeline::begin`] and [`Timeline::end`]; every map, of
//! the host and of the device, passes through them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use edgefirst_cuda::{self as cuda, Event, Stream};

use crate::borrows::Access;
use crate::error::{Error, Result};

/// How long a map waits for the streams that the bytes were released on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Timeline(Mutex<Vec<Arc<Use>>>);

/// What a stream does with the bytes until `ended` has happened.
#[derive(Debug)]
struct Use {
    access: Access,
    ended: Event,
}

impl Timeline {
    /// Waits for every use that conflicts with `access`, [`PATIENCE`] in all. Nothing pending means
    /// no CUDA call. The caller holds the borrow for `access`.
    pub(crate) fn begin(&self, access: Access) -> Result<()> {
        let conflicting = |used: &Arc<Use>| used.access.conflicts_with(access);
        let pending: Vec<_> = self.uses().iter().filter(|u| conflicting(u)).cloned().collect();
        if pending.is_empty() {
            return Ok(());
        }
        // The lock is free while waiting, yet nothing that conflicts can be added meanwhile: whoever
        // adds a use holds a borrow for it, and that excludes ours.
        let deadline = Instant::now() + PATIENCE;
        for used in &pending {
            wait(&used.ended, deadline)?;
        }
        self.uses().retain(|used| !conflicting(used));
        Ok(())
    }

    /// Records in `stream` that the work queued there so far is a use of the bytes. The caller still
    /// holds the borrow for `access`. The event has happened when the use has ended.
    pub(crate) fn end(&self, access: Access, stream: &Stream) -> Result<Event> {
        let ended = stream.record()?;
        self.forget_ended();
        self.uses().push(Arc::new(Use { access, ended: ended.clone() }));
        Ok(ended)
    }

    /// Readers that come and go without a writer between them must not pile up.
    fn forget_ended(&self) {
        let mut ended = self.uses().clone();
        ended.retain(|used| used.ended.is_complete().is_ok_and(|complete| complete));
        self.uses().retain(|used| !ended.iter().any(|gone| Arc::ptr_eq(gone, used)));
    }

    fn uses(&self) -> MutexGuard<'_, Vec<Arc<Use>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait(event: &Event, deadline: Instant) -> Result<()> {
    match event.wait(deadline.saturating_duration_since(Instant::now())) {
        Ok(()) => Ok(()),
        // A lost device does nothing any more, so it does not touch the bytes either.
        Err(cuda::Error::Lost { .. }) => Ok(()),
        Err(cuda::Error::Timeout { .. }) => Err(Error::Timeout { after: PATIENCE }),
        Err(error) => Err(error.into()),
    }
}
