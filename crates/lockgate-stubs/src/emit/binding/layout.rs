//! How a language writes a structure that lies as C's compiler has put it: packed, aligned, or neither.
use crate::header::model::{CType, Shape};
use crate::plan::{FieldPlan, Plan, RecordPlan};

/// A form of a structure in Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Field behind field.
    Natural,
    /// No field is aligned to more.
    Packed(u64),
    /// The whole is aligned to so much.
    Aligned(u64),
    /// Its bytes: what has no fields, or some that no word of Rust's puts where they are.
    Bytes,
}

/// The form of `record`.
pub fn form(record: &RecordPlan, plan: &Plan) -> Form {
    let (size, alignment) = (record.size, record.alignment);
    let fits = |form: &Form| {
        let (most, least) = match form {
            Form::Packed(most) => (*most, 1),
            Form::Aligned(least) => (u64::MAX, *least),
            Form::Natural | Form::Bytes => (u64::MAX, 1),
        };
        // (What is packed holds nothing that is aligned.)
        let bare = || record.fields.iter().all(|field| is_bare(&field.kind, plan));
        let aligned = |kind: &CType| extent(kind, plan).1.min(most);
        let (places, end) = placed(&record.fields, |kind| (extent(kind, plan).0, aligned(kind)));
        let whole = record.fields.iter().map(|field| aligned(&field.kind)).fold(least, u64::max);
        (!matches!(form, Form::Packed(_)) || bare())
            && record.fields.iter().map(|field| field.offset).eq(places)
            && (end.next_multiple_of(whole), whole) == (size, alignment)
    };
    if record.fields.is_empty() {
        return Form::Bytes;
    }
    let forms = [Form::Natural, Form::Packed(alignment), Form::Aligned(alignment)];
    forms.into_iter().find(fits).unwrap_or(Form::Bytes)
}

/// Where `fields` lie of which `extent` says size and alignment, and where the last one ends.
fn placed(fields: &[FieldPlan], extent: impl Fn(&CType) -> (u64, u64)) -> (Vec<u64>, u64) {
    let mut end = 0_u64;
    let place = |field: &FieldPlan| {
        let (size, alignment) = extent(&field.kind);
        let at = end.next_multiple_of(alignment.max(1));
        end = at + size;
        at
    };
    (fields.iter().map(place).collect(), end)
}

/// Size and alignment.
fn extent(kind: &CType, plan: &Plan) -> (u64, u64) {
    match &kind.shape {
        Shape::Array(element, count) => {
            let (size, alignment) = extent(element, plan);
            (size * count, alignment)
        }
        Shape::Record(key) => plan.records.get(key).map_or((0, 1), |record| (record.size, record.alignment)),
        _ => (kind.size, kind.size),
    }
}

/// Nothing in it is written with an alignment.
fn is_bare(kind: &CType, plan: &Plan) -> bool {
    match &kind.shape {
        Shape::Array(element, _) => is_bare(element, plan),
        Shape::Record(key) => plan.records.get(key).is_none_or(|record| {
            matches!(form(record, plan), Form::Natural | Form::Packed(_))
                && record.fields.iter().all(|field| is_bare(&field.kind, plan))
        }),
        _ => true,
    }
}

/// Bytes that ctypes would not leave free by itself: before each field, and behind the last one. `None` where it leaves all of them.
pub fn gaps(record: &RecordPlan, plan: &Plan) -> Option<Vec<u64>> {
    let fields = &record.fields;
    let of = |kind: &CType| (extent(kind, plan).0, alignment_there(kind, plan));
    let (places, end) = placed(fields, of);
    let whole = fields.iter().map(|field| of(&field.kind).1).fold(1, u64::max);
    let same = fields.iter().map(|field| field.offset).eq(places);
    if fields.is_empty() || same && end.next_multiple_of(whole) == record.size {
        return None;
    }
    let mut end = 0;
    let mut gaps: Vec<u64> = Vec::new();
    for field in fields {
        gaps.push(field.offset.saturating_sub(end));
        end = field.offset + of(&field.kind).0;
    }
    gaps.push(record.size.saturating_sub(end));
    Some(gaps)
}

/// What ctypes aligns it to: bytes, and what is packed, to nothing.
fn alignment_there(kind: &CType, plan: &Plan) -> u64 {
    match &kind.shape {
        Shape::Array(element, _) => alignment_there(element, plan),
        Shape::Record(key) => match plan.records.get(key) {
            Some(record) if gaps(record, plan).is_none() => {
                let fields = record.fields.iter();
                fields.map(|field| alignment_there(&field.kind, plan)).fold(1, u64::max)
            }
            _ => 1,
        },
        _ => kind.size.max(1),
    }
}
