//! The CUDA runtime's binary interface: types and the table of symbols.
//!
//! Everything here is raw. The layouts are those of CUDA 13; older runtimes read a prefix of them (see [`types`]).

pub mod symbols;
pub mod types;
