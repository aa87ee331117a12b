//! A library with the symbols of a runtime and nothing behind them, made by the C compiler: for what a runtime lacks.

use std::path::Path;

use edgefirst_cuda::sys::symbols::{Group, TABLE};

use super::cc;

/// Skips the test, counted, where there is no C compiler.
macro_rules! need_cc {
    () => {
        if !$crate::cc::is_there() {
            testkit::skip!("there is no C compiler named cc");
        }
    };
}
pub(crate) use need_cc;

/// What the library has, and what it says of itself.
pub(crate) struct StandIn<'a> {
    /// The SONAME.
    pub(crate) soname: &'static str,
    /// What `cudaRuntimeGetVersion` writes; with 0 it fails with 35, as 11.x does where there is no driver.
    pub(crate) version: i32,
    /// Symbols of the table that it does not have.
    pub(crate) without: &'a [&'a str],
    /// Symbols that it has besides the table's.
    pub(crate) with: &'a [&'a str],
}

impl Default for StandIn<'_> {
    fn default() -> Self {
        Self { soname: "libcudart.so.12", version: 12090, without: &[], with: &[] }
    }
}

impl StandIn<'_> {
    /// Makes the library. Whatever is asked of it, the answer is 35.
    pub(crate) fn make(&self, file: &Path) {
        let source = file.with_extension("c");
        std::fs::write(&source, self.source()).expect("the folder is ours");
        cc::compile(cc::library(file).arg(&source).arg(format!("-Wl,-soname,{}", self.soname)));
        std::fs::remove_file(source).expect("it was made");
    }

    fn source(&self) -> String {
        let table = TABLE.iter().filter(|(group, _)| *group != Group::Driver).map(|(_, name)| *name);
        let names = table.filter(|name| !self.without.contains(name)).chain(self.with.iter().copied());
        names.map(|name| self.function(name)).collect()
    }

    fn function(&self, name: &str) -> String {
        match self.version {
            version if version > 0 && name == "cudaRuntimeGetVersion" => {
                format!("int {name}(int *v) {{ *v = {version}; return 0; }}\n")
            }
            _ => format!("int {name}(void) {{ return 35; }}\n"),
        }
    }
}
