//! Lockgate's rewriter: relocatable objects and archives in, objects whose code cannot leave its window out.
//!
//! `docs/code-model.md` tells what becomes of each kind of instruction. The life of an object:
//! `elf` reads it, `decode` makes instructions of its code, `refs`, `starts`, `tables`, `switch` and `labels` find out who jumps where, `frames` where rsp is
//! before each instruction, `rewriter` and its
//! companions (`operand`, `pointer`, `branch`, `string`, `tls`; `stack` plans, `liveness` finds free registers) emit the
//! new code into `emit`, which lays it out; `transform` moves all that refers to it, `dwarf` the unwind tables and debug
//! information. `states` says for a linked text where rsp is at places that no label begins.
#![forbid(unsafe_code)]

mod across;
mod archive;
mod branch;
mod code;
mod decode;
mod dwarf;
mod elf;
mod emit;
mod empty;
mod encode;
mod error;
mod frames;
mod in_progress;
mod labels;
mod landing;
mod leb128;
mod liveness;
mod map;
mod missing_tables;
mod notices;
mod operand;
mod pointer;
mod refs;
mod replaced;
mod returns_twice;
mod rewriter;
mod rewritten;
mod stack;
mod starts;
mod states;
mod strict_bounds;
mod string;
mod switch;
mod tables;
mod tls;
mod transform;

pub use archive::is_archive;
pub use error::{Error, Place, Reason};
pub use leb128::push_sleb;
pub use rewritten::{Options, Rewritten, Stats};
pub use states::states;

/// Rewrites one relocatable object. `name` names it in errors.
///
/// # Errors
/// Anything that cannot be rewritten exactly; nothing is dropped silently.
pub fn rewrite_object(name: &str, bytes: &[u8], options: &Options) -> Result<Rewritten, Error> {
    transform::rewrite(name, bytes, options)
}

/// Rewrites every object of a static archive. `progress` hears of members done and their total number.
///
/// # Errors
/// The first member that cannot be rewritten.
pub fn rewrite_archive(
    name: &str,
    bytes: &[u8],
    options: &Options,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Rewritten, Error> {
    archive::rewrite(name, bytes, options, progress)
}
