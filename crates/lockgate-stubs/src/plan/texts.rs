//! Text of which the place counts, not the letters alone: a pointer that the library keeps, or one into what it was given before.
//!
//! A copy of the letters is another pointer, and ends with its call. Nothing in a type says which of the two is meant: names and neighbours do, or an
//! annotation.
use super::failure::words;
use super::{No, Outcome, Passing, Planner, no};
use crate::header::model::{CType, Function, Parameter};

/// What stores something.
const SETS: &[&str] = &["set", "put", "assign", "change", "replace", "swap", "exchange"];

/// Where something is.
const WHERE: &[&str] = &[
    "ptr",
    "pointer",
    "pos",
    "position",
    "where",
    "cursor",
    "end",
    "tail",
    "rest",
    "remainder",
    "remaining",
    "unparsed",
];

/// Where something is, if the function is given the text that it may be in.
const WITHIN: &[&str] = &[
    "at", "after", "before", "begin", "find", "first", "last", "locate", "next", "search", "skip", "skips",
    "start",
];

/// Text that is the same in every call.
const FIXED: &[&str] = &[
    "version",
    "ver",
    "copyright",
    "licence",
    "license",
    "author",
    "authors",
    "vendor",
    "build",
    "platform",
    "date",
    "features",
    "configuration",
    "config",
];

impl Planner<'_> {
    /// Nothing that was decided by a rule is text whose place counts.
    ///
    /// # Errors
    /// Of which part, and why.
    pub(super) fn places_do_not_count(
        &self,
        function: &Function,
        passings: &[Passing],
        result: &Outcome,
    ) -> Result<(), (Option<String>, No)> {
        let Function { name, prototype, notes, .. } = function;
        for (parameter, passing) in prototype.parameters.iter().zip(passings) {
            let by_rule = matches!(passing, Passing::String { most: None }) && !self.notes(parameter).string;
            let Some(sign) = by_rule.then(|| self.keeps(function)).flatten() else { continue };
            return no(
                format!("the library may keep the pointer, which ends with the call, and not the text: {sign}"),
                "annotate it with LG_STRING if the library copies the text; else leave the function out with LG_OMIT",
            )
            .map_err(|no| (Some(format!("parameter {}", parameter.name)), no));
        }
        for (parameter, passing) in prototype.parameters.iter().zip(passings) {
            let Passing::Pointer { after, .. } = passing else { continue };
            let of_parameter = |no| (Some(format!("parameter {}", parameter.name)), no);
            self.is_no_place(parameter, after).map_err(of_parameter)?;
            let may_be_within =
                parameter.kind.pointee().is_some_and(is_constant_text) && is_of_text(passings);
            if may_be_within && self.is_text_by_rule(parameter, after) {
                return is_place("the function is given text, and no handle", &parameter.name)
                    .map_err(of_parameter);
            }
        }
        let by_rule = matches!(result, Outcome::String { .. }) && !notes.string;
        let Some(sign) = by_rule.then(|| self.points(function, passings)).flatten() else { return Ok(()) };
        is_place(&sign, name).map_err(|no| (Some("result".to_owned()), no))
    }

    /// Whether what the library shows is text, and no annotation says so.
    fn is_text_by_rule(&self, shown: &Parameter, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::String { .. }) && !self.notes(shown).string
    }

    /// Nothing that the library shows as text, in a structure, to a callback or in a parameter, is a place by its name.
    ///
    /// # Errors
    /// Why it may be one.
    pub(super) fn is_no_place(&self, shown: &Parameter, outcome: &Outcome) -> Result<(), No> {
        match self.is_text_by_rule(shown, outcome).then(|| says_where(&shown.name)).flatten() {
            Some(sign) => is_place(&sign, &shown.name),
            None => Ok(()),
        }
    }

    /// By what sign a function keeps what it is given: it gives back what was there before, or another one gives what it has set.
    fn keeps(&self, function: &Function) -> Option<String> {
        let without = |name: &str, of: &[&str]| {
            let mut words = words(name);
            let place = words.iter().position(|word| of.contains(&word.as_str()))?;
            words.remove(place);
            Some(words)
        };
        let what = without(&function.name, SETS)?;
        if is_text(&function.prototype.result) {
            return Some("it sets something, and gives text back".to_owned());
        }
        let gives = |other: &&Function| {
            let words = without(&other.name, &["get"]).unwrap_or_else(|| words(&other.name));
            is_text(&other.prototype.result) && words == what
        };
        let other = self.header.functions.iter().find(gives)?;
        Some(format!("`{}` gives it back", other.name))
    }

    /// By what sign the result of a function is a place.
    fn points(&self, function: &Function, passings: &[Passing]) -> Option<String> {
        let words = words(&function.name);
        let says = |of: &[&str]| words.iter().find(|word| of.contains(&word.as_str()));
        if let Some(sign) = says_where(&function.name) {
            return Some(sign);
        }
        if let Some(word) = says(WITHIN).filter(|_| is_of_text(passings)) {
            return Some(format!("its name says `{word}`, and the function is given text, and no handle"));
        }
        // (`sqlite3_libversion`)
        let fixed = says(FIXED).is_some() || words.iter().any(|word| word.ends_with("version"));
        if function.prototype.parameters.is_empty() && !fixed {
            return Some("it takes nothing, so that its answer is that of earlier calls".to_owned());
        }
        None
    }
}

/// The refusal of what `sign` says of the result, or the parameter, of this name.
fn is_place<T>(sign: &str, name: &str) -> Result<T, No> {
    no(
        format!(
            "it may be a place in text that the library was given, which is another one in a copy: {sign}"
        ),
        format!(
            "annotate `{name}` with LG_STRING if programs only read the text, or with LG_WITHIN(…) if it lies in a parameter; else leave it out with LG_OMIT"
        ),
    )
}

/// By what sign what has this name is a place, whatever its function is given.
pub(super) fn says_where(name: &str) -> Option<String> {
    let words = words(name);
    // (`endptr`, `pzTail`)
    let is_it = |word: &&String| {
        WHERE.contains(&word.as_str())
            || word.strip_suffix("ptr").or(word.strip_suffix('p')).is_some_and(|word| WHERE.contains(&word))
    };
    words.iter().find(is_it).map(|word| format!("its name says `{word}`"))
}

/// Whether a function is about the text that it is given: it has no handle, of which an answer could be.
fn is_of_text(passings: &[Passing]) -> bool {
    let is_handle = |passing: &Passing| matches!(passing, Passing::Handle { .. });
    passings.iter().any(|passing| matches!(passing, Passing::String { .. }))
        && !passings.iter().any(is_handle)
}

/// Characters that are not the program's to change, or to free.
fn is_constant_text(kind: &CType) -> bool {
    kind.pointee().is_some_and(|to| to.is_character() && to.constant)
}

/// A pointer to characters.
fn is_text(kind: &CType) -> bool {
    kind.pointee().is_some_and(|to| to.is_character())
}
