//! Expressions of annotations held against what they speak of.
use super::passing::handle_name;
use super::{No, Planner, no};
use crate::annotation::{Direction, Notes};
use crate::expression::{Expression, Told};
use crate::header::model::{CType, Function, Parameter, Shape};
use std::collections::BTreeSet;

/// Names of which `expression` follows the pointer: what they lead to has to be copied and checked before.
fn followed(expression: &Expression) -> Vec<&str> {
    match expression {
        Expression::Deref(name) | Expression::StringLength(name) | Expression::Field(name, _) => vec![name],
        Expression::Number(_) | Expression::Name(_) | Expression::Told(_) => Vec::new(),
        // What is passed on may be a pointer.
        Expression::Call(_, arguments) => arguments
            .iter()
            .flat_map(|argument| match argument {
                Expression::Name(name) => vec![name.as_str()],
                other => followed(other),
            })
            .collect(),
        Expression::Minus(x) | Expression::Not(x) => followed(x),
        Expression::Binary(_, x, y) => [followed(x), followed(y)].concat(),
        Expression::Conditional(x, y, z) => [followed(x), followed(y), followed(z)].concat(),
    }
}

/// The sizes that a declaration says.
fn sizes(notes: &Notes) -> impl Iterator<Item = &Expression> {
    [&notes.size, &notes.written, &notes.rows].into_iter().flatten()
}

impl Planner<'_> {
    /// Names that the sizes of `siblings` follow.
    pub(super) fn followed_by(&self, siblings: &[Parameter]) -> BTreeSet<String> {
        let notes: Vec<Notes> = siblings.iter().map(|sibling| self.notes(sibling)).collect();
        notes.iter().flat_map(sizes).flat_map(followed).map(str::to_owned).collect()
    }

    /// The places of `siblings` such that each comes behind those that its size follows.
    pub(super) fn in_order(&self, siblings: &[Parameter]) -> Result<Vec<usize>, No> {
        let notes: Vec<Notes> = siblings.iter().map(|sibling| self.notes(sibling)).collect();
        let mut order: Vec<usize> = Vec::new();
        while order.len() < siblings.len() {
            let is_ready = |at: &usize| {
                !order.contains(at)
                    && sizes(&notes[*at]).flat_map(followed).all(|name| {
                        let place = siblings.iter().position(|sibling| sibling.name == name);
                        place.is_none_or(|place| order.contains(&place))
                    })
            };
            let Some(next) = (0..siblings.len()).find(is_ready) else {
                let rest = siblings.iter().enumerate().find(|(at, _)| !order.contains(at));
                let name = rest.map_or("", |(_, sibling)| &sibling.name);
                return no(
                    format!("the size of {name} depends on itself"),
                    "say it by another parameter or field, or by a number",
                );
            };
            order.push(next);
        }
        Ok(order)
    }

    /// No function's sizes and bounds ask a function whose own ask it, perhaps through others: the first call would never end.
    pub(super) fn asks_in_no_ring(&self, function: &Function) -> Result<(), No> {
        let mut asked: Vec<&str> = Vec::new();
        let mut next = vec![(function, function.name.clone())];
        while let Some((asking, way)) = next.pop() {
            for name in self.asked_by(asking) {
                let way = format!("{way} asks {name}");
                if name == function.name {
                    return no(
                        format!("its size or bound depends on itself: {way}"),
                        "say one of them by a parameter, by lg_told(…) or by a number",
                    );
                }
                let Some(other) = self.header.functions.named(&name) else {
                    continue;
                };
                if !asked.contains(&&*other.name) {
                    asked.push(&other.name);
                    next.push((other, way));
                }
            }
        }
        Ok(())
    }

    /// Functions that the stub of `function` asks.
    fn asked_by(&self, function: &Function) -> BTreeSet<String> {
        let parameters = function.prototype.parameters.iter().map(|parameter| self.notes(parameter));
        let all: Vec<Notes> = parameters.chain(std::iter::once(function.notes.clone())).collect();
        all.iter().flat_map(Notes::expressions).flat_map(Expression::called).map(str::to_owned).collect()
    }

    /// A size that another function is asked for (`LG_SIZE(f(h))`) is the library's word, and the program, which asks, too, may hear another. So it may be
    /// that of nothing but bytes of the library's that have a mirror, where zeros follow, or of what the client itself knows the end of.
    pub(super) fn may_ask(&self, parameter: &Parameter, bounded: bool) -> Result<(), No> {
        let notes = self.notes(parameter);
        let asked = [&notes.size, &notes.rows].into_iter().flatten().flat_map(Expression::called).next();
        match asked {
            Some(asked) if !bounded => no(
                format!(
                    "its size asks {asked}(), which may answer the program otherwise: it would read or write beyond what there is"
                ),
                "say the size by a parameter, or by lg_told(…), which is what the program has heard",
            ),
            _ => Ok(()),
        }
    }

    /// Every name in `expression` is a number among `siblings` (or behind one, or a string), or a constant.
    pub(super) fn check_expression(
        &mut self,
        expression: &Expression,
        siblings: &[Parameter],
    ) -> Result<(), No> {
        let find = |name: &str| siblings.iter().find(|sibling| sibling.name == *name);
        self.is_one_number(expression, siblings)?;
        match expression {
            Expression::Number(_) => Ok(()),
            Expression::Name(name) => match find(name) {
                Some(sibling) if !sibling.kind.is_integer() => no(
                    format!("`{name}` in an expression is no integer but `{}`", sibling.kind.spelling),
                    format!("name an integer, or write *{name} for what it points to"),
                ),
                Some(_) => Ok(()),
                None => self.is_constant(name),
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
                match self.header.functions.named(name) {
                    None => return no(format!("{name}() is no function of this header"), "call one that is"),
                    Some(function) if !function.prototype.result.is_integer() => {
                        return no(
                            format!("{name}() in an expression gives no integer"),
                            "call one that does",
                        );
                    }
                    Some(_) => {}
                }
                arguments.iter().try_for_each(|argument| match argument {
                    // (It may be a pointer here.)
                    Expression::Name(name) if find(name).is_some() => Ok(()),
                    other => self.check_expression(other, siblings),
                })
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
            Expression::Told(told) => told.iter().try_for_each(|told| self.check_told(told, siblings)),
            Expression::Minus(x) | Expression::Not(x) => self.check_expression(x, siblings),
            Expression::Binary(_, x, y) => {
                [x, y].into_iter().try_for_each(|x| self.check_expression(x, siblings))
            }
            Expression::Conditional(x, y, z) => {
                [x, y, z].into_iter().try_for_each(|x| self.check_expression(x, siblings))
            }
        }
    }

    /// What a buffer holds that is written is one number before that, and another afterwards; and text that is only written has no end before.
    fn is_one_number(&self, expression: &Expression, siblings: &[Parameter]) -> Result<(), No> {
        let (name, spelled) = match expression {
            Expression::Deref(name) => (name, format!("*{name}")),
            Expression::StringLength(name) => (name, format!("strlen({name})")),
            _ => return Ok(()),
        };
        let notes = siblings.iter().find(|sibling| sibling.name == *name).map(|sibling| self.notes(sibling));
        match notes {
            Some(notes) if notes.size.is_some() && notes.direction.is_some_and(Direction::writes) => no(
                format!(
                    "{spelled} in an expression: `{name}` is a buffer that is written, so this is one number before, and another afterwards"
                ),
                "name an integer of its own, or a field of a structure",
            ),
            _ => Ok(()),
        }
    }

    /// What is none of the names beside it is a constant of the header's, or a mistake.
    fn is_constant(&self, name: &str) -> Result<(), No> {
        if name == "lg_result"
            || self.header.known.contains(name)
            || self.header.each_enumerator().any(|(known, _)| known == name)
        {
            return Ok(());
        }
        no(
            format!("`{name}` in an expression is neither beside it nor an integer constant of the header's"),
            "name a parameter (in a structure: a field), or a constant, as it is declared",
        )
    }

    /// The function tells that, of a handle that is among `siblings`.
    fn check_told(&mut self, told: &Told, siblings: &[Parameter]) -> Result<(), No> {
        let Told { function, handle, what } = told;
        let Some(teller) = self.header.functions.named(function) else {
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
