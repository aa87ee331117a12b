//! Where the walk looks, in which order, and what it says of each thing that it finds there.
//!
//! The good libraries are copies of the simulator, so nothing of NVIDIA's is needed. Bad ones that must be real libraries
//! are made with the C compiler; without one their tests are counted skips.

mod broken;
#[path = "../cudart/cc.rs"]
mod cc;
#[path = "../cudart/child.rs"]
mod child;
mod explicit;
mod groups;
mod loaded;
mod places;
mod stand_in;
mod tree;
