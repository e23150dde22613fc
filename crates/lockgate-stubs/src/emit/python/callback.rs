//! Functions that the library calls: a class for each type of callback.
use super::{arithmetic, ctype, element, enumeration, word};
use crate::emit::surface::Surface;
use crate::header::model::Shape;
use crate::plan::{CallbackPlan, Outcome};
use std::fmt::Write as _;

/// The class of one type of callback.
pub fn class(callback: &CallbackPlan, surface: &Surface<'_>) -> String {
    let CallbackPlan { prototype, parameters, .. } = callback;
    let name = &surface.closure(&callback.name);
    let raw = |number: usize| format!("p{number}");
    let scope = |wanted: &str, _: bool| match prototype.parameters.iter().position(|p| p.name == wanted) {
        Some(number) => raw(number),
        None => word(wanted),
    };
    let kinds = [&prototype.result].into_iter().chain(prototype.parameters.iter().map(|p| &p.kind));
    let kinds: Vec<String> = kinds.map(|kind| ctype(kind, surface)).collect();
    let (mut names, mut values, mut back) = (Vec::new(), Vec::new(), String::new());
    for (number, (parameter, outcome)) in prototype.parameters.iter().zip(parameters).enumerate() {
        let own = raw(number);
        let what = &parameter.name;
        let count = |size: &crate::expression::Expression| arithmetic(size, &scope);
        let value = match outcome {
            Outcome::Data { .. } => continue,
            Outcome::Value => match surface.enumeration(&parameter.kind) {
                Some(key) => format!("_enum({}, {own}, \"{what}\")", enumeration(key)),
                None => own,
            },
            Outcome::String { .. } => format!("_string({own})"),
            Outcome::Strings { count: given, .. } => {
                format!("_strings({own}, {})", given.as_ref().map_or("None".to_owned(), count))
            }
            Outcome::Memory { buffer } => {
                let kind = element(&parameter.kind, surface);
                let many = buffer.size.as_ref().map_or("1".to_owned(), count);
                if buffer.writes {
                    let _ = write!(
                        back,
                        "        if {own}:\n            ctypes.memmove({own}, (ctypes.c_char * len(lg_{own})).from_buffer(lg_{own}), len(lg_{own}))\n"
                    );
                    format!(
                        "(lg_{own} := bytearray(ctypes.string_at({own}, ({many}) * ctypes.sizeof({kind})) if {own} else b\"\"))"
                    )
                } else {
                    format!("_memory({own}, {kind}, {many})")
                }
            }
            Outcome::Handle { number, .. } => {
                format!("{}._given({own}, False)", word(&surface.handle(*number)))
            }
            Outcome::Handles { number, count: many } => {
                let class = word(&surface.handle(*number));
                format!("[{class}._given(lg_raw, False) for lg_raw in _pointers({own}, {})]", count(many))
            }
            _ => own,
        };
        names.push(format!("`{what}`"));
        values.push(value);
    }
    let all: Vec<String> = (0..prototype.parameters.len()).map(raw).collect();
    let shown =
        if names.is_empty() { "without parameters".to_owned() } else { format!("with {}", names.join(", ")) };
    let result = match &prototype.result.shape {
        Shape::Void => "None".to_owned(),
        Shape::Float => "float(lg_result)".to_owned(),
        _ => format!("_number(lg_result, {}, \"result\")", kinds[0]),
    };
    format!(
        "\n\nclass {class}(Callback):\n    \"\"\"`{name}`: called {shown}.\"\"\"\n\n    _prototype = ctypes.CFUNCTYPE({kinds})\n\n    \
         @staticmethod\n    def _run(function: Any, {all}) -> Any:\n        lg_result = function({values})\n{back}        return {result}\n",
        class = word(name),
        kinds = kinds.join(", "),
        all = all.join(", "),
        values = values.join(", "),
    )
}
