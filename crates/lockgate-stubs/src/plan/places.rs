//! Where annotations may stand: one that says nothing of what it stands on is a mistake of its author's.
use super::{No, OMIT, no};
use crate::annotation::Notes;
use crate::header::model::{CType, Extent, Parameter, Shape};

/// What an annotation stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A parameter of the API.
    Parameter,
    /// A function, and its result.
    Function,
    /// A field of a structure.
    Field,
    /// A parameter of a callback.
    Inner,
}

/// An array of characters.
fn is_text(kind: &CType) -> bool {
    match &kind.shape {
        Shape::Array(element, _) => element.is_character() || is_text(element),
        _ => false,
    }
}

/// An array of wide characters.
fn is_wide_text(kind: &CType) -> bool {
    match &kind.shape {
        Shape::Array(element, _) => element.is_wide_character() || is_wide_text(element),
        _ => false,
    }
}

/// The annotations of a declaration, types' not included, all say something of it.
pub(super) fn belong(notes: &Notes, kind: &CType, place: Place) -> Result<(), No> {
    let pointer = matches!(kind.shape, Shape::Pointer(_));
    let function = matches!(kind.shape, Shape::Function(_));
    let (whole, field) = (place == Place::Function, place == Place::Field);
    let (parameter, inner) = (place == Place::Parameter, place == Place::Inner);
    let variable = kind.pointee().is_some_and(|to| to.pointee().is_some());
    let writes = notes.direction.is_some_and(crate::annotation::Direction::writes) || notes.rows.is_some();
    // What is said, and whether it can be said here.
    let said = [
        ("LG_IN, LG_OUT or LG_INOUT", notes.direction.is_some(), pointer),
        ("LG_SIZE", notes.size.is_some(), pointer),
        (
            "LG_WRITTEN",
            notes.written.is_some(),
            inner || pointer && (writes || field) && notes.size.is_some(),
        ),
        ("LG_ROWS", notes.rows.is_some(), pointer && parameter),
        ("LG_WITHIN", notes.within.is_some(), pointer && (whole || inner || variable)),
        ("LG_UNTIL", notes.until.is_some(), pointer && (!parameter || variable)),
        ("LG_SHOWN", notes.shown.is_some(), pointer && (whole || parameter)),
        ("LG_JUMP_BUFFER", notes.jump_buffer.is_some(), pointer && whole),
        ("LG_DISPOSE", notes.dispose.is_some(), function && parameter),
        ("LG_CURSOR", notes.cursor, pointer && (field || parameter && variable)),
        ("LG_STRING", notes.string, pointer || field && is_text(kind)),
        ("LG_BYTES", notes.bytes, field && (is_text(kind) || is_wide_text(kind))),
        ("LG_STRINGS", notes.strings, pointer),
        ("LG_PAIRS", notes.pairs, pointer && notes.strings),
        ("LG_GIVEN", notes.given.is_some(), pointer && (whole || field) && notes.data),
        ("LG_NULLABLE", notes.nullable, pointer || function),
        ("LG_NUMBER", notes.number, super::passing::may_hold_pointer(kind)),
        ("LG_NULL", notes.null, (pointer || function) && !whole && !inner),
        ("LG_IGNORE", notes.ignore, !whole),
        ("LG_OPAQUE", notes.opaque, pointer),
        ("LG_ZEROS", notes.zeros, pointer),
        ("LG_RELEASE", notes.release, pointer && parameter),
        ("LG_RESET", notes.reset, pointer && parameter),
        ("LG_KEPT", notes.kept, pointer && parameter),
        (
            "LG_SHARED",
            notes.shared,
            pointer && parameter && notes.size.is_some() && notes.direction.is_some(),
        ),
        ("LG_INSIDE", notes.inside, pointer),
        ("LG_LENT", notes.lent, pointer && whole),
        ("LG_CALLBACK", notes.callback, function),
        ("LG_DATA", notes.data, pointer),
        ("LG_FOR_CALL", notes.for_call, pointer && parameter),
        ("LG_JUMP", notes.jump, pointer && inner),
        ("LG_JUMPS", notes.jumps, pointer && parameter),
        ("LG_BORROWED", notes.borrowed, pointer && !inner && (whole || field || variable)),
        ("LG_FREED", notes.freed.is_some(), pointer && !inner && (whole || field || variable)),
        (
            "LG_AT_MOST",
            notes.at_most.is_some(),
            whole && (kind.is_integer() || kind.shape == Shape::Float)
                || parameter
                    && writes
                    && kind.pointee().is_some_and(CType::is_integer)
                    && notes.size.is_none(),
        ),
        ("LG_ERROR", notes.error.is_some(), whole && kind.shape != Shape::Void),
        ("LG_ERRNO", notes.errno, whole),
        ("LG_POLICY", notes.policy.is_some(), whole),
        ("LG_OMIT", notes.omit.is_some(), whole),
        ("LG_PRINTF", notes.printf, whole),
        ("LG_FORMAT", notes.format.is_some(), whole),
        ("LG_ENTRY", notes.entry, whole),
    ];
    match said.iter().find(|(_, said, can)| *said && !can) {
        None => Ok(()),
        Some((name, ..)) => no(
            format!(
                "{name} says nothing of {}{}",
                match place {
                    Place::Function if kind.shape == Shape::Void => "a function without a result".to_owned(),
                    Place::Function => format!("a result of type `{}`", kind.spelling),
                    Place::Parameter => format!("a parameter of type `{}`", kind.spelling),
                    Place::Field => format!("a field of type `{}`", kind.spelling),
                    Place::Inner => format!("a callback's parameter of type `{}`", kind.spelling),
                },
                if pointer || function || kind.shape == Shape::Void { "" } else { ", which is no pointer" }
            ),
            "remove it, or put it where it belongs",
        ),
    }
}

/// What only the function knows that is called: where the object is that it was given, and what of its result is moved to the program's heap. `what` is a part
/// of a structure, or something that a callback is given.
pub(super) fn needs_no_function(notes: &Notes, what: &str) -> Result<(), No> {
    const REMEDY: &str = OMIT;
    match (&notes.freed, &notes.within) {
        (Some(by), _) => no(format!("LG_FREED({by}): {what} cannot be moved to the program's heap"), REMEDY),
        (_, Some(object)) => {
            no(format!("LG_WITHIN({object}): {what} lies in nothing that the program gave"), REMEDY)
        }
        _ => Ok(()),
    }
}

/// Of a parameter that is declared as an array, with all that is said of it and its types, something says how many elements cross: without
/// a word one would, and the library would find zeros in the place of the others.
pub(super) fn is_counted(parameter: &Parameter, notes: &Notes) -> Result<(), No> {
    let (Some(extent), Shape::Pointer(to)) = (parameter.extent, &parameter.kind.shape) else { return Ok(()) };
    // (One element is what a pointer without a word leads to: `mpfr_t`.)
    let one = extent == Extent::Of(1);
    let ends = notes.string || notes.strings || notes.until.is_some() || notes.rows.is_some();
    let passed_on = notes.opaque || notes.inside || notes.ignore || notes.null || notes.data || notes.jump;
    let pointers = matches!(to.shape, Shape::Pointer(_) | Shape::Function(_));
    if one || ends || passed_on || notes.size.is_some() && !pointers {
        return Ok(());
    }
    let declared = match extent {
        Extent::Of(count) => format!("it is declared as an array of {count}"),
        Extent::Open => "it is declared as an array".to_owned(),
    };
    let reason = format!("{declared}, and no annotation says how many elements cross");
    match (pointers, extent) {
        (true, _) => no(reason, "leave the function out with LG_OMIT, or declare a pointer if there is one"),
        (false, Extent::Of(count)) if to.is_character() => no(
            reason,
            format!(
                "add LG_SIZE({count}), with LG_IN, LG_OUT or LG_INOUT, or LG_STRING if it ends with a zero"
            ),
        ),
        (false, Extent::Of(count)) => no(reason, format!("add LG_SIZE({count})")),
        (false, Extent::Open) => no(reason, "add LG_SIZE(…)"),
    }
}
