//! Expressions of annotations as exact arithmetic of the stub.
use super::steps::{
    Value, behind, call, cast, choice, group, infix, not, number, run, text, through, word, zero,
};
use crate::expression::{Expression, Operator, Told};
use crate::plan::Plan;

/// What stands for the names of an expression.
pub trait Scope {
    /// A parameter, field or constant.
    fn name(&self, name: &str) -> Value;
    /// What a pointer leads to, as it was copied.
    fn pointer(&self, name: &str) -> Value;
    /// `*name`.
    fn deref(&self, name: &str) -> Value;
    /// `name->field`: the structure as the program has it.
    fn field(&self, name: &str, field: &str) -> Value;
    /// A handle, as the library has it.
    fn handle(&self, name: &str) -> Value;
    /// Where [`Plan::told`] is.
    fn plan(&self) -> &Plan;
}

/// What a pointer leads to, or 0.
pub fn at(pointer: Value) -> Value {
    choice(pointer.clone(), behind(pointer), zero())
}

/// A field of what a pointer leads to, or 0.
pub fn field_at(pointer: Value, field: &str) -> Value {
    choice(pointer.clone(), through(pointer, field), zero())
}

/// An expression of an annotation, in `scope`: whatever overflows, the call fails.
pub fn size(expression: &Expression, scope: &dyn Scope) -> Value {
    let inner = |x: &Expression| size(x, scope);
    let wide = |value: Value| cast("lgs_wide", value);
    match expression {
        Expression::Number(n) => wide(word(format!("{n}u"))),
        Expression::Name(n) => wide(group(scope.name(n))),
        Expression::Deref(n) => wide(group(scope.deref(n))),
        Expression::Field(n, field) => wide(group(scope.field(n, field))),
        Expression::Told(told) => {
            let called = told.iter().any(|told| told.what == "lg_called");
            let each = |told: &Told| {
                let place = scope.plan().told_at(told).unwrap_or_default();
                Value::List(vec![scope.handle(&told.handle), number(place), text(&told.function)])
            };
            let all: Vec<Value> = told.iter().map(each).collect();
            let count = number(all.len());
            let asked = cast("const struct lgs_asked[]", Value::List(all));
            run("lgs_told", [asked, count, number(called)])
        }
        Expression::StringLength(n) => call("lgs_strlen", [scope.pointer(n)]),
        Expression::Call(function, arguments) => {
            let argument = |argument: &Expression| match argument {
                Expression::Name(n) => scope.pointer(n),
                other => cast("long long", group(inner(other))),
            };
            let arguments = arguments.iter().map(argument).collect();
            wide(Value::Call(Box::new(group(word(function))), arguments))
        }
        Expression::Minus(x) => run("lgs_subtract", [zero(), inner(x)]),
        Expression::Not(x) => wide(not(group(inner(x)))),
        Expression::Conditional(x, y, z) => group(choice(group(inner(x)), group(inner(y)), group(inner(z)))),
        Expression::Binary(operator, x, y) => {
            let (x, y) = (inner(x), inner(y));
            let (exact, sign) = match operator {
                Operator::Add => (Some("lgs_add"), ""),
                Operator::Subtract => (Some("lgs_subtract"), ""),
                Operator::Multiply => (Some("lgs_multiply"), ""),
                Operator::Divide => (Some("lgs_divide"), ""),
                Operator::Remainder => (Some("lgs_remainder"), ""),
                Operator::Less => (None, "<"),
                Operator::LessEqual => (None, "<="),
                Operator::Greater => (None, ">"),
                Operator::GreaterEqual => (None, ">="),
                Operator::Equal => (None, "=="),
                Operator::NotEqual => (None, "!="),
                Operator::And => (None, "&&"),
                Operator::Or => (None, "||"),
            };
            match exact {
                Some(function) => run(function, [x, y]),
                None => wide(group(infix(group(x), sign, group(y)))),
            }
        }
    }
}
