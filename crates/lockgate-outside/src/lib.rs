//! What comes to Lockgate's programs and libraries from outside: names, which are made printable, and files, which are read within
//! limits; and folders for what is made of them. There is one way to do each.
#![forbid(unsafe_code)]

mod demangled;
mod file;
mod folder;
mod name;

pub use demangled::{LONGEST_MANGLED, ROOM, demangled, demangled_short};
pub use file::{LARGEST, copied, examine, is_ordinary, is_same, open, read, read_open, room};
pub use folder::Folder;
pub use name::{LONGEST, printable, printable_bytes, printable_lines, printable_text};
