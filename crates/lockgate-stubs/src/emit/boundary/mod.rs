//! The boundary: what a stub does, step by step.
//!
//! The plan is lowered to a small tree of [`Step`]s and [`Value`]s, which a printer writes down as it stands and knows nothing about.
//! Everything that security rests on is decided here, once. A stub is made of [`Phases`], whose order, and what stands between
//! them, only [`Phases::steps`] says. What a domain can have written is a [`Raw`](copy_out::Raw), of which
//! [`CopyOut`](copy_out::CopyOut) alone makes a value.
//!
//! Clients in other languages stand on this one (decision 0040): only what is written here talks with a domain.
pub mod callback;
mod copy_in;
pub mod copy_out;
pub mod declare;
mod given;
pub mod record;
pub mod size;
pub mod stub;

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

/// The phases of a stub, in their order.
#[derive(Debug, Default)]
struct Phases {
    /// Variables that the end of the call needs, whatever happens before it.
    declare: Vec<Step>,
    /// Handles first, which other things are for; what must not be shared memory.
    enter: Vec<Step>,
    /// Everything in.
    copy_in: Vec<Step>,
    /// When all of that is in: the last questions before the call.
    ready: Vec<Step>,
    /// The call.
    call: Vec<Step>,
    /// Directly behind it, however it went.
    changed: Vec<Step>,
    /// Numbers that checks speak of, each fetched once, before all checks.
    fetch: Vec<Step>,
    /// Everything out: checked, into variables of the stub's own.
    copy_out: Vec<Step>,
    /// When all checks have passed: into the program's memory.
    give: Vec<Step>,
    /// However it went.
    release: Vec<Step>,
    /// What the caller gets.
    back: Vec<Step>,
}

impl Phases {
    /// All steps. After each phase in which something can fail, a call that has failed goes to its end.
    fn steps(self) -> Vec<Step> {
        let end = || when(failed(), [Step::End]);
        let returned = when(not(run("lgs_returned", [])), [Step::End]);
        let into = self.declare.into_iter().chain(self.enter).chain(self.copy_in).chain([end()]);
        let called = self.ready.into_iter().chain(self.call).chain(self.changed).chain([returned]);
        let out = self.fetch.into_iter().chain(self.copy_out).chain([end()]).chain(self.give);
        let ending = [Step::Mark].into_iter().chain(self.release).chain(self.back);
        into.chain(called).chain(out).chain(ending).collect()
    }
}

fn word(text: impl Into<String>) -> Value {
    Value::Word(text.into())
}

fn number(number: impl ToString) -> Value {
    Value::Word(number.to_string())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// A variable of the stub's own for this name.
fn local(letter: &str, name: &str) -> Value {
    word(local_name(letter, name))
}

fn local_name(letter: &str, name: &str) -> String {
    format!("lgs_{letter}_{name}")
}

fn call(function: &str, arguments: impl Into<Vec<Value>>) -> Value {
    Value::Call(Box::new(word(function)), arguments.into())
}

/// A function of the runtime's that has a part in this call.
fn run(function: &str, arguments: impl Into<Vec<Value>>) -> Value {
    let arguments = [address(word("lgs_c"))].into_iter().chain(arguments.into()).collect();
    Value::Call(Box::new(word(function)), arguments)
}

fn member(of: Value, name: &str) -> Value {
    Value::Member(Box::new(of), ".", name.to_owned())
}

fn through(pointer: Value, name: &str) -> Value {
    Value::Member(Box::new(pointer), "->", name.to_owned())
}

fn not(value: Value) -> Value {
    Value::Prefix("!", Box::new(value))
}

fn behind(value: Value) -> Value {
    Value::Prefix("*", Box::new(value))
}

fn address(value: Value) -> Value {
    Value::Prefix("&", Box::new(value))
}

fn cast(kind: &str, value: Value) -> Value {
    Value::Cast(kind.to_owned(), Box::new(value))
}

fn infix(one: Value, sign: &'static str, other: Value) -> Value {
    Value::Infix(Box::new(one), sign, Box::new(other))
}

fn equal(one: Value, other: Value) -> Value {
    infix(one, "==", other)
}

fn choice(condition: Value, one: Value, other: Value) -> Value {
    Value::Choice(Box::new(condition), Box::new(one), Box::new(other))
}

fn group(value: Value) -> Value {
    Value::Group(Box::new(value))
}

fn size_of(kind: &str) -> Value {
    call("sizeof", [word(kind)])
}

fn size_of_variable(value: Value) -> Value {
    Value::Prefix("sizeof ", Box::new(value))
}

fn zero() -> Value {
    word("0")
}

/// Nothing in the variable.
fn zeroed() -> Value {
    Value::List(vec![zero()])
}

fn failed() -> Value {
    word("lgs_c.failed")
}

fn variable(kind: &str, name: impl Into<String>, value: Value) -> Step {
    Step::Declare(kind.to_owned(), name.into(), Some(value))
}

fn when(condition: Value, steps: impl Into<Vec<Step>>) -> Step {
    Step::If(condition, steps.into(), Vec::new())
}

fn when_else(condition: Value, steps: impl Into<Vec<Step>>, otherwise: impl Into<Vec<Step>>) -> Step {
    Step::If(condition, steps.into(), otherwise.into())
}

/// Only if a condition holds, where there is one.
fn perhaps(condition: Option<Value>, step: Step) -> Step {
    match condition {
        Some(condition) => when(condition, [step]),
        None => step,
    }
}

/// The call fails, for this reason.
fn fail(kind: &str, what: &str, why: &str) -> Step {
    Step::Do(run("lgs_fail", [word(kind), text(what), text(why)]))
}
