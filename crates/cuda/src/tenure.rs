//! How long a resource is needed: until the last of its uses has completed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    uses: Mutex<Uses>,
}

/// The ends of the uses so far. A later event of a stream does not replace an earlier one: two threads may hand them
/// over in the other order.
#[derive(Debug)]
struct Uses {
    after: Vec<Event>,
    /// At this length, those that are complete are dropped.
    crowded: usize,
}

impl Uses {
    const FEW: usize = 8;
    /// How long the keeper is waited for, where it must be asked.
    const SOON: Duration = Duration::from_millis(1);
}

impl Tenure {
    pub(crate) fn new(what: &'static str, runtime: &Runtime, tenancy: Tenancy) -> Self {
        let uses = Mutex::new(Uses { after: Vec::new(), crowded: Uses::FEW });
        Self { what, runtime: runtime.clone(), tenancy, uses }
    }

    /// Keeps the resource until `event` is complete.
    pub(crate) fn after(&self, event: Event) {
        let crowd = {
            let mut uses = self.uses();
            uses.after.push(event);
            if uses.after.len() < uses.crowded { return } else { uses.after.clone() }
        };
        // The lock is free while CUDA is asked; what is complete remembers it. What cannot be asked now is kept.
        for event in &crowd {
            let _ = event.is_complete_within(Uses::SOON);
        }
        let mut uses = self.uses();
        uses.after.retain(|event| !event.was_complete());
        uses.crowded = Uses::FEW.max(2 * uses.after.len());
    }

    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands the resource to the keeper.
    pub(crate) fn end(&mut self, free: Free, pages: Option<Arc<dyn Pages>>) {
        let after = std::mem::take(&mut self.uses().after);
        self.runtime.keeper().retire(Retired { what: self.what, after, tenancy: self.tenancy, free, pages });
    }
}
