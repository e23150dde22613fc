//! What the client's compiler has to agree upon with the generator, which had none of its options but `-I` and `-D`: how large types are,
//! and where their fields lie. The client copies as many bytes as the generator has counted.
use super::print;
use crate::emit::template::{row, template};
use crate::header::model::{CType, Shape};
use crate::plan::{Plan, RecordPlan};
use std::collections::BTreeMap;

/// What has to be so of each type of which a compiler may think otherwise: quoted names, and conditions of C.
pub fn as_read(plan: &Plan) -> impl Iterator<Item = (String, String)> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let functions = plan.functions.iter().map(|function| &function.prototype);
    let callbacks = plan.callbacks.values().chain(&plan.gates).map(|callback| &callback.prototype);
    for prototype in functions.chain(callbacks) {
        prototype.each_type(&mut |kind| {
            let own = kind.spelling.trim_start_matches("const ").trim_start_matches("volatile ");
            if is_named_integer(kind) && !own.contains(['(', '[']) {
                let mut conditions = vec![format!("sizeof({own}) == {}", kind.size)];
                conditions.extend(of_kind(own, kind));
                all.insert(own.to_owned(), conditions.join(" && "));
            }
        });
    }
    for record in records(plan) {
        all.insert(record.spelling.clone(), of_record(record));
    }
    all.into_iter().map(|(name, condition)| (print::quoted(&name), condition))
}

/// What functions and fields are declared as, without typedefs: each compiler compares all of it, numbers and pointers as well as what these lead to.
pub fn declared_as_read(plan: &Plan) -> impl Iterator<Item = String> {
    let check = |name: &str, what: &str, bare: &str| {
        row(format!("LGS_DECLARED_AS_READ({}, __typeof__({what}), {bare});", print::quoted(name)))
    };
    let functions = plan.functions.iter().filter_map(move |function| {
        let name = &function.name;
        Some(check(name, name, plan.bare.get(name)?))
    });
    let fields = records(plan).flat_map(move |record| {
        record.fields.iter().filter_map(move |field| {
            let (own, name) = (&record.spelling, &field.name);
            let bare = plan.bare.get(&format!("{own}.{name}"))?;
            Some(check(&format!("{own}, field {name},"), &format!("(({own} *)0)->{name}"), bare))
        })
    });
    functions.chain(fields)
}

/// Structures that have a name for C.
fn records(plan: &Plan) -> impl Iterator<Item = &RecordPlan> {
    plan.records.values().filter(|record| !record.spelling.contains('('))
}

/// What has to be so of each name that an expression of the annotations was written with: the generator has put the number in its place that a macro
/// stood for there. (A macro of the file of annotations the client does not have.)
pub fn numbers_as_read(plan: &Plan) -> impl Iterator<Item = String> {
    plan.numbers.iter().map(|(name, (number, is_macro))| {
        let number = match i64::try_from(*number) {
            Ok(i64::MIN) => format!("-{}LL - 1", i64::MAX),
            Ok(number) => format!("{number}LL"),
            Err(_) => format!("{number}ULL"),
        };
        let check =
            row(format!("LGS_NUMBER_AS_READ({}, (lgs_wide)({name}) == {number});", print::quoted(name)));
        if *is_macro { template!("c/macro_as_read.c.in", NAME = name, CHECK = check) } else { check }
    })
}

/// Options and macros may make another integer of it: an enumeration, `wchar_t`.
fn is_named_integer(kind: &CType) -> bool {
    kind.is_integer() && kind.size > 0 && (kind.enumeration.is_some() || !kind.names.is_empty())
}

/// What tells an integer of that kind from others that are as large: whether it has a sign, or is a `bool`, which is 0 or 1 where the library says so.
/// (Plain `char` has one or not as an option says, an enumeration as its compiler likes; both are the same to who copies them.)
fn of_kind(own: &str, kind: &CType) -> Option<String> {
    match kind.shape {
        Shape::Integer { plain: true, .. } => None,
        _ if kind.enumeration.is_some() => None,
        Shape::Integer { .. } if kind.is_bool() => Some(format!("({own})2 == 1")),
        Shape::Integer { signed: true, .. } => Some(format!("({own})-1 < 0")),
        Shape::Integer { .. } => Some(format!("({own})-1 > 1")),
        _ => None,
    }
}

fn of_record(record: &RecordPlan) -> String {
    let own = &record.spelling;
    let mut conditions = vec![
        format!("sizeof({own}) == {}", record.size),
        format!("__alignof__({own}) == {}", record.alignment),
    ];
    for field in record.fields.iter().filter(|field| !field.name.is_empty() && field.kind.size > 0) {
        let name = &field.name;
        conditions.push(format!("offsetof({own}, {name}) == {}", field.offset));
        // (Of pointers there is one size.)
        if !matches!(field.kind.shape, Shape::Pointer(_) | Shape::Function(_)) {
            conditions.push(format!("sizeof (({own} *)0)->{name} == {}", field.kind.size));
        }
        let (element, at) = match &field.kind.shape {
            Shape::Array(element, count) if *count > 0 => (&**element, "[0]"),
            _ => (&field.kind, ""),
        };
        // (Compilers complain of casts to qualified types.)
        if !element.constant && !element.spelling.contains("volatile") {
            conditions.extend(of_kind(&format!("__typeof__((({own} *)0)->{name}{at})"), element));
        }
    }
    conditions.join(" && ")
}
