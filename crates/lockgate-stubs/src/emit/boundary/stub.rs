//! One stub: everything in, the call, everything checked, then everything out.
use super::copy_out::{CopyOut, Raw};
use super::declare::{crossing, declare, failure, mutable, parameters};
use super::size::{Scope, at, field_at, size};
use super::steps::*;
use crate::expression::Expression;
use crate::header::model::{Parameter, Shape};
use crate::plan::{Buffer, Formatted, FunctionPlan, Outcome, Passing, Plan};

/// The phases of a stub, in their order.
#[derive(Debug, Default)]
pub(super) struct Phases {
    /// Variables that the end of the call needs, whatever happens before it.
    pub declare: Vec<Step>,
    /// Handles first, which other things are for; what must not be shared memory.
    pub enter: Vec<Step>,
    /// Everything in.
    pub copy_in: Vec<Step>,
    /// When all of that is in: the last questions before the call.
    pub ready: Vec<Step>,
    /// The call.
    pub call: Vec<Step>,
    /// Directly behind it, however it went.
    pub changed: Vec<Step>,
    /// Numbers that checks speak of, each fetched once, before all checks.
    pub fetch: Vec<Step>,
    /// Everything out: checked, into variables of the stub's own.
    pub copy_out: Vec<Step>,
    /// When all checks have passed: into the program's memory.
    pub give: Vec<Step>,
    /// However it went.
    pub release: Vec<Step>,
    /// What the caller gets.
    pub back: Vec<Step>,
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

/// A stub in the making.
pub(super) struct Stub<'p> {
    pub function: &'p FunctionPlan,
    pub plan: &'p Plan,
    pub phases: Phases,
    /// Arguments of the call.
    pub arguments: Vec<Value>,
    /// Handles that the call has made, as the program has them; and by what name they were claimed.
    pub made: Vec<(Value, Option<String>)>,
    /// Its place among all.
    place: usize,
}

/// The functions of one stub: the long way, and where there is one the short one before it.
pub fn stub(function: &FunctionPlan, place: usize, plan: &Plan) -> Vec<Function> {
    let mut stub = Stub { function, plan, phases: Phases::default(), arguments: vec![], made: vec![], place };
    stub.begin();
    for (number, (parameter, passing)) in
        function.prototype.parameters.iter().zip(&function.parameters).enumerate()
    {
        if function.formatted.as_ref().is_some_and(|f| f.list.as_ref() == Some(&parameter.name)) {
            stub.arguments.push(word("lgs_list_made"));
        } else if function.format == Some(number) {
            stub.arguments.push(run("lgs_string", [text("%s")]));
        } else {
            stub.parameter(parameter, passing);
        }
    }
    stub.variable_arguments();
    stub.jump();
    stub.tell();
    stub.whose_call();
    stub.ready();
    stub.changes();
    stub.call();
    stub.result();
    stub.end();
    let quick = stub.is_plain().then(|| stub.quick());
    let (name, long) = (&function.name, format!("lgs_long_{}", function.name));
    // (A frame of its own, whatever a linker would make of it: calls are told apart by theirs.)
    let head = match &quick {
        None => format!("__attribute__((noinline)) {}", stub.declared(name)),
        Some(_) => format!("static __attribute__((noinline)) {}", stub.declared(&long)),
    };
    [Function { head, steps: stub.phases.steps() }].into_iter().chain(quick).collect()
}

/// The number that an expression comes to after the call, where a negative result of the function's says that it has failed.
pub(super) fn resulting(count: &Expression, number: Value) -> Value {
    match count.names().contains(&"lg_result") {
        true => call("lgs_resulting", [number]),
        false => number,
    }
}

/// The parameters of a stub, before or after the call.
struct Parameters<'a> {
    stub: &'a Stub<'a>,
    after: bool,
}

impl Scope for Parameters<'_> {
    fn name(&self, name: &str) -> Value {
        word(name)
    }

    fn pointer(&self, name: &str) -> Value {
        word(name)
    }

    fn deref(&self, name: &str) -> Value {
        let written = self.after && self.stub.is_written(name);
        if written { local("s", name) } else { at(word(name)) }
    }

    fn field(&self, name: &str, field: &str) -> Value {
        match self.after && self.stub.is_written(name) {
            true => choice(member(local("b", name), "here"), member(local("r", name), field), zero()),
            false => field_at(word(name), field),
        }
    }

    fn handle(&self, name: &str) -> Value {
        local("v", name)
    }

    fn plan(&self) -> &Plan {
        self.stub.plan
    }
}

impl<'p> Stub<'p> {
    /// An expression before the call: over what the program gave.
    pub fn before(&self, expression: &Expression) -> Value {
        size(expression, &Parameters { stub: self, after: false })
    }

    /// An expression after the call: over what the library gave, where it did.
    pub fn after(&self, expression: &Expression) -> Value {
        size(expression, &Parameters { stub: self, after: true })
    }

    fn passed(&self) -> impl Iterator<Item = (&'p Parameter, &'p Passing)> + use<'p> {
        let function: &'p FunctionPlan = self.function;
        function.prototype.parameters.iter().zip(&function.parameters)
    }

    fn is_void(&self) -> bool {
        self.function.result == Outcome::Void
    }

    /// Variables that are there from the beginning to the end.
    fn begin(&mut self) {
        if let Some(failure) = self.failure() {
            self.phases.declare.push(variable(&self.result_type(), "lgs_result", failure));
        }
        self.phases.declare.extend([
            Step::Declare("struct lgs_call".to_owned(), "lgs_c".to_owned(), None),
            variable("const struct lgs_callback *const", "lgs_here", zero()),
            Step::Do(cast("void", word("lgs_here"))),
            Step::Do(run("lgs_begin", [number(self.place)])),
        ]);
        for name in self.function.freed.iter().chain(self.function.owned.keys()) {
            self.phases.declare.push(variable("struct lgs_heap", local_name("h", name), zeroed()));
        }
        let claimed: Vec<String> = self.claimed().into_iter().map(str::to_owned).collect();
        for name in claimed {
            self.phases.declare.push(variable("struct lgs_made", local_name("m", &name), zeroed()));
        }
    }

    /// What stands for `...`: the text that it prints, or copies of what its format speaks of.
    fn variable_arguments(&mut self) {
        let list = || word("lgs_list");
        let start = |last: &str| {
            let declared = Step::Declare("va_list".to_owned(), "lgs_list".to_owned(), None);
            [declared, Step::Do(call("va_start", [list(), word(last)]))]
        };
        let end = || Step::Do(call("va_end", [list()]));
        let steps = &mut self.phases.copy_in;
        if let Some(format) = self.function.format {
            let last = &self.function.prototype.parameters[format].name;
            steps.extend(start(last));
            steps.push(variable("uint64_t", "lgs_text_made", run("lgs_print", [word(last), list()])));
            steps.push(end());
            self.arguments.push(word("lgs_text_made"));
        }
        if let Some(Formatted { format, list: own, by }) = &self.function.formatted {
            let copied = |given| {
                let letters = [word(format), given, text(&by.strings), text(&by.given)];
                variable("uint64_t", "lgs_list_made", run("lgs_arguments", letters))
            };
            match own {
                Some(own) => steps.push(copied(word(own))),
                None => {
                    steps.extend(start(format));
                    steps.extend([copied(list()), end()]);
                    self.arguments.push(word("lgs_list_made"));
                }
            }
        }
    }

    /// Where errors of the library's jump to.
    fn jump(&mut self) {
        if let Some(handle) = &self.function.jumps {
            let mut led_to = self.passed().filter(|(_, passing)| matches!(passing, Passing::Pointer { .. }));
            let handle = match led_to.any(|(parameter, _)| parameter.name == *handle) {
                true => at(word(handle)),
                false => word(handle),
            };
            let place = call("lgs_scope_place", [handle]);
            self.phases.enter.push(Step::Set(word("lgs_c.jumps"), place));
        }
        if let Outcome::JumpBuffer { handle } = &self.function.result {
            let of = match self.passed().find(|(own, _)| own.name == *handle) {
                Some((_, Passing::Handle { number, .. })) => *number,
                _ => 0,
            };
            let given = self.jump_function().unwrap_or("longjmp");
            let jumper = cast("lgs_jumper", cast("lg_code", word(given)));
            let own = call("lgs_jump_own", [word(handle), number(of), jumper]);
            // (However the call ends, the program calls setjmp with what it gets.)
            let buffer = cast(&self.function.prototype.result.spelling, own);
            self.phases.declare.push(Step::Set(word("lgs_result"), buffer));
        }
    }

    /// Remembers what expressions of other functions ask for: what the program hears of this call, and nothing of earlier ones if it fails.
    fn tell(&mut self) {
        let FunctionPlan { name: own, .. } = self.function;
        let handle = self.passed().find(|(_, passing)| matches!(passing, Passing::Handle { .. }));
        let Some((Parameter { name: handle, .. }, _)) = handle else { return };
        let handle = handle.clone();
        let steady =
            self.plan.is_steady(self.function) && self.plan.told.iter().any(|(teller, _)| teller == own);
        if steady {
            self.ask();
        }
        for (place, (_, what)) in self.plan.told.iter().enumerate().filter(|(_, (teller, _))| teller == own) {
            let parameter = self.passed().find(|(parameter, _)| parameter.name == *what);
            let (condition, value) = match (what.as_str(), parameter) {
                ("lg_called", _) => (None, number(1)),
                ("lg_result", _) => (None, word("lgs_value")),
                (name, Some((_, Passing::Scalar(buffer)))) if buffer.writes => {
                    (Some(word(name)), local("s", name))
                }
                (name, Some((parameter, _))) if parameter.kind.pointee().is_some() => {
                    (Some(word(name)), behind(word(name)))
                }
                (name, _) => (None, word(name)),
            };
            // (Where it asks for nothing, what it has heard is still what it knows.)
            let unheard = Step::Do(run("lgs_unheard", [word(&handle), number(place), text(what)]));
            self.phases.enter.push(perhaps(condition.clone(), unheard.clone()));
            let given = matches!(parameter, Some((_, passing)) if !matches!(passing, Passing::Scalar(buffer) if buffer.writes));
            let question = match (steady && !given && what != "lg_called", self.refuses()) {
                (false, _) => zero(),
                (true, None) => word("lgs_question"),
                (true, Some(refused)) => choice(group(refused), zero(), word("lgs_question")),
            };
            if question != zero() {
                let answer = if what == "lg_result" { Raw::result().number() } else { value.clone() };
                let answer = cast("lgs_wide", answer);
                let same = [local("v", &handle), number(place), question.clone(), answer, text(what)];
                self.phases.copy_out.push(perhaps(condition.clone(), Step::Do(run("lgs_same", same))));
            }
            let told = [local("v", &handle), number(place), cast("lgs_wide", value), question];
            let tells = Step::Do(call("lgs_tell", told));
            // What is set by a call that says itself that it has failed, the program does not go by.
            let refused = self.refuses().filter(|_| what != "lg_result");
            let also = |first: Value| match &condition {
                Some(condition) => infix(first, "&&", condition.clone()),
                None => first,
            };
            self.phases.give.push(match refused {
                None => perhaps(condition.clone(), tells),
                Some(refused) => Step::Block(vec![
                    variable("bool", "lgs_refused", refused),
                    when(also(not(word("lgs_refused"))), [tells]),
                ]),
            });
            // (A callback may have made the same call meanwhile.)
            self.phases.release.push(when(also(failed()), [unheard]));
        }
    }

    /// What a function that only looks is asked.
    fn ask(&mut self) {
        let asks = |name: &str, value: Value| {
            Step::Set(word("lgs_question"), call(name, [word("lgs_question"), value]))
        };
        let mut steps = vec![variable("uint64_t", "lgs_question", number(1))];
        steps.extend(self.passed().filter_map(|(parameter, passing)| {
            let name = &parameter.name;
            match passing {
                Passing::Handle { .. } => Some(asks("lgs_asks_of", local("v", name))),
                Passing::Value => Some(asks("lgs_asks_with", cast("uint64_t", word(name)))),
                Passing::Scalar(buffer) if buffer.reads => {
                    let behind = choice(word(name), cast("uint64_t", group(behind(word(name)))), zero());
                    Some(asks("lgs_asks_with", behind))
                }
                _ => None,
            }
        }));
        self.phases.enter.extend(steps);
    }

    /// Handles that the call may change, of which others are asked: before it, and after it, whatever becomes of it.
    fn changes(&mut self) {
        let all = self.changed();
        let step = |what: &str, name: &String| Step::Do(call(what, [local("v", name)]));
        self.phases.ready.extend(all.iter().map(|name| step("lgs_changes", name)));
        self.phases.changed.extend(all.iter().map(|name| step("lgs_changed", name)));
    }

    /// The names of those.
    fn changed(&self) -> Vec<String> {
        let may = |(parameter, passing): &(&Parameter, &Passing)| match passing {
            Passing::Handle { .. } => !parameter.kind.pointee().is_some_and(|to| to.constant),
            Passing::Pointer { before: Some(before), .. } => matches!(**before, Passing::Handle { .. }),
            _ => false,
        };
        match self.plan.has_steady() {
            true => self.passed().filter(may).map(|(parameter, _)| parameter.name.clone()).collect(),
            false => Vec::new(),
        }
    }

    /// For which handle it is.
    fn whose_call(&mut self) {
        if self.plan.follows_handles() {
            let handles = self.handles();
            let last = handles.last().map(|name| local("v", name));
            let first =
                handles.iter().rev().skip(1).fold(last, |rest, name| {
                    rest.map(|rest| choice(local("v", name), local("v", name), rest))
                });
            self.phases.enter.extend(first.map(|first| Step::Set(word("lgs_c.handle"), first)));
            if self.function.makes(None) {
                self.phases.enter.push(Step::Set(word("lgs_c.makes"), word("true")));
            }
        }
        if self.plan.lends() {
            let back = Step::Do(run("lgs_give_back", []));
            self.phases.enter.push(when(call("lgs_has_lent", []), [back]));
        }
        let stuck = self.plan.keeps_streams() && !self.function.keeps_stream() && !self.handles().is_empty();
        if stuck && !self.releases() {
            let not_stuck = Step::Do(run("lgs_not_stuck", []));
            self.phases.copy_in.push(when(call("lgs_has_stuck", []), [not_stuck]));
        }
    }

    fn ready(&mut self) {
        if self.is_silent() {
            self.phases.ready.push(Step::Set(word("lgs_c.silent"), word("true")));
        }
        if self.function.errno {
            let none = not(run("lgs_no_errno", []));
            self.phases.ready.push(when(none, [Step::End]));
        }
        self.apart();
        if self.plan.follows_calls() {
            self.phases.ready.push(Step::Do(run("lgs_calls_in", [])));
        }
    }

    /// The library has a copy of each argument: what is one object for the program, and changed by way of one of two, must be one for the library,
    /// too.
    fn apart(&mut self) {
        struct Block<'a> {
            name: &'a str,
            reads: bool,
            writes: bool,
            many: bool,
            plain: bool,
        }
        let blocks: Vec<Block<'_>> = self
            .passed()
            .enumerate()
            // (A format of printf's stays here.)
            .filter(|(place, _)| self.function.format != Some(*place))
            .filter_map(|(_, (parameter, passing))| {
                let name = parameter.name.as_str();
                let (buffer, plain) = match passing {
                    Passing::Buffer(buffer) => (buffer, !parameter.notes.string),
                    Passing::Scalar(buffer) | Passing::Cursor(buffer) => (buffer, true),
                    Passing::Record { key, buffer, kept, .. } => {
                        (buffer, !kept && self.plan.records[key].is_plain())
                    }
                    Passing::String { .. } => {
                        return Some(Block { name, reads: true, writes: false, many: true, plain: false });
                    }
                    _ => return None,
                };
                let (reads, writes) = (buffer.reads, buffer.writes);
                Some(Block { name, reads, writes, many: buffer.size.is_some(), plain })
            })
            .collect();
        let mut any = Vec::new();
        for (place, one) in blocks.iter().enumerate() {
            for other in &blocks[place + 1..] {
                // (What it does not read of one it does not miss: numbers that nothing uses go where they like.)
                let changed = one.reads && one.writes || other.reads && other.writes;
                let both = one.writes && other.writes && one.many && other.many;
                if changed || both {
                    // What is read is the one that stays.
                    let (first, second) = if one.reads { (one, other) } else { (other, one) };
                    let block = |name: &str| address(local("b", name));
                    let alike = number(one.plain && other.plain);
                    let blocks = [block(first.name), block(second.name), alike, text(other.name)];
                    any.push(Step::Do(run("lgs_one_object", blocks)));
                }
            }
        }
        // (Pointers that move on are variables of the program's, too: one cannot stand at two places.)
        let is_cursor = |(_, passing): &(&Parameter, &Passing)| matches!(passing, Passing::Cursor(_));
        let cursors: Vec<&str> =
            self.passed().filter(is_cursor).map(|(parameter, _)| parameter.name.as_str()).collect();
        for (place, one) in cursors.iter().enumerate() {
            for other in &cursors[place + 1..] {
                let cell = |name: &str| address(local("c", name));
                let cells = [cell(one), cell(other), number(false), text(other)];
                any.push(Step::Do(run("lgs_one_object", cells)));
            }
        }
        if !any.is_empty() {
            self.phases.ready.extend(any);
            self.phases.ready.push(when(failed(), [Step::End]));
        }
    }

    /// The library's function, as it is called: its type is what crosses.
    fn target(&self) -> Value {
        let FunctionPlan { prototype, formatted, .. } = self.function;
        let mut types: Vec<String> = prototype.parameters.iter().map(|p| crossing(&p.kind)).collect();
        match formatted {
            Some(formatted) if formatted.list.is_none() => types.push("uint64_t".to_owned()),
            _ if prototype.variadic => types.push("...".to_owned()),
            _ => {}
        }
        let types = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
        let kind = format!("{} (*)({types})", crossing(&prototype.result));
        group(cast(&kind, word(format!("lgs.targets[{}]", self.place))))
    }

    fn call(&mut self) {
        let called = Value::Call(Box::new(self.target()), std::mem::take(&mut self.arguments));
        self.phases.call.push(match self.is_void() {
            true => Step::Do(called),
            false => Raw::returned(&crossing(&self.function.prototype.result), called),
        });
    }

    /// What the library returned: judged, then given.
    fn result(&mut self) {
        let FunctionPlan { name, prototype, result, .. } = self.function;
        let raw = Raw::result();
        let wide = || cast("lgs_wide", raw.number());
        let below = || infix(wide(), "<", zero());
        if let Some(most) = &self.function.at_most {
            let most = self.after(most);
            let beyond = match prototype.result.shape {
                // (Not a number is not at most anything.)
                Shape::Float => {
                    let positive = infix(raw.number(), ">=", zero());
                    let most = cast("double", group(most));
                    not(group(infix(positive, "&&", infix(raw.number(), "<=", most))))
                }
                Shape::Integer { signed: false, .. } => infix(wide(), ">", most),
                _ => infix(below(), "||", infix(wide(), ">", most)),
            };
            // What the function returns when it fails is no number of anything.
            let failure = self.failure().unwrap_or_else(zero);
            let wrong = infix(infix(raw.number(), "!=", failure), "&&", group(beyond));
            let why = "the library returned more than there can be, or less than nothing";
            self.phases.copy_out.push(when(wrong, [fail("LG_STUB_LENGTH", "result", why)]));
        }
        if let Some(element) = self.plan.asked(self.function) {
            let window = group(infix(word("LGS_WINDOW"), "/", number(element)));
            let wrong = infix(wide(), ">", cast("lgs_wide", window));
            let why = "nothing that the library has is as large";
            self.phases.copy_out.push(when(wrong, [fail("LG_STUB_LENGTH", "result", why)]));
        }
        let mut inside = self.passed().filter(|(_, passing)| matches!(passing, Passing::Inside { .. }));
        let own = inside.next().map(|(own, _)| own.name.clone());
        if let Some(own) = own.filter(|_| self.plan.asked_of_own(name))
            && matches!(prototype.result.shape, Shape::Integer { .. })
        {
            let there = || call("lgs_behind", [word(&own)]);
            let more = infix(word(&own), "&&", infix(wide(), ">", cast("lgs_wide", there())));
            let most = cast(&crossing(&prototype.result), there());
            self.phases.copy_out.push(when(more, [Step::Set(raw.number(), most)]));
        }
        if let Shape::Record(key) = &prototype.result.shape
            && let Some(record) = self.plan.records.get(key).filter(|record| !record.bools.is_empty())
        {
            let normal = call(&format!("lgs_bools_{}", record.word), [address(raw.number()), number(1)]);
            self.phases.copy_out.push(Step::Do(normal));
        }
        let is_made = matches!(result, Outcome::Handle { .. }) && !self.function.borrowed;
        let carries = matches!(result, Outcome::Handle { number, .. } if self.plan.carries(*number));
        let claims = self.plan.follows_handles() && carries;
        let out = CopyOut {
            raw,
            kind: &prototype.result.spelling,
            what: "result",
            plan: self.plan,
            size: &|e| self.after(e),
            made: is_made.then_some(claims),
        };
        let value = out.value(result);
        let heap = self.function.is_to_end("result").then(|| out.to_heap(word("lgs_value"), result));
        let is_heap = heap.is_some();
        if !self.is_void() {
            self.phases.copy_out.push(variable(&self.result_type(), "lgs_value", value));
        }
        self.phases.copy_out.extend(heap);
        let heap = |name: &str| address(local("h", name));
        for name in &self.function.freed {
            self.phases.copy_out.push(Step::Do(run("lgs_free_inside", [heap(name)])));
        }
        for name in self.function.owned.keys() {
            self.phases.copy_out.push(Step::Do(run("lgs_own_piece", [heap(name), text(name)])));
        }
        for name in self.function.freed.iter().chain(self.function.owned.keys()) {
            self.phases.release.push(Step::Do(call("lgs_heap_end", [heap(name)])));
        }
        if is_made && self.plan.follows_handles() {
            self.made.push((word("lgs_value"), claims.then(|| "result".to_owned())));
        }
        for (place, (made, claimed)) in self.made.iter().enumerate() {
            let claimed = claimed.as_ref().map_or(zero(), |name| address(local("m", name)));
            let born = run("lgs_born", [made.clone(), number(place == 0), claimed]);
            self.phases.give.push(Step::Do(born));
        }
        if is_heap {
            let taken = call("lgs_take", [heap("result")]);
            self.phases.give.push(Step::Set(word("lgs_result"), taken));
        } else if !self.is_void() {
            self.phases.give.push(Step::Set(word("lgs_result"), word("lgs_value")));
        }
        if let Some(handle) = &self.function.shown {
            let shown = |object: &str| behind(cast("void **", word(object)));
            let both = infix(word("lgs_result"), "&&", word(handle));
            self.phases.give.push(when(both, [Step::Set(shown("lgs_result"), shown(handle))]));
        }
        if self.function.errno {
            self.phases.give.push(Step::Do(run("lgs_errno", [self.is_failure()])));
        }
    }

    /// However it went.
    fn end(&mut self) {
        if self.function.has_streams() {
            self.phases.fetch.insert(0, Step::Do(run("lgs_streams_out", [])));
        }
        let mut first = Vec::new();
        for name in self.made.iter().filter_map(|(_, claimed)| claimed.as_ref()) {
            let unclaim = Step::Do(call("lgs_unclaim", [address(local("m", name))]));
            first.push(when(failed(), [unclaim]));
        }
        if self.function.jumps.is_some() && self.releases() {
            first.push(Step::Do(run("lgs_jump_at_end", [])));
        }
        let Phases { release, back, .. } = &mut self.phases;
        release.splice(0..0, first);
        if self.function.makes(None) {
            release.push(Step::Do(run("lgs_no_handle", [])));
        }
        release.push(Step::Do(run("lgs_finish", [])));
        if self.function.jumps.is_some() {
            back.push(when(failed(), [Step::Do(run("lgs_jump", []))]));
        }
        if self.function.prototype.noreturn {
            back.push(Step::Do(run("lgs_stuck", [])));
        } else if self.function.result != Outcome::Void {
            back.push(Step::Return(Some(word("lgs_result"))));
        }
    }

    /// True if nothing but numbers and handles crosses, and nothing is to be done before or after the call.
    fn is_plain(&self) -> bool {
        let FunctionPlan { name, prototype, parameters, result, .. } = self.function;
        let plain = |passing: &Passing| {
            matches!(
                passing,
                Passing::Value
                    | Passing::Ignore
                    | Passing::Handle { release: false, reset: false, data: false, .. }
            )
        };
        let FunctionPlan { errno, at_most, format, formatted, shown, jumps, .. } = self.function;
        let more = *errno || at_most.is_some() || format.is_some() || formatted.is_some() || shown.is_some();
        let told = self.plan.told.iter().any(|(teller, _)| teller == name)
            || self.plan.asked(self.function).is_some();
        let bools = match &prototype.result.shape {
            Shape::Record(key) => self.plan.records.get(key).is_some_and(|record| !record.bools.is_empty()),
            _ => false,
        };
        matches!(result, Outcome::Void | Outcome::Value)
            && !bools
            && parameters.iter().all(plain)
            && !(more
                || told
                || !self.changed().is_empty()
                || jumps.is_some()
                || prototype.noreturn
                || prototype.variadic
                || self.is_silent())
    }

    /// A plain function, as most calls of it go: with handles that are good, into a domain that is there. All others go the long way.
    fn quick(&self) -> Function {
        let mut ready = call("lgs_is_ready", []);
        let (mut steps, mut arguments) = (Vec::new(), Vec::new());
        for (parameter, passing) in self.passed() {
            let name = &parameter.name;
            arguments.push(match passing {
                Passing::Handle { number: of, .. } => {
                    steps.push(Step::Declare("uint64_t".to_owned(), local_name("v", name), None));
                    let known = [address(local("v", name)), word(name), number(of)];
                    ready = infix(ready, "&&", call("lgs_known", known));
                    local("v", name)
                }
                Passing::Ignore => zero(),
                _ => word(name),
            });
        }
        let unlikely = |condition| call("__builtin_expect", [condition, zero()]);
        let all: Vec<Value> = self.passed().map(|(parameter, _)| word(&parameter.name)).collect();
        let long = call(&format!("lgs_long_{}", self.function.name), all);
        let instead = match self.is_void() {
            true => vec![Step::Do(long), Step::Return(None)],
            false => vec![Step::Return(Some(long))],
        };
        steps.push(when(unlikely(not(group(ready))), instead));
        if self.plan.follows_calls() {
            let handle = self.handles().first().map_or(zero(), |handle| local("v", handle));
            let whose = Value::List(vec![infix(word(".handle"), "=", handle)]);
            steps.push(Step::Do(call("lgs_calls_in", [address(cast("struct lgs_call", whose))])));
        }
        let called = Value::Call(Box::new(self.target()), arguments);
        steps.push(match self.is_void() {
            true => Step::Do(called),
            false => variable(&self.result_type(), "lgs_result", called),
        });
        let lost = call("lgs_lost", [number(self.place)]);
        let failure = self.failure().map(|failure| Step::Set(word("lgs_result"), failure));
        let lost = infix(unlikely(call("lg_failed", [])), "&&", lost);
        steps.push(when(lost, failure.into_iter().collect::<Vec<Step>>()));
        if !self.is_void() {
            steps.push(Step::Return(Some(word("lgs_result"))));
        }
        Function { head: self.declared(&self.function.name), steps }
    }

    /// What the library calls while it runs is refused.
    fn is_silent(&self) -> bool {
        self.function.prototype.silent && self.plan.has_silent()
    }

    /// It ends the life of a handle.
    fn releases(&self) -> bool {
        self.function.parameters.iter().any(|passing| match passing {
            Passing::Handle { release, .. } => *release,
            Passing::Pointer { before: Some(before), .. } => {
                matches!(**before, Passing::Handle { release: true, .. })
            }
            _ => false,
        })
    }

    /// The function's head, under a name.
    fn declared(&self, name: &str) -> String {
        let prototype = &self.function.prototype;
        declare(&prototype.result.spelling, &format!("({name})({})", parameters(prototype)))
    }

    fn result_type(&self) -> String {
        mutable(&self.function.prototype.result.spelling)
    }

    /// The result of a call that fails; nothing if there is none.
    fn failure(&self) -> Option<Value> {
        let FunctionPlan { prototype, error, .. } = self.function;
        error.as_ref().map(|error| failure(error, &prototype.result))
    }

    /// A condition: what the program gets is what says that the call has failed.
    fn is_failure(&self) -> Value {
        let result = || word("lgs_result");
        match (&self.function.prototype.result.shape, self.failure()) {
            (Shape::Void | Shape::Record(_), _) | (_, None) => number(false),
            (Shape::Float, Some(failure)) => call("lgs_is_failure", [result(), failure]),
            (_, Some(failure)) => equal(result(), failure),
        }
    }

    /// A condition: by its own word the call has failed. Nothing where no result says so. A function whose failure is negative says so
    /// by any such number, one whose failure is a code above 0 by all but 0.
    pub fn failed_itself(&self) -> Option<Value> {
        let FunctionPlan { prototype, result, .. } = self.function;
        match (&prototype.result.shape, result) {
            (Shape::Pointer(_) | Shape::Function(_), _) => Some(Raw::result().is_null()),
            (Shape::Integer { signed: true, .. }, Outcome::Value) => self.failure().map(|failure| {
                let failure = cast("long long", group(failure));
                let result = || cast("long long", Raw::result().number());
                let above = infix(failure.clone(), ">", zero());
                let other = choice(above, infix(result(), "!=", zero()), equal(result(), zero()));
                group(choice(infix(failure, "<", zero()), infix(result(), "<", zero()), other))
            }),
            _ => self.refuses(),
        }
    }

    /// A condition: by its own word the call has failed. Nothing where no result says so.
    fn refuses(&self) -> Option<Value> {
        let kind = &self.function.prototype.result;
        let error = self.function.error.as_deref()?;
        match (&self.function.result, &kind.shape) {
            (Outcome::Value, Shape::Integer { signed, .. }) => {
                let result = || Raw::result().number();
                let same = equal(result(), cast(&kind.spelling, group(word(error))));
                let negative = infix(result(), "<", zero());
                // What the value comes to is C's to say, where it is more than a sign and digits.
                let below = infix(cast("long long", group(word(error))), "<", zero());
                Some(match signed {
                    true if error.starts_with('-') => infix(negative, "||", same),
                    true if error.parse::<u64>().is_err() => {
                        infix(group(infix(below, "&&", negative)), "||", same)
                    }
                    _ => same,
                })
            }
            _ => None,
        }
    }

    /// A condition: the call succeeded by its own word. Nothing where no result says so.
    pub fn success(&self) -> Option<Value> {
        let result = &self.function.prototype.result;
        let says = matches!(result.shape, Shape::Integer { .. });
        let succeeded = || if result.is_bool() { Raw::result().number() } else { Raw::result().is_null() };
        (self.function.result == Outcome::Value && says).then(succeeded)
    }

    /// Names of the callbacks that get the data of this parameter.
    pub fn callbacks_of(&self, name: &str) -> Vec<String> {
        let parameters = &self.function.prototype.parameters;
        let pairs = self.plan.pairs(self.function.parameters.iter()).unwrap_or_default();
        let pair = pairs.into_iter().find(|(place, _)| parameters[*place].name == *name);
        pair.map_or(Vec::new(), |(_, of)| of.iter().map(|place| parameters[*place].name.clone()).collect())
    }

    /// The parameter with the function by which the library jumps.
    fn jump_function(&self) -> Option<&str> {
        let jumps = |passing: &Passing| match passing {
            Passing::Callback { name } => self.plan.callbacks[name].parameters.contains(&Outcome::Jump),
            _ => false,
        };
        self.passed().find(|(_, passing)| jumps(passing)).map(|(parameter, _)| parameter.name.as_str())
    }

    /// What `parameter` is set to is a handle that may be given to no other owner.
    pub fn claims(&self, parameter: &Parameter, before: Option<&Passing>, after: &Outcome) -> bool {
        let carries = |number: usize| self.plan.follows_handles() && self.plan.carries(number);
        // (What goes in and stays may come back, and any other of the program's. What ends does not.)
        let ends = matches!(before, Some(Passing::Handle { release: true, .. }));
        let made = !self.function.is_borrowed(&parameter.name) && (before.is_none() || ends);
        matches!(after, Outcome::Handle { number, .. } if made && carries(*number))
    }

    /// Parameters, and `result`, of which that is true.
    fn claimed(&self) -> Vec<&str> {
        let set = self.passed().filter(|(parameter, passing)| match passing {
            Passing::Pointer { before, after } => self.claims(parameter, before.as_deref(), after),
            _ => false,
        });
        let mut names: Vec<&str> = set.map(|(parameter, _)| parameter.name.as_str()).collect();
        if let Outcome::Handle { number, .. } = &self.function.result
            && !self.function.borrowed
            && self.plan.follows_handles()
            && self.plan.carries(*number)
        {
            names.push("result");
        }
        names
    }

    /// Names of the parameters that are handles, or lead to one that goes in.
    fn handles(&self) -> Vec<&str> {
        let handles = self.passed().filter(|(_, passing)| passing.is_handle());
        handles.map(|(parameter, _)| parameter.name.as_str()).collect()
    }

    /// How much of a buffer comes back is said by what this leads to.
    pub fn is_counted(&self, name: &str) -> bool {
        let all = self.function.prototype.parameters.iter().flat_map(|p| [&p.notes.size, &p.notes.written]);
        all.flatten().any(|size| size.names().contains(&name))
    }

    /// The library writes what this leads to, and the stub has what it wrote in a variable of its own before any check speaks of it.
    pub fn is_written(&self, name: &str) -> bool {
        self.passed().filter(|(parameter, _)| parameter.name == *name).any(|(parameter, passing)| {
            match passing {
                Passing::Scalar(buffer) => buffer.writes,
                Passing::Record { buffer, .. } => buffer.writes && buffer.size.is_none(),
                Passing::Buffer(buffer) => self.is_fetched(parameter, buffer),
                _ => false,
            }
        })
    }

    /// A structure without pointers in it, of whose fields checks speak: they, and then the program, go by one copy.
    pub fn is_fetched(&self, parameter: &Parameter, buffer: &Buffer) -> bool {
        let is_record = parameter.kind.pointee().is_some_and(|to| matches!(to.shape, Shape::Record(_)));
        is_record && buffer.writes && buffer.size.is_none() && self.function.counted.contains(&parameter.name)
    }
}
