//! Expressions of annotations as exact arithmetic of the stub.
use crate::expression::{Expression, Operator};

/// C for `expression`; `name` and `deref` say what stands for names and `*name`.
pub fn emit(
    expression: &Expression,
    name: &dyn Fn(&str) -> String,
    deref: &dyn Fn(&str) -> String,
) -> String {
    let inner = |x: &Expression| emit(x, name, deref);
    match expression {
        Expression::Number(n) => format!("(lgs_wide){n}u"),
        Expression::Name(n) => format!("(lgs_wide)({})", name(n)),
        Expression::Deref(n) => format!("(lgs_wide)({})", deref(n)),
        Expression::StringLength(n) => format!("lgs_strlen({})", name(n)),
        Expression::Call(function, arguments) => {
            let argument = |argument: &Expression| match argument {
                Expression::Name(n) => name(n),
                other => format!("(long long)({})", inner(other)),
            };
            let arguments: Vec<String> = arguments.iter().map(argument).collect();
            format!("(lgs_wide)({function})({})", arguments.join(", "))
        }
        Expression::Minus(x) => format!("lgs_subtract(&lgs_c, 0, {})", inner(x)),
        Expression::Not(x) => format!("(lgs_wide)!({})", inner(x)),
        Expression::Conditional(x, y, z) => format!("(({}) ? ({}) : ({}))", inner(x), inner(y), inner(z)),
        Expression::Binary(operator, x, y) => {
            let (x, y) = (inner(x), inner(y));
            let exact = |function: &str| format!("lgs_{function}(&lgs_c, {x}, {y})");
            let plain = |token: &str| format!("(lgs_wide)(({x}) {token} ({y}))");
            match operator {
                Operator::Add => exact("add"),
                Operator::Subtract => exact("subtract"),
                Operator::Multiply => exact("multiply"),
                Operator::Divide => exact("divide"),
                Operator::Remainder => exact("remainder"),
                Operator::Less => plain("<"),
                Operator::LessEqual => plain("<="),
                Operator::Greater => plain(">"),
                Operator::GreaterEqual => plain(">="),
                Operator::Equal => plain("=="),
                Operator::NotEqual => plain("!="),
                Operator::And => plain("&&"),
                Operator::Or => plain("||"),
            }
        }
    }
}
