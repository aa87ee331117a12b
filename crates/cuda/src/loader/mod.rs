//! Finding a runtime: the candidates in order, and what became of each.
//!
//! The explicit choice comes first and alone: a program or user that names a library gets that one or an error. Then
//! a runtime that is loaded already, Python's wheels, conda, the system's loader, and the toolkits. The first whose
//! symbols resolve and whose driver answers with a device is used.

mod candidates;
pub(crate) mod os;
mod report;

use std::ffi::{CStr, OsStr, c_void};
use std::path::PathBuf;

pub use candidates::Search;
pub use report::{Attempt, Outcome, Source, Target};

use crate::runtime::Runtime;
use crate::status::{NotAvailable, Reason};

/// Which runtime a process uses.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Choice {
    /// What `EDGEFIRST_CUDART` says, else the first usable one of all places.
    #[default]
    Auto,
    /// None.
    Off,
    /// This file, or none.
    Path(PathBuf),
    /// These functions, or none.
    Resolver(Resolver),
    /// The first usable one of these places.
    Search(Box<Search>),
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::Path(path) => path.display().fmt(f),
            Self::Resolver(resolver) => f.write_str(resolver.name),
            Self::Search(_) => f.write_str("a search of its own"),
        }
    }
}

/// A runtime that is linked into the program: a name, and a function that answers a symbol's address or null.
#[derive(Clone, Copy, Debug)]
pub struct Resolver {
    name: &'static str,
    resolve: fn(&CStr) -> *const c_void,
}

impl Resolver {
    /// Describes a linked-in runtime.
    ///
    /// # Safety
    /// Each address that `resolve` answers must be that of a function with the signature which NVIDIA's headers
    /// declare under this name, for the version that its `cudaRuntimeGetVersion` answers, and stay valid for ever.
    #[expect(unsafe_code, reason = "the addresses will be called")]
    pub const unsafe fn new(name: &'static str, resolve: fn(&CStr) -> *const c_void) -> Self {
        Self { name, resolve }
    }

    /// What the report calls it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn resolve(&self, symbol: &CStr) -> *const c_void {
        (self.resolve)(symbol)
    }
}

/// Walks `search`; answers the runtime, probed and with a device, or why there is none. All attempts either way.
pub(crate) fn walk(search: &Search) -> (Result<Runtime, Reason>, Vec<Attempt>) {
    if cfg!(miri) {
        return (Err(Reason::Miri), Vec::new());
    }
    match &search.choice {
        Choice::Off => (Err(Reason::Off), Vec::new()),
        Choice::Path(path) => explicit(Source::Explicit, Target::Path(path.clone())),
        Choice::Resolver(resolver) => {
            let mut tried = Walk::default();
            let runtime =
                tried.attempt(Source::Explicit, Target::Resolver(resolver.name), Runtime::found_in_resolver(*resolver));
            tried.end(runtime, Reason::ExplicitFailed)
        }
        Choice::Search(inner) => walk(inner),
        Choice::Auto => match search.cudart.as_deref() {
            Some(off) if off == "off" => (Err(Reason::Off), Vec::new()),
            Some(named) => explicit(Source::Environment, named_target(named)),
            None => everywhere(search),
        },
    }
}

/// A name without a slash is the loader's to find, as on any command line that names a library.
fn named_target(named: &OsStr) -> Target {
    if named.as_encoded_bytes().contains(&b'/') {
        Target::Path(named.into())
    } else {
        Target::Name(named.to_string_lossy().into_owned())
    }
}

fn explicit(source: Source, target: Target) -> (Result<Runtime, Reason>, Vec<Attempt>) {
    let mut walk = Walk::default();
    let runtime = walk.load(source, target);
    walk.end(runtime, Reason::ExplicitFailed)
}

fn everywhere(search: &Search) -> (Result<Runtime, Reason>, Vec<Attempt>) {
    let mut walk = Walk::default();
    for (source, target) in search.candidates() {
        if let Some(runtime) = walk.load(source, target) {
            return walk.end(Some(runtime), Reason::NotFound);
        }
        if walk.attempts.last().is_some_and(|attempt| !attempt.outcome.go_on()) {
            break;
        }
    }
    walk.end(None, Reason::NotFound)
}

/// A walk under way.
#[derive(Default)]
struct Walk {
    attempts: Vec<Attempt>,
    /// The best reason that a loaded candidate gave.
    reason: Option<Reason>,
    tried: Vec<PathBuf>,
}

impl Walk {
    fn load(&mut self, source: Source, target: Target) -> Option<Runtime> {
        let found = match &target {
            Target::Path(path) => Runtime::found_at(path.as_os_str()),
            Target::Name(name) => Runtime::found_at(OsStr::new(name)),
            Target::Folder(_) | Target::Resolver(_) => Err(Outcome::Absent),
        };
        self.attempt(source, target, found)
    }

    /// Probes what was found, and notes what became of it.
    fn attempt(&mut self, source: Source, target: Target, found: Result<Runtime, Outcome>) -> Option<Runtime> {
        let (runtime, outcome) = match found.and_then(|runtime| self.new_file(runtime)) {
            Ok(runtime) => match runtime.probe_outcome() {
                Ok(()) => (Some(runtime), Outcome::Used),
                Err((reason, outcome)) => {
                    self.keep_nearest(reason);
                    (None, outcome)
                }
            },
            Err(outcome) => (None, outcome),
        };
        self.attempts.push(Attempt { source, target, outcome });
        runtime
    }

    fn new_file(&mut self, runtime: Runtime) -> Result<Runtime, Outcome> {
        let Some(path) = runtime.path() else { return Ok(runtime) };
        if self.tried.iter().any(|tried| tried == path) {
            return Err(Outcome::Repeated);
        }
        self.tried.push(path.to_owned());
        Ok(runtime)
    }

    fn keep_nearest(&mut self, reason: Reason) {
        if self.reason.as_ref().is_none_or(|kept| kept.nearness() < reason.nearness()) {
            self.reason = Some(reason);
        }
    }

    fn end(self, runtime: Option<Runtime>, otherwise: Reason) -> (Result<Runtime, Reason>, Vec<Attempt>) {
        (runtime.ok_or(self.reason.unwrap_or(otherwise)), self.attempts)
    }
}

/// The error of a single library that could not be used.
pub(crate) fn refused(source: Source, target: Target, outcome: Outcome) -> NotAvailable {
    NotAvailable { reason: Reason::ExplicitFailed, attempts: vec![Attempt { source, target, outcome }] }
}
