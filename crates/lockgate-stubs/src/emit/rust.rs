//! Bindings for Rust: every function with its type, over the `lockgate` crate.
//!
//! Rust has no API to keep, so that nothing is copied behind its back: buffers are `Domain::alloc_slice` or grants, results are
//! `Tainted` where they must be looked at.
use super::{File, Target};
use crate::header::model::{CType, Prototype, Shape};
use crate::plan::{Plan, word};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Parameters that `lockgate::Function` takes.
const MOST: usize = 12;

/// The bindings, in one file.
pub fn client(plan: &Plan, target: &Target) -> File {
    let name = super::library_name(plan, target);
    let mut structures = Structures { plan, written: BTreeMap::new() };
    let (mut fields, mut binds, mut left_out) = (String::new(), String::new(), String::new());
    for function in &plan.functions {
        match structures.function(&function.prototype) {
            Ok(kind) => {
                let field = field(&function.name);
                let _ = writeln!(fields, "    /// `{}`\n    pub {field}: Function<{kind}>,", function.name);
                let _ = writeln!(binds, "            {field}: domain.bind({:?})?,", function.name);
            }
            Err(why) => {
                let _ = writeln!(left_out, "// {}: {why}", function.name);
            }
        }
    }
    let mut text = format!(
        "//! {name}: made by `lockgate stubs`, do not edit.\n#![allow(unused_imports, dead_code, non_snake_case, missing_docs)]\n\
         use lockgate::{{BindError, Domain, Function, Pointer, Tainted}};\n"
    );
    for handle in &plan.handles {
        let _ = write!(
            text,
            "\n/// What handles of `{handle}` point to.\n#[derive(Debug)]\npub enum {} {{}}\n",
            type_name(handle)
        );
    }
    for structure in structures.written.values().flatten() {
        text += structure;
    }
    let library = type_name(&name);
    let _ = write!(
        text,
        "\n/// The functions of one domain.\npub struct {library} {{\n{fields}}}\n\nimpl {library} {{\n    /// Binds all of them.\n    \
         pub fn bind(domain: &Domain) -> Result<Self, BindError> {{\n        Ok({library} {{\n{binds}        }})\n    }}\n}}\n"
    );
    if !left_out.is_empty() {
        let _ = write!(text, "\n// Left out:\n{left_out}");
    }
    File { name: format!("{}.rs", word(&name)), text }
}

/// Structures that cross by value, by key: `None` for what `lockgate::structure!` cannot be.
struct Structures<'a> {
    plan: &'a Plan,
    written: BTreeMap<String, Option<String>>,
}

impl Structures<'_> {
    fn function(&mut self, prototype: &Prototype) -> Result<String, String> {
        if prototype.variadic {
            return Err("variable arguments".to_owned());
        }
        if prototype.parameters.len() > MOST {
            return Err(format!("more than {MOST} parameters"));
        }
        let parameters =
            prototype.parameters.iter().map(|p| self.kind(&p.kind)).collect::<Result<Vec<_>, _>>()?;
        let result = match prototype.result.shape {
            Shape::Void => String::new(),
            Shape::Record(_)
            | Shape::Float
            | Shape::Integer { .. }
            | Shape::Pointer(_)
            | Shape::Function(_) => {
                format!(" -> Tainted<{}>", self.kind(&prototype.result)?)
            }
            _ => return Err(format!("its result, `{}`", prototype.result.spelling)),
        };
        Ok(format!("extern \"C\" fn({}){result}", parameters.join(", ")))
    }

    fn kind(&mut self, kind: &CType) -> Result<String, String> {
        match &kind.shape {
            Shape::Integer { signed, .. } => {
                Ok(format!("{}{}", if *signed { "i" } else { "u" }, kind.size * 8))
            }
            Shape::Float => Ok(format!("f{}", kind.size * 8)),
            Shape::Pointer(to) => Ok(format!("Pointer<{}>", self.pointee(to))),
            Shape::Function(_) => Ok("Pointer<u8>".to_owned()),
            Shape::Record(key) => self.structure(key),
            _ => Err(format!("`{}`", kind.spelling)),
        }
    }

    /// What a pointer points to, as far as it has a type in Rust; bytes otherwise.
    fn pointee(&mut self, to: &CType) -> String {
        match &to.shape {
            Shape::Record(key) if self.plan.handles.contains(key) => type_name(key),
            _ => self.kind(to).unwrap_or_else(|_| "u8".to_owned()),
        }
    }

    fn structure(&mut self, key: &str) -> Result<String, String> {
        let name = type_name(key);
        let refused = || format!("`{key}` by value: padding, pointers or arrays in it");
        if let Some(known) = self.written.get(key) {
            return known.as_ref().map(|_| name).ok_or_else(refused);
        }
        self.written.insert(key.to_owned(), None);
        let record =
            self.plan.records.get(key).filter(|record| record.is_plain() && !record.fields.is_empty());
        let fields = record.ok_or_else(refused)?.fields.clone();
        let padded = fields.iter().map(|field| field.kind.size).sum::<u64>() != self.plan.records[key].size;
        let mut text = format!("\nlockgate::structure! {{\n    /// `{key}`\n    pub struct {name} {{\n");
        for own in &fields {
            if matches!(own.kind.shape, Shape::Array(..)) || padded {
                return Err(refused());
            }
            let kind = self.kind(&own.kind)?;
            let _ = writeln!(
                text,
                "        /// Field `{0}`.\n        pub {1}: {kind},",
                own.name,
                field(&own.name)
            );
        }
        self.written.insert(key.to_owned(), Some(text + "    }\n}\n"));
        Ok(name)
    }
}

/// A name that Rust may take for something else.
fn field(name: &str) -> String {
    const KEYWORDS: &[&str] = &[
        "as", "async", "await", "box", "dyn", "fn", "impl", "in", "let", "loop", "match", "mod", "move",
        "mut", "pub", "ref", "self", "super", "trait", "try", "type", "unsafe", "use", "where", "yield",
    ];
    if KEYWORDS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// `struct z_stream_s` as `ZStreamS`.
fn type_name(name: &str) -> String {
    let parts = word(name).split('_').map(str::to_owned).collect::<Vec<_>>();
    let capital = |part: &String| part[..1].to_uppercase() + &part[1..];
    parts.iter().filter(|part| !part.is_empty()).map(capital).collect()
}
