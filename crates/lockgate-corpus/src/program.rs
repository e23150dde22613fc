//! The benchmark programs: a driver of ours, a library of the corpus or none, and an amount of work.

use crate::{Corpus, Error, Library};
use std::path::PathBuf;

/// One deterministic, self-checking program that prints one line: its name and a checksum of its results.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Name, as metrics spell it: `overhead.<name>`.
    pub name: &'static str,
    /// Driver in `bench/programs`, without `.c`. Programs with the same driver are one binary.
    pub driver: &'static str,
    /// Library of the corpus that the driver uses.
    pub library: Option<&'static str>,
    /// Arguments before the scale.
    pub args: &'static [&'static str],
    /// Last argument for a run of a little more than one second, native, on a CPU of 2024; time is proportional.
    pub scale: u32,
}

/// The programs over which `overhead.geomean` is taken.
pub const PROGRAMS: &[Program] = &[
    program("sqlite", "sqlite", Some("sqlite"), &[], 60),
    program("lua_fib", "lua", Some("lua"), &["fib"], 85),
    program("lua_num", "lua", Some("lua"), &["num"], 950),
    program("lua_str", "lua", Some("lua"), &["str"], 850),
    program("zlib", "zlib", Some("zlib"), &[], 46),
    program("bzip2", "bzip2", Some("bzip2"), &[], 34),
    program("zstd", "zstd", Some("zstd"), &[], 140),
    program("matmul", "matmul", None, &[], 195),
    program("sieve", "sieve", None, &[], 185),
    program("qsort", "qsort", None, &[], 205),
    program("fib", "fib", None, &[], 165),
    program("sha", "sha", None, &[], 370),
    program("chase", "chase", None, &[], 370),
];

const fn program(
    name: &'static str,
    driver: &'static str,
    library: Option<&'static str>,
    args: &'static [&'static str],
    scale: u32,
) -> Program {
    Program { name, driver, library, args, scale }
}

impl Program {
    /// The complete argument list after the program's own name, for a run at `scale`.
    pub fn arguments(&self, scale: u32) -> Vec<String> {
        self.args.iter().map(|arg| (*arg).to_owned()).chain([scale.to_string()]).collect()
    }
}

impl Corpus {
    /// The program `name`, its driver's path and its library.
    pub fn program(&self, name: &str) -> Result<(&'static Program, PathBuf, Option<Library>), Error> {
        let program = PROGRAMS.iter().find(|program| program.name == name).ok_or_else(|| Error::Unknown {
            kind: "program",
            name: name.to_owned(),
            known: PROGRAMS.iter().map(|program| program.name).collect::<Vec<_>>().join(", "),
        })?;
        let driver = self.root().join("bench/programs").join(program.driver).with_extension("c");
        let library = program.library.map(|library| self.library(library)).transpose()?;
        Ok((program, driver, library))
    }
}
