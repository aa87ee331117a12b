//! The explicit choice, and the environment that may not choose.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use edgefirst_cuda::{Choice, Code, CudaStatus, Reason, Runtime, Search};
use testkit::sim::Major;

use super::child::{alone, given, this_test};
use super::tree::{Tree, reason};

const GOOD: &str = "wheels/nvidia/cuda_runtime/lib/libcudart.so.12";

/// A search that would find a runtime, if it were not for the choice.
fn with_a_good_wheel(tree: &Tree, choose: impl FnOnce(&mut Search)) -> (edgefirst_cuda::Result<Runtime>, Vec<String>) {
    tree.runtime(GOOD, Major::V12);
    let mut search = Search::nowhere();
    search.wheel_dirs = vec![tree.at("wheels")];
    choose(&mut search);
    tree.search(&search)
}

#[test]
fn off_is_off() {
    for choose in
        [|search: &mut Search| search.cudart = Some("off".into()), |search: &mut Search| search.choice = Choice::Off]
    {
        let (runtime, lines) = with_a_good_wheel(&Tree::new(), choose);
        assert_eq!(lines, [""; 0]);
        assert_eq!(reason(runtime), Reason::Off);
    }
}

#[test]
fn a_bad_path_is_an_error_and_ends_the_search() {
    let tree = Tree::new();
    tree.file("text", b"");
    for (choose, expected) in [
        ((|search, file| search.cudart = Some(file.into())) as fn(&mut Search, PathBuf), "EDGEFIRST_CUDART"),
        (|search, file| search.choice = Choice::Path(file), "asked for"),
    ] {
        for (file, text) in
            [("text", "file too short"), ("nothing", "No such file or directory"), ("wheels", "Is a directory")]
        {
            let (runtime, lines) = with_a_good_wheel(&tree, |search| choose(search, tree.at(file)));
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert!(
                lines[0].starts_with(&format!("{expected}: ~/{file}: not loadable: ")) && lines[0].contains(text),
                "{lines:?}"
            );
            assert_eq!(reason(runtime), Reason::ExplicitFailed);
        }
    }
}

#[test]
fn the_programs_choice_comes_before_the_environments() {
    let tree = Tree::new();
    tree.runtime("chosen", Major::V12);
    let (runtime, lines) = with_a_good_wheel(&tree, |search| {
        search.cudart = Some("off".into());
        search.choice = Choice::Path(tree.at("chosen"));
    });
    assert_eq!(lines, ["asked for: ~/chosen: used"]);
    assert_eq!(runtime.expect("it works").path(), Some(tree.at("chosen").as_path()));
}

/// The child's environment names a library of the tree; the status is the process's own.
fn status_with(this_test: &str, file: &str, environment: &[(&str, &str)], check: impl FnOnce(CudaStatus)) {
    let prepare = |command: &mut Command| {
        let tree = Tree::new();
        tree.runtime("libcudart.so.12", Major::V12);
        command
            .env("EDGEFIRST_CUDART", if file == "off" { file.into() } else { tree.at(file) })
            .env("TREE", tree.root());
        command.envs(environment.iter().copied());
        tree
    };
    alone(this_test, prepare, || check(edgefirst_cuda::cuda_status()));
}

#[test]
fn the_process_uses_what_the_environment_names() {
    status_with(this_test!(), "libcudart.so.12", &[], |status| {
        assert!(status.is_ready() && edgefirst_cuda::is_cuda_available(), "{status}");
        assert_eq!(edgefirst_cuda::runtime_path(), Some(Path::new(&given("TREE")).join("libcudart.so.12").as_path()));
    });
}

#[test]
fn the_process_uses_none_where_the_environment_says_off() {
    status_with(this_test!(), "off", &[], |status| {
        assert_eq!(reason(Runtime::get()), Reason::Off);
        assert!(!status.is_ready() && !edgefirst_cuda::is_cuda_available());
        assert_eq!(edgefirst_cuda::runtime_path(), None);
    });
}

#[test]
fn the_process_uses_none_where_the_environment_names_rubbish() {
    status_with(this_test!(), "rubbish", &[], |status| {
        assert_eq!(reason(Runtime::get()), Reason::ExplicitFailed);
        assert!(status.to_string().contains("No such file or directory"), "{status}");
    });
}

/// Bug report 9.
#[test]
fn no_visible_device_is_not_available() {
    status_with(this_test!(), "libcudart.so.12", &[("CUDA_VISIBLE_DEVICES", "-1")], |status| {
        assert!(!edgefirst_cuda::is_cuda_available());
        assert_eq!(reason(Runtime::get()), Reason::Refused(Code::NO_DEVICE));
        assert!(status.to_string().contains("CUDA_VISIBLE_DEVICES"), "it says what to look at: {status}");
    });
}

/// The environment is the caller's, and a setuid program has other rights than its caller.
#[test]
fn a_setuid_program_ignores_the_environment() {
    if !can_make_setuid_programs() {
        testkit::skip!("not root, or setuid has no effect in the temporary folder or in this container");
    }
    const NOBODY: u32 = 65534;
    let prepare = |command: &mut Command| {
        let tree = Tree::new();
        std::fs::set_permissions(tree.root(), PermissionsExt::from_mode(0o755)).expect("the folder is ours");
        let program = tree.at("program");
        std::fs::copy(command.get_program(), &program).expect("the folder is ours");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).expect("the file is ours");
        let mut privileged = Command::new(&program);
        privileged.args(command.get_args()).envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        for variable in ["EDGEFIRST_CUDART", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME"] {
            privileged.env(variable, tree.root());
        }
        privileged.uid(NOBODY);
        *command = privileged;
        tree
    };
    alone(this_test!(), prepare, || {
        assert_ne!(rustix::process::getuid(), rustix::process::geteuid(), "the file system honours setuid");
        let search = Search::from_process();
        assert_eq!(search.cudart, None);
        assert_eq!(
            [search.virtual_env, search.conda_prefix, search.cuda_path, search.cuda_home],
            [None, None, None, None]
        );
    });
}

fn can_make_setuid_programs() -> bool {
    let mount = rustix::fs::statvfs(std::env::temp_dir()).expect("the temporary folder is there");
    rustix::process::geteuid().is_root()
        && !mount.f_flag.contains(rustix::fs::StatVfsMountFlags::NOSUID)
        && !rustix::thread::no_new_privs().expect("the kernel answers")
}
