//! What crosses, parameter by parameter, and how that was decided: the plan in words.
use crate::annotation::Notes;
use crate::expression::Expression;
use crate::header::model::{CType, Header, Parameter, Shape};
use crate::plan::{Buffer, Count, FunctionPlan, Outcome, Passing, Plan};

/// A line for each function, parameter, result, callback and field of `plan`, which is that of `header`.
pub fn explain(header: &Header, plan: &Plan) -> String {
    let mut text = String::new();
    for function in &plan.functions {
        function_text(&mut text, header, plan, function);
    }
    for callback in plan.callbacks.values().chain(&plan.gates) {
        text += &format!("\n{}, which the library calls\n", callback.name);
        for (parameter, out) in callback.prototype.parameters.iter().zip(&callback.parameters) {
            let what = match out {
                Outcome::Untouched => "zero, whatever the library gives".to_owned(),
                out => outcome(plan, out),
            };
            line(
                &mut text,
                &parameter.name,
                &what,
                &why(header, parameter, siblings(&callback.prototype.parameters)),
            );
        }
        let result = match &callback.result {
            Passing::Ignore => continue,
            passing => self::passing(plan, passing),
        };
        line(&mut text, "result", &result, &by_type(&callback.prototype.result));
    }
    for record in plan.records.values().filter(|record| !record.is_plain()) {
        text += &format!("\n{}, field by field\n", record.spelling);
        let declared = header.records.get(&record.spelling).and_then(|record| record.fields.as_ref());
        for field in &record.fields {
            let what = match (&field.passing, &field.outcome) {
                (Passing::Value, _) => passing(plan, &field.passing),
                (into, out) => format!("in: {}; out: {}", passing(plan, into), outcome(plan, out)),
            };
            let said = declared.and_then(|fields| fields.iter().find(|own| own.name == field.name));
            let why = said.map_or_else(|| by_type(&field.kind), |own| why(header, own, false));
            line(&mut text, &field.name, &what, &why);
        }
    }
    for (name, reason) in &plan.omitted {
        text += &format!("\n{name}: no stub [LG_OMIT: {reason}]\n");
    }
    for refusal in &plan.refusals {
        text += &format!("\n{}: refused: {}; {}\n", refusal.declaration, refusal.reason, refusal.remedy);
    }
    text.trim_start().to_owned()
}

fn line(text: &mut String, name: &str, what: &str, why: &str) {
    *text += &format!("    {name}: {what} [{why}]\n");
}

fn function_text(text: &mut String, header: &Header, plan: &Plan, function: &FunctionPlan) {
    let FunctionPlan { name, prototype, result, error, .. } = function;
    *text += &format!("\n{name}\n");
    for (parameter, passing) in prototype.parameters.iter().zip(&function.parameters) {
        let beside = siblings(&prototype.parameters);
        line(text, &parameter.name, &self::passing(plan, passing), &why(header, parameter, beside));
    }
    let own = header.functions.named(name);
    let notes = own.map(|declared| declared.notes.clone()).unwrap_or_default();
    if *result != Outcome::Void {
        let parameter = Parameter::new("result", prototype.result.clone(), notes.clone());
        let what = match (&function.at_most, result) {
            (Some(most), Outcome::Value) => format!("a value, at most {most}"),
            _ => outcome(plan, result),
        };
        line(text, "result", &what, &why(header, &parameter, false));
    }
    if let Some(error) = error {
        let why = match notes.error {
            Some(_) => "LG_ERROR",
            None if header.errors.contains_key(&prototype.result.spelling)
                || prototype.result.names.iter().any(|name| header.errors.contains_key(name)) =>
            {
                "LG_ERRORS of its type"
            }
            None => "rule for its type",
        };
        line(text, "if it fails", &format!("returns {error}"), why);
    }
}

/// There is a callback among them.
fn siblings(parameters: &[Parameter]) -> bool {
    parameters.iter().any(|parameter| matches!(parameter.kind.shape, Shape::Function(_)))
}

/// The annotations that say so, or the rule.
fn why(header: &Header, parameter: &Parameter, beside_callback: bool) -> String {
    let mut parts = parameter.notes.said();
    let types = parameter.kind.names.iter().filter_map(|name| Some((name, header.types.get(name)?)));
    let of_types: Vec<(&String, &Notes)> = types.collect();
    for (name, notes) in of_types {
        let said = notes.said();
        if !said.is_empty() {
            parts.push(format!("{} of the type {name}", said.join(" ")));
        }
    }
    match (parts.is_empty(), &parameter.kind.shape) {
        (false, _) => parts.join(" "),
        (true, Shape::Pointer(to)) if to.shape == Shape::Void && beside_callback => {
            "rule: an untyped pointer beside a callback is the program's own data".to_owned()
        }
        _ => by_type(&parameter.kind),
    }
}

fn by_type(kind: &CType) -> String {
    let rule = match &kind.shape {
        Shape::Pointer(to) if to.names.iter().any(|name| name == "FILE") => "a FILE is a stream",
        Shape::Pointer(to) if to.is_character() && to.constant => {
            "const char * without a length beside it is a string"
        }
        Shape::Pointer(to) if to.shape == Shape::Void => "an untyped pointer is the program's own data",
        Shape::Pointer(_) => "a pointer to an incomplete structure is a handle",
        Shape::Function(_) => "a pointer to a function is a callback",
        Shape::Record(_) => "a structure without pointers is copied",
        _ if kind.is_bool() => "a bool is made 0 or 1",
        _ => "a number crosses as it is",
    };
    format!("rule: {rule}")
}

fn buffer(buffer: &Buffer) -> String {
    let way = match (buffer.reads, buffer.writes) {
        _ if buffer.shared => "in place, in an arena that the library has",
        (true, true) => "copied in and back",
        // (So that what the library leaves is as it was.)
        (false, true) if buffer.size.is_none() => "written, and copied in before",
        (false, true) => "room there, copied back",
        _ => "copied in",
    };
    let size = match &buffer.size {
        Some(size) if buffer.element == 1 => format!("{size} bytes"),
        Some(size) => format!("{size} elements of {} bytes", buffer.element),
        None => format!("{} bytes", buffer.element),
    };
    let written = buffer.written.as_ref().map_or(String::new(), |written| format!(", as far as {written}"));
    format!("{size}, {way}{written}")
}

fn handle(plan: &Plan, number: usize) -> String {
    let name = plan.handles.get(number.wrapping_sub(1)).map_or("", String::as_str);
    format!("a handle of type `{name}`")
}

fn passing(plan: &Plan, passing: &Passing) -> String {
    let with = |release: bool, text: String| if release { text + ", whose life ends" } else { text };
    match passing {
        Passing::Value => "a value".to_owned(),
        Passing::Null => "a null pointer: anything else is an error".to_owned(),
        Passing::Ignore => "zero, whatever the program gives".to_owned(),
        Passing::String { most: None } => "a string, copied in".to_owned(),
        Passing::String { most: Some(most) } => format!("a string of at most {most}, copied in"),
        Passing::Buffer(own) => format!("a buffer: {}", buffer(own)),
        Passing::Scalar(own) => format!("one value: {}", buffer(own)),
        Passing::Record { key, buffer: own, kept, release } => {
            let kept = if *kept { ", remembered by its address" } else { "" };
            with(*release, format!("{key}: {}{kept}", buffer(own)))
        }
        Passing::Cursor(own) => {
            format!("a pointer that the library moves on through a buffer: {}", buffer(own))
        }
        Passing::Rows { count, each, strings } => {
            let each = if *strings { "a string".to_owned() } else { buffer(each) };
            format!("{count} pointers, each to {each}")
        }
        Passing::Stream { kept: false } => "a stream, for this call".to_owned(),
        Passing::Stream { kept: true } => "a stream, which the library keeps for the handle".to_owned(),
        Passing::Handle { number, release, reset, data } => {
            let more = match (reset, data) {
                (true, _) => ", whose data the library forgets",
                (_, true) => ", which handlers get in place of data",
                _ => "",
            };
            with(*release, handle(plan, *number) + more)
        }
        Passing::Inside { .. } => "a place in the library's memory".to_owned(),
        Passing::Pointer { before, after } => {
            let before = before
                .as_ref()
                .map_or(String::new(), |before| format!("{}, replaced by ", self::passing(plan, before)));
            format!("a pointer of the program's that the library sets: {before}{}", outcome(plan, after))
        }
        Passing::Callback { name } => format!("a function of type {name}, by a pointer of the client's"),
        Passing::Data { kept, for_call, .. } => {
            let long = match (kept, for_call) {
                (true, _) => ", for good where there is no handle",
                (_, true) => ", for this call",
                _ => "",
            };
            format!("the program's own data: a number to the library{long}")
        }
        Passing::Dispose { object, .. } => format!("called by the client, with {object}, after the call"),
    }
}

fn outcome(plan: &Plan, outcome: &Outcome) -> String {
    let null = |nullable: bool| if nullable { ", or null" } else { ", never null" };
    match outcome {
        Outcome::Void => "nothing".to_owned(),
        Outcome::Value => "a value; any is possible".to_owned(),
        Outcome::String { nullable } => format!("a string, copied out{}", null(*nullable)),
        Outcome::Strings { count, nullable, .. } => {
            let count =
                count.as_ref().map_or("up to a null pointer".to_owned(), |count| format!("{count} of them"));
            format!("strings, copied out, {count}{}", null(*nullable))
        }
        Outcome::Memory { buffer: own } => {
            let back = if own.writes { ", and back when the program has written it" } else { "" };
            let size = own.size.as_ref().map_or("1".to_owned(), Expression::to_string);
            let nullable = null(own.nullable);
            format!("memory, copied out: {size} elements of {} bytes{back}{nullable}", own.element)
        }
        Outcome::Lent { size } => format!("{size} bytes that the program fills before the next call"),
        Outcome::Record { key, count, nullable } => {
            let count = match count {
                Count::One => "one".to_owned(),
                Count::Of(count) => count.to_string(),
                Count::Until(field) => format!("up to zero in {field}"),
            };
            format!("{key}, copied out and checked: {count}{}", null(*nullable))
        }
        Outcome::Filled { key } => format!("{key}, which the program fills"),
        Outcome::Handle { number, nullable } => format!("{}{}", handle(plan, *number), null(*nullable)),
        Outcome::Handles { number, count } => format!("{count} times {}", handle(plan, *number)),
        Outcome::Data { .. } => "the program's own data, as it was given".to_owned(),
        Outcome::Callback { name } => format!("a function of type {name} that the program gave"),
        Outcome::Within { object, count, element } => {
            let count = count.as_ref().map_or("1".to_owned(), Expression::to_string);
            format!("a place within {object}, with {count} elements of {element} bytes behind it")
        }
        Outcome::Inside => "a place in the library's memory: the program finds nothing there".to_owned(),
        Outcome::JumpBuffer { handle } => format!("the program's jmp_buf of {handle}"),
        Outcome::Jump => "where the client jumps to, when the call has ended".to_owned(),
        Outcome::Untouched => "what the program has there".to_owned(),
    }
}
