//! From the program to the library.
use super::{Buffer, No, OMIT, Outcome, Passing, Planner, no, or_omit};
use crate::annotation::{Direction, Notes};
use crate::expression::Expression;
use crate::header::model::{CType, Parameter, Shape, without_folder};

impl Planner<'_> {
    /// How `parameter` goes in, one of `siblings` (itself among them).
    pub(super) fn passing(&mut self, parameter: &Parameter, siblings: &[Parameter]) -> Result<Passing, No> {
        let notes = self.notes(parameter);
        for expression in notes.expressions() {
            self.check_expression(expression, siblings)?;
        }
        let passing = self.way_in(parameter, &notes, siblings)?;
        // What goes back to the library goes as far as the client has it; what it sets was looked at as an outcome.
        let bounded = matches!(passing, Passing::Inside { .. } | Passing::Pointer { .. });
        self.may_ask(parameter, bounded)?;
        is_written(&notes, &passing)?;
        Ok(passing)
    }

    fn way_in(
        &mut self,
        parameter: &Parameter,
        notes: &Notes,
        siblings: &[Parameter],
    ) -> Result<Passing, No> {
        has_name(&parameter.kind)?;
        is_number(&parameter.kind, notes)?;
        match &parameter.kind.shape {
            shape if notes.ignore => self.known(shape).map(|()| Passing::Ignore),
            Shape::Integer { .. } | Shape::Float => {
                if notes.direction.is_some() || notes.size.is_some() || notes.string {
                    return no(
                        format!("`{}` is no pointer, but is annotated as one", parameter.kind.spelling),
                        "remove LG_IN, LG_OUT, LG_INOUT, LG_SIZE and LG_STRING",
                    );
                }
                Ok(Passing::Value)
            }
            Shape::Void => no("a parameter cannot be void", "correct the header"),
            Shape::Unsupported(what) => no(format!("{what} cannot be passed"), OMIT),
            Shape::Array(element, _) => match element.shape {
                Shape::Integer { .. } | Shape::Float => Ok(Passing::Value),
                _ => no("an array of pointers, structures or arrays by value", OMIT),
            },
            Shape::Record(key) => self.plain_record(key).map(|()| Passing::Value),
            Shape::Function(_) => self.function_pointer(parameter, notes, siblings),
            Shape::Pointer(to) => self.pointer(parameter, to, notes, siblings),
        }
    }

    fn function_pointer(
        &mut self,
        parameter: &Parameter,
        notes: &Notes,
        siblings: &[Parameter],
    ) -> Result<Passing, No> {
        if notes.null {
            return Ok(Passing::Null);
        }
        if let Some((object, copy)) = &notes.dispose {
            if !siblings.iter().any(|sibling| sibling.name == *object) {
                return no(
                    format!("LG_DISPOSE names no parameter {object}"),
                    "name the one that it disposes of",
                );
            }
            return Ok(Passing::Dispose { object: object.clone(), copy: copy.clone() });
        }
        let name = self.callback(parameter)?;
        Ok(Passing::Callback { name })
    }

    fn pointer(
        &mut self,
        parameter: &Parameter,
        to: &CType,
        notes: &Notes,
        siblings: &[Parameter],
    ) -> Result<Passing, No> {
        let kind = &parameter.kind;
        if notes.null {
            return Ok(Passing::Null);
        }
        let is_jump_buffer = |name: &String| name == "jmp_buf" || name == "sigjmp_buf";
        if kind.names.iter().chain(&to.names).any(is_jump_buffer)
            || is_jump_buffer(&to.spelling)
            || to.spelling.contains("__jmp_buf_tag")
        {
            return no(
                "a jmp_buf: code that writes it decides where the program continues",
                "leave the function out with LG_OMIT; LG_JUMP_BUFFER and LG_JUMP speak of what libpng does",
            );
        }
        self.is_shut(kind, notes)?;
        // Beside a callback, an untyped pointer that nothing is said of may be the callback's.
        let bare = notes == &Notes::default() && to.shape == Shape::Void;
        if bare && siblings.iter().any(is_called) {
            self.is_data(parameter, siblings)?;
        }
        if is_file(to) && *notes == (Notes { for_call: true, ..Notes::default() }) {
            return Ok(Passing::Stream { kept: false });
        }
        let more = Notes { for_call: false, data: false, ..notes.clone() } != Notes::default();
        if notes.for_call && (more || self.is_handle(kind, notes)) {
            return no("LG_FOR_CALL is for the program's own data only", "remove it");
        }
        if notes.data || notes.for_call || bare && siblings.iter().any(is_called) {
            if self.is_handle(kind, notes) {
                let number = self.handle(&handle_name(kind));
                return Ok(Passing::Handle { number, release: false, reset: false, data: true });
            }
            if notes.for_call && !siblings.iter().any(is_called) {
                return no(
                    "LG_FOR_CALL, but no callback comes with the data",
                    "remove it: what is given for a handle alone stays given as long as that lives",
                );
            }
            let shown = self.shown(notes, siblings)?;
            return Ok(Passing::Data { shown, kept: notes.kept, for_call: notes.for_call });
        }
        if notes.inside {
            return Ok(Passing::Inside { release: notes.release });
        }
        if is_file(to) {
            return Ok(Passing::Stream { kept: notes.kept });
        }
        if let Some(count) = &notes.rows {
            return rows(to, notes, count);
        }
        if notes.strings {
            return no("arrays of strings cannot be passed in", OMIT);
        }
        if self.is_handle(kind, notes) {
            let number = self.handle(&handle_name(kind));
            let Notes { release, reset, .. } = *notes;
            return Ok(Passing::Handle { number, release, reset, data: false });
        }
        let buffer = |size: Option<u64>| Buffer::of(notes, size.unwrap_or(1));
        let writes = notes.direction.is_some_and(Direction::writes);
        if writes && to.constant && !matches!(to.shape, Shape::Pointer(_)) {
            return no("LG_OUT, but what it points to is const", "LG_IN is meant, or the header is wrong");
        }
        match &to.shape {
            Shape::Record(key) if notes.direction.is_some() || notes.kept => {
                // (What is const the library does not write.)
                let usual = if to.constant { Direction::In } else { Direction::InOut };
                let direction = notes.direction.unwrap_or(usual);
                self.record(key)?;
                let buffer = Buffer {
                    reads: direction.reads(),
                    writes: direction.writes(),
                    bools: self.bools(to),
                    ..buffer(Some(to.size))
                };
                if notes.kept && buffer.size.is_some() {
                    return no(
                        "LG_KEPT and LG_SIZE: the library cannot remember an array",
                        "remove one of them",
                    );
                }
                if buffer.writes {
                    self.is_ended(key)?;
                }
                let is_constant = |field: &super::FieldPlan| field.kind.constant;
                let record = self.plan.records.get(key).filter(|record| !record.is_plain());
                if buffer.writes && record.is_some_and(|record| record.fields.iter().any(is_constant)) {
                    return no(
                        "the library writes a structure with const fields, which the stub could not set",
                        or_omit("LG_IN is meant"),
                    );
                }
                if buffer.writes && buffer.size.is_some() && self.plain_record(key).is_err() {
                    return no(
                        "an array of structures with pointers is not copied back",
                        "LG_IN, if the library only reads it; else leave the function out with LG_OMIT",
                    );
                }
                Ok(Passing::Record { key: key.clone(), buffer, kept: notes.kept, release: notes.release })
            }
            Shape::Record(_) => no(
                format!("no annotation says whether the library reads or writes `{}`", to.spelling),
                "annotate it with LG_IN, LG_OUT or LG_INOUT, with LG_OPAQUE if it is a handle, or with LG_KEPT if the library remembers it",
            ),
            Shape::Pointer(_) | Shape::Function(_) => self.pointer_variable(parameter, to, notes, siblings),
            // (Text with an end, or with a bound, or with both.)
            Shape::Integer { .. }
                if to.is_character()
                    && !writes
                    && (notes.size.is_none() || notes.string && notes.direction.is_none()) =>
            {
                if notes.string || (to.constant && to.is_plain_character() && !notes.cursor) {
                    self.ends_with_zero(parameter, siblings)?;
                    return Ok(Passing::String { most: notes.size.clone() });
                }
                no(
                    "it may be a string, a buffer, or room for one",
                    "annotate it with LG_STRING, or with LG_IN, LG_OUT or LG_INOUT and LG_SIZE(…)",
                )
            }
            Shape::Void | Shape::Integer { .. } | Shape::Float => {
                if notes.direction.is_none() {
                    return no(
                        format!("no annotation says what `{}` leads to", kind.spelling),
                        "annotate it with LG_IN, LG_OUT or LG_INOUT (and LG_SIZE(…)), LG_DATA if it is the program's own, LG_INSIDE if it is the library's",
                    );
                }
                if notes.size.is_none() && (to.shape == Shape::Void || to.is_character()) {
                    return no("no annotation says how large the buffer is", "add LG_SIZE(…)");
                }
                let plain = Buffer { bools: self.bools(to), ..buffer(Some(to.size)) };
                if plain.shared {
                    is_shareable(parameter, &plain, siblings)?;
                }
                Ok(if notes.size.is_none() { Passing::Scalar(plain) } else { Passing::Buffer(plain) })
            }
            Shape::Array(..) => {
                no("a pointer to an array", "declare a pointer to its first element, with LG_SIZE(…)")
            }
            Shape::Unsupported(what) => no(format!("a pointer to {what} cannot be passed"), OMIT),
        }
    }

    /// An untyped pointer beside a callback is its data if nothing else can be meant: it alone is untyped, stands next to a callback that takes
    /// such data, no number may be its length, and it is not called like a buffer.
    fn is_data(&mut self, parameter: &Parameter, siblings: &[Parameter]) -> Result<(), No> {
        let name = &parameter.name;
        let but = |reason: String| {
            no(
                format!(
                    "it may be the program's own data, which the callback gets back, or memory: {reason}"
                ),
                "annotate it with LG_DATA if it is data; else with LG_IN, LG_OUT or LG_INOUT and LG_SIZE(…)",
            )
        };
        let own = siblings.iter().position(|sibling| sibling.name == *name).unwrap_or_default();
        if parameter.kind.pointee().is_some_and(|to| to.constant) {
            return but("it is const".to_owned());
        }
        let untyped = |other: &&Parameter| {
            other.kind.pointee().is_some_and(|to| to.shape == Shape::Void)
                && self.notes(other) == Notes::default()
        };
        if let Some(other) = siblings.iter().filter(untyped).find(|other| other.name != *name) {
            return but(format!("there is {}, too", other.name));
        }
        if let Some(length) = self.length_of(own, siblings) {
            return but(format!("{} may be its length", length.name));
        }
        if says_room(name) {
            return but("its name says so".to_owned());
        }
        let beside = [own.checked_sub(1), Some(own + 1)].into_iter().flatten();
        if !beside.filter_map(|place| siblings.get(place)).any(is_called) {
            return but("it does not stand beside the callback".to_owned());
        }
        for callback in siblings.iter().filter(|sibling| is_called(sibling)) {
            if self.notes(callback).null || self.notes(callback).ignore {
                continue;
            }
            let callback = self.callback(callback)?;
            if self.plan.callbacks.get(&callback).is_some_and(super::CallbackPlan::takes_data) {
                return Ok(());
            }
        }
        but("no callback takes any".to_owned())
    }

    /// A number that may be the length of what stands at `own`: directly behind it, or called like one and no other's.
    fn length_of<'s>(&self, own: usize, siblings: &'s [Parameter]) -> Option<&'s Parameter> {
        siblings.iter().enumerate().find_map(|(place, sibling)| {
            let kind = &sibling.kind;
            let number =
                kind.is_integer() && kind.enumeration.is_none() && !kind.is_character() && !kind.is_bool();
            let near = place == own + 1 || is_length(&sibling.name);
            (number && near && !self.is_said(&sibling.name, siblings)).then_some(sibling)
        })
    }

    /// What the program sees as a handle it does not look into, nor do macros and inline functions of the header's.
    pub(super) fn is_shut(&self, kind: &CType, notes: &Notes) -> Result<(), No> {
        if notes.zeros || !(notes.opaque || notes.inside) {
            return Ok(());
        }
        let mut to = kind;
        while let Some(next) = to.pointee() {
            to = next;
        }
        let Shape::Record(key) = &to.shape else { return Ok(()) };
        let fields = self.header.records.get(key).and_then(|record| record.fields.as_ref());
        let reads = |look: &&crate::header::model::Look| match &look.record {
            Some(record) => record == key || without_folder(record) == *key,
            None => fields.into_iter().flatten().any(|field| field.name == look.field),
        };
        match self.header.looks.iter().find(reads) {
            None => Ok(()),
            Some(look) => {
                let seems = if look.record.is_some() { "" } else { ", it seems" };
                no(
                    format!(
                        "the header's {} ({}) reads `{}` of a `{}`{seems}, and would find zero in a handle",
                        look.by, look.place, look.field, to.spelling
                    ),
                    "leave the function out with LG_OMIT, or add LG_ZEROS if that reads another structure, or does the right thing with zeros",
                )
            }
        }
    }

    /// `T **p`: the library sets a pointer of the program's.
    fn pointer_variable(
        &mut self,
        parameter: &Parameter,
        to: &CType,
        notes: &Notes,
        siblings: &[Parameter],
    ) -> Result<Passing, No> {
        let Some(direction) = notes.direction else {
            return no(
                format!(
                    "no annotation says whether the library sets the pointer that `{}` leads to",
                    parameter.kind.spelling
                ),
                "annotate it with LG_OUT (LG_INOUT for a handle that is read, too)",
            );
        };
        if notes.cursor {
            return self.cursor(to, notes, direction, siblings);
        }
        if direction == Direction::In {
            return no("arrays of pointers cannot be passed in", OMIT);
        }
        let notes_of_it = Notes { direction: None, nullable: true, ..notes.clone() };
        let variable = Parameter::new(&parameter.name, to.clone(), notes_of_it);
        let before = if direction.reads() {
            match self.passing(&variable, siblings)? {
                handle @ Passing::Handle { .. } => Some(Box::new(handle)),
                _ => return no("LG_INOUT: the pointer that is read is no handle", "LG_OUT may be meant"),
            }
        } else {
            None
        };
        let after = Box::new(self.outcome(&variable, siblings, true)?);
        if after == Box::new(Outcome::Inside) && !notes.inside {
            return no(
                "no annotation says what the pointer leads to after the call",
                "add LG_STRING, LG_SIZE(…), LG_OPAQUE, LG_WITHIN(…) or LG_INSIDE",
            );
        }
        if matches!(*after, Outcome::Handle { .. }) && notes.size.is_some() {
            return no(
                "LG_SIZE on a pointer to one handle: an array of them is not copied back",
                "remove LG_SIZE if it is one; else leave the function out with LG_OMIT",
            );
        }
        Ok(Passing::Pointer { before, after })
    }

    /// `T **p LG_CURSOR`: the library moves a pointer of the program's on through its buffer, and says by a number how much of that is left.
    fn cursor(
        &mut self,
        to: &CType,
        notes: &Notes,
        direction: Direction,
        siblings: &[Parameter],
    ) -> Result<Passing, No> {
        let counts = |name: &str| {
            siblings.iter().any(|sibling| {
                let said = self.notes(sibling);
                sibling.name == name
                    && said.direction == Some(Direction::InOut)
                    && said.size.is_none()
                    && sibling.kind.pointee().is_some_and(|to| to.is_integer() && !to.is_bool())
            })
        };
        let is_counted = matches!(&notes.size, Some(Expression::Deref(name)) if counts(name));
        if !is_counted {
            return no(
                "LG_CURSOR, but no number that the library changes says how much of the buffer is left",
                "add LG_SIZE(*n), with LG_INOUT on n",
            );
        }
        let element = to.pointee().filter(|element| {
            matches!(element.shape, Shape::Void | Shape::Integer { .. } | Shape::Float) && !element.is_bool()
        });
        let Some(element) = element else {
            return no("LG_CURSOR: the buffer consists of something else than numbers", OMIT);
        };
        if direction == Direction::InOut || direction == Direction::Out && element.constant {
            return no(
                "LG_CURSOR: the library either reads the buffer or writes it",
                "say LG_IN, or LG_OUT if what the pointer leads to is not const",
            );
        }
        Ok(Passing::Cursor(Buffer {
            reads: direction.reads(),
            writes: direction.writes(),
            written: None,
            shared: false,
            ..Buffer::of(notes, element.size)
        }))
    }

    /// `const char *` is a string without saying so, but not beside a number that may be its length: what that means is not guessed.
    pub(super) fn ends_with_zero(&self, parameter: &Parameter, siblings: &[Parameter]) -> Result<(), No> {
        if self.notes(parameter).string {
            return Ok(());
        }
        let name = &parameter.name;
        let own = siblings.iter().position(|sibling| sibling.name == *name);
        let counts = |kind: &CType| kind.is_integer() && !kind.is_character() && !kind.is_bool();
        let length = siblings.iter().enumerate().find(|(place, sibling)| {
            let beside = own.is_some_and(|own| *place == own + 1);
            let kind = &sibling.kind;
            let number = match kind.pointee() {
                // Behind a pointer the library says the length of what it gives.
                Some(to) => counts(to) && !to.constant && is_length(&sibling.name) && !beside,
                // (No result is as long as the program says.)
                None => {
                    own.is_some()
                        && counts(kind)
                        && kind.enumeration.is_none()
                        && (beside || is_length(&sibling.name))
                }
            };
            number && !self.is_said(&sibling.name, siblings)
        });
        let Some((_, length)) = length else {
            if says_bytes(name) {
                return no(
                    "its name says that it may be bytes without an end",
                    "annotate it with LG_STRING if it ends with a zero, or with LG_SIZE(…) if it does not",
                );
            }
            return match own.and_then(|own| ends(own, siblings)) {
                None => Ok(()),
                Some((first, end)) => no(
                    format!("it may be a string, or {end} may be where {first} ends"),
                    "annotate both with LG_STRING if they end with a zero; else leave the function out with LG_OMIT",
                ),
            };
        };
        let size = if length.kind.pointee().is_some() { "*" } else { "" };
        no(
            format!("it may be a string, or a buffer whose length is {size}{}", length.name),
            format!(
                "annotate it with LG_STRING if it ends with a zero, or with LG_IN LG_SIZE({size}{}) if it does not",
                length.name
            ),
        )
    }

    /// The number is in an expression already: it is the length of something else.
    fn is_said(&self, number: &str, siblings: &[Parameter]) -> bool {
        siblings.iter().any(|sibling| {
            let notes = self.notes(sibling);
            let sizes = [&notes.size, &notes.written, &notes.rows];
            sizes.into_iter().flatten().any(|size| size.names().contains(&number))
        })
    }

    /// True for pointers that the program only passes on.
    pub(super) fn is_handle(&self, kind: &CType, notes: &Notes) -> bool {
        let Some(to) = kind.pointee() else { return false };
        let incomplete = match &to.shape {
            Shape::Record(key) => self.header.records.get(key).is_none_or(|record| record.fields.is_none()),
            _ => false,
        };
        // LG_OPAQUE on `T **` speaks of the T *.
        notes.opaque && to.pointee().is_none() || incomplete && notes.direction.is_none()
    }
}

/// What has no name only its own declaration can speak of: no stub, and no other function.
pub(super) fn has_name(kind: &CType) -> Result<(), No> {
    let mut to = kind;
    while let Some(next) = to.pointee() {
        to = next;
    }
    match &to.shape {
        Shape::Record(key) if key.contains('(') => no(
            "a structure without a name, which a stub cannot declare",
            "give it a name: a tag, or a typedef",
        ),
        _ => Ok(()),
    }
}

/// An integer, or what integers are behind it, has a type for addresses.
pub(super) fn may_hold_pointer(kind: &CType) -> bool {
    let own = kind.names.iter().any(|name| crate::header::POINTERS.contains(&name.as_str()));
    own || match &kind.shape {
        Shape::Pointer(to) | Shape::Array(to, _) => may_hold_pointer(to),
        _ => false,
    }
}

/// A pointer of the program's in an integer would be a number for the library, which could give back another: where its type is one for
/// addresses, it is said that it has none.
pub(super) fn is_number(kind: &CType, notes: &Notes) -> Result<(), No> {
    if !may_hold_pointer(kind) || notes.number || notes.ignore {
        return Ok(());
    }
    no(
        format!(
            "`{}` may be a pointer in an integer: the library could give the program any other",
            kind.spelling
        ),
        "declare it `void *`, which is the program's own data (LG_DATA); or say LG_NUMBER if no pointer is in it (LG_TYPE(uintptr_t, LG_NUMBER) \
         for all)",
    )
}

/// Of a buffer that does not go in, it is said how much the library writes: what it leaves would be bytes of earlier calls, and not what the program has there.
fn is_written(notes: &Notes, passing: &Passing) -> Result<(), No> {
    let (buffer, rows) = match passing {
        Passing::Buffer(buffer) | Passing::Record { buffer, .. } => (buffer, false),
        Passing::Rows { each, .. } => (each, true),
        _ => return Ok(()),
    };
    let said = buffer.size.is_none() && !rows || buffer.written.is_some() || notes.cursor;
    if said || buffer.reads || !buffer.writes {
        return Ok(());
    }
    let inout = "LG_INOUT: what the program has there goes in, and what the library leaves stays as it was";
    no(
        "LG_OUT, but no annotation says how much of it the library writes",
        match rows {
            true => format!("say {inout}"),
            false => format!(
                "add LG_WRITTEN(n), the elements that it has written (0 where it leaves all as it was), or say {inout}"
            ),
        },
    )
}

/// A function that the library may call.
fn is_called(parameter: &Parameter) -> bool {
    matches!(parameter.kind.shape, Shape::Function(_)) && parameter.notes.dispose.is_none()
}

/// What is called so is often memory: of `void *` beside a callback, which is the program's data otherwise (`sqlite3_result_blob64`). A name that is
/// taken for one by mistake costs an annotation; one that is missing, a token in place of memory. So words of directions are among them (`src`,
/// `into`), which `says_bytes` does not have: text has these names, too.
fn says_room(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split('_').collect();
    let room = [
        "buf", "buffer", "mem", "memory", "out", "output", "in", "input", "src", "source", "dst", "dest",
        "into", "bytes", "blob", "raw", "base",
    ];
    words.iter().any(|word| room.contains(word)) || name.ends_with("buf") || name.ends_with("buffer")
}

/// A name that lengths have (`nbyte` is SQLite's): what stands before such a number may be as long as it says.
fn is_length(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.trim_matches('_');
    name == "n" || ["len", "length", "size", "bytes", "nbyte"].iter().any(|end| name.ends_with(end))
}

/// What is called so is often no text, even if it is made of characters: names of digests, packets and hashes in the headers of libraries
/// (`archive_entry_digest`, `libssh2_hostkey_hash`, opus), of which the program would get as much as there is before the first zero.
pub(super) fn says_bytes(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.trim_matches('_');
    ["hash", "digest", "blob", "buffer", "bytes"].iter().any(|word| name.contains(word))
        || ["data", "buf", "raw"].iter().any(|end| name.ends_with(end))
}

/// `FILE` of stdio.
fn is_file(to: &CType) -> bool {
    to.names.iter().any(|name| name == "FILE")
}

/// An array of pointers.
fn rows(to: &CType, notes: &Notes, count: &Expression) -> Result<Passing, No> {
    let Some(element) = to.pointee() else {
        return no("LG_ROWS, but it leads to no pointers", "remove LG_ROWS");
    };
    if notes.size.is_none() != notes.string {
        return no("no annotation says what the pointers of LG_ROWS lead to", "add LG_SIZE(…) or LG_STRING");
    }
    let plain = matches!(element.shape, Shape::Void | Shape::Integer { .. } | Shape::Float);
    let writes = notes.direction.is_some_and(Direction::writes);
    if !plain || writes && (element.constant || notes.string || element.is_bool()) {
        return no(format!("arrays of `{}` cannot be passed that way", to.spelling), OMIT);
    }
    let each = Buffer { written: None, shared: false, ..Buffer::of(notes, element.size) };
    Ok(Passing::Rows { count: count.clone(), each, strings: notes.string })
}

/// Of what is not copied, nothing is concluded: the library could change it between two looks.
fn is_shareable(parameter: &Parameter, buffer: &Buffer, siblings: &[Parameter]) -> Result<(), No> {
    let name = parameter.name.as_str();
    let speaks = |p: &Parameter| p.notes.expressions().any(|size| size.names().contains(&name));
    match (&buffer.bools, siblings.iter().find(|p| speaks(p))) {
        (Some(_), _) => no(
            "LG_SHARED, but a bool in memory that the library can change may be any byte at any time",
            "remove LG_SHARED: it is copied then, and each bool is 0 or 1",
        ),
        (None, Some(other)) => no(
            format!(
                "LG_SHARED, but what the annotations of {} say depends on it, and the library can change it",
                other.name
            ),
            "remove LG_SHARED: it is copied then",
        ),
        (None, None) => Ok(()),
    }
}

/// The name of a handle's type: that of what it points to.
pub fn handle_name(kind: &CType) -> String {
    let to = kind.pointee().map_or(kind.spelling.as_str(), |to| match &to.shape {
        Shape::Record(key) => key,
        _ => kind.names.first().unwrap_or(&kind.spelling),
    });
    to.trim_start_matches("const ").to_owned()
}

/// Two pointers to characters beside each other, of which the second is named as the end of the first; one of them is `own`.
fn ends(own: usize, siblings: &[Parameter]) -> Option<(&str, &str)> {
    let text = |parameter: &Parameter| parameter.kind.pointee().is_some_and(CType::is_character);
    let pair = siblings.windows(2).enumerate().find(|(place, pair)| {
        let name = pair[1].name.to_lowercase();
        (*place == own || place + 1 == own)
            && pair.iter().all(text)
            && (name == "end" || name.ends_with("_end"))
    });
    pair.map(|(_, pair)| (pair[0].name.as_str(), pair[1].name.as_str()))
}
