//! From a header to its declarations: libclang reads it, [`model`] is what is kept.
mod comment;
mod constants;
mod error;
mod layout;
pub mod libclang_sys;
mod looks;
pub mod model;
mod parse;
mod promises;
mod read;
mod reading;
mod source;

pub use error::ReadError;
pub use parse::{UNIT, parse, parse_file};
pub use read::{POINTERS, merge, notes};
pub use reading::{read, read_inside, read_text};
pub use source::Source;
