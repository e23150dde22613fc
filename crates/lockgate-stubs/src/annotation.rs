//! What `include/lockgate/annotations.h` says of a declaration.
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
    pub rows: Option<Expression>,
    pub jump_buffer: Option<String>,
    pub format: Option<Format>,
    pub dispose: Option<(String, String)>,
    pub cursor: bool,
    pub string: bool,
    pub strings: bool,
    pub nullable: bool,
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
                text: argument.to_owned(),
                error,
            })
        };
        let owned = || argument.trim().to_owned();
        match name {
            "in" => self.direct(Direction::In)?,
            "out" => self.direct(Direction::Out)?,
            "inout" => self.direct(Direction::InOut)?,
            "size" => self.size = Some(expression()?),
            "written" => self.written = Some(expression()?),
            "at_most" => self.at_most = Some(expression()?),
            "error" => self.error = Some(owned()),
            "policy" => self.policy = Some(owned()),
            "omit" => self.omit = Some(lockgate_outside::printable(&owned())),
            "within" => self.within = Some(owned()),
            "until" => self.until = Some(owned()),
            "shown" => self.shown = Some(owned()),
            "freed" => self.freed = Some(owned()),
            "rows" => self.rows = Some(expression()?),
            "format" => {
                let mut parts = argument.split(',').map(|part| part.trim().to_owned());
                let mut part = || parts.next().unwrap_or_default();
                self.format = Some(Format { list: part(), strings: part(), given: part() });
            }
            "jump_buffer" => self.jump_buffer = Some(owned()),
            "lent" => self.lent = true,
            "dispose" => {
                let (object, copy) = argument.split_once(',').unwrap_or((argument, "0"));
                self.dispose = Some((object.trim().to_owned(), copy.trim().to_owned()));
            }
            "cursor" => self.cursor = true,
            "string" => self.string = true,
            "strings" => self.strings = true,
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
        said.extend(self.format.iter().map(|format| format!("LG_FORMAT({})", format.list)));
        let plain = [
            ("CURSOR", self.cursor),
            ("STRING", self.string),
            ("STRINGS", self.strings),
            ("NULLABLE", self.nullable),
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
        fill(&mut self.format, &other.format);
        fill(&mut self.rows, &other.rows);
        fill(&mut self.jump_buffer, &other.jump_buffer);
        fill(&mut self.dispose, &other.dispose);
        self.cursor |= other.cursor;
        self.string |= other.string;
        self.strings |= other.strings;
        self.nullable |= other.nullable;
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
        self.errno |= other.errno;
        self.printf |= other.printf;
        fill(&mut self.home, &other.home);
        self.entry |= other.entry;
        self.jump |= other.jump;
        self.jumps |= other.jumps;
        self
    }
}

/// What LG_DOMAIN may say of a domain beside its name, as messages list it.
pub const OPTIONS: &str = "memory=BYTES and stack=BYTES (a number, perhaps with K, M or G), time=MILLISECONDS (a number), \
                           directory=PATH, streams, restart";

/// Checks an option of LG_DOMAIN. What the client would read in another way than its author is none.
///
/// # Errors
/// What is wrong with it.
pub fn check_option(option: &str) -> Result<(), String> {
    let positive = |digits: &str, unit: u64| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain && digits.parse().is_ok_and(|number: u64| number > 0 && number.checked_mul(unit).is_some())
    };
    let good = match option.split_once('=') {
        None => matches!(option, "streams" | "restart"),
        Some(("memory" | "stack", value)) => match value.strip_suffix(['K', 'M', 'G']) {
            Some(digits) => positive(digits, 1 << 30),
            None => positive(value, 1),
        },
        Some(("time", value)) => positive(value, 1),
        Some(("directory", value)) => !value.is_empty(),
        Some(_) => false,
    };
    if good { Ok(()) } else { Err(format!("{option:?} is no option of a domain; there are {OPTIONS}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
