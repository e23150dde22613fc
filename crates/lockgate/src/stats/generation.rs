//! How a row of the table tells its readers, who are other processes, that it changes: a number that is odd meanwhile and another
//! one afterwards.
use crate::sync::atomic::{AtomicU64, Ordering, fence};

/// Changes what `generation` stands for, which is the caller's alone to change.
pub(crate) fn change(generation: &AtomicU64, change: impl FnOnce()) {
    generation.fetch_add(1, Ordering::AcqRel);
    fence(Ordering::SeqCst); // a reader that sees something of the change sees the odd number
    change();
    generation.fetch_add(1, Ordering::Release);
}

/// What came of a look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look<T> {
    /// There never was anything.
    Never,
    /// It changed meanwhile.
    Changing,
    /// It had this generation, from the look's beginning to its end.
    Seen(u64, T),
}

/// One look: `generation` is read before and after `rest`, never along with it, whose parts may be read in any order.
///
/// # Errors
/// Those of reading.
pub(crate) fn look<T, E>(
    mut generation: impl FnMut() -> Result<u64, E>,
    rest: impl FnOnce() -> Result<T, E>,
) -> Result<Look<T>, E> {
    let before = generation()?;
    if before == 0 {
        return Ok(Look::Never);
    }
    if before % 2 != 0 {
        return Ok(Look::Changing);
    }
    let rest = rest()?;
    Ok(if generation()? == before { Look::Seen(before, rest) } else { Look::Changing })
}
