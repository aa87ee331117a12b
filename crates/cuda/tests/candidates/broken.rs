//! Things that are named like a runtime and are none. Each is passed over, with the loader's own words in the report.

use std::path::Path;
use std::process::Command;

use edgefirst_cuda::{Reason, Runtime, Search};
use testkit::sim::Major;

use super::cc;
use super::child::{Held, alone, given, quietly, this_test};
use super::stand_in::{StandIn, need_cc};
use super::tree::{Tree, reason};

const WHEEL: &str = "site-packages/nvidia/cu13/lib/libcudart.so.13";
const CONDA: &str = "conda/lib/libcudart.so.12";

/// Searches a wheel with `broken` in it, then a conda environment with a runtime that works.
fn passes_over(broken: impl FnOnce(&Tree), expected: &str) {
    let tree = Tree::new();
    broken(&tree);
    tree.runtime(CONDA, Major::V12);
    let mut search = Search::nowhere();
    search.wheel_dirs = vec![tree.at("site-packages")];
    search.conda_prefix = Some(tree.at("conda"));
    let (runtime, lines) = tree.search(&search);
    assert!(runtime.is_ok(), "{lines:#?}");
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(
        lines[0].starts_with(&format!("wheel: ~/{WHEEL}: ")) && lines[0].contains(expected),
        "{expected} is not in {lines:#?}"
    );
    assert_eq!(lines[1], format!("CONDA_PREFIX: ~/{CONDA}: used"));
}

#[test]
fn files_that_are_no_libraries() {
    passes_over(|tree| tree.file(WHEEL, b""), "libcudart.so.13: file too short");
    passes_over(|tree| tree.file(WHEEL, &b"INPUT(libcudart.so.13.0.48)\n".repeat(8)), "invalid ELF header");
    passes_over(|tree| tree.folder(WHEEL), "Is a directory");
    passes_over(|tree| tree.link(WHEEL, "libcudart.so.13.0.48"), "No such file or directory");
    passes_over(|tree| tree.link(WHEEL, "libcudart.so.13"), "Too many levels of symbolic links");
    passes_over(|tree| tree.file(WHEEL, &elf_of_32_bits()), "wrong ELF class: ELFCLASS32");
}

/// The header of a shared library for i386.
fn elf_of_32_bits() -> Vec<u8> {
    let mut header = vec![0; 4096];
    header[..7].copy_from_slice(b"\x7fELF\x01\x01\x01");
    // ET_DYN, EM_386, EV_CURRENT.
    header[16..24].copy_from_slice(&[3, 0, 3, 0, 1, 0, 0, 0]);
    header
}

/// Bug report 4: a machine without CUDA gets its answer in silence, and nothing stays open.
#[test]
fn a_search_in_vain_leaves_no_trace() {
    let prepare = |command: &mut Command| {
        let tree = Tree::new();
        tree.file(WHEEL, b"");
        tree.file("conda/lib/libcudart.so.12", &elf_of_32_bits());
        tree.folder("toolkit/lib64/libcudart.so");
        command.env("CONDA_PREFIX", tree.at("conda")).env("TREE", tree.root());
        tree
    };
    alone(this_test!(), prepare, || {
        let mut search = Search::from_process();
        search.wheel_dirs = vec![Path::new(&given("TREE")).join("site-packages")];
        search.toolkit_root = Some(Path::new(&given("TREE")).join("toolkit"));
        search.os_loader = false;
        let held = Held::now();
        let (runtime, attempts) = quietly(|| Runtime::search(&search));
        held.is_all_that_is_held();
        assert_eq!(attempts.len(), 3, "{attempts:?}");
        assert_eq!(reason(runtime), Reason::NotFound);
    });
}

/// Bug report 6.
#[test]
fn a_library_whose_dependency_is_missing() {
    need_cc!();
    let broken = |tree: &Tree| {
        let (file, needed) = (tree.place(WHEEL), tree.at("libneeded.so"));
        StandIn { soname: "libneeded.so", ..StandIn::default() }.make(&needed);
        let source = tree.at("empty.c");
        std::fs::write(&source, "extern int needed;\n").expect("the folder is ours");
        cc::compile(cc::library(&file).arg(source).arg("-Wl,--no-as-needed").arg(&needed));
        std::fs::remove_file(needed).expect("it was made");
    };
    passes_over(broken, "libneeded.so: cannot open shared object file: No such file or directory");
}

/// Bug report 10, the other half: without a base symbol there is nothing to switch off singly.
#[test]
fn a_library_without_the_symbols() {
    need_cc!();
    let broken = |tree: &Tree| StandIn { without: &["cudaEventQuery"], ..StandIn::default() }.make(&tree.place(WHEEL));
    passes_over(broken, "not a usable CUDA runtime: cudaEventQuery is missing");
}

/// Bug report 8 where the older runtime works.
#[test]
fn a_runtime_that_is_too_new_for_the_driver() {
    need_cc!();
    let broken = |tree: &Tree| {
        StandIn { soname: "libcudart.so.13", version: 13000, ..StandIn::default() }.make(&tree.place(WHEEL))
    };
    passes_over(broken, "cudaGetDeviceCount failed with 35 cudaErrorInsufficientDriver");
}
