//! NVIDIA's wheels, unpacked: `EDGEFIRST_TEST_CUDART/{11,12,13}/nvidia/...`, each laid out as a site-packages folder.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A major version of the runtime that the tier fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Major {
    V11,
    V12,
    V13,
}

pub(crate) const ALL: [Major; 3] = [Major::V11, Major::V12, Major::V13];

impl Major {
    /// The site-packages folder of this version.
    pub(crate) fn site_packages(self) -> PathBuf {
        folder().join(self.number().to_string())
    }

    /// The library, as the wheel names it.
    pub(crate) fn library(self) -> PathBuf {
        self.site_packages().join(match self {
            Self::V11 => "nvidia/cuda_runtime/lib/libcudart.so.11.0",
            Self::V12 => "nvidia/cuda_runtime/lib/libcudart.so.12",
            Self::V13 => "nvidia/cu13/lib/libcudart.so.13",
        })
    }

    /// The folders of its headers.
    pub(crate) fn includes(self) -> Vec<PathBuf> {
        let packages: &[&str] = match self {
            Self::V11 | Self::V12 => &["cuda_runtime", "cuda_nvcc"],
            Self::V13 => &["cu13"],
        };
        packages.iter().map(|package| self.site_packages().join("nvidia").join(package).join("include")).collect()
    }

    pub(crate) fn number(self) -> i32 {
        match self {
            Self::V11 => 11,
            Self::V12 => 12,
            Self::V13 => 13,
        }
    }
}

static FOLDER: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os("EDGEFIRST_TEST_CUDART").map(PathBuf::from));

fn folder() -> &'static Path {
    FOLDER.as_deref().expect("tests begin with need_wheels!()")
}

/// Whether the set-up was done.
pub(crate) fn are_there() -> bool {
    FOLDER.is_some() && super::cc::is_there()
}

/// Skips the test, counted, where the wheels or the C compiler are missing.
macro_rules! need_wheels {
    () => {
        if !$crate::wheels::are_there() {
            testkit::skip!(
                needs "EDGEFIRST_TEST_REQUIRE_CUDART",
                "EDGEFIRST_TEST_CUDART is not set, or there is no cc; `cargo xtask test --tier cudart` sets both up"
            );
        }
    };
}
pub(crate) use need_wheels;
