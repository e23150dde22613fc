//! Out of a domain: the only place where something that a domain can have written becomes a value of the program's.
//!
//! Each is fetched once, into memory or a register that no domain writes, and judged there by what the plan says that it is.
use super::declare::mutable;
use super::steps::*;
use crate::expression::Expression;
use crate::plan::{Buffer, Count, Outcome, Plan};

/// What a domain gave: a number that may mean anything. (What it leads to is nothing before it was fetched.)
#[derive(Debug, Clone)]
pub struct Raw(Value);

impl Raw {
    /// What the library's function returned.
    pub fn result() -> Raw {
        Raw(word("lg_result"))
    }

    /// The variable with that: of the type that crosses, with the call as its value.
    pub fn returned(crossing: &str, called: Value) -> Step {
        variable(&mutable(crossing), "lg_result", called)
    }

    /// What the domain calls with, by its place.
    pub fn argument(place: usize) -> Raw {
        Raw(word(Raw::argument_name(place)))
    }

    /// How that is declared.
    pub fn argument_name(place: usize) -> String {
        format!("lgs_a{place}")
    }

    /// What a pointer variable was set to, which is fetched from its block.
    pub fn set(name: &str, block: Value) -> (Raw, Step) {
        let fetched = call("lgs_pointer", [address(block)]);
        (Raw(local("u", name)), variable("uint64_t", local_name("u", name), fetched))
    }

    /// A pointer in the fetched copy of a structure.
    pub fn field(name: &str) -> Raw {
        let field = through(word("now"), name);
        Raw(cast("uint64_t", cast("uintptr_t", field)))
    }

    /// A number, which may be any: nothing is concluded from it.
    pub fn number(&self) -> Value {
        self.0.clone()
    }

    /// What the library has left becomes null.
    pub fn unset(&self) -> Step {
        when(self.is_unset(), [Step::Set(self.0.clone(), zero())])
    }

    /// It is null.
    pub fn is_null(&self) -> Value {
        equal(self.0.clone(), zero())
    }

    /// The library has left what the stub had put there.
    pub fn is_unset(&self) -> Value {
        equal(self.0.clone(), word("LGS_UNSET"))
    }

    /// The runtime judges it: a function that takes such numbers, with arguments before and behind it.
    pub fn judged_by(
        &self,
        function: &str,
        before: impl Into<Vec<Value>>,
        after: impl Into<Vec<Value>>,
    ) -> Value {
        let before: Vec<Value> = before.into();
        let arguments = before.into_iter().chain([self.0.clone()]).chain(after.into());
        run(function, arguments.collect::<Vec<Value>>())
    }
}

/// One thing that comes out.
pub struct CopyOut<'a> {
    /// What the domain gave.
    pub raw: Raw,
    /// Its type.
    pub kind: &'a str,
    /// What errors call it.
    pub what: &'a str,
    /// The whole plan.
    pub plan: &'a Plan,
    /// What sizes of it come to.
    pub size: &'a dyn Fn(&Expression) -> Value,
    /// Of a handle: the library has made it for this call. True if it may be given to no other owner.
    pub made: Option<bool>,
}

/// Names, with a null pointer behind them.
fn names(all: &[String]) -> Value {
    let names = all.iter().map(|name| text(name)).chain([zero()]).collect();
    cast("const char *const[]", Value::List(names))
}

/// If it may be null.
pub fn flags_of(nullable: bool) -> Value {
    word(if nullable { "LGS_NULLABLE" } else { "0" })
}

fn either(flags: Value, flag: &str) -> Value {
    infix(flags, "|", word(flag))
}

/// Bytes of a buffer.
pub fn bytes(buffer: &Buffer, what: &str, size: &dyn Fn(&Expression) -> Value) -> Value {
    match &buffer.size {
        None => number(buffer.element),
        Some(count) => run("lgs_size", [size(count), number(buffer.element), text(what)]),
    }
}

/// Elements of which the library says how many there are, `of` bytes each, in so much room: how many bytes.
pub fn length(count: Value, of: u64, room: Value, what: &str) -> Value {
    run("lgs_length", [count, number(of), room, text(what)])
}

/// A variable of the stub's own gets what lies there, once.
pub fn fetch(into: Value, from: Value) -> Step {
    let size = size_of_variable(into.clone());
    Step::Do(call("lgs_fetch", [address(into), from, size]))
}

impl CopyOut<'_> {
    /// It is of the type.
    fn typed(&self, value: Value) -> Value {
        cast(self.kind, cast("uintptr_t", value))
    }

    /// Elements of their type lie where those of that type may.
    fn aligned(&self) -> Value {
        let element = cast(self.kind, zero());
        // (ISO C knows no alignment of an expression, and void has none.)
        let alignment = call("__extension__ __alignof__", [behind(element)]);
        self.raw.judged_by("lgs_aligned", [], [alignment, text(self.what)])
    }

    fn judged(&self, function: &str, arguments: impl Into<Vec<Value>>) -> Value {
        let after: Vec<Value> = arguments.into().into_iter().chain([text(self.what)]).collect();
        self.typed(self.raw.judged_by(function, [], after))
    }

    /// A copy whose `bool`s are 0 or 1: of `bytes`, made apart for the type of that number.
    fn normal(&self, normal: &str, apart: Value, bytes: Value, nullable: bool, element: u64) -> Value {
        let copy = run("lgs_apart", [self.aligned(), apart, bytes, flags_of(nullable), text(self.what)]);
        self.typed(call("LGS_NORMAL", [word(normal), copy, number(element)]))
    }

    /// What it is to the program.
    pub fn value(&self, outcome: &Outcome) -> Value {
        let what = self.what;
        let count = |count: &Expression| (self.size)(count);
        match outcome {
            // (Trampolines with a jump call nothing.)
            Outcome::Void | Outcome::Value | Outcome::Jump => self.raw.number(),
            // (Nothing has judged what the library has there.)
            Outcome::Untouched => zero(),
            Outcome::String { nullable } => self.judged("lgs_text", [flags_of(*nullable)]),
            Outcome::Strings { count: given, nullable, holes, pairs } => {
                let count =
                    given.as_ref().map_or(word("-1"), |given| run("lgs_count", [count(given), text(what)]));
                let holes = if *pairs { word("LGS_PAIRS") } else { flags_of(*holes) };
                // What a callback is given is its own only until it returns.
                let stays = not(word("lgs_here"));
                self.judged("lgs_texts", [count, flags_of(*nullable), holes, stays])
            }
            Outcome::Memory { buffer } => self.memory(buffer),
            Outcome::Lent { size } => {
                let bytes = run("lgs_size", [count(size), number(1), text(what)]);
                self.typed(run("lgs_lend", [self.aligned(), bytes, text(what)]))
            }
            Outcome::Record { key, count, nullable } => self.record(key, count, *nullable),
            Outcome::Filled { key } => self.judged(&format!("lgs_first_{}", self.plan.records[key].word), []),
            Outcome::Handle { number: of, nullable } => match self.made {
                None => self.judged("lgs_handle_out", [number(of), flags_of(*nullable)]),
                // A handle that the library makes is not one that it has given out and ended.
                Some(claims) => {
                    let claim = if claims { address(local("m", what)) } else { zero() };
                    self.judged("lgs_handle_made", [number(of), flags_of(*nullable), claim])
                }
            },
            Outcome::Handles { number: of, count: many } => {
                self.judged("lgs_handles", [count(many), number(of), not(word("lgs_here"))])
            }
            Outcome::Data { by } if by.is_empty() => {
                self.typed(self.raw.judged_by("lgs_data_out", [word("lgs_here")], [zero(), text(what)]))
            }
            Outcome::Data { by } => self.judged("lgs_data_back", [names(by)]),
            Outcome::Callback { name } => {
                self.judged("lgs_callback_out", [number(self.plan.callback_number(name))])
            }
            Outcome::Within { object, count: many, element } => {
                let bytes = many.as_ref().map_or(number(element), |many| {
                    run("lgs_size", [count(many), number(element), text(what)])
                });
                self.judged("lgs_within", [address(local("b", object)), bytes, number(element)])
            }
            Outcome::Inside => self.judged("lgs_place", []),
            Outcome::JumpBuffer { handle } => {
                self.judged("lgs_jump_buffer", [local("v", handle), cast("void *", word("lgs_result"))])
            }
        }
    }

    fn memory(&self, buffer: &Buffer) -> Value {
        let bytes = bytes(buffer, self.what, self.size);
        match &buffer.bools {
            Some(normal) if buffer.reads => {
                let mut records = self.plan.records.iter();
                let own = records.find(|(_, record)| *normal == format!("lgs_bools_{}", record.word));
                let apart = own.map_or(word("LGS_BOOLS"), |(key, _)| number(self.plan.record_number(key)));
                self.normal(normal, apart, bytes, buffer.nullable, buffer.element)
            }
            _ => {
                let flags = flags_of(buffer.nullable);
                let flags = if buffer.reads { either(flags, "LGS_READS") } else { flags };
                self.typed(run("lgs_memory", [self.aligned(), bytes, flags, text(self.what)]))
            }
        }
    }

    fn record(&self, key: &str, count: &Count, nullable: bool) -> Value {
        let record = &self.plan.records[key];
        let kind = &record.spelling;
        let (count, end) = match count {
            Count::One => (number(1), None),
            Count::Of(count) => ((self.size)(count), None),
            Count::Until(field) => (zero(), Some(field)),
        };
        if !record.is_plain() || end.is_some() {
            let end = end.map_or([zero(), zero()], |field| {
                let none = group(cast(&format!("{kind} *"), zero()));
                let length = size_of_variable(group(through(none, field)));
                [call("offsetof", [word(kind), word(field)]), length]
            });
            let [offset, length] = end;
            let show = format!("lgs_show_{}", record.word);
            return self.judged(&show, [count, offset, length, flags_of(nullable)]);
        }
        let bytes = run("lgs_size", [count, number(record.size), text(self.what)]);
        match record.bools.is_empty() {
            true => {
                let flags = either(flags_of(nullable), "LGS_READS");
                self.typed(run("lgs_memory", [self.aligned(), bytes, flags, text(self.what)]))
            }
            false => {
                let normal = format!("lgs_bools_{}", record.word);
                let apart = number(self.plan.record_number(key));
                self.normal(&normal, apart, bytes, nullable, record.size.max(1))
            }
        }
    }

    /// The same where sizes follow it: a copy that nothing else is copied over.
    pub fn steady(&self, value: Value, outcome: &Outcome, stays: bool) -> Value {
        let (bytes, flags) = match outcome {
            Outcome::String { .. } => (zero(), "LGS_TEXT"),
            Outcome::Memory { buffer } => (bytes(buffer, self.what, self.size), "0"),
            Outcome::Record { .. } => (zero(), "LGS_GIVEN"),
            _ => return value,
        };
        let after = [bytes, word(flags), number(stays), text(self.what)];
        self.raw.judged_by("lgs_steady", [cast("const void *", value)], after)
    }

    /// Memory of the library's that the program's function fills.
    pub fn filled(&self, buffer: &Buffer) -> Value {
        let bytes = bytes(buffer, self.what, self.size);
        let flags = flags_of(buffer.nullable);
        let memory = run("lgs_filled", [self.aligned(), bytes, flags, text(self.what)]);
        self.typed(match &buffer.bools {
            Some(normal) => call("LGS_NORMAL", [word(normal), memory, number(buffer.element)]),
            None => memory,
        })
    }

    /// The program's own data in a structure: what was given in this field, or to these functions.
    pub fn data_of(&self, by: &[String]) -> Value {
        self.judged("lgs_data_of", [names(by)])
    }

    /// The program's own data, which may be null.
    pub fn data_or_null(&self) -> Value {
        let after = [word("LGS_NULLABLE"), text(self.what)];
        self.typed(self.raw.judged_by("lgs_data_out", [word("lgs_here")], after))
    }

    /// What the program will give to `free`, or back, goes to its own heap.
    pub fn to_heap(&self, copy: Value, outcome: &Outcome) -> Step {
        let flags = match outcome {
            Outcome::Memory { buffer } if !buffer.reads => "LGS_WRITES",
            _ => "0",
        };
        let size = match outcome {
            Outcome::String { .. } => {
                let length = infix(call("strlen", [copy.clone()]), "+", number(1));
                choice(copy.clone(), length, zero())
            }
            _ => member(word("lgs_thread"), "given"),
        };
        let raw = cast("uint64_t", self.raw.number());
        let heap = address(local("h", self.what));
        Step::Do(run("lgs_to_heap", [heap, copy, size, raw, word(flags), text(self.what)]))
    }
}

#[cfg(test)]
mod tests {
    /// What a domain gave has a name in this file only, so that nothing but what is here makes a value of it.
    #[test]
    fn what_a_domain_gave_is_named_here_alone() {
        let own = include_str!("copy_out.rs");
        let others = [
            include_str!("callback.rs"),
            include_str!("copy_in.rs"),
            include_str!("declare.rs"),
            include_str!("given.rs"),
            include_str!("mod.rs"),
            include_str!("record.rs"),
            include_str!("size.rs"),
            include_str!("stub.rs"),
        ];
        for name in ["word(\"lg_result", "\"lgs_a{", "local(\"u\""] {
            assert!(own.contains(name), "{name}");
            assert!(others.iter().all(|other| !other.contains(name)), "{name}");
        }
    }
}
