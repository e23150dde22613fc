//! From the plan of a function to its form.
use super::surface::{Surface, cursors};
use super::{Argument, Check, CopyIn, CopyOut, Function, Judge};
use crate::expression::{Expression, Operator};
use crate::header::model::{CType, Shape};
use crate::plan::{Buffer, Count, FunctionPlan, Outcome, Passing};

/// The function as C declares it.
pub fn prototype(function: &FunctionPlan) -> String {
    let kinds = function.prototype.parameters.iter().map(|p| format!("{} {}", p.kind.spelling, p.name));
    let dots = function.prototype.variadic.then(|| "...".to_owned());
    let parameters: Vec<String> = kinds.chain(dots).collect();
    format!("{} {}({})", function.prototype.result.spelling, function.name, parameters.join(", "))
        .replace("* ", "*")
}

impl<'a> Surface<'a> {
    /// The form of a function that has one.
    pub fn function(&self, function: &'a FunctionPlan) -> Function<'a> {
        let parameters = function.prototype.parameters.iter().enumerate();
        // (Functions with what has no form are left out.)
        let how = |number| self.copy_in(function, number).unwrap_or(CopyIn::Zero);
        let mut arguments: Vec<Argument<'a>> = parameters
            .map(|(number, parameter)| Argument {
                name: &parameter.name,
                kind: &parameter.kind,
                how: how(number),
            })
            .collect();
        known_by(&mut arguments, function);
        let lent = match &function.result {
            Outcome::Lent { size } => Some(size),
            _ => None,
        };
        Function {
            plan: function,
            outs: self.outs(function, &arguments),
            checks: checks(&arguments),
            arguments,
            lent,
            errno: function.errno && function.prototype.result.shape != Shape::Void,
            says: says(function),
        }
    }

    /// What parameter `number` of `function` is to its caller, or why it has no form.
    pub fn copy_in(&self, function: &'a FunctionPlan, number: usize) -> Result<CopyIn<'a>, &'static str> {
        if function.format == Some(number) {
            return Ok(CopyIn::Printed);
        }
        let parameter = &function.prototype.parameters[number];
        let is_plain = |key: &str| self.plan.records[key].is_plain();
        Ok(match &function.parameters[number] {
            Passing::Value | Passing::Scalar(_) if counted(function, number).is_some() => {
                let of = counted(function, number).unwrap_or_default();
                let of = &*function.prototype.parameters[of].name;
                let by_value = function.parameters[number] == Passing::Value;
                if by_value { CopyIn::Length(of) } else { CopyIn::Room(of) }
            }
            Passing::Value => match &parameter.kind.shape {
                Shape::Record(_) => CopyIn::Structure,
                _ => CopyIn::Number(self.enumeration(&parameter.kind)),
            },
            Passing::Null | Passing::Ignore | Passing::Data { .. } | Passing::Dispose { .. } => CopyIn::Zero,
            Passing::String { .. } => CopyIn::Text,
            Passing::Buffer(Buffer { writes, size, .. }) => {
                CopyIn::Slice { writes: *writes, size: size.as_ref(), nullable: parameter.notes.nullable }
            }
            Passing::Scalar(Buffer { reads, writes, .. }) => CopyIn::Scalar {
                reads: *reads,
                writes: *writes,
                enumeration: self.enumeration(parameter.kind.pointee().unwrap_or(&parameter.kind)),
            },
            Passing::Record { key, buffer, kept: true, release } => {
                let buffers = if buffer.reads { cursors(&self.plan.records[key]) } else { Vec::new() };
                let end = if *release { None } else { self.end_of(key, &function.name) };
                CopyIn::Kept { key, buffers, reads: buffer.reads, release: *release, end }
            }
            Passing::Record { key, buffer: Buffer { size: Some(size), writes, .. }, .. } => {
                CopyIn::Records { key, writes: *writes, size }
            }
            Passing::Record { key, buffer: Buffer { reads, writes, .. }, .. } => {
                CopyIn::Record { key, plain: is_plain(key), reads: *reads, writes: *writes }
            }
            Passing::Handle { number, release, .. } => CopyIn::Handle { number: *number, release: *release },
            Passing::Inside { .. } => CopyIn::Place,
            Passing::Pointer { before: None, after } => CopyIn::Given(match **after {
                Outcome::Handle { number, .. } => Some((number, !function.is_borrowed(&parameter.name))),
                _ => None,
            }),
            Passing::Pointer { before: Some(before), .. } => match **before {
                Passing::Handle { number, .. } => CopyIn::Replaced(number),
                _ => CopyIn::Zero,
            },
            Passing::Callback { name } => CopyIn::Closure { name, by_data: false, handles: Vec::new() },
            Passing::Rows { .. } => return Err("an array of pointers"),
            Passing::Cursor(_) => return Err("a pointer that moves on through a buffer"),
            Passing::Stream { .. } => return Err("a stream of C's"),
        })
    }

    /// What comes back: the result, then what parameters lead to.
    fn outs(&self, function: &'a FunctionPlan, arguments: &[Argument<'a>]) -> Vec<CopyOut<'a>> {
        let out = |what: &'a str, is_result: bool, kind: &'a CType, judge: Judge<'a>| {
            let is_pointer = !matches!(
                judge,
                Judge::Handle { .. } | Judge::Replaced(_) | Judge::Filled { .. } | Judge::Number
            );
            CopyOut { what, is_result, kind, judge, freed: is_pointer && function.freed.contains(what) }
        };
        let result = &function.prototype.result;
        let judge = self.judge(function, arguments, "result", result, &function.result);
        let mut outs: Vec<CopyOut<'a>> =
            judge.map(|judge| out("result", true, result, judge)).into_iter().collect();
        for (argument, passing) in arguments.iter().zip(&function.parameters) {
            let pointee = argument.kind.pointee().unwrap_or(argument.kind);
            let judge = match (&argument.how, passing) {
                (CopyIn::Room(_), _) => Some(Judge::Number),
                (CopyIn::Scalar { writes: true, enumeration, .. }, _) => {
                    Some(enumeration.map_or(Judge::Number, Judge::Enumeration))
                }
                (CopyIn::Record { key, plain, reads: false, .. }, _) => {
                    Some(Judge::Filled { key, plain: *plain })
                }
                (CopyIn::Replaced(number), _) => Some(Judge::Replaced(*number)),
                (CopyIn::Given(_), Passing::Pointer { after, .. }) => {
                    self.judge(function, arguments, argument.name, pointee, after)
                }
                _ => None,
            };
            outs.extend(judge.map(|judge| out(argument.name, false, pointee, judge)));
        }
        outs
    }

    /// What the library gives is to the caller; nothing if it is nothing.
    fn judge(
        &self,
        function: &'a FunctionPlan,
        arguments: &[Argument<'a>],
        what: &str,
        kind: &'a CType,
        outcome: &'a Outcome,
    ) -> Option<Judge<'a>> {
        Some(match outcome {
            Outcome::Void | Outcome::Untouched | Outcome::Data { .. } => return None,
            Outcome::Value => self.enumeration(kind).map_or(Judge::Number, Judge::Enumeration),
            Outcome::String { .. } => Judge::Text,
            Outcome::Memory { .. } => Judge::Memory,
            Outcome::Record { key, count, .. } => {
                Judge::Records { key, plain: self.plan.records[key].is_plain(), one: *count == Count::One }
            }
            Outcome::Handle { number, .. } => {
                let in_place =
                    arguments.iter().any(|own| own.name == what && matches!(own.how, CopyIn::Given(Some(_))));
                Judge::Handle { number: *number, owned: !function.is_borrowed(what), in_place }
            }
            Outcome::Callback { .. } => Judge::Callback,
            Outcome::Within { object, .. } => {
                let own = arguments.iter().find(|argument| argument.name == *object);
                let text = own.is_some_and(|own| matches!(own.how, CopyIn::Text | CopyIn::Printed));
                Judge::Offset { object, text }
            }
            // (Arrays of pointers, and what jumps, have no form.)
            Outcome::Inside
            | Outcome::Lent { .. }
            | Outcome::Strings { .. }
            | Outcome::Filled { .. }
            | Outcome::Handles { .. }
            | Outcome::JumpBuffer { .. }
            | Outcome::Jump => Judge::Place,
        })
    }
}

/// Whose length is passed, is as long as that; of others it is checked.
fn checks<'a>(arguments: &[Argument<'a>]) -> Vec<Check<'a>> {
    let is_counted = |name: &str| {
        arguments
            .iter()
            .any(|argument| matches!(&argument.how, CopyIn::Length(of) | CopyIn::Room(of) if *of == name))
    };
    let size = |argument: &Argument<'a>| match &argument.how {
        CopyIn::Slice { size, .. } => *size,
        CopyIn::Records { size, .. } => Some(*size),
        _ => None,
    };
    let nullable = |own: &Argument<'a>| matches!(own.how, CopyIn::Slice { nullable: true, .. });
    let uncounted = arguments.iter().filter(|argument| !is_counted(argument.name));
    uncounted
        .filter_map(|own| size(own).map(|needed| Check { of: own.name, needed, nullable: nullable(own) }))
        .collect()
}

/// The result is a number that says whether the call has succeeded.
pub fn says(function: &FunctionPlan) -> bool {
    function.result == Outcome::Value && function.prototype.result.is_integer()
}

/// What closures are known by: their data if there is one of each; and the handles that they are given with.
fn known_by<'a>(arguments: &mut [Argument<'a>], function: &FunctionPlan) {
    let is_data = |passing: &Passing| matches!(passing, Passing::Data { .. });
    let data: Vec<usize> =
        (0..arguments.len()).filter(|place| is_data(&function.parameters[*place])).collect();
    let closures: Vec<usize> = (0..arguments.len())
        .filter(|place| matches!(arguments[*place].how, CopyIn::Closure { .. }))
        .collect();
    let is_handle = |how: &CopyIn<'_>| matches!(how, CopyIn::Handle { .. } | CopyIn::Replaced(_));
    let all: Vec<&str> = arguments.iter().filter(|own| is_handle(&own.how)).map(|own| own.name).collect();
    let paired = match (&*data, &*closures) {
        (&[data], &[closure]) => {
            arguments[data].how = CopyIn::Data(arguments[closure].name);
            true
        }
        _ => false,
    };
    for place in closures {
        if let CopyIn::Closure { by_data, handles, .. } = &mut arguments[place].how {
            *by_data = paired;
            handles.clone_from(&all);
        }
    }
}

/// The buffer whose length parameter `number` is, and nothing else: `LG_SIZE(n)`, `LG_SIZE(*n)`, or
/// `LG_SIZE(n < 0 ? … : n)`. Of several, one that is always there knows best.
fn counted(function: &FunctionPlan, number: usize) -> Option<usize> {
    let parameter = &function.prototype.parameters[number];
    let wanted = match &function.parameters[number] {
        Passing::Value
            if parameter.kind.is_integer()
                && parameter.kind.enumeration.is_none()
                && !parameter.kind.is_bool() =>
        {
            Expression::Name(parameter.name.clone())
        }
        Passing::Scalar(buffer) if buffer.reads && buffer.writes => Expression::Deref(parameter.name.clone()),
        _ => return None,
    };
    let is_length = |size: &Expression| match size {
        Expression::Conditional(condition, _, otherwise) => {
            **otherwise == wanted
                && matches!(&**condition, Expression::Binary(Operator::Less, n, zero)
                    if **n == wanted && **zero == Expression::Number(0))
        }
        size => *size == wanted,
    };
    let mut of_that_length =
        (0..function.parameters.len()).filter(|place| match &function.parameters[*place] {
            Passing::Buffer(Buffer { size: Some(size), .. })
            | Passing::Record { buffer: Buffer { size: Some(size), .. }, kept: false, .. } => is_length(size),
            _ => false,
        });
    let first = of_that_length.clone().next();
    of_that_length.find(|place| !function.prototype.parameters[*place].notes.nullable).or(first)
}
