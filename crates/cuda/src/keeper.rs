//! The thread that sets up and tears down.
//!
//! Whatever needs a current device, may fail with an error that stays pending, or is forbidden while somebody captures
//! a graph is done here and not on the caller's thread. The keeper has its own current device, its own last error and
//! the relaxed capture mode, so no guard has to restore anything of the caller's.
//!
//! Dropped resources come here too. They wait in quarantine until the last event of each of their uses has completed,
//! and are then freed; so no drop blocks, and nothing is freed under a kernel.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::api::{Api, Idle, Tenancy};
use crate::calls::RawStream;
use crate::error::{CallError, Code, Error, Result};
use crate::event::Event;
use crate::host::Pages;
use crate::sys::types::cudaStreamCaptureModeRelaxed;

/// How long a set-up waits for its turn before it is withdrawn. What has begun is waited for.
pub(crate) const TURN: Duration = Duration::from_secs(10);

/// The caller's end of the keeper.
#[derive(Debug)]
pub(crate) struct Keeper {
    api: Arc<Api>,
    /// Set once, by the first request.
    to_thread: OnceLock<Sender<Message>>,
    starting: Mutex<()>,
    /// What is in quarantine, for the status.
    waiting: Arc<Mutex<Vec<&'static str>>>,
}

enum Message {
    Turn(Box<dyn FnOnce(&mut Desk) + Send>),
    Retire(Retired),
    Flush(SyncSender<()>),
    Stop,
}

/// A resource on its way out.
pub(crate) struct Retired {
    pub(crate) what: &'static str,
    /// What must have completed before.
    pub(crate) after: Vec<Event>,
    pub(crate) tenancy: Tenancy,
    pub(crate) free: Free,
    /// Host memory that must outlive the resource.
    pub(crate) pages: Option<Arc<dyn Pages>>,
}

pub(crate) type Free = Box<dyn FnOnce(&mut Desk) -> Result<(), CallError> + Send>;

/// Whether a request was begun before its caller gave it up.
struct Ticket(AtomicU8);

impl Ticket {
    const WAITING: u8 = 0;
    const BEGUN: u8 = 1;
    const WITHDRAWN: u8 = 2;

    fn settle(&self, as_what: u8) -> bool {
        self.0.compare_exchange(Self::WAITING, as_what, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Keeper {
    pub(crate) fn new(api: Arc<Api>) -> Self {
        Self { api, to_thread: OnceLock::new(), starting: Mutex::default(), waiting: Arc::default() }
    }

    /// Runs `work` on the keeper and answers its result. A request that does not get its turn within `turn` is
    /// withdrawn and never runs; one that has begun is waited for.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        turn: Duration,
        work: impl FnOnce(&mut Desk) -> R + Send + 'static,
    ) -> Result<R> {
        let ticket = Arc::new(Ticket(AtomicU8::new(Ticket::WAITING)));
        let (reply, answer) = mpsc::sync_channel(1);
        let theirs = Arc::clone(&ticket);
        let message = Message::Turn(Box::new(move |desk| {
            if theirs.settle(Ticket::BEGUN) {
                // The caller waits for what has begun, so the answer is always taken.
                let _ = reply.send(work(desk));
            }
        }));
        self.thread()?.send(message).map_err(|_| gone())?;
        match answer.recv_timeout(turn) {
            Ok(result) => Ok(result),
            Err(RecvTimeoutError::Timeout) if ticket.settle(Ticket::WITHDRAWN) => {
                Err(Error::Timeout { what: "a turn on the keeper thread", after: turn })
            }
            Err(_) => answer.recv().map_err(|_| gone()),
        }
    }

    /// Takes a resource over. Never blocks and never fails: what cannot be freed is given up and counted.
    pub(crate) fn retire(&self, retired: Retired) {
        if self.api.is_forked() {
            // The handles belong to the parent; only the memory and the descriptors are ours to give back.
            return;
        }
        let pages = retired.pages.clone();
        self.api.census.retiring.fetch_add(1, Ordering::AcqRel);
        let sent = self.thread().is_ok_and(|thread| thread.send(Message::Retire(retired)).is_ok());
        if !sent {
            self.api.census.retiring.fetch_sub(1, Ordering::AcqRel);
            self.api.census.abandoned.fetch_add(1, Ordering::AcqRel);
            keep_for_ever(pages);
        }
    }

    /// Waits until everything handed over is freed, and has what is kept for reuse freed too.
    pub(crate) fn flush(&self, timeout: Duration) -> Result<()> {
        let Some(thread) = self.to_thread.get() else { return Ok(()) };
        let (reply, answer) = mpsc::sync_channel(1);
        if thread.send(Message::Flush(reply)).is_err() {
            return Ok(());
        }
        match answer.recv_timeout(timeout) {
            Err(RecvTimeoutError::Timeout) => {
                Err(Error::Timeout { what: "freeing what is still in use", after: timeout })
            }
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Ok(()),
        }
    }

    /// Ends the thread of a runtime that turned out to be unusable.
    pub(crate) fn stop(&self) {
        if let Some(thread) = self.to_thread.get() {
            let _ = thread.send(Message::Stop);
        }
    }

    /// What waits in quarantine.
    pub(crate) fn waiting(&self) -> Vec<&'static str> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn thread(&self) -> Result<&Sender<Message>> {
        if let Some(thread) = self.to_thread.get() {
            return Ok(thread);
        }
        let _one_at_a_time = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = self.to_thread.get() {
            return Ok(thread);
        }
        let (to_thread, messages) = mpsc::channel();
        let desk = Desk::new(Arc::clone(&self.api), Arc::clone(&self.waiting));
        std::thread::Builder::new()
            .name("cuda-keeper".to_owned())
            .spawn(move || desk.serve(&messages))
            .map_err(|e| Error::NoThread(e.kind()))?;
        Ok(self.to_thread.get_or_init(|| to_thread))
    }
}

fn gone() -> Error {
    Error::NoThread(std::io::ErrorKind::BrokenPipe)
}

/// What the keeper has before it.
pub(crate) struct Desk {
    pub(crate) api: Arc<Api>,
    selected: Option<u32>,
    relaxed: bool,
    quarantine: Vec<Retired>,
    waiting: Arc<Mutex<Vec<&'static str>>>,
    flushes: Vec<SyncSender<()>>,
    releaser: Option<Sender<Arc<dyn Pages>>>,
    pause: Duration,
}

impl Desk {
    const SHORTEST_PAUSE: Duration = Duration::from_micros(100);
    const LONGEST_PAUSE: Duration = Duration::from_millis(20);

    fn new(api: Arc<Api>, waiting: Arc<Mutex<Vec<&'static str>>>) -> Self {
        Self {
            api,
            selected: None,
            relaxed: false,
            quarantine: Vec::new(),
            waiting,
            flushes: Vec::new(),
            releaser: None,
            pause: Self::SHORTEST_PAUSE,
        }
    }

    fn serve(mut self, messages: &Receiver<Message>) {
        loop {
            match self.next(messages) {
                Ok(Message::Stop) => return,
                Ok(message) => self.handle(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.sweep();
        }
        // The runtime and all its owners are gone. What they left in use is still waited for.
        while !self.quarantine.is_empty() {
            std::thread::sleep(self.pause);
            self.sweep();
        }
        self.trim();
    }

    fn next(&mut self, messages: &Receiver<Message>) -> Result<Message, RecvTimeoutError> {
        if self.quarantine.is_empty() && self.flushes.is_empty() {
            return messages.recv().map_err(|_| RecvTimeoutError::Disconnected);
        }
        let message = messages.recv_timeout(self.pause);
        self.pause = match message {
            Ok(_) => Self::SHORTEST_PAUSE,
            Err(_) => (self.pause * 2).min(Self::LONGEST_PAUSE),
        };
        message
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Turn(work) => {
                // A panic is a defect of this crate; the requester sees that its answer is missing.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(self)));
            }
            Message::Retire(retired) => self.quarantine.push(retired),
            Message::Flush(reply) => self.flushes.push(reply),
            Message::Stop => {}
        }
    }

    /// Frees what is no longer in use.
    fn sweep(&mut self) {
        for mut retired in std::mem::take(&mut self.quarantine) {
            match self.is_still_there(retired.tenancy) {
                Ok(true) => {
                    retired.after.retain(|event| self.is_pending(event));
                    if retired.after.is_empty() {
                        self.free(retired);
                    } else {
                        self.quarantine.push(retired);
                    }
                }
                Ok(false) => self.forget(retired),
                // At the end of the process the runtime frees everything itself.
                Err(CallError { code: Code::UNLOADING, .. }) => self.let_go(retired.pages),
                // It cannot be seen now: see again later.
                Err(_) => self.quarantine.push(retired),
            }
        }
        self.publish();
        // What was freed may have let go of something else, which is in the queue then.
        let idle = self.api.census.retiring.load(Ordering::Acquire) == 0
            && self.api.census.releasing.load(Ordering::Acquire) == 0;
        if idle && !self.flushes.is_empty() {
            self.trim();
            for reply in self.flushes.drain(..) {
                let _ = reply.send(());
            }
        }
    }

    /// Whether the work before the event may still run. A lost device runs nothing any more.
    fn is_pending(&self, event: &Event) -> bool {
        match event.query_here() {
            Ok(complete) => !complete,
            Err(Error::Lost { .. }) => false,
            Err(error) => {
                log::debug!("the query of an event failed while a resource waited for it: {error}");
                error.code() != Some(Code::UNLOADING)
            }
        }
    }

    fn free(&mut self, retired: Retired) {
        let Retired { what, tenancy, free, pages, .. } = retired;
        match free(self) {
            Ok(()) | Err(CallError { code: Code::UNLOADING, .. }) => self.let_go(pages),
            Err(error) => {
                log::warn!("{what} of device {} was given up: {error}", tenancy.device);
                self.api.census.abandoned.fetch_add(1, Ordering::AcqRel);
                self.api.note(tenancy.device, error);
                keep_for_ever(pages);
                self.api.census.retiring.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// The resource is no more: its pages go back to their owner.
    fn let_go(&mut self, pages: Option<Arc<dyn Pages>>) {
        self.release(pages);
        self.api.census.retiring.fetch_sub(1, Ordering::AcqRel);
    }

    /// Drops the handles of a resource that went with its context, or whose device is lost. Nothing runs on it now.
    fn forget(&mut self, retired: Retired) {
        log::debug!("{} of device {} went with its context", retired.what, retired.tenancy.device);
        self.api.census.abandoned.fetch_add(1, Ordering::AcqRel);
        self.let_go(retired.pages);
    }

    /// Whether the context in which a resource was made still exists. If the application has reset the device, the
    /// resource went with it, and its handle may mean something else now.
    fn is_still_there(&mut self, tenancy: Tenancy) -> Result<bool, CallError> {
        let device = tenancy.device;
        if self.api.lost(device).is_some() {
            return Ok(false);
        }
        let active = match self.api.driver() {
            Ok(driver) => driver.primary_is_active(device)?,
            Err(_) => true,
        };
        if !active {
            self.selected = None;
            self.api.note_context(device, std::ptr::null_mut(), Tenancy::GONE);
            return Ok(false);
        }
        // After a reset the same device has another context.
        match self.reselect(device) {
            Err(error) if error.code.is_sticky() => {
                self.api.note(device, error);
                Ok(false)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(self.api.context(device) == tenancy.context),
        }
    }

    /// Makes the device current here, and its primary context exist.
    pub(crate) fn select(&mut self, device: u32) -> Result<(), CallError> {
        if self.selected == Some(device) { Ok(()) } else { self.reselect(device) }
    }

    fn reselect(&mut self, device: u32) -> Result<(), CallError> {
        self.relax()?;
        self.selected = None;
        self.api.set_device(device)?;
        if let Ok(driver) = self.api.driver() {
            if !driver.primary_is_active(device)? {
                // Before CUDA 12 selecting creates no context; freeing nothing does.
                self.api.create_context()?;
            }
            let number = driver.current_context_id().unwrap_or(Ok(Tenancy::UNNUMBERED))?;
            self.api.note_context(device, driver.current_context()?, number);
        }
        self.selected = Some(device);
        Ok(())
    }

    /// Lets this thread allocate and free while another one captures a graph.
    pub(crate) fn relax(&mut self) -> Result<(), CallError> {
        if !self.relaxed {
            self.api.exchange_capture_mode(cudaStreamCaptureModeRelaxed)?;
            self.relaxed = true;
        }
        Ok(())
    }

    /// Selects the device and says in which context what is made next will lie.
    pub(crate) fn tenancy(&mut self, device: u32) -> Result<Tenancy, CallError> {
        self.reselect(device)?;
        Ok(Tenancy { device, context: self.api.context(device) })
    }

    /// A private stream, kept from earlier work or new. [`Self::keep_stream`] takes it back.
    pub(crate) fn private_stream(&self, tenancy: Tenancy) -> Result<RawStream, CallError> {
        let kept = self.api.idle().take_stream(tenancy);
        kept.map_or_else(|| self.api.stream_create(), Ok)
    }

    /// Keeps a private stream, whose work has ended, for the next.
    pub(crate) fn keep_stream(&self, tenancy: Tenancy, stream: RawStream) {
        self.api.idle().streams.push((tenancy, stream));
    }

    /// Gives host memory back to its owner. Foreign code runs on a thread of its own: it may want a lock that a
    /// caller holds who waits for the keeper.
    fn release(&mut self, pages: Option<Arc<dyn Pages>>) {
        let Some(pages) = pages.filter(|pages| pages.is_foreign()) else { return };
        self.api.census.releasing.fetch_add(1, Ordering::AcqRel);
        if let Some(releaser) = &self.releaser {
            let _ = releaser.send(pages);
            return;
        }
        match spawn_releaser(Arc::clone(&self.api)) {
            Ok(to_thread) => {
                let _ = to_thread.send(pages);
                self.releaser = Some(to_thread);
            }
            Err(error) => {
                log::warn!("the memory of a foreign owner is not given back: no thread for it: {error}");
                self.api.census.releasing.fetch_sub(1, Ordering::AcqRel);
                self.api.census.abandoned.fetch_add(1, Ordering::AcqRel);
                keep_for_ever(Some(pages));
            }
        }
    }

    /// Frees what is kept for reuse.
    fn trim(&mut self) {
        let Idle { events, streams } = std::mem::take(&mut *self.api.idle());
        for (tenancy, event) in events {
            match self.is_still_there(tenancy) {
                Ok(true) => self.give_up_on_error(self.api.event_destroy(event)),
                Ok(false) | Err(CallError { code: Code::UNLOADING, .. }) => {}
                Err(_) => self.api.idle().events.push((tenancy, event)),
            }
        }
        for (tenancy, stream) in streams {
            match self.is_still_there(tenancy) {
                Ok(true) => self.give_up_on_error(self.api.stream_destroy(stream)),
                Ok(false) | Err(CallError { code: Code::UNLOADING, .. }) => {}
                Err(_) => self.api.idle().streams.push((tenancy, stream)),
            }
        }
    }

    fn give_up_on_error(&self, result: Result<(), CallError>) {
        if let Err(error) = result {
            log::debug!("a kept handle was given up: {error}");
            self.api.census.abandoned.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn publish(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.clear();
        waiting.extend(self.quarantine.iter().map(|retired| retired.what));
    }
}

fn spawn_releaser(api: Arc<Api>) -> std::io::Result<Sender<Arc<dyn Pages>>> {
    let (to_thread, owners) = mpsc::channel::<Arc<dyn Pages>>();
    std::thread::Builder::new().name("cuda-releaser".to_owned()).spawn(move || {
        for owner in owners {
            // Foreign code may panic; that ends here.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(owner)));
            api.census.releasing.fetch_sub(1, Ordering::AcqRel);
        }
    })?;
    Ok(to_thread)
}

/// Host memory that the device may still reach must not be used for anything else.
pub(crate) fn keep_for_ever(pages: Option<Arc<dyn Pages>>) {
    static KEPT: Mutex<Vec<Arc<dyn Pages>>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).extend(pages);
}
