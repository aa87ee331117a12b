//! Bug report 10: what one missing symbol switches off.

use edgefirst_cuda::sys::symbols::{Group, TABLE};
use edgefirst_cuda::{Error, Runtime};

use super::stand_in::{StandIn, need_cc};
use super::tree::Tree;

const SEMAPHORES_V2: [&str; 2] = ["cudaWaitExternalSemaphoresAsync_v2", "cudaSignalExternalSemaphoresAsync_v2"];

/// The groups that are off in this library under this file name, each with the symbol that it names.
fn off(name: &str, library: &StandIn<'_>) -> Vec<(Group, &'static str)> {
    let tree = Tree::new();
    let file = tree.at(name);
    library.make(&file);
    let runtime = Runtime::load_from(file).expect("the base symbols are there");
    let mut groups: Vec<_> = TABLE.iter().map(|(group, _)| *group).filter(|group| *group != Group::Driver).collect();
    groups.dedup();
    groups.into_iter().filter_map(|group| missing(&runtime, group)).collect()
}

fn missing(runtime: &Runtime, group: Group) -> Option<(Group, &'static str)> {
    match runtime.group(group) {
        Ok(()) => None,
        Err(Error::MissingGroup { group, symbol }) => Some((group, symbol)),
        Err(other) => panic!("{group}: {other}"),
    }
}

#[test]
fn a_missing_symbol_switches_off_its_group_alone() {
    need_cc!();
    for (group, symbol) in [
        (Group::ExternalMemory, "cudaDestroyExternalMemory"),
        (Group::MappedArrays, "cudaFreeMipmappedArray"),
        (Group::ExternalSemaphores, "cudaImportExternalSemaphore"),
        (Group::Gl, "cudaGLGetDevices"),
        (Group::Egl, "cudaGraphicsEGLRegisterImage"),
        (Group::HostRegistration, "cudaHostUnregister"),
        (Group::StreamOrdered, "cudaFreeAsync"),
    ] {
        assert_eq!(
            off("libcudart.so.12", &StandIn { without: &[symbol], with: &SEMAPHORES_V2, ..StandIn::default() }),
            [(group, symbol)]
        );
    }
}

#[test]
fn a_young_symbol_switches_nothing_off() {
    need_cc!();
    assert_eq!(
        off(
            "libcudart.so.12",
            &StandIn { without: &["cudaStreamGetDevice"], with: &SEMAPHORES_V2, ..StandIn::default() }
        ),
        []
    );
}

/// Before 13 the plain names take other structures; 13 has no other names. The file's name tells the version, since 11 does
/// not where there is no driver; a renamed one is asked.
#[test]
fn semaphores_are_used_under_the_name_that_means_the_same_everywhere() {
    need_cc!();
    const SIGNAL: Option<&str> = Some("cudaSignalExternalSemaphoresAsync");
    const WAIT: Option<&str> = Some("cudaWaitExternalSemaphoresAsync");
    let [wait_v2, signal_v2] = SEMAPHORES_V2;
    for (file, version, with, missing) in [
        ("libcudart.so.11.0", 0, &[wait_v2, signal_v2][..], None),
        ("libcudart.so.11.0", 0, &[signal_v2], WAIT),
        ("libcudart.so.12", 0, &[wait_v2, signal_v2], None),
        ("libcudart.so.12.9.79", 0, &[wait_v2], SIGNAL),
        ("libcudart.so.13", 0, &[], None),
        ("renamed.so", 0, &[signal_v2], WAIT),
        ("renamed.so", 12090, &[wait_v2, signal_v2], None),
        ("renamed.so", 12090, &[wait_v2], SIGNAL),
        ("renamed.so", 13000, &[], None),
    ] {
        let expected: Vec<_> = missing.map(|symbol| (Group::ExternalSemaphores, symbol)).into_iter().collect();
        assert_eq!(off(file, &StandIn { version, with, ..StandIn::default() }), expected, "{file} {version} {with:?}");
    }
}

/// And the search goes on.
#[test]
fn a_library_without_a_base_symbol_is_no_runtime() {
    need_cc!();
    let bases: Vec<_> =
        TABLE.iter().filter(|(group, name)| *group == Group::Base && *name != "cudaStreamGetDevice").collect();
    for (_, symbol) in bases {
        let tree = Tree::new();
        let file = tree.at("library");
        StandIn { without: &[symbol], ..StandIn::default() }.make(&file);
        let error = Runtime::load_from(file).expect_err("it is of no use").to_string();
        assert!(error.contains(symbol), "{error}");
    }
}
