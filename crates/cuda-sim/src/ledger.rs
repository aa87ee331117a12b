//! What is remembered: the log of calls, the findings, and who made what.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

/// What `sim_host_access` tells of: no call, so it has no number.
const HOST_ACCESS: &str = "host access";

/// The call that did something, as messages name it.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) seq: u64,
    pub(crate) symbol: &'static str,
    /// Name and kernel thread id, `main/4711`.
    pub(crate) thread: Arc<str>,
    pub(crate) stream: Option<usize>,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.symbol == HOST_ACCESS {
            return write!(f, "{HOST_ACCESS} by {} after call {}", self.thread, self.seq);
        }
        write!(f, "call {} {} by {}", self.seq, self.symbol, self.thread)?;
        match self.stream {
            Some(stream) => write!(f, " in stream {stream:#x}"),
            None => Ok(()),
        }
    }
}

/// Something that no reference text allows.
#[derive(Clone, Debug)]
struct Finding {
    kind: &'static str,
    message: String,
}

/// A live object, as `sim_read("ledger")` lists it.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) what: &'static str,
    pub(crate) handle: usize,
    pub(crate) bytes: usize,
    pub(crate) made: Who,
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Live { what, handle, bytes, made } = self;
        write!(f, "{what}\t{handle:#x}\t{bytes}\t{made}")
    }
}

/// A call that has begun; the result is filled in when it returns.
#[derive(Debug)]
struct Logged {
    who: Who,
    result: Option<i32>,
}

/// The log and the findings of one copy of the simulator.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    calls: Vec<Logged>,
    findings: Vec<Finding>,
    next_seq: u64,
}

impl Ledger {
    /// Numbers a call and writes it to the log.
    pub(crate) fn begin(&mut self, symbol: &'static str, thread: Arc<str>, stream: Option<usize>) -> Who {
        self.next_seq += 1;
        let who = Who { seq: self.next_seq, symbol, thread, stream };
        self.calls.push(Logged { who: who.clone(), result: None });
        who
    }

    /// Names a host access by the call that it comes after.
    pub(crate) fn host_access(&self, thread: Arc<str>) -> Who {
        Who { seq: self.next_seq, symbol: HOST_ACCESS, thread, stream: None }
    }

    /// Writes down what the call returned.
    pub(crate) fn end(&mut self, who: &Who, result: i32) {
        let at = self.calls.binary_search_by_key(&who.seq, |call| call.who.seq);
        // Not found: the log was cleared while the call ran.
        if let Ok(at) = at {
            self.calls[at].result = Some(result);
        }
    }

    /// Records a finding and prints it.
    pub(crate) fn find(&mut self, kind: &'static str, message: String) {
        print(kind, &message);
        self.findings.push(Finding { kind, message });
    }

    /// Forgets calls and findings, but goes on counting.
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.clear_findings();
    }

    pub(crate) fn clear_findings(&mut self) {
        self.findings.clear();
    }

    pub(crate) fn has_findings(&self) -> bool {
        !self.findings.is_empty()
    }

    /// `seq \t thread \t symbol \t stream \t result`
    pub(crate) fn calls_text(&self) -> String {
        let line = |call: &Logged| {
            let Who { seq, symbol, thread, stream } = &call.who;
            let stream = stream.map_or("-".into(), |handle| format!("{handle:#x}"));
            let result = call.result.map_or("-".into(), |code| code.to_string());
            format!("{seq}\t{thread}\t{symbol}\t{stream}\t{result}\n")
        };
        self.calls.iter().map(line).collect()
    }

    /// `kind \t message`
    pub(crate) fn findings_text(&self) -> String {
        let line = |finding: &Finding| format!("{}\t{}\n", finding.kind, finding.message);
        self.findings.iter().map(line).collect()
    }
}

/// Prints a finding at once, past any harness that captures output, and in one piece. Where stderr is closed
/// there is nobody to tell.
pub(crate) fn print(kind: &str, message: &str) {
    let line = format!("edgefirst-cuda-sim: finding {kind}: {message}\n");
    let _ = io::stderr().write_all(line.as_bytes());
}
