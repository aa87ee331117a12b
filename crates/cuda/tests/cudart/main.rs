//! The real CUDA runtimes 11.8, 12.9 and 13, and their headers, on a machine without a GPU.
//!
//! Needs the folder in `EDGEFIRST_TEST_CUDART` (NVIDIA's wheels, unpacked below `11`, `12` and `13`) and a C compiler;
//! the tier `cudart` sets both up. Without them every test is a counted skip.
//!
//! A real runtime asks its driver once and never again, and it is never unloaded. So a test that makes one answer runs in
//! a process of its own: see [`child`].

mod abi;
mod cc;
mod child;
mod driver;
mod real;
mod side_by_side;
mod wheels;
