//! What `lockgate/annotations.h` says of a declaration.
use crate::expression::{Expression, ExpressionError};
use std::collections::BTreeSet;

/// Whether the library reads or writes what a pointer leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `LG_IN`
    In,
    /// `LG_OUT`
    Out,
    /// `LG_INOUT`
    InOut,
}

impl Direction {
    /// The library reads it.
    pub fn reads(self) -> bool {
        self != Direction::Out
    }

    /// The library writes it.
    pub fn writes(self) -> bool {
        self != Direction::In
    }

    /// Its macro, without `LG_`.
    fn name(self) -> &'static str {
        match self {
            Direction::In => "IN",
            Direction::Out => "OUT",
            Direction::InOut => "INOUT",
        }
    }
}

/// What stands between the parentheses of an annotation, as it is written.
trait Argument {
    fn written(&self) -> String;
}

impl Argument for Expression {
    fn written(&self) -> String {
        self.to_string()
    }
}

impl Argument for String {
    fn written(&self) -> String {
        self.clone()
    }
}

impl Argument for Vec<String> {
    fn written(&self) -> String {
        self.join(", ")
    }
}

impl Argument for (String, String) {
    fn written(&self) -> String {
        format!("{}, {}", self.0, self.1)
    }
}

impl Argument for Format {
    fn written(&self) -> String {
        self.list.clone()
    }
}

/// Declares [`Notes`]: each macro once, by its name in lower letters. Whatever is true of all of them follows from the list, so that none
/// can be forgotten.
macro_rules! notes {
    (arguments { $($argument:ident: $type:ty,)* } flags { $($flag:ident,)* }) => {
        /// The annotations of one declaration; one field for each macro that can stand there.
        #[derive(Debug, Clone, Default, PartialEq)]
        #[allow(missing_docs, reason = "each is the macro of the same name, explained in annotations.h")]
        pub struct Notes {
            pub direction: Option<Direction>,
            /// `LG_DOMAIN` before a declaration: the number of the mark, and the name.
            pub home: Option<(u32, String)>,
            /// Names in expressions as they are written, before what macros make of them.
            pub spelled: BTreeSet<String>,
            $(pub $argument: Option<$type>,)*
            $(pub $flag: bool,)*
        }

        impl Notes {
            /// That of the macro without an argument that is called so.
            fn flag(&mut self, name: &str) -> Option<&mut bool> {
                match name {
                    $(stringify!($flag) => Some(&mut self.$flag),)*
                    _ => None,
                }
            }

            /// The macro that both have, with two arguments.
            fn twice(&self, other: &Notes) -> Option<&'static str> {
                $(if self.$argument.as_ref().zip(other.$argument.as_ref()).is_some_and(|(one, other)| one != other) {
                    return Some(stringify!($argument));
                })*
                None
            }

            /// These notes, with those of `other` where these say nothing.
            pub fn or(mut self, other: &Notes) -> Notes {
                self.direction = self.direction.or(other.direction);
                self.home = self.home.or_else(|| other.home.clone());
                self.spelled.extend(other.spelled.iter().cloned());
                $(self.$argument = self.$argument.or_else(|| other.$argument.clone());)*
                $(self.$flag |= other.$flag;)*
                self
            }

            /// The annotations as they are written.
            pub fn said(&self) -> Vec<String> {
                let macro_of = |field: &str| format!("LG_{}", field.to_uppercase());
                let mut said: Vec<String> = self.direction.iter().map(|direction| macro_of(direction.name())).collect();
                $(said.extend(self.$argument.iter().map(|argument| {
                    format!("{}({})", macro_of(stringify!($argument)), argument.written())
                }));)*
                $(said.extend(self.$flag.then(|| macro_of(stringify!($flag))));)*
                said
            }
        }
    };
}

notes! {
    arguments {
        size: Expression,
        written: Expression,
        rows: Expression,
        at_most: Expression,
        error: String,
        policy: String,
        omit: String,
        within: String,
        until: String,
        shown: String,
        freed: String,
        jump_buffer: String,
        dispose: (String, String),
        given: Vec<String>,
        format: Format,
    }
    flags {
        cursor,
        string,
        bytes,
        strings,
        pairs,
        nullable,
        number,
        null,
        ignore,
        opaque,
        zeros,
        borrowed,
        release,
        reset,
        kept,
        shared,
        inside,
        lent,
        callback,
        data,
        for_call,
        errno,
        printf,
        entry,
        jump,
        jumps,
    }
}

/// `LG_FORMAT`: how variable arguments are found in a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// The library's function with a `va_list`.
    pub list: String,
    /// Letters of conversions that take strings, beside `s`.
    pub strings: String,
    /// Letters of those that take memory of the library's.
    pub given: String,
}

/// Why an annotation is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The header was written for another version.
    #[error("LG_{0} is not known; annotations.h does not belong to this program")]
    Unknown(String),
    /// The expression in it.
    #[error("LG_{macro_name}({text}): {error}")]
    Expression {
        /// Macro, without `LG_`.
        macro_name: String,
        /// Its argument.
        text: String,
        /// What is wrong with it.
        error: ExpressionError,
    },
    /// What a failed call returns is copied into the client, and so is nothing but a value.
    #[error(
        "{0} is no constant: numbers, names of constants, casts and operators make one, not calls, assignments or statements"
    )]
    Constant(String),
    /// What it says is copied into the client.
    #[error("LG_{macro_name}({text}): expected names of C and letters of conversions")]
    Word {
        /// Macro, without `LG_`.
        macro_name: String,
        /// Its argument.
        text: String,
    },
    /// One annotation twice, with two meanings.
    #[error("LG_{} is given twice, with different arguments", .0.to_uppercase())]
    Twice(&'static str),
    /// Two annotations that cannot both hold.
    #[error("LG_{0} contradicts LG_{1}")]
    Contradiction(&'static str, &'static str),
}

impl Notes {
    /// Adds the annotation whose attribute says `text` (behind `lockgate:`).
    ///
    /// # Errors
    /// [`NoteError`].
    pub fn add(&mut self, text: &str) -> Result<(), NoteError> {
        let said = Notes::one(text)?;
        said.agrees(self)?;
        *self = said.or(self);
        Ok(())
    }

    /// One annotation.
    fn one(text: &str) -> Result<Notes, NoteError> {
        let (name, argument) = text.split_once(':').unwrap_or((text, ""));
        let expression = || {
            Expression::parse(argument).map_err(|error| NoteError::Expression {
                macro_name: name.to_uppercase(),
                text: lockgate_outside::printable(argument),
                error,
            })
        };
        let owned = || argument.trim().to_owned();
        let no_word = || NoteError::Word {
            macro_name: name.to_uppercase(),
            text: lockgate_outside::printable(argument),
        };
        let word = || Some(owned()).filter(|text| is_word(text)).ok_or_else(no_word);
        let mut notes = Notes::default();
        match name {
            "in" => notes.direction = Some(Direction::In),
            "out" => notes.direction = Some(Direction::Out),
            "inout" => notes.direction = Some(Direction::InOut),
            "size" => notes.size = Some(expression()?),
            "written" => notes.written = Some(expression()?),
            "rows" => notes.rows = Some(expression()?),
            "at_most" => notes.at_most = Some(expression()?),
            "error" => notes.error = Some(constant(argument)?),
            "policy" => notes.policy = Some(owned()),
            "names" => notes.spelled = words(argument),
            "omit" => notes.omit = Some(lockgate_outside::printable(&owned())),
            "within" => notes.within = Some(word()?),
            "until" => notes.until = Some(word()?),
            "shown" => notes.shown = Some(word()?),
            "freed" => notes.freed = Some(word()?),
            "jump_buffer" => notes.jump_buffer = Some(word()?),
            "dispose" => {
                let (object, copy) = argument.split_once(',').unwrap_or((argument, "0"));
                if !is_word(object.trim()) {
                    return Err(no_word());
                }
                notes.dispose = Some((object.trim().to_owned(), constant(copy)?));
            }
            "given" => {
                let words: Vec<String> = argument.split(',').map(|word| word.trim().to_owned()).collect();
                notes.given = Some(words).filter(|words| words.iter().all(|word| is_word(word)));
                notes.given.as_ref().ok_or_else(no_word)?;
            }
            "format" => {
                let mut parts = argument.split(',').map(|part| part.trim().to_owned());
                let mut part = || parts.next().unwrap_or_default();
                let (list, strings, given) = (part(), part(), part());
                let letters = strings.chars().chain(given.chars()).all(|c| c.is_ascii_alphabetic());
                if !is_word(&list) || !letters || parts.next().is_some() {
                    return Err(no_word());
                }
                notes.format = Some(Format { list, strings, given });
            }
            "home" => {
                let (number, name) = argument.split_once(':').unwrap_or(("0", argument));
                notes.home = Some((number.parse().unwrap_or_default(), name.to_owned()));
            }
            _ => *notes.flag(name).ok_or_else(|| NoteError::Unknown(name.to_uppercase()))? = true,
        }
        Ok(notes)
    }

    /// Both can be said of one thing.
    ///
    /// # Errors
    /// [`NoteError::Twice`], [`NoteError::Contradiction`].
    pub fn agrees(&self, other: &Notes) -> Result<(), NoteError> {
        if let Some((own, other)) = self.direction.zip(other.direction).filter(|(own, other)| own != other) {
            return Err(NoteError::Contradiction(own.name(), other.name()));
        }
        match self.twice(other) {
            Some(name) => Err(NoteError::Twice(name)),
            None => self.clone().or(other).check(),
        }
    }

    /// The expressions in it.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        [&self.size, &self.written, &self.rows, &self.at_most].into_iter().flatten()
    }

    /// Adds the names in its expressions.
    pub fn add_names(&self, names: &mut BTreeSet<String>) {
        names.extend(self.expressions().flat_map(Expression::names).map(str::to_owned));
    }

    /// What a pointer is can be said once only.
    fn check(&self) -> Result<(), NoteError> {
        let natures = [
            (self.string, "STRING"),
            (self.bytes, "BYTES"),
            (self.strings, "STRINGS"),
            (self.opaque, "OPAQUE"),
            (self.inside, "INSIDE"),
            (self.within.is_some(), "WITHIN"),
            (self.callback, "CALLBACK"),
            (self.data, "DATA"),
            (self.dispose.is_some(), "DISPOSE"),
            (self.null, "NULL"),
            (self.ignore, "IGNORE"),
            (self.jump, "JUMP"),
            (self.jump_buffer.is_some(), "JUMP_BUFFER"),
        ];
        let mut said = natures.iter().filter(|(is, _)| *is).map(|(_, name)| *name);
        if let (Some(first), Some(second)) = (said.next(), said.next()) {
            return Err(NoteError::Contradiction(second, first));
        }
        if self.null && self.nullable {
            return Err(NoteError::Contradiction("NULLABLE", "NULL"));
        }
        if self.for_call && (self.kept || self.shown.is_some()) {
            return Err(NoteError::Contradiction("FOR_CALL", if self.kept { "KEPT" } else { "SHOWN" }));
        }
        if self.pairs && self.nullable {
            return Err(NoteError::Contradiction("PAIRS", "NULLABLE"));
        }
        if self.shared && self.string {
            return Err(NoteError::Contradiction("SHARED", "STRING"));
        }
        if self.freed.is_some() && self.borrowed {
            return Err(NoteError::Contradiction("FREED", "BORROWED"));
        }
        Ok(())
    }
}

/// A name of C.
fn is_word(text: &str) -> bool {
    let of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(of_word) && text.starts_with(|c: char| of_word(c) && !c.is_ascii_digit())
}

/// The names of C in a text.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| is_word(word)).map(str::to_owned).collect()
}

/// An expression that does nothing: without calls, assignments, statements and directives.
fn constant(text: &str) -> Result<String, NoteError> {
    let text = text.trim();
    let error = || NoteError::Constant(lockgate_outside::printable(text));
    let mut rest = text;
    // The word right before, if one is, and the sign before that.
    let mut word = "";
    let mut sign = ' ';
    let mut depth: Vec<(char, usize)> = Vec::new();
    // What was in the parentheses that end right before, if any do.
    let mut group = None;
    while let Some(first) = rest.chars().next() {
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match first {
            // (With its dot and exponent, a number is a word as well.)
            c if is_of_word(c) => rest.find(|c| !is_of_word(c) && c != '.').unwrap_or(rest.len()),
            // A literal ends with its quote; nothing is escaped in those that we take.
            '"' | '\'' => 2 + rest[1..].find(first).ok_or_else(error)?,
            _ => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        let called = |word: &str| {
            !word.is_empty() && !["sizeof", "_Alignof", "struct", "union", "enum"].contains(&word)
        };
        let mut closed = None;
        match first {
            c if is_of_word(c) || c.is_ascii_whitespace() && c != '\n' => {}
            '"' | '\'' if !token.contains(['\\', '\n']) => {}
            '(' if called(word) || behind.trim_start().starts_with('{') => return Err(error()),
            '(' if group.is_some_and(|group| !names_type(group)) => return Err(error()),
            '(' | '{' => depth.push((first, text.len() - behind.len())),
            ')' | '}' => match depth.pop() {
                Some(('(', start)) if first == ')' => closed = text.get(start..text.len() - rest.len()),
                Some(('{', _)) if first == '}' => {}
                _ => return Err(error()),
            },
            '=' if behind.starts_with('=') => {
                rest = &behind[1..];
                (word, group) = ("", None);
                continue;
            }
            // In braces it says which field.
            '=' if sign == '.' && !word.is_empty() && depth.last().is_some_and(|(open, _)| *open == '{') => {}
            '<' | '>' | '!' if behind.starts_with('=') => {
                rest = &behind[1..];
                (word, group) = ("", None);
                continue;
            }
            '+' | '-' if behind.starts_with(first) => return Err(error()),
            '.' | ',' | '+' | '-' | '*' | '/' | '%' | '&' | '|' | '^' | '~' | '!' | '<' | '>' | '?' | ':' => {
            }
            _ => return Err(error()),
        }
        if !first.is_ascii_whitespace() {
            word = if is_of_word(first) { token } else { "" };
            sign = if is_of_word(first) { sign } else { first };
            group = closed;
        }
        rest = behind;
    }
    let more = ["/*", "//", "*/", "<<=", ">>="].iter().any(|mark| text.contains(mark));
    if text.is_empty() || more || !depth.is_empty() { Err(error()) } else { Ok(text.to_owned()) }
}

/// Whether words in parentheses name a type, so that what follows is cast: alone, any other word may be a function's.
fn names_type(group: &str) -> bool {
    let mut words =
        group.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let (first, more) = (words.next(), words.next().is_some());
    let known = ["char", "short", "int", "long", "signed", "unsigned", "float", "double", "_Bool", "bool"];
    more || group.contains('*') || first.is_some_and(|word| known.contains(&word) || word.ends_with("_t"))
}

/// Smallest stack and memory of a domain, bytes: what is less has no room for anything.
const LEAST: (u64, u64) = (16 << 10, 1 << 20);

/// Checks all options of an LG_DOMAIN: each, and that none is given twice, as only one of them would hold.
///
/// # Errors
/// What is wrong with them.
pub fn check_options(options: &[String]) -> Result<(), String> {
    let mut known = std::collections::BTreeSet::new();
    for option in options {
        check_option(option)?;
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let key = match name {
            "directory" => format!("directory={}", value.strip_suffix(":ro").unwrap_or(value)),
            name => name.to_owned(),
        };
        if !known.insert(key) {
            return Err(format!("the option {name} is given twice; {option:?} is one of them"));
        }
    }
    Ok(())
}

/// What LG_DOMAIN may say of a domain beside its name, as messages list it.
pub const OPTIONS: &str = "memory=BYTES (at least 1M) and stack=BYTES (at least 16K, a multiple of 4K), each a number, perhaps with K, M or G, time=MILLISECONDS (a number), \
                           directory=PATH, streams, restart";

/// Checks an option of LG_DOMAIN. What the client would read in another way than its author is none.
///
/// # Errors
/// What is wrong with it.
pub fn check_option(option: &str) -> Result<(), String> {
    let positive = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain && digits.parse().is_ok_and(|number: u64| number > 0)
    };
    let bytes = |value: &str| {
        let (digits, shift) = match value.as_bytes().last() {
            Some(b'K') => (&value[..value.len() - 1], 10),
            Some(b'M') => (&value[..value.len() - 1], 20),
            Some(b'G') => (&value[..value.len() - 1], 30),
            _ => (value, 0),
        };
        let number =
            digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        number.checked_mul(1 << shift)
    };
    let good = match option.split_once('=') {
        None => matches!(option, "streams" | "restart"),
        Some(("memory", value)) => bytes(value).is_some_and(|bytes| bytes >= LEAST.1),
        Some(("stack", value)) => {
            bytes(value).is_some_and(|bytes| bytes >= LEAST.0 && bytes.is_multiple_of(4096))
        }
        Some(("time", value)) => positive(value),
        Some(("directory", value)) => !value.is_empty() && !value.contains(char::is_control),
        Some(_) => false,
    };
    if good { Ok(()) } else { Err(format!("{option:?} is no option of a domain; there are {OPTIONS}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_constants() {
        for good in [
            "-1",
            "0",
            "BZ_MEM_ERROR",
            "(size_t)-1",
            "-2.0f",
            "1e3",
            "((void *)0)",
            "sizeof (struct s)",
            "(a == 3) ? 1 : -1",
            "'x'",
            "\"text\"",
            "(struct point){0, -1}",
            "(0ULL - 2)",
            "((size_t)(-1))",
            "(int)(3)",
            "A | B",
            "x <= 3",
        ] {
            assert_eq!(constant(good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "system(\"id\")",
            "f()",
            "f ()",
            "(f)(1)",
            "((f))(1)",
            "(f)(1), g(1)",
            "0; } void x(void) {",
            "0}",
            "({ 1; })",
            "( { 1; })",
            "x = 1",
            "x += 1",
            "x++",
            "--x",
            "1)",
            "(1",
            "#x",
            "a\nb",
            "1 /* x */",
            "\"a",
            "\"a\\\"; b",
            "__extension__ ({0;})",
            "typeof(1)",
            "`",
            "[0]",
        ] {
            assert!(constant(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn options_are_given_once() {
        let list =
            |options: &[&str]| check_options(&options.iter().map(|o| (*o).to_owned()).collect::<Vec<_>>());
        assert_eq!(list(&["time=1", "directory=a", "directory=b:ro", "streams"]), Ok(()));
        for bad in [
            &["time=1", "time=2"],
            &["streams", "streams"],
            &["directory=a", "directory=a:ro"],
            &["memory=1M", "memory=1M"],
        ] {
            assert!(list(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn options_have_one_reading() {
        for good in
            ["memory=64M", "stack=65536", "time=500", "directory=.", "directory=/x:ro", "streams", "restart"]
        {
            assert_eq!(check_option(good), Ok(()), "{good}");
        }
        for bad in [
            "time=-5",
            "time=5s",
            "time=0",
            "time=",
            "time",
            "time=99999999999999999999",
            "time=0x500",
            "memory=-1",
            "memory=1",
            "memory=1023K",
            "stack=0",
            "stack=4K",
            "stack=20001",
            "directory=a\nb",
            "memory=32m",
            "memory=banana",
            "memory=32M time=300",
            "memory=32M;time=300",
            "memory=99999999999999G",
            "tiem=5",
            "streams=1",
            "restart ",
            "",
        ] {
            assert!(check_option(bad).is_err(), "{bad}");
        }
    }
}
