//! The places and their order. Bug reports 1 to 3: versioned names, no developer's link, a new major.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use edgefirst_cuda::{Code, Reason, Runtime, Search};
use testkit::sim::Major;

use super::child::{alone, given, this_test};
use super::tree::{Tree, lines, reason};

/// Makes a search look at one folder of the tree.
type Look = fn(&mut Search, PathBuf);

const VIRTUAL_ENV: Look = |search, folder| search.virtual_env = Some(folder);
const WHEELS: Look = |search, folder| search.wheel_dirs = vec![folder];
const CONDA: Look = |search, folder| search.conda_prefix = Some(folder);
const CUDA_PATH: Look = |search, folder| search.cuda_path = Some(folder);
const CUDA_HOME: Look = |search, folder| search.cuda_home = Some(folder);
const TOOLKIT: Look = |search, folder| search.toolkit_root = Some(folder);

fn looking(look: Look, folder: PathBuf) -> Search {
    let mut search = Search::nowhere();
    look(&mut search, folder);
    search
}

#[test]
fn each_place_is_found() {
    for (look, source, file) in [
        (VIRTUAL_ENV, "wheel", "lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12"),
        (VIRTUAL_ENV, "wheel", "lib64/python3.9/site-packages/nvidia/cu13/lib/libcudart.so.13"),
        (WHEELS, "wheel", "nvidia/cuda_runtime/lib/libcudart.so.11.0"),
        (WHEELS, "wheel", "nvidia/cu13/lib/libcudart.so.13"),
        (WHEELS, "wheel", "nvidia/cu14/lib/libcudart.so.14"),
        (CONDA, "CONDA_PREFIX", "lib/libcudart.so.12"),
        (CONDA, "CONDA_PREFIX", "lib/libcudart.so"),
        (CUDA_PATH, "CUDA_PATH", "lib64/libcudart.so.12.9.79"),
        (CUDA_HOME, "CUDA_HOME", "lib/libcudart.so.12"),
        (TOOLKIT, "toolkit", "lib64/libcudart.so.12"),
        (TOOLKIT, "toolkit", "targets/sbsa-linux/lib/libcudart.so.13"),
    ] {
        let tree = Tree::new();
        tree.runtime(file, Major::V12);
        let (runtime, lines) = tree.search(&looking(look, tree.root().to_owned()));
        assert_eq!(lines, [format!("{source}: ~/{file}: used")]);
        assert_eq!(runtime.expect("it works").path(), Some(tree.at(file).as_path()));
    }
}

#[test]
fn each_empty_place_is_in_the_report() {
    for (look, source) in [
        (VIRTUAL_ENV, "wheel"),
        (WHEELS, "wheel"),
        (CONDA, "CONDA_PREFIX"),
        (CUDA_PATH, "CUDA_PATH"),
        (CUDA_HOME, "CUDA_HOME"),
        (TOOLKIT, "toolkit"),
    ] {
        for folder in ["there", "not-there"] {
            let tree = Tree::new();
            tree.folder("there");
            let (runtime, lines) = tree.search(&looking(look, tree.at(folder)));
            assert_eq!(lines.len(), 1, "{source}: {lines:?}");
            assert!(
                lines[0].starts_with(&format!("{source}: ~/{folder}")) && lines[0].ends_with(": not there"),
                "{lines:?}"
            );
            assert_eq!(reason(runtime), Reason::NotFound);
        }
    }
}

#[test]
fn the_newest_of_a_place_comes_first_and_the_unversioned_name_last() {
    let tree = Tree::new();
    let newest_first = [
        "nvidia/cu13/lib/libcudart.so.13",
        "nvidia/cuda_runtime/lib/libcudart.so.12",
        "nvidia/a/lib/libcudart.so.11.0",
    ];
    for file in newest_first {
        tree.file(file, b"");
    }
    assert_eq!(names(&tree, WHEELS), newest_first);

    let tree = Tree::new();
    let newest_first = [
        "lib/libcudart.so.13.0.48",
        "lib/libcudart.so.12.10",
        "lib64/libcudart.so.12.9",
        "lib/libcudart.so.9",
        "lib64/libcudart.so",
    ];
    for file in newest_first {
        tree.file(file, b"");
    }
    assert_eq!(names(&tree, TOOLKIT), newest_first);
}

/// The files that were tried below the tree.
fn names(tree: &Tree, look: Look) -> Vec<String> {
    let (_, lines) = tree.search(&looking(look, tree.root().to_owned()));
    lines.iter().filter_map(|line| line.split_once("~/")?.1.split_once(": ")).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn links_to_one_library_are_one_candidate() {
    let tree = Tree::new();
    tree.file("lib64/libcudart.so.12.9.79", b"");
    tree.link("lib64/libcudart.so.12", "libcudart.so.12.9.79");
    tree.link("lib64/libcudart.so", "libcudart.so.12");
    tree.link("lib", "lib64");
    tree.link("targets/x86_64-linux/lib", "../../lib64");
    assert_eq!(names(&tree, TOOLKIT), ["lib64/libcudart.so.12.9.79"]);
}

#[test]
fn loops_of_folders_end() {
    let tree = Tree::new();
    tree.link("nvidia/again", ".");
    tree.link("nvidia/lib", "lib");
    tree.link("targets/again", "../targets");
    tree.runtime("nvidia/cu13/lib/libcudart.so.13", Major::V13);
    let mut search = looking(WHEELS, tree.root().to_owned());
    search.virtual_env = Some(tree.at("nvidia/lib"));
    search.cuda_path = Some(tree.root().to_owned());
    let (runtime, lines) = tree.search(&search);
    assert!(runtime.is_ok(), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("wheel: ~/nvidia/cu13/lib/libcudart.so.13: used"));
}

/// Bug report 5: what lies in `stubs` is for linking.
#[test]
fn stubs_are_not_searched() {
    let tree = Tree::new();
    for folder in ["lib64/stubs", "lib/stubs", "targets/x86_64-linux/lib/stubs", "stubs"] {
        tree.runtime(format!("{folder}/libcudart.so.12"), Major::V12);
    }
    let (runtime, lines) = tree.search(&looking(TOOLKIT, tree.root().to_owned()));
    assert_eq!(lines, ["toolkit: ~/libcudart.so*: not there"]);
    assert_eq!(reason(runtime), Reason::NotFound);
}

#[test]
fn a_bad_cuda_path_does_not_hide_a_good_cuda_home() {
    let tree = Tree::new();
    tree.runtime("toolkit/lib64/libcudart.so.12", Major::V12);
    let mut search = looking(CUDA_HOME, tree.at("toolkit"));
    search.cuda_path = Some(tree.at("removed"));
    let (runtime, lines) = tree.search(&search);
    assert!(runtime.is_ok());
    assert_eq!(
        lines,
        ["CUDA_PATH: ~/removed/libcudart.so*: not there", "CUDA_HOME: ~/toolkit/lib64/libcudart.so.12: used"]
    );
}

#[test]
fn folders_need_not_be_utf8() {
    let tree = Tree::new();
    let folder = tree.at(OsStr::from_bytes(b"caf\xe9"));
    let file = folder.join("lib/libcudart.so.12");
    tree.runtime(&file, Major::V12);
    let (runtime, _) = tree.search(&looking(CONDA, folder));
    assert_eq!(runtime.expect("it works").path(), Some(file.as_path()));
}

/// Every place has a runtime, and each says that it is too new for the driver. What the loader would find is loaded by then
/// under the same SONAME, so it is the wheel's again: the order exists so that this is the copy which the process keeps.
#[test]
fn all_places_in_order() {
    alone(this_test!(), prepare_all_places, || {
        let root = PathBuf::from(given("TREE"));
        let mut search = Search::from_process();
        search.wheel_dirs = vec![root.join("handed-in")];
        search.toolkit_root = Some(root.join("toolkit"));
        let (runtime, attempts) = Runtime::search(&search);
        let expected = [
            ("wheel: ~/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13", REFUSED),
            ("wheel: ~/venv/lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12", REFUSED),
            ("wheel: ~/handed-in/nvidia/cuda_runtime/lib/libcudart.so.12", REFUSED),
            ("CONDA_PREFIX: ~/conda/lib/libcudart.so.12", REFUSED),
            ("loader: libcudart.so.13", REPEATED),
            ("loader: libcudart.so.12", REPEATED),
            ("loader: libcudart.so.11.0", REFUSED),
            ("loader: libcudart.so", REFUSED),
            ("CUDA_PATH: ~/path/lib64/libcudart.so.12", REFUSED),
            ("CUDA_HOME: ~/home/lib64/libcudart.so.12", REFUSED),
            ("toolkit: ~/toolkit/lib64/libcudart.so.12", REFUSED),
        ];
        assert_eq!(lines(&root, &attempts), expected.map(|(target, outcome)| format!("{target}: {outcome}")));
        assert_eq!(reason(runtime), Reason::Refused(Code::INSUFFICIENT_DRIVER));
    });
}

const REFUSED: &str = "cudaGetDeviceCount failed with 35 cudaErrorInsufficientDriver: no NVIDIA driver, or one older than this runtime needs";
const REPEATED: &str = "the same library again";

fn prepare_all_places(command: &mut Command) -> Tree {
    let tree = Tree::new();
    tree.runtime("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcudart.so.13", Major::V13);
    tree.runtime("venv/lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12", Major::V12);
    tree.runtime("handed-in/nvidia/cuda_runtime/lib/libcudart.so.12", Major::V12);
    tree.runtime("conda/lib/libcudart.so.12", Major::V12);
    tree.runtime("loader/libcudart.so.13", Major::V13);
    tree.runtime("loader/libcudart.so.12", Major::V12);
    tree.runtime("loader/libcudart.so.11.0", Major::V11);
    tree.runtime("loader/libcudart.so", Major::V12);
    for toolkit in ["path", "home", "toolkit"] {
        tree.runtime(format!("{toolkit}/lib64/libcudart.so.12"), Major::V12);
    }
    for (variable, folder) in [
        ("VIRTUAL_ENV", "venv"),
        ("CONDA_PREFIX", "conda"),
        ("CUDA_PATH", "path"),
        ("CUDA_HOME", "home"),
        ("LD_LIBRARY_PATH", "loader"),
    ] {
        command.env(variable, tree.at(folder));
    }
    command.env("TREE", tree.root()).env("EDGEFIRST_CUDA_SIM", "driver too-old");
    tree
}

/// Bug report 2: the loader is asked for versioned names.
#[test]
fn the_loader_needs_no_developers_link() {
    let prepare = |command: &mut Command| {
        let tree = Tree::new();
        tree.runtime("libcudart.so.12", Major::V12);
        command.env("LD_LIBRARY_PATH", tree.root()).env("TREE", tree.root());
        tree
    };
    alone(this_test!(), prepare, || {
        let mut search = Search::nowhere();
        search.os_loader = true;
        let (runtime, attempts) = Runtime::search(&search);
        let lines = lines(Path::new(&given("TREE")), &attempts);
        assert_eq!(lines.last().map(String::as_str), Some("loader: libcudart.so.12: used"));
        let expected = Path::new(&given("TREE")).join("libcudart.so.12");
        assert_eq!(runtime.expect("it works").path(), Some(expected.as_path()));
    });
}
