//! What two declarations of one function must agree on, so that who wrote the one means what the stub of the other does.
use super::{CallbackPlan, FunctionPlan, Plan, Planner, RecordPlan};
use crate::header::model::{CType, Header, Parameter, Prototype, Shape};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Whether `header` and `other` say the same of the function `name`: its types, whatever they are called, and how everything in them
/// crosses. `None` where one of them does not declare it. With `gate` the domain is the caller.
pub fn agree(header: &Header, other: &Header, name: &str, gate: bool) -> Option<bool> {
    Some(contract(header, name, gate)? == contract(other, name, gate)?)
}

fn contract(header: &Header, name: &str, gate: bool) -> Option<String> {
    let function = header.functions.named(name)?;
    let mut planner = Planner::new(header, Plan::default());
    if gate {
        planner.gate(function);
    } else {
        planner.function(function);
    }
    let plan = planner.plan;
    let mut text = String::new();
    let mut types = Types { header, plan: &plan, known: BTreeSet::new() };
    for function in &plan.functions {
        // (What a failed call gives is no danger: the domain may answer whatever it likes.)
        let FunctionPlan { prototype, parameters, result, errno, at_most, format, formatted, .. } = function;
        let FunctionPlan { shown, policy, borrowed, jumps, freed, .. } = function;
        let _ = write!(text, "{parameters:?}{result:?}{errno:?}{at_most:?}{format:?}{formatted:?}");
        let _ = write!(text, "{shown:?}{policy:?}{borrowed:?}{jumps:?}{freed:?}");
        text += &types.prototype(prototype);
    }
    for (name, callback) in plan
        .callbacks
        .iter()
        .map(|(name, plan)| (name.as_str(), plan))
        .chain(plan.gates.iter().map(|plan| ("", plan)))
    {
        let CallbackPlan { prototype, parameters, result, followed, .. } = callback;
        let _ = write!(text, "{name}{parameters:?}{result:?}{followed:?}");
        text += &types.prototype(prototype);
    }
    for (key, RecordPlan { size, fields, bools, followed, .. }) in &plan.records {
        let _ = write!(text, "{key}{size}{bools:?}{followed:?}");
        for field in fields {
            let _ = write!(text, "{:?}{:?}{}{}", field.passing, field.outcome, field.cursor, field.of_buffer);
        }
    }
    let _ = write!(text, "{:?}{:?}", plan.handles, plan.told);
    for refusal in &plan.refusals {
        text += &refusal.reason;
    }
    // Names mean something where a size or another annotation speaks of them.
    for (place, Parameter { name, .. }) in function.prototype.parameters.iter().enumerate() {
        if text.contains(&format!("\"{name}\"")) {
            let _ = write!(text, "{place}{name}");
        }
    }
    Some(text)
}

/// Types as they are, without the names of typedefs.
struct Types<'h> {
    header: &'h Header,
    plan: &'h Plan,
    /// Structures that have been described.
    known: BTreeSet<String>,
}

impl Types<'_> {
    fn prototype(&mut self, prototype: &Prototype) -> String {
        let mut text = format!("{}(", self.kind(&prototype.result));
        for parameter in &prototype.parameters {
            text += &self.kind(&parameter.kind);
            text.push(',');
        }
        text + if prototype.variadic { "...)" } else { ")" }
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
