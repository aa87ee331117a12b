//! Vector clocks: who knows of what.
//!
//! Every stream and every host thread is an actor with a counter. An actor's clock says, for every other,
//! up to which step it is ordered after it. Two accesses conflict when neither clock knows of the other.

use std::collections::BTreeMap;

/// A stream or a host thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Actor(pub(crate) u32);

/// One step of one actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    actor: Actor,
    step: u64,
}

/// What an actor is ordered after.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(BTreeMap<Actor, u64>);

impl Clock {
    /// Everything that the other is ordered after precedes this one, too.
    pub(crate) fn join(&mut self, other: &Clock) {
        for (actor, step) in &other.0 {
            let mine = self.0.entry(*actor).or_default();
            *mine = (*mine).max(*step);
        }
    }

    /// The actor takes a step.
    pub(crate) fn tick(&mut self, actor: Actor) -> Epoch {
        let step = self.0.entry(actor).or_default();
        *step += 1;
        Epoch { actor, step: *step }
    }

    /// Whether that step lies before everything that carries this clock.
    pub(crate) fn knows(&self, epoch: Epoch) -> bool {
        self.0.get(&epoch.actor).copied().unwrap_or(0) >= epoch.step
    }

    /// Whether everything that this clock knows is known to the other.
    pub(crate) fn is_known_to(&self, other: &Clock) -> bool {
        self.0.iter().all(|(actor, step)| other.knows(Epoch { actor: *actor, step: *step }))
    }
}
