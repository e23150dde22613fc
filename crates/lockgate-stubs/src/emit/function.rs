//! What functions of bindings have in common, whatever the language.
use crate::header::model::Shape;
use crate::plan::FunctionPlan;

/// The pieces of a function.
#[derive(Default)]
pub struct Body {
    /// As it is declared.
    pub parameters: Vec<String>,
    /// Before the call.
    pub before: String,
    /// What changes by the call, when nothing can refuse it any more.
    pub stored: String,
    /// Of the call.
    pub arguments: Vec<String>,
    /// After the call, whatever came of it.
    pub always: String,
    /// After a call that returned.
    pub after: String,
    /// What comes back beside the result: types and values.
    pub given: Vec<(String, String)>,
}

impl Body {
    /// Types and values of all that comes back, each with commas between; and how many there are.
    pub fn outcome(&mut self, result: Option<(String, String)>) -> (String, String, usize) {
        let values: Vec<(String, String)> = result.into_iter().chain(self.given.drain(..)).collect();
        let (kinds, parts): (Vec<String>, Vec<String>) = values.into_iter().unzip();
        (kinds.join(", "), parts.join(", "), kinds.len())
    }
}

/// The function as C declares it.
pub fn prototype(function: &FunctionPlan) -> String {
    let kinds = function.prototype.parameters.iter().map(|p| format!("{} {}", p.kind.spelling, p.name));
    let dots = function.prototype.variadic.then(|| "...".to_owned());
    let parameters: Vec<String> = kinds.chain(dots).collect();
    format!("{} {}({})", function.prototype.result.spelling, function.name, parameters.join(", "))
        .replace("* ", "*")
}

/// The result of a function that has failed.
pub enum Failed<'a> {
    /// A null pointer.
    Null,
    /// This number.
    Number(&'a str),
}

/// The result when errno says why; nothing if it does not, or the type has no such value.
pub fn says_errno(function: &FunctionPlan) -> Option<Failed<'_>> {
    match function.prototype.result.shape {
        _ if !function.errno => None,
        Shape::Pointer(_) => Some(Failed::Null),
        Shape::Integer { .. } => {
            let value = function.error.as_deref().filter(|error| error.parse::<i64>().is_ok());
            Some(Failed::Number(value.unwrap_or("-1")))
        }
        _ => None,
    }
}
