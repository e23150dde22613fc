//! What the domain calls in place of a function of the program's: everything it passes is judged, then the program's function is called.
use super::copy_out::{CopyOut, Raw, bytes};
use super::declare::{crossing, declare, mutable};
use super::size::{Scope, at, field_at, size};
use super::steps::*;
use crate::emit::template::code;
use crate::expression::Expression;
use crate::header::model::{Prototype, Shape};
use crate::plan::{CallbackPlan, Outcome, Passing, Plan};

/// Expressions speak of parameters by name: of numbers, which may be sizes of what comes before them, as the library passes them; of
/// structures as they were copied.
struct Arguments<'a> {
    prototype: &'a Prototype,
    plan: &'a Plan,
}

impl Arguments<'_> {
    fn place(&self, name: &str) -> Option<usize> {
        self.prototype.parameters.iter().position(|parameter| parameter.name == *name)
    }

    /// As it was judged.
    fn judged(&self, name: &str) -> Value {
        self.place(name).map_or(word(name), |place| word(format!("lgs_p{place}")))
    }
}

impl Scope for Arguments<'_> {
    fn name(&self, name: &str) -> Value {
        self.place(name).map_or(word(name), |place| Raw::argument(place).number())
    }

    fn pointer(&self, name: &str) -> Value {
        let own = self.prototype.parameters.iter().find(|p| p.name == *name);
        match own.map(|own| &own.kind.shape) {
            Some(Shape::Pointer(_) | Shape::Function(_)) => self.judged(name),
            _ => self.name(name),
        }
    }

    fn deref(&self, name: &str) -> Value {
        at(self.judged(name))
    }

    fn field(&self, name: &str, field: &str) -> Value {
        field_at(self.judged(name), field)
    }

    fn handle(&self, name: &str) -> Value {
        self.name(name)
    }

    fn plan(&self) -> &Plan {
        self.plan
    }
}

/// The trampoline of one type.
pub fn trampoline(callback: &CallbackPlan, plan: &Plan) -> Function {
    let CallbackPlan { name, prototype, .. } = callback;
    let types: Vec<&str> = prototype.parameters.iter().map(|p| p.kind.spelling.as_str()).collect();
    let types = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
    let kind = format!("{} (*)({types})", prototype.result.spelling);
    let target = group(cast(&kind, word("lgs_program")));
    // (While it runs the domain may restart, and with it goes what is known of the callback.)
    let enter = vec![
        Step::Do(run("lgs_called_by", [text(name)])),
        variable("const struct lgs_callback *", "lgs_here", call("lg_user_data", [])),
        variable("const lg_code", "lgs_program", through(word("lgs_here"), "function")),
        Step::Do(cast("void", word("lgs_program"))),
        Step::Do(run("lgs_calls_for", [word("lgs_program")])),
    ];
    checked(callback, plan, &format!("lgs_call_{name}"), enter, target)
}

/// The same of a function that the domain calls by name.
pub fn gate(function: &CallbackPlan, plan: &Plan) -> Function {
    let name = &function.name;
    // (What it is given is its own only until it returns, as with functions that were given.)
    let enter = vec![
        Step::Do(run("lgs_called_by", [text(name)])),
        Step::Declare("static const struct lgs_callback".to_owned(), "lgs_none".to_owned(), None),
        variable("const struct lgs_callback *const", "lgs_here", address(word("lgs_none"))),
        Step::Do(cast("void", word("lgs_here"))),
    ];
    checked(function, plan, &format!("lgs_gate_{name}"), enter, word(name))
}

/// A function `own` that the domain calls: it begins with `enter`, and calls `target` with what it has judged.
fn checked(callback: &CallbackPlan, plan: &Plan, own: &str, enter: Vec<Step>, target: Value) -> Function {
    let CallbackPlan { prototype, parameters, result, .. } = callback;
    let declared = prototype.parameters.iter().enumerate();
    let mut declared: Vec<String> =
        declared.map(|(n, p)| declare(&crossing(&p.kind), &Raw::argument_name(n))).collect();
    if declared.is_empty() {
        declared.push("void".to_owned());
    }
    let result_type = &prototype.result.spelling;
    let head = format!("static {}", declare(result_type, &format!("{own}({})", declared.join(", "))));
    let returns = *result == Passing::Value;
    let mut steps = vec![Step::Declare("struct lgs_call".to_owned(), "lgs_c".to_owned(), None)];
    steps.extend(enter);
    let leave = Step::Do(run("lgs_leave", []));
    if parameters.contains(&Outcome::Jump) {
        let env =
            Raw::argument(0).judged_by("lgs_jump_later", [word("lgs_here")], [Raw::argument(1).number()]);
        steps.extend([Step::Do(env), leave]);
        steps.extend(returns.then(|| Step::Return(Some(zero()))));
        return Function { head, steps };
    }
    let scope = Arguments { prototype, plan };
    let size = |e: &Expression| size(e, &scope);
    let mut back = Vec::new();
    let mut arguments = vec![zero(); parameters.len()];
    for &n in &callback.order {
        let (parameter, planned) = (&prototype.parameters[n], &parameters[n]);
        let raw = Raw::argument(n);
        let what = &parameter.name;
        if matches!(planned, Outcome::Value) {
            arguments[n] = raw.number();
            if let Shape::Record(key) = &parameter.kind.shape
                && let Some(record) = plan.records.get(key).filter(|record| !record.bools.is_empty())
            {
                let normal = call(&format!("lgs_bools_{}", record.word), [address(raw.number()), number(1)]);
                steps.push(Step::Do(normal));
            }
            continue;
        }
        let kind = &parameter.variable();
        let out = CopyOut { raw: raw.clone(), kind, what, plan, size: &size, made: None };
        let mut value = match planned {
            Outcome::Memory { buffer } if buffer.writes => out.filled(buffer),
            Outcome::Data { .. } if parameter.notes.nullable => out.data_or_null(),
            // (Of any type, structures too.)
            Outcome::Untouched => word(code!("(@KIND@){0}", KIND = mutable(kind))),
            _ => out.value(planned),
        };
        if callback.followed.contains(what) {
            value = out.steady(value, planned, false);
        }
        let copy = word(format!("lgs_p{n}"));
        steps.push(variable(&mutable(kind), format!("lgs_p{n}"), value));
        arguments[n] = copy.clone();
        if let Outcome::Filled { key } = planned {
            let fill = format!("lgs_fill_{}", plan.records[key].word);
            back.push(Step::Do(raw.judged_by(&fill, [copy.clone()], [text(what)])));
        }
        if let Outcome::Memory { buffer } = planned
            && buffer.writes
        {
            let count = format!("lgs_n{n}");
            // What was copied, whatever the size would be by now.
            steps.push(variable("size_t", &count, bytes(buffer, what, &size)));
            let filled = cast("const void *", copy);
            let after = [filled, word(count), text(what)];
            back.push(Step::Do(raw.judged_by("lgs_memory_back", [], after)));
        }
    }
    let called = Value::Call(Box::new(target), arguments);
    let mut calls = vec![Step::Do(run("lgs_calls", []))];
    if returns {
        steps.push(variable(result_type, "lgs_result", zero()));
        calls.push(Step::Set(word("lgs_result"), called));
    } else {
        calls.push(Step::Do(called));
    }
    calls.push(Step::Do(run("lgs_called", [])));
    if plan.has_streams() {
        steps.push(Step::Do(run("lgs_streams_out", [])));
        calls.push(Step::Do(run("lgs_streams_in", [])));
    }
    calls.extend(back);
    steps.extend([when(not(failed()), calls), leave]);
    steps.extend(returns.then(|| Step::Return(Some(word("lgs_result")))));
    Function { head, steps }
}
