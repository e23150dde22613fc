//! Whether what crosses is the same thing on both sides: the program's C library is another one than the module's, and some of its types
//! are laid out otherwise (`regmatch_t`, `struct rusage`).
use super::{LeftOut, Plan, Refusal, or_omit};
use crate::header::model::{CType, Header, Parameter, Prototype, Record, Shape};
use std::collections::{BTreeSet, HashMap};

impl Plan {
    /// Refuses the functions of which something crosses that is another thing with the headers that the module is compiled with,
    /// `inside`, than with the program's, `header`. What `inside` does not declare no module has.
    pub fn hold_against(&mut self, header: &Header, inside: &Header) {
        let mut names: Vec<&String> = self.functions.iter().map(|function| &function.name).collect();
        names.extend(self.gates.iter().map(|gate| &gate.name));
        let mut refused = Vec::new();
        for name in names {
            let declared = (header.functions.named(name), inside.functions.named(name));
            let (Some(here), Some(there)) = declared else { continue };
            let mut sides = Sides { plan: self, here: header, there: inside, known: BTreeSet::new() };
            if let Some(what) = sides.prototype(&here.prototype, &there.prototype) {
                refused.push(Refusal {
                    place: here.place.clone(),
                    function: name.clone(),
                    declaration: name.clone(),
                    reason: format!(
                        "{what} with the headers of the domain's C library, and not with the program's"
                    ),
                    remedy: or_omit("pass a type of your own, whose layout no C library decides"),
                });
            }
        }
        let reasons: HashMap<&str, &String> =
            refused.iter().map(|refusal| (&*refusal.function, &refusal.reason)).collect();
        let all = std::mem::take(&mut self.functions);
        let (left_out, kept) = all.into_iter().partition(|function| reasons.contains_key(&*function.name));
        self.functions = kept;
        self.left_out.extend(left_out.into_iter().map(|function| LeftOut {
            reason: reasons[&*function.name].clone(),
            name: function.name,
            prototype: function.prototype,
            error: function.error,
        }));
        self.refusals.extend(refused);
        self.facts.take();
    }
}

/// One declaration as both sides read it.
struct Sides<'h> {
    plan: &'h Plan,
    here: &'h Header,
    there: &'h Header,
    /// Structures that were compared.
    known: BTreeSet<&'h str>,
}

impl<'h> Sides<'h> {
    /// What differs.
    fn prototype(&mut self, here: &'h Prototype, there: &'h Prototype) -> Option<String> {
        if here.parameters.len() != there.parameters.len() || here.variadic != there.variadic {
            return Some("it takes other parameters".to_owned());
        }
        let parameters = here.parameters.iter().zip(&there.parameters);
        let differs = self.kind(&here.result, &there.result);
        differs
            .or_else(|| parameters.into_iter().find_map(|(here, there)| self.kind(&here.kind, &there.kind)))
    }

    fn kind(&mut self, here: &'h CType, there: &'h CType) -> Option<String> {
        let size = || format!("`{}` has {} bytes", here.spelling, there.size);
        match (&here.shape, &there.shape) {
            (Shape::Void, Shape::Void) | (Shape::Unsupported(_), Shape::Unsupported(_)) => None,
            (Shape::Float, Shape::Float) => (here.size != there.size).then(size),
            (Shape::Integer { signed: one, .. }, Shape::Integer { signed: other, .. }) => {
                let sign = || format!("`{}` has another sign", here.spelling);
                if here.size != there.size { Some(size()) } else { (one != other).then(sign) }
            }
            // What the program only passes on is as the library has it.
            (Shape::Pointer(to), _) if !self.crosses(to) => None,
            (Shape::Pointer(here), Shape::Pointer(there)) => self.kind(here, there),
            (Shape::Function(here), Shape::Function(there)) => self.prototype(here, there),
            (Shape::Array(one, count), Shape::Array(other, counted)) => match count == counted {
                true => self.kind(one, other),
                false => Some(format!("`{}` has {counted} elements", here.spelling)),
            },
            (Shape::Record(key), Shape::Record(other)) => {
                match (self.here.records.get(key), self.there.records.get(other)) {
                    (Some(here), Some(there)) => self.record(here, there),
                    _ => None,
                }
            }
            _ => Some(format!("`{}` is `{}`", here.spelling, there.spelling)),
        }
    }

    /// What is behind a pointer goes from one side to the other.
    fn crosses(&self, to: &CType) -> bool {
        match &to.shape {
            Shape::Record(key) => self.plan.records.contains_key(key),
            // (`jmp_buf`, which no stub passes.)
            Shape::Array(element, _) => self.crosses(element),
            _ => true,
        }
    }

    fn record(&mut self, here: &'h Record, there: &'h Record) -> Option<String> {
        if !self.known.insert(&here.key) {
            return None;
        }
        if here.size != there.size {
            return Some(format!("{} has {} bytes (not {})", here.spelling, there.size, here.size));
        }
        // (musl has bit-fields of no bits between others.)
        let fields = |record: &'h Record| -> Vec<&'h Parameter> {
            let all = record.fields.iter().flatten();
            all.filter(|field| !(field.name.is_empty() && field.kind.size == 0)).collect()
        };
        let (one, other) = (fields(here), fields(there));
        // What begins with `_` is the C library's own affair.
        let reserved = |field: &Parameter| field.name.starts_with('_');
        for (place, field) in one.iter().enumerate() {
            let known = other.get(place);
            let alike = |known: &&&Parameter| {
                known.name == field.name || reserved(field) || reserved(known) || field.name.is_empty()
            };
            let Some(known) = known.filter(alike) else {
                return Some(format!("{} has no field {} in this place", here.spelling, field.name));
            };
            // (Of padding only the room counts.)
            let padding = reserved(field) && reserved(known) && field.kind.size == known.kind.size;
            if padding {
                continue;
            }
            if let Some(what) = self.kind(&field.kind, &known.kind) {
                return Some(format!("{}, field {}: {what}", here.spelling, field.name));
            }
        }
        (one.len() != other.len()).then(|| format!("{} has other fields", here.spelling))
    }
}
