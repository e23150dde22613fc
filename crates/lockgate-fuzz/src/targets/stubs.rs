//! The stub generator on headers that no compiler would pass, and annotations that contradict each other: a client, or a refusal that says
//! why; each function is in one of the two, and what is written is well-formed.

use crate::Target;
use arbitrary::{Result, Unstructured};
use lockgate_stubs::annotation::Notes;
use lockgate_stubs::emit;
use lockgate_stubs::header::model::{
    CType, Extent, Function, Header, Parameter, Place, Prototype, Record, Shape,
};
use lockgate_stubs::plan::{Outcome, Passing, Plan, plan};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// See [`check`].
pub const TARGET: Target = Target {
    name: "stubs",
    run: |input| check(input, emit::c::client),
    longest: 512,
    memory: 16 << 20,
    near: 1000,
    tokens: &[],
};

/// What writes a client in C.
pub type Emit = fn(&Plan, &emit::Target) -> Vec<emit::File>;

/// The input is a header, by choices. Returns the number of functions.
///
/// # Panics
/// A function was forgotten, or a file is malformed.
pub fn check(input: &[u8], emit: Emit) -> u64 {
    let header = header(&mut Unstructured::new(input)).unwrap_or_default();
    let plan = plan(&header);
    let target = emit::Target {
        header: "fuzz.h".into(),
        module: "fuzz.lg".into(),
        defines: vec![],
        includes: vec![],
        failing_stubs: input.len().is_multiple_of(2),
        knows_cpp: input.len().is_multiple_of(3),
    };
    let stubs: BTreeSet<&str> = plan.functions.iter().map(|function| &*function.name).collect();
    let without = plan
        .refusals
        .iter()
        .map(|refusal| &*refusal.function)
        .chain(plan.omitted.iter().map(|(name, _)| &**name));
    let without: BTreeSet<&str> = without.collect();
    for function in &header.functions {
        let (stub, none) = (stubs.contains(&*function.name), without.contains(&*function.name));
        assert!(stub != none, "{}: a stub: {stub}, a reason for none: {none}", function.name);
    }
    for refusal in &plan.refusals {
        assert!(!refusal.reason.is_empty() && !refusal.remedy.is_empty(), "{refusal:?}");
    }
    nothing_leads_on(&header, &plan);
    let c = emit(&plan, &target);
    // They are refused where two things would have one name.
    let or_none = |files: Result<Vec<emit::File>, String>| {
        files.unwrap_or_else(|reason| {
            assert!(!reason.is_empty());
            Vec::new()
        })
    };
    let rust = or_none(emit::rust::client(&plan, &target));
    let python = or_none(emit::python::client(&plan, &target));
    for file in c.iter().chain(&rust).chain(&python) {
        well_formed(file);
    }
    for name in stubs {
        assert!(c.iter().any(|file| file.text.contains(name)), "{name}: not in the client");
    }
    header.functions.len().max(1) as u64
}

/// What crosses as it is has no pointers in it: no check would look at them.
fn nothing_leads_on(header: &Header, plan: &Plan) {
    fn leads_on(header: &Header, shape: &Shape, seen: &mut BTreeSet<String>) -> bool {
        match shape {
            Shape::Pointer(_) | Shape::Function(_) => true,
            Shape::Array(element, _) => leads_on(header, &element.shape, seen),
            // (A structure may be in itself here, though C would not have it.)
            Shape::Record(key) if seen.insert(key.clone()) => {
                let fields = header.records.get(key).and_then(|record| record.fields.as_ref());
                fields.is_some_and(|fields| {
                    fields.iter().any(|field| leads_on(header, &field.kind.shape, seen))
                })
            }
            _ => false,
        }
    }
    let leads_on = |shape: &Shape| leads_on(header, shape, &mut BTreeSet::new());
    let bare = |kind: &CType| assert!(!leads_on(&kind.shape), "{} crosses as it is", kind.spelling);
    let copied = |kind: &CType| kind.pointee().into_iter().for_each(bare);
    let out = |kind: &CType, outcome: &Outcome| match outcome {
        Outcome::Value => bare(kind),
        Outcome::Memory { .. } => copied(kind),
        _ => {}
    };
    let into = |kind: &CType, passing: &Passing| match passing {
        Passing::Value => bare(kind),
        Passing::Buffer(_) => copied(kind),
        _ => {}
    };
    for function in &plan.functions {
        for (parameter, passing) in function.prototype.parameters.iter().zip(&function.parameters) {
            into(&parameter.kind, passing);
        }
        out(&function.prototype.result, &function.result);
    }
    for callback in plan.callbacks.values() {
        for (parameter, outcome) in callback.prototype.parameters.iter().zip(&callback.parameters) {
            out(&parameter.kind, outcome);
        }
        into(&callback.prototype.result, &callback.result);
    }
    for (key, record) in &plan.records {
        let plain = record.is_plain();
        assert!(!plain || !leads_on(&Shape::Record(key.clone())), "{key} counts as plain");
        for field in &record.fields {
            into(&field.kind, &field.passing);
            out(&field.kind, &field.outcome);
        }
    }
}

/// A name within its folder, text that can be read, and in C every bracket closed.
fn well_formed(file: &emit::File) {
    thread_local!(static SEEN: RefCell<BTreeMap<String, String>> = RefCell::default());
    // The runtime's files are the same in every client.
    if SEEN.with_borrow(|seen| seen.get(&file.name) == Some(&file.text)) {
        return;
    }
    let control = |c: char| c.is_control() && !['\n', '\t'].contains(&c);
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let odd = if file.text.bytes().all(plain) { None } else { file.text.chars().find(|c| control(*c)) };
    assert!(odd.is_none() && !file.name.contains(".."), "{}: {odd:?}", file.name);
    if file.name.ends_with(".c") || file.name.ends_with(".h") {
        balanced(file);
    }
    SEEN.with_borrow_mut(|seen| match seen.get_mut(&file.name) {
        Some(text) => text.clone_from(&file.text),
        None => drop(seen.insert(file.name.clone(), file.text.clone())),
    });
}

/// Every bracket of a file in C is closed.
fn balanced(file: &emit::File) {
    let text = file.text.as_bytes();
    let (mut open, mut at) = (Vec::new(), 0);
    let skip_to = |from: usize, end: &[u8]| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest
            .windows(end.len())
            .position(|bytes| bytes == end)
            .map_or(rest.len(), |found| found + end.len())
    };
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' | b'\'' => {
                while let Some(&inside) = text.get(at) {
                    at += if inside == b'\\' { 2 } else { 1 };
                    if inside == byte {
                        break;
                    }
                }
            }
            b'/' if text.get(at) == Some(&b'*') => at = skip_to(at + 1, b"*/"),
            b'/' if text.get(at) == Some(&b'/') => at = skip_to(at, b"\n"),
            b'(' => open.push(b')'),
            b'[' => open.push(b']'),
            b'{' => open.push(b'}'),
            b')' | b']' | b'}' => assert_eq!(open.pop(), Some(byte), "{}:\n{}", file.name, file.text),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{}: {open:?} missing:\n{}", file.name, file.text);
}

const NAMES: [&str; 8] = ["a", "b", "n", "s", "h", "size", "r", "data"];
const NOTES: [&str; 41] = [
    "in",
    "out",
    "inout",
    "size:n",
    "size:*n",
    "size:n * 4 + 1",
    "size:s->n",
    "size:strlen(s)",
    "size:lg_told(f0, h, lg_result)",
    "written:lg_result",
    "at_most:n",
    "error:-1",
    "error:0",
    "policy:LG_INTEGRITY",
    "omit:because",
    "within:s",
    "until:h",
    "shown:h",
    "rows:n",
    "format:f1,s,p",
    "jump_buffer:h",
    "lent",
    "dispose:s,0",
    "cursor",
    "string",
    "strings",
    "nullable",
    "null",
    "ignore",
    "opaque",
    "borrowed",
    "release",
    "kept",
    "shared",
    "inside",
    "callback",
    "data",
    "errno",
    "printf",
    "jump",
    "jumps",
];
const RECORDS: [&str; 3] = ["struct r0", "struct r1", "union r2"];

fn header(input: &mut Unstructured<'_>) -> Result<Header> {
    let mut header = Header::default();
    for (number, key) in RECORDS.into_iter().enumerate() {
        // By value only what was complete before.
        let fields = (0..input.int_in_range(0..=3)?)
            .map(|_| parameter(input, 2, number))
            .collect::<Result<Vec<_>>>()?;
        let record = Record {
            key: key.into(),
            spelling: key.into(),
            union: number == 2,
            size: input.int_in_range(0..=64)?,
            alignment: 8,
            offsets: (0..fields.len() as u64).map(|place| 16 * place).collect(),
            arms: BTreeSet::new(),
            lost: None,
            fields: input.ratio(3, 4)?.then_some(fields),
            bit_fields: input.ratio(1, 16)?,
        };
        header.records.insert(key.into(), record);
    }
    for name in ["t0", "t1"] {
        header.types.insert(name.into(), notes(input)?);
        header.callbacks.insert(name.into(), prototype(input, 2)?);
    }
    for number in 0..input.int_in_range(1..=4)? {
        header.functions.push(Function {
            name: format!("f{number}"),
            prototype: prototype(input, 3)?,
            notes: notes(input)?,
            place: Place { file: "fuzz.h".into(), line: number },
            comment: input.ratio(1, 8)?.then(|| "What it does. */ \" \\ \u{e4}".into()),
        });
    }
    Ok(header)
}

fn notes(input: &mut Unstructured<'_>) -> Result<Notes> {
    let mut notes = Notes::default();
    for _ in 0..input.int_in_range(0..=3)? {
        let before = notes.clone();
        if notes.add(input.choose(&NOTES)?).is_err() {
            notes = before;
        }
    }
    Ok(notes)
}

fn prototype(input: &mut Unstructured<'_>, depth: u8) -> Result<Prototype> {
    let result = kind(input, depth, RECORDS.len())?;
    let mut parameters = (0..input.int_in_range(0..=4)?)
        .map(|_| parameter(input, depth, RECORDS.len()))
        .collect::<Result<Vec<_>>>()?;
    let mut seen = BTreeSet::new();
    parameters.retain(|parameter| seen.insert(parameter.name.clone()));
    Ok(Prototype {
        result,
        parameters,
        variadic: input.ratio(1, 8)?,
        noreturn: input.ratio(1, 16)?,
        foreign: false,
        never_null: false,
        aligned: input.ratio(1, 16)?,
        silent: input.ratio(1, 16)?,
        format: false,
        made: false,
    })
}

fn parameter(input: &mut Unstructured<'_>, depth: u8, complete: usize) -> Result<Parameter> {
    Ok(Parameter {
        name: (*input.choose(&NAMES)?).into(),
        kind: kind(input, depth, complete)?,
        notes: notes(input)?,
        extent: match input.int_in_range(0..=7)? {
            0 => Some(Extent::Of(input.arbitrary()?)),
            1 => Some(Extent::Open),
            _ => None,
        },
    })
}

/// A type. By value it may have the first `complete` of the records.
fn kind(input: &mut Unstructured<'_>, depth: u8, complete: usize) -> Result<CType> {
    let last = if depth == 0 { 6 } else { 10 };
    let (shape, size, spelling) = match input.int_in_range(0..=last)? {
        0 => (Shape::Void, 0, "void".into()),
        1 | 2 => (Shape::Integer { signed: true, character: false, plain: false }, 4, "int".into()),
        3 => (Shape::Integer { signed: false, character: false, plain: false }, 8, "unsigned long".into()),
        4 => (Shape::Integer { signed: true, character: true, plain: true }, 1, "char".into()),
        5 => (Shape::Float, 8, "double".into()),
        6 => {
            let key = RECORDS[..complete]
                .get(usize::from(input.arbitrary::<u8>()?) % RECORDS.len())
                .unwrap_or(&"struct unknown");
            let key = *key;
            (Shape::Record(key.into()), 16, key.into())
        }
        7 | 8 => {
            let to = kind(input, depth - 1, RECORDS.len())?;
            let spelling = format!("{} *", to.spelling);
            (Shape::Pointer(Box::new(to)), 8, spelling)
        }
        9 => (Shape::Function(Box::new(prototype(input, depth - 1)?)), 8, "t0".into()),
        _ => {
            let of = kind(input, depth - 1, complete)?;
            let count = input.int_in_range(0..=3)?;
            (Shape::Array(Box::new(of), count), 8 * count, "t1".into())
        }
    };
    let names = if input.ratio(1, 8)? { vec![(*input.choose(&["t0", "t1"])?).into()] } else { vec![] };
    Ok(CType { spelling, names, constant: input.ratio(1, 4)?, size, shape, enumeration: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    fn kind(shape: Shape, size: u64, spelling: &str) -> CType {
        let (spelling, names) = (spelling.into(), vec![]);
        CType { spelling, names, constant: false, size, shape, enumeration: None }
    }

    fn noted(name: &str, kind: CType, note: &str) -> Parameter {
        let mut notes = Notes::default();
        notes.add(note).expect("an annotation");
        Parameter::new(name, kind, notes)
    }

    fn plain(result: CType, parameters: Vec<Parameter>) -> Prototype {
        Prototype {
            result,
            parameters,
            variadic: false,
            noreturn: false,
            foreign: false,
            never_null: false,
            aligned: false,
            silent: false,
            format: false,
            made: false,
        }
    }

    const PAIR: &str = "struct pair";

    /// `void f(parameter)`, and a structure of one field.
    fn header_of(field: Parameter, parameter: Parameter) -> Header {
        let mut header = Header::default();
        let (key, spelling) = (PAIR.to_owned(), PAIR.to_owned());
        let record = Record {
            key,
            spelling,
            union: false,
            size: 8,
            alignment: 8,
            fields: Some(vec![field]),
            offsets: vec![0],
            arms: BTreeSet::new(),
            bit_fields: false,
            lost: None,
        };
        header.records.insert(PAIR.into(), record);
        let result = kind(Shape::Void, 0, "void");
        header.functions.push(Function {
            name: "f".into(),
            prototype: plain(result, vec![parameter]),
            notes: Notes::default(),
            place: Place::default(),
            comment: None,
        });
        header
    }

    /// It passes as zeros of its own type: the client has to know that.
    #[test]
    fn a_structure_that_is_ignored_has_a_type() {
        let integer = kind(Shape::Integer { signed: true, character: false, plain: false }, 8, "long");
        let pair = kind(Shape::Record(PAIR.into()), 8, PAIR);
        let field = Parameter::new("x", integer, Notes::default());
        let plan = plan(&header_of(field, noted("p", pair, "ignore")));
        assert!(plan.refusals.is_empty() && plan.records.contains_key(PAIR), "{:?}", plan.refusals);
    }

    #[test]
    fn a_pointer_that_crosses_as_it_is_is_noticed() {
        let character = kind(Shape::Integer { signed: true, character: true, plain: true }, 1, "char");
        let text = kind(Shape::Pointer(Box::new(character)), 8, "char *");
        let pair = kind(Shape::Record(PAIR.into()), 8, PAIR);
        let pointer = kind(Shape::Pointer(Box::new(pair)), 8, "struct pair *");
        let header = header_of(noted("x", text, "string"), noted("p", pointer, "in"));
        let mut plan = plan(&header);
        nothing_leads_on(&header, &plan);
        plan.records.get_mut(PAIR).expect("it is planned").fields.clear();
        let noticed = std::panic::catch_unwind(|| nothing_leads_on(&header, &plan));
        assert!(noticed.is_err(), "nobody noticed");
    }

    /// No C says so, but what reads headers must not run out of stack.
    #[test]
    fn a_callback_that_is_given_itself_is_refused() {
        let kind = |shape, names: &[&str]| CType {
            spelling: "t0".into(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            constant: false,
            size: 8,
            shape,
            enumeration: None,
        };
        let prototype = |parameters| plain(kind(Shape::Void, &[]), parameters);
        let function = kind(Shape::Function(Box::new(prototype(vec![]))), &["t0"]);
        let itself = Parameter::new("p", function, Notes::default());
        let mut header = Header::default();
        header.callbacks.insert("t0".into(), prototype(vec![itself.clone()]));
        header.functions.push(Function {
            name: "f".into(),
            prototype: prototype(vec![itself]),
            notes: Notes::default(),
            place: Place::default(),
            comment: None,
        });
        let refusals = plan(&header).refusals;
        assert!(refusals.iter().any(|refusal| refusal.reason.contains("its own type")), "{refusals:?}");
    }

    #[test]
    fn a_bracket_that_is_missing_is_noticed() {
        notices(&TARGET, |input| {
            check(input, |plan, target| {
                let mut files = emit::c::client(plan, target);
                for file in &mut files {
                    file.text = file.text.replacen("});", ");", 1).replacen("if (", "if ", 1);
                }
                files
            })
        });
    }
}
