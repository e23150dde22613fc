//! What the library says on standard error: next to nothing. Where that cannot be written (a full disk, a reader that has gone away) it goes on
//! as if it had been: `eprintln!` panics there, and what was to end the process would be an error of some function.
use std::fmt::Arguments;
use std::io::Write as _;

/// Says something on standard error, if that can be written.
pub(crate) fn tell(what: Arguments<'_>) {
    let _ = std::io::stderr().lock().write_all(format!("lockgate: {what}\n").as_bytes());
}

/// Ends the process, because a promise of the library's cannot be kept any more.
pub(crate) fn end_process(why: Arguments<'_>) -> ! {
    tell(format_args!("{why}; ending the process"));
    std::process::abort();
}
