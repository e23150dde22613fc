//! All mutations of a crate's functions, made in one program: a number chooses the one that is in force, so that a
//! thousand mutants need one build. `README.md` says which mutations there are, and how the program (`make sweep`)
//! uses them.
#![forbid(unsafe_code)]

mod equivalent;
mod names;
mod operators;

pub use equivalent::{Equivalent, equivalents};
pub use names::{CRATE, LIST, SWITCH, VARIABLE};
pub use operators::{Mutant, mutate};
