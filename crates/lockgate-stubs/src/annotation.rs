//! What `lockgate/annotations.h` says of a declaration.
use crate::expression::{Expression, ExpressionError};

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
}

/// The annotations of one declaration; one field for each macro that can stand there.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the macro of the same name, explained in annotations.h")]
pub struct Notes {
    pub direction: Option<Direction>,
    pub size: Option<Expression>,
    pub written: Option<Expression>,
    pub at_most: Option<Expression>,
    pub error: Option<String>,
    pub policy: Option<String>,
    pub omit: Option<String>,
    pub within: Option<String>,
    pub until: Option<String>,
    pub shown: Option<String>,
    pub freed: Option<String>,
    pub given: Option<Vec<String>>,
    pub rows: Option<Expression>,
    pub jump_buffer: Option<String>,
    pub format: Option<Format>,
    pub dispose: Option<(String, String)>,
    pub cursor: bool,
    pub string: bool,
    pub bytes: bool,
    pub strings: bool,
    pub pairs: bool,
    pub nullable: bool,
    pub number: bool,
    pub null: bool,
    pub ignore: bool,
    pub opaque: bool,
    pub zeros: bool,
    pub borrowed: bool,
    pub release: bool,
    pub kept: bool,
    pub inside: bool,
    pub lent: bool,
    pub callback: bool,
    pub data: bool,
    pub for_call: bool,
    pub errno: bool,
    pub printf: bool,
    /// `LG_DOMAIN` before a declaration: the number of the mark, and the name.
    pub home: Option<(u32, String)>,
    pub entry: bool,
    pub jump: bool,
    pub jumps: bool,
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
    #[error("LG_{0} is said twice, and not alike")]
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
        let words = || {
            let words: Vec<String> = argument.split(',').map(|word| word.trim().to_owned()).collect();
            words.iter().all(|word| is_word(word)).then_some(words)
        };
        match name {
            "in" => self.direct(Direction::In)?,
            "out" => self.direct(Direction::Out)?,
            "inout" => self.direct(Direction::InOut)?,
            "size" => once(&mut self.size, expression()?, "SIZE")?,
            "written" => once(&mut self.written, expression()?, "WRITTEN")?,
            "at_most" => once(&mut self.at_most, expression()?, "AT_MOST")?,
            "error" => once(&mut self.error, constant(argument)?, "ERROR")?,
            "policy" => once(&mut self.policy, owned(), "POLICY")?,
            "omit" => self.omit = Some(lockgate_outside::printable(&owned())),
            "within" => self.within = Some(word()?),
            "until" => self.until = Some(word()?),
            "shown" => self.shown = Some(word()?),
            "freed" => self.freed = Some(word()?),
            "rows" => once(&mut self.rows, expression()?, "ROWS")?,
            "number" => self.number = true,
            "format" => {
                let mut parts = argument.split(',').map(|part| part.trim().to_owned());
                let mut part = || parts.next().unwrap_or_default();
                let (list, strings, given) = (part(), part(), part());
                let letters = strings.chars().chain(given.chars()).all(|c| c.is_ascii_alphabetic());
                if !is_word(&list) || !letters || parts.next().is_some() {
                    return Err(no_word());
                }
                self.format = Some(Format { list, strings, given });
            }
            "jump_buffer" => self.jump_buffer = Some(word()?),
            "lent" => self.lent = true,
            "dispose" => {
                let (object, copy) = argument.split_once(',').unwrap_or((argument, "0"));
                if !is_word(object.trim()) {
                    return Err(no_word());
                }
                self.dispose = Some((object.trim().to_owned(), constant(copy)?));
            }
            "cursor" => self.cursor = true,
            "string" => self.string = true,
            "bytes" => self.bytes = true,
            "strings" => self.strings = true,
            "pairs" => self.pairs = true,
            "given" => self.given = Some(words().ok_or_else(no_word)?),
            "nullable" => self.nullable = true,
            "null" => self.null = true,
            "ignore" => self.ignore = true,
            "opaque" => self.opaque = true,
            "zeros" => self.zeros = true,
            "borrowed" => self.borrowed = true,
            "release" => self.release = true,
            "kept" => self.kept = true,
            "inside" => self.inside = true,
            "callback" => self.callback = true,
            "data" => self.data = true,
            "for_call" => self.for_call = true,
            "errno" => self.errno = true,
            "printf" => self.printf = true,
            "entry" => self.entry = true,
            "home" => {
                let (number, name) = argument.split_once(':').unwrap_or(("0", argument));
                self.home = Some((number.parse().unwrap_or_default(), name.to_owned()));
            }
            "jump" => self.jump = true,
            "jumps" => self.jumps = true,
            _ => return Err(NoteError::Unknown(name.to_uppercase())),
        }
        self.check()
    }

    /// Both can be said of one thing.
    ///
    /// # Errors
    /// [`NoteError::Twice`], [`NoteError::Contradiction`].
    pub fn agrees(&self, other: &Notes) -> Result<(), NoteError> {
        let expressions = [
            ("SIZE", &self.size, &other.size),
            ("WRITTEN", &self.written, &other.written),
            ("AT_MOST", &self.at_most, &other.at_most),
            ("ROWS", &self.rows, &other.rows),
        ];
        let differs = |one: &Option<Expression>, other: &Option<Expression>| {
            one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| one != other)
        };
        let texts = [
            ("ERROR", &self.error, &other.error),
            ("POLICY", &self.policy, &other.policy),
            ("FREED", &self.freed, &other.freed),
        ];
        let twice =
            expressions.into_iter().find(|(_, one, other)| differs(one, other)).map(|(name, ..)| name);
        let twice = twice.or_else(|| {
            let differs = |(_, one, other): &(_, &Option<String>, &Option<String>)| {
                one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| one != other)
            };
            texts.into_iter().find(differs).map(|(name, ..)| name)
        });
        match twice {
            Some(name) => Err(NoteError::Twice(name)),
            None => self.clone().or(other).check(),
        }
    }

    fn direct(&mut self, direction: Direction) -> Result<(), NoteError> {
        match self.direction {
            Some(other) if other != direction => {
                let name = |d| match d {
                    Direction::In => "IN",
                    Direction::Out => "OUT",
                    Direction::InOut => "INOUT",
                };
                Err(NoteError::Contradiction(name(direction), name(other)))
            }
            _ => {
                self.direction = Some(direction);
                Ok(())
            }
        }
    }

    /// The annotations as they are written.
    pub fn said(&self) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(direction) = self.direction {
            said.push(match direction {
                Direction::In => "LG_IN".to_owned(),
                Direction::Out => "LG_OUT".to_owned(),
                Direction::InOut => "LG_INOUT".to_owned(),
            });
        }
        let sized = [
            ("SIZE", &self.size),
            ("WRITTEN", &self.written),
            ("ROWS", &self.rows),
            ("AT_MOST", &self.at_most),
        ];
        for (name, expression) in sized {
            said.extend(expression.iter().map(|expression| format!("LG_{name}({expression})")));
        }
        let named = [
            ("ERROR", &self.error),
            ("POLICY", &self.policy),
            ("WITHIN", &self.within),
            ("UNTIL", &self.until),
            ("SHOWN", &self.shown),
            ("FREED", &self.freed),
            ("JUMP_BUFFER", &self.jump_buffer),
        ];
        for (name, text) in named {
            said.extend(text.iter().map(|text| format!("LG_{name}({text})")));
        }
        said.extend(self.dispose.iter().map(|(object, copy)| format!("LG_DISPOSE({object}, {copy})")));
        said.extend(self.given.iter().map(|by| format!("LG_GIVEN({})", by.join(", "))));
        said.extend(self.format.iter().map(|format| format!("LG_FORMAT({})", format.list)));
        let plain = [
            ("CURSOR", self.cursor),
            ("STRING", self.string),
            ("BYTES", self.bytes),
            ("STRINGS", self.strings),
            ("PAIRS", self.pairs),
            ("NULLABLE", self.nullable),
            ("NUMBER", self.number),
            ("NULL", self.null),
            ("IGNORE", self.ignore),
            ("OPAQUE", self.opaque),
            ("ZEROS", self.zeros),
            ("BORROWED", self.borrowed),
            ("RELEASE", self.release),
            ("KEPT", self.kept),
            ("INSIDE", self.inside),
            ("LENT", self.lent),
            ("CALLBACK", self.callback),
            ("DATA", self.data),
            ("FOR_CALL", self.for_call),
            ("ERRNO", self.errno),
            ("PRINTF", self.printf),
            ("JUMP", self.jump),
            ("JUMPS", self.jumps),
        ];
        said.extend(plain.iter().filter(|(_, is)| *is).map(|(name, _)| format!("LG_{name}")));
        said
    }

    /// The expressions in it.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        [&self.size, &self.written, &self.rows, &self.at_most].into_iter().flatten()
    }

    /// Adds the names in its expressions.
    pub fn add_names(&self, names: &mut std::collections::BTreeSet<String>) {
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
        if self.freed.is_some() && self.borrowed {
            return Err(NoteError::Contradiction("FREED", "BORROWED"));
        }
        Ok(())
    }

    /// These notes, with those of `other` where these say nothing.
    pub fn or(mut self, other: &Notes) -> Notes {
        fn fill<T: Clone>(mine: &mut Option<T>, theirs: &Option<T>) {
            if mine.is_none() {
                mine.clone_from(theirs);
            }
        }
        fill(&mut self.direction, &other.direction);
        fill(&mut self.size, &other.size);
        fill(&mut self.written, &other.written);
        fill(&mut self.at_most, &other.at_most);
        fill(&mut self.error, &other.error);
        fill(&mut self.policy, &other.policy);
        fill(&mut self.omit, &other.omit);
        fill(&mut self.within, &other.within);
        fill(&mut self.until, &other.until);
        fill(&mut self.shown, &other.shown);
        fill(&mut self.freed, &other.freed);
        fill(&mut self.given, &other.given);
        fill(&mut self.format, &other.format);
        fill(&mut self.rows, &other.rows);
        fill(&mut self.jump_buffer, &other.jump_buffer);
        fill(&mut self.dispose, &other.dispose);
        self.cursor |= other.cursor;
        self.string |= other.string;
        self.bytes |= other.bytes;
        self.strings |= other.strings;
        self.pairs |= other.pairs;
        self.nullable |= other.nullable;
        self.number |= other.number;
        self.null |= other.null;
        self.ignore |= other.ignore;
        self.opaque |= other.opaque;
        self.zeros |= other.zeros;
        self.borrowed |= other.borrowed;
        self.release |= other.release;
        self.kept |= other.kept;
        self.inside |= other.inside;
        self.lent |= other.lent;
        self.callback |= other.callback;
        self.data |= other.data;
        self.for_call |= other.for_call;
        self.errno |= other.errno;
        self.printf |= other.printf;
        fill(&mut self.home, &other.home);
        self.entry |= other.entry;
        self.jump |= other.jump;
        self.jumps |= other.jumps;
        self
    }
}

/// Sets what may be said once only.
fn once<T: PartialEq>(known: &mut Option<T>, said: T, name: &'static str) -> Result<(), NoteError> {
    match known {
        Some(other) if *other != said => Err(NoteError::Twice(name)),
        _ => {
            *known = Some(said);
            Ok(())
        }
    }
}

/// A name of C.
fn is_word(text: &str) -> bool {
    let of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(of_word) && text.starts_with(|c: char| of_word(c) && !c.is_ascii_digit())
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
