//! Contexts: the primary one of each device, those that a program made, and each thread's stack of them.

use crate::error::{Answer, Code};
use crate::ledger::Who;
use crate::state::{Major, State, major};

/// A context. A primary one keeps its handle for ever; its id changes with each life.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) id: u64,
    pub(crate) device: u32,
    pub(crate) primary: bool,
    pub(crate) active: bool,
    /// What `cuDevicePrimaryCtxRetain` counted.
    pub(crate) retained: Vec<Who>,
    pub(crate) made: Who,
}

impl State {
    /// The primary context of a device, active or not.
    pub(crate) fn primary(&mut self, device: u32, who: &Who) -> usize {
        let found = self.contexts.iter().find(|(_, context)| context.primary && context.device == device);
        if let Some((handle, _)) = found {
            return *handle;
        }
        self.add_context(device, true, false, who)
    }

    /// A new context.
    pub(crate) fn add_context(&mut self, device: u32, primary: bool, active: bool, who: &Who) -> usize {
        let handle = self.new_handle();
        let id = handle as u64;
        let context = Context { id, device, primary, active, retained: Vec::new(), made: who.clone() };
        self.contexts.insert(handle, context);
        handle
    }

    /// Gives a primary context a new life, if it has none.
    pub(crate) fn activate(&mut self, handle: usize) {
        let id = self.new_handle() as u64;
        if let Some(context) = self.contexts.get_mut(&handle)
            && !context.active
        {
            context.active = true;
            context.id = id;
        }
    }

    /// The context that is current on a thread, if there is one.
    pub(crate) fn current(&self, thread: u64) -> Option<usize> {
        self.threads.get(&thread)?.contexts.last().copied()
    }

    /// The context that a runtime call on this thread uses: the current one, else the primary one of the
    /// thread's device, which thereby begins to live and becomes current.
    pub(crate) fn ensure_context(&mut self, thread: u64, who: &Who) -> Answer<usize> {
        let handle = match self.current(thread) {
            Some(handle) => handle,
            None => {
                let device = self.thread(thread).device;
                let handle = self.primary(device, who);
                self.thread(thread).contexts.push(handle);
                handle
            }
        };
        let context = self.contexts.get(&handle).ok_or(Code::CONTEXT_DESTROYED)?;
        if context.primary {
            self.activate(handle);
        } else if !context.active {
            return Err(Code::CONTEXT_DESTROYED);
        }
        Ok(handle)
    }

    /// The device that `cudaGetDevice` answers.
    pub(crate) fn current_device(&mut self, thread: u64) -> u32 {
        let by_context = self.current(thread).and_then(|handle| self.contexts.get(&handle)).map(|found| found.device);
        by_context.unwrap_or_else(|| self.thread(thread).device)
    }

    /// `cudaSetDevice`: the primary context takes the place of whatever was current. From 12.0 on it begins
    /// to live at once.
    pub(crate) fn select_device(&mut self, thread: u64, device: u32, who: &Who) {
        let handle = self.primary(device, who);
        if major() >= Major::V12 {
            self.activate(handle);
        }
        let thread = self.thread(thread);
        thread.device = device;
        thread.contexts.pop();
        thread.contexts.push(handle);
    }

    /// Ends everything that lives in a context, except what was allocated in stream order. What the program
    /// still holds of it is dead.
    pub(crate) fn end_context(&mut self, handle: usize, who: &Who) {
        let streams: Vec<_> =
            self.streams.values().filter(|stream| stream.context == handle).map(|s| s.handle).collect();
        for stream in streams {
            self.bury_stream(stream, who);
        }
        let events: Vec<_> = self.events.iter().filter(|(_, event)| event.context == handle).map(|(h, _)| *h).collect();
        for event in events {
            self.events.remove(&event);
            self.bury("event", event, who);
        }
        self.end_context_memory(handle, who);
        if let Some(context) = self.contexts.get_mut(&handle) {
            context.active = false;
            context.retained.clear();
        }
    }

    fn end_context_memory(&mut self, handle: usize, who: &Who) {
        let imports = self.external.of_context(handle);
        for import in imports {
            self.external.imports.remove(&import);
            self.bury("external-memory", import, who);
        }
        let ends = |region: &&crate::memory::Region| {
            region.context == handle && region.kind != crate::memory::Kind::StreamOrdered
        };
        let regions: Vec<_> = self.memory.regions.values().filter(ends).map(|region| region.start).collect();
        for region in regions {
            self.memory.remove_region(region, who);
        }
        let pinned: Vec<_> =
            self.memory.pinned.values().filter(|pinned| pinned.context == handle).map(|p| p.start).collect();
        for start in pinned {
            self.memory.remove_pinned(start, who);
        }
    }
}
