//! One program, several domains: `lockgate cc --split`.
//!
//! The sources of an ordinary C program say with `LG_DOMAIN` which functions live in which domain, and with `LG_ENTRY` which of
//! them the rest of the program may call (`docs/split.md`). What gcc compiles is compiled by gcc, unchanged. A source with
//! annotations is besides that read with libclang (`survey.rs`), and compiled once more for each part of the program that it
//! defines something of, from a text that has only this part's definitions (`part.rs`). The objects of all parts travel in one
//! object file (`unit.rs`), so that any build system can carry it, with what the source's own text allows (`consent.rs`). The link finds out what calls what (`program.rs`), refuses
//! what would not be the same program any more, makes modules and stubs, and links the host with them (`link.rs`).
#![forbid(unsafe_code)]

mod command;
mod compile;
mod consent;
mod error;
mod library;
mod link;
mod part;
mod program;
mod survey;
#[doc(hidden)]
pub mod text;
mod types;
mod unit;

pub use command::run;
pub use error::{Error, Refusal};
