//! From the plan of a callback to a closure.
use super::surface::Surface;
use crate::expression::Expression;
use crate::header::model::CType;
use crate::plan::{CallbackPlan, Outcome};

/// A function of the program's that the library calls.
pub struct Closure<'a> {
    /// As C has it.
    pub plan: &'a CallbackPlan,
    /// What its type is called.
    pub name: String,
    /// What it is called with.
    pub seen: Vec<Seen<'a>>,
    /// The place of the program's own data.
    pub data: Option<usize>,
    /// The enumeration of its result.
    pub result: Option<&'a str>,
}

/// One parameter.
pub struct Seen<'a> {
    /// Its place among C's.
    pub place: usize,
    /// Its name.
    pub what: &'a str,
    /// Its type.
    pub kind: &'a CType,
    /// What it is.
    pub shown: Shown<'a>,
}

/// What a closure gets.
pub enum Shown<'a> {
    /// A number.
    Number,
    /// A number that must be one of these.
    Enumeration(&'a str),
    /// A string.
    Text {
        /// Or none.
        nullable: bool,
    },
    /// Strings: so many, or up to a null pointer.
    Texts {
        /// How many.
        count: Option<&'a Expression>,
        /// Each may be missing.
        holes: bool,
    },
    /// Memory.
    Memory {
        /// Elements; one without.
        count: Option<&'a Expression>,
        /// What the closure leaves there goes back.
        writes: bool,
    },
    /// A handle.
    Handle {
        /// Its type.
        number: usize,
        /// Or none.
        nullable: bool,
    },
    /// Handles.
    Handles {
        /// Their type.
        number: usize,
        /// How many.
        count: &'a Expression,
    },
    /// A place in the library's memory.
    Place,
}

impl<'a> Surface<'a> {
    /// The form of a callback that has one.
    pub fn closure(&self, callback: &'a CallbackPlan) -> Closure<'a> {
        let planned = callback.prototype.parameters.iter().zip(&callback.parameters).enumerate();
        let seen = planned.filter_map(|(place, (parameter, outcome))| {
            let kind = &parameter.kind;
            self.shown(kind, outcome).map(|shown| Seen { place, what: &parameter.name, kind, shown })
        });
        Closure {
            plan: callback,
            name: self.closure_name(&callback.name),
            seen: seen.collect(),
            data: callback.parameters.iter().position(|outcome| matches!(outcome, Outcome::Data { .. })),
            result: self.enumeration(&callback.prototype.result),
        }
    }

    fn shown(&self, kind: &'a CType, outcome: &'a Outcome) -> Option<Shown<'a>> {
        Some(match outcome {
            Outcome::Data { .. } => return None,
            Outcome::Value => self.enumeration(kind).map_or(Shown::Number, Shown::Enumeration),
            Outcome::String { nullable } => Shown::Text { nullable: *nullable },
            Outcome::Strings { count, holes, .. } => Shown::Texts { count: count.as_ref(), holes: *holes },
            Outcome::Memory { buffer } => {
                Shown::Memory { count: buffer.size.as_ref(), writes: buffer.writes }
            }
            Outcome::Handle { number, nullable } => Shown::Handle { number: *number, nullable: *nullable },
            Outcome::Handles { number, count } => Shown::Handles { number: *number, count },
            // (Callbacks with anything else have no form.)
            _ => Shown::Place,
        })
    }
}

impl Closure<'_> {
    /// Names of what it gets, as its documentation has them.
    pub fn names(&self) -> Vec<String> {
        self.seen.iter().map(|seen| format!("`{}`", seen.what)).collect()
    }

    /// The variable of the parameter of this name; the name itself of a constant.
    pub fn variable(&self, name: &str) -> String {
        self.place(name).map_or_else(|| name.to_owned(), |place| format!("p{place}"))
    }

    /// The place of the parameter of this name; none for a constant.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.plan.prototype.parameters.iter().position(|parameter| parameter.name == name)
    }
}
