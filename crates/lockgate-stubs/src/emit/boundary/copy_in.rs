//! Into a domain: how each parameter is passed, and what that asks for after the call.
use super::copy_out::{CopyOut, Raw, bytes, fetch, length};
use super::declare::mutable;
use super::given::{data, flags, how_long};
use super::record::numbers_in;
use super::steps::*;
use super::stub::{Stub, resulting};
use crate::expression::Expression;
use crate::header::model::{Parameter, Shape};
use crate::plan::{Buffer, Outcome, Passing};

/// What a stub has of the program must not be memory that a domain writes meanwhile.
fn private(name: &str, size: Value) -> Step {
    Step::Do(run("lgs_private", [word(name), size, text(name)]))
}

fn block(name: &str) -> Value {
    local("b", name)
}

fn here(name: &str) -> Value {
    member(block(name), "here")
}

fn declare_block(name: &str, value: Value) -> Step {
    variable("struct lgs_block", local_name("b", name), value)
}

fn declare_raw(name: &str, value: Value) -> Step {
    variable("uint64_t", local_name("v", name), value)
}

impl Stub<'_> {
    /// Everything of one parameter.
    pub fn parameter(&mut self, parameter: &Parameter, passing: &Passing) {
        let name = &parameter.name;
        let argument = match passing {
            Passing::Value => word(name),
            Passing::Ignore => zero(),
            Passing::Null => {
                let wrong = fail("LG_STUB_NULL", name, "it must be null");
                self.phases.copy_in.push(when(word(name), [wrong]));
                zero()
            }
            Passing::String { most } => {
                self.phases.enter.push(private(name, number(1)));
                // As a block, for pointers into it.
                let length = match most {
                    Some(most) => {
                        let most = run("lgs_size", [self.before(most), number(1), text(name)]);
                        call("lgs_text_size", [word(name), most])
                    }
                    None => infix(call("strlen", [word(name)]), "+", number(1)),
                };
                let size = choice(word(name), length, number(1));
                let block = run("lgs_block", [word(name), size, word("LGS_READS")]);
                self.phases.copy_in.push(declare_block(name, block));
                self.inside(name)
            }
            Passing::Buffer(buffer) => self.buffer(parameter, buffer),
            Passing::Scalar(buffer) => self.scalar(parameter, buffer),
            Passing::Record { key, buffer, kept: false, .. } if self.plan.records[key].is_plain() => {
                self.buffer(parameter, buffer)
            }
            Passing::Record { key, buffer, kept, release } => {
                self.record(parameter, key, buffer, *kept, *release)
            }
            Passing::Handle { number, release, reset, data } => {
                if *reset {
                    self.reset(name);
                }
                self.handle(name, *number, *release, *data)
            }
            Passing::Cursor(buffer) => self.cursor(parameter, buffer),
            Passing::Rows { count, each, strings } => {
                let size = if *strings { word("-1") } else { bytes(each, name, &|e| self.before(e)) };
                let pointers = cast("const void *const *", word(name));
                let flags = word(flags(each.reads, each.writes));
                let rows = run("lgs_rows", [pointers, self.before(count), size, flags, text(name)]);
                self.phases.copy_in.push(variable("struct lgs_rows", local_name("r", name), rows));
                if each.writes {
                    self.phases.give.push(Step::Do(call("lgs_rows_back", [address(local("r", name))])));
                }
                member(local("r", name), "inside")
            }
            Passing::Stream { kept } => {
                let stream = run("lgs_stream", [word(name), number(kept), text(name)]);
                self.phases.copy_in.push(declare_raw(name, stream));
                local("v", name)
            }
            Passing::Inside { release } => self.place(parameter, *release),
            Passing::Pointer { before, after } => self.pointer(parameter, before.as_deref(), after),
            Passing::Callback { name: kind } => {
                let of = number(self.plan.callback_number(kind));
                let bound = self.function.parameters.iter().any(|p| matches!(p, Passing::Data { .. }));
                let code = cast("lg_code", word(name));
                let callback = run("lgs_callback", [code, of, number(bound), text(name)]);
                self.phases.copy_in.push(declare_raw(name, callback));
                local("v", name)
            }
            Passing::Data { shown, kept, for_call } => {
                let long = how_long(*kept, *for_call);
                let callbacks: Vec<Value> = self.callbacks_of(name).into_iter().map(word).collect();
                self.phases.copy_in.push(declare_raw(name, data(word(name), &callbacks, &long, None, name)));
                // (Null is every function's that it comes with.)
                for other in callbacks.into_iter().skip(1) {
                    let null = data(zero(), &[other], &long, None, name);
                    self.phases.copy_in.push(when(not(word(name)), [Step::Do(null)]));
                }
                if let Some(handle) = shown {
                    let shown = behind(cast("const void **", word(handle)));
                    self.phases.give.push(when(word(handle), [Step::Set(shown, word(name))]));
                }
                local("v", name)
            }
            Passing::Dispose { object, copy } => {
                let copy = group(word(copy));
                let other = infix(cast("intptr_t", word(name)), "!=", cast("intptr_t", copy.clone()));
                let end = Step::Do(call(name, [cast("void *", word(object))]));
                // (Of nothing there is nothing to dispose of.)
                let both = infix(word(object), "&&", word(name));
                self.phases.release.push(when(infix(both, "&&", other), [end]));
                cast("uint64_t", copy)
            }
        };
        self.arguments.push(argument);
    }

    /// Where the library finds a block.
    fn inside(&self, name: &str) -> Value {
        member(block(name), "inside")
    }

    fn handle(&mut self, name: &str, of: usize, release: bool, data: bool) -> Value {
        let raw = local("v", name);
        self.phases.enter.push(declare_raw(name, run("lgs_handle", [word(name), number(of), text(name)])));
        let success = self.success();
        if data {
            let itself = Step::Do(call("lgs_handlers_get", [raw.clone(), number(true)]));
            self.phases.give.push(perhaps(success.clone(), itself));
        }
        if release {
            let ending = Step::Do(call("lgs_handle_ending", [word(name)]));
            self.phases.copy_in.push(when(raw.clone(), [ending]));
            let dead = Step::Do(call("lgs_handle_dead", [word(name)]));
            // The program is done with it, whatever the library says or does.
            let lives = match &success {
                Some(success) => infix(failed(), "||", not(group(success.clone()))),
                None => failed(),
            };
            self.phases.give.push(perhaps(success, dead));
            let ends = Step::Do(run("lgs_handle_ends", [word(name), raw.clone()]));
            self.phases.release.push(when(lives, [ends]));
        }
        raw
    }

    /// The library has undone what was given with a handle.
    fn reset(&mut self, name: &str) {
        let reset = Step::Do(call("lgs_reset", [local("v", name)]));
        self.phases.give.push(perhaps(self.failed_itself().map(|failed| not(group(failed))), reset));
    }

    /// A place that the library has given out.
    fn place(&mut self, parameter: &Parameter, release: bool) -> Value {
        let name = &parameter.name;
        let raw = local("v", name);
        self.phases.copy_in.push(declare_raw(name, run("lgs_inside", [word(name), text(name)])));
        if let Some(size) = &parameter.notes.size {
            let size = run("lgs_size", [self.before(size), number(1), text(name)]);
            let back = run("lgs_inside_back", [raw.clone(), word(name), size, text(name)]);
            self.phases.copy_in.push(Step::Do(back));
        }
        let end = Step::Do(call("lgs_piece_end", [word(name)]));
        // The program does not use it again, whatever the library says of it.
        if self.plan.freers.contains(&self.function.name) {
            self.phases.release.push(end);
        } else if release {
            // (A pointer that is null says that it has failed.)
            let gives = matches!(self.function.prototype.result.shape, Shape::Pointer(_));
            let condition = if gives { Some(Raw::result().number()) } else { self.success() };
            self.phases.give.push(perhaps(condition, end));
        }
        raw
    }

    fn buffer(&mut self, parameter: &Parameter, buffer: &Buffer) -> Value {
        let name = &parameter.name;
        let bytes = bytes(buffer, name, &|e| self.before(e));
        let is_text = parameter.notes.string && buffer.writes && buffer.size.is_some();
        let is_fetched = self.is_fetched(parameter, buffer);
        let more = match (is_text, &buffer.bools) {
            (true, _) => " | LGS_TEXT",
            (false, None) if !is_fetched => " | LGS_SHAREABLE",
            (false, _) => "",
        };
        // (One that the library may leave as it was, as it is: of several it is said how many are written.)
        let left = buffer.size.is_none() && buffer.writes;
        let flags = flags(buffer.reads || left, buffer.writes) + more;
        // Sizes speak of what is in it.
        let siblings = &self.function.prototype.parameters;
        let sizes = siblings.iter().flat_map(|p| [&p.notes.size, &p.notes.written, &p.notes.rows]).flatten();
        if is_fetched || sizes.into_iter().any(|size| size.names().contains(&name.as_str())) {
            self.phases.enter.push(private(name, number(1)));
        }
        let made = match buffer.shared {
            true => run("lgs_arena_block", [word(name), bytes, word(flags), text(name)]),
            false => run("lgs_block", [word(name), bytes, word(flags)]),
        };
        self.phases.copy_in.push(declare_block(name, made));
        let room = member(block(name), "size");
        let grown = buffer.size.as_ref().filter(|size| size.names().iter().any(|n| self.is_written(n)));
        // (Where there is no buffer there is nothing to copy, whatever the library says.)
        let after = |stub: &Self, count: &Expression, element| {
            let length = length(resulting(count, stub.after(count)), element, room.clone(), name);
            choice(word(name), length, zero())
        };
        if !buffer.writes {
            // What the library says that it has read of it: the program goes on behind that.
            if let Some(count) = grown {
                let read = Step::Do(cast("void", after(self, count, buffer.element)));
                self.phases.copy_out.push(when(word(name), [read]));
            }
            return self.inside(name);
        }
        let key = match parameter.kind.pointee().map(|to| &to.shape) {
            Some(Shape::Record(key)) => Some(key.as_str()),
            _ => None,
        };
        let goes_in = (buffer.reads || left) && !buffer.shared;
        let changed = goes_in && self.whole_goes_back(name, buffer.element, key);
        if is_fetched {
            let kind = parameter.kind.pointee().map_or("char", |to| to.spelling.as_str());
            let copy = local("r", name);
            let mut load = vec![fetch(copy.clone(), here(name))];
            if let Some(normal) = &buffer.bools {
                load.push(Step::Do(call(normal, [address(copy.clone()), number(1)])));
            }
            self.phases.fetch.push(Step::Declare(kind.to_owned(), local_name("r", name), None));
            self.phases.fetch.push(when(here(name), load));
            let gives = match changed {
                true => Self::given(name, address(copy.clone()), size_of_variable(copy), true),
                false => Step::Set(behind(word(name)), copy),
            };
            self.phases.give.push(when(here(name), [gives]));
            return self.inside(name);
        }
        let count = local("n", name);
        if is_text {
            let most = buffer.written.as_ref().map_or(room.clone(), |count| after(self, count, 1));
            self.phases.copy_out.push(variable("size_t", local_name("n", name), most));
            // (Where the call itself says that it has failed, the program's own may be there still, and need not end.)
            let own = if buffer.reads { self.failed_itself() } else { None };
            let own = own.unwrap_or_else(|| word("false"));
            let (block, room) = (address(block(name)), address(count.clone()));
            let ends = run("lgs_text_back", [block, room, number(buffer.reads), own, text(name)]);
            self.phases.copy_out.push(variable("const char *", local_name("t", name), ends));
            let gives = Self::given(name, local("t", name), count, changed);
            self.phases.give.push(when(local("t", name), [gives]));
            return self.inside(name);
        }
        // (What went in comes back, whatever the library says of it.)
        if let Some(count) = grown.filter(|_| buffer.reads && buffer.written.is_none()) {
            let said = Step::Do(cast("void", after(self, count, buffer.element)));
            self.phases.copy_out.push(said);
        }
        let written = buffer.written.as_ref().or(grown.filter(|_| !buffer.reads));
        let size = written.map_or(room.clone(), |count| after(self, count, buffer.element));
        self.phases.copy_out.push(variable("size_t", local_name("n", name), size));
        let (own, before) = (address(block(name)), address(local("o", name)));
        self.phases.give.push(Step::Do(match changed {
            true => call("lgs_back_changed", [before, own, count.clone()]),
            false => call("lgs_back", [own, count.clone()]),
        }));
        if let Some(normal) = &buffer.bools {
            let elements = infix(count, "/", number(buffer.element));
            let normal = call(normal, [cast("void *", word(name)), elements]);
            self.phases.give.push(Step::Do(cast("void", normal)));
        }
        self.inside(name)
    }

    /// The program's object in this block comes back: of that what the library has changed, as a callback may have changed the rest. What has gone in of it
    /// is what the program had; `before` keeps that.
    fn goes_back(&mut self, before: Value, block: Value, element: u64, key: Option<&str>) {
        let numbers = key.map_or(zero(), |key| self.numbers(key));
        let goes = run("lgs_goes_back", [address(before), address(block), number(element.max(1)), numbers]);
        self.phases.ready.push(Step::Do(goes));
    }

    /// The numbers in structures of this type.
    fn numbers(&mut self, key: &str) -> Value {
        let own = format!("lgs_f_{}", self.plan.records[key].word);
        let declared = Step::Declare(
            "static const struct lgs_numbers".to_owned(),
            format!("{own}[]"),
            Some(numbers_in(&self.plan.records[key])),
        );
        if !self.phases.declare.contains(&declared) {
            self.phases.declare.push(declared);
        }
        word(own)
    }

    /// The same of a parameter, where there are callbacks.
    fn whole_goes_back(&mut self, name: &str, element: u64, key: Option<&str>) -> bool {
        let may_change = self.plan.calls_back();
        if may_change {
            let before = variable("struct lgs_before", local_name("o", name), zeroed());
            self.phases.declare.push(before);
            self.goes_back(local("o", name), block(name), element, key);
        }
        may_change
    }

    /// What was fetched, in a variable, is what the program has: all of it, or (`changed`) what the library has changed.
    fn given(name: &str, fetched: Value, size: Value, changed: bool) -> Step {
        match changed {
            true => {
                let host = cast("void *", word(name));
                Step::Do(call("lgs_give", [address(local("o", name)), host, fetched, size]))
            }
            false => Step::Do(call("memcpy", [word(name), fetched, size])),
        }
    }

    fn scalar(&mut self, parameter: &Parameter, buffer: &Buffer) -> Value {
        let name = &parameter.name;
        let kind = parameter.kind.pointee().map_or("char", |to| to.spelling.as_str());
        let kind = kind.trim_start_matches("const ");
        if buffer.reads {
            self.phases.enter.push(private(name, size_of(kind)));
        }
        // What the library leaves is as the program has it; but of what the stub or other calls conclude something from, it is 0.
        let told = self.plan.told.iter().any(|(teller, what)| *teller == self.function.name && what == name);
        let concluded = self.function.counted.contains(name) || parameter.notes.at_most.is_some() || told;
        let made = match (concluded && !buffer.reads, self.is_counted(name)) {
            // What sizes speak of the library is asked for, though the program does not want to know.
            (true, true) => run("lgs_number_there", [word(name), size_of(kind)]),
            (true, false) => run("lgs_block", [word(name), size_of(kind), word("LGS_ZEROS")]),
            (false, _) => run("lgs_block", [word(name), size_of(kind), word("LGS_READS")]),
        };
        self.phases.copy_in.push(declare_block(name, made));
        if buffer.writes {
            let fetched = local("s", name);
            let mut load = vec![
                variable(kind, local_name("s", name), zero()),
                when(here(name), [fetch(fetched.clone(), here(name))]),
            ];
            if buffer.bools.is_some() {
                load.push(Step::Do(call("lgs_bools", [address(fetched.clone()), number(1)])));
            }
            // Before all checks.
            self.phases.fetch.splice(0..0, load);
            if let Some(most) = &parameter.notes.at_most {
                let wide = cast("lgs_wide", fetched.clone());
                let below = infix(wide.clone(), "<", zero());
                let beyond = infix(below, "||", infix(wide, ">", self.after(most)));
                let why = "the library says more than there can be, or less than nothing";
                self.phases.copy_out.push(when(beyond, [fail("LG_STUB_LENGTH", name, why)]));
            }
            let goes_in = !concluded || buffer.reads;
            let size = parameter.kind.pointee().map_or(1, |to| to.size);
            let gives = match goes_in && self.whole_goes_back(name, size, None) {
                true => Self::given(name, address(fetched.clone()), size_of_variable(fetched), true),
                false => Step::Set(behind(word(name)), fetched),
            };
            self.phases.give.push(when(word(name), [gives]));
        }
        self.inside(name)
    }

    fn pointer(&mut self, parameter: &Parameter, before: Option<&Passing>, after: &Outcome) -> Value {
        let name = &parameter.name;
        let own = || word(name);
        let kind = parameter.kind.pointee().map_or("void *", |to| to.spelling.as_str());
        let first = word(if before.is_none() { "LGS_UNSET" } else { "0" });
        self.phases.copy_in.push(declare_block(name, run("lgs_variable", [own(), first])));
        if let Some(Passing::Handle { number: of, release, .. }) = before {
            let raw = local("v", name);
            // (A callback may have put another there by the time that the call returns.)
            let given = || local("d", name);
            let first = choice(own(), behind(own()), zero());
            self.phases.declare.push(variable("const void *", local_name("d", name), first));
            let handle = run("lgs_handle", [given(), number(of), text(name)]);
            self.phases.enter.push(declare_raw(name, choice(own(), handle, zero())));
            let put = call("lgs_put", [here(name), address(raw.clone()), number(8)]);
            self.phases.copy_in.push(when(here(name), [Step::Do(put)]));
            if *release {
                let ending = Step::Do(call("lgs_handle_ending", [given()]));
                self.phases.copy_in.push(when(raw.clone(), [ending]));
                let ends = Step::Do(run("lgs_handle_ends", [given(), raw]));
                self.phases.release.push(when(failed(), [ends]));
                let dead = Step::Do(call("lgs_handle_dead", [given()]));
                self.phases.give.push(when(given(), [dead]));
            }
        }
        let (set, fetched) = Raw::set(name, block(name));
        self.phases.copy_out.push(fetched);
        // What the library does not set is null, or, where the call itself says that it has failed, as the program has it. (Else that
        // would be followed by a program which takes it for the library's.)
        let mut left = None;
        if before.is_none() {
            if let Some(failed) = self.failed_itself() {
                let is_left = infix(set.is_unset(), "&&", group(failed));
                self.phases.copy_out.push(variable("bool", format!("lgs_left_{name}"), is_left));
                left = Some(word(format!("lgs_left_{name}")));
            }
            self.phases.copy_out.push(set.unset());
        }
        let is_made = matches!(after, Outcome::Handle { .. }) && !self.function.is_borrowed(name);
        let claims = self.claims(parameter, before, after);
        let out = CopyOut {
            raw: set.clone(),
            kind,
            what: name,
            plan: self.plan,
            size: &|e| self.after(e),
            made: is_made.then_some(claims),
        };
        let mut value = out.value(after);
        let copy = local("p", name);
        let mut heap = None;
        if self.function.is_to_end(name) {
            heap = Some(out.to_heap(copy.clone(), after));
        }
        if matches!(after, Outcome::Within { .. }) {
            let nullable = super::copy_out::flags_of(parameter.notes.nullable);
            let is_set = set.judged_by("lgs_is_set", [own()], [nullable, text(name)]);
            let is_set = match &left {
                Some(left) => infix(not(left.clone()), "&&", is_set),
                None => is_set,
            };
            value = choice(is_set, value, zero());
        }
        self.phases.copy_out.push(variable(&mutable(kind), local_name("p", name), value));
        let given = match heap {
            Some(heap) => {
                self.phases.copy_out.push(heap);
                call("lgs_take", [address(local("h", name))])
            }
            None => copy.clone(),
        };
        let condition = left.map_or(own(), |left| infix(own(), "&&", not(left)));
        // (Which handle the library leaves there, a callback may have changed.)
        let stays = matches!(before, Some(Passing::Handle { release: false, .. })) && self.plan.calls_back();
        let condition = match stays {
            true => infix(condition, "&&", infix(copy.clone(), "!=", local("d", name))),
            false => condition,
        };
        self.phases.give.push(when(condition, [Step::Set(behind(own()), given)]));
        if is_made && self.plan.follows_handles() {
            self.made.push((copy, claims.then(|| name.clone())));
        }
        self.inside(name)
    }

    /// A pointer of the program's that moves on through its buffer. The program goes on behind what was moved over, and takes it for done, as it does what the
    /// number says that goes with it: two numbers, one truth.
    fn cursor(&mut self, parameter: &Parameter, buffer: &Buffer) -> Value {
        let name = &parameter.name;
        let own = || word(name);
        let kind = parameter.kind.pointee().map_or("void *", |to| to.spelling.as_str());
        self.phases.enter.push(private(name, size_of("void *")));
        // (A callback may have put another there by the time that the call returns.)
        let start = || local("d", name);
        let first = choice(own(), cast("void *", behind(own())), zero());
        self.phases.declare.push(variable("void *", local_name("d", name), first));
        let size = bytes(buffer, name, &|e| self.before(e));
        self.phases.copy_in.push(variable("size_t", local_name("z", name), size));
        let flags = word(flags(buffer.reads, buffer.writes) + " | LGS_SHAREABLE");
        let block_of = run("lgs_block", [start(), local("z", name), flags]);
        self.phases.copy_in.push(declare_block(name, block_of));
        let cell = run("lgs_variable", [own(), self.inside(name)]);
        self.phases.copy_in.push(variable("struct lgs_block", local_name("c", name), cell));
        let cell = |part: &str| member(local("c", name), part);
        let raw = local("v", name);
        self.phases.fetch.push(variable("uint64_t", local_name("v", name), zero()));
        self.phases.fetch.push(when(cell("here"), [fetch(raw.clone(), cell("here"))]));
        let moved = || local("n", name);
        let over = run("lgs_moved", [raw, address(block(name)), text(name)]);
        let over = choice(own(), over, zero());
        self.phases.copy_out.push(variable("size_t", local_name("n", name), over));
        // (Where the program has no buffer, the number stays as it is.)
        let within = infix(member(block(name), "size"), "-", moved());
        let left = || group(choice(start(), within.clone(), local("z", name)));
        let count = buffer.size.as_ref().map_or(number(1), |size| self.after(size));
        let rest = length(count, buffer.element, left(), name);
        let why = "the library moved the pointer on by more or less than it says is done";
        let differ = infix(rest, "!=", left());
        self.phases.copy_out.push(when(differ, [fail("LG_STUB_LENGTH", name, why)]));
        if buffer.writes {
            self.phases.give.push(Step::Do(call("lgs_back", [address(block(name)), moved()])));
        }
        let on = cast(kind, group(infix(cast("char *", start()), "+", moved())));
        self.phases.give.push(when(start(), [Step::Set(behind(own()), on)]));
        cell("inside")
    }

    /// The place of a parameter.
    fn number_of(&self, name: &str) -> usize {
        self.function.prototype.parameters.iter().position(|own| own.name == *name).unwrap_or_default()
    }

    fn record(
        &mut self,
        parameter: &Parameter,
        key: &str,
        buffer: &Buffer,
        kept: bool,
        release: bool,
    ) -> Value {
        let name = &parameter.name;
        let record = &self.plan.records[key];
        let (of, kind) = (number(self.plan.record_number(key)), &record.spelling);
        let of_word = |function: &str| format!("lgs_{function}_{}", record.word);
        self.phases.enter.push(private(name, size_of(kind)));
        let pointer = cast("void *", word(name));
        let ends = number(self.plan.ends_with_handle(key));
        let known = if kept { address(local("k", name)) } else { zero() };
        let with = || address(local("w", name));
        let with_kind = format!("struct {}", of_word("with"));
        let with_declared = variable(&with_kind, local_name("w", name), zeroed());
        let is_copied = kept && buffer.reads && self.plan.copies(key);
        let own = local("a", name);
        let made = if kept {
            self.phases.declare.push(variable("struct lgs_kept *", local_name("a", name), zero()));
            self.phases.copy_in.push(Step::Declare(kind.clone(), local_name("k", name), None));
            self.phases.copy_in.push(with_declared.clone());
            let room = if is_copied { size_of(&with_kind) } else { zero() };
            let (own, known) = (address(own.clone()), known.clone());
            run("lgs_keep", [pointer, of.clone(), size_of(kind), ends, own, known, room, text(name)])
        } else if let Some(count) = &buffer.size {
            let all = run(&of_word("into_all"), [word(name), self.before(count), text(name)]);
            self.phases.copy_in.push(declare_block(name, all));
            return self.inside(name);
        } else {
            run("lgs_fresh", [pointer.clone(), size_of(kind)])
        };
        self.phases.copy_in.push(declare_block(name, made));
        if !kept {
            self.phases.copy_in.push(with_declared);
        }
        let into = match buffer.reads {
            false => call(&of_word("numbers"), [word(name), here(name), number(!kept), known]),
            true => run(&of_word("into"), [word(name), here(name), with(), known]),
        };
        let mut into = vec![Step::Do(into)];
        if is_copied {
            let has = [address(block(name)), with(), size_of(&with_kind)];
            into.push(Step::Do(call("lgs_kept_has", has)));
        }
        // (Of two that it only remembers, the library may make one like the other.)
        let others: Vec<String> = match kept && buffer.writes && !buffer.reads && self.plan.copies(key) {
            true => self.function.remembered(key).filter(|own| *own != name).map(str::to_owned).collect(),
            false => Vec::new(),
        };
        let mark = |of: &str| call("LGS_BUFFER_OF", [number(self.number_of(of))]);
        let unmark = |own: &str| {
            Step::Do(call(&of_word("unmarked"), [here(name), mark(own), address(local("q", own))]))
        };
        let unmarks: Vec<Step> =
            others.iter().map(String::as_str).chain([name.as_str()]).map(unmark).collect();
        let own_mark = mark(name);
        let whose = others.iter().fold(word(name), |own, other| {
            call(&of_word("copied"), [address(local("r", name)), own, local("h", other), mark(other)])
        });
        if !others.is_empty() {
            self.phases.declare.push(variable(kind, local_name("q", name), zeroed()));
            into.push(fetch(local("q", name), here(name)));
            self.phases.declare.push(variable(kind, local_name("t", name), zeroed()));
            let first = Some(word(name));
            self.phases.declare.push(Step::Declare(format!("const {kind} *"), local_name("h", name), first));
            into.push(fetch(local("t", name), here(name)));
            if !record.bools.is_empty() {
                into.push(Step::Do(call(&of_word("bools"), [address(local("t", name)), number(1)])));
            }
            let now = run(&of_word("now"), [address(block(name)), word(name), address(local("t", name))]);
            into.push(Step::Set(local("h", name), now));
            into.push(Step::Do(call(&of_word("buffers_of"), [here(name), own_mark])));
            self.phases.release.push(when(here(name), unmarks));
        }
        self.phases.copy_in.push(when(here(name), into));
        if buffer.writes {
            let copy = local("r", name);
            let mode = match (buffer.reads, self.failed_itself()) {
                (true, _) => word("LGS_PASSED"),
                (false, Some(failed)) => choice(failed, word("LGS_FAILED"), word("LGS_LEFT")),
                (false, None) => word("LGS_LEFT"),
            };
            let mut steps = vec![fetch(copy.clone(), here(name))];
            if !record.bools.is_empty() {
                steps.push(Step::Do(call(&of_word("bools"), [address(copy.clone()), number(1)])));
            }
            let whose = match (others.is_empty(), self.failed_itself()) {
                (false, Some(failed)) => choice(failed, word(name), whose),
                _ => whose,
            };
            let check = [address(copy.clone()), whose, with(), mode];
            steps.push(Step::Do(run(&of_word("check"), check)));
            // Before all other checks, which may speak of its fields.
            self.phases.fetch.push(Step::Declare(kind.clone(), local_name("r", name), None));
            self.phases.fetch.push(when(here(name), steps));
            let back = Step::Do(call(&of_word("back"), [with()]));
            for field in record.fields.iter().filter(|_| buffer.reads && self.plan.calls_back()) {
                if let Passing::Buffer(Buffer { reads: true, writes: true, element, .. }) = &field.passing {
                    let before = member(local("w", name), &format!("before_{}", field.name));
                    self.goes_back(before, member(local("w", name), &field.name), *element, None);
                }
            }
            let gives = if kept {
                let numbers = self.numbers(key);
                Step::Do(call(
                    "lgs_kept_give",
                    [own.clone(), cast("void *", word(name)), address(copy), numbers],
                ))
            } else if self.whole_goes_back(name, record.size, Some(key)) {
                Self::given(name, address(copy.clone()), size_of_variable(copy), true)
            } else {
                Step::Set(behind(word(name)), copy)
            };
            self.phases.give.push(when(here(name), [back, gives]));
        }
        if kept {
            self.phases.release.push(when(failed(), [Step::Do(call("lgs_kept_unknown", [own]))]));
        }
        if kept && release {
            self.phases.release.push(Step::Do(call("lgs_release", [word(name), of])));
        }
        self.inside(name)
    }
}
