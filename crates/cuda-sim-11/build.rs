//! Gives the library the SONAME of the real one, and its symbols a version node of that name.

use std::process::Command;

const SONAME: &str = "libcudart.so.11.0";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
    // rustc passes a version script of its own, which allows no named node beside it. GNU ld can derive one from
    // the SONAME; LLVM's linker, the default of rustc, cannot, and goes without.
    if Command::new("ld.bfd").arg("--version").output().is_ok() {
        println!("cargo::rustc-cdylib-link-arg=-fuse-ld=bfd");
        println!("cargo::rustc-cdylib-link-arg=-Wl,--default-symver");
    }
}
