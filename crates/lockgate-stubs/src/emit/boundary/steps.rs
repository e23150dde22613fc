//! What stubs are made of, and the words for it.

/// Something that a stub computes with.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A name or a number.
    Word(String),
    /// A string.
    Text(String),
    /// A function's result.
    Call(Box<Value>, Vec<Value>),
    /// A member of a structure, with what stands before it.
    Member(Box<Value>, &'static str, String),
    /// An element of an array.
    Element(Box<Value>, Box<Value>),
    /// A value with a sign of C before it.
    Prefix(&'static str, Box<Value>),
    /// The value as one of another type.
    Cast(String, Box<Value>),
    /// Values with a sign of C between them.
    Infix(Box<Value>, &'static str, Box<Value>),
    /// One of two.
    Choice(Box<Value>, Box<Value>, Box<Value>),
    /// In parentheses.
    Group(Box<Value>),
    /// Several, in braces.
    List(Vec<Value>),
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A variable of this type.
    Declare(String, String, Option<Value>),
    /// What a value comes to is done, for its effects.
    Do(Value),
    /// A place gets a value.
    Set(Value, Value),
    /// If a condition holds, else.
    If(Value, Vec<Step>, Vec<Step>),
    /// For each number below this one, by that name.
    Each(String, Value, Vec<Step>),
    /// Steps with variables of their own.
    Block(Vec<Step>),
    /// To the end of the call: [`Step::Mark`].
    End,
    /// Where a call ends, however it went.
    Mark,
    /// Back to the caller.
    Return(Option<Value>),
}

/// A function of the client's.
#[derive(Debug)]
pub struct Function {
    /// As it is declared.
    pub head: String,
    /// What it does.
    pub steps: Vec<Step>,
}

pub(super) fn word(text: impl Into<String>) -> Value {
    Value::Word(text.into())
}

pub(super) fn number(number: impl ToString) -> Value {
    Value::Word(number.to_string())
}

pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// A variable of the stub's own for this name.
pub(super) fn local(letter: &str, name: &str) -> Value {
    word(local_name(letter, name))
}

pub(super) fn local_name(letter: &str, name: &str) -> String {
    format!("lgs_{letter}_{name}")
}

pub(super) fn call(function: &str, arguments: impl Into<Vec<Value>>) -> Value {
    Value::Call(Box::new(word(function)), arguments.into())
}

/// A function of the runtime's that has a part in this call.
pub(super) fn run(function: &str, arguments: impl Into<Vec<Value>>) -> Value {
    let arguments = [address(word("lgs_c"))].into_iter().chain(arguments.into()).collect();
    Value::Call(Box::new(word(function)), arguments)
}

pub(super) fn member(of: Value, name: &str) -> Value {
    Value::Member(Box::new(of), ".", name.to_owned())
}

pub(super) fn through(pointer: Value, name: &str) -> Value {
    Value::Member(Box::new(pointer), "->", name.to_owned())
}

pub(super) fn not(value: Value) -> Value {
    Value::Prefix("!", Box::new(value))
}

pub(super) fn behind(value: Value) -> Value {
    Value::Prefix("*", Box::new(value))
}

pub(super) fn address(value: Value) -> Value {
    Value::Prefix("&", Box::new(value))
}

pub(super) fn cast(kind: &str, value: Value) -> Value {
    Value::Cast(kind.to_owned(), Box::new(value))
}

pub(super) fn infix(one: Value, sign: &'static str, other: Value) -> Value {
    Value::Infix(Box::new(one), sign, Box::new(other))
}

pub(super) fn equal(one: Value, other: Value) -> Value {
    infix(one, "==", other)
}

pub(super) fn choice(condition: Value, one: Value, other: Value) -> Value {
    Value::Choice(Box::new(condition), Box::new(one), Box::new(other))
}

pub(super) fn group(value: Value) -> Value {
    Value::Group(Box::new(value))
}

pub(super) fn size_of(kind: &str) -> Value {
    call("sizeof", [word(kind)])
}

pub(super) fn size_of_variable(value: Value) -> Value {
    Value::Prefix("sizeof ", Box::new(value))
}

pub(super) fn zero() -> Value {
    word("0")
}

/// Nothing in the variable.
pub(super) fn zeroed() -> Value {
    Value::List(vec![zero()])
}

pub(super) fn failed() -> Value {
    word("lgs_c.failed")
}

pub(super) fn variable(kind: &str, name: impl Into<String>, value: Value) -> Step {
    Step::Declare(kind.to_owned(), name.into(), Some(value))
}

pub(super) fn when(condition: Value, steps: impl Into<Vec<Step>>) -> Step {
    Step::If(condition, steps.into(), Vec::new())
}

pub(super) fn when_else(
    condition: Value,
    steps: impl Into<Vec<Step>>,
    otherwise: impl Into<Vec<Step>>,
) -> Step {
    Step::If(condition, steps.into(), otherwise.into())
}

/// Only if a condition holds, where there is one.
pub(super) fn perhaps(condition: Option<Value>, step: Step) -> Step {
    match condition {
        Some(condition) => when(condition, [step]),
        None => step,
    }
}

/// The call fails, for this reason.
pub(super) fn fail(kind: &str, what: &str, why: &str) -> Step {
    Step::Do(run("lgs_fail", [word(kind), text(what), text(why)]))
}
