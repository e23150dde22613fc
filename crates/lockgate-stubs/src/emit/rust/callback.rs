//! Closures: a type for each type of callback, and the functions by which the library knows them.
use super::{Use, arithmetic, element, sys, type_name};
use crate::emit::surface::Surface;
use crate::expression::Expression;
use crate::header::model::{CType, Shape};
use crate::plan::{CallbackPlan, Outcome};
use std::fmt::Write as _;

/// What a parameter is to the closure.
struct Seen {
    /// Its type in the closure's signature.
    kind: String,
    /// Statements before the closure runs.
    before: String,
    /// What it is given.
    value: String,
    /// Statements after it.
    after: String,
}

/// All that belongs to one type of callback.
pub fn closure(callback: &CallbackPlan, surface: &Surface<'_>) -> String {
    let CallbackPlan { prototype, parameters, .. } = callback;
    let own = &surface.closure(&callback.name);
    let name = type_name(own);
    let raw = |number: usize| format!("p{number}");
    let scope = |wanted: &str, _: Use| match prototype.parameters.iter().position(|p| p.name == wanted) {
        Some(number) => format!("({} as i128)", raw(number)),
        None => format!("({} as i128)", super::word(wanted)),
    };
    let planned = prototype.parameters.iter().zip(parameters).enumerate();
    let seen: Vec<Seen> = planned
        .filter_map(|(number, (parameter, outcome))| {
            see(&raw(number), &parameter.kind, outcome, &parameter.name, surface, &|e| arithmetic(e, &scope))
        })
        .collect();
    let result = match prototype.result.shape {
        Shape::Void => "()".to_owned(),
        _ => sys(&prototype.result, surface),
    };
    let enumeration = surface.enumeration(&prototype.result).map(type_name);
    let closure_result = enumeration.as_ref().unwrap_or(&result);
    let arrow = if closure_result == "()" { String::new() } else { format!(" -> {closure_result}") };
    let kinds: Vec<&str> = seen.iter().map(|seen| seen.kind.as_str()).collect();
    let signature = format!("FnMut({}){arrow} + Send", kinds.join(", "));
    let upper = own.to_uppercase();
    let declared: Vec<String> = prototype
        .parameters
        .iter()
        .enumerate()
        .map(|(number, parameter)| format!("{}: {}", raw(number), sys(&parameter.kind, surface)))
        .collect();
    let declared = declared.join(", ");
    let passed: String = (0..prototype.parameters.len()).map(|number| format!(", {}", raw(number))).collect();
    let types: Vec<String> = prototype.parameters.iter().map(|p| sys(&p.kind, surface)).collect();
    let data = parameters.iter().position(|outcome| matches!(outcome, Outcome::Data { .. }));
    let data = data.map_or("null_mut()".to_owned(), raw);
    let called = parameters_text(callback);
    let mut text = format!(
        "\n/// `{own}`: a function of the program's that the library calls ({called}). The library can call it until this is dropped;\n\
         /// a later call ends the call of the library's that it came from.\npub struct {name}(support::Slot<dyn {signature}>);\n\n\
         static LG_SLOTS_{upper}: support::Slots<dyn {signature}> = support::Slots::new();\n\
         static LG_CODE_{upper}: [unsafe extern \"C\" fn({}) -> {result}; support::SLOTS] = support::table!(lg_call_{own});\n\n\
         impl {name} {{\n    /// At most 256 of a type can exist at a time. A panic ends the library's call and goes on in the program's.\n    \
         pub fn new(function: impl {signature} + 'static) -> Result<{name}, Error> {{\n        \
         support::Slot::new(&LG_SLOTS_{upper}, Box::new(function)).map({name})\n    }}\n\n    \
         fn pointer(&self, with: support::With) -> *mut c_void {{\n        LG_CODE_{upper}[self.0.number(with)] as *mut c_void\n    }}\n}}\n\n\
         unsafe extern \"C\" fn lg_call_{own}<const N: usize>({declared}) -> {result} {{\n    lg_run_{own}(N{passed})\n}}\n\n\
         fn lg_run_{own}(number: usize, {declared}) -> {result} {{\n    \
         support::enter(&LG_SLOTS_{upper}, number, {data}, |function| {{\n",
        types.join(", "),
    );
    for seen in &seen {
        text += &seen.before;
    }
    let values: Vec<&str> = seen.iter().map(|seen| seen.value.as_str()).collect();
    let _ = writeln!(text, "        let result = function({});", values.join(", "));
    for seen in &seen {
        text += &seen.after;
    }
    let cast = if enumeration.is_some() { " as _" } else { "" };
    let _ = write!(text, "        Ok(result{cast})\n    }})\n}}\n");
    text
}

/// Names of the parameters that the closure has.
fn parameters_text(callback: &CallbackPlan) -> String {
    let parameters = callback.prototype.parameters.iter().zip(&callback.parameters);
    let names = parameters.filter(|(_, outcome)| !matches!(outcome, Outcome::Data { .. }));
    let names: Vec<String> = names.map(|(parameter, _)| format!("`{}`", parameter.name)).collect();
    if names.is_empty() { "without parameters".to_owned() } else { names.join(", ") }
}

fn see(
    raw: &str,
    kind: &CType,
    outcome: &Outcome,
    what: &str,
    surface: &Surface<'_>,
    size: &dyn Fn(&Expression) -> String,
) -> Option<Seen> {
    let simple =
        |kind: String, value: String| Seen { kind, before: String::new(), value, after: String::new() };
    let local = format!("lg_{raw}");
    let count = |count: &Expression| {
        format!(
            "usize::try_from((|| -> Option<i128> {{ Some({}) }})().unwrap_or(-1)).map_err(|_| Error::new(ErrorKind::Size, \"{what}\", \"its size overflows\"))?",
            size(count)
        )
    };
    let seen = match outcome {
        Outcome::Data { .. } => return None,
        Outcome::Value => match surface.enumeration(kind) {
            Some(key) => {
                let name = type_name(key);
                let before = format!("        let {local} = {name}::of({raw}.into(), \"{what}\")?;\n");
                Seen { before, ..simple(name, local) }
            }
            None => simple(sys(kind, surface), raw.to_owned()),
        },
        Outcome::String { nullable } => {
            let before = format!("        let {local} = support::text({raw}.cast());\n");
            if *nullable {
                Seen { before, ..simple("Option<&CStr>".to_owned(), format!("{local}.as_deref()")) }
            } else {
                Seen { before, ..simple("&CStr".to_owned(), format!("{local}.as_deref().unwrap_or(c\"\")")) }
            }
        }
        Outcome::Strings { count: given, holes, .. } => {
            // Until the first null pointer, or so many.
            let limit = given.as_ref().map_or("usize::MAX".to_owned(), count);
            let pointers = format!(
                "        let {local}_at: *const *const c_char = {raw}.cast();\n        let {local}_count = if {raw}.is_null() {{ 0 }} else {{ {limit} }};\n        \
                 // SAFETY: the client has made an array of so many, or with a null pointer at its end.\n        \
                 let {local}_all = (0..{local}_count).map(|number| support::text(unsafe {{ *{local}_at.add(number) }}));\n"
            );
            let (element, collect) = match (given.is_some(), holes) {
                (true, true) => (
                    "Option<Text>",
                    format!("        let {local}: Vec<Option<Text>> = {local}_all.collect();\n"),
                ),
                (true, false) => {
                    ("Text", format!("        let {local}: Vec<Text> = {local}_all.flatten().collect();\n"))
                }
                (false, _) => (
                    "Text",
                    format!(
                        "        let {local}: Vec<Text> = {local}_all.map_while(|text| text).collect();\n"
                    ),
                ),
            };
            Seen { before: pointers + &collect, ..simple(format!("&[{element}]"), format!("&{local}")) }
        }
        Outcome::Memory { buffer } => {
            let element = element(kind, surface);
            let many = buffer.size.as_ref().map_or("1_usize".to_owned(), count);
            let before = format!(
                "        let {local}_count = {many};\n        // SAFETY: the client has copied so many there.\n        \
                 let mut {local} = unsafe {{ support::values::<{element}>({raw}.cast(), {local}_count) }}.unwrap_or_default();\n"
            );
            if buffer.writes {
                let after = format!(
                    "        if !{raw}.is_null() {{\n            // SAFETY: they came from there.\n            \
                     unsafe {{ {raw}.cast::<{element}>().copy_from_nonoverlapping({local}.as_ptr(), {local}.len()) }};\n        }}\n"
                );
                Seen { after, before, ..simple(format!("&mut [{element}]"), format!("&mut {local}")) }
            } else {
                Seen { before, ..simple(format!("&[{element}]"), format!("&{local}")) }
            }
        }
        Outcome::Handle { number, nullable } => {
            let name = type_name(&surface.handle(*number));
            if *nullable {
                let before = format!("        let {local} = {name}::given({raw}, false);\n");
                Seen { before, ..simple(format!("Option<&{name}>"), format!("{local}.as_ref()")) }
            } else {
                let before = format!("        let {local} = {name} {{ raw: {raw}, owned: false }};\n");
                Seen { before, ..simple(format!("&{name}"), format!("&{local}")) }
            }
        }
        Outcome::Handles { number, count: many } => {
            let name = type_name(&surface.handle(*number));
            let before = format!(
                "        let {local}_at: *const *mut c_void = {raw}.cast();\n        let {local}_count = if {raw}.is_null() {{ 0 }} else {{ {} }};\n        \
                 // SAFETY: the client has made an array of so many.\n        \
                 let {local}: Vec<{name}> = (0..{local}_count).map(|number| {name} {{ raw: unsafe {{ *{local}_at.add(number) }}, owned: false }}).collect();\n",
                count(many)
            );
            Seen { before, ..simple(format!("&[{name}]"), format!("&{local}")) }
        }
        _ => simple("Option<Place>".to_owned(), format!("(!{raw}.is_null()).then_some(Place({raw}))")),
    };
    Some(seen)
}
