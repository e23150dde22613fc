//! Calls of ours: the functions in progress, for `backtrace` and unwinders, and what a module says of its end.
use crate::SyscallContext;
use crate::last_words::LONGEST_WORDS;
use crate::outcome::Reply;
use std::ops::ControlFlow;

/// Its number, which Linux leaves free.
pub const NUMBER: u64 = 400;
/// Bytes of a row: where a function goes on, and its frame's canonical address; 64-bit each.
const ROW: usize = 16;
/// Rows that are copied at a time.
const ROWS: usize = 16;
/// Functions between two looks at whether the call is to end.
const BUDGET: u64 = 1024;

/// Whether so few functions are asked for that the walk need not look whether the call is to end.
pub(crate) fn are_few([_, count, skip, ..]: [u64; 6]) -> bool {
    count.saturating_add(skip) < BUDGET
}

/// `lg_functions(rows, count, skip)`: the functions in progress of this call into the domain, innermost first, without the first
/// `skip`. Returns how many rows were filled. (It allocates nothing: see [`is_plain`](crate::is_plain).)
pub fn lg_functions(ctx: &SyscallContext<'_>, [at, count, skip, ..]: [u64; 6]) -> Reply {
    let mut rows = [0; ROWS * ROW];
    let (mut passed, mut filled) = (0, 0);
    let (mut held, mut result) = (0, Ok(0));
    ctx.stack.each_function(&mut |function| {
        if passed > 0
            && passed % BUDGET == 0
            && let Err(end) = ctx.check()
        {
            result = Err(end);
            return ControlFlow::Break(());
        }
        passed += 1;
        if passed <= skip {
            return ControlFlow::Continue(());
        }
        if filled == count {
            return ControlFlow::Break(());
        }
        let row = &mut rows[held * ROW..][..ROW];
        row[..8].copy_from_slice(&function.site.to_le_bytes());
        row[8..].copy_from_slice(&function.frame.to_le_bytes());
        filled += 1;
        held += 1;
        if held < ROWS {
            return ControlFlow::Continue(());
        }
        let to = at.wrapping_add((filled - held as u64).wrapping_mul(ROW as u64));
        held = 0;
        match ctx.memory.write(to, &rows) {
            Ok(()) => ControlFlow::Continue(()),
            Err(fault) => {
                result = Err(fault.into());
                ControlFlow::Break(())
            }
        }
    });
    result?;
    if held > 0 {
        let to = at.wrapping_add((filled - held as u64).wrapping_mul(ROW as u64));
        ctx.memory.write(to, &rows[..held * ROW])?;
    }
    Ok(filled)
}

/// `lg_last_words(text, length)`: if the thread calls `abort` next, the error has the text. A length of 0 takes it back.
pub fn lg_last_words(ctx: &SyscallContext<'_>, [at, length, ..]: [u64; 6]) -> Reply {
    let mut text = [0; LONGEST_WORDS];
    let text = &mut text[..LONGEST_WORDS.min(usize::try_from(length).unwrap_or(LONGEST_WORDS))];
    ctx.memory.read(at, text)?;
    let words = (!text.is_empty()).then(|| lockgate_outside::printable_bytes(text));
    ctx.process.last_words(ctx.thread.slot, |last| last.words = words);
    Ok(0)
}
