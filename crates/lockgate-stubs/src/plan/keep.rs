//! What the program has to give back: strings and memory that a function leaves to it.
use super::{No, Outcome, Passing, Planner, no};
use crate::annotation::Notes;
use crate::header::model::{CType, Parameter, Prototype};
use std::collections::{BTreeMap, BTreeSet};

/// The C library's own, which takes memory of the program's heap only.
const FREE: &str = "free";

/// Whose something is that a function gives.
enum Kept {
    /// The library's.
    Inside,
    /// The program's, which gives it to `free`.
    Heap,
    /// The program's, until it gives it back to this function.
    Until(String),
}

/// What a function leaves to the program: names of parameters, or `result`.
#[derive(Default)]
pub(super) struct Left {
    /// What the program gives to `free`.
    pub(super) freed: BTreeSet<String>,
    /// What it gives back, and to which function.
    pub(super) owned: BTreeMap<String, String>,
}

impl Planner<'_> {
    /// The parameters (and `result`) whose contents are the program's until it ends them: they are copied to its own heap. Refused is what is not said:
    /// a copy of the library's memory that the program takes for a piece of its heap would have the library say what lies around it.
    pub(super) fn leaves(
        &mut self,
        prototype: &Prototype,
        notes: &Notes,
        parameters: &[Passing],
        result: &Outcome,
    ) -> Result<Left, (Option<String>, No)> {
        let mut left = Left::default();
        let kept = self.is_to_free(&prototype.result, notes, result);
        self.note(&mut left, "result", kept.map_err(|no| (Some("result".to_owned()), no))?);
        for (parameter, passing) in prototype.parameters.iter().zip(parameters) {
            let of_parameter = |no| (Some(format!("parameter {}", parameter.name)), no);
            let notes = self.notes(parameter);
            match (passing, parameter.kind.pointee()) {
                (Passing::Pointer { after, .. }, Some(to)) => {
                    let kept = self.is_to_free(to, &notes, after).map_err(of_parameter)?;
                    self.note(&mut left, &parameter.name, kept);
                }
                (Passing::Record { key, buffer, .. }, _) if buffer.writes => {
                    self.fields_are_kept(key, false).map_err(of_parameter)?;
                }
                _ if notes.freed.is_some() => {
                    return no_sense("it is no pointer that the library sets").map_err(of_parameter);
                }
                _ => {}
            }
        }
        Ok(left)
    }

    fn note(&mut self, left: &mut Left, name: &str, kept: Kept) {
        match kept {
            Kept::Inside => {}
            Kept::Heap => _ = left.freed.insert(name.to_owned()),
            Kept::Until(function) => {
                left.owned.insert(name.to_owned(), function.clone());
                if self.plan.freers.insert(function.clone()) {
                    self.added.freers.push(function);
                }
            }
        }
    }

    /// Whose it is.
    fn is_to_free(&self, kind: &CType, notes: &Notes, outcome: &Outcome) -> Result<Kept, No> {
        let given = matches!(
            outcome,
            Outcome::String { .. }
                | Outcome::Strings { .. }
                | Outcome::Memory { .. }
                | Outcome::Record { .. }
                | Outcome::Handles { .. }
        );
        let constant = kind.pointee().is_none_or(|to| to.constant);
        match notes.freed.as_deref() {
            Some(_) if !given => no_sense("it is no copy of the library's memory"),
            Some(FREE) if self.is_one_piece(outcome) => Ok(Kept::Heap),
            Some(FREE) => no(
                "LG_FREED(free): the copy is not one piece of memory, or the program writes it for the library",
                "leave the function out with LG_OMIT, or name a function of the header's that frees it",
            ),
            Some(function) if matches!(outcome, Outcome::Memory { .. }) || self.is_one_piece(outcome) => {
                self.frees(function).map(|()| Kept::Until(function.to_owned()))
            }
            Some(function) => no(
                format!(
                    "LG_FREED({function}): the stub copies data with pointers to memory of its own, which no function of the library can free"
                ),
                "leave the function out with LG_OMIT, or say LG_BORROWED: then it stays in the library for good",
            ),
            None if given && !constant && !notes.borrowed => no(
                "no annotation says whether the program frees it, and how",
                "add LG_BORROWED if it stays the library's, LG_FREED(free) if the program gives it to free(), LG_FREED(f) if to a function f of this header",
            ),
            None => match outcome {
                Outcome::Memory { buffer } if buffer.writes => no(
                    "the program writes memory that stays the library's, and no annotation says for how long",
                    "add LG_FREED(f) if the program gives it to a function f of this header, or LG_LENT if the library takes it with the handle's next call; else say LG_IN",
                ),
                Outcome::Record { key, .. } => self.fields_are_kept(key, true).map(|()| Kept::Inside),
                _ => Ok(Kept::Inside),
            },
        }
    }

    /// The same for the fields of a structure that the library gives, or (not `given`) writes.
    fn fields_are_kept(&self, key: &str, given: bool) -> Result<(), No> {
        let declared = self.header.records.get(key).and_then(|record| record.fields.as_ref());
        let planned = self.plan.records.get(key).map(|record| &record.fields);
        for field in planned.into_iter().flatten() {
            let notes = declared.and_then(|fields| fields.iter().find(|own| own.name == field.name));
            let notes = notes.map_or_else(Notes::default, |own: &Parameter| self.notes(own));
            // (A buffer stays the one that the program has put there; a string may be another one afterwards.)
            let own = !given && matches!(field.passing, Passing::Buffer(_));
            let kept =
                if own { Ok(Kept::Inside) } else { self.is_to_free(&field.kind, &notes, &field.outcome) };
            let in_field = |cause: No| No {
                reason: format!("{key}, field {}: {}", field.name, cause.reason),
                remedy: cause.remedy,
            };
            // (Nothing else is said of a field.)
            kept.map_err(in_field)?;
        }
        Ok(())
    }

    /// One piece of memory, of which nothing goes back.
    fn is_one_piece(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::String { .. } => true,
            Outcome::Memory { buffer } => buffer.reads && !buffer.writes,
            Outcome::Record { key, count, .. } => {
                !matches!(count, super::Count::Until(_))
                    && self.plan.records.get(key).is_some_and(super::RecordPlan::is_plain)
            }
            _ => false,
        }
    }

    /// A function of the header's takes what was given back.
    fn frees(&self, name: &str) -> Result<(), No> {
        let function = self.header.functions.named(name);
        let takes = |parameter: &Parameter| self.notes(parameter).inside;
        match function {
            Some(function)
                if function.notes.omit.is_none() && function.prototype.parameters.iter().any(takes) =>
            {
                Ok(())
            }
            Some(_) => no(
                format!("LG_FREED: {name}() takes nothing of the library's back"),
                "annotate its parameter with LG_INSIDE",
            ),
            None => {
                no(format!("LG_FREED: {name}() is no function of this header, nor free"), "name one that is")
            }
        }
    }
}

fn no_sense<T>(why: &str) -> Result<T, No> {
    no(format!("LG_FREED: {why}"), "remove it")
}
