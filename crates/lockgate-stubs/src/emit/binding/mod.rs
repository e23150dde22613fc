//! The form of an API in a language with slices, closures and destructors: one lowering, for every language but C.
//!
//! Lengths come from buffers, what the library writes comes back as a value, the program's own data is what closures have, handles end
//! with their objects. A printer is driven by [`Function::print`], which asks it for each step in turn: none can be left out.
//! What a domain gave was judged by the client in C before it comes here (decision 0040).
pub mod arithmetic;
mod closure;
mod function;
pub mod layout;
pub mod surface;
pub mod table;
pub mod types;

use super::template::row;
use super::{File, Target, c};
use crate::expression::Expression;
use crate::header::model::CType;
use crate::plan::{FieldPlan, FunctionPlan, Outcome, Passing, Plan, RecordPlan};
pub use closure::{Closure, Seen, Shown};
pub use function::{prototype, says};
use std::collections::HashSet;
use surface::Surface;
use types::{Type, What};

/// A function, as the language has it.
pub struct Function<'a> {
    /// As C has it.
    pub plan: &'a FunctionPlan,
    /// What goes in, in C's order.
    pub arguments: Vec<Argument<'a>>,
    /// What comes out, the result first.
    outs: Vec<CopyOut<'a>>,
    /// Buffers whose size something else says.
    checks: Vec<Check<'a>>,
    /// Bytes of the memory that the library lends: the caller's go into it.
    pub lent: Option<&'a Expression>,
    /// The result may say that errno says what is wrong.
    pub errno: bool,
    /// The result says whether it has succeeded: 0.
    pub says: bool,
}

/// One parameter of C's.
pub struct Argument<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub kind: &'a CType,
    /// What it is to the caller.
    pub how: CopyIn<'a>,
}

/// What a parameter is to the caller.
pub enum CopyIn<'a> {
    /// Nothing: null or zero.
    Zero,
    /// Nothing: the number of this closure, the only one, with which the library gives it back.
    Data(&'a str),
    /// Nothing: the length of this parameter's buffer.
    Length(&'a str),
    /// The same behind a pointer; how much there is afterwards comes back.
    Room(&'a str),
    /// A number.
    Number(Option<&'a str>),
    /// A structure of numbers, by value.
    Structure,
    /// A string.
    Text,
    /// The text that printf's format would make.
    Printed,
    /// A buffer.
    Slice {
        /// The library writes it.
        writes: bool,
        /// Its size.
        size: Option<&'a Expression>,
        /// There may be none (`LG_NULLABLE`).
        nullable: bool,
    },
    /// A number behind a pointer.
    Scalar {
        /// It goes in.
        reads: bool,
        /// It comes back.
        writes: bool,
        /// The enumeration that it is one of.
        enumeration: Option<&'a str>,
    },
    /// A buffer of structures.
    Records {
        /// Their key.
        key: &'a str,
        /// The library writes it.
        writes: bool,
        /// How many.
        size: &'a Expression,
    },
    /// A structure.
    Record {
        /// Its key.
        key: &'a str,
        /// It has no pointers.
        plain: bool,
        /// It goes in.
        reads: bool,
        /// It comes back.
        writes: bool,
    },
    /// A structure that the library knows by its address.
    Kept {
        /// Its key.
        key: &'a str,
        /// The buffers in it that it reads: parameters of their own.
        buffers: Vec<Cursor<'a>>,
        /// It has any at all.
        reads: bool,
        /// Its life ends here.
        release: bool,
        /// The function that ends what begins here.
        end: Option<&'a str>,
    },
    /// A handle.
    Handle {
        /// Its type.
        number: usize,
        /// Its life ends here.
        release: bool,
    },
    /// A handle that the library replaces.
    Replaced(usize),
    /// A place in the library's memory.
    Place,
    /// Something that the library gives: it comes back. Of a handle, its type, and if it is the program's to end: it is so whatever the call comes to.
    Given(Option<(usize, bool)>),
    /// A function.
    Closure {
        /// Its type.
        name: &'a str,
        /// It is known by data, which comes back with each call; without, by its function alone.
        by_data: bool,
        /// The handles among the parameters, as long as whose lives the library may have it; without one, for good.
        handles: Vec<&'a str>,
    },
}

/// A buffer of a kept structure.
pub struct Cursor<'a> {
    /// The field that points to it.
    pub field: &'a FieldPlan,
    /// The library writes it.
    pub writes: bool,
    /// The field with its length.
    pub length: &'a FieldPlan,
}

/// A buffer must have so many elements.
pub struct Check<'a> {
    /// Whose.
    pub of: &'a str,
    /// How many.
    pub needed: &'a Expression,
    /// None are needed where there is no buffer.
    pub nullable: bool,
}

/// Something that comes back.
pub struct CopyOut<'a> {
    /// The parameter, or `result`.
    pub what: &'a str,
    /// It is the result, whatever parameters are called.
    pub is_result: bool,
    /// Its type; of what a parameter leads to.
    pub kind: &'a CType,
    /// What it is.
    pub judge: Judge<'a>,
    /// It is on the program's heap: copied, then freed.
    pub freed: bool,
}

/// What something is that comes back.
pub enum Judge<'a> {
    /// A number, or a structure of numbers by value.
    Number,
    /// A number that must be one of these.
    Enumeration(&'a str),
    /// A string.
    Text,
    /// Memory.
    Memory,
    /// Structures.
    Records {
        /// Their key.
        key: &'a str,
        /// They have no pointers.
        plain: bool,
        /// There is one.
        one: bool,
    },
    /// A structure that the library has filled.
    Filled {
        /// Its key.
        key: &'a str,
        /// It has no pointers.
        plain: bool,
    },
    /// A handle.
    Handle {
        /// Its type.
        number: usize,
        /// It is the program's to end.
        owned: bool,
        /// It is in the place that was passed, [`CopyIn::Given`].
        in_place: bool,
    },
    /// What is in a handle's place behind the call: the same one, whose owner stays, or another, which is the program's to end.
    Replaced(usize),
    /// If there is a function.
    Callback,
    /// How far behind the beginning of this parameter.
    Offset {
        /// The parameter.
        object: &'a str,
        /// It is a string.
        text: bool,
    },
    /// A place in the library's memory.
    Place,
}

/// What stands for a name in a size.
pub enum Operand<'a> {
    /// A constant of the header.
    Constant,
    /// A number of the caller's.
    Number(Option<&'a str>),
    /// One that is passed behind a pointer.
    Scalar,
    /// The length of this parameter's buffer.
    Count(&'a str),
    /// The length of a string.
    TextLength,
    /// Elements of a buffer before a zero.
    Elements,
    /// Anything else.
    Other,
}

/// What a function is written from.
#[derive(Default)]
pub struct Pieces {
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
    /// What comes back: types and values.
    pub given: Vec<(String, String)>,
}

/// What writes a function down.
pub trait Printer<'a> {
    /// A buffer, before everything that speaks of its length.
    fn buffer(&mut self, argument: &Argument<'a>);
    /// One parameter.
    fn copy_in(&mut self, argument: &Argument<'a>);
    /// When everything is known that sizes speak of.
    fn check(&mut self, check: &Check<'a>);
    /// The caller's contents for memory that the library lends.
    fn lend(&mut self, room: &'a Expression);
    /// What comes back.
    fn copy_out(&mut self, out: &CopyOut<'a>);
}

impl<'a> Function<'a> {
    /// Has `printer` write every step, in their order.
    pub fn print(&self, printer: &mut impl Printer<'a>) {
        let is_buffer = |how: &CopyIn<'_>| matches!(how, CopyIn::Slice { .. } | CopyIn::Records { .. });
        for argument in self.arguments.iter().filter(|argument| is_buffer(&argument.how)) {
            printer.buffer(argument);
        }
        self.arguments.iter().for_each(|argument| printer.copy_in(argument));
        self.checks.iter().for_each(|check| printer.check(check));
        self.lent.into_iter().for_each(|room| printer.lend(room));
        self.outs.iter().for_each(|out| printer.copy_out(out));
    }

    /// How many things come back.
    pub fn gives(&self) -> usize {
        self.outs.len()
    }

    /// Names of what comes back.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        // (A parameter may be called `result`.)
        let name =
            |out: &CopyOut<'a>| if !out.is_result && out.what == "result" { "result_" } else { out.what };
        self.outs.iter().map(name)
    }

    /// Names of the closures that are known by their functions alone.
    pub fn bare_closures(&self) -> impl Iterator<Item = &'a str> {
        let is_bare = |own: &&Argument<'_>| matches!(own.how, CopyIn::Closure { by_data: false, .. });
        self.arguments.iter().filter(is_bare).map(|own| own.name)
    }

    /// It makes a handle that is the program's.
    pub fn makes(&self) -> bool {
        self.outs
            .iter()
            .any(|out| matches!(out.judge, Judge::Handle { owned: true, .. } | Judge::Replaced(_)))
    }

    /// Some of these closures are passed to a call that makes a handle: without another one they belong to that, and, if it makes none, are the library's for good.
    pub fn belong_to_made(&self) -> bool {
        self.makes() && self.bare_closures().next().is_some()
    }

    /// What the result is, if it comes back.
    pub fn result(&self) -> Option<&Judge<'a>> {
        self.outs.iter().find(|out| out.is_result).map(|out| &out.judge)
    }

    /// What `name` is in a size; `length`: it is its length that counts.
    pub fn operand(&self, name: &str, length: bool) -> Operand<'a> {
        let Some(argument) = self.arguments.iter().find(|argument| argument.name == name) else {
            return Operand::Constant;
        };
        match (&argument.how, length) {
            (CopyIn::Text, true) => Operand::TextLength,
            (CopyIn::Slice { .. }, true) => Operand::Elements,
            (CopyIn::Length(of) | CopyIn::Room(of), _) => Operand::Count(of),
            (CopyIn::Number(enumeration), _) => Operand::Number(*enumeration),
            (CopyIn::Scalar { .. }, _) => Operand::Scalar,
            _ => Operand::Other,
        }
    }
}

/// A field of a structure that programs see: a number, or text.
pub struct Member<'a> {
    /// As it is planned.
    pub field: &'a FieldPlan,
    /// It is a string.
    pub is_text: bool,
    /// The library reads it.
    pub goes_in: bool,
}

/// What programs see of a structure that is not C's own.
pub fn members(record: &RecordPlan) -> impl Iterator<Item = Member<'_>> {
    record.fields.iter().filter_map(|field| {
        let is_text = matches!(field.outcome, Outcome::String { .. });
        let goes_in = matches!(field.passing, Passing::Value | Passing::String { .. });
        (is_text || field.passing == Passing::Value).then_some(Member { field, is_text, goes_in })
    })
}

/// A comment, each line of it behind `before`, that lists what has no form, and why; `clean` leaves out what such a comment cannot have.
pub fn left_out(surface: &Surface<'_>, before: &str, clean: impl Fn(&str) -> String) -> String {
    if surface.left_out.is_empty() {
        return String::new();
    }
    let functions = surface.left_out.iter().map(|(function, why)| format!("- `{function}`: {}", clean(why)));
    let head = ["", "Without a form here:", ""].map(str::to_owned);
    let lines = head.into_iter().chain(functions).map(|text| row(format!("{before} {text}").trim()));
    lines.collect()
}

/// Refuses what `language` cannot tell apart: two things of one name, where `kinds` have names of one kind.
///
/// # Errors
/// The name, with the remedy.
pub fn is_unambiguous(
    names: impl IntoIterator<Item = impl Into<String>>,
    language: &str,
    kinds: &str,
) -> Result<(), String> {
    let mut known = HashSet::new();
    match names.into_iter().map(Into::into).find(|name| !known.insert(name.clone())) {
        None => Ok(()),
        Some(name) => Err(format!(
            "two things of this header would be called {name} in {language}, where {kinds} have names of one kind: leave a function \
             out with LG_OMIT"
        )),
    }
}

/// Refuses names that are no words to each language: some take two spellings of a letter for one name, and a letter with an accent, or a
/// ligature, for others.
///
/// # Errors
/// The name, with the remedy.
pub fn has_words_alone<'a>(surface: &'a Surface<'_>, types: &'a [Type<'_>]) -> Result<(), String> {
    // (The names of types have become words by now.)
    let declared = |kind: &'a Type<'_>| match &kind.what {
        What::Enumeration(key, _) | What::Plain(key, _) | What::Texts(key, _) | What::Kept(key, _) => *key,
        What::Handle(number) => surface.plan.handles[number - 1].as_str(),
        What::Closure(_) => kind.name.as_str(),
    };
    let of_types = types.iter().flat_map(|kind| [declared(kind)].into_iter().chain(kind.inner()));
    let of_functions = surface.functions.iter().flat_map(|function| &function.prototype.parameters);
    let mut names = of_types.chain(of_functions.map(|parameter| parameter.name.as_str()));
    match names.find(|name| !name.is_ascii()) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{:?} has other characters than ASCII's, which other languages may take for those of another name: give it another name, or \
             leave the functions that need it out with LG_OMIT",
            lockgate_outside::printable(name)
        )),
    }
}

/// Refuses what `language` cannot tell apart within one thing: fields of a type, or values of an enumeration, that `word` gives one name,
/// and parameters of a function to which `variable` does.
///
/// # Errors
/// The name, with the remedy.
pub fn are_distinct_within(
    surface: &Surface<'_>,
    types: &[Type<'_>],
    language: &str,
    word: fn(&str) -> String,
    variable: fn(&str) -> String,
) -> Result<(), String> {
    types.iter().try_for_each(|kind| {
        is_unambiguous(kind.inner().map(word), language, &format!("fields and values of {}", kind.name))
    })?;
    surface.functions.iter().try_for_each(|function| {
        let form = surface.function(function);
        // (What the program gives for the library's memory, and buffers of structures, are parameters, too.)
        let buffers = form.arguments.iter().flat_map(|argument| match &argument.how {
            CopyIn::Kept { buffers, .. } => buffers.as_slice(),
            _ => &[],
        });
        let buffers = buffers.map(|cursor| cursor.field.name.as_str()).chain(form.lent.map(|_| "contents"));
        let declared = function.prototype.parameters.iter().map(|parameter| parameter.name.as_str());
        let names = declared.chain(buffers).map(variable);
        is_unambiguous(names, language, &format!("parameters of {}", function.name))
    })
}

/// A comment of the header's, each line of it behind `before`; `clean` leaves out what such a line cannot have.
pub fn commented(comment: &str, before: &str, clean: impl Fn(&str) -> String) -> String {
    let line = |line: &str| row(format!("{before} {}", clean(line)).trim_end());
    comment.lines().map(line).collect()
}

/// All files of a binding: its own, and those of the client in C.
pub fn with_client(mut files: Vec<File>, plan: &Plan, target: &Target) -> Vec<File> {
    let client = c::client(plan, target).into_iter();
    files.extend(client.map(|file| File { name: format!("client/{}", file.name), ..file }));
    files
}

/// How many values come back, and their types and values with commas between.
pub fn joined(given: &[(String, String)]) -> (usize, String, String) {
    let all = |part: fn(&(String, String)) -> &str| given.iter().map(part).collect::<Vec<_>>().join(", ");
    (given.len(), all(|(kind, _)| kind), all(|(_, value)| value))
}
