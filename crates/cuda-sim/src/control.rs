//! The script: commands that set up the machine, and what is read back.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::device::{Driver, Schedule};
use crate::error::Code;
use crate::faults::{Fault, Manner};
use crate::ledger::Live;
use crate::os;
use crate::state::{self, State};

/// A command that makes no sense.
#[derive(Debug)]
pub(crate) struct NotUnderstood(String);

type Parsed<T = ()> = Result<T, NotUnderstood>;

/// Most devices that a machine may have.
const MAX_DEVICES: u32 = 64;
/// Exit status of a process that ended with findings or leaks and asked to be told.
const FAILED: i32 = 86;

/// Carries out the commands in `EDGEFIRST_CUDA_SIM`.
pub(crate) fn from_environment(state: &mut State) {
    let Ok(commands) = env::var("EDGEFIRST_CUDA_SIM") else {
        return;
    };
    if let Err(NotUnderstood(command)) = run(state, &commands) {
        state.ledger.find("bad-command", format!("EDGEFIRST_CUDA_SIM: `{command}` is not understood"));
    }
}

/// Carries out commands, up to the first that is not understood.
pub(crate) fn run(state: &mut State, commands: &str) -> Parsed {
    let commands = commands.split([';', '\n']).map(str::trim);
    for command in commands.filter(|command| !command.is_empty()) {
        let words: Vec<_> = command.split_whitespace().collect();
        one(state, &words).ok_or_else(|| NotUnderstood(command.to_owned()))?;
    }
    Ok(())
}

fn one(state: &mut State, words: &[&str]) -> Option<()> {
    match words {
        ["reset"] => state.reset(),
        ["unload"] => state.unloaded = true,
        ["clear-faults"] => state.faults.clear(),
        ["clear-findings"] => state.ledger.clear_findings(),
        ["clear-log"] => state.ledger.clear(),
        ["fail-at-exit"] => fail_at_exit(),
        ["schedule", schedule] => state.settings.schedule = parse_schedule(schedule)?,
        ["devices", count] => state.settings.devices = count.parse().ok().filter(|count| *count <= MAX_DEVICES)?,
        ["driver", driver] => state.settings.driver = parse_driver(driver)?,
        ["driver-version", version] => state.settings.driver_version = Some(version.parse().ok()?),
        ["pinned", mode] => state.settings.pinned_same = choose(mode, "same", "different")?,
        ["mempools", mode] => state.settings.memory_pools = choose(mode, "on", "off")?,
        ["host-readonly", mode] => state.settings.host_read_only = choose(mode, "on", "off")?,
        ["host-order", mode] => state.settings.host_order_by_calls = choose(mode, "calls", "threads")?,
        ["patience", ms] => state.settings.patience_ms = ms.parse().ok()?,
        ["lose", device, code] => {
            state.lost.insert(device.parse().ok()?, parse_code(code)?);
        }
        ["fault", symbol, nth, code] => arm(state, symbol, nth, code, Manner::Plain)?,
        ["fault", symbol, nth, code, manner] => arm(state, symbol, nth, code, parse_manner(manner)?)?,
        _ => return None,
    }
    Some(())
}

fn arm(state: &mut State, symbol: &str, nth: &str, code: &str, manner: Manner) -> Option<()> {
    let nth = nth.parse().ok().filter(|nth| *nth > 0)?;
    let code = parse_code(code)?;
    state.faults.arm(symbol, nth, Fault { code, manner });
    Some(())
}

fn parse_schedule(word: &str) -> Option<Schedule> {
    match word {
        "late" => Some(Schedule::Late),
        "early" => Some(Schedule::Early),
        _ => {
            let seed: u64 = word.strip_prefix("random:")?.parse().ok()?;
            // Zero would stay zero; and near seeds are to give distant orders.
            Some(Schedule::Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
        }
    }
}

fn parse_driver(word: &str) -> Option<Driver> {
    match word {
        "ready" => Some(Driver::Ready),
        "none" => Some(Driver::None),
        "no-device" => Some(Driver::NoDevice),
        "too-old" => Some(Driver::TooOld),
        "stub" => Some(Driver::Stub),
        _ => parse_code(word.strip_prefix("code:")?).map(|code| Driver::Code(code.0)),
    }
}

fn parse_manner(word: &str) -> Option<Manner> {
    match word {
        "after" => Some(Manner::After),
        "late" => Some(Manner::Late),
        "close-fd" => Some(Manner::CloseFd),
        _ => None,
    }
}

fn parse_code(word: &str) -> Option<Code> {
    word.parse().ok().filter(|code| *code > 0).map(Code)
}

fn choose(word: &str, yes: &str, no: &str) -> Option<bool> {
    if word == yes { Some(true) } else { (word == no).then_some(false) }
}

/// The live objects, one a line: `what \t handle \t bytes \t made by`.
pub(crate) fn ledger_text(state: &State) -> String {
    live(state).iter().map(|live| format!("{live}\n")).collect()
}

/// What a program made and has not ended. What lives on a lost device cannot be ended, and is left out.
fn live(state: &State) -> Vec<Live> {
    let mut all = live_memory(state);
    let alive = |device: u32| !state.lost.contains_key(&device);
    let entry = |what, handle: usize, made: &crate::ledger::Who| Live { what, handle, bytes: 0, made: made.clone() };
    let streams = state.streams.values().filter(|stream| stream.is_created() && alive(stream.device));
    all.extend(streams.map(|stream| entry("stream", stream.handle, &stream.made)));
    let events = state.events.iter().filter(|(_, event)| alive(event.device));
    all.extend(events.map(|(handle, event)| entry("event", *handle, &event.made)));
    all.extend(state.graphs.iter().map(|(handle, made)| entry("graph", *handle, made)));
    for (handle, context) in state.contexts.iter().filter(|(_, context)| alive(context.device)) {
        if !context.primary && context.active {
            all.push(entry("context", *handle, &context.made));
        }
        all.extend(context.retained.iter().map(|made| entry("primary-context", *handle, made)));
    }
    all.sort_by_key(|live| live.made.seq);
    all
}

fn live_memory(state: &State) -> Vec<Live> {
    let alive = |device: u32| !state.lost.contains_key(&device);
    let regions = state.memory.regions.values().filter(|region| alive(region.device));
    let regions = regions.map(|region| (region.kind.slug(), region.start, region.bytes, &region.made));
    let pinned = state.memory.pinned.values().filter(|pinned| alive(pinned.device));
    let pinned = pinned.map(|pinned| (pinned.slug(), pinned.start, pinned.bytes, &pinned.made));
    let imports = state.external.imports.iter().filter(|(_, import)| alive(import.device));
    let imports = imports.map(|(handle, import)| ("external-memory", *handle, import.bytes, &import.made));
    let all = regions.chain(pinned).chain(imports);
    all.map(|(what, handle, bytes, made)| Live { what, handle, bytes, made: made.clone() }).collect()
}

static WATCHING: AtomicBool = AtomicBool::new(false);

fn fail_at_exit() {
    if !WATCHING.swap(true, Ordering::Relaxed) {
        os::at_exit(judge);
    }
}

/// At the end a live object is a leak. Findings were printed when they were made.
extern "C" fn judge() {
    let mut state = state::lock();
    for Live { what, handle, bytes, made } in live(&state) {
        let message = format!("{what} {handle:#x} of {bytes} bytes, made by {made}, was never ended");
        state.ledger.find("leak", message);
    }
    if state.ledger.has_findings() {
        os::exit_now(FAILED);
    }
}
