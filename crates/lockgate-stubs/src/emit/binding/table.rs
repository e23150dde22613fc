//! Printers that are tables: for each way in which something crosses, a row of text with places in it.
//!
//! A language says its rows; when each is used, and what is put into its places, is the same for every language.
//!
//! - `@OWN@`: the name of what crosses; `@OF@`: the parameter that it belongs to.
//! - `@LOCAL@`: the variable that the library's value is in.
//! - `@CLASS@`: what programs call its type, or that of its elements; `@KEY@`: what C calls it.
//! - `@KIND@`: its type; `@TO@`: the type of what it leads to; `@RAW@`: the same as the library has it.
//! - `@MANY@`: how many; `@NEEDED@`: how many there must be.
//! - `@BARE@`: closures that are known by nothing else than their functions, each behind a comma.
//! - `@READS@`, `@END@`: what is done with a structure that is kept.
use super::{
    Argument, Check, Closure, CopyIn, CopyOut, Cursor, Function, Judge, Pieces, Printer, Seen, Shown,
};
use crate::emit::template::fill;
use crate::expression::Expression;
use crate::header::model::CType;

/// What is written for something that goes in.
#[derive(Clone, Copy)]
pub struct Row {
    takes: &'static str,
    before: &'static str,
    gives: &'static str,
    after: &'static str,
}

impl Row {
    /// What the function takes (empty: nothing), what is done before the call, and what the client gets.
    pub const fn new(takes: &'static str, before: &'static str, gives: &'static str) -> Row {
        Row { takes, before, gives, after: "" }
    }

    /// What is done after a call that returned.
    pub const fn after(self, after: &'static str) -> Row {
        Row { after, ..self }
    }
}

/// What the type of something is, or that of its elements.
pub enum Subject<'a> {
    /// A handle.
    Handle(usize),
    /// A structure.
    Record(&'a str),
    /// A structure that the library remembers.
    Kept(&'a str),
    /// A function of the program's.
    Closure(&'a str),
    /// An enumeration.
    Enumeration(&'a str),
    /// Numbers, or bytes: what a pointer of this type leads to.
    Elements(&'a CType),
}

impl<'a> Subject<'a> {
    fn key(&self) -> &'a str {
        match self {
            Subject::Record(key) | Subject::Kept(key) | Subject::Enumeration(key) => key,
            _ => "",
        }
    }
}

/// A language.
pub trait Table<'a> {
    /// The variable with the result.
    const RESULT: &'static str;
    /// A buffer must have so many elements.
    const CHECK: &'static str;
    /// The contents of memory that the library lends.
    const LEND: Row;
    /// It is freed when the copy has been made.
    const FREED: &'static str;
    /// How many elements of memory there are where nothing says it.
    const ONE: &'static str;
    /// How many strings there are that end with a null pointer.
    const ENDLESS: &'static str;

    /// A handle that a closure is passed with, behind others.
    const WITH: &'static str;
    /// The life of what the call makes, and its declaration.
    const MADE: [&'static str; 2];
    /// No life.
    const NONE: &'static str;

    /// A parameter.
    fn copy_in(&self, how: &CopyIn<'a>) -> Row;
    /// A buffer of a kept structure, `@OWN@` of `@OF@`, with its length, `@MANY@`.
    fn cursor(&self, writes: bool) -> Row;
    /// The type of what comes back, and its value.
    fn copy_out(&self, judge: &Judge<'a>) -> [&'static str; 2];
    /// The type of what a closure gets, and its value.
    fn shown(&self, shown: &Shown<'a>) -> [&'static str; 2];

    /// A parameter of this type.
    fn declared(&self, kind: &str, name: &str) -> String;
    /// What programs call a type.
    fn class(&self, of: &Subject<'a>) -> String;
    /// A type.
    fn kind(&self, kind: &CType) -> String;
    /// A type, or that of a structure, as the library has it.
    fn raw(&self, of: &Subject<'a>, kind: &CType) -> String;
    /// A size in a function.
    fn size(&self, form: &Function<'a>, size: &Expression) -> String;
    /// A size of what a closure gets.
    fn many(&self, form: &Closure<'a>, what: &str, size: &Expression) -> String;
}

/// All pieces of a function.
pub fn pieces<'a, T: Table<'a>>(form: &Function<'a>, table: &T) -> Pieces {
    let mut rows = Rows { form, table, pieces: Pieces::default() };
    if form.belong_to_made() {
        line(&mut rows.pieces.before, T::MADE[1]);
    }
    form.print(&mut rows);
    rows.pieces
}

/// What a closure gets: types and values.
pub fn seen<'a, T: Table<'a>>(form: &Closure<'a>, table: &T) -> Vec<(String, String)> {
    let write = |Seen { place, what, kind, shown }: &Seen<'a>| {
        let (subject, count) = match shown {
            Shown::Handle { number, .. } => (Subject::Handle(*number), None),
            Shown::Handles { number, count } => (Subject::Handle(*number), Some(*count)),
            Shown::Enumeration(key) => (Subject::Enumeration(key), None),
            Shown::Texts { count, .. } | Shown::Memory { count, .. } => (Subject::Elements(kind), *count),
            _ => (Subject::Elements(kind), None),
        };
        let uncounted = if matches!(shown, Shown::Texts { .. }) { T::ENDLESS } else { T::ONE };
        let places = [
            ("OWN", *what),
            ("LOCAL", &format!("p{place}")),
            ("KIND", &table.kind(kind)),
            ("CLASS", &table.class(&subject)),
            ("KEY", subject.key()),
            ("MANY", &count.map_or(uncounted.to_owned(), |size| table.many(form, what, size))),
        ];
        let [kind, value] = table.shown(shown);
        (fill(kind, &places), fill(value, &places))
    };
    form.seen.iter().map(write).collect()
}

struct Rows<'r, 'a, T> {
    form: &'r Function<'a>,
    table: &'r T,
    pieces: Pieces,
}

impl<'a, T: Table<'a>> Rows<'_, 'a, T> {
    fn row(&mut self, own: &str, row: Row, places: &[(&str, &str)]) {
        if !row.takes.is_empty() {
            self.pieces.parameters.push(self.table.declared(&fill(row.takes, places), own));
        }
        let Pieces { before, after, .. } = &mut self.pieces;
        for (text, row) in [(before, row.before), (after, row.after)] {
            line(text, &fill(row, places));
        }
    }

    /// A buffer of the kept structure `of`.
    fn cursor(&mut self, of: &str, cursor: &Cursor<'a>) {
        let Cursor { field, writes, length } = cursor;
        let places = [
            ("OWN", &*field.name),
            ("OF", of),
            ("CLASS", &self.table.class(&Subject::Elements(&field.kind))),
            ("MANY", &length.name),
            ("KIND", &self.table.kind(&length.kind)),
        ];
        self.row(&field.name, self.table.cursor(*writes), &places);
    }
}

impl<'a, T: Table<'a>> Printer<'a> for Rows<'_, 'a, T> {
    fn buffer(&mut self, _: &Argument<'a>) {}

    fn copy_in(&mut self, argument: &Argument<'a>) {
        let (Argument { name, kind, how }, table) = (argument, self.table);
        let pointee = kind.pointee().unwrap_or(kind);
        let subject = match how {
            CopyIn::Handle { number, .. } | CopyIn::Replaced(number) | CopyIn::Given(Some((number, _))) => {
                Subject::Handle(*number)
            }
            CopyIn::Record { key, .. } | CopyIn::Records { key, .. } => Subject::Record(key),
            CopyIn::Kept { key, .. } => Subject::Kept(key),
            CopyIn::Closure { name, .. } => Subject::Closure(name),
            _ => Subject::Elements(kind),
        };
        let of = match how {
            CopyIn::Data(of) | CopyIn::Length(of) | CopyIn::Room(of) => of,
            _ => "",
        };
        let with: String = match how {
            CopyIn::Closure { handles, .. } => {
                handles.iter().map(|own| fill(T::WITH, &[("OWN", own)])).collect()
            }
            _ => String::new(),
        };
        let made = if self.form.belong_to_made() { T::MADE[0] } else { T::NONE };
        let (buffers, reads, end) = match how {
            CopyIn::Kept { buffers, reads, end, .. } => (&**buffers, *reads, *end),
            _ => (&[][..], false, None),
        };
        let places = [
            ("OWN", *name),
            ("OF", of),
            ("CLASS", &table.class(&subject)),
            ("KIND", &table.kind(kind)),
            ("TO", &table.kind(pointee)),
            ("RAW", &table.raw(&subject, pointee)),
            ("READS", &reads.to_string()),
            ("END", end.unwrap_or_default()),
            ("WITH", &with),
            ("MADE", made),
        ];
        let row = table.copy_in(how);
        self.row(name, row, &places);
        buffers.iter().for_each(|cursor| self.cursor(name, cursor));
        self.pieces.arguments.push(fill(row.gives, &places));
    }

    fn check(&mut self, check: &Check<'a>) {
        let needed = self.table.size(self.form, check.needed);
        line(&mut self.pieces.before, &fill(T::CHECK, &[("NEEDED", &needed), ("OF", check.of)]));
    }

    fn lend(&mut self, room: &'a Expression) {
        let needed = self.table.size(self.form, room);
        self.row("contents", T::LEND, &[("NEEDED", &needed)]);
    }

    fn copy_out(&mut self, out: &CopyOut<'a>) {
        let (CopyOut { what, is_result, kind, judge, freed }, table) = (out, self.table);
        let subject = match judge {
            Judge::Records { key, .. } | Judge::Filled { key, .. } => Subject::Record(key),
            Judge::Handle { number, .. } | Judge::Replaced(number) => Subject::Handle(*number),
            Judge::Enumeration(key) => Subject::Enumeration(key),
            _ => Subject::Elements(kind),
        };
        let of = match judge {
            Judge::Offset { object, .. } => object,
            _ => "",
        };
        let local = if *is_result { T::RESULT.to_owned() } else { format!("lg_{what}") };
        let bare: String = match self.form.belong_to_made() {
            true => [T::MADE[0]]
                .into_iter()
                .chain(self.form.bare_closures())
                .map(|own| format!(", {own}"))
                .collect(),
            false => String::new(),
        };
        let places = [
            ("BARE", &*bare),
            ("OWN", *what),
            ("OF", of),
            ("LOCAL", &local),
            ("CLASS", &table.class(&subject)),
            ("KEY", subject.key()),
            ("KIND", &table.kind(kind)),
            ("RAW", &table.raw(&subject, kind)),
        ];
        if *freed {
            line(&mut self.pieces.after, &fill(T::FREED, &places));
        }
        let [kind, value] = table.copy_out(judge);
        self.pieces.given.push((fill(kind, &places), fill(value, &places)));
    }
}

/// Puts a line behind the text, or several; nothing is no line.
fn line(text: &mut String, line: &str) {
    text.push_str(line);
    if !line.is_empty() && !line.ends_with('\n') {
        text.push('\n');
    }
}
