//! Lockgate's build driver: from C sources, objects and archives to a verified module.
//!
//! [`Sysroot::ensure`] rewrites the distribution's musl and libgcc once and keeps them in a cache; [`Link`] rewrites a
//! program's objects, links them against the sysroot, lays the module out and verifies it; [`cc`] understands a C
//! compiler's command line. The compiler and the linker are gcc and GNU ld.
//!
//! ```no_run
//! use lockgate_toolchain::{Link, Sysroot, silent};
//! let sysroot = Sysroot::ensure(&silent)?;
//! let mut link = Link::new("cube.lg");
//! link.export("double cbrt(double)")?;
//! let outcome = link.run(&sysroot, &silent)?;
//! println!("{} bytes of text verified", outcome.report.text_bytes);
//! # Ok::<(), lockgate_toolchain::Error>(())
//! ```
#![forbid(unsafe_code)]

mod cache;
pub mod cc;
mod cxx;
mod cxx_library;
mod declared;
mod error;
mod glue;
mod host;
mod input;
mod join;
mod layout;
mod ld;
mod link;
mod linker;
mod lto;
mod process;
mod prototype;
mod rewritten;
mod signatures;
mod sysroot;
mod tools;
mod writer;

pub use cache::Cache;
pub use cxx_library::CxxLibrary;
pub use error::Error;
pub use host::Host;
pub use link::{Link, LinkOutcome, put, spares, work_folder};
pub use linker::{LINKER, as_linker};
pub use prototype::Prototype;
pub use sysroot::Sysroot;
pub use tools::Tools;
pub use writer::embed;

/// Where long work says how far it is: what is being done, how much of it is done, how much there is (same unit).
pub type Progress<'a> = &'a (dyn Fn(&str, u64, u64) + Sync);

/// A [`Progress`] that says nothing.
pub fn silent(_what: &str, _done: u64, _total: u64) {}
