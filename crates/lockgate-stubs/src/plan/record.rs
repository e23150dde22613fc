//! Structures.
use super::effects::{Ways, act};
use super::places::{Place, belong, needs_no_function};
use super::{FieldPlan, No, OMIT, Outcome, Passing, Planner, RecordPlan, Vague, no, or_omit};
use crate::annotation::Direction;
use crate::expression::Expression;
use crate::header::model::{CType, Header, Parameter, Record, Shape};
use crate::name::word;
use std::collections::BTreeSet;

impl Planner<'_> {
    /// Plans the record `key`, once. While it is being planned it counts as known, because its fields may lead to it again.
    pub(super) fn record(&mut self, key: &str) -> Result<(), No> {
        if self.plan.records.contains_key(key) || self.records.iter().any(|planned| planned == key) {
            return Ok(());
        }
        self.records.push(key.to_owned());
        let plan = self.try_record(key);
        self.records.pop();
        self.plan.records.insert(key.to_owned(), plan?);
        self.added.records.push(key.to_owned());
        Ok(())
    }

    fn try_record(&mut self, key: &str) -> Result<RecordPlan, No> {
        let header = self.header;
        let Some(record) = header.records.get(key) else {
            return no(format!("{key} is not declared"), "include the header that declares it");
        };
        let Some(fields) = &record.fields else {
            return no(format!("{key} is incomplete"), "annotate the pointer with LG_OPAQUE");
        };
        is_whole(header, key, &mut BTreeSet::new())?;
        let has_pointers = fields.iter().any(|field| leads_on(header, &field.kind.shape));
        let over = |field: &&Parameter| record.union || record.arms.contains(&field.name);
        if fields.iter().filter(over).any(|field| leads_on(header, &field.kind.shape)) {
            return no(
                format!(
                    "only the program knows which field of {key} is in use, and some fields are pointers"
                ),
                or_omit("annotate the pointer to it with LG_OPAQUE"),
            );
        }
        if record.bit_fields && has_pointers {
            return no(format!("{key} has bit-fields beside pointers"), OMIT);
        }
        let mut plan = RecordPlan {
            spelling: record.spelling.clone(),
            word: word(key),
            size: record.size,
            alignment: record.alignment,
            fields: Vec::new(),
            bools: Vec::new(),
            vague: vague(header, key, &mut BTreeSet::new()),
            order: self.in_order(fields)?,
            followed: self.followed_by(fields),
            numbers: Vec::new(),
        };
        numbers(header, key, 0, &mut plan.numbers);
        bools(header, key, "", &mut BTreeSet::new(), &mut plan.bools)?;
        if has_pointers || (!record.union && !record.bit_fields && record.arms.is_empty()) {
            for (field, offset) in fields.iter().zip(&record.offsets) {
                let planned = self.field(field, fields, *offset).map_err(|cause| No {
                    reason: format!("{key}, field {}: {}", field.name, cause.reason),
                    remedy: cause.remedy,
                });
                plan.fields.push(planned?);
            }
        }
        // (What has no field of its own here crosses as bytes: nothing that is said of a number in it has an effect.)
        for field in fields.iter().skip(plan.fields.len()) {
            belong(&field.notes, &field.kind, Place::Field).map_err(|cause| No {
                reason: format!("{key}, field {}: {}", field.name, cause.reason),
                remedy: cause.remedy,
            })?;
        }
        self.plan.is_paired(plan.fields.iter().map(|field| &field.passing))?;
        mark_buffers(&mut plan.fields);
        Ok(plan)
    }

    /// True if all of `key`, which is known, can be copied as it is. What is still being planned cannot: only pointers and
    /// functions lead from a structure to itself.
    fn is_plain(&self, key: &str) -> bool {
        self.plan.records.get(key).is_some_and(RecordPlan::is_plain)
    }

    fn field(&mut self, field: &Parameter, fields: &[Parameter], offset: u64) -> Result<FieldPlan, No> {
        let notes = self.notes(field);
        let cursor = notes.cursor;
        belong(&field.notes, &field.kind, Place::Field)?;
        needs_no_function(&notes, "a field")?;
        if field.kind.constant && matches!(field.kind.shape, Shape::Pointer(_) | Shape::Function(_)) {
            return no(
                "a pointer that is const itself, which the stub could not set in its copy",
                or_omit("remove this const from the header"),
            );
        }
        self.is_shut(&field.kind, &notes)?;
        let (passing, outcome) = match &field.kind.shape {
            Shape::Record(key) => {
                self.plain_record(key)?;
                (Passing::Value, Outcome::Value)
            }
            Shape::Pointer(_) if notes.opaque => (Passing::Ignore, Outcome::Inside),
            Shape::Pointer(_)
                if notes.direction == Some(Direction::Out) && !cursor && notes.size.is_none() =>
            {
                let nullable = Parameter {
                    notes: crate::annotation::Notes { nullable: true, ..notes },
                    ..field.clone()
                };
                (Passing::Ignore, self.outcome(&nullable, fields, true)?)
            }
            _ => {
                let passing = match self.passing(field, fields)? {
                    // Arrays of structures without pointers are memory like any other.
                    Passing::Record { key, buffer, kept: false, .. }
                        if buffer.size.is_some() && self.is_plain(&key) =>
                    {
                        Passing::Buffer(buffer)
                    }
                    other => other,
                };
                let outcome = match &passing {
                    Passing::Value => Outcome::Value,
                    Passing::Handle { number, .. } => Outcome::Handle { number: *number, nullable: true },
                    Passing::Data { .. } => Outcome::Data { by: notes.given.clone().unwrap_or_default() },
                    Passing::Callback { name } => Outcome::Callback { name: name.clone() },
                    Passing::String { most: Some(_) } => {
                        return no("text of a structure ends with a zero", "remove LG_SIZE, or LG_STRING");
                    }
                    Passing::String { most: None } => Outcome::String { nullable: notes.nullable },
                    Passing::Buffer(buffer) if !cursor => Outcome::Memory { buffer: buffer.clone() },
                    Passing::Record { .. } | Passing::Pointer { .. } | Passing::Scalar(_) => {
                        return no(
                            "structures behind pointers in structures",
                            "annotate it with LG_OPAQUE or LG_NULL",
                        );
                    }
                    _ => Outcome::Untouched,
                };
                (passing, outcome)
            }
        };
        self.is_no_place(field, &outcome)?;
        act(&field.notes, &field.kind, Ways { passing: Some(&passing), outcome: Some(&outcome) })?;
        // (What the library writes behind a field is copied back as it is.)
        if notes.string && matches!(passing, Passing::Buffer(_)) {
            return no(
                "LG_STRING and LG_SIZE on a field: nothing would look for the end",
                "leave the function out with LG_OMIT, or remove LG_STRING if the program looks itself",
            );
        }
        Ok(FieldPlan {
            name: field.name.clone(),
            kind: field.kind.clone(),
            offset,
            passing,
            outcome,
            cursor,
            of_buffer: false,
        })
    }

    /// The client's function that makes `bool`s of this type 0 or 1.
    pub(super) fn bools(&self, to: &CType) -> Option<String> {
        match &to.shape {
            Shape::Record(key) => {
                let record = self.plan.records.get(key)?;
                (!record.bools.is_empty()).then(|| format!("lgs_bools_{}", record.word))
            }
            _ => to.is_bool().then(|| "lgs_bools".to_owned()),
        }
    }

    /// Of what comes out of the library, each array of characters is said to be text, or bytes: a program that takes bytes for text reads on behind them.
    pub(super) fn is_ended(&self, key: &str) -> Result<(), No> {
        match self.plan.records.get(key).and_then(|record| record.vague.as_ref()) {
            None => Ok(()),
            Some(Vague { path, wide: true, .. }) => no(
                format!("{key}, field {path}: it may be wide text, whose end nothing writes"),
                "say LG_FIELD(type, field, LG_BYTES), or LG_BYTES behind it, if the program looks for the end within the array only",
            ),
            Some(Vague { path, named, .. }) => no(
                format!("{key}, field {path}: it may be text, or bytes without an end"),
                match named {
                    true => {
                        "say LG_FIELD(type, field, LG_STRING) if it is text, whose last byte is 0 then, or LG_FIELD(type, field, LG_BYTES)"
                    }
                    false => {
                        "its structure has no name, of which LG_FIELD could speak: say LG_STRING (text, whose last byte is 0 then) or LG_BYTES behind it in the header itself, or give the structure a tag"
                    }
                },
            ),
        }
    }

    /// What is ignored is zero, but of its own type, which the client has to know.
    pub(super) fn known(&mut self, shape: &Shape) -> Result<(), No> {
        match shape {
            Shape::Record(key) => self.plain_record(key),
            Shape::Array(element, _) => self.known(&element.shape),
            _ => Ok(()),
        }
    }

    /// A record without pointers in it.
    pub(super) fn plain_record(&mut self, key: &str) -> Result<(), No> {
        self.record(key)?;
        if self.is_plain(key) {
            return Ok(());
        }
        no(format!("{key} has pointers in it and is passed by value or written"), "pass a pointer to it")
    }
}

/// Before the path of a character array that ends within itself.
pub const TEXT: char = '"';

/// A flexible array member.
fn is_open(field: &Parameter) -> bool {
    matches!(field.kind.shape, Shape::Unsupported(_)) && field.kind.size == 0
}

/// Each structure in `key`, itself included, ends where its size says, and all that is in it was read.
fn is_whole<'h>(header: &'h Header, key: &'h str, seen: &mut BTreeSet<&'h str>) -> Result<(), No> {
    const REMEDY: &str = "annotate the pointer to it with LG_OPAQUE, or leave the function out with LG_OMIT";
    let Some(record) = header.records.get(key).filter(|_| seen.insert(key)) else { return Ok(()) };
    if let Some(lost) = &record.lost {
        return no(format!("{key}: {lost}"), REMEDY);
    }
    record.fields.iter().flatten().try_for_each(|field| {
        if is_open(field) {
            let Parameter { name, .. } = field;
            return no(
                format!("{key}, field {name}: only its author knows how much lies behind the structure"),
                REMEDY,
            );
        }
        match &field.kind.innermost().0.shape {
            Shape::Record(inner) => is_whole(header, inner, seen),
            _ => Ok(()),
        }
    })
}

/// An array of characters with an end.
fn is_text(header: &Header, field: &Parameter) -> bool {
    let (kind, _) = field.kind.innermost();
    header.notes(field).string && kind.is_character() && matches!(field.kind.shape, Shape::Array(..))
}

/// The first array of characters in `key`, or in a structure or union in it, of which is not said what it is.
fn vague<'h>(header: &'h Header, key: &'h str, seen: &mut BTreeSet<&'h str>) -> Option<Vague> {
    let record = header.records.get(key).filter(|_| seen.insert(key))?;
    record.fields.iter().flatten().find_map(|field| {
        let (kind, _) = field.kind.innermost();
        let notes = header.notes(field);
        let said = notes.string || notes.bytes || notes.ignore;
        match &kind.shape {
            Shape::Record(inner) => vague(header, inner, seen).map(|vague| match field.name.as_str() {
                "" => vague,
                name => Vague { path: format!("{name}.{}", vague.path), ..vague },
            }),
            _ if (kind.is_plain_character() || kind.is_wide_character())
                && matches!(field.kind.shape, Shape::Array(..))
                && !said =>
            {
                let wide = kind.is_wide_character();
                Some(Vague { path: field.name.clone(), named: !key.contains('('), wide })
            }
            _ => None,
        }
    })
}

/// Fields that a structure may have each of which is looked at: with every level of structures in structures there may be twice as many.
const MOST_BOOLS: usize = 4096;

/// Adds the paths of all `bool`s in `key`. In a union it is not known which bytes are one.
fn bools(
    header: &Header,
    key: &str,
    path: &str,
    outer: &mut BTreeSet<String>,
    all: &mut Vec<String>,
) -> Result<(), No> {
    let Some(record) = header.records.get(key) else { return Ok(()) };
    if !outer.insert(key.to_owned()) {
        return Ok(());
    }
    let (before, mut over) = (all.len(), false);
    for field in record.fields.iter().flatten() {
        let earlier = all.len();
        let (kind, counts) = field.kind.innermost();
        let path = format!("{path}{}{}", field.name, "[]".repeat(counts.len()));
        let dot = if field.name.is_empty() { "" } else { "." };
        match &kind.shape {
            // (Who has none is not gone through once for each place that it stands in.)
            Shape::Record(inner) if has_bool(header, &kind.shape, &mut BTreeSet::new()) => {
                bools(header, inner, &format!("{path}{dot}"), outer, all)?;
            }
            _ if kind.is_bool() && all.len() >= MOST_BOOLS => {
                return no(
                    format!(
                        "there are more than {MOST_BOOLS} fields of type bool in {key}, structures in it included"
                    ),
                    or_omit("annotate the pointer to it with LG_OPAQUE"),
                );
            }
            _ if kind.is_bool() => all.push(path.trim_end_matches("[]").to_owned()),
            _ if is_text(header, field) => {
                all.push(format!("{TEXT}{}", path.strip_suffix("[]").unwrap_or(&path)))
            }
            _ => {}
        }
        over |= record.arms.contains(&field.name) && all.len() > earlier;
    }
    outer.remove(key);
    if over || record.union && all.len() > before {
        return no(
            format!(
                "only the program knows which field of {key} is in use, and one is a bool or text with an end (LG_STRING)"
            ),
            or_omit("annotate the pointer to it with LG_OPAQUE"),
        );
    }
    Ok(())
}

/// True if there is a `bool` in it, or text, however deep.
fn has_bool<'a>(header: &'a Header, shape: &'a Shape, seen: &mut BTreeSet<&'a str>) -> bool {
    match shape {
        Shape::Array(element, _) => element.is_bool() || has_bool(header, &element.shape, seen),
        Shape::Record(inner) if seen.insert(inner) => {
            let fields = header.records.get(inner).and_then(|record| record.fields.as_ref());
            let mut fields = fields.into_iter().flatten();
            fields.any(|field| {
                field.kind.is_bool() || is_text(header, field) || has_bool(header, &field.kind.shape, seen)
            })
        }
        _ => false,
    }
}

/// True if there are pointers in it, however deep.
fn leads_on(header: &Header, shape: &Shape) -> bool {
    fn any<'a>(header: &'a Header, shape: &'a Shape, seen: &mut BTreeSet<&'a str>) -> bool {
        match shape {
            Shape::Pointer(_) | Shape::Function(_) => true,
            Shape::Array(element, _) => any(header, &element.shape, seen),
            Shape::Record(key) if seen.insert(key) => {
                let fields = header.records.get(key).and_then(|record| record.fields.as_ref());
                fields.is_some_and(|fields| fields.iter().any(|field| any(header, &field.kind.shape, seen)))
            }
            _ => false,
        }
    }
    any(header, shape, &mut BTreeSet::new())
}

/// Where the numbers of `key` lie, which begins at `from`: how many bytes, and how long each is. One number is what has no field of its own (a union, whose
/// fields lie over each other), and bit-fields beside each other, as in C's memory model.
fn numbers(header: &Header, key: &str, from: u64, numbers_of: &mut Vec<[u64; 3]>) {
    fn each(header: &Header, kind: &CType) -> u64 {
        match &kind.shape {
            Shape::Array(element, _) => each(header, element),
            // (Of several structures the smallest that any of their numbers can be.)
            Shape::Record(key) => {
                let own = header.records.get(key).filter(|record| has_fields(header, record));
                let fields = own.and_then(|record| record.fields.as_ref()).into_iter().flatten();
                fields.map(|field| each(header, &field.kind)).min().unwrap_or(1)
            }
            _ => kind.size,
        }
    }
    let Some(record) = header.records.get(key) else { return };
    if !has_fields(header, record) {
        numbers_of.push([from, record.size, record.size.max(1)]);
        return;
    }
    let (mut end, mut bits) = (0, false);
    let whole = [(None, &record.size)];
    let fields = record.fields.iter().flatten().map(Some).zip(&record.offsets).chain(whole);
    for (field, &at) in fields {
        // (That of a bit-field is not in bytes.)
        if record.bit_fields && field.is_some_and(|field| field.kind.size == 0) {
            bits = true;
            continue;
        }
        if std::mem::take(&mut bits) && at > end {
            numbers_of.push([from + end, at - end, at - end]);
        }
        let Some(field) = field else { break };
        match &field.kind.shape {
            Shape::Record(key) if header.records.contains_key(key) => {
                numbers(header, key, from + at, numbers_of);
            }
            _ => numbers_of.push([from + at, field.kind.size, each(header, &field.kind).max(1)]),
        }
        end = at + field.kind.size;
    }
}

/// True if its fields are told apart.
fn has_fields(header: &Header, record: &Record) -> bool {
    let fields = record.fields.as_deref().unwrap_or_default();
    let follows = fields.iter().any(|field| leads_on(header, &field.kind.shape));
    !fields.is_empty() && (follows || (!record.union && record.arms.is_empty()))
}

/// Marks buffers and the fields that say how large they are, or how much of them is written: of a buffer that the library does not have it has nothing to say.
fn mark_buffers(fields: &mut [FieldPlan]) {
    let mut names: Vec<String> = Vec::new();
    for field in fields.iter() {
        if let Passing::Buffer(buffer) = &field.passing {
            names.push(field.name.clone());
            let said = buffer.size.iter().chain(&buffer.written);
            names.extend(said.flat_map(Expression::names).map(str::to_owned));
        }
    }
    for field in fields {
        field.of_buffer = names.contains(&field.name);
    }
}
