//! Bug report 7: a runtime that the process has already is the one to use.

#![expect(unsafe_code, reason = "libraries are loaded as another part of the program would")]
//! # Safety argument
//! What is loaded are copies of the simulator and stand-ins of this test.

use std::path::{Path, PathBuf};
use std::process::Command;

use edgefirst_cuda::{Runtime, Search};
use libloading::os::unix::Library;
use testkit::sim::Major;

use super::child::{alone, given, this_test};
use super::stand_in::{StandIn, need_cc};
use super::tree::{Tree, lines};

/// As another part of the program would: by path, once and for good.
fn load(file: &Path) {
    // SAFETY: the library is the simulator or a stand-in; their initialisers may run anywhere.
    let library = unsafe { Library::open(Some(file), libc::RTLD_NOW | libc::RTLD_NODELETE) };
    library.expect("it loads");
}

fn prepare(command: &mut Command) -> Tree {
    let tree = Tree::new();
    tree.runtime("application/libcudart.so.12", Major::V12);
    tree.runtime("wheels/nvidia/cu13/lib/libcudart.so.13", Major::V13);
    command.env("TREE", tree.root());
    tree
}

/// Looks for a loaded one, then at a newer wheel.
fn search(root: &Path) -> (edgefirst_cuda::Result<Runtime>, Vec<String>) {
    let mut search = Search::nowhere();
    search.loaded = true;
    search.wheel_dirs = vec![root.join("wheels")];
    let (runtime, attempts) = Runtime::search(&search);
    (runtime, lines(root, &attempts))
}

#[test]
fn the_loaded_one_comes_before_a_newer_wheel() {
    alone(this_test!(), prepare, || {
        let root = PathBuf::from(given("TREE"));
        load(&root.join("application/libcudart.so.12"));
        let (runtime, lines) = search(&root);
        assert_eq!(lines, ["already loaded: libcudart.so.12: used"]);
        assert_eq!(runtime.expect("it works").path(), Some(root.join("application/libcudart.so.12").as_path()));
    });
}

#[test]
fn nothing_loaded_is_no_attempt() {
    alone(this_test!(), prepare, || {
        let (_, lines) = search(Path::new(&given("TREE")));
        assert_eq!(lines, ["wheel: ~/wheels/nvidia/cu13/lib/libcudart.so.13: used"]);
    });
}

/// As auditwheel does: file and SONAME carry a hash.
#[test]
fn a_renamed_copy_is_found_by_its_file_name() {
    need_cc!();
    const RENAMED: &str = "application.libs/libcudart-8774224f.so.12.4.127";
    let prepare = |command: &mut Command| {
        let tree = prepare(command);
        StandIn { soname: "libcudart-8774224f.so.12.4.127", version: 12040, ..StandIn::default() }
            .make(&tree.place(RENAMED));
        tree
    };
    alone(this_test!(), prepare, || {
        let root = PathBuf::from(given("TREE"));
        load(&root.join(RENAMED));
        let (_, lines) = search(&root);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].starts_with(&format!("already loaded: ~/{RENAMED}: cudaGetDeviceCount failed with 35")),
            "{lines:?}"
        );
    });
}

/// A file that the process merely reads has not been loaded.
#[test]
fn a_mapped_file_is_not_a_loaded_library() {
    alone(this_test!(), prepare, || {
        let root = PathBuf::from(given("TREE"));
        let file = std::fs::File::open(root.join("application/libcudart.so.12")).expect("it is there");
        // SAFETY: a fresh mapping that nothing looks at.
        let map = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                4096,
                rustix::mm::ProtFlags::READ,
                rustix::mm::MapFlags::PRIVATE,
                &file,
                0,
            )
        };
        map.expect("a page");
        let (_, lines) = search(&root);
        assert_eq!(lines, ["wheel: ~/wheels/nvidia/cu13/lib/libcudart.so.13: used"]);
    });
}

/// The name of a library's file may be gone while the library is still in use.
#[test]
fn a_loaded_library_whose_file_was_removed_is_used() {
    need_cc!();
    alone(this_test!(), prepare, || {
        let root = PathBuf::from(given("TREE"));
        let renamed = root.join("application/libcudart-removed.so");
        StandIn { soname: "libcudart-removed.so", ..StandIn::default() }.make(&renamed);
        load(&renamed);
        std::fs::remove_file(&renamed).expect("it was made");
        let (_, lines) = search(&root);
        assert!(
            lines[0]
                .starts_with("already loaded: ~/application/libcudart-removed.so: cudaGetDeviceCount failed with 35"),
            "{lines:?}"
        );
    });
}
