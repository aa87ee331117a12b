//! Faults by script: the n-th call of a symbol goes wrong.

use crate::error::Code;

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// The code is returned and nothing happens.
    Plain,
    /// The effect happens and the code is returned all the same.
    After,
    /// The call succeeds; the code surfaces in a later synchronising or querying call.
    Late,
    /// An import fails and has closed the file descriptor that it was given.
    CloseFd,
}

/// What is to befall one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) manner: Manner,
}

#[derive(Debug)]
struct Armed {
    /// A symbol's name, or `*`.
    symbol: String,
    calls_left: u64,
    fault: Fault,
}

/// The faults that wait for their call.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Armed>);

impl Faults {
    /// Arms a fault for the `nth` matching call from now on.
    pub(crate) fn arm(&mut self, symbol: &str, nth: u64, fault: Fault) {
        self.0.push(Armed { symbol: symbol.to_owned(), calls_left: nth, fault });
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Counts a call; the fault that is due, if one is.
    pub(crate) fn strike(&mut self, symbol: &str) -> Option<Fault> {
        for armed in &mut self.0 {
            if armed.symbol == symbol || armed.symbol == "*" {
                armed.calls_left = armed.calls_left.saturating_sub(1);
            }
        }
        let due = self.0.iter().position(|armed| armed.calls_left == 0)?;
        Some(self.0.remove(due).fault)
    }
}
