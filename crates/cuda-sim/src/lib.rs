//! A strict CUDA without a GPU.
//!
//! It shows wrong programs every time, where a GPU shows them sometimes, and it promises nothing that real
//! hardware does not. Copies, fills and host functions are the work that it can do; it runs no kernels, and
//! nothing about it says anything about speed.
//!
//! **Two channels.** A return code says what NVIDIA's reference text states for the case, and nothing else.
//! Everything beyond that which a program should not do is a *finding*: printed to stderr with who did it and
//! when, kept for `sim_read`, and without influence on what the call returns. The use of something destroyed is
//! recorded and then aborts, because no error is promised for it.
//!
//! **Order.** Work waits in one graph (`schedule`) and runs as late as it may, as early, or by a seed. Whatever
//! ran, a happens-before checker (`history`) compares every access with the earlier ones by vector clocks, so
//! a missing wait is found in each schedule. The host's own order is not visible here: a call that has returned
//! counts as known to every later one, on whatever thread (`host-order calls`); with `host-order threads` each
//! thread knows only what it waited for itself.
//!
//! **Addresses.** Device memory cannot be touched by the host: it faults. Handles are no addresses. Neither is
//! given out twice, so that what is stale is recognised (`memory`).
//!
//! **Limits.** Attributes and properties are those that interop code asks for. Peer access is not modelled:
//! copies between devices succeed. After a device was lost its calls return the code, except those that only
//! select or count devices. What the text leaves open is noted where it is decided.
//!
//! # Commands
//!
//! `sim_control` takes them, separated by `;` or line ends; the environment variable `EDGEFIRST_CUDA_SIM` holds
//! those for the first use.
//!
//! | command | effect |
//! |---|---|
//! | `reset` | back to the beginning; handles and addresses are still not given out twice |
//! | `schedule late`, `early`, `random:SEED` | when work runs; a query under `late` runs one step |
//! | `devices N` | how many, before `CUDA_VISIBLE_DEVICES` |
//! | `driver ready`, `none`, `no-device`, `too-old`, `stub`, `code:N` | what answers behind the runtime |
//! | `driver-version N` | such as 12090; an older major than the runtime's gives 35 |
//! | `pinned same`, `different` | whether the device uses the host's address of pinned memory |
//! | `mempools on`, `off` | stream-ordered allocation |
//! | `host-readonly on`, `off` | registration of read-only pages |
//! | `host-order calls`, `threads` | what the host is taken to know, see above |
//! | `patience MS` | how long a wait for a host function may take before it is a deadlock |
//! | `fault SYMBOL N CODE` | the N-th call from now fails without effect; `*` counts all symbols |
//! | `fault SYMBOL N CODE after`, `late`, `close-fd` | it fails after its effect, in a later waiting or querying call, or having closed the descriptor that it was to import |
//! | `clear-faults` | faults that wait are dropped |
//! | `lose DEVICE CODE` | every call that works on the device answers this from now on |
//! | `unload` | every call answers 4 |
//! | `clear-log`, `clear-findings` | forgets calls and findings, or findings alone |
//! | `fail-at-exit` | at the process's end live objects become findings, and any finding makes the status 86 |
//!
//! # Findings
//!
//! | kind | what a program did |
//! |---|---|
//! | `race` | two accesses to the same bytes, one of them a write, that nothing orders; or a host source that changed before a queued copy read it |
//! | `use-after-free`, `use-after-destroy` | used memory or an object that is gone; aborts |
//! | `double-free` | freed memory twice |
//! | `freed-in-use` | freed or unregistered memory that work uses which it has not waited for |
//! | `unmapped-in-use`, `unmapped-while-registered` | took pinned pages away before their work, or their registration, had ended |
//! | `destroy-while-mapped`, `free-after-destroy` | destroyed an import before its buffers |
//! | `leak` | left something alive at the end |
//! | `foreign-device` | worked on an object while another device was current, where CUDA wants its own |
//! | `wrong-direction` | gave a copy or fill pointers that its direction does not fit |
//! | `write-to-read-only` | wrote pages that were registered read-only |
//! | `nonzero-reserved` | left something in reserved words |
//! | `call-in-host-func` | called CUDA within a host function |
//! | `deadlock` | waits for what waits for it, or for a host function that does not return |
//! | `use-after-fork` | used CUDA in a child of the process that initialised it |
//! | `bad-command` | gave a command in the environment that is not understood |
//!
//! The crate exports no symbols: `edgefirst-cuda-sim-11`, `-12` and `-13` do ([`export!`]). A program that links it
//! installs [`resolve`] instead.

pub mod abi;
pub mod api;

mod address;
mod allocation;
mod call;
mod capture;
mod clock;
mod context;
mod control;
mod copying;
mod device;
mod error;
mod event;
mod export;
mod external;
mod faults;
mod footprint;
mod fork;
mod history;
mod ledger;
mod memory;
mod os;
mod resolver;
mod schedule;
mod state;
mod stream;
mod transfer;

pub use resolver::resolve;
pub use state::{Major, speak_as};
