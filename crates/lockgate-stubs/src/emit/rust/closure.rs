//! Closures: a type for each type of callback, and the functions by which the library knows them.
use super::function::made;
use super::{element, size, sys, type_name, word};
use crate::emit::binding::surface::Surface;
use crate::emit::binding::{Closure, Seen, Shown};
use crate::emit::template::{row, template};
use crate::expression::Expression;
use crate::header::model::Shape;

/// What a parameter is to the closure.
struct Written {
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
pub fn closure(form: &Closure<'_>, surface: &Surface<'_>) -> String {
    let prototype = &form.plan.prototype;
    let raw = |number: usize| format!("p{number}");
    let written: Vec<Written> = form.seen.iter().map(|seen| write(seen, form, surface)).collect();
    let result = match prototype.result.shape {
        Shape::Void => "()".to_owned(),
        _ => sys(&prototype.result, surface),
    };
    let enumeration = form.result.map(type_name);
    let closure_result = enumeration.as_ref().unwrap_or(&result);
    let arrow = if closure_result == "()" { String::new() } else { format!(" -> {closure_result}") };
    let kinds: Vec<&str> = written.iter().map(|written| written.kind.as_str()).collect();
    let all: Vec<String> = (0..prototype.parameters.len()).map(raw).collect();
    let types: Vec<String> = prototype.parameters.iter().map(|p| sys(&p.kind, surface)).collect();
    let declared: Vec<String> = all.iter().zip(&types).map(|(own, kind)| format!("{own}: {kind}")).collect();
    let values: Vec<&str> = written.iter().map(|written| written.value.as_str()).collect();
    let names = form.names();
    template!(
        "rust/closure.rs.in",
        OWN = form.name,
        NAME = type_name(&form.name),
        UPPER = form.name.to_uppercase(),
        CALLED = if names.is_empty() { "without parameters".to_owned() } else { names.join(", ") },
        SIGNATURE = format!("FnMut({}){arrow} + Send", kinds.join(", ")),
        TYPES = types.join(", "),
        RESULT = result,
        DECLARED = declared.join(", "),
        PASSED = all.iter().map(|own| format!(", {own}")).collect::<String>(),
        DATA = form.data.map_or("null_mut()".to_owned(), raw),
        BEFORE = written.iter().map(|written| written.before.as_str()).collect::<String>(),
        VALUES = values.join(", "),
        AFTER = written.iter().map(|written| written.after.as_str()).collect::<String>(),
        CAST = if enumeration.is_some() { " as _" } else { "" },
    )
}

fn write(seen: &Seen<'_>, form: &Closure<'_>, surface: &Surface<'_>) -> Written {
    let Seen { place, what, kind, shown } = seen;
    let raw = format!("p{place}");
    let local = format!("lg_{raw}");
    let operand = |name: &str, _: bool| match form.place(name) {
        Some(number) => format!("(p{number} as i128)"),
        None => format!("({} as i128)", word(name)),
    };
    let count = |count: &Expression| {
        template!("rust/count.rs.in", SIZE = size(count, &operand), WHAT = what).trim_end().to_owned()
    };
    let written = |kind: String, before: String, value: String| {
        let after = String::new();
        Written { kind, before, value, after }
    };
    let declared = |value: String| row(format!("let {local} = {value};"));
    match shown {
        Shown::Number => written(sys(kind, surface), String::new(), raw),
        Shown::Enumeration(key) => {
            let name = type_name(key);
            let before = declared(format!(r#"{name}::of({raw}.into(), "{what}")?"#));
            written(name, before, local)
        }
        Shown::Text { nullable } => {
            let before = declared(format!("support::text({raw}.cast())"));
            match nullable {
                true => written("Option<&CStr>".to_owned(), before, format!("{local}.as_deref()")),
                false => {
                    let value = format!(r#"{local}.as_deref().unwrap_or(c"")"#);
                    written("&CStr".to_owned(), before, value)
                }
            }
        }
        Shown::Texts { count: given, holes } => {
            let (element, collect) = match (given.is_some(), holes) {
                (true, true) => ("Option<Text>", ".collect()"),
                (true, false) => ("Text", ".flatten().collect()"),
                // Until the first null pointer.
                (false, _) => ("Text", ".map_while(|text| text).collect()"),
            };
            let before = template!(
                "rust/texts.rs.in",
                LOCAL = local,
                RAW = raw,
                LIMIT = given.map_or("usize::MAX".to_owned(), count),
                ELEMENT = element,
                COLLECT = collect,
            );
            written(format!("&[{element}]"), before, format!("&{local}"))
        }
        Shown::Memory { count: given, writes } => {
            let element = element(kind, surface);
            let many = given.map_or("1_usize".to_owned(), count);
            let before =
                template!("rust/values.rs.in", LOCAL = local, RAW = raw, ELEMENT = element, MANY = many);
            if *writes {
                let after = template!("rust/values_back.rs.in", LOCAL = local, RAW = raw, ELEMENT = element);
                let (kind, value) = (format!("&mut [{element}]"), format!("&mut {local}"));
                return Written { after, ..written(kind, before, value) };
            }
            written(format!("&[{element}]"), before, format!("&{local}"))
        }
        Shown::Handle { number, nullable } => {
            let name = type_name(&surface.handle(*number));
            match nullable {
                true => {
                    let before = declared(made(&name, &raw, "None") + ".given()");
                    written(format!("Option<&{name}>"), before, format!("{local}.as_ref()"))
                }
                false => {
                    let before = template!("rust/handle_seen.rs.in", LOCAL = local, NAME = name, RAW = raw);
                    written(format!("&{name}"), before, format!("&{local}"))
                }
            }
        }
        Shown::Handles { number, count: many } => {
            let name = type_name(&surface.handle(*number));
            let before =
                template!("rust/handles.rs.in", LOCAL = local, RAW = raw, NAME = name, COUNT = count(many),);
            written(format!("&[{name}]"), before, format!("&{local}"))
        }
        Shown::Place => {
            let value = format!("(!{raw}.is_null()).then_some(Place({raw}))");
            written("Option<Place>".to_owned(), String::new(), value)
        }
    }
}
