//! Real C code to build: libraries from the sources that published crates carry (listed in `corpus/Cargo.toml`,
//! kept by cargo, never copied) and the benchmark programs of `bench/programs`, which drive them.
//!
//! ```no_run
//! let corpus = lockgate_corpus::Corpus::locate()?;
//! let sqlite = corpus.library("sqlite")?;
//! println!("cc -c {} {}", sqlite.flags().join(" "), sqlite.sources[0].display());
//! # Ok::<(), lockgate_corpus::Error>(())
//! ```
#![forbid(unsafe_code)]

mod command;
mod library;
mod locate;
mod program;

pub use command::done;
pub use library::{LIBRARIES, Library, SHELL};
pub use locate::{Corpus, Error};
pub use program::{PROGRAMS, Program};
