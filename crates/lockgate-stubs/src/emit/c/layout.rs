//! What the client's compiler has to agree upon with the generator, which had none of its options but `-I` and `-D`: how large types are,
//! and where their fields lie. The client copies as many bytes as the generator has counted.
use super::print;
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
                all.insert(own.to_owned(), format!("sizeof({own}) == {}", kind.size));
            }
        });
    }
    for record in plan.records.values().filter(|record| !record.spelling.contains('(')) {
        all.insert(record.spelling.clone(), of_record(record));
    }
    all.into_iter().map(|(name, condition)| (print::quoted(&name), condition))
}

/// Options and macros may make another integer of it: an enumeration, `wchar_t`.
fn is_named_integer(kind: &CType) -> bool {
    kind.is_integer() && kind.size > 0 && (kind.enumeration.is_some() || !kind.names.is_empty())
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
    }
    conditions.join(" && ")
}
