//! What crosses by value: the prototype that the module and the client are given of a function, and whether it says what the compiler
//! makes of the header.
use super::{No, Plan, Planner, no};
use crate::header::model::{CType, Header, Prototype, Record, Shape};
use lockgate_signature::{Signature, Type};

/// The prototype in the language of `lockgate-signature`. Structures are written out, so that it is the header, not the module, that says what they are.
pub fn prototype(name: &str, prototype: &Prototype, plan: &Plan) -> String {
    let parameters: Vec<String> = prototype.parameters.iter().map(|p| signature(&p.kind, plan)).collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    format!("{} {name}({parameters})", signature(&prototype.result, plan))
}

fn signature(kind: &CType, plan: &Plan) -> String {
    match &kind.shape {
        Shape::Void => "void".to_owned(),
        Shape::Integer { signed, .. } => format!("{}int{}_t", if *signed { "" } else { "u" }, kind.size * 8),
        Shape::Float if kind.size == 4 => "float".to_owned(),
        Shape::Float => "double".to_owned(),
        Shape::Pointer(_) | Shape::Function(_) => "void *".to_owned(),
        Shape::Record(key) => match plan.records.get(key).map(|record| record.fields.as_slice()) {
            None | Some([]) => kind.spelling.clone(),
            Some(fields) => {
                let fields: String = fields.iter().map(|field| self::field(&field.kind, plan)).collect();
                format!("struct {{ {fields}}}")
            }
        },
        Shape::Array(..) | Shape::Unsupported(_) => kind.spelling.clone(),
    }
}

fn field(kind: &CType, plan: &Plan) -> String {
    let (element, counts) = kind.innermost();
    let counts: String = counts.iter().map(|count| format!("[{count}]")).collect();
    format!("{} f{counts}; ", signature(element, plan))
}

impl Planner<'_> {
    /// A reader of the prototype of `name` hears of the types that the compiler has. (A client that cannot read one cannot start.)
    pub(super) fn is_said_by_its_prototype(&self, name: &str, of: &Prototype) -> Result<(), No> {
        let kinds = || of.parameters.iter().map(|parameter| &parameter.kind).chain([&of.result]);
        kinds().try_for_each(|kind| is_structure(self.header, kind))?;
        let signature: Signature = match prototype(name, of, &self.plan).parse() {
            Ok(signature) => signature,
            Err(lockgate_signature::PrototypeError { what, .. }) => {
                return no(format!("a client could not declare it: {what}"), REMEDY);
            }
        };
        let said = signature.parameters.iter().chain([&signature.result]);
        if signature.parameters.len() != of.parameters.len() {
            return no("a client could not declare its parameters", REMEDY);
        }
        kinds().zip(said).try_for_each(|(kind, said)| is_placed(self.header, kind, said))
    }
}

const REMEDY: &str = "pass a pointer to it, or leave the function out with LG_OMIT";

/// The structure that it is, with its fields.
fn of<'h>(header: &'h Header, kind: &CType) -> Option<&'h Record> {
    match &kind.shape {
        Shape::Record(key) => header.records.get(key),
        _ => None,
    }
}

/// Fields one behind the other are all that a structure by value has.
fn is_structure(header: &Header, kind: &CType) -> Result<(), No> {
    if let Shape::Array(element, _) = &kind.shape {
        return is_structure(header, element);
    }
    let Some(record) = of(header, kind) else { return Ok(()) };
    let key = &record.key;
    let why = if record.union || !record.arms.is_empty() {
        format!(
            "{key} is a union, or contains one: no declaration says which field is in use, and so where it is passed"
        )
    } else if record.bit_fields {
        format!("{key} has bit-fields")
    } else if record.fields.iter().flatten().next().is_none() {
        format!("{key} has no fields")
    } else {
        return record.fields.iter().flatten().try_for_each(|field| is_structure(header, &field.kind));
    };
    no(format!("{why}: it cannot be passed by value"), REMEDY)
}

/// What is `said` of `kind` is of its size, and each part of it lies where the compiler puts it.
fn is_placed(header: &Header, kind: &CType, said: &Type) -> Result<(), No> {
    let another = |what: String| {
        no(format!("{what}: a type that is packed or aligned by hand cannot be passed by value"), REMEDY)
    };
    let alike = match (&kind.shape, said) {
        (Shape::Record(_), Type::Struct(fields)) => {
            let Some(record) = of(header, kind) else { return another(kind.spelling.clone()) };
            let key = &record.key;
            let mut end = 0;
            let own = record.fields.iter().flatten().zip(&record.offsets);
            if record.fields.iter().flatten().count() != fields.len() {
                return another(format!("{key} has other fields than its prototype"));
            }
            for ((field, at), said) in own.zip(fields) {
                let place = u64::next_multiple_of(end, said.kind.alignment() as u64);
                if place != *at {
                    return another(format!("{key}, field {}: it lies at {at}, not at {place}", field.name));
                }
                end = place + (said.kind.size() * said.count) as u64;
                let (element, counts) = field.kind.innermost();
                let count: u64 = counts.iter().product();
                if count != said.count as u64 {
                    return another(format!("{key}, field {}: it has {count} elements", field.name));
                }
                is_placed(header, element, &said.kind)?;
            }
            let (size, alignment) = (said.size() as u64, said.alignment() as u64);
            if (size, alignment) != (record.size, record.alignment) {
                return another(format!(
                    "{key} has {} bytes and is aligned to {}, not {size} and {alignment}",
                    record.size, record.alignment
                ));
            }
            true
        }
        (Shape::Integer { .. }, Type::Integer { .. } | Type::Bool)
        | (Shape::Float, Type::Float | Type::Double) => said.size() as u64 == kind.size,
        (Shape::Pointer(_) | Shape::Function(_), Type::Pointer) | (Shape::Void, Type::Void) => true,
        _ => false,
    };
    if alike { Ok(()) } else { no(format!("`{}` cannot be passed by value", kind.spelling), REMEDY) }
}
