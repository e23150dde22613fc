//! From the library to the program.
use super::effects::{Ways, act};
use super::passing::{handle_name, has_name, is_number};
use super::places::{Place, belong, is_counted, needs_no_function};
use super::{Buffer, CallbackPlan, Count, No, OMIT, Outcome, Passing, Planner, no, or_omit};
use crate::annotation::{Direction, Notes};
use crate::header::merge;
use crate::header::model::{CType, Parameter, Prototype, Shape};
use crate::name::word;

impl Planner<'_> {
    /// What a callback puts into a structure of type `key` goes to the library by value: a copy of what a pointer leads to would end with the callback, and the
    /// library goes on with the structure.
    fn is_left_whole(&self, key: &str) -> Result<(), No> {
        let fields = self.plan.records.get(key).into_iter().flat_map(|record| &record.fields);
        let led_to = |passing: &Passing| {
            matches!(passing, Passing::String { .. } | Passing::Buffer(_) | Passing::Rows { .. })
        };
        match fields.into_iter().find(|field| led_to(&field.passing)) {
            None => Ok(()),
            Some(field) => no(
                format!(
                    "{key}, field {}: the callback gives `{}`, which the library would use after it",
                    field.name, field.kind.spelling
                ),
                "annotate the pointer to the structure with LG_OPAQUE if the program only passes it on; else leave the function out with LG_OMIT",
            ),
        }
    }

    /// How `parameter` (a result, a callback's parameter, a field) comes out, beside `siblings`. Results may be null
    /// without saying so: programs expect it of them.
    pub(super) fn outcome(
        &mut self,
        parameter: &Parameter,
        siblings: &[Parameter],
        result: bool,
    ) -> Result<Outcome, No> {
        let notes = self.notes(parameter);
        for expression in [&notes.size, &notes.written].into_iter().flatten() {
            self.check_expression(expression, siblings)?;
        }
        let outcome = self.way_out(parameter, notes, siblings, result)?;
        if let Outcome::Filled { key } = &outcome {
            // (Its copy ends with the frame, and nothing goes back.)
            if result {
                return no(
                    "LG_OUT: only a callback is given memory that the program fills and the library takes back",
                    "annotate it with LG_OPAQUE if the program only passes it on; else leave the function out with LG_OMIT",
                );
            }
            self.is_left_whole(key)?;
        }
        let bounded = match &outcome {
            Outcome::Memory { buffer } => {
                // (What other sizes follow is copied out of the mirror.)
                let followed = || self.followed_by(siblings).contains(&parameter.name);
                let freed = self.notes(parameter).freed.is_some();
                !(buffer.writes || buffer.bools.is_some() || freed || followed())
            }
            Outcome::Record { key, .. } => {
                self.plan.records.get(key).is_some_and(|record| record.is_plain() && record.bools.is_empty())
            }
            Outcome::Within { .. } => true,
            _ => false,
        };
        self.may_ask(parameter, bounded)?;
        Ok(outcome)
    }

    fn way_out(
        &mut self,
        parameter: &Parameter,
        notes: Notes,
        siblings: &[Parameter],
        result: bool,
    ) -> Result<Outcome, No> {
        let nullable = notes.nullable || result;
        let kind = &parameter.kind;
        self.is_shut(kind, &notes)?;
        has_name(kind)?;
        is_number(kind, &notes)?;
        match &kind.shape {
            shape if notes.ignore => self.known(shape).map(|()| Outcome::Untouched),
            Shape::Pointer(_) if notes.jump => Ok(Outcome::Jump),
            Shape::Pointer(_) if notes.jump_buffer.is_some() => {
                let handle = notes.jump_buffer.unwrap_or_default();
                let is_handle = |p: &&Parameter| self.is_handle(&p.kind, &self.notes(p));
                if siblings.iter().find(|s| s.name == handle).filter(is_handle).is_none() {
                    return no(
                        format!("LG_JUMP_BUFFER names no handle {handle}"),
                        "name the parameter whose jmp_buf it is",
                    );
                }
                Ok(Outcome::JumpBuffer { handle })
            }
            Shape::Void => Ok(Outcome::Void),
            Shape::Integer { .. } | Shape::Float => Ok(Outcome::Value),
            Shape::Record(key) => {
                self.plain_record(key)?;
                self.is_ended(key).map(|()| Outcome::Value)
            }
            Shape::Array(element, _) if matches!(element.shape, Shape::Integer { .. } | Shape::Float) => {
                Ok(Outcome::Value)
            }
            Shape::Array(..) => no("an array of pointers, structures or arrays by value", OMIT),
            Shape::Unsupported(what) => no(format!("{what} cannot be passed"), OMIT),
            Shape::Function(_) => self.callback(parameter).map(|name| Outcome::Callback { name }),
            Shape::Pointer(_) if notes.data => Ok(Outcome::Data { by: notes.given.unwrap_or_default() }),
            Shape::Pointer(_) if notes.inside => Ok(Outcome::Inside),
            Shape::Pointer(_) if notes.within.is_some() => {
                let object = notes.within.unwrap_or_default();
                let led_to = |s: &Parameter| (s.name == object).then(|| s.kind.pointee().cloned()).flatten();
                let (Some(of), Some(to)) = (siblings.iter().find_map(led_to), kind.pointee()) else {
                    return no(
                        format!("LG_WITHIN names no pointer {object}"),
                        "name the parameter that it points into",
                    );
                };
                if !self.is_alike(to, &of) {
                    return no(
                        format!(
                            "LG_WITHIN({object}): to take `{}` for `{}` the library's bytes would have to be judged",
                            of.spelling, to.spelling
                        ),
                        or_omit("declare both with one type"),
                    );
                }
                Ok(Outcome::Within { object, count: notes.size, element: to.size.max(1) })
            }
            Shape::Pointer(to) => {
                if self.is_handle(kind, &notes) {
                    return Ok(Outcome::Handle { number: self.handle(&handle_name(kind)), nullable });
                }
                self.out_pointer(parameter, to, siblings, nullable, result)
            }
        }
    }

    /// One object can be taken for both: they are of one type, or of each any bytes are a value.
    fn is_alike(&mut self, one: &CType, other: &CType) -> bool {
        let mut plain = |kind: &CType| match &kind.shape {
            Shape::Void | Shape::Float => true,
            Shape::Integer { .. } => !kind.is_bool(),
            Shape::Record(key) => {
                self.plain_record(key).is_ok()
                    && self.plan.records.get(key).is_some_and(|record| record.bools.is_empty())
            }
            _ => false,
        };
        match (&one.shape, &other.shape) {
            (Shape::Record(one), Shape::Record(other)) if one == other => true,
            _ => one.is_bool() && other.is_bool() || plain(one) && plain(other),
        }
    }

    fn out_pointer(
        &mut self,
        parameter: &Parameter,
        to: &CType,
        siblings: &[Parameter],
        nullable: bool,
        result: bool,
    ) -> Result<Outcome, No> {
        let notes = self.notes(parameter);
        let direction = notes.direction.unwrap_or(Direction::In);
        match &to.shape {
            Shape::Pointer(inner) if inner.is_character() && (notes.strings || notes.size.is_some()) => {
                let (holes, pairs) = (notes.nullable, notes.pairs);
                Ok(Outcome::Strings { count: notes.size, nullable, holes, pairs })
            }
            Shape::Pointer(_) => {
                let element = Parameter { kind: to.clone(), ..parameter.clone() };
                match (self.outcome(&element, siblings, true)?, notes.size) {
                    (Outcome::Handle { number, .. }, Some(count)) => Ok(Outcome::Handles { number, count }),
                    _ => no(
                        "no annotation says what the pointers lead to, or how many there are",
                        "annotate it with LG_STRINGS, or LG_SIZE(…)",
                    ),
                }
            }
            Shape::Integer { .. } if to.is_character() && notes.size.is_none() => {
                if notes.string || (to.constant && to.is_plain_character()) {
                    self.ends_with_zero(parameter, siblings)?;
                    Ok(Outcome::String { nullable })
                } else {
                    no("it may be a string or a buffer", "annotate it with LG_STRING or LG_SIZE(…)")
                }
            }
            Shape::Record(key)
                if notes.size.is_some() || notes.direction.is_some() || notes.until.is_some() =>
            {
                self.record(key)?;
                if direction.reads() {
                    self.is_ended(key)?;
                }
                if direction.writes() {
                    return match (self.plain_record(key), direction) {
                        (Ok(()), _) => {
                            Ok(Outcome::Memory { buffer: self.memory(&notes, to, direction, nullable) })
                        }
                        (Err(_), Direction::Out) => Ok(Outcome::Filled { key: key.clone() }),
                        (Err(no), _) => Err(no),
                    };
                }
                if let Some(field) = &notes.until {
                    self.until(key, field)?;
                }
                let count = match (notes.size, notes.until) {
                    (_, Some(field)) => Count::Until(field),
                    (Some(size), None) => Count::Of(size),
                    (None, None) => Count::One,
                };
                Ok(Outcome::Record { key: key.clone(), count, nullable })
            }
            Shape::Void | Shape::Integer { .. } | Shape::Float if notes.size.is_some() && notes.lent => {
                Ok(Outcome::Lent { size: notes.size.expect("just looked") })
            }
            Shape::Void | Shape::Integer { .. } | Shape::Float if notes.size.is_some() => {
                Ok(Outcome::Memory { buffer: self.memory(&notes, to, direction, nullable) })
            }
            Shape::Integer { .. } | Shape::Float if notes.direction.is_some() => {
                Ok(Outcome::Memory { buffer: self.memory(&notes, to, direction, nullable) })
            }
            Shape::Void if !result && may_be_memory(parameter, to, siblings) => no(
                "it may be the program's own data, or memory of the library's",
                "annotate it with LG_DATA, or with LG_SIZE(…)",
            ),
            Shape::Void if !result => Ok(Outcome::Data { by: Vec::new() }),
            _ => no(
                format!("no annotation says what `{}` leads to", parameter.kind.spelling),
                "annotate it with LG_SIZE(…), LG_STRING, LG_OPAQUE, LG_DATA, LG_WITHIN(…) or LG_INSIDE",
            ),
        }
    }

    /// Arrays end where this field of `key` is zero: it has to be plain what that is.
    fn until(&self, key: &str, field: &str) -> Result<(), No> {
        let record = self.header.records.get(key).and_then(|record| record.fields.as_ref());
        let named = record.and_then(|fields| fields.iter().find(|f| f.name == field));
        // (A bit-field has no bytes of its own.)
        match named.filter(|f| f.kind.size > 0).map(|f| &f.kind.shape) {
            Some(Shape::Integer { .. } | Shape::Pointer(_) | Shape::Function(_)) => Ok(()),
            Some(_) => no(
                format!("LG_UNTIL({field}): the field is no number and no pointer"),
                "name a field that is zero at the end, or say how many there are with LG_SIZE(…)",
            ),
            None => no(
                format!("LG_UNTIL: {key} has no field {field}, or that is a bit-field"),
                "name one that it has, or say how many there are with LG_SIZE(…)",
            ),
        }
    }

    fn memory(
        &self,
        notes: &crate::annotation::Notes,
        to: &CType,
        direction: Direction,
        nullable: bool,
    ) -> Buffer {
        Buffer {
            reads: direction.reads(),
            writes: direction.writes(),
            nullable,
            bools: self.bools(to),
            shared: false,
            ..Buffer::of(notes, to.size)
        }
    }

    /// The plan of a callback's type; its name.
    pub(super) fn callback(&mut self, parameter: &Parameter) -> Result<String, No> {
        let named =
            parameter.kind.names.iter().find(|name| self.header.callbacks.contains_key(*name)).cloned();
        let prototype = match (&named, &parameter.kind.shape) {
            (Some(name), shape) => {
                let mut prototype = self.header.callbacks[name].clone();
                // What is said where the function is declared counts, too: a later declaration may spell the type out.
                if let Shape::Function(own) = shape
                    && own.parameters.iter().any(|inner| inner.notes != Notes::default())
                {
                    merge(&mut prototype.parameters, own.parameters.clone());
                }
                prototype
            }
            (None, Shape::Function(prototype)) => (**prototype).clone(),
            _ => return no("no function", "correct the annotation"),
        };
        let notes = self.notes(parameter);
        keeps_errno(&notes)?;
        if is_of_any_type(&prototype) && !notes.callback {
            return no(
                format!(
                    "`{}` may be the type of a function without parameters, or stand for any function, which the other side calls by another type",
                    parameter.kind.spelling
                ),
                "annotate it with LG_CALLBACK if it is called as it is declared, else leave the function out with LG_OMIT",
            );
        }
        let name = named.unwrap_or_else(|| word(&format!("{} {}", parameter.name, parameter.kind.spelling)));
        let name = self.name_of_callback(name, &prototype);
        if self.plan.callbacks.contains_key(&name) {
            return Ok(name);
        }
        // By way of a structure it may come by again, once for each: they are known before their fields are planned.
        if self.callbacks.iter().filter(|planned| **planned == name).count() > self.header.records.len() {
            return no(format!("callback {name} is given functions of its own type"), OMIT);
        }
        let in_callback =
            |cause: No| No { reason: format!("callback {name}: {}", cause.reason), remedy: cause.remedy };
        self.callbacks.push(name.clone());
        let plan = self.called_back(&name, prototype);
        self.callbacks.pop();
        let mut plan = plan.map_err(in_callback)?;
        // What it is given may have been planned meanwhile, under the same name.
        plan.name = self.name_of_callback(name, &plan.prototype);
        let name = plan.name.clone();
        self.added.callbacks.push(name.clone());
        self.plan.callbacks.insert(name.clone(), plan);
        Ok(name)
    }

    /// `name`, or one like it if that is another's: types that no typedef names may be spelled alike, with other annotations.
    fn name_of_callback(&self, mut name: String, prototype: &Prototype) -> String {
        while self.plan.callbacks.get(&name).is_some_and(|other| other.prototype != *prototype) {
            name.push('_');
        }
        name
    }

    /// How a function of the program's, `name`, is called by the library.
    pub(super) fn called_back(&mut self, name: &str, prototype: Prototype) -> Result<CallbackPlan, No> {
        if prototype.variadic {
            return no("it has variable arguments", OMIT);
        }
        super::is_of_platform(&prototype)?;
        let in_part = |what: String, cause: No| No {
            reason: format!("{what}: {}", cause.reason),
            remedy: cause.remedy,
        };
        let order = self.in_order(&prototype.parameters)?;
        let followed = self.followed_by(&prototype.parameters);
        let mut parameters = Vec::new();
        for inner in &prototype.parameters {
            if self.notes(inner).written.is_some() {
                let cause = No {
                    reason: "LG_WRITTEN: what a callback has written goes back whole".to_owned(),
                    remedy: "remove it; LG_SIZE(…) alone says how much that is".to_owned(),
                };
                return Err(in_part(format!("parameter {}", inner.name), cause));
            }
            let outcome = belong(&inner.notes, &inner.kind, Place::Inner)
                .and_then(|()| needs_no_function(&self.notes(inner), "what a callback is given"))
                .and_then(|()| is_counted(inner, &self.notes(inner)))
                .and_then(|()| self.outcome(inner, &prototype.parameters, false))
                .and_then(|outcome| {
                    self.is_no_place(inner, &outcome)?;
                    let ways = Ways { passing: None, outcome: Some(&outcome) };
                    act(&inner.notes, &inner.kind, ways).map(|()| outcome)
                });
            parameters.push(outcome.map_err(|cause| in_part(format!("parameter {}", inner.name), cause))?);
        }
        if parameters.contains(&Outcome::Jump)
            && !matches!(parameters.as_slice(), [Outcome::Jump, Outcome::Value])
        {
            let cause = No {
                reason: "LG_JUMP, but it does not take a jmp_buf and an int".to_owned(),
                remedy: "annotate callbacks like longjmp with it".to_owned(),
            };
            return Err(in_part("parameters".into(), cause));
        }
        let of_result = Parameter::new("result", prototype.result.clone(), Notes::default());
        is_number(&of_result.kind, &self.notes(&of_result))
            .map_err(|cause| in_part("result".into(), cause))?;
        let result = match &prototype.result.shape {
            Shape::Void => Passing::Ignore,
            Shape::Integer { .. } | Shape::Float => Passing::Value,
            _ => {
                let cause = No {
                    reason: format!("it returns `{}`, which the library would use", prototype.result.spelling),
                    remedy: "leave the function out with LG_OMIT, or let the library use its own with LG_IGNORE or LG_NULL".into(),
                };
                return Err(in_part("result".into(), cause));
            }
        };
        self.is_said_by_its_prototype(name, &prototype)?;
        Ok(CallbackPlan { name: name.to_owned(), prototype, parameters, result, order, followed })
    }
}

/// errno is each side's own, and a function of the program's sets the program's: who calls it from within would read another number there.
pub(super) fn keeps_errno(notes: &Notes) -> Result<(), No> {
    match notes.errno {
        false => Ok(()),
        true => no(
            "LG_ERRNO: a function of the program's does not set the errno of the domain that calls it",
            "remove it, and say what is wrong by the result",
        ),
    }
}

/// `void (void)`, by a pointer to which C programs pass functions of all types.
fn is_of_any_type(prototype: &Prototype) -> bool {
    prototype.parameters.is_empty() && !prototype.variadic && prototype.result.shape == Shape::Void
}

/// An untyped pointer that a callback gets, which its type or place says is not plainly the program's data: `const void *`, or one
/// with a number behind it that comes after other data.
fn may_be_memory(parameter: &Parameter, to: &CType, siblings: &[Parameter]) -> bool {
    let untyped = |kind: &CType| kind.pointee().is_some_and(|to| to.shape == Shape::Void);
    let own = siblings.iter().position(|sibling| sibling.name == parameter.name);
    let counted = own.is_some_and(|own| {
        let behind = siblings.get(own + 1).map(|next| &next.kind);
        siblings[..own].iter().any(|before| untyped(&before.kind))
            && behind.is_some_and(|kind| kind.is_integer() && kind.enumeration.is_none() && !kind.is_bool())
    });
    to.constant || counted
}
