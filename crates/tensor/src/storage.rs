//! Where the bytes live, and everything that is true of them whoever looks.

mod heap;

use std::sync::{Arc, Once};

use edgefirst_cuda::{self as cuda, Runtime, Stream};

pub(crate) use self::heap::Heap;
use crate::borrows::{Access, Borrows};
use crate::cuda::backing::Backing;
use crate::error::{Error, Result};
use crate::timeline::{PATIENCE, Timeline};

/// Untyped bytes of the host, with the device's side of them.
#[derive(Debug)]
pub(crate) struct Storage {
    // Before the heap: a registration ends before its pages do.
    pub(crate) backing: Backing,
    pub(crate) heap: Arc<Heap>,
    reason_logged: Once,
    borrows: Borrows,
    timeline: Timeline,
}

impl Storage {
    /// Bytes for the host alone.
    pub(crate) fn plain(bytes: usize) -> Result<Arc<Self>> {
        Ok(Self::new(Heap::zeroed(bytes)?, |_| Backing::Unasked))
    }

    /// Bytes on whole pages that are registered with CUDA, or that know why they are not.
    pub(crate) fn pinned(bytes: usize, runtime: Option<Runtime>) -> Result<Arc<Self>> {
        let heap = Heap::pages(bytes)?;
        Ok(Self::new(heap, |heap| {
            runtime
                .map_or_else(Runtime::get, Ok)
                .and_then(|runtime| Backing::register(&runtime, heap))
                .unwrap_or_else(Backing::Refused)
        }))
    }

    fn new(heap: Heap, backing: impl FnOnce(&Arc<Heap>) -> Backing) -> Arc<Self> {
        let heap = Arc::new(heap);
        Arc::new(Self {
            backing: backing(&heap),
            heap,
            reason_logged: Once::new(),
            borrows: Borrows::default(),
            timeline: Timeline::default(),
        })
    }

    /// A caller that goes on without CUDA is told why, but not at every frame.
    pub(crate) fn log_once(&self, why: &Error) {
        self.reason_logged.call_once(|| log::debug!("no device pointer to a tensor: {why}"));
    }

    /// May I, and is it ready: the way to the bytes for every map.
    pub(crate) fn hold(self: &Arc<Self>, access: Access) -> Result<Hold> {
        self.borrows.take(access)?;
        let hold = Hold { storage: Arc::clone(self), access };
        self.timeline.begin(access)?;
        Ok(hold)
    }
}

/// A borrow of a storage that is ready for it. Dropping it is the holder's word that its own work
/// on the bytes is finished.
#[derive(Debug)]
pub(crate) struct Hold {
    storage: Arc<Storage>,
    access: Access,
}

impl Hold {
    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Ends the borrow now, and the use of the bytes when `stream` has done what is queued there.
    pub(crate) fn release_on(self, stream: &Stream) -> Result<()> {
        match self.storage.timeline.end(self.access, stream) {
            Ok(ended) => {
                self.storage.backing.busy_until(ended);
                Ok(())
            }
            Err(refused) => self.without_event(stream, refused),
        }
    }

    /// What nobody can wait for later is waited for now.
    fn without_event(self, stream: &Stream, refused: Error) -> Result<()> {
        match stream.synchronize(PATIENCE) {
            Ok(()) => Ok(()),
            Err(lost @ cuda::Error::Lost { .. }) => Err(lost.into()),
            Err(_) => {
                #[expect(
                    clippy::mem_forget,
                    reason = "nobody can tell when the device is done: bytes that stay borrowed and \
                              allocated cannot be overwritten or freed under it"
                )]
                std::mem::forget(self);
                Err(Error::NotReleased(Box::new(refused)))
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.storage.borrows.release();
    }
}
