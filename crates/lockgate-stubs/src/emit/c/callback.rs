//! What the domain calls in place of a function of the program's.
use super::body::{bytes, flags_of, mutable, outcome, steady};
use super::declare::{crossing, declare, prototype};
use super::expression::{Scope, emit};
use crate::header::model::{CType, Parameter, Prototype, Shape};
use crate::plan::{Buffer, CallbackPlan, Outcome, Passing, Plan};
use std::fmt::Write as _;

/// Expressions speak of parameters by name: of numbers, which may be sizes of what comes before them, as the library passes them; of structures
/// as they were copied.
struct Arguments<'a> {
    prototype: &'a Prototype,
    plan: &'a Plan,
}

impl Arguments<'_> {
    fn numbered(&self, prefix: &str, name: &str) -> String {
        let place = self.prototype.parameters.iter().position(|p| p.name == *name);
        place.map_or(name.to_owned(), |n| format!("{prefix}{n}"))
    }
}

impl Scope for Arguments<'_> {
    fn name(&self, name: &str) -> String {
        self.numbered("lgs_a", name)
    }

    fn pointer(&self, name: &str) -> String {
        let own = self.prototype.parameters.iter().find(|p| p.name == *name);
        let prefix = if own.is_some_and(|p| is_pointer(&p.kind)) { "lgs_p" } else { "lgs_a" };
        self.numbered(prefix, name)
    }

    fn deref(&self, name: &str) -> String {
        let pointer = self.numbered("lgs_p", name);
        format!("{pointer} ? *{pointer} : 0")
    }

    fn field(&self, name: &str, field: &str) -> String {
        let object = self.numbered("lgs_p", name);
        format!("{object} ? {object}->{field} : 0")
    }

    fn handle(&self, name: &str) -> String {
        self.numbered("lgs_a", name)
    }

    fn plan(&self) -> &Plan {
        self.plan
    }
}

fn is_pointer(kind: &CType) -> bool {
    matches!(kind.shape, Shape::Pointer(_) | Shape::Function(_))
}

/// The table of all trampolines; what is at 0 is no type.
pub fn table(plan: &Plan) -> String {
    let mut text =
        String::from("\nstatic const struct lgs_trampoline lgs_trampolines[] = {\n    {0, 0, 0},\n");
    for callback in plan.callbacks.values() {
        let CallbackPlan { name, prototype: own, .. } = callback;
        let _ = writeln!(
            text,
            "    {{\"{name}\", \"{}\", (lg_code)lgs_call_{name}}},",
            prototype(name, own, plan)
        );
    }
    text + "};\n"
}

/// The table of functions that the domain calls by name.
pub fn gates(plan: &Plan) -> String {
    let mut text = String::from("\nstatic const struct lgs_trampoline lgs_gates[] = {\n");
    for CallbackPlan { name, prototype: own, .. } in &plan.gates {
        let _ = writeln!(
            text,
            "    {{\"{name}\", \"{}\", (lg_code)lgs_gate_{name}}},",
            prototype(name, own, plan)
        );
    }
    text + "    {0, 0, 0},\n};\n"
}

/// The trampoline of one type: everything the domain passes is checked, then the program's function is called.
pub fn trampoline(callback: &CallbackPlan, plan: &Plan) -> String {
    let CallbackPlan { name, prototype, .. } = callback;
    let types: Vec<&str> = prototype.parameters.iter().map(|p| p.kind.spelling.as_str()).collect();
    let types = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
    let result_type = &prototype.result.spelling;
    let target = format!("(({result_type} (*)({types}))lgs_program)");
    // (While it runs the domain may restart, and with it goes what is known of the callback.)
    let enter = format!(
        "lgs_called_by(&lgs_c, \"{name}\");\n    const struct lgs_callback *lgs_here = lg_user_data();\n    const lg_code lgs_program = lgs_here->function;\n    (void)lgs_program;\n    lgs_calls_for(&lgs_c, lgs_program);"
    );
    checked(callback, plan, &format!("lgs_call_{name}"), &enter, &target)
}

/// The same of a function that the domain calls by name.
pub fn gate(function: &CallbackPlan, plan: &Plan) -> String {
    let name = &function.name;
    checked(function, plan, &format!("lgs_gate_{name}"), &format!("lgs_called_by(&lgs_c, \"{name}\");"), name)
}

/// Memory of the library's that the program's function fills.
fn filled(
    raw: &str,
    parameter: &Parameter,
    buffer: &Buffer,
    size: &dyn Fn(&crate::expression::Expression) -> String,
) -> String {
    let (spelling, what) = (&parameter.kind.spelling, &parameter.name);
    let bytes = bytes(buffer, what, size);
    let flags = flags_of(buffer.nullable);
    let at = format!("lgs_aligned(&lgs_c, {raw}, __alignof__(*({spelling})0), \"{what}\")");
    let memory = format!("lgs_filled(&lgs_c, {at}, {bytes}, {flags}, \"{what}\")");
    let memory = match &buffer.bools {
        Some(normal) if buffer.reads => format!("LGS_NORMAL({normal}, {memory}, {})", buffer.element),
        _ => memory,
    };
    format!("({spelling})(uintptr_t){memory}")
}

/// A function `own` that the domain calls: it begins with the statement `enter`, and calls `target` with what it has checked.
fn checked(callback: &CallbackPlan, plan: &Plan, own: &str, enter: &str, target: &str) -> String {
    let CallbackPlan { prototype, parameters, result, .. } = callback;
    let raw = |n: usize| format!("lgs_a{n}");
    let mut declared: Vec<String> =
        prototype.parameters.iter().enumerate().map(|(n, p)| declare(&crossing(&p.kind), &raw(n))).collect();
    if declared.is_empty() {
        declared.push("void".to_owned());
    }
    let result_type = &prototype.result.spelling;
    let returns = *result == Passing::Value;
    let mut text =
        format!("\nstatic {}\n{{\n", declare(result_type, &format!("{own}({})", declared.join(", "))));
    let _ = writeln!(text, "    struct lgs_call lgs_c;\n    {enter}");
    if parameters.contains(&Outcome::Jump) {
        text += "    lgs_jump_later(&lgs_c, lgs_here, lgs_a0, lgs_a1);\n    lgs_leave(&lgs_c);\n";
        return text + if returns { "    return 0;\n}\n" } else { "}\n" };
    }
    let scope = Arguments { prototype, plan };
    let size = |e: &crate::expression::Expression| emit(e, &scope);
    let mut back = String::new();
    let mut arguments = vec![String::new(); parameters.len()];
    for &n in &callback.order {
        let (parameter, planned) = (&prototype.parameters[n], &parameters[n]);
        if matches!(planned, Outcome::Value) {
            arguments[n] = raw(n);
            if let Shape::Record(key) = &parameter.kind.shape
                && let Some(record) = plan.records.get(key).filter(|record| !record.bools.is_empty())
            {
                let _ = writeln!(text, "    lgs_bools_{}(&{}, 1);", record.word, raw(n));
            }
            continue;
        }
        let mut value = match planned {
            Outcome::Memory { buffer } if buffer.writes => filled(&raw(n), parameter, buffer, &size),
            Outcome::Data { .. } if parameter.notes.nullable => {
                let (spelling, what) = (&parameter.kind.spelling, &parameter.name);
                let data = format!("lgs_data_out(&lgs_c, lgs_here, {}, LGS_NULLABLE, \"{what}\")", raw(n));
                format!("({spelling})(uintptr_t){data}")
            }
            _ => outcome(&raw(n), &parameter.kind.spelling, planned, &parameter.name, plan, &size),
        };
        if callback.followed.contains(&parameter.name) {
            value = steady(&value, &raw(n), planned, &parameter.name, "false", &size);
        }
        let _ = writeln!(
            text,
            "    {} = {value};",
            declare(&mutable(&parameter.kind.spelling), &format!("lgs_p{n}"))
        );
        arguments[n] = format!("lgs_p{n}");
        if let Outcome::Filled { key } = planned {
            let word = &plan.records[key].word;
            let _ = writeln!(
                back,
                "        lgs_fill_{word}(&lgs_c, lgs_p{n}, {}, \"{}\");",
                raw(n),
                parameter.name
            );
        }
        if let Outcome::Memory { buffer } = planned
            && buffer.writes
        {
            let bytes = bytes(buffer, &parameter.name, &size);
            let _ = writeln!(
                back,
                "        lgs_memory_back(&lgs_c, {}, (const void *)lgs_p{n}, lgs_n{n}, \"{}\");",
                raw(n),
                parameter.name
            );
            // What was copied, whatever the size would be by now.
            let _ = writeln!(text, "    size_t lgs_n{n} = {bytes};");
        }
    }
    let call = format!("{target}({})", arguments.join(", "));
    if returns {
        let _ = writeln!(text, "    {} = 0;", declare(result_type, "lgs_result"));
    }
    let assign = if returns { "lgs_result = " } else { "" };
    let _ = writeln!(
        text,
        "    if (!lgs_c.failed) {{\n        lgs_calls(&lgs_c);\n        {assign}{call};\n        lgs_called(&lgs_c);\n{back}    }}\n    lgs_leave(&lgs_c);"
    );
    if returns {
        text += "    return lgs_result;\n";
    }
    text + "}\n"
}
