//! What two declarations of one function must agree on, so that who wrote the one means what the stub of the other does.
//!
//! Each part of a plan is taken apart whole: a new field does not compile until it is said here whether both sides must mean the same by it.
use super::{CallbackPlan, FieldPlan, Formatted, FunctionPlan, Outcome, Passing, Plan, Planner, RecordPlan};
use crate::annotation::Notes;
use crate::expression::Expression;
use crate::header::model::{CType, Header, Parameter, Prototype, Shape};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Whether `header` and `other` say the same of the function `name`: its types, whatever they are called, and how everything in them
/// crosses. `None` where one of them does not declare it. With `gate` the domain is the caller.
pub fn agree(header: &Header, other: &Header, name: &str, gate: bool) -> Option<bool> {
    Some(contract(header, name, gate)? == contract(other, name, gate)?)
}

/// What a declaration says to both sides.
#[derive(Debug, PartialEq)]
struct Contract {
    functions: Vec<OfFunction>,
    callbacks: Vec<OfCallback>,
    records: Vec<OfRecord>,
    handles: Vec<String>,
    told: Vec<(String, String)>,
    refusals: Vec<String>,
    omitted: Vec<(String, String)>,
    /// Parameters whose names mean something, by place.
    names: Vec<(usize, String)>,
    /// Enumerators that mean something.
    numbers: BTreeMap<String, i128>,
}

#[derive(Debug, PartialEq)]
struct OfFunction {
    prototype: String,
    parameters: Vec<(Passing, Notes)>,
    result: Outcome,
    errno: bool,
    at_most: Option<Expression>,
    format: Option<usize>,
    formatted: Option<Formatted>,
    shown: Option<String>,
    policy: Option<String>,
    borrowed: bool,
    jumps: Option<String>,
    freed: BTreeSet<String>,
    owned: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq)]
struct OfCallback {
    prototype: String,
    parameters: Vec<(Outcome, Notes)>,
    result: Passing,
    followed: BTreeSet<String>,
}

#[derive(Debug, PartialEq)]
struct OfRecord {
    key: String,
    size: u64,
    bools: Vec<String>,
    followed: BTreeSet<String>,
    fields: Vec<(Passing, Outcome, bool, bool)>,
}

fn contract(header: &Header, name: &str, gate: bool) -> Option<Contract> {
    let function = header.functions.named(name)?;
    let mut planner = Planner::new(header, Plan::default());
    if gate {
        planner.gate(function);
    } else {
        planner.function(function);
    }
    let Plan {
        functions,
        callbacks,
        gates,
        records,
        handles,
        omitted,
        refusals,
        told,
        left_out: _, // all of it is in `omitted` and `refusals`
        freers: _,   // in `owned` of the functions
        // These are a header's, whatever its functions are, or the domain's.
        enumerations: _,
        constants: _,
        numbers: _,
        bare: _,
        library: _,
        facts: _,
    } = &planner.plan;
    let mut types = Types { header, plan: &planner.plan, known: BTreeSet::new() };
    let mut contract = Contract {
        functions: functions.iter().map(|plan| types.of_function(plan)).collect(),
        callbacks: callbacks.values().chain(gates).map(|plan| types.of_callback(plan)).collect(),
        records: records.iter().map(|(key, plan)| of_record(key, plan)).collect(),
        handles: handles.clone(),
        told: told.clone(),
        refusals: refusals.iter().map(|refusal| refusal.reason.clone()).collect(),
        omitted: omitted.clone(),
        names: Vec::new(),
        numbers: BTreeMap::new(),
    };
    // Names mean something where a size or another annotation speaks of them. (As text: whatever part of the plan has the name, none is forgotten, and
    // one that is found by chance only makes the two agree less.)
    let text = format!("{contract:?}");
    let is_meant = |name: &str| text.contains(&format!("\"{name}\""));
    let parameters = function.prototype.parameters.iter().map(|parameter| &parameter.name).enumerate();
    let meant = parameters.filter(|(_, name)| is_meant(name));
    contract.names = meant.map(|(place, name)| (place, name.clone())).collect();
    let enumerators = header.each_enumerator().filter(|(name, _)| is_meant(name));
    contract.numbers = enumerators.map(|(name, number)| (name.to_owned(), number)).collect();
    Some(contract)
}

fn of_record(key: &str, plan: &RecordPlan) -> OfRecord {
    let RecordPlan {
        size,
        bools,
        followed,
        fields,
        // How the two sides call it, and what follows from its type, which the function's types have.
        spelling: _,
        word: _,
        alignment: _,
        order: _,
        numbers: _,
        vague: _, // where it matters, it is refused
    } = plan;
    let field = |field: &FieldPlan| {
        let FieldPlan { passing, outcome, cursor, of_buffer, name: _, kind: _, offset: _ } = field; // in the type
        (passing.clone(), outcome.clone(), *cursor, *of_buffer)
    };
    OfRecord {
        key: key.to_owned(),
        size: *size,
        bools: bools.clone(),
        followed: followed.clone(),
        fields: fields.iter().map(field).collect(),
    }
}

/// Types as they are, without the names of typedefs.
struct Types<'h> {
    header: &'h Header,
    plan: &'h Plan,
    /// Structures that have been described.
    known: BTreeSet<String>,
}

impl Types<'_> {
    fn of_function(&mut self, plan: &FunctionPlan) -> OfFunction {
        let FunctionPlan {
            prototype,
            parameters,
            result,
            errno,
            at_most,
            format,
            formatted,
            shown,
            policy,
            borrowed,
            jumps,
            freed,
            owned,
            name: _,    // by which both were found
            error: _,   // what a failed call gives is no danger: the domain may answer whatever it likes
            comment: _, // for readers
            counted: _, // names in expressions that are compared themselves
        } = plan;
        let notes = prototype.parameters.iter().map(|parameter| self.notes(parameter));
        OfFunction {
            parameters: parameters.iter().cloned().zip(notes).collect(),
            prototype: self.prototype(prototype),
            result: result.clone(),
            errno: *errno,
            at_most: at_most.clone(),
            format: *format,
            formatted: formatted.clone(),
            shown: shown.clone(),
            policy: policy.clone(),
            borrowed: *borrowed,
            jumps: jumps.clone(),
            freed: freed.clone(),
            owned: owned.clone(),
        }
    }

    fn of_callback(&mut self, plan: &CallbackPlan) -> OfCallback {
        // (The name is the word of a type, which each side may call as it likes; the order follows from sizes.)
        let CallbackPlan { prototype, parameters, result, followed, name: _, order: _ } = plan;
        let notes = prototype.parameters.iter().map(|parameter| self.notes(parameter));
        OfCallback {
            parameters: parameters.iter().cloned().zip(notes).collect(),
            prototype: self.prototype(prototype),
            result: result.clone(),
            followed: followed.clone(),
        }
    }

    /// What stubs read of a declaration beside the plan: bounds, sizes of what goes back, whose a handle is.
    fn notes(&self, parameter: &Parameter) -> Notes {
        let notes = self.header.notes(parameter);
        Notes {
            // The plan has these; and whether a buffer, which has a size, is text, it does not have.
            direction: None,
            opaque: false,
            callback: false,
            string: notes.string && notes.size.is_some(),
            // These say of whom something is, and how it was written.
            home: None,
            entry: false,
            spelled: BTreeSet::new(),
            ..notes
        }
    }

    fn prototype(&mut self, prototype: &Prototype) -> String {
        let mut text = format!("{}(", self.kind(&prototype.result));
        for parameter in &prototype.parameters {
            text += &self.kind(&parameter.kind);
            text.push(',');
        }
        text += if prototype.variadic { "...)" } else { ")" };
        // The program's compiler goes by these. (Where the others are true, there is no stub.)
        let Prototype { noreturn, never_null, aligned, silent, .. } = prototype;
        text + &format!("{noreturn}{never_null}{aligned}{silent}")
    }

    fn kind(&mut self, kind: &CType) -> String {
        let size = kind.size;
        match &kind.shape {
            Shape::Void => "void".to_owned(),
            Shape::Integer { signed, .. } => format!("{}{size}", if *signed { "i" } else { "u" }),
            Shape::Float => format!("f{size}"),
            Shape::Pointer(to) => {
                let constant = if to.constant { "const " } else { "" };
                // What is only passed on may be defined on one side alone.
                match &to.shape {
                    Shape::Record(key) if !self.plan.records.contains_key(key) => format!("*{constant}{key}"),
                    _ => format!("*{constant}{}", self.kind(to)),
                }
            }
            Shape::Function(prototype) => format!("*{}", self.prototype(prototype)),
            Shape::Array(element, count) => format!("[{count}]{}", self.kind(element)),
            Shape::Unsupported(what) => what.clone(),
            Shape::Record(key) => {
                let mut text = format!("{key}:{size}");
                if let Some(record) = self.header.records.get(key) {
                    let _ = write!(text, "@{}{:?}{:?}", record.alignment, record.offsets, record.arms);
                }
                let header = self.header;
                if let Some(record) = header.records.get(key).filter(|_| self.known.insert(key.clone())) {
                    for field in record.fields.iter().flatten() {
                        let _ = write!(text, "{{{}:{}}}", field.name, self.kind(&field.kind));
                    }
                }
                text
            }
        }
    }
}
