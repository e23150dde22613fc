//! Sizes: what a language writes for an expression of the annotations.
use crate::emit::template::fill;
use crate::expression::{Expression, Operator};

/// A language's words for arithmetic, with `@X@`, `@Y@` and `@Z@` for what is in them, and `@S@` for a sign.
pub struct Words {
    /// A number.
    pub number: &'static str,
    /// `-x`
    pub minus: &'static str,
    /// `!x`
    pub not: &'static str,
    /// `x ? y : z`
    pub choice: &'static str,
    /// `x + y`, and so with `-`, `*`, `/` and `%`, where what does not fit is refused.
    pub exact: [&'static str; 5],
    /// `x < y` and its like.
    pub compared: &'static str,
    /// `x && y`, `x || y`
    pub logic: [&'static str; 2],
}

impl Words {
    /// All of `expression`; `operand` says what stands for a name, or (true) for its `strlen`.
    pub fn write(&self, expression: &Expression, operand: &dyn Fn(&str, bool) -> String) -> String {
        let inner = |x: &Expression| self.write(x, operand);
        match expression {
            Expression::Number(number) => fill(self.number, &[("X", &number.to_string())]),
            Expression::Name(name) | Expression::Deref(name) => operand(name, false),
            Expression::StringLength(name) => operand(name, true),
            // (Functions with a size that asks another one have no form.)
            Expression::Call(..) | Expression::Field(..) | Expression::Told(_) => {
                fill(self.minus, &[("X", &fill(self.number, &[("X", "1")]))])
            }
            Expression::Minus(x) => fill(self.minus, &[("X", &inner(x))]),
            Expression::Not(x) => fill(self.not, &[("X", &inner(x))]),
            Expression::Conditional(x, y, z) => {
                fill(self.choice, &[("X", &inner(x)), ("Y", &inner(y)), ("Z", &inner(z))])
            }
            Expression::Binary(operator, x, y) => {
                let (text, sign) = match operator {
                    Operator::Add => (self.exact[0], ""),
                    Operator::Subtract => (self.exact[1], ""),
                    Operator::Multiply => (self.exact[2], ""),
                    Operator::Divide => (self.exact[3], ""),
                    Operator::Remainder => (self.exact[4], ""),
                    Operator::Less => (self.compared, "<"),
                    Operator::LessEqual => (self.compared, "<="),
                    Operator::Greater => (self.compared, ">"),
                    Operator::GreaterEqual => (self.compared, ">="),
                    Operator::Equal => (self.compared, "=="),
                    Operator::NotEqual => (self.compared, "!="),
                    Operator::And => (self.logic[0], ""),
                    Operator::Or => (self.logic[1], ""),
                };
                fill(text, &[("X", &inner(x)), ("Y", &inner(y)), ("S", sign)])
            }
        }
    }
}
