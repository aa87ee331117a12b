//! Where a runtime may lie, in order. Nothing is loaded here.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::report::{Source, Target};
use super::{Choice, os};

/// The names that the operating system's loader is asked for, newest first. The unversioned one is last: it is a
/// developer's link and may point to any version.
pub(crate) const NAMES: &[&str] = &["libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"];

/// What the walk looks at.
///
/// [`Search::from_process`] fills it from the environment. A program that knows better, such as a binding that knows
/// its interpreter's folders, changes the fields and passes it on as [`Choice::Search`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Search {
    /// The program's own choice. Anything but [`Choice::Auto`] ends the search with it.
    pub choice: Choice,
    /// `EDGEFIRST_CUDART`: a path, a name for the loader, or `off`.
    pub cudart: Option<OsString>,
    /// Whether a runtime that is loaded in this process already may be used.
    pub loaded: bool,
    /// `VIRTUAL_ENV`: its wheels are searched.
    pub virtual_env: Option<PathBuf>,
    /// Further `site-packages` folders whose wheels are searched.
    pub wheel_dirs: Vec<PathBuf>,
    /// `CONDA_PREFIX`.
    pub conda_prefix: Option<PathBuf>,
    /// Whether the operating system's loader is asked.
    pub os_loader: bool,
    /// `CUDA_PATH`: a toolkit.
    pub cuda_path: Option<PathBuf>,
    /// `CUDA_HOME`: a toolkit.
    pub cuda_home: Option<PathBuf>,
    /// The toolkit's usual folder.
    pub toolkit_root: Option<PathBuf>,
}

impl Search {
    /// Looks nowhere: a start for a search of one's own.
    pub fn nowhere() -> Self {
        Self {
            choice: Choice::Auto,
            cudart: None,
            loaded: false,
            virtual_env: None,
            wheel_dirs: Vec::new(),
            conda_prefix: None,
            os_loader: false,
            cuda_path: None,
            cuda_home: None,
            toolkit_root: None,
        }
    }

    /// What this process's environment says. In a setuid or setgid program the environment says nothing: it is the
    /// caller's, and must not choose what a privileged program loads.
    pub fn from_process() -> Self {
        let trusted = !os::is_privileged();
        let variable = |name| std::env::var_os(name).filter(|value| trusted && !value.is_empty());
        let folder = |name| variable(name).map(PathBuf::from);
        Self {
            choice: Choice::Auto,
            cudart: variable("EDGEFIRST_CUDART"),
            loaded: true,
            virtual_env: folder("VIRTUAL_ENV"),
            wheel_dirs: Vec::new(),
            conda_prefix: folder("CONDA_PREFIX"),
            os_loader: true,
            cuda_path: folder("CUDA_PATH"),
            cuda_home: folder("CUDA_HOME"),
            toolkit_root: Some(PathBuf::from("/usr/local/cuda")),
        }
    }

    /// Every place after the explicit choice, in order.
    pub(crate) fn candidates(&self) -> Vec<(Source, Target)> {
        let mut list = List::default();
        if self.loaded {
            list.extend(Source::Loaded, os::loaded_runtimes());
        }
        // Wheels come before the loader: the distribution's copy would take the SONAME, and a later `import torch`
        // would get it in place of its own.
        if let Some(environment) = &self.virtual_env {
            list.virtual_env(environment);
        }
        for site_packages in &self.wheel_dirs {
            list.wheels(site_packages);
        }
        if let Some(prefix) = &self.conda_prefix {
            list.toolkit(Source::Conda, prefix);
        }
        if self.os_loader {
            list.extend(Source::OsLoader, NAMES.iter().map(|name| Target::Name((*name).to_owned())));
        }
        let toolkits = [
            (Source::CudaPath, &self.cuda_path),
            (Source::CudaHome, &self.cuda_home),
            (Source::Toolkit, &self.toolkit_root),
        ];
        for (source, root) in toolkits {
            if let Some(root) = root {
                list.toolkit(source, root);
            }
        }
        list.found
    }
}

/// The candidates so far, and the files among them.
#[derive(Default)]
struct List {
    found: Vec<(Source, Target)>,
    files: HashSet<PathBuf>,
}

impl List {
    fn extend(&mut self, source: Source, targets: impl IntoIterator<Item = Target>) {
        self.found.extend(targets.into_iter().map(|target| (source, target)));
    }

    fn virtual_env(&mut self, environment: &Path) {
        let site_packages = site_packages_of(environment);
        if site_packages.is_empty() {
            self.found
                .push((Source::Wheel, Target::Folder(environment.join("lib/python*/site-packages/nvidia/*/lib"))));
        }
        for folder in site_packages {
            self.wheels(&folder);
        }
    }

    /// Wheels keep their libraries in `nvidia/<package>/lib`, for example `nvidia/cu13/lib`.
    fn wheels(&mut self, site_packages: &Path) {
        let folders = subfolders(&site_packages.join("nvidia")).into_iter().map(|package| package.join("lib"));
        self.folders(Source::Wheel, &site_packages.join("nvidia/*/lib"), folders.collect());
    }

    /// A toolkit keeps them in `lib64`, `lib`, or `targets/<platform>/lib`. The `stubs` folders beside are for linking.
    fn toolkit(&mut self, source: Source, root: &Path) {
        let targets = subfolders(&root.join("targets")).into_iter().map(|target| target.join("lib"));
        let folders = [root.join("lib64"), root.join("lib")].into_iter().chain(targets);
        self.folders(source, root, folders.collect());
    }

    /// The runtimes in all of `folders`, newest first; a place without one is listed as `place`.
    fn folders(&mut self, source: Source, place: &Path, folders: Vec<PathBuf>) {
        let mut files: Vec<PathBuf> = folders.iter().flat_map(|folder| runtimes_in(folder)).collect();
        files.sort_by_key(|file| Reverse(version_of(file)));
        if files.is_empty() {
            self.found.push((source, Target::Folder(place.to_owned())));
        }
        for file in files {
            // A library is often there under three names, two of them links.
            let identity = fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
            if self.files.insert(identity) {
                self.found.push((source, Target::Path(file)));
            }
        }
    }
}

fn site_packages_of(environment: &Path) -> Vec<PathBuf> {
    ["lib", "lib64"]
        .into_iter()
        .flat_map(|lib| subfolders(&environment.join(lib)))
        .filter(|folder| folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"python")))
        .map(|python| python.join("site-packages"))
        .collect()
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = entries(folder).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn runtimes_in(folder: &Path) -> Vec<PathBuf> {
    let is_runtime =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"libcudart.so"));
    let mut files: Vec<PathBuf> = entries(folder).filter(is_runtime).collect();
    files.sort();
    files
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// `libcudart.so.12.9.79` is `[12, 9, 79]`; the unversioned name is `[]`, the oldest of all.
fn version_of(file: &Path) -> Vec<u32> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let digits = name.strip_prefix("libcudart.so").unwrap_or_default();
    digits.split('.').filter_map(|part| part.parse().ok()).collect()
}
