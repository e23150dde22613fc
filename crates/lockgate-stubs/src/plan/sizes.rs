//! Expressions of annotations held against what they speak of.
use super::passing::handle_name;
use super::{No, Planner, no};
use crate::expression::{Expression, Told};
use crate::header::model::{CType, Parameter, Shape};

impl Planner<'_> {
    /// Every name in `expression` is a number among `siblings` (or behind one, or a string), or a constant.
    pub(super) fn check_expression(
        &mut self,
        expression: &Expression,
        siblings: &[Parameter],
    ) -> Result<(), No> {
        let find = |name: &str| siblings.iter().find(|sibling| sibling.name == *name);
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
                let inner = arguments.iter().filter(|a| !matches!(a, Expression::Name(_)));
                inner.into_iter().try_for_each(|x| self.check_expression(x, siblings))
            }
            Expression::Field(name, field) => {
                let key = find(name).and_then(|s| s.kind.pointee()).and_then(|to| match &to.shape {
                    Shape::Record(key) => Some(key),
                    _ => None,
                });
                let record = key.and_then(|key| self.header.records.get(key));
                match record.and_then(|r| r.fields.iter().flatten().find(|f| f.name == *field)) {
                    Some(field) if field.kind.is_integer() => Ok(()),
                    _ => no(
                        format!("{name}->{field} in an expression is no integer"),
                        "name an integer in a structure that is passed",
                    ),
                }
            }
            Expression::Told(told) => self.check_told(told, siblings),
            Expression::Minus(x) | Expression::Not(x) => self.check_expression(x, siblings),
            Expression::Binary(_, x, y) => {
                [x, y].into_iter().try_for_each(|x| self.check_expression(x, siblings))
            }
            Expression::Conditional(x, y, z) => {
                [x, y, z].into_iter().try_for_each(|x| self.check_expression(x, siblings))
            }
        }
    }

    /// The function tells that, of a handle that is among `siblings`.
    fn check_told(&mut self, told: &Told, siblings: &[Parameter]) -> Result<(), No> {
        let Told { function, handle, what } = told;
        let Some(teller) = self.header.functions.iter().find(|f| f.name == *function) else {
            return no(format!("{function}() is no function of this header"), "name one that is");
        };
        let of_type = |parameter: &Parameter| handle_name(&parameter.kind);
        let is_handle = |p: &&Parameter| self.is_handle(&p.kind, &self.notes(p));
        let Some(asked) = siblings.iter().find(|s| s.name == *handle).filter(is_handle) else {
            return no(format!("lg_told: `{handle}` is no handle"), "name a parameter that is one");
        };
        let parameters = &teller.prototype.parameters;
        if parameters.iter().find(is_handle).is_none_or(|first| of_type(first) != of_type(asked)) {
            return no(
                format!("lg_told: the first handle of {function}() is not of the type of `{handle}`"),
                "name a handle of that type",
            );
        }
        let integer = |kind: &CType| kind.is_integer() || kind.pointee().is_some_and(CType::is_integer);
        let known = match what.as_str() {
            "lg_called" => true,
            "lg_result" => teller.prototype.result.is_integer(),
            name => parameters.iter().any(|p| p.name == name && integer(&p.kind)),
        };
        if !known {
            return no(
                format!("lg_told: {function}() has no number {what}"),
                "name lg_result, lg_called, or a parameter that is an integer or leads to one",
            );
        }
        self.remember(told);
        Ok(())
    }
}
