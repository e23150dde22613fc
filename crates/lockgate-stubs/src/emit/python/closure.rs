//! Functions that the library calls: a class for each type of callback.
use super::{SIZES, ctype, element, enumeration, word};
use crate::emit::binding::surface::Surface;
use crate::emit::binding::{Closure, Seen, Shown};
use crate::emit::template::{row, template};
use crate::expression::Expression;
use crate::header::model::Shape;

/// The class of one type of callback.
pub fn class(form: &Closure<'_>, surface: &Surface<'_>) -> String {
    let prototype = &form.plan.prototype;
    let kinds = [&prototype.result].into_iter().chain(prototype.parameters.iter().map(|p| &p.kind));
    let kinds: Vec<String> = kinds.map(|kind| ctype(kind, surface)).collect();
    let mut back = String::new();
    let values: Vec<String> = form.seen.iter().map(|seen| value(seen, form, surface, &mut back)).collect();
    let all: Vec<String> = (0..prototype.parameters.len()).map(|number| format!("p{number}")).collect();
    let names = form.names();
    let shown = match &*names {
        [] => "without parameters".to_owned(),
        names => format!("with {}", names.join(", ")),
    };
    let result = match &prototype.result.shape {
        Shape::Void => "None".to_owned(),
        Shape::Float => "float(lgs_result)".to_owned(),
        _ => format!(r#"_number(lgs_result, {}, "result")"#, kinds[0]),
    };
    template!(
        "python/callback.py.in",
        CLASS = word(&form.name),
        NAME = form.name,
        SHOWN = shown,
        KINDS = kinds.join(", "),
        ALL = all.join(", "),
        VALUES = values.join(", "),
        BACK = back,
        RESULT = result,
    )
}

fn value(seen: &Seen<'_>, form: &Closure<'_>, surface: &Surface<'_>, back: &mut String) -> String {
    let Seen { place, what, kind, shown } = seen;
    let own = format!("p{place}");
    let operand =
        |name: &str, _: bool| form.place(name).map_or_else(|| word(name), |number| format!("p{number}"));
    let count = |size: &Expression| SIZES.write(size, &operand);
    match shown {
        Shown::Number | Shown::Place => own,
        Shown::Enumeration(key) => format!(r#"_enum({}, {own}, "{what}")"#, enumeration(key)),
        Shown::Text { .. } => format!("_string({own})"),
        Shown::Texts { count: given, .. } => {
            format!("_strings({own}, {})", given.map_or("None".to_owned(), count))
        }
        Shown::Memory { count: given, writes } => {
            let kind = element(kind, surface);
            let many = given.map_or("1".to_owned(), count);
            if !writes {
                return format!("_memory({own}, {kind}, {many})");
            }
            *back += &row(format!("_to_room({own}, lg_{own})"));
            // (Its own view, whatever becomes of the one that it is given.)
            format!("memoryview(lg_{own} := _room({own}, ({many}) * ctypes.sizeof({kind})))")
        }
        Shown::Handle { number, .. } => {
            format!("{}._given({own}, False)", word(&surface.handle(*number)))
        }
        Shown::Handles { number, count: many } => {
            let class = word(&surface.handle(*number));
            format!("[{class}._given(lgs_raw, False) for lgs_raw in _pointers({own}, {})]", count(many))
        }
    }
}
