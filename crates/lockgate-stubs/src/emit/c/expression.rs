//! Expressions of annotations as exact arithmetic of the stub.
use crate::expression::{Expression, Operator, Told};
use crate::plan::Plan;

/// What stands for the names of an expression.
pub trait Scope {
    /// A parameter, field or constant.
    fn name(&self, name: &str) -> String;
    /// What a pointer leads to, as it was copied.
    fn pointer(&self, name: &str) -> String;
    /// `*name`.
    fn deref(&self, name: &str) -> String;
    /// `name->field`: the structure as the program has it.
    fn field(&self, name: &str, field: &str) -> String;
    /// A handle, as the library has it.
    fn handle(&self, name: &str) -> String;
    /// Where [`Plan::told`] is.
    fn plan(&self) -> &Plan;
}

/// C for `expression` in `scope`.
pub fn emit(expression: &Expression, scope: &dyn Scope) -> String {
    let inner = |x: &Expression| emit(x, scope);
    let name = |n: &str| scope.name(n);
    match expression {
        Expression::Number(n) => format!("(lgs_wide){n}u"),
        Expression::Name(n) => format!("(lgs_wide)({})", name(n)),
        Expression::Deref(n) => format!("(lgs_wide)({})", scope.deref(n)),
        Expression::Field(n, field) => format!("(lgs_wide)({})", scope.field(n, field)),
        Expression::Told(told) => {
            let called = told.iter().any(|told| told.what == "lg_called");
            let each = |told: &Told| {
                let place = scope.plan().told_at(told).unwrap_or_default();
                format!("{{{}, {place}, \"{}\"}}", scope.handle(&told.handle), told.function)
            };
            let all: Vec<String> = told.iter().map(each).collect();
            let count = all.len();
            format!("lgs_told(&lgs_c, (const struct lgs_asked[]){{{}}}, {count}, {called})", all.join(", "))
        }
        Expression::StringLength(n) => format!("lgs_strlen({})", scope.pointer(n)),
        Expression::Call(function, arguments) => {
            let argument = |argument: &Expression| match argument {
                Expression::Name(n) => scope.pointer(n),
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
