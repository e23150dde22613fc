//! Structures, field by field: what goes into a copy of the library's, and what is judged of one that was fetched.
use super::copy_out::{CopyOut, Raw, bytes, length};
use super::declare::declare;
use super::given::{data, flags, how_long};
use super::size::{Scope, at, field_at, size};
use super::steps::*;
use crate::expression::Expression;
use crate::plan::{Buffer, FieldPlan, Outcome, Passing, Plan, RecordPlan, TEXT};

/// Fields of what `object` points to.
struct Fields<'a> {
    object: &'static str,
    plan: &'a Plan,
}

impl Fields<'_> {
    fn of(&self, name: &str) -> Value {
        through(word(self.object), name)
    }
}

impl Scope for Fields<'_> {
    fn name(&self, name: &str) -> Value {
        // Enumerators and macros are written in capitals.
        if name.chars().any(|c| c.is_ascii_lowercase()) { self.of(name) } else { word(name) }
    }

    fn pointer(&self, name: &str) -> Value {
        self.name(name)
    }

    fn deref(&self, name: &str) -> Value {
        at(self.of(name))
    }

    fn field(&self, name: &str, field: &str) -> Value {
        field_at(self.of(name), field)
    }

    fn handle(&self, name: &str) -> Value {
        cast("uint64_t", cast("uintptr_t", self.of(name)))
    }

    fn plan(&self) -> &Plan {
        self.plan
    }
}

/// Where the numbers of a structure lie, how many bytes there are of them, and how long each is: what is changed as a whole.
pub fn numbers_in(record: &RecordPlan) -> Value {
    let all = record.numbers.iter().chain(&[[0; 3]]);
    Value::List(all.map(|one| Value::List(one.map(number).to_vec())).collect())
}

/// What a stub does with structures of one type.
pub struct Parts<'a> {
    /// Buffers in it, which are copied on their own.
    pub buffers: Vec<&'a str>,
    /// Strings in it, which go in.
    pub strings: Vec<&'a str>,
    /// Everything in: `from` the program, `to` the library; of numbers those that are not as in `known`, if there is that.
    pub into: Vec<Step>,
    /// Numbers in, so that those which the library leaves stay as they were, but nothing that is followed.
    pub numbers: Vec<Step>,
    /// A mark in the place of each buffer's address: whose it is.
    pub whose: Vec<Step>,
    /// The address again, `from` what the library's copy had, where the mark is.
    pub unmarked: Vec<Step>,
    /// A condition: all of these marks are `other`'s. Nothing where there is none.
    pub copied: Option<Value>,
    /// What a callback finds in one that it fills: the library's numbers.
    pub first: Vec<Step>,
    /// `now`, which was fetched, judged, beside `host`, the program's.
    pub check: Vec<Step>,
    /// What the library has written behind its pointers, back.
    pub back: Vec<Step>,
}

/// The steps of one type.
pub fn parts<'a>(record: &'a RecordPlan, plan: &Plan) -> Parts<'a> {
    let RecordPlan { spelling, word: own, fields, .. } = record;
    let mut parts = Parts {
        buffers: vec![],
        strings: vec![],
        into: vec![],
        numbers: vec![],
        whose: vec![],
        unmarked: vec![],
        copied: None,
        first: vec![],
        check: vec![],
        back: vec![],
    };
    if record.is_plain() {
        let whole = (number(0), size_of_variable(behind(word("from"))));
        let each = fields.iter().map(|field| extent(spelling, &field.name));
        let all = if fields.is_empty() { vec![whole] } else { each.collect() };
        parts.into.extend(all.into_iter().map(put_new));
        parts.numbers.clone_from(&parts.into);
        return parts;
    }
    let pairs = plan.pairs(fields.iter().map(|field| &field.passing)).unwrap_or_default();
    for (place, field) in fields.iter().enumerate() {
        let of = pairs.iter().find(|(data, _)| *data == place).map_or(&[][..], |(_, of)| of);
        let of: Vec<Value> = of.iter().map(|place| through(word("from"), &fields[*place].name)).collect();
        let bound = pairs.iter().any(|(_, of)| of.contains(&place));
        into(&mut parts.into, field, &of, bound, spelling, plan);
        if matches!(field.passing, Passing::String { .. }) {
            parts.strings.push(&field.name);
        }
        if let Passing::Buffer(buffer) = &field.passing {
            parts.buffers.push(&field.name);
            if buffer.writes {
                let written = with(&format!("written_{}", field.name));
                let before = with(&format!("before_{}", field.name));
                let block = address(with(&field.name));
                let back = call("lgs_back_changed", [address(before), block, written.clone()]);
                parts.back.push(Step::Do(back));
                if let Some(normal) = &buffer.bools {
                    let host = member(with(&field.name), "host");
                    let elements = infix(written, "/", number(buffer.element));
                    parts.back.push(Step::Do(cast("void", call(normal, [host, elements]))));
                }
            }
        }
        numbers(&mut parts, field, spelling);
    }
    for name in &parts.buffers {
        let put = call("lgs_put", [far(spelling, name), address(word("whose")), number(8)]);
        parts.whose.push(Step::Do(put));
        let own = address(through(word("from"), name));
        let unmark = call("lgs_put_back", [far(spelling, name), word("whose"), own]);
        parts.unmarked.push(Step::Do(unmark));
        let marked = equal(cast("uint64_t", cast("uintptr_t", through(word("now"), name))), word("whose"));
        parts.copied = Some(infix(parts.copied.unwrap_or_else(|| word("other")), "&&", marked));
    }
    if !record.bools.is_empty() {
        parts.first.push(Step::Do(call(&format!("lgs_bools_{own}"), [word("own"), number(1)])));
    }
    for place in &record.order {
        check(&mut parts.check, &fields[*place], record, plan);
    }
    parts
}

fn with(name: &str) -> Value {
    through(word("with"), name)
}

/// A pointer that only the library sets.
fn is_set(field: &FieldPlan) -> bool {
    field.passing == Passing::Ignore
        && matches!(
            field.outcome,
            Outcome::String { .. }
                | Outcome::Strings { .. }
                | Outcome::Memory { .. }
                | Outcome::Record { .. }
                | Outcome::Handle { .. }
                | Outcome::Handles { .. }
        )
}

/// A pointer that the program has, and the library may set.
fn may_be_set(field: &FieldPlan) -> bool {
    matches!(
        field.outcome,
        Outcome::String { .. } | Outcome::Handle { .. } | Outcome::Data { .. } | Outcome::Callback { .. }
    )
}

/// Where a field lies in the library's copy.
fn far(spelling: &str, name: &str) -> Value {
    call("lgs_far", [word("to"), call("offsetof", [word(spelling), word(name)])])
}

/// Where a field lies, and how many bytes it has.
fn extent(spelling: &str, name: &str) -> (Value, Value) {
    let offset = call("offsetof", [word(spelling), word(name)]);
    (offset, size_of_variable(through(word("from"), name)))
}

/// A number in, if it is not the one that the library has had from the program, or the program from the library: with a structure that is remembered, it may
/// have changed in the library's copy meanwhile, if that is in the middle of another call.
fn put_new((offset, size): (Value, Value)) -> Step {
    Step::Do(call("lgs_put_new", [word("to"), word("from"), word("known"), offset, size]))
}

fn numbers(parts: &mut Parts<'_>, field: &FieldPlan, spelling: &str) {
    let name = &field.name;
    if field.passing == Passing::Value && !field.of_buffer {
        parts.numbers.push(put_new(extent(spelling, name)));
    } else if is_set(field) || may_be_set(field) {
        let unset = address(cast("uint64_t", Value::List(vec![word("LGS_UNSET")])));
        let put = call("lgs_put", [far(spelling, name), unset, number(8)]);
        parts.numbers.push(when(word("fresh"), [Step::Do(put)]));
    }
    if field.passing == Passing::Value {
        let inside = || member(word("inside"), name);
        let own = cast("void *", address(through(word("own"), name)));
        let copy = call("memcpy", [own, address(inside()), size_of_variable(inside())]);
        parts.first.push(Step::Do(copy));
    }
}

/// `of`: the callbacks that data in it is for; `bound`: if it is a callback, data comes with it.
fn into(steps: &mut Vec<Step>, field: &FieldPlan, of: &[Value], bound: bool, spelling: &str, plan: &Plan) {
    let name = &field.name;
    let from = || through(word("from"), name);
    let put =
        |value: Value| Step::Do(call("lgs_put", [far(spelling, name), value, size_of_variable(from())]));
    let raw = |value: Value| put(address(cast("uint64_t", Value::List(vec![value]))));
    match &field.passing {
        Passing::Value if field.of_buffer => steps.push(put(address(from()))),
        Passing::Value => steps.push(put_new(extent(spelling, name))),
        Passing::String { .. } => {
            steps.push(Step::Set(with(name), run("lgs_string_block", [from()])));
            steps.push(raw(member(with(name), "inside")));
        }
        Passing::Buffer(buffer) => {
            let scope = Fields { object: "from", plan };
            let bytes = bytes(buffer, name, &|e| size(e, &scope));
            // (In memory that the library shares a bool may be anything at any time.)
            let shareable = if buffer.bools.is_none() { " | LGS_SHAREABLE" } else { "" };
            let flags = flags(buffer.reads, buffer.writes) + shareable;
            steps.push(Step::Set(with(name), run("lgs_block", [from(), bytes, word(flags)])));
            steps.push(raw(member(with(name), "inside")));
        }
        Passing::Handle { number: of, .. } => {
            steps.push(raw(run("lgs_handle", [from(), number(of), text(name)])));
        }
        Passing::Inside { .. } => steps.push(raw(run("lgs_inside", [from(), text(name)]))),
        Passing::Data { kept, for_call, .. } => {
            let long = how_long(*kept, *for_call);
            let own = Some(format!("{spelling}.{name}"));
            let own = own.as_deref();
            for other in of.iter().skip(1) {
                let null = data(zero(), std::slice::from_ref(other), &long, own, name);
                steps.push(when(not(from()), [Step::Do(null)]));
            }
            steps.push(raw(data(from(), of, &long, own, name)));
        }
        Passing::Callback { name: kind } => {
            let code = cast("lg_code", from());
            let of = number(plan.callback_number(kind));
            steps.push(raw(run("lgs_callback", [code, of, number(bound), text(name)])));
        }
        Passing::Null => steps.push(when(from(), [fail("LG_STUB_NULL", name, "it must be null")])),
        // (They stay zero in the library's copy.)
        Passing::Ignore
        | Passing::Scalar(_)
        | Passing::Record { .. }
        | Passing::Rows { .. }
        | Passing::Cursor(_)
        | Passing::Stream { .. }
        | Passing::Pointer { .. }
        | Passing::Dispose { .. } => {}
    }
}

fn mode(name: &str) -> Value {
    equal(word("mode"), word(name))
}

fn check(steps: &mut Vec<Step>, field: &FieldPlan, record: &RecordPlan, plan: &Plan) {
    let FieldPlan { name, kind, .. } = field;
    let now = || through(word("now"), name);
    let host = || through(word("host"), name);
    let scope = Fields { object: "now", plan };
    let over = |e: &Expression| size(e, &scope);
    let follows = record.followed.contains(name);
    let shown = |spelling: &str, out: &Outcome, followed: &Outcome| {
        let raw = Raw::field(name);
        let out_of = CopyOut { raw, kind: spelling, what: name, plan, size: &over, made: None };
        let value = match out {
            Outcome::Data { by } => out_of.data_of(by),
            _ => out_of.value(out),
        };
        if follows { out_of.steady(value, followed, true) } else { value }
    };
    if let Passing::Buffer(buffer) = &field.passing {
        let memory =
            |reads, nullable| Outcome::Memory { buffer: Buffer { reads, nullable, ..buffer.clone() } };
        let value = shown(&kind.spelling, &memory(true, true), &memory(buffer.reads, buffer.nullable));
        let set = |value: Value| Step::Set(now(), value);
        let own = Fields { object: "host", plan };
        let passed = moved(field, buffer, &over, &|e| size(e, &own));
        let mut given = vec![set(value)];
        // (What the program goes by is a number that the annotation speaks of, whichever side has the buffer.)
        if let Some(written) = buffer.written.as_ref().filter(|_| !field.cursor) {
            let room = bytes(buffer, name, &over);
            given.push(Step::Do(cast("void", length(over(written), buffer.element, room, name))));
        }
        let shown = when_else(mode("LGS_SHOWN"), given, [set(host())]);
        steps.push(when_else(mode("LGS_PASSED"), passed, [shown]));
        return;
    }
    let to = cast("void *", address(now()));
    let untouched = Step::Do(call("memcpy", [to, address(host()), size_of_variable(now())]));
    match &field.outcome {
        Outcome::Value if field.of_buffer => {
            let left = infix(mode("LGS_LEFT"), "||", mode("LGS_FAILED"));
            steps.push(when(left, [untouched]));
        }
        Outcome::Value => {}
        Outcome::Untouched => steps.push(untouched),
        other => {
            let raw = || Raw::field(name);
            let value = Step::Set(now(), shown(&declare(&kind.spelling, ""), other, other));
            // What the library has not set.
            let unset = || Step::Set(now(), zero());
            let failed = || when(mode("LGS_FAILED"), [untouched.clone()]);
            if is_set(field) {
                steps.push(when_else(raw().is_unset(), [unset(), failed()], [value]));
                return;
            }
            // (Null says nothing where the call says that it has failed.)
            let value = match other {
                Outcome::String { nullable: false } => {
                    when(not(group(infix(mode("LGS_FAILED"), "&&", raw().is_null()))), [value])
                }
                _ => value,
            };
            let value = when_else(
                infix(raw().is_unset(), "&&", mode("LGS_FAILED")),
                [untouched.clone()],
                [when(raw().is_unset(), [unset()]), value],
            );
            // What functions it has, and with which data, only the program decides.
            let own = matches!(other, Outcome::Callback { .. } | Outcome::Data { .. });
            let value = match &field.passing {
                _ if own => when_else(mode("LGS_PASSED"), [untouched], [value]),
                Passing::String { .. } => left(field, untouched, value),
                _ => value,
            };
            steps.push(value);
        }
    }
}

/// A string that the program has passed, and that the library has left, or moved on within: the program's own, and no copy of it.
fn left(field: &FieldPlan, untouched: Step, value: Step) -> Step {
    let name = &field.name;
    let raw = || Raw::field(name);
    let block = || with(name);
    let passed = |so: Value| infix(mode("LGS_PASSED"), "&&", so);
    let same = equal(raw().number(), member(block(), "inside"));
    let within = infix(infix(raw().number(), "-", member(block(), "inside")), "<", member(block(), "size"));
    let start = cast("char *", cast("uintptr_t", member(block(), "host")));
    let moved = group(infix(raw().number(), "-", member(block(), "inside")));
    let on = cast(&field.kind.spelling, group(infix(start, "+", moved)));
    let moved = Step::Set(through(word("now"), name), on);
    when_else(passed(same), [untouched], [when_else(passed(within), [moved], [value])])
}

/// A buffer of a structure that the program has passed: how much of it is done. `own`: sizes over the program's structure as it is now.
///
/// A callback of the program's may have put another buffer there meanwhile: what has been judged is the one that was passed, and the library has not got the
/// other.
fn moved(
    field: &FieldPlan,
    buffer: &Buffer,
    over: &dyn Fn(&Expression) -> Value,
    own: &dyn Fn(&Expression) -> Value,
) -> Vec<Step> {
    let name = &field.name;
    let room = || member(with(name), "size");
    let host = member(with(name), "host");
    let left = || infix(room(), "-", word("moved"));
    let count = buffer.size.as_ref().map_or(number(1), over);
    let moved = match field.cursor {
        true => Raw::field(name).judged_by("lgs_moved", [], [address(with(name)), text(name)]),
        false => zero(),
    };
    let now = through(word("host"), name);
    let another = infix(now.clone(), "!=", cast("void *", host.clone()));
    let resized = infix(group(bytes(buffer, name, own)), "!=", room());
    let changed = infix(another, "||", group(infix(host.clone(), "&&", resized)));
    // (Where the program has no buffer, what counts the rest of one that moves on stays as it is.)
    let room_left = || match field.cursor {
        true => group(choice(host.clone(), left(), bytes(buffer, name, own))),
        false => left(),
    };
    let rest = length(count, buffer.element, room_left(), name);
    let rest = if field.cursor { rest } else { choice(host.clone(), rest, zero()) };
    let why = "the program has put another buffer there, or said another size, before the call returned: the library has the first one";
    let mut steps = vec![
        when(changed, [fail("LG_STUB_POINTER", name, why)]),
        variable("size_t", "moved", moved),
        variable("size_t", "rest", rest),
        Step::Do(cast("void", word("rest"))),
    ];
    // The program goes on behind what it moved over, and takes it for done: two numbers, one truth.
    if field.cursor {
        let why = "the library moved the pointer on by more or less than it says is done";
        let differ = infix(word("rest"), "!=", room_left());
        steps.push(when(differ, [fail("LG_STUB_LENGTH", name, why)]));
    }
    let written = match buffer.written.as_ref().filter(|_| !field.cursor) {
        Some(written) => length(over(written), buffer.element, word("rest"), name),
        None if field.cursor => word("moved"),
        // (What went in comes back, whatever the library says of it.)
        None if buffer.reads && buffer.writes => choice(host.clone(), room(), zero()),
        None => word("rest"),
    };
    steps.push(Step::Set(with(&format!("written_{name}")), written));
    let start = cast("char *", cast("uintptr_t", host.clone()));
    let on = cast(&field.kind.spelling, group(infix(start, "+", word("moved"))));
    steps.push(Step::Set(through(word("now"), name), choice(host, on, zero())));
    steps
}

/// Every `bool` in `each` of these structures becomes 0 or 1, and text ends.
pub fn bools(record: &RecordPlan) -> Vec<Step> {
    let normal = |path: &String| {
        let text_of = path.strip_prefix(TEXT);
        let path = text_of.unwrap_or(path);
        let parts: Vec<&str> = path.split("[]").collect();
        let (last, arrays) = parts.split_last().expect("a path has a part");
        let mut reached = String::from("each->");
        let mut counts = Vec::new();
        for (depth, part) in arrays.iter().enumerate() {
            reached += part;
            let element = size_of_variable(word(format!("{reached}[0]")));
            counts.push(infix(size_of_variable(word(&reached)), "/", element));
            reached += &format!("[i{depth}]");
        }
        let place = word(reached + last);
        let step = match text_of {
            Some(_) => {
                let count =
                    infix(size_of_variable(place.clone()), "/", size_of_variable(behind(place.clone())));
                let end = infix(count, "-", number(1));
                Step::Set(Value::Element(Box::new(place), Box::new(end)), zero())
            }
            None => Step::Do(call("lgs_bools", [address(place.clone()), size_of_variable(place)])),
        };
        counts
            .into_iter()
            .enumerate()
            .rev()
            .fold(step, |step, (depth, count)| Step::Each(format!("i{depth}"), count, vec![step]))
    };
    record.bools.iter().map(normal).collect()
}
