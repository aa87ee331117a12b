//! Who holds the bytes: many readers, or one writer.
//!
//! References settle this at compile time for one handle. What they cannot see is settled here: a
//! guard that has become its own owner, or one that was leaked.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// What a map is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The bytes are looked at.
    Read,
    /// The bytes are changed.
    Write,
}

impl Access {
    /// Two accesses may overlap only if both read.
    pub(crate) fn conflicts_with(self, other: Self) -> bool {
        self == Self::Write || other == Self::Write
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "reading",
            Self::Write => "writing",
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Borrows(Mutex<Held>);

#[derive(Debug, Default)]
enum Held {
    #[default]
    Free,
    Readers(usize),
    Writer,
}

impl Borrows {
    /// Takes the bytes for `access`; a successful call is owed one [`Borrows::release`].
    pub(crate) fn take(&self, access: Access) -> Result<()> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *held = match (&*held, access) {
            (Held::Free, Access::Read) => Held::Readers(1),
            (Held::Free, Access::Write) => Held::Writer,
            (Held::Readers(n), Access::Read) => Held::Readers(n + 1),
            (Held::Readers(_), Access::Write) => return Err(mapped(Access::Read, access)),
            (Held::Writer, _) => return Err(mapped(Access::Write, access)),
        };
        Ok(())
    }

    /// Gives back what one [`Borrows::take`] took.
    pub(crate) fn release(&self) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *held = match &*held {
            Held::Readers(n) if *n > 1 => Held::Readers(n - 1),
            _ => Held::Free,
        };
    }
}

fn mapped(held: Access, wanted: Access) -> Error {
    Error::Mapped { held, wanted }
}
