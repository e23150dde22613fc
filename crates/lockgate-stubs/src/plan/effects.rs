//! What annotations do: one that changes nothing of how a thing crosses is a mistake of its author's, who relies on it.
//!
//! `places` knows where an annotation may stand; here is, by the way that was found, whether it decides anything there.
use super::{Buffer, Count, No, Outcome, Passing, no};
use crate::annotation::{Direction, Notes};
use crate::header::model::CType;

/// A row for each annotation that may be said where nothing looks at it: whether it is said, and what it has an effect on.
type Row = (&'static str, bool, fn(&Notes, &Passing) -> bool, fn(&Notes, &Outcome) -> bool);

/// The row of directions, of which one declaration has one.
const DIRECTION: &str = "LG_IN, LG_OUT or LG_INOUT";

fn rows(notes: &Notes) -> [Row; 18] {
    fn never_in(_: &Notes, _: &Passing) -> bool {
        false
    }
    fn never_out(_: &Notes, _: &Outcome) -> bool {
        false
    }
    [
        (
            DIRECTION,
            notes.direction.is_some(),
            |notes, passing| match passing {
                Passing::Buffer(_) | Passing::Scalar(_) | Passing::Record { .. } | Passing::Rows { .. } => {
                    true
                }
                Passing::Pointer { .. } | Passing::Cursor(_) => true,
                // (It says what is so.)
                Passing::String { .. } => notes.direction == Some(Direction::In),
                _ => false,
            },
            |notes, outcome| match outcome {
                Outcome::Memory { .. }
                | Outcome::Record { .. }
                | Outcome::Filled { .. }
                | Outcome::Lent { .. } => true,
                Outcome::String { .. } | Outcome::Strings { .. } => notes.direction == Some(Direction::In),
                _ => false,
            },
        ),
        (
            "LG_SIZE",
            notes.size.is_some(),
            |_, passing| match passing {
                Passing::Rows { strings, .. } => !strings,
                other => {
                    matches!(
                        other,
                        Passing::Buffer(_)
                            | Passing::Cursor(_)
                            | Passing::Record { .. }
                            | Passing::Inside { .. }
                            | Passing::String { most: Some(_) }
                    )
                }
            },
            |_, outcome| {
                matches!(
                    outcome,
                    Outcome::Memory { .. }
                        | Outcome::Record { count: Count::Of(_), .. }
                        | Outcome::Strings { count: Some(_), .. }
                        | Outcome::Within { count: Some(_), .. }
                        | Outcome::Handles { .. }
                        | Outcome::Lent { .. }
                )
            },
        ),
        (
            "LG_WRITTEN",
            notes.written.is_some(),
            |_, passing| match passing {
                Passing::Buffer(buffer) | Passing::Record { buffer, .. } => buffer.written.is_some(),
                _ => false,
            },
            never_out,
        ),
        (
            "LG_STRING",
            notes.string,
            |_, passing| match passing {
                Passing::String { .. } | Passing::Rows { strings: true, .. } => true,
                Passing::Buffer(buffer) => buffer.writes && buffer.size.is_some(),
                _ => false,
            },
            |_, outcome| matches!(outcome, Outcome::String { .. }),
        ),
        ("LG_STRINGS", notes.strings, never_in, |_, outcome| matches!(outcome, Outcome::Strings { .. })),
        ("LG_PAIRS", notes.pairs, never_in, |_, outcome| matches!(outcome, Outcome::Strings { .. })),
        (
            "LG_KEPT",
            notes.kept,
            |_, passing| {
                matches!(
                    passing,
                    Passing::Record { kept: true, .. }
                        | Passing::Stream { kept: true }
                        | Passing::Data { kept: true, .. }
                )
            },
            never_out,
        ),
        (
            "LG_RELEASE",
            notes.release,
            |_, passing| {
                matches!(
                    passing,
                    Passing::Record { kept: true, release: true, .. }
                        | Passing::Handle { release: true, .. }
                        | Passing::Inside { release: true }
                )
            },
            never_out,
        ),
        (
            "LG_RESET",
            notes.reset,
            |_, passing| matches!(passing, Passing::Handle { reset: true, .. }),
            never_out,
        ),
        (
            "LG_OPAQUE",
            notes.opaque,
            |_, passing| matches!(passing, Passing::Handle { .. }),
            |_, outcome| {
                matches!(outcome, Outcome::Handle { .. } | Outcome::Handles { .. } | Outcome::Inside)
            },
        ),
        (
            "LG_ZEROS",
            notes.zeros,
            |_, passing| matches!(passing, Passing::Handle { .. } | Passing::Inside { .. }),
            |_, outcome| {
                matches!(outcome, Outcome::Handle { .. } | Outcome::Handles { .. } | Outcome::Inside)
            },
        ),
        (
            "LG_INSIDE",
            notes.inside,
            |_, passing| matches!(passing, Passing::Inside { .. }),
            |_, outcome| matches!(outcome, Outcome::Inside),
        ),
        (
            "LG_DATA",
            notes.data,
            |_, passing| matches!(passing, Passing::Data { .. } | Passing::Handle { data: true, .. }),
            |_, outcome| matches!(outcome, Outcome::Data { .. }),
        ),
        ("LG_LENT", notes.lent, never_in, |_, outcome| matches!(outcome, Outcome::Lent { .. })),
        ("LG_UNTIL", notes.until.is_some(), never_in, |_, outcome| {
            matches!(outcome, Outcome::Record { count: Count::Until(_), .. })
        }),
        ("LG_WITHIN", notes.within.is_some(), never_in, |_, outcome| {
            matches!(outcome, Outcome::Within { .. })
        }),
        (
            "LG_SHARED",
            notes.shared,
            |_, passing| matches!(passing, Passing::Buffer(Buffer { shared: true, .. })),
            never_out,
        ),
        (
            "LG_CURSOR",
            notes.cursor,
            |_, passing| matches!(passing, Passing::Buffer(_) | Passing::Cursor(_)),
            never_out,
        ),
    ]
}

/// The way that something crosses: in, out, or, of a field, both.
#[derive(Clone, Copy)]
pub(super) struct Ways<'a> {
    pub(super) passing: Option<&'a Passing>,
    pub(super) outcome: Option<&'a Outcome>,
}

/// Each annotation of `notes` has an effect on something that crosses these ways, or says what is so all the same.
pub(super) fn act(notes: &Notes, kind: &CType, ways: Ways<'_>) -> Result<(), No> {
    let mut ins: Vec<&Passing> = ways.passing.into_iter().collect();
    let mut outs: Vec<&Outcome> = ways.outcome.into_iter().collect();
    if let Some(Passing::Pointer { before, after }) = ways.passing {
        ins.extend(before.as_deref());
        outs.push(after);
    }
    // A field that only the library sets, an array of characters: what decided that is gone.
    let field = ways.passing.is_some() && ways.outcome.is_some();
    let set = field
        && notes.direction == Some(Direction::Out)
        && !matches!(ways.outcome, Some(Outcome::Untouched | Outcome::Inside));
    let text = field && kind.pointee().is_none();
    for (name, said, passes, comes) in rows(notes) {
        let known = set && name == DIRECTION || text && name == "LG_STRING";
        let acts = || ins.iter().any(|way| passes(notes, way)) || outs.iter().any(|way| comes(notes, way));
        if said && !known && !acts() {
            return no(
                format!("{name} has no effect on this `{}`, with what else is said of it", kind.spelling),
                "remove it, or what it does not go with; a function that needs it is left out with LG_OMIT",
            );
        }
    }
    Ok(())
}
