//! What of an API has a form in such a language, and what its types are called. What has none is left out, with the reason.
use super::layout::{Form, form};
use super::{CopyIn, Cursor};
use crate::emit::{Target, name_of};
use crate::expression::Expression;
use crate::header::model::{CType, Shape, Value};
use crate::plan::{Buffer, CallbackPlan, FieldPlan, FunctionPlan, Outcome, Passing, Plan, RecordPlan};
use std::collections::{BTreeMap, BTreeSet};

/// An API for bindings.
pub struct Surface<'a> {
    /// The plan that the client in C is made from, too.
    pub plan: &'a Plan,
    /// The library's name, a word of C.
    pub name: String,
    /// Functions that have a form.
    pub functions: Vec<&'a FunctionPlan>,
    /// The others, and why not.
    pub left_out: Vec<(String, String)>,
    /// Names of handles by number, as the API's programs know them.
    handles: BTreeMap<usize, String>,
    /// Names of records by key, likewise.
    records: BTreeMap<String, String>,
    /// Names of types of callbacks without a typedef: of the first function that takes one, and its parameter.
    closures: BTreeMap<&'a str, String>,
}

impl<'a> Surface<'a> {
    /// The form of all that has one.
    pub fn of(plan: &'a Plan, target: &Target) -> Surface<'a> {
        let name = crate::name::word(&name_of(plan, target));
        let mut surface = Surface {
            plan,
            name,
            functions: Vec::new(),
            left_out: plan.left_out.iter().map(|left| (left.name.clone(), left.reason.clone())).collect(),
            handles: BTreeMap::new(),
            records: BTreeMap::new(),
            closures: BTreeMap::new(),
        };
        for function in &plan.functions {
            match surface.unsuited(function) {
                None => surface.functions.push(function),
                Some(why) => surface.left_out.push((function.name.clone(), why)),
            }
        }
        let functions = surface.functions.clone();
        for function in functions {
            let prototype = &function.prototype;
            surface.learn_names(prototype.parameters.iter().map(|p| &p.kind).chain([&prototype.result]));
            for (parameter, passing) in prototype.parameters.iter().zip(&function.parameters) {
                if let Passing::Callback { name } = passing
                    && !parameter.kind.names.contains(name)
                {
                    let shown = format!("{}_{}", function.name, parameter.name);
                    surface.closures.entry(name).or_insert(shown);
                }
            }
        }
        for callback in plan.callbacks.values() {
            surface.learn_names(callback.prototype.parameters.iter().map(|p| &p.kind));
        }
        surface
    }

    /// What the API's own programs call handles and structures: the first typedef.
    fn learn_names<'k>(&mut self, kinds: impl Iterator<Item = &'k CType>) {
        for kind in kinds {
            // Through `T **`, too.
            let mut pointer = kind;
            while let Some(to) = pointer.pointee().filter(|to| to.pointee().is_some()) {
                pointer = to;
            }
            let to = pointer.pointee().unwrap_or(pointer);
            if pointer.pointee().is_some() {
                let handle = crate::plan::handle_name(pointer);
                if let Some(number) = self.plan.handles.iter().position(|known| *known == handle) {
                    let name = pointer.names.first().or(to.names.first()).unwrap_or(&handle);
                    self.handles.entry(number + 1).or_insert_with(|| crate::name::word(name));
                }
            }
            if let Shape::Record(key) = &to.shape {
                let name = to.names.first().cloned().unwrap_or_else(|| portable(key));
                self.records.entry(key.clone()).or_insert_with(|| crate::name::word(&name));
            }
        }
    }

    /// The name of a type of handles.
    pub fn handle(&self, number: usize) -> String {
        let plain = || crate::name::word(&self.plan.handles[number - 1]);
        self.handles.get(&number).cloned().unwrap_or_else(plain)
    }

    /// The name of a type of callbacks.
    pub fn closure_name(&self, name: &str) -> String {
        self.closures.get(name).map_or_else(|| name.to_owned(), Clone::clone)
    }

    /// The name of a structure.
    pub fn record(&self, key: &str) -> String {
        self.records.get(key).cloned().unwrap_or_else(|| crate::name::word(&portable(key)))
    }

    /// Callbacks of functions that have a form.
    pub fn callbacks(&self) -> Vec<&'a CallbackPlan> {
        let passed = |function: &&'a FunctionPlan| {
            function.parameters.iter().filter_map(|passing| match passing {
                Passing::Callback { name } => Some(name.as_str()),
                _ => None,
            })
        };
        let names: BTreeSet<&str> = self.functions.iter().flat_map(passed).collect();
        self.plan.callbacks.values().filter(|callback| names.contains(callback.name.as_str())).collect()
    }

    /// Enumerations that functions and callbacks take or return.
    pub fn enumerations(&self) -> BTreeSet<&'a str> {
        let of_functions = self.functions.iter().map(|f| &f.prototype);
        let of_callbacks = self.callbacks().into_iter().map(|c| &c.prototype);
        let prototypes = of_functions.chain(of_callbacks);
        let kinds = prototypes.flat_map(|p| p.parameters.iter().map(|p| &p.kind).chain([&p.result]));
        let kinds = kinds.map(|kind| kind.pointee().unwrap_or(kind));
        kinds.filter_map(|kind| self.enumeration(kind)).collect()
    }

    /// Structures that functions take or give, and those in them.
    pub fn used(&self) -> BTreeSet<&'a str> {
        let mut used = BTreeSet::new();
        for function in &self.functions {
            let prototype = &function.prototype;
            for kind in prototype.parameters.iter().map(|p| &p.kind).chain([&prototype.result]) {
                self.collect(kind.pointee().unwrap_or(kind), &mut used);
            }
        }
        used
    }

    fn collect(&self, kind: &'a CType, used: &mut BTreeSet<&'a str>) {
        let Shape::Record(key) = &kind.shape else { return };
        if let Some(record) = self.plan.records.get(key)
            && used.insert(key)
        {
            record.fields.iter().for_each(|field| self.collect(&field.kind, used));
        }
    }

    /// The same, what is in a structure before it.
    pub fn inner_first(&self) -> Vec<&'a str> {
        let mut keys = Vec::new();
        self.used().into_iter().for_each(|key| self.place(key, &mut keys));
        keys
    }

    fn place(&self, key: &'a str, placed: &mut Vec<&'a str>) {
        let Some(record) = self.plan.records.get(key).filter(|_| !placed.contains(&key)) else { return };
        for field in &record.fields {
            if let Shape::Record(inner) = &field.kind.shape {
                self.place(inner, placed);
            }
        }
        placed.push(key);
    }

    /// Structures that the library remembers.
    pub fn kept(&self) -> BTreeSet<&'a str> {
        let passed = self.functions.iter().flat_map(|function| &function.parameters);
        let kept = passed.filter_map(|passing| match passing {
            Passing::Record { key, kept: true, .. } => Some(key.as_str()),
            _ => None,
        });
        kept.collect()
    }

    /// The enumeration of a type, if it has values.
    pub fn enumeration<'k>(&self, kind: &'k CType) -> Option<&'k str> {
        let key = kind.enumeration.as_deref()?;
        self.plan.enumerations.get(key).is_some_and(|values| !values.is_empty()).then_some(key)
    }

    /// The function that ends the life of handles of this type: the first one that takes nothing else.
    pub fn release_of(&self, number: usize) -> Option<&'a FunctionPlan> {
        let releases = |function: &&&'a FunctionPlan| matches!(*function.parameters, [Passing::Handle { number: own, release: true, .. }] if own == number);
        self.functions.iter().find(releases).copied()
    }

    /// What documentation says of the end of handles of this type.
    pub fn end_said(&self, number: usize, when: &str) -> String {
        match self.release_of(number) {
            Some(release) => format!("{when}`{}` ends it, unless it is the library's.", release.name),
            None => "The library ends it by itself.".to_owned(),
        }
    }

    /// The function that ends what `function` has begun with a kept structure: the one whose name is most like its own.
    pub fn end_of(&self, key: &str, function: &str) -> Option<&'a str> {
        let ends = self.functions.iter().filter(|candidate| {
            matches!(&*candidate.parameters, [Passing::Record { key: own, kept: true, release: true, .. }] if own == key)
        });
        let alike = |name: &str| name.bytes().zip(function.bytes()).take_while(|(a, b)| a == b).count();
        // The first of those that are equally alike.
        let best = ends.rev().max_by_key(|candidate| alike(&candidate.name));
        best.map(|best| best.name.as_str())
    }

    /// Why a function has no form, if it has none.
    fn unsuited(&self, function: &'a FunctionPlan) -> Option<String> {
        if function.name.starts_with('_') {
            return Some("names with _ before them are the binding's own".to_owned());
        }
        if function.formatted.is_some() {
            return Some("variable arguments".to_owned());
        }
        if function.prototype.noreturn
            || matches!(function.result, Outcome::JumpBuffer { .. } | Outcome::Jump)
        {
            return Some("nothing jumps over frames of this language".to_owned());
        }
        let kinds = function.prototype.parameters.iter().map(|parameter| &parameter.kind);
        let mut records = BTreeSet::new();
        for kind in kinds.chain([&function.prototype.result]) {
            self.collect(kind.pointee().unwrap_or(kind), &mut records);
        }
        if let Some(key) = records.into_iter().find(|key| !self.is_expressible(&self.plan.records[*key])) {
            return Some(format!("{key}: how it is aligned has no form here"));
        }
        let parameters = function.prototype.parameters.iter().enumerate();
        for (number, parameter) in parameters {
            if let Some(why) = self.unsuited_parameter(function, number) {
                return Some(format!("parameter {}: {why}", parameter.name));
            }
        }
        self.unsuited_result(function).map(|why| format!("result: {why}"))
    }

    fn unsuited_parameter(&self, function: &'a FunctionPlan, number: usize) -> Option<String> {
        const POINTERS: &str = "a structure with pointers of a kind that has no form here";
        const SIZE: &str = "its size is what another function says";
        let is_known = |size: &Expression| known(size, &|name| self.is_number(function, name));
        let why = match (self.copy_in(function, number), &function.parameters[number]) {
            (Err(why), _) => why,
            (_, Passing::Buffer(Buffer { shared: true, .. })) => {
                "memory that the library can change has no form here"
            }
            (Ok(CopyIn::Zero), Passing::Data { .. }) if !has_closures(function) => {
                "closures have data of their own"
            }
            (Ok(CopyIn::Slice { size: Some(size), .. }), _) if !is_known(size) => SIZE,
            (Ok(CopyIn::Records { key, .. }), _) if !self.plan.records[key].is_plain() => POINTERS,
            (Ok(CopyIn::Records { size, .. }), _) if !is_known(size) => SIZE,
            (Ok(CopyIn::Record { key, plain: false, reads, writes }), _)
                if reads && writes || !is_readable(&self.plan.records[key]) =>
            {
                POINTERS
            }
            (Ok(CopyIn::Kept { key, .. }), _) if !is_keepable(&self.plan.records[key]) => POINTERS,
            (Ok(CopyIn::Given(_)), Passing::Pointer { after, .. }) => match **after {
                Outcome::String { .. } | Outcome::Handle { .. } => return None,
                Outcome::Within { .. } | Outcome::Inside => return None,
                _ => "what the library gives here has no form",
            },
            (Ok(CopyIn::Closure { name, .. }), _) => {
                return self.unsuited_callback(&self.plan.callbacks[name]);
            }
            _ => return None,
        };
        Some(why.to_owned())
    }

    /// Its fields can be written where they lie, or it is nothing but bytes; and what a language makes of it is aligned as much.
    fn is_expressible(&self, record: &RecordPlan) -> bool {
        // (Python aligns its memory to 16 bytes.)
        record.alignment <= 16 && (record.is_plain() || form(record, self.plan) != Form::Bytes)
    }

    fn unsuited_result(&self, function: &'a FunctionPlan) -> Option<&'static str> {
        match &function.result {
            Outcome::Data { .. } if !has_closures(function) => Some("closures have data of their own"),
            Outcome::Strings { .. } | Outcome::Handles { .. } | Outcome::Filled { .. } => {
                Some("an array of pointers")
            }
            Outcome::Record { key, .. } if !is_readable(&self.plan.records[key]) => {
                Some("a structure with pointers of a kind that has no form here")
            }
            Outcome::Lent { size } if !known(size, &|name| self.is_number(function, name)) => {
                Some("its size is what another function says")
            }
            _ => None,
        }
    }

    fn unsuited_callback(&self, callback: &CallbackPlan) -> Option<String> {
        let parameters = &callback.prototype.parameters;
        let number = |name: &str| parameters.iter().any(|p| p.name == name && p.kind.is_integer());
        for (parameter, outcome) in parameters.iter().zip(&callback.parameters) {
            let suited = match outcome {
                Outcome::Value => matches!(parameter.kind.shape, Shape::Integer { .. } | Shape::Float),
                Outcome::String { .. } | Outcome::Data { .. } | Outcome::Handle { .. } | Outcome::Inside => {
                    true
                }
                Outcome::Strings { count, .. } => count.as_ref().is_none_or(|count| known(count, &number)),
                Outcome::Handles { count, .. } => known(count, &number),
                Outcome::Memory { buffer } => {
                    let plain = element(&parameter.kind).is_none_or(|e| !matches!(e.shape, Shape::Record(_)));
                    plain && buffer.size.as_ref().is_none_or(|size| known(size, &number))
                }
                _ => false,
            };
            if !suited {
                return Some(format!("the callback's parameter {} has no form", parameter.name));
            }
        }
        None
    }

    /// True for names that a size can be computed from before the call.
    fn is_number(&self, function: &'a FunctionPlan, name: &str) -> bool {
        let parameters = &function.prototype.parameters;
        let Some(at) = parameters.iter().position(|parameter| parameter.name == name) else {
            return self.constant(name).is_some();
        };
        matches!(
            self.copy_in(function, at),
            Ok(CopyIn::Number(_)
                | CopyIn::Length(_)
                | CopyIn::Room(_)
                | CopyIn::Text
                | CopyIn::Slice { .. }
                | CopyIn::Scalar { reads: true, .. })
        )
    }

    /// The header's constants. (A macro and an enumerator may have one name: the first counts.)
    pub fn constants(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let mut seen = BTreeSet::new();
        let all = self.plan.constants.iter().map(|(name, value)| (name.as_str(), value));
        // (Others are not the same name to each language.)
        all.filter(move |(name, _)| name.is_ascii() && seen.insert(*name))
    }

    /// An integer constant of the header.
    pub fn constant(&self, name: &str) -> Option<i128> {
        match self.constants().find(|(known, _)| *known == name)? {
            (_, Value::Integer(value)) => Some(*value),
            _ => None,
        }
    }
}

/// Names that the header gives to something of its own.
pub fn globals(plan: &Plan) -> BTreeSet<&str> {
    let functions = plan.functions.iter().map(|f| &f.name).chain(plan.left_out.iter().map(|left| &left.name));
    let types = plan.records.values().map(|record| &record.spelling).chain(&plan.handles);
    let types = types.chain(plan.enumerations.keys()).map(|name| name.rsplit(' ').next().unwrap_or(name));
    functions.chain(plan.constants.iter().map(|(name, _)| name)).map(String::as_str).chain(types).collect()
}

/// All names of the header: those, and what parameters and fields are called.
pub fn words(plan: &Plan) -> impl Iterator<Item = &str> {
    let left_out = plan.left_out.iter().map(|left| &left.prototype);
    let parameters = plan.functions.iter().map(|f| &f.prototype).chain(left_out).flat_map(|p| &p.parameters);
    let fields = plan.records.values().flat_map(|record| &record.fields).map(|field| &*field.name);
    globals(plan).into_iter().chain(parameters.map(|p| &*p.name)).chain(fields)
}

fn has_closures(function: &FunctionPlan) -> bool {
    function.parameters.iter().any(|passing| matches!(passing, Passing::Callback { .. }))
}

/// What has no name is called by its place: without the folder, so that a binding is the same wherever it is made.
fn portable(key: &str) -> String {
    match key.split_once(" at ") {
        Some((what, place)) => format!("{what} at {}", place.rsplit('/').next().unwrap_or_default()),
        None => key.to_owned(),
    }
}

/// True if the expression speaks of numbers only.
fn known(expression: &Expression, number: &dyn Fn(&str) -> bool) -> bool {
    let calls = matches!(expression, Expression::Call(..) | Expression::Field(..) | Expression::Told(_));
    let inner: Vec<&Expression> = match expression {
        Expression::Minus(x) | Expression::Not(x) => vec![x],
        Expression::Binary(_, x, y) => vec![x, y],
        Expression::Conditional(x, y, z) => vec![x, y, z],
        _ => Vec::new(),
    };
    !calls && expression.names().into_iter().all(number) && inner.into_iter().all(|e| known(e, number))
}

/// What a pointer's elements are, if they have a type.
pub fn element(kind: &CType) -> Option<&CType> {
    // (`signed char` is a number: -1 is no 255.)
    let bytes = |to: &&CType| {
        to.is_character() && !matches!(to.shape, Shape::Integer { signed: true, plain: false, .. })
    };
    kind.pointee().filter(|to| to.shape != Shape::Void && !bytes(to))
}

/// A structure of numbers and strings.
fn is_readable(record: &RecordPlan) -> bool {
    record.is_plain()
        || record.fields.iter().all(|field| match (&field.passing, &field.outcome) {
            (Passing::Value, Outcome::Value) => {
                !matches!(field.kind.shape, Shape::Record(ref key) if key.is_empty())
            }
            (Passing::String { .. } | Passing::Ignore, Outcome::String { .. }) => true,
            _ => false,
        })
}

/// A structure of numbers, strings that come out, buffers, and what the library keeps to itself.
fn is_keepable(record: &RecordPlan) -> bool {
    record.fields.iter().all(|field| match &field.passing {
        Passing::Value | Passing::Ignore | Passing::Null => true,
        Passing::Buffer(buffer) => {
            field.cursor && matches!(&buffer.size, Some(Expression::Name(name)) if record.fields.iter().any(|f| f.name == *name))
        }
        _ => false,
    })
}

/// The buffers of a kept structure.
pub fn cursors(record: &RecordPlan) -> Vec<Cursor<'_>> {
    let field = |name: &str| record.fields.iter().find(|field| field.name == *name);
    let cursor = |own: &'_ FieldPlan| match &own.passing {
        Passing::Buffer(buffer) => match &buffer.size {
            Some(Expression::Name(length)) => field(length).map(|length| (buffer.writes, length)),
            _ => None,
        },
        _ => None,
    };
    let fields = record.fields.iter();
    fields
        .filter_map(|field| cursor(field).map(|(writes, length)| Cursor { field, writes, length }))
        .collect()
}
