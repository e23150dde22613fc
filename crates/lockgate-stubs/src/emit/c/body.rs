//! One stub: everything in, the call, everything checked, then everything out.
use super::declare::{crossing, declare, parameters};
use super::expression::{Scope, emit};
use super::record::index;
use crate::expression::Expression;
use crate::header::model::{Parameter, Shape};
use crate::plan::{Buffer, Count, Formatted, FunctionPlan, Outcome, Passing, Plan};
use std::fmt::Write as _;

/// The pieces of a stub, in the order of its text.
#[derive(Default)]
struct Body {
    /// First of all: handles, which other things are for.
    first: String,
    /// Before the call: copies in.
    before: String,
    /// After it: checks, into local variables.
    check: String,
    /// When all checks have passed: copies out.
    out: String,
    /// Handles that the call has made, as the program has them; and by what name they were claimed.
    made: Vec<(String, Option<String>)>,
    /// Whatever happened.
    finally: String,
    /// Arguments of the call.
    arguments: Vec<String>,
}

/// The stub of `function`, the `number`th.
pub fn function(function: &FunctionPlan, number: usize, plan: &Plan) -> String {
    let FunctionPlan { name, prototype, result, .. } = function;
    let mut body = Body::default();
    let stub = Stub { function, plan };
    for (number, (parameter, passing)) in prototype.parameters.iter().zip(&function.parameters).enumerate() {
        if function.formatted.as_ref().is_some_and(|f| f.list.as_ref() == Some(&parameter.name)) {
            body.arguments.push("lgs_list_made".to_owned());
        } else if function.format == Some(number) {
            body.arguments.push("lgs_string(&lgs_c, \"%s\")".to_owned());
        } else {
            stub.parameter(&mut body, parameter, passing);
        }
    }
    let plain = stub.is_plain();
    let mut text = match plain {
        // (A frame of its own, whatever a linker would make of it: calls are told apart by theirs.)
        false => format!("\n__attribute__((noinline)) {}\n{{\n", stub.declared(name)),
        true => {
            format!("\nstatic __attribute__((noinline)) {}\n{{\n", stub.declared(&format!("lgs_long_{name}")))
        }
    };
    let void = *result == Outcome::Void;
    if let Some(failure) = stub.failure() {
        let _ = writeln!(text, "    {} = {failure};", stub.result());
    }
    let mut types: Vec<String> = prototype.parameters.iter().map(|p| crossing(&p.kind)).collect();
    match &function.formatted {
        Some(formatted) if formatted.list.is_none() => types.push("uint64_t".to_owned()),
        _ if prototype.variadic => types.push("...".to_owned()),
        _ => {}
    }
    let types = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
    let crossing = crossing(&prototype.result);
    let target = format!("(({crossing} (*)({types}))lgs.targets[{number}])");
    let _ = writeln!(
        text,
        "    struct lgs_call lgs_c;\n    const struct lgs_callback *const lgs_here = 0;\n    (void)lgs_here;\n    lgs_begin(&lgs_c, {number});"
    );
    if let Some(format) = function.format {
        let last = &prototype.parameters[format].name;
        let _ = writeln!(
            body.before,
            "    va_list lgs_list;\n    va_start(lgs_list, {last});\n    uint64_t lgs_text_made = lgs_print(&lgs_c, {last}, lgs_list);\n    va_end(lgs_list);"
        );
        body.arguments.push("lgs_text_made".to_owned());
    }
    if let Some(Formatted { format, list, by }) = &function.formatted {
        let (before, list, after) = match list {
            Some(list) => (String::new(), list.as_str(), ""),
            None => {
                body.arguments.push("lgs_list_made".to_owned());
                let start = format!("    va_list lgs_list;\n    va_start(lgs_list, {format});\n");
                (start, "lgs_list", "    va_end(lgs_list);\n")
            }
        };
        let (strings, given) = (&by.strings, &by.given);
        let _ = writeln!(
            body.before,
            "{before}    uint64_t lgs_list_made = lgs_arguments(&lgs_c, {format}, {list}, \"{strings}\", \"{given}\");\n{after}"
        );
    }
    if let Some(handle) = &function.jumps {
        let parameters = function.parameters.iter().zip(&prototype.parameters);
        let mut led_to = parameters.filter(|(passing, _)| matches!(passing, Passing::Pointer { .. }));
        let handle = match led_to.any(|(_, parameter)| parameter.name == *handle) {
            true => format!("{handle} ? *{handle} : 0"),
            false => handle.clone(),
        };
        let _ = writeln!(body.first, "    lgs_c.jumps = lgs_scope_place({handle});");
    }
    for name in function.freed.iter().chain(&function.owned) {
        let _ = writeln!(text, "    struct lgs_heap lgs_h_{name} = {{0}};");
    }
    for name in stub.claimed() {
        let _ = writeln!(text, "    struct lgs_made lgs_m_{name} = {{0}};");
    }
    tell(&mut body, function, plan);
    if let Outcome::JumpBuffer { handle } = result {
        let of = prototype.parameters.iter().zip(&function.parameters).find(|(own, _)| own.name == *handle);
        let number = match of {
            Some((_, Passing::Handle { number, .. })) => *number,
            _ => 0,
        };
        let given = stub.jump_function().unwrap_or("longjmp");
        // (However the call ends, the program calls setjmp with what it gets.)
        let _ = writeln!(
            text,
            "    lgs_result = ({})lgs_jump_own({handle}, {number}, (lgs_jumper)(lg_code){given});",
            prototype.result.spelling
        );
    }
    text += &body.first;
    let handles = stub.handles();
    if plan.follows_handles() {
        let first = handles.iter().rev().fold("0".to_owned(), |rest, name| match rest.as_str() {
            "0" => format!("lgs_v_{name}"),
            _ => format!("lgs_v_{name} ? lgs_v_{name} : {rest}"),
        });
        if first != "0" {
            let _ = writeln!(text, "    lgs_c.handle = {first};");
        }
        if function.makes(None) {
            text += "    lgs_c.makes = true;\n";
        }
    }
    if plan.lends() {
        text += "    if (lgs_has_lent())\n        lgs_give_back(&lgs_c);\n";
    }
    text += &body.before;
    if plan.keeps_streams() && !function.keeps_stream() && !handles.is_empty() && !stub.releases() {
        text += "    if (lgs_has_stuck())\n        lgs_not_stuck(&lgs_c);\n";
    }
    text += "    if (lgs_c.failed)\n        goto lgs_end;\n";
    if function.errno {
        text += "    if (!lgs_no_errno(&lgs_c))\n        goto lgs_end;\n";
    }
    if plan.follows_calls() {
        text += "    lgs_calls_in(&lgs_c);\n";
    }
    let call = format!("{target}({})", body.arguments.join(", "));
    if void {
        let _ = writeln!(text, "    {call};");
    } else {
        let _ = writeln!(text, "    {} = {call};", declare(&mutable(&crossing), "lg_result"));
    }
    text += "    if (!lgs_returned(&lgs_c))\n        goto lgs_end;\n";
    text += &body.check;
    if let Some(most) = &function.at_most {
        let most = stub.after(most);
        let beyond = match prototype.result.shape {
            // (Not a number is not at most anything.)
            Shape::Float => format!("!(lg_result >= 0 && lg_result <= (double)({most}))"),
            Shape::Integer { signed: false, .. } => format!("(lgs_wide)lg_result > {most}"),
            _ => format!("(lgs_wide)lg_result < 0 || (lgs_wide)lg_result > {most}"),
        };
        // What the function returns when it fails is no number of anything.
        let failure = stub.failure().unwrap_or_else(|| "0".to_owned());
        let _ = writeln!(
            text,
            "    if (lg_result != {failure} && ({beyond}))\n        lgs_fail(&lgs_c, LG_STUB_LENGTH, \"result\", \"the library returned more than there can be, or less than nothing\");"
        );
    }
    if let Some(element) = plan.asked(function) {
        let _ = writeln!(
            text,
            "    if ((lgs_wide)lg_result > (lgs_wide)(LGS_WINDOW / {element}))\n        lgs_fail(&lgs_c, LG_STUB_LENGTH, \"result\", \"nothing that the library has is as large\");"
        );
    }
    let own = prototype.parameters.iter().zip(&function.parameters);
    let mut own =
        own.filter(|(_, passing)| matches!(passing, Passing::Inside { .. })).map(|(own, _)| &own.name);
    if let Some(own) = own.find(|_| plan.asked_of_own(name))
        && matches!(prototype.result.shape, Shape::Integer { .. })
    {
        let _ = writeln!(
            text,
            "    if ({own} && (lgs_wide)lg_result > (lgs_wide)lgs_behind({own}))\n        lg_result = ({crossing})lgs_behind({own});"
        );
    }
    if let Shape::Record(key) = &prototype.result.shape
        && let Some(record) = plan.records.get(key).filter(|record| !record.bools.is_empty())
    {
        let _ = writeln!(text, "    lgs_bools_{}(&lg_result, 1);", record.word);
    }
    if !void {
        let mut value =
            outcome("lg_result", &prototype.result.spelling, result, "result", plan, &|e| stub.after(e));
        if let Outcome::Handle { number, .. } = result
            && !function.is_borrowed("result")
        {
            let claims = plan.follows_handles() && plan.carries(*number);
            value = made(&value, "result", claims);
        }
        let _ =
            writeln!(text, "    {} = {value};", declare(&mutable(&prototype.result.spelling), "lgs_value"));
    }
    if function.is_to_end("result") {
        text += &to_heap("result", "lgs_value", "lg_result", result);
    }
    for name in &function.freed {
        let _ = writeln!(text, "    lgs_free_inside(&lgs_c, &lgs_h_{name});");
    }
    for name in &function.owned {
        let _ = writeln!(text, "    lgs_own_piece(&lgs_c, &lgs_h_{name}, \"{name}\");");
    }
    for name in function.freed.iter().chain(&function.owned) {
        let _ = writeln!(body.finally, "    lgs_heap_end(&lgs_h_{name});");
    }
    if let Outcome::Handle { number, .. } = result
        && plan.follows_handles()
        && !function.borrowed
    {
        body.made.push(("lgs_value".to_owned(), plan.carries(*number).then(|| "result".to_owned())));
    }
    text += "    if (lgs_c.failed)\n        goto lgs_end;\n";
    text += &body.out;
    for (number, made) in body.made.iter().enumerate() {
        let (made, claimed) = made;
        let claimed = claimed.as_ref().map_or("0".to_owned(), |name| format!("&lgs_m_{name}"));
        let _ = writeln!(text, "    lgs_born(&lgs_c, {made}, {}, {claimed});", number == 0);
    }
    if function.is_to_end("result") {
        text += "    lgs_result = lgs_take(&lgs_h_result);\n";
    } else if !void {
        text += "    lgs_result = lgs_value;\n";
    }
    if let Some(handle) = &function.shown {
        text +=
            &format!("    if (lgs_result && {handle})\n        *(void **)lgs_result = *(void **){handle};\n");
    }
    if function.errno {
        text += "    lgs_errno(&lgs_c);\n";
    }
    text += "lgs_end:\n";
    for name in body.made.iter().filter_map(|(_, claimed)| claimed.as_ref()) {
        let _ = writeln!(text, "    if (lgs_c.failed)\n        lgs_unclaim(&lgs_m_{name});");
    }
    if function.jumps.is_some() && stub.releases() {
        text += "    lgs_jump_at_end(&lgs_c);\n";
    }
    text += &body.finally;
    if function.makes(None) {
        text += "    lgs_no_handle(&lgs_c);\n";
    }
    text += "    lgs_finish(&lgs_c);\n";
    if function.jumps.is_some() {
        text += "    if (lgs_c.failed)\n        lgs_jump(&lgs_c);\n";
    }
    if prototype.noreturn {
        text += "    lgs_stuck(&lgs_c);\n";
    } else if !void {
        text += "    return lgs_result;\n";
    }
    text += "}\n";
    if plain {
        text += &stub.quick(number, &target);
    }
    text
}

/// A handle that the library makes is not one that it has given out and ended.
fn made(value: &str, name: &str, claims: bool) -> String {
    let claim = if claims { format!("&lgs_m_{name}") } else { "0".to_owned() };
    let what = format!(", \"{name}\")");
    value.replacen("lgs_handle_out(", "lgs_handle_made(", 1).replacen(&what, &format!(", {claim}{what}"), 1)
}

/// How long data is given.
pub fn how_long(kept: bool, for_call: bool) -> &'static str {
    match (kept, for_call) {
        (true, _) => "LGS_FOR_GOOD",
        (_, true) => "LGS_FOR_CALL",
        _ => "LGS_FOR_HANDLE",
    }
}

/// The functions that data comes with, and how many these are, for `lgs_data`.
pub fn with_data(object: &str, callbacks: &[&str]) -> String {
    match callbacks.is_empty() {
        true => "0, 0".to_owned(),
        false => {
            let all: Vec<String> = callbacks.iter().map(|name| format!("(lg_code){object}{name}")).collect();
            format!("(const lg_code[]){{{}}}, {}", all.join(", "), all.len())
        }
    }
}

/// What the program will give to `free`, or back, goes to its own heap.
fn to_heap(name: &str, copy: &str, raw: &str, outcome: &Outcome) -> String {
    let flags = match outcome {
        Outcome::Memory { buffer } if !buffer.reads => "LGS_WRITES",
        _ => "0",
    };
    let size = match outcome {
        Outcome::String { .. } => format!("{copy} ? strlen({copy}) + 1 : 0"),
        _ => "lgs_thread.given".to_owned(),
    };
    format!("    lgs_to_heap(&lgs_c, &lgs_h_{name}, {copy}, {size}, (uint64_t){raw}, {flags}, \"{name}\");\n")
}

/// Remembers what expressions of other functions ask for: what the program hears of this call, and nothing of earlier ones if it fails.
fn tell(body: &mut Body, function: &FunctionPlan, plan: &Plan) {
    let FunctionPlan { name, prototype, .. } = function;
    let mut parameters = prototype.parameters.iter().zip(&function.parameters);
    let handle = parameters.find(|(_, passing)| matches!(passing, Passing::Handle { .. }));
    let Some((Parameter { name: handle, .. }, _)) = handle else { return };
    for (place, (_, what)) in plan.told.iter().enumerate().filter(|(_, (teller, _))| teller == name) {
        let parameter = prototype.parameters.iter().zip(&function.parameters).find(|(p, _)| p.name == *what);
        let (condition, value) = match (what.as_str(), parameter) {
            ("lg_called", _) => (String::new(), "1".to_owned()),
            ("lg_result", _) => (String::new(), "lgs_value".to_owned()),
            (name, Some((_, Passing::Scalar(buffer)))) if buffer.writes => {
                (format!("if ({name})\n        "), format!("lgs_s_{name}"))
            }
            (name, Some((parameter, _))) if parameter.kind.pointee().is_some() => {
                (format!("if ({name})\n        "), format!("*{name}"))
            }
            (name, _) => (String::new(), name.to_owned()),
        };
        // (Where it asks for nothing, what it has heard is still what it knows.)
        let unheard = format!("lgs_unheard(&lgs_c, {handle}, {place}, \"{what}\");");
        let _ = writeln!(body.first, "    {condition}{unheard}");
        // What is set by a call that says itself that it has failed, the program does not go by.
        let refused = refuses(function).filter(|_| what != "lg_result");
        let tells = format!("lgs_tell(lgs_v_{handle}, {place}, (lgs_wide){value});");
        let _ = match &refused {
            None => writeln!(body.out, "    {condition}{tells}"),
            Some(refused) => {
                let told = condition.replace("if (", "if (!lgs_refused && ");
                let told = if told.is_empty() { "if (!lgs_refused)\n        " } else { &told };
                writeln!(body.out, "    {{\n        bool lgs_refused = {refused};\n    {told}{tells}\n    }}")
            }
        };
        // (A callback may have made the same call meanwhile.)
        let failed = match condition.as_str() {
            "" => "if (lgs_c.failed)\n        ".to_owned(),
            _ => condition.replace("if (", "if (lgs_c.failed && "),
        };
        let _ = writeln!(body.finally, "    {failed}{unheard}");
    }
}

/// A condition: by its own word the call has failed. Nothing where no result says so.
fn refuses(function: &FunctionPlan) -> Option<String> {
    let result = &function.prototype.result;
    let error = function.error.as_deref()?;
    let spelling = &result.spelling;
    match (&function.result, &result.shape) {
        (Outcome::Value, Shape::Integer { signed, .. }) => {
            let negative = if *signed && error.starts_with('-') { "lg_result < 0 || " } else { "" };
            Some(format!("{negative}lg_result == ({spelling})({error})"))
        }
        _ => None,
    }
}

/// A type without the `const` of the variable itself.
pub fn mutable(spelling: &str) -> String {
    spelling.strip_suffix("*const").map_or_else(|| spelling.to_owned(), |pointer| format!("{pointer}*"))
}

pub fn flags_of(nullable: bool) -> &'static str {
    if nullable { "LGS_NULLABLE" } else { "0" }
}

/// C for the value that `raw` (a number, if a pointer) is to the program.
pub fn outcome(
    raw: &str,
    spelling: &str,
    outcome: &Outcome,
    what: &str,
    plan: &Plan,
    size: &dyn Fn(&Expression) -> String,
) -> String {
    let flags = flags_of;
    let cast = |value: String| format!("({spelling})(uintptr_t){value}");
    // Elements of their type lie where those of that type may.
    let aligned = || format!("lgs_aligned(&lgs_c, {raw}, __alignof__(*({spelling})0), \"{what}\")");
    match outcome {
        Outcome::Void | Outcome::Value | Outcome::Untouched => raw.to_owned(),
        Outcome::String { nullable } => {
            cast(format!("lgs_text(&lgs_c, {raw}, {}, \"{what}\")", flags(*nullable)))
        }
        Outcome::Strings { count, nullable, holes, pairs } => {
            let given = |count| format!("lgs_count(&lgs_c, {}, \"{what}\")", size(count));
            let count = count.as_ref().map_or("-1".to_owned(), given);
            let (nullable, holes) = (flags(*nullable), flags(*holes));
            let holes = if *pairs { "LGS_PAIRS" } else { holes };
            // What a callback is given is its own only until it returns.
            cast(format!("lgs_texts(&lgs_c, {raw}, {count}, {nullable}, {holes}, !lgs_here, \"{what}\")"))
        }
        Outcome::Memory { buffer } => {
            let bytes = bytes(buffer, what, size);
            let mut flags = flags(buffer.nullable).to_owned();
            if buffer.reads {
                flags += " | LGS_READS";
            }
            let memory = format!("lgs_memory(&lgs_c, {}, {bytes}, {flags}, \"{what}\")", aligned());
            cast(match &buffer.bools {
                Some(normal) if buffer.reads => {
                    let own = plan
                        .records
                        .iter()
                        .find(|(_, record)| *normal == format!("lgs_bools_{}", record.word));
                    let number = own.map_or("LGS_BOOLS".to_owned(), |(key, _)| index(plan, key).to_string());
                    let flags = flags_of(buffer.nullable);
                    let apart =
                        format!("lgs_apart(&lgs_c, {}, {number}, {bytes}, {flags}, \"{what}\")", aligned());
                    format!("LGS_NORMAL({normal}, {apart}, {})", buffer.element)
                }
                _ => memory,
            })
        }
        Outcome::Lent { size: count } => cast(format!(
            "lgs_lend(&lgs_c, {}, lgs_size(&lgs_c, {}, 1, \"{what}\"), \"{what}\")",
            aligned(),
            size(count)
        )),
        Outcome::Record { key, count, nullable } => {
            let record = &plan.records[key];
            let (word, flags, kind) = (&record.word, flags(*nullable), &record.spelling);
            let end = match count {
                Count::Until(field) => {
                    format!("offsetof({kind}, {field}), sizeof((({kind} *)0)->{field})")
                }
                _ => "0, 0".to_owned(),
            };
            let until = matches!(count, Count::Until(_));
            let count = match count {
                Count::One => "1".to_owned(),
                Count::Of(count) => size(count),
                Count::Until(_) => "0".to_owned(),
            };
            if record.is_plain() && !until {
                let bytes = format!("lgs_size(&lgs_c, {count}, {}, \"{what}\")", record.size);
                let at = aligned();
                cast(match record.bools.is_empty() {
                    true => format!("lgs_memory(&lgs_c, {at}, {bytes}, {flags} | LGS_READS, \"{what}\")"),
                    false => {
                        let number = index(plan, key);
                        let apart =
                            format!("lgs_apart(&lgs_c, {at}, {number}, {bytes}, {flags}, \"{what}\")");
                        format!("LGS_NORMAL(lgs_bools_{word}, {apart}, {})", record.size.max(1))
                    }
                })
            } else {
                cast(format!("lgs_show_{word}(&lgs_c, {raw}, {count}, {end}, {flags}, \"{what}\")"))
            }
        }
        Outcome::Filled { key } => {
            cast(format!("lgs_first_{}(&lgs_c, {raw}, \"{what}\")", plan.records[key].word))
        }
        Outcome::Handle { number, nullable } => {
            cast(format!("lgs_handle_out(&lgs_c, {raw}, {number}, {}, \"{what}\")", flags(*nullable)))
        }
        Outcome::Handles { number, count } => {
            cast(format!("lgs_handles(&lgs_c, {raw}, {}, {number}, !lgs_here, \"{what}\")", size(count)))
        }
        Outcome::Data { by } if by.is_empty() => {
            cast(format!("lgs_data_out(&lgs_c, lgs_here, {raw}, 0, \"{what}\")"))
        }
        Outcome::Data { by } => {
            let by: String = by.iter().map(|function| format!("\"{function}\", ")).collect();
            cast(format!("lgs_data_back(&lgs_c, {raw}, (const char *const[]){{{by}0}}, \"{what}\")"))
        }
        Outcome::Callback { name } => {
            let number = 1 + plan.callbacks.keys().position(|known| known == name).unwrap_or(0);
            cast(format!("lgs_callback_out(&lgs_c, {raw}, {number}, \"{what}\")"))
        }
        Outcome::Within { object, count, element } => {
            let bytes = match count {
                Some(count) => format!("lgs_size(&lgs_c, {}, {element}, \"{what}\")", size(count)),
                None => element.to_string(),
            };
            cast(format!("lgs_within(&lgs_c, {raw}, &lgs_b_{object}, {bytes}, {element}, \"{what}\")"))
        }
        Outcome::Inside => cast(format!("lgs_place(&lgs_c, {raw}, \"{what}\")")),
        Outcome::JumpBuffer { handle } => {
            cast(format!("lgs_jump_buffer(&lgs_c, {raw}, lgs_v_{handle}, (void *)lgs_result, \"{what}\")"))
        }
        // Trampolines with one of these call nothing.
        Outcome::Jump => raw.to_owned(),
    }
}

/// The same where sizes follow it: a copy that nothing else is copied over.
pub fn steady(
    value: &str,
    raw: &str,
    outcome: &Outcome,
    what: &str,
    stays: &str,
    size: &dyn Fn(&Expression) -> String,
) -> String {
    let (bytes, flags) = match outcome {
        Outcome::String { .. } => ("0".to_owned(), "LGS_TEXT"),
        Outcome::Memory { buffer } => (bytes(buffer, what, size), "0"),
        Outcome::Record { .. } => ("0".to_owned(), "LGS_GIVEN"),
        _ => return value.to_owned(),
    };
    format!("lgs_steady(&lgs_c, (const void *){value}, {raw}, {bytes}, {flags}, {stays}, \"{what}\")")
}

/// Bytes of a buffer.
pub fn bytes(buffer: &Buffer, what: &str, size: &dyn Fn(&Expression) -> String) -> String {
    match &buffer.size {
        None => format!("{}", buffer.element),
        Some(count) => format!("lgs_size(&lgs_c, {}, {}, \"{what}\")", size(count), buffer.element),
    }
}

/// The flags of a buffer that goes in.
pub fn flags(buffer: &Buffer) -> String {
    let named = [(buffer.reads, "LGS_READS"), (buffer.writes, "LGS_WRITES")];
    let set: Vec<&str> = named.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    if set.is_empty() { "0".to_owned() } else { set.join(" | ") }
}

/// The parameters of a stub, before or after the call.
struct Parameters<'a> {
    stub: &'a Stub<'a>,
    after: bool,
}

impl Scope for Parameters<'_> {
    fn name(&self, name: &str) -> String {
        name.to_owned()
    }

    fn pointer(&self, name: &str) -> String {
        name.to_owned()
    }

    fn deref(&self, name: &str) -> String {
        let written = self.after && self.stub.is_written(name);
        if written { format!("lgs_s_{name}") } else { format!("{name} ? *{name} : 0") }
    }

    fn field(&self, name: &str, field: &str) -> String {
        format!("{name} ? {name}->{field} : 0")
    }

    fn handle(&self, name: &str) -> String {
        format!("lgs_v_{name}")
    }

    fn plan(&self) -> &Plan {
        self.stub.plan
    }
}

struct Stub<'a> {
    function: &'a FunctionPlan,
    plan: &'a Plan,
}

impl Stub<'_> {
    /// An expression before the call: over what the program gave.
    fn before(&self, expression: &Expression) -> String {
        emit(expression, &Parameters { stub: self, after: false })
    }

    /// An expression after the call: over what the library gave, where it did.
    fn after(&self, expression: &Expression) -> String {
        emit(expression, &Parameters { stub: self, after: true })
    }

    /// True if nothing but numbers and handles crosses, and nothing is to be done before or after the call.
    fn is_plain(&self) -> bool {
        let FunctionPlan { name, prototype, parameters, result, .. } = self.function;
        let plain = |passing: &Passing| {
            matches!(
                passing,
                Passing::Value | Passing::Ignore | Passing::Handle { release: false, data: false, .. }
            )
        };
        let FunctionPlan { errno, at_most, format, formatted, shown, jumps, .. } = self.function;
        let more = *errno || at_most.is_some() || format.is_some() || formatted.is_some() || shown.is_some();
        let told = self.plan.told.iter().any(|(teller, _)| teller == name)
            || self.plan.asked(self.function).is_some();
        let bools = match &prototype.result.shape {
            Shape::Record(key) => self.plan.records.get(key).is_some_and(|record| !record.bools.is_empty()),
            _ => false,
        };
        matches!(result, Outcome::Void | Outcome::Value)
            && !bools
            && parameters.iter().all(plain)
            && !(more || told || jumps.is_some() || prototype.noreturn || prototype.variadic)
    }

    /// It ends the life of a handle.
    fn releases(&self) -> bool {
        self.function.parameters.iter().any(|passing| match passing {
            Passing::Handle { release, .. } => *release,
            Passing::Pointer { before: Some(before), .. } => {
                matches!(**before, Passing::Handle { release: true, .. })
            }
            _ => false,
        })
    }

    /// The function's head, under a name.
    fn declared(&self, name: &str) -> String {
        let prototype = &self.function.prototype;
        declare(&prototype.result.spelling, &format!("({name})({})", parameters(prototype)))
    }

    /// The result of a call that fails; nothing if there is none.
    fn failure(&self) -> Option<String> {
        let FunctionPlan { prototype, error, .. } = self.function;
        let spelling = &prototype.result.spelling;
        // A brace is an initialiser, anything else an expression of some integer type.
        error.as_ref().map(|error| match (error.starts_with('{'), &prototype.result.shape) {
            (true, _) => format!("({spelling}){error}"),
            // (Nothing is cast to a structure.)
            (false, Shape::Record(_)) => format!("({error})"),
            _ => format!("({spelling})({error})"),
        })
    }

    /// The variable of the result.
    fn result(&self) -> String {
        declare(&mutable(&self.function.prototype.result.spelling), "lgs_result")
    }

    /// A plain function, as most calls of it go: with handles that are good, into a domain that is there. All others go the long way.
    fn quick(&self, number: usize, target: &str) -> String {
        let FunctionPlan { name, prototype, parameters, result, .. } = self.function;
        let mut conditions = vec!["lgs_is_ready()".to_owned()];
        let (mut handles, mut arguments) = (String::new(), Vec::new());
        for (parameter, passing) in prototype.parameters.iter().zip(parameters) {
            let name = &parameter.name;
            arguments.push(match passing {
                Passing::Handle { number, .. } => {
                    let _ = writeln!(handles, "    uint64_t lgs_v_{name};");
                    conditions.push(format!("lgs_known(&lgs_v_{name}, {name}, {number})"));
                    format!("lgs_v_{name}")
                }
                Passing::Ignore => "0".to_owned(),
                _ => name.clone(),
            });
        }
        let follow = match (self.plan.follows_calls(), self.handles().first()) {
            (false, _) => String::new(),
            (true, Some(handle)) => {
                format!("    lgs_calls_in(&(struct lgs_call){{.handle = lgs_v_{handle}}});\n")
            }
            (true, None) => "    lgs_calls_in(&(struct lgs_call){.handle = 0});\n".to_owned(),
        };
        let mut call = format!("{target}({})", arguments.join(", "));
        let all: Vec<&str> = prototype.parameters.iter().map(|parameter| &*parameter.name).collect();
        let long = format!("lgs_long_{name}({})", all.join(", "));
        let (long, done) = match result {
            Outcome::Void => (format!("{{\n        {long};\n        return;\n    }}"), ""),
            _ => {
                call = format!("{} = {call}", self.result());
                (format!("return {long};"), "    return lgs_result;\n")
            }
        };
        let failure = self.failure().map_or(String::new(), |value| format!("lgs_result = {value};"));
        format!(
            "\n{}\n{{\n{handles}    if (__builtin_expect(!({}), 0))\n        {long}\n{follow}    {call};\n    if (__builtin_expect(lg_failed(), 0) && lgs_lost({number})) {{\n        {}\n    }}\n{done}}}\n",
            self.declared(name),
            conditions.join(" && "),
            failure,
        )
    }

    /// The parameter with the function by which the library jumps.
    fn jump_function(&self) -> Option<&str> {
        let mut parameters = self.function.prototype.parameters.iter().zip(&self.function.parameters);
        let jumps = |passing: &Passing| match passing {
            Passing::Callback { name } => self.plan.callbacks[name].parameters.contains(&Outcome::Jump),
            _ => false,
        };
        parameters.find(|(_, passing)| jumps(passing)).map(|(parameter, _)| parameter.name.as_str())
    }

    /// What `parameter` is set to is a handle that nobody else may be given.
    fn claims(&self, parameter: &Parameter, before: Option<&Passing>, after: &Outcome) -> bool {
        let carries = |number: usize| self.plan.follows_handles() && self.plan.carries(number);
        let made = !self.function.is_borrowed(&parameter.name) && before.is_none();
        matches!(after, Outcome::Handle { number, .. } if made && carries(*number))
    }

    /// Parameters, and `result`, of which that is true.
    fn claimed(&self) -> Vec<&str> {
        let FunctionPlan { prototype, parameters, result, borrowed, .. } = self.function;
        let set = prototype.parameters.iter().zip(parameters).filter(|(parameter, passing)| match passing {
            Passing::Pointer { before, after } => self.claims(parameter, before.as_deref(), after),
            _ => false,
        });
        let mut names: Vec<&str> = set.map(|(parameter, _)| parameter.name.as_str()).collect();
        if let Outcome::Handle { number, .. } = result
            && !borrowed
            && self.plan.follows_handles()
            && self.plan.carries(*number)
        {
            names.push("result");
        }
        names
    }

    /// Names of the parameters that are handles, or lead to one that goes in.
    fn handles(&self) -> Vec<&str> {
        let parameters = self.function.prototype.parameters.iter().zip(&self.function.parameters);
        let handles = parameters.filter(|(_, passing)| passing.is_handle());
        handles.map(|(parameter, _)| parameter.name.as_str()).collect()
    }

    fn is_written(&self, name: &str) -> bool {
        let parameters = self.function.prototype.parameters.iter().zip(&self.function.parameters);
        parameters
            .filter(|(parameter, _)| parameter.name == *name)
            .any(|(_, passing)| matches!(passing, Passing::Scalar(buffer) if buffer.writes))
    }

    fn parameter(&self, body: &mut Body, parameter: &Parameter, passing: &Passing) {
        let name = &parameter.name;
        let mut argument = format!("lgs_b_{name}.inside");
        match passing {
            Passing::Value => argument = name.clone(),
            Passing::Ignore => argument = "0".to_owned(),
            Passing::Null => {
                let _ = writeln!(
                    body.before,
                    "    if ({name})\n        lgs_fail(&lgs_c, LG_STUB_NULL, \"{name}\", \"it must be null\");"
                );
                argument = "0".to_owned();
            }
            Passing::String => {
                let _ = writeln!(body.first, "    lgs_private(&lgs_c, {name}, 1, \"{name}\");");
                // As a block, for pointers into it.
                let _ = writeln!(
                    body.before,
                    "    struct lgs_block lgs_b_{name} = lgs_block(&lgs_c, {name}, {name} ? strlen({name}) + 1 : 1, LGS_READS);"
                );
            }
            Passing::Buffer(buffer) => self.buffer(body, parameter, buffer),
            Passing::Scalar(buffer) => self.scalar(body, parameter, buffer),
            Passing::Record { key, buffer, .. } if self.plan.records[key].is_plain() && !is_kept(passing) => {
                self.buffer(body, parameter, buffer);
            }
            Passing::Record { key, buffer, kept, release } => {
                self.record(body, parameter, key, buffer, *kept, *release);
            }
            Passing::Handle { number, release, data } => {
                let _ = writeln!(
                    body.first,
                    "    uint64_t lgs_v_{name} = lgs_handle(&lgs_c, {name}, {number}, \"{name}\");"
                );
                if *data {
                    let condition = self.success();
                    let _ = writeln!(body.out, "    {condition}lgs_itself(lgs_v_{name});");
                }
                if *release {
                    let _ =
                        writeln!(body.before, "    if (lgs_v_{name})\n        lgs_handle_ending({name});");
                    let condition = self.success();
                    let _ = writeln!(body.out, "    {condition}lgs_handle_dead({name});");
                    // The program is done with it, whatever the library says or does.
                    let lives = if condition.is_empty() { "" } else { " || lgs_result != 0" };
                    let _ = writeln!(
                        body.finally,
                        "    if (lgs_c.failed{lives})\n        lgs_handle_ends(&lgs_c, {name}, lgs_v_{name});"
                    );
                }
                argument = format!("lgs_v_{name}");
            }
            Passing::Rows { count, each, strings } => {
                let bytes = if *strings { "-1".to_owned() } else { bytes(each, name, &|e| self.before(e)) };
                let _ = writeln!(
                    body.before,
                    "    struct lgs_rows lgs_r_{name} = lgs_rows(&lgs_c, (const void *const *){name}, {}, {bytes}, {}, \"{name}\");",
                    self.before(count),
                    flags(each)
                );
                if each.writes {
                    let _ = writeln!(body.out, "    lgs_rows_back(&lgs_r_{name});");
                }
                argument = format!("lgs_r_{name}.inside");
            }
            Passing::Stream { kept } => {
                let _ = writeln!(
                    body.before,
                    "    uint64_t lgs_v_{name} = lgs_stream(&lgs_c, {name}, {kept}, \"{name}\");"
                );
                argument = format!("lgs_v_{name}");
            }
            Passing::Inside { release } => {
                argument = format!("lgs_inside(&lgs_c, {name}, \"{name}\")");
                let _ = writeln!(body.before, "    uint64_t lgs_v_{name} = {argument};");
                argument = format!("lgs_v_{name}");
                if let Some(size) = &parameter.notes.size {
                    let size = self.before(size);
                    let _ = writeln!(
                        body.before,
                        "    lgs_inside_back(&lgs_c, lgs_v_{name}, {name}, lgs_size(&lgs_c, {size}, 1, \"{name}\"), \"{name}\");"
                    );
                }
                // The program does not use it again, whatever the library says of it.
                if self.plan.freers.contains(&self.function.name) {
                    let _ = writeln!(body.finally, "    lgs_piece_end({name});");
                } else if *release {
                    // (A pointer that is null says that it has failed.)
                    let gives = matches!(self.function.prototype.result.shape, Shape::Pointer(_));
                    let condition = if gives { "if (lg_result)\n        " } else { self.success() };
                    let _ = writeln!(body.out, "    {condition}lgs_piece_end({name});");
                }
            }
            Passing::Pointer { before, after } => {
                self.pointer(body, parameter, before.as_deref(), after);
            }
            Passing::Callback { name: kind } => {
                let number = 1 + self.plan.callbacks.keys().position(|known| known == kind).unwrap_or(0);
                let bound = self.function.parameters.iter().any(|p| matches!(p, Passing::Data { .. }));
                let _ = writeln!(
                    body.before,
                    "    uint64_t lgs_v_{name} = lgs_callback(&lgs_c, (lg_code){name}, {number}, {bound}, \"{name}\");"
                );
                argument = format!("lgs_v_{name}");
            }
            Passing::Data { shown, kept, for_call } => {
                let long = how_long(*kept, *for_call);
                let callbacks = self.callbacks_of(name);
                let with = with_data("", &callbacks);
                let _ = writeln!(
                    body.before,
                    "    uint64_t lgs_v_{name} = lgs_data(&lgs_c, {name}, {with}, {long}, \"{name}\");"
                );
                // (Null is every function's that it comes with.)
                for other in callbacks.iter().skip(1) {
                    let other = with_data("", &[other]);
                    let _ = writeln!(
                        body.before,
                        "    if (!{name})\n        lgs_data(&lgs_c, 0, {other}, {long}, \"{name}\");"
                    );
                }
                if let Some(handle) = shown {
                    let _ =
                        writeln!(body.out, "    if ({handle})\n        *(const void **){handle} = {name};");
                }
                argument = format!("lgs_v_{name}");
            }
            Passing::Dispose { object, copy } => {
                let _ = writeln!(
                    body.finally,
                    "    if ({name} && (intptr_t){name} != (intptr_t)({copy}))\n        {name}((void *){object});"
                );
                argument = format!("(uint64_t)({copy})");
            }
        }
        body.arguments.push(argument);
    }

    /// A condition: by its own word the call has failed. Nothing where no result says so. A function whose failure is negative says so by any such number, one whose
    /// failure is a code above 0 by all but 0.
    fn failed(&self) -> Option<String> {
        let FunctionPlan { prototype, result, .. } = self.function;
        match (&prototype.result.shape, result) {
            (Shape::Pointer(_) | Shape::Function(_), _) => Some("lg_result == 0".to_owned()),
            (Shape::Integer { signed: true, .. }, Outcome::Value) => self.failure().map(|failure| {
                let (failure, result) = (format!("(long long)({failure})"), "(long long)lg_result");
                format!("({failure} < 0 ? {result} < 0 : {failure} > 0 ? {result} != 0 : {result} == 0)")
            }),
            _ => refuses(self.function),
        }
    }

    /// `if (…) `: the call succeeded by its own word.
    fn success(&self) -> &'static str {
        match self.function.result {
            Outcome::Value if matches!(self.function.prototype.result.shape, Shape::Integer { .. }) => {
                "if (lg_result == 0)\n        "
            }
            _ => "",
        }
    }

    /// Names of the callbacks that get the data of this parameter.
    fn callbacks_of(&self, name: &str) -> Vec<&str> {
        let parameters = &self.function.prototype.parameters;
        let pairs = self.plan.pairs(self.function.parameters.iter()).unwrap_or_default();
        let pair = pairs.into_iter().find(|(place, _)| parameters[*place].name == *name);
        pair.map_or(Vec::new(), |(_, of)| of.iter().map(|place| parameters[*place].name.as_str()).collect())
    }

    fn buffer(&self, body: &mut Body, parameter: &Parameter, buffer: &Buffer) {
        let name = &parameter.name;
        let bytes = bytes(buffer, name, &|e| self.before(e));
        let text = parameter.notes.string && buffer.writes && buffer.size.is_some();
        let more = match (text, &buffer.bools) {
            (true, _) => " | LGS_TEXT",
            (false, None) => " | LGS_SHAREABLE",
            (false, Some(_)) => "",
        };
        // (One that the library may leave as it was, as it is: of several it is said how many are written.)
        let left = buffer.size.is_none() && buffer.writes;
        let flags = format!("{}{more}", flags(&Buffer { reads: buffer.reads || left, ..buffer.clone() }));
        // Sizes speak of what is in it.
        let siblings = &self.function.prototype.parameters;
        let sizes = siblings.iter().flat_map(|p| [&p.notes.size, &p.notes.written, &p.notes.rows]).flatten();
        if sizes.into_iter().any(|size| size.names().contains(&name.as_str())) {
            let _ = writeln!(body.first, "    lgs_private(&lgs_c, {name}, 1, \"{name}\");");
        }
        let _ = writeln!(
            body.before,
            "    struct lgs_block lgs_b_{name} = lgs_block(&lgs_c, {name}, {bytes}, {flags});"
        );
        let grown = buffer.size.as_ref().filter(|size| size.names().iter().any(|n| self.is_written(n)));
        if !buffer.writes {
            // What the library says that it has read of it: the program goes on behind that.
            if let Some(count) = grown {
                let _ = writeln!(
                    body.check,
                    "    if ({name})\n        (void)lgs_length(&lgs_c, {}, {}, lgs_b_{name}.size, \"{name}\");",
                    resulting(count, self.after(count)),
                    buffer.element
                );
            }
            return;
        }
        if text {
            let most = match &buffer.written {
                Some(count) => format!(
                    "lgs_length(&lgs_c, {}, 1, lgs_b_{name}.size, \"{name}\")",
                    resulting(count, self.after(count))
                ),
                None => format!("lgs_b_{name}.size"),
            };
            // (Where the call itself says that it has failed, the program's own may be there still, and need not end.)
            let own = match (buffer.reads, self.failed()) {
                (true, Some(failed)) => failed,
                _ => "false".to_owned(),
            };
            let _ = writeln!(
                body.check,
                "    size_t lgs_n_{name} = {most};\n    \
                 const char *lgs_t_{name} = lgs_text_back(&lgs_c, &lgs_b_{name}, &lgs_n_{name}, {own}, \"{name}\");"
            );
            let _ = writeln!(
                body.out,
                "    if (lgs_t_{name})\n        memcpy({name}, lgs_t_{name}, lgs_n_{name});"
            );
            return;
        }
        let length = match buffer.written.as_ref().or(grown) {
            Some(count) => format!(
                "lgs_length(&lgs_c, {}, {}, lgs_b_{name}.size, \"{name}\")",
                resulting(count, self.after(count)),
                buffer.element
            ),
            None => format!("lgs_b_{name}.size"),
        };
        let _ = writeln!(body.check, "    size_t lgs_n_{name} = {length};");
        let _ = writeln!(body.out, "    lgs_back(&lgs_b_{name}, lgs_n_{name});");
        if let Some(normal) = &buffer.bools {
            let _ =
                writeln!(body.out, "    (void){normal}((void *){name}, lgs_n_{name} / {});", buffer.element);
        }
    }

    fn scalar(&self, body: &mut Body, parameter: &Parameter, buffer: &Buffer) {
        let name = &parameter.name;
        let kind =
            parameter.kind.pointee().map_or("char", |to| to.spelling.as_str()).trim_start_matches("const ");
        if buffer.reads {
            let _ = writeln!(body.first, "    lgs_private(&lgs_c, {name}, sizeof({kind}), \"{name}\");");
        }
        // What the library leaves is as the program has it; but of what the stub or other calls conclude something from, it is 0.
        let FunctionPlan { counted, name: function, .. } = self.function;
        let told = self.plan.told.iter().any(|(teller, what)| teller == function && what == name);
        let concluded = counted.contains(name) || parameter.notes.at_most.is_some() || told;
        let zero = concluded && !buffer.reads;
        let _ = writeln!(
            body.before,
            "    struct lgs_block lgs_b_{name} = lgs_block(&lgs_c, {name}, sizeof({kind}), {});",
            if zero { "LGS_ZEROS" } else { "LGS_READS" }
        );
        if buffer.writes {
            // Before all other checks, once.
            let mut load = format!(
                "    {kind} lgs_s_{name} = 0;\n    if (lgs_b_{name}.here)\n        lgs_fetch(&lgs_s_{name}, lgs_b_{name}.here, sizeof lgs_s_{name});\n"
            );
            if buffer.bools.is_some() {
                let _ = writeln!(load, "    lgs_bools(&lgs_s_{name}, 1);");
            }
            body.check.insert_str(0, &load);
            if let Some(most) = &parameter.notes.at_most {
                let most = self.after(most);
                let _ = writeln!(
                    body.check,
                    "    if ((lgs_wide)lgs_s_{name} < 0 || (lgs_wide)lgs_s_{name} > {most})\n        \
                     lgs_fail(&lgs_c, LG_STUB_LENGTH, \"{name}\", \"the library says more than there can be, or less than nothing\");"
                );
            }
            let _ = writeln!(body.out, "    if ({name})\n        *{name} = lgs_s_{name};");
        }
    }

    fn pointer(&self, body: &mut Body, parameter: &Parameter, before: Option<&Passing>, after: &Outcome) {
        let name = &parameter.name;
        let kind = parameter.kind.pointee().map_or("void *", |to| to.spelling.as_str());
        let within = matches!(after, Outcome::Within { .. });
        let unset = if before.is_none() { "LGS_UNSET" } else { "0" };
        let _ = writeln!(
            body.before,
            "    struct lgs_block lgs_b_{name} = lgs_variable(&lgs_c, {name}, {unset});"
        );
        if let Some(Passing::Handle { number, release, .. }) = before {
            let _ = writeln!(
                body.first,
                "    uint64_t lgs_v_{name} = {name} ? lgs_handle(&lgs_c, *{name}, {number}, \"{name}\") : 0;"
            );
            let _ = writeln!(
                body.before,
                "    if (lgs_b_{name}.here)\n        lgs_put(lgs_b_{name}.here, &lgs_v_{name}, 8);"
            );
            if *release {
                let _ = writeln!(body.before, "    if (lgs_v_{name})\n        lgs_handle_ending(*{name});");
                let _ = writeln!(
                    body.finally,
                    "    if (lgs_c.failed)\n        lgs_handle_ends(&lgs_c, {name} ? *{name} : 0, lgs_v_{name});"
                );
                let _ = writeln!(body.out, "    if ({name} && *{name})\n        lgs_handle_dead(*{name});");
            }
        }
        let _ = writeln!(body.check, "    uint64_t lgs_u_{name} = lgs_pointer(&lgs_b_{name});");
        // What the library does not set is null, or, where the call itself says that it has failed, as the program has it. (Else that would be followed
        // by a program which takes it for the library's.)
        let mut stays = String::new();
        if before.is_none() {
            if let Some(failed) = self.failed() {
                let _ = writeln!(
                    body.check,
                    "    bool lgs_left_{name} = lgs_u_{name} == LGS_UNSET && ({failed});"
                );
                stays = format!(" && !lgs_left_{name}");
            }
            let _ = writeln!(body.check, "    if (lgs_u_{name} == LGS_UNSET)\n        lgs_u_{name} = 0;");
        }
        let mut value = outcome(&format!("lgs_u_{name}"), kind, after, name, self.plan, &|e| self.after(e));
        let claims = self.claims(parameter, before, after);
        if matches!(after, Outcome::Handle { .. }) && !self.function.is_borrowed(name) {
            value = made(&value, name, claims);
        }
        if within {
            let nullable = if parameter.notes.nullable { "LGS_NULLABLE" } else { "0" };
            let set = format!("lgs_is_set(&lgs_c, {name}, lgs_u_{name}, {nullable}, \"{name}\")");
            let left = if stays.is_empty() { String::new() } else { format!("!lgs_left_{name} && ") };
            value = format!("{left}{set} ? {value} : 0");
        }
        let _ = writeln!(body.check, "    {} = {value};", declare(&mutable(kind), &format!("lgs_p_{name}")));
        let freed = self.function.is_to_end(name);
        if freed {
            body.check += &to_heap(name, &format!("lgs_p_{name}"), &format!("lgs_u_{name}"), after);
        }
        let value = if freed { format!("lgs_take(&lgs_h_{name})") } else { format!("lgs_p_{name}") };
        let _ = writeln!(body.out, "    if ({name}{stays})\n        *{name} = {value};");
        if matches!(after, Outcome::Handle { .. })
            && self.plan.follows_handles()
            && !self.function.is_borrowed(name)
        {
            body.made.push((format!("lgs_p_{name}"), claims.then(|| name.clone())));
        }
    }

    fn record(
        &self,
        body: &mut Body,
        parameter: &Parameter,
        key: &str,
        buffer: &Buffer,
        kept: bool,
        release: bool,
    ) {
        let name = &parameter.name;
        let record = &self.plan.records[key];
        let number = index(self.plan, key);
        let (word, spelling) = (&record.word, &record.spelling);
        let _ = writeln!(body.first, "    lgs_private(&lgs_c, {name}, sizeof({spelling}), \"{name}\");");
        if kept {
            let _ = writeln!(
                body.before,
                "    struct lgs_block lgs_b_{name} = lgs_keep(&lgs_c, (void *){name}, {number}, sizeof({spelling}), {}, \"{name}\");",
                self.plan.ends_with_handle(key)
            );
        } else if let Some(count) = &buffer.size {
            let _ = writeln!(
                body.before,
                "    struct lgs_block lgs_b_{name} = lgs_into_all_{word}(&lgs_c, {name}, {}, \"{name}\");",
                self.before(count)
            );
            return;
        } else {
            let _ = writeln!(
                body.before,
                "    struct lgs_block lgs_b_{name} = lgs_fresh(&lgs_c, (void *){name}, sizeof({spelling}));"
            );
        }
        let _ = writeln!(body.before, "    struct lgs_with_{word} lgs_w_{name} = {{0}};");
        if !buffer.reads {
            let _ = writeln!(
                body.before,
                "    if (lgs_b_{name}.here)\n        lgs_numbers_{word}({name}, lgs_b_{name}.here, {});",
                !kept
            );
        } else {
            let _ = writeln!(
                body.before,
                "    if (lgs_b_{name}.here)\n        lgs_into_{word}(&lgs_c, {name}, lgs_b_{name}.here, &lgs_w_{name});"
            );
        }
        if buffer.writes {
            let passed = match (buffer.reads, self.failed()) {
                (true, _) => "LGS_PASSED".to_owned(),
                (false, Some(failed)) => format!("{failed} ? LGS_FAILED : LGS_LEFT"),
                (false, None) => "LGS_LEFT".to_owned(),
            };
            let normal = match record.bools.is_empty() {
                true => String::new(),
                false => format!("        lgs_bools_{word}(&lgs_r_{name}, 1);\n"),
            };
            let _ = writeln!(
                body.check,
                "    {spelling} lgs_r_{name};\n    if (lgs_b_{name}.here) {{\n        lgs_fetch(&lgs_r_{name}, lgs_b_{name}.here, sizeof lgs_r_{name});\n{normal}        lgs_check_{word}(&lgs_c, &lgs_r_{name}, {name}, &lgs_w_{name}, {passed});\n    }}"
            );
            let _ = writeln!(
                body.out,
                "    if (lgs_b_{name}.here) {{\n        lgs_back_{word}(&lgs_w_{name});\n        *{name} = lgs_r_{name};\n    }}"
            );
        }
        if kept && release {
            let _ = writeln!(body.finally, "    lgs_release({name}, {number});");
        }
    }
}

fn is_kept(passing: &Passing) -> bool {
    matches!(passing, Passing::Record { kept: true, .. })
}

/// The number that an expression comes to after the call, where a negative result of the function's says that it has failed.
fn resulting(count: &Expression, number: String) -> String {
    match count.names().contains(&"lg_result") {
        true => format!("lgs_resulting({number})"),
        false => number,
    }
}
