//! Mutation evidence: a test that cannot fail proves nothing, so each protection is taken away, one at a time, and
//! the test that holds it must go red. The lists (`*.txt` of this folder) say what is taken away; README.md says
//! how to add to them; the program (`make mutants`) does it.
#![forbid(unsafe_code)]

mod list;
mod suite;
mod tree;

pub use list::{Entry, Mutation, Suite, Verdict, entries, impossible};
pub use suite::{End, Program, build};
pub use tree::Tree;
