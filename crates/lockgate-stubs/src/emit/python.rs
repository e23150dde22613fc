//! Declarations for Python, in ctypes' words, for `lockgate.CDLL`, which copies what is passed by reference and checks what comes back.
use super::{File, Target};
use crate::header::model::{CType, Shape};
use crate::plan::{Outcome, Plan, word};
use std::fmt::Write as _;

/// The declarations, in one file.
pub fn client(plan: &Plan, target: &Target) -> File {
    let name = super::library_name(plan, target);
    let mut text = format!(
        "\"\"\"{name}, protected: made by `lockgate stubs`, do not edit.\"\"\"\n\nimport ctypes\n\nimport lockgate\n\n__all__ = [\"load\"]\n"
    );
    let by_value = |kind: &CType| matches!(kind.shape, Shape::Record(_));
    for (key, record) in &plan.records {
        let used = plan
            .functions
            .iter()
            .flat_map(|f| f.prototype.parameters.iter().map(|p| &p.kind).chain([&f.prototype.result]));
        let wanted = used.into_iter().any(|kind| matches!(&kind.shape, Shape::Record(k) if k == key));
        if !wanted || !record.is_plain() || record.fields.is_empty() {
            continue;
        }
        let _ = write!(text, "\n\nclass {}(ctypes.Structure):\n    _fields_ = [\n", record.word);
        for field in &record.fields {
            let _ = writeln!(text, "        (\"{}\", {}),", field.name, kind(&field.kind, plan));
        }
        text += "    ]\n";
    }
    let _ = write!(
        text,
        "\n\ndef load(module={:?}, **options):\n    \"\"\"A domain of the library with the types of its functions; options are those of lockgate.Domain.\"\"\"\n    \
         library = lockgate.CDLL(module, **options)\n",
        target.module
    );
    for function in &plan.functions {
        let unknown = |kind: &CType| by_value(kind) && self::kind(kind, plan) == "None";
        let prototype = &function.prototype;
        if prototype.variadic
            || prototype.parameters.iter().any(|p| unknown(&p.kind))
            || unknown(&prototype.result)
        {
            continue;
        }
        let parameters: Vec<String> = prototype.parameters.iter().map(|p| kind(&p.kind, plan)).collect();
        let result = match (&function.result, &prototype.result) {
            (Outcome::Void, _) => "None".to_owned(),
            (Outcome::String { .. }, _) => "ctypes.c_char_p".to_owned(),
            (_, result) if result.pointee().is_some() => "lockgate.Address".to_owned(),
            (_, result) => kind(result, plan),
        };
        let _ = writeln!(
            text,
            "    library.{0}.argtypes = [{1}]\n    library.{0}.restype = {result}",
            function.name,
            parameters.join(", ")
        );
    }
    text += "    return library\n";
    File { name: format!("{}_protected.py", word(&name)), text }
}

/// The type in ctypes' words.
fn kind(kind: &CType, plan: &Plan) -> String {
    match &kind.shape {
        Shape::Integer { signed, .. } => {
            format!("ctypes.c_{}int{}", if *signed { "" } else { "u" }, kind.size * 8)
        }
        Shape::Float if kind.size == 4 => "ctypes.c_float".to_owned(),
        Shape::Float => "ctypes.c_double".to_owned(),
        Shape::Pointer(to) if to.is_character() && to.constant => "ctypes.c_char_p".to_owned(),
        Shape::Array(element, count) => format!("{} * {count}", self::kind(element, plan)),
        Shape::Record(key) => match plan.records.get(key) {
            Some(record) if record.is_plain() && !record.fields.is_empty() => record.word.clone(),
            _ => "None".to_owned(),
        },
        _ => "ctypes.c_void_p".to_owned(),
    }
}
