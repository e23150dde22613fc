//! Sizes: what a language writes for an expression of the annotations.
use crate::expression::{Expression, Operator};

/// The words of a language, whose operands are written already.
pub trait Arithmetic {
    /// A number.
    fn number(&self, number: u64) -> String;
    /// A name of the header's; `length`: `strlen` of it.
    fn operand(&self, name: &str, length: bool) -> String;
    /// What no call has (what asks other functions is left out).
    fn unknown(&self) -> String;
    /// `-x`
    fn minus(&self, x: &str) -> String;
    /// `!x`
    fn not(&self, x: &str) -> String;
    /// `x ? y : z`
    fn choice(&self, x: &str, y: &str, z: &str) -> String;
    /// `x + y` and its like, which may not fit.
    fn exact(&self, operator: Operator, x: &str, y: &str) -> String;
    /// `x < y` and its like.
    fn compared(&self, sign: &str, x: &str, y: &str) -> String;
    /// `x && y`, or `x || y`.
    fn joined(&self, both: bool, x: &str, y: &str) -> String;

    /// The whole of `expression`.
    fn write(&self, expression: &Expression) -> String {
        let inner = |x: &Expression| self.write(x);
        match expression {
            Expression::Number(number) => self.number(*number),
            Expression::Name(name) | Expression::Deref(name) => self.operand(name, false),
            Expression::StringLength(name) => self.operand(name, true),
            Expression::Call(..) | Expression::Field(..) | Expression::Told(_) => self.unknown(),
            Expression::Minus(x) => self.minus(&inner(x)),
            Expression::Not(x) => self.not(&inner(x)),
            Expression::Conditional(x, y, z) => self.choice(&inner(x), &inner(y), &inner(z)),
            Expression::Binary(operator, x, y) => {
                let (x, y) = (inner(x), inner(y));
                let (x, y) = (&*x, &*y);
                match operator {
                    Operator::And => self.joined(true, x, y),
                    Operator::Or => self.joined(false, x, y),
                    Operator::Less => self.compared("<", x, y),
                    Operator::LessEqual => self.compared("<=", x, y),
                    Operator::Greater => self.compared(">", x, y),
                    Operator::GreaterEqual => self.compared(">=", x, y),
                    Operator::Equal => self.compared("==", x, y),
                    Operator::NotEqual => self.compared("!=", x, y),
                    exact => self.exact(*exact, x, y),
                }
            }
        }
    }
}
