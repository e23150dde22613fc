//! The functions in progress: a call of ours, for `backtrace` and unwinders.
use crate::syscall::SyscallContext;
use crate::syscall::context::Reply;

/// Bytes of a row: where a function goes on, and its frame's canonical address; 64-bit each.
const ROW: u64 = 16;
/// Functions between two looks at whether the call is to end.
const BUDGET: u64 = 1024;

/// `lg_functions(rows, count, skip)`: the functions in progress of this call into the domain, innermost first, without the first
/// `skip`. Returns how many rows were filled.
pub fn lg_functions(ctx: &SyscallContext<'_>, [at, count, skip, ..]: [u64; 6]) -> Reply {
    let mut filled = 0;
    for (passed, function) in (0..).zip(ctx.stack.functions()) {
        if passed % BUDGET == 0 {
            ctx.check()?;
        }
        if passed < skip {
            continue;
        }
        if filled == count {
            break;
        }
        let mut row = [0; ROW as usize];
        row[..8].copy_from_slice(&function.site.to_le_bytes());
        row[8..].copy_from_slice(&function.frame.to_le_bytes());
        ctx.memory.write(at.wrapping_add(filled * ROW), &row)?;
        filled += 1;
    }
    Ok(filled)
}
