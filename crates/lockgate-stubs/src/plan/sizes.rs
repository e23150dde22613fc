//! Expressions of annotations held against what they speak of.
use super::{No, Planner, no};
use crate::expression::Expression;
use crate::header::model::{Parameter, Shape};

impl Planner<'_> {
    /// Every name in `expression` is a number among `siblings` (or behind one, or a string), or a constant.
    pub(super) fn check_expression(&self, expression: &Expression, siblings: &[Parameter]) -> Result<(), No> {
        let find = |name: &str| siblings.iter().find(|sibling| sibling.name == *name);
        let check = |inner: &Expression| self.check_expression(inner, siblings);
        match expression {
            Expression::Number(_) => Ok(()),
            Expression::Name(name) => match find(name) {
                Some(sibling) if !sibling.kind.is_integer() => no(
                    format!("`{name}` in an expression is no integer but `{}`", sibling.kind.spelling),
                    format!("name an integer, or write *{name} for what it points to"),
                ),
                // Anything else is a constant of the header's: the compiler of the stubs will say if it is not.
                _ => Ok(()),
            },
            Expression::Deref(name) => match find(name).and_then(|sibling| sibling.kind.pointee()) {
                Some(pointee) if pointee.is_integer() => Ok(()),
                _ => no(format!("*{name} in an expression is no integer"), "name a pointer to an integer"),
            },
            Expression::StringLength(name) => match find(name).map(|sibling| &sibling.kind.shape) {
                Some(Shape::Pointer(to)) if to.is_character() => Ok(()),
                _ => no(format!("strlen({name}): no string of that name"), "name a pointer to characters"),
            },
            Expression::Call(name, arguments) => {
                if !self.header.functions.iter().any(|function| function.name == *name) {
                    return no(format!("{name}() is no function of this header"), "call one that is");
                }
                arguments.iter().filter(|a| !matches!(a, Expression::Name(_))).try_for_each(check)
            }
            Expression::Minus(x) | Expression::Not(x) => check(x),
            Expression::Binary(_, x, y) => check(x).and_then(|()| check(y)),
            Expression::Conditional(x, y, z) => check(x).and_then(|()| check(y)).and_then(|()| check(z)),
        }
    }
}
