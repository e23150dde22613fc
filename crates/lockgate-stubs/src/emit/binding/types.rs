//! The types that an API declares, for printers that write them one after the other.
use super::{Closure, surface::Surface};
use crate::plan::RecordPlan;

/// A type.
pub struct Type<'a> {
    /// Its name in the API.
    pub name: String,
    /// What it is.
    pub what: What<'a>,
}

/// What a type is.
pub enum What<'a> {
    /// An enumeration with these values.
    Enumeration(&'a str, &'a [(String, i128)]),
    /// The type of handles of this number.
    Handle(usize),
    /// A structure of numbers, as C has it.
    Plain(&'a str, &'a RecordPlan),
    /// A structure with pointers, which programs see in another form.
    Texts(&'a str, &'a RecordPlan),
    /// A structure that the library remembers.
    Kept(&'a str, &'a RecordPlan),
    /// A function that the library calls.
    Closure(Closure<'a>),
}

impl Type<'_> {
    /// Names of its fields, or of its values.
    pub fn inner(&self) -> impl Iterator<Item = &str> {
        let (values, fields) = match &self.what {
            What::Enumeration(_, values) => (*values, [].as_slice()),
            What::Plain(_, record) | What::Texts(_, record) | What::Kept(_, record) => {
                ([].as_slice(), &*record.fields)
            }
            What::Handle(_) | What::Closure(_) => ([].as_slice(), [].as_slice()),
        };
        values.iter().map(|(name, _)| name.as_str()).chain(fields.iter().map(|field| field.name.as_str()))
    }
}

impl<'a> Surface<'a> {
    /// All types of the API; its structures as they are given in `keys`.
    pub fn types(&self, keys: impl IntoIterator<Item = &'a str>) -> Vec<Type<'a>> {
        let kept = self.kept();
        let enumerations = self.enumerations().into_iter().map(|key| {
            let name = crate::name::word(key.trim_start_matches("enum "));
            Type { name, what: What::Enumeration(key, &self.plan.enumerations[key]) }
        });
        let handles = (1..=self.plan.handles.len())
            .map(|number| Type { name: self.handle(number), what: What::Handle(number) });
        let records = keys.into_iter().map(|key| {
            let record = &self.plan.records[key];
            let what = match (kept.contains(key), record.is_plain()) {
                (true, _) => What::Kept(key, record),
                (false, true) => What::Plain(key, record),
                (false, false) => What::Texts(key, record),
            };
            Type { name: self.record(key), what }
        });
        let closures = self.callbacks().into_iter().map(|callback| {
            let form = self.closure(callback);
            Type { name: form.name.clone(), what: What::Closure(form) }
        });
        enumerations.chain(handles).chain(records).chain(closures).collect()
    }
}
