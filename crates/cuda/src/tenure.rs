//! How long a resource is needed: until the last of its uses has completed.

use std::sync::{Mutex, PoisonError};

use crate::api::Tenancy;
use crate::event::Event;
use crate::host::Pages;
use crate::keeper::{Free, Retired};
use crate::runtime::Runtime;

/// The part that all owners of device resources share.
#[derive(Debug)]
pub(crate) struct Tenure {
    what: &'static str,
    pub(crate) runtime: Runtime,
    pub(crate) tenancy: Tenancy,
    /// The last event of each stream that used it.
    after: Mutex<Vec<Event>>,
}

/// From this many streams on, those whose work is done are dropped from the list.
const MANY: usize = 8;

impl Tenure {
    pub(crate) fn new(what: &'static str, runtime: &Runtime, tenancy: Tenancy) -> Self {
        Self { what, runtime: runtime.clone(), tenancy, after: Mutex::default() }
    }

    /// Keeps the resource until `event` is complete.
    pub(crate) fn after(&self, event: Event) {
        let crowded = {
            let mut after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
            match after.iter_mut().find(|earlier| earlier.stream() == event.stream()) {
                Some(earlier) => *earlier = event,
                None => after.push(event),
            }
            if after.len() > MANY { after.clone() } else { Vec::new() }
        };
        let done: Vec<u64> =
            crowded.iter().filter(|event| event.is_complete().unwrap_or(false)).map(Event::stream).collect();
        if !done.is_empty() {
            let mut after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
            // An event that took a completed one's place meanwhile is asked at the end.
            after.retain(|event| !done.contains(&event.stream()) || !event.is_complete().unwrap_or(false));
        }
    }

    /// Hands the resource to the keeper.
    pub(crate) fn end(&mut self, free: Free, pages: Option<std::sync::Arc<dyn Pages>>) {
        let after = std::mem::take(self.after.get_mut().unwrap_or_else(PoisonError::into_inner));
        self.runtime.keeper().retire(Retired { what: self.what, after, tenancy: self.tenancy, free, pages });
    }
}
