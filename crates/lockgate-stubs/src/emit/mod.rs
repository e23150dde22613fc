//! From the plan to source files.
#![forbid(unsafe_code)]
mod binding;
mod boundary;
pub mod c;
pub mod cpp;
pub mod python;
pub mod rust;
mod template;

use crate::plan::Plan;

/// One file of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Name; folders in it are the client's own.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// What a client is made of, beside the plan.
#[derive(Debug, Clone)]
pub struct Target {
    /// Name of the header as programs include it: `zlib.h`.
    pub header: String,
    /// Where the client looks for the module unless the environment says otherwise.
    pub module: String,
    /// Macros that the header was read with.
    pub defines: Vec<String>,
    /// Flags by which the compiler of the client finds the original header, and what that includes.
    pub includes: Vec<String>,
    /// Functions without stubs get failing stubs.
    pub failing_stubs: bool,
    /// The header says itself what it is in C++.
    pub knows_cpp: bool,
}

impl Target {
    /// How the original header was read, as compilers are told.
    fn flags(&self) -> Vec<String> {
        let defines = self.defines.iter().map(|define| format!("-D{define}"));
        self.includes.iter().cloned().chain(defines).collect()
    }
}

/// The library's name: what the annotations say, else the header's.
pub fn library_name(said: Option<&str>, header: &str) -> String {
    let stem = || header.rsplit('/').next().unwrap_or_default().trim_end_matches(".h");
    said.unwrap_or_else(stem).to_owned()
}

fn name_of(plan: &Plan, target: &Target) -> String {
    library_name(plan.library.as_ref().map(|(name, _)| name.as_str()), &target.header)
}
