//! What all have that make a plan: the header, the plan so far, and what a refused function has brought to it.
use super::Plan;
use crate::annotation::Notes;
use crate::expression::{Expression, Operator, Told};
use crate::header::model::{Header, Parameter, Prototype, Value};
use std::collections::HashMap;

/// Why, and what to do; [`Refusal`](super::Refusal) adds where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct No {
    pub(super) reason: String,
    pub(super) remedy: String,
}

/// What can be done about every function.
pub(super) const OMIT: &str = "leave the function out with LG_OMIT";

/// The remedy `first`, or [`OMIT`].
pub(super) fn or_omit(first: &str) -> String {
    format!("{first}, or {OMIT}")
}

pub(super) fn no<T>(reason: impl Into<String>, remedy: impl Into<String>) -> Result<T, No> {
    Err(No { reason: reason.into(), remedy: remedy.into() })
}

/// What has come to a plan with one function: keys, and how many there were before.
#[derive(Default)]
pub(super) struct Added {
    pub(super) callbacks: Vec<String>,
    pub(super) records: Vec<String>,
    pub(super) freers: Vec<String>,
    handles: usize,
    told: usize,
}

/// Makes the plan.
pub(super) struct Planner<'a> {
    pub(super) header: &'a Header,
    pub(super) plan: Plan,
    /// Types of callbacks that are being planned, outermost first.
    pub(super) callbacks: Vec<String>,
    /// Structures that are being planned, outermost first.
    pub(super) records: Vec<String>,
    /// What was planned for this function.
    pub(super) added: Added,
    /// Numbers of handles' types.
    handles: HashMap<String, usize>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(header: &'a Header, plan: Plan) -> Self {
        Planner {
            header,
            plan,
            callbacks: Vec::new(),
            records: Vec::new(),
            added: Added::default(),
            handles: HashMap::new(),
        }
    }

    /// A function is planned next.
    pub(super) fn begin(&mut self) {
        let Plan { handles, told, .. } = &self.plan;
        self.added = Added { handles: handles.len(), told: told.len(), ..Added::default() };
    }

    /// Forgets what was planned for a function that is refused: types, which may rest on what it is refused for, the handles and what is remembered of
    /// handles for its sake, and who frees what it would have given. (Of one that is refused when all are planned, because of others, these stay: numbers
    /// that were given out do not change, and what is noted of a function that has no stub is never asked.)
    pub(super) fn take_back(&mut self) {
        let Added { callbacks, records, freers, handles, told } = std::mem::take(&mut self.added);
        callbacks.iter().for_each(|name| drop(self.plan.callbacks.remove(name)));
        records.iter().for_each(|key| drop(self.plan.records.remove(key)));
        freers.iter().for_each(|name| _ = self.plan.freers.remove(name));
        self.plan.handles.drain(handles..).for_each(|spelling| _ = self.handles.remove(&spelling));
        self.plan.told.truncate(told);
    }

    /// What a constant expression comes to, where the header says all of it.
    pub(super) fn constant(&self, expression: &Expression) -> Option<i128> {
        match expression {
            Expression::Number(number) => Some(i128::from(*number)),
            Expression::Name(name) => {
                let of_macro = self.header.constants.iter().find_map(|(known, value)| match value {
                    Value::Integer(value) if known == name => Some(*value),
                    _ => None,
                });
                let mut enumerators = self.header.each_enumerator();
                of_macro.or_else(|| enumerators.find(|(known, _)| *known == name).map(|(_, number)| number))
            }
            Expression::Minus(inner) => self.constant(inner)?.checked_neg(),
            Expression::Not(inner) => Some(i128::from(self.constant(inner)? == 0)),
            Expression::Binary(operator, one, other) => {
                let (one, other) = (self.constant(one)?, self.constant(other)?);
                match operator {
                    Operator::Add => one.checked_add(other),
                    Operator::Subtract => one.checked_sub(other),
                    Operator::Multiply => one.checked_mul(other),
                    Operator::Divide => one.checked_div(other),
                    Operator::Remainder => one.checked_rem(other),
                    Operator::Less => Some(i128::from(one < other)),
                    Operator::LessEqual => Some(i128::from(one <= other)),
                    Operator::Greater => Some(i128::from(one > other)),
                    Operator::GreaterEqual => Some(i128::from(one >= other)),
                    Operator::Equal => Some(i128::from(one == other)),
                    Operator::NotEqual => Some(i128::from(one != other)),
                    Operator::And => Some(i128::from(one != 0 && other != 0)),
                    Operator::Or => Some(i128::from(one != 0 || other != 0)),
                }
            }
            Expression::Conditional(condition, one, other) => {
                self.constant(if self.constant(condition)? != 0 { one } else { other })
            }
            _ => None,
        }
    }

    /// Notes of a declaration, with those on its types.
    pub(super) fn notes(&self, parameter: &Parameter) -> Notes {
        self.header.notes(parameter)
    }

    /// What is said of it, with those annotations of its types that would be relied upon where they do nothing.
    pub(super) fn all_act(&self, parameter: &Parameter) -> Notes {
        let all = self.notes(parameter);
        let mut own = parameter.notes.clone();
        if !all.ignore && !all.null {
            (own.kept, own.string, own.strings, own.release) =
                (all.kept, all.string, all.strings, all.release);
        }
        own
    }

    /// The place of what `told` speaks of in [`Plan::told`].
    pub(super) fn remember(&mut self, told: &Told) {
        if self.plan.told_at(told).is_none() {
            self.plan.told.push((told.function.clone(), told.what.clone()));
        }
    }

    /// The number of a type of handles.
    pub(super) fn handle(&mut self, spelling: &str) -> usize {
        if let Some(known) = self.handles.get(spelling) {
            return *known;
        }
        self.plan.handles.push(spelling.to_owned());
        self.handles.insert(spelling.to_owned(), self.plan.handles.len());
        self.plan.handles.len()
    }
}

/// Callers and functions agree on where arguments are.
pub(super) fn is_of_platform(prototype: &Prototype) -> Result<(), No> {
    match prototype.foreign {
        false => Ok(()),
        true => no(
            "it has another calling convention than the platform's functions (such as ms_abi), and would look for its arguments in other places",
            or_omit("remove the attribute"),
        ),
    }
}
