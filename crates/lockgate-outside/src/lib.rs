//! What comes to Lockgate's programs and libraries from outside: names, which are made printable, and files, which are read within
//! limits. There is one way to do either.
#![forbid(unsafe_code)]

mod file;
mod name;

pub use file::{LARGEST, examine, is_ordinary, is_same, open, read, read_open};
pub use name::{LONGEST, printable, printable_bytes, printable_lines, printable_text};
