//! Something happens to a thread at every single instruction of its way into a domain, inside, and back: the domain is killed by
//! another thread, a signal comes whose handler calls domains itself, or another thread wants the domain, or a lock in it, for itself. A tracer (ptrace) steps the thread so far, lets it
//! happen, and lets the thread go on; then the next call goes one instruction further.
#[path = "../common/mod.rs"]
mod common;

mod tracer_sys;
mod victim;
mod way;

use common::watchdog;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Lines, Write};
use std::ops::Range;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tracer_sys::{STAYS, Stop, Tracee};
use way::Way;

/// What happens to the thread after so many instructions.
#[derive(Clone, Copy, PartialEq)]
enum Event {
    /// The victim's other thread kills a domain.
    Kill,
    /// The same; the first kick finds the thread there, and it goes on only when the watcher has looked at it since.
    KillAndKick,
    /// SIGUSR1.
    Signal,
    /// SIGUSR1, and a kill while the handler runs: the first kick finds it, and it goes on only when the watcher has looked since.
    SignalThenKill,
    /// Another thread makes the same call, and waits, or is done.
    Rival,
    /// Another thread of the domain's sends it SIGUSR2, one of the domain's own signals.
    Own,
    /// The limit of the call passes, if it has begun; the first kick finds the thread there.
    Late,
}

impl Event {
    /// It waits for the watcher, which takes locks.
    fn waits(self) -> bool {
        self.kills() || self == Event::Late
    }

    fn kills(self) -> bool {
        matches!(self, Event::Kill | Event::KillAndKick | Event::SignalThenKill)
    }
}

/// The process in which it happens.
struct Victim {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    /// What its calls before have gone through, if they end by themselves.
    way: Option<Way>,
    /// Where the last event happened.
    place: u64,
    /// A kick finds the thread wherever it stands: it is in the domain that is killed for as long as its call lasts.
    stays: bool,
    /// How many kicks have found it.
    kicks: usize,
    /// The library's own code holds locks on its way, which a kill takes, or the watcher: they cannot come there while the thread stands still.
    locks: bool,
}

impl Victim {
    fn start(scenario: &str, handler: Option<&str>) -> Victim {
        let program = std::env::current_exe().expect("the test program's path");
        let mut command = Command::new(program);
        command.args(["--exact", "victim::victim", "--ignored", "--nocapture", "--test-threads", "1"]);
        command.env(victim::SCENARIO, scenario).env(victim::MODULES, victim::modules());
        handler.map(|handler| command.env(victim::HANDLER, handler));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the test program runs");
        let orders = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let locks = ["lazy", "late"].iter().any(|first| scenario.starts_with(first)) || scenario == "repair";
        let ends = !scenario.starts_with("for_ever") && !scenario.starts_with("kill_waiting");
        let mut victim = Victim {
            child,
            orders,
            answers,
            way: ends.then(Way::default),
            place: 0,
            stays: !ends,
            kicks: 0,
            locks,
        };
        // (Before, its memory may have no program yet: `spawn` returns in the middle of the child's `execve`.)
        victim.answer("begun");
        victim
    }

    fn order(&mut self, what: &str) {
        writeln!(self.orders, "{what}").expect("the victim listens");
    }

    /// The next line that begins with `@` and `what`; the rest of it. (The test harness prints lines of its own.)
    fn answer(&mut self, what: &str) -> String {
        loop {
            let Some(line) = self.answers.next() else {
                panic!("the victim has ended: {:?}, after an event at {:#x}", self.child.wait(), self.place);
            };
            let line = line.expect("text");
            if let Some((_, said)) = line.split_once('@') {
                return said
                    .strip_prefix(what)
                    .unwrap_or_else(|| panic!("{said:?} for {what}"))
                    .trim()
                    .to_owned();
            }
        }
    }

    /// One call, in which `event` happens after `steps` instructions. The outcome, and whether the call lasted so long.
    fn call(&mut self, event: Event, steps: usize) -> (String, bool) {
        loop {
            if let Some(came_of_it) = self.try_call(event, steps) {
                return came_of_it;
            }
        }
    }

    /// One call, in which `event` happens where it comes to `place` for the `times`th time. The outcome, and whether it has come there.
    fn call_to(&mut self, event: Event, place: u64, times: usize) -> (String, bool) {
        let thread = self.begin();
        let happened = thread.go_to(place, times);
        if happened {
            self.happen(event, thread, Stop::Step);
        }
        thread.release();
        (self.answer("outcome"), happened)
    }

    /// The first `steps` instructions of the way that calls go, in which `event` happens behind them, if they have so many.
    fn way_of(&mut self, event: Event, steps: usize) -> Way {
        self.first_call();
        self.call(event, steps);
        self.way.replace(Way::default()).expect("calls that end")
    }

    /// It does more than those after it.
    fn first_call(&mut self) {
        let thread = self.begin();
        let mut stop = thread.go_on(Stop::Mark);
        while stop != Stop::Mark {
            stop = thread.go_on(stop);
        }
        thread.release();
        self.answer("outcome");
    }

    /// The way of calls whose `assembly` calls nothing that comes back to it or to a domain before it returns, without what it calls, and without
    /// handlers of the process's that signals come to there: those go on at full speed to where they return. (A call in which a signal of the
    /// domain's own comes has a hundred thousand instructions, almost all of them these.)
    fn way_through(&mut self) -> Way {
        self.first_call();
        let [gates, exit, _] = self.here(&tracer_sys::assembly());
        let mut whole = BTreeSet::new();
        loop {
            match self.try_way_through(&[&gates, &exit], &whole) {
                Ok(way) => return way,
                // What begins there does not return: the next call is stepped through it.
                Err(begin) => assert!(whole.insert(begin), "{begin:#x} is stepped through"),
            }
        }
    }

    /// The same, with steps through what begins at the places `whole`; or where something else begins that the call never comes back from.
    fn try_way_through(&mut self, assembly: &[&Range<u64>], whole: &BTreeSet<u64>) -> Result<Way, u64> {
        let mut way = Way::of(self.child.id());
        let thread = self.begin();
        let (mut before, mut gone, mut is_lost) = (None, thread.step(Stop::Mark), None);
        while gone != Stop::Mark {
            let place = thread.place();
            let is_wanted = !way.stays(place) || assembly.iter().any(|code| code.contains(&place));
            let is_begun = !is_wanted && before.is_some_and(|before| thread.has_called(before));
            let stop = gone;
            if is_begun && !whole.contains(&place) {
                before = None;
                gone = thread.go_back(stop);
                if gone == Stop::Mark {
                    is_lost = Some(place);
                }
            } else {
                way.note(place);
                before = is_wanted.then_some((place, stop));
                gone = thread.step(stop);
            }
        }
        thread.release();
        self.answer("outcome");
        is_lost.map_or(Ok(way), Err)
    }

    /// One round of two coroutines' calls: what comes of them. A signal comes where the first call comes to `place` for the first time, and
    /// another one `steps` instructions into the second call; nothing if the round has not come to either.
    fn switch_twice(&mut self, place: u64, steps: usize) -> Option<String> {
        let thread = self.begin();
        let process = self.child.id();
        let mut happened = thread.go_to(place, 1);
        if happened {
            self.place = place;
            thread.send(process, libc::SIGUSR1);
            let mut stop = thread.go_on(Stop::Step);
            while stop != Stop::Mark {
                stop = thread.go_on(stop);
            }
        }
        let mut stop = Stop::Mark; // of the second call
        for _ in 0..steps {
            stop = thread.step(stop);
            if stop == Stop::Mark {
                break; // its end
            }
        }
        happened &= stop == Stop::Step;
        if stop == Stop::Step {
            thread.send(process, libc::SIGUSR1);
        }
        while stop != Stop::Mark {
            stop = thread.go_on(stop);
        }
        thread.release();
        let outcome = self.answer("outcome");
        happened.then_some(outcome)
    }

    /// Such a round without signals: the places of the first call up to where it gives way, those of both up to where they leave the host's
    /// stack, and what of it is code that stays.
    fn ways_of_two(&mut self) -> [Vec<(u64, bool)>; 2] {
        let thread = self.begin();
        let ways = [(); 2].map(|()| {
            let (mut places, mut stop, from) = (Vec::new(), Stop::Mark, thread.stack());
            loop {
                stop = thread.step(stop);
                if stop == Stop::Mark {
                    return places;
                }
                places.push((thread.place(), thread.stack().abs_diff(from) < tracer_sys::FAR));
            }
        });
        thread.release();
        self.answer("outcome");
        ways
    }

    /// Where code of this program lies in the victim, which is the same program.
    fn here<const N: usize>(&self, code: &[Range<u64>; N]) -> [Range<u64>; N] {
        let program = std::env::current_exe().expect("the test program's path");
        let program = program.to_str().expect("text");
        let there = way::base(&self.child.id().to_string(), program);
        let moved = there.wrapping_sub(way::base("self", program));
        code.clone().map(|code| code.start.wrapping_add(moved)..code.end.wrapping_add(moved))
    }

    /// The next call has begun, and stands at the mark.
    fn begin(&mut self) -> Tracee {
        let number = self.answer("ready").parse().expect("a thread's number");
        let thread = Tracee::seize(number);
        self.order("go");
        let mut stop = thread.wait();
        while stop != Stop::Mark {
            stop = thread.go_on(stop); // what came of the call before
        }
        thread
    }

    /// The same; nothing if the call took another way than those before, so that nothing happened.
    fn try_call(&mut self, event: Event, steps: usize) -> Option<(String, bool)> {
        let thread = self.begin();
        let mut stop = Stop::Mark;
        let process = self.child.id();
        let mut gone = match &mut self.way {
            Some(way) => way.ahead(process, thread, steps),
            None => Some(0),
        };
        if gone.is_some_and(|gone| gone > 0) {
            stop = Stop::Step;
        }
        while let Some(done) = gone.filter(|done| *done < steps) {
            stop = thread.step(stop);
            gone = Some(done + 1);
            // A kick for the domain of the call before: in its handler, none would be pending.
            while matches!(event, Event::KillAndKick | Event::SignalThenKill)
                && matches!(stop, Stop::Signal(_))
            {
                stop = thread.take_signal(stop);
            }
            if stop == Stop::Mark {
                break;
            }
            if let Some(way) = &mut self.way {
                way.note(thread.place());
            }
        }
        let happened = stop != Stop::Mark;
        if happened {
            self.happen(event, thread, stop);
        }
        thread.release();
        let outcome = self.answer("outcome");
        gone.map(|_| (outcome, happened))
    }

    /// The first kick of a kill finds the thread here, and it goes on when the watcher has looked at it since.
    fn take_kick(&mut self, thread: Tracee, stop: Stop) -> Stop {
        let (stop, is_taken) = match self.stays {
            true => (thread.take_signal(stop), true),
            false => thread.take_if_pending(stop),
        };
        if is_taken {
            self.kicks += 1;
            self.order("watch");
            self.answer("watched");
        }
        stop
    }

    /// `event` happens to the thread where it stands, and it goes on to the call's end.
    fn happen(&mut self, event: Event, thread: Tracee, mut stop: Stop) {
        self.place = thread.place();
        match event {
            Event::Kill => {
                self.order("kill");
                self.answer("killed");
            }
            Event::KillAndKick => {
                self.order("kill");
                self.answer("killed");
                stop = self.take_kick(thread, stop);
            }
            // Not by the tracer's own means: at the first instruction of a handler they do nothing.
            Event::Signal => thread.send(self.child.id(), libc::SIGUSR1),
            Event::SignalThenKill => {
                // The watcher, which is awake, may have looked at handlers since the call began.
                self.order("raw");
                self.answer("raw");
                thread.send(self.child.id(), libc::SIGUSR1);
                while stop != STAYS && stop != Stop::Mark {
                    stop = thread.go_on(stop);
                }
                self.order("kill");
                self.answer("killed");
                if stop == STAYS {
                    stop = self.take_kick(thread, Stop::Step);
                }
            }
            Event::Rival => {
                self.order("rival");
                self.answer("rival");
            }
            Event::Own => {
                self.order("own");
                self.answer("own");
            }
            Event::Late => {
                self.order("late");
                if self.answer("late") != "0" {
                    thread.await_signal();
                    (stop, _) = thread.take_if_pending(stop);
                }
            }
        }
        while stop != Stop::Mark {
            stop = thread.go_on(stop);
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        // (A traced thread has to be waited for first; after a panic nobody knows whether there is one.)
        if !std::thread::panicking() {
            let _ = self.child.wait();
        }
    }
}

/// Calls again and again, `event` coming one instruction later each time, until the call is over before, or `most` instructions
/// later. How often each outcome was seen.
fn at_every_instruction(scenario: &str, event: Event, most: usize) -> BTreeMap<String, usize> {
    with_handler(scenario, None, event, most)
}

/// The same; `handler` says what SIGUSR1's does, which runs on the stack that the thread is on.
fn with_handler(scenario: &str, handler: Option<&str>, event: Event, most: usize) -> BTreeMap<String, usize> {
    at_some_instructions(scenario, handler, event, most, 1)
}

/// The same at every so manieth.
fn at_some_instructions(
    scenario: &str,
    handler: Option<&str>,
    event: Event,
    most: usize,
    stride: usize,
) -> BTreeMap<String, usize> {
    let what = format!("{scenario}, {}", handler.unwrap_or("-"));
    let mut victim = Victim::start(scenario, handler);
    if stride == 1 && victim.way.is_some() && (!support::thorough() || event.waits() && victim.locks) {
        return at_each_place(victim, event, most, &what);
    }
    // Calls that do not end by themselves are stepped from their beginning.
    let part = victim.way.is_none().then(|| support::Part::one_in(3, &what));
    let mut outcomes = BTreeMap::new();
    for steps in (1..=most).step_by(stride).filter(|steps| part.is_none_or(|part| part.has(*steps))) {
        let _watchdog = watchdog("a call that does not come back");
        let (outcome, happened) = victim.call(event, steps);
        if !happened {
            assert!(steps > 40, "{scenario}: a call of {steps} instructions");
            break;
        }
        *outcomes.entry(outcome).or_default() += 1;
    }
    println!("{what}: {outcomes:?}");
    outcomes
}

/// The same at each instruction of a domain, of proxies and of the runtime's assembly, where a call comes to it for the first time. It is a part
/// of them, another with each run, where a call comes for the second time, and of those that are made of Rust and C.
fn at_each_place(mut victim: Victim, event: Event, most: usize, what: &str) -> BTreeMap<String, usize> {
    let part = support::Part::one_in(8, what);
    let again = support::Part::one_in(3, format!("{what}, for the second time"));
    let way = victim.way_of(event, most);
    let assembly = victim.here(&tracer_sys::assembly());
    let is_assembly = |place: u64| !way.stays(place) || assembly.iter().any(|code| code.contains(&place));
    let places = way.places(|place| is_assembly(place) || !(event.waits() && victim.locks), 2);
    let mut outcomes = BTreeMap::new();
    for (number, (place, times)) in places.into_iter().enumerate() {
        let is_in = match (is_assembly(place), times) {
            // (For a limit that passes one has to wait each time.)
            (true, 1) => event != Event::Late || !way.stays(place) || part.has(number),
            (true, _) => event != Event::Late && again.has(number),
            (false, 1) => part.has(number),
            (false, _) => false,
        };
        if is_in {
            let _watchdog = watchdog("a call that does not come back");
            let (outcome, happened) = victim.call_to(event, place, times);
            if happened {
                *outcomes.entry(outcome).or_default() += 1;
            }
        }
    }
    println!("{what}: {} kicks, {outcomes:?}", victim.kicks);
    if matches!(event, Event::KillAndKick | Event::SignalThenKill) {
        assert!(victim.kicks > 20, "{what}: {} kicks", victim.kicks);
    }
    outcomes
}

/// Calls in which a signal of the domain's own comes: most of their instructions are those of services, which no handler interrupts. A signal
/// of the host's comes at half of the domain's own and of those of proxies and gates, the other half with another run, where the call comes to
/// it for the first time (in `make thorough` at all of them, for the second time as well).
fn at_every_gate(scenario: &str, handler: &str) -> BTreeMap<String, usize> {
    let times = if support::thorough() { 2 } else { 1 };
    let mut victim = Victim::start(scenario, Some(handler));
    let way = victim.way_through();
    let [gates] = victim.here(&[tracer_sys::gates()]);
    let part = support::Part::one_in(2, format!("{scenario}, {handler}"));
    let (mut outcomes, mut in_gates) = (BTreeMap::new(), 0);
    let places = way.places(|place| gates.contains(&place) || !way.stays(place), times);
    for (place, times) in part.among(places) {
        let _watchdog = watchdog("a call that does not come back");
        let (outcome, happened) = victim.call_to(Event::Signal, place, times);
        if happened {
            in_gates += usize::from(gates.contains(&place));
            *outcomes.entry(outcome).or_default() += 1;
        }
    }
    println!("{scenario}, {handler}: {in_gates} in gates; {outcomes:?}");
    assert!(in_gates > 50, "{scenario}: {in_gates} signals came in gates");
    outcomes
}

/// Kills, and checks that there were no other outcomes than these, and each of them.
fn kill_at_every_instruction(scenario: &str, most: usize, expected: &[&str]) {
    expect_of_kills(scenario, Event::Kill, most, expected);
}

fn expect_of_kills(scenario: &str, event: Event, most: usize, expected: &[&str]) {
    let outcomes = at_every_instruction(scenario, event, most);
    let seen: Vec<&str> = outcomes.keys().map(String::as_str).collect();
    assert_eq!(seen, expected, "{scenario}: {outcomes:?}");
}

/// Where signals come to calls, one instruction later each time, and how often.
fn places(victim: &mut Victim) -> BTreeMap<u64, usize> {
    let mut places = BTreeMap::new();
    for steps in 1..=MOST {
        let _watchdog = watchdog("a call that does not come back");
        if !victim.call(Event::Signal, steps).1 {
            break;
        }
        *places.entry(victim.place).or_default() += 1;
    }
    places
}

/// Red if a call stops where its way passes the breakpoint for the first time, and not where it was to; or if it counts one instruction more
/// than it has gone.
#[test]
fn going_ahead_leaves_no_instruction_out() {
    // (Stepped from the beginning, that takes the square of a call's length.)
    let part = support::Part::one_in(2, "calls that are stepped");
    let jump = support::thorough().then_some("jump");
    for scenario in part.among(["increment", "across"]).chain(jump) {
        let mut victim = Victim::start(scenario, None);
        let ahead = places(&mut victim);
        let way = victim.way.take().expect("calls that end");
        let mut stepped = places(&mut victim);
        // (Domains, and their proxies, lie elsewhere each time.)
        stepped.retain(|place, _| way.stays(*place));
        let again = stepped.values().filter(|times| **times > 1).count();
        println!("{scenario}: {} places, {again} of them come more than once", stepped.len());
        assert!(again > 0 || scenario == "increment", "no instruction comes more than once in {scenario}");
        stepped.retain(|place, times| ahead.get(place).is_none_or(|ahead| ahead < times));
        assert!(stepped.is_empty(), "{scenario}: too few signals came at {stepped:x?}");
    }
}

/// Calls in which a signal of the domain's own comes.
const OWN: [&str; 4] = ["raise_own", "trap_own", "overflow_own", "return_own"];

/// Red if what goes on at full speed comes to a domain, a proxy or a gate before it returns, or does not return: no signal comes to those
/// instructions then.
#[test]
fn going_over_calls_leaves_no_instruction_out() {
    for scenario in support::one_of(OWN, "ways of calls") {
        let mut victim = Victim::start(scenario, None);
        let left = left_out(scenario, &mut victim);
        assert!(left.is_none(), "{scenario}: {left:?}");
    }
}

/// What calls that are stepped go through and those that go over calls do not, if there is any. Where the library's watcher looks meanwhile, a call
/// takes another way: each kind is made several times, one after the other, until nothing is left.
fn left_out(scenario: &str, victim: &mut Victim) -> Option<String> {
    let [gates, exit, _] = victim.here(&tracer_sys::assembly());
    let seen = |way: Way| {
        let assembly = way.places(|place| gates.contains(&place) || exit.contains(&place), 1);
        let assembly: BTreeSet<u64> = assembly.into_iter().map(|(place, _)| place).collect();
        // (Domains, and their proxies, lie elsewhere each time.)
        (assembly, way.places(|place| !way.stays(place), 1).len())
    };
    let mut stepped = seen(victim.way_of(Event::Signal, usize::MAX));
    println!("{scenario}: {} places of assembly, {} of domains and proxies", stepped.0.len(), stepped.1);
    assert!(stepped.0.len() > 50 && stepped.1 > 50, "{scenario}: a call goes through more");
    let mut over = seen(victim.way_through());
    let is_whole = |stepped: &(BTreeSet<u64>, usize), over: &(BTreeSet<u64>, usize)| {
        stepped.0.is_subset(&over.0) && over.1 >= stepped.1
    };
    for _ in 0..10 {
        if is_whole(&stepped, &over) {
            return None;
        }
        let once_more = seen(victim.way_through());
        over.0.extend(once_more.0);
        over.1 = over.1.max(once_more.1);
        if !is_whole(&stepped, &over) {
            let once_more = seen(victim.way_of(Event::Signal, usize::MAX));
            stepped.0.retain(|place| once_more.0.contains(place));
            stepped.1 = stepped.1.min(once_more.1);
        }
    }
    let assembly: Vec<_> = stepped.0.difference(&over.0).collect();
    let is_whole = is_whole(&stepped, &over);
    (!is_whole).then(|| format!("{assembly:x?}; {} of {} of domains and proxies", over.1, stepped.1))
}

/// More instructions than any of these calls has.
const MOST: usize = 600;

#[test]
fn a_kill_ends_a_call_or_comes_after_it() {
    kill_at_every_instruction("increment", MOST, &["killed, then killed", "returned 2, then killed"]);
}

#[test]
fn a_kill_ends_an_endless_loop() {
    kill_at_every_instruction("for_ever", 200, &["killed, then killed"]);
}

/// A thread between the admission and its record is in no domain that anybody could see. Red if a kick that finds it there counts as
/// a look of its own, after which the domain is reclaimed (`ThreadState::looked`).
#[test]
fn no_domain_is_reclaimed_under_a_thread_on_its_way_in() {
    expect_of_kills("for_ever", Event::KillAndKick, 100, &["killed, then killed"]);
}

/// The caller lives on, and gets what it has for a call that failed.
#[test]
fn a_kill_of_the_callee_ends_a_call_from_another_domain() {
    kill_at_every_instruction("kill_callee", MOST, &["returned 0, then 0", "returned 4, then 0"]);
    kill_at_every_instruction("kill_waiting_callee", MOST, &["returned -2, then -2"]);
}

/// What runs in another domain finishes: that one has done nothing wrong.
#[test]
fn a_kill_of_the_caller_ends_a_call_into_another_domain() {
    kill_at_every_instruction("kill_caller", MOST, &["killed, then killed", "returned 4, then killed"]);
}

/// Within `resume`, too, and where it goes on.
#[test]
fn a_kill_ends_a_call_that_jumps() {
    kill_at_every_instruction("jump", 3 * MOST, &["killed, then killed", "returned 3, then killed"]);
}

/// Within a switch to another context, there, and on the way back.
#[test]
fn a_kill_ends_a_call_that_switches() {
    kill_at_every_instruction("turn", 5 * MOST, &["killed, then killed", "returned 3, then killed"]);
}

#[test]
fn a_kill_ends_a_call_that_calls_the_host() {
    kill_at_every_instruction("call_back", MOST, &["killed, then killed", "returned 12, then killed"]);
}

/// Within the gate that binds an import at its first call, and what it calls.
#[test]
fn a_kill_ends_a_call_that_binds_an_import() {
    kill_at_every_instruction("lazy", usize::MAX, &["killed, then killed", "returned 4, then killed"]);
}

/// Within the slow path of a call that drops what a jump has left.
#[test]
fn a_kill_ends_a_call_behind_a_jump() {
    kill_at_every_instruction("repair", usize::MAX, &["killed, then killed", "returned 11, then killed"]);
}

/// Calls through a gate of each kind, and what they return.
const GATES: [(&str, i64); 6] =
    [("call_back", 12), ("ask", 2), ("lazy", 4), ("across", 4), ("jump", 3), ("turn", 3)];

fn kill_at_every_gate(handler: Option<&str>, event: Event, one_in: usize) {
    let part = support::Part::one_in(one_in, format!("kicks at gates, {}", handler.unwrap_or("-")));
    for (scenario, result) in part.among(GATES) {
        let outcomes = with_handler(scenario, handler, event, usize::MAX);
        let expected = ["killed, then killed".to_owned(), format!("returned {result}, then killed")];
        assert!(outcomes.keys().eq(expected.iter()), "{scenario}: {outcomes:?}");
    }
}

/// The thread goes on when its first kick has come and gone, and the watcher has looked. Red if a kick that finds it at a gate is all that ends the
/// call, and does not.
#[test]
fn a_kick_at_any_gate_is_not_the_last_one() {
    kill_at_every_gate(None, Event::KillAndKick, 3);
}

/// The same while it is in a handler of the host's, above the gate.
#[test]
fn a_kick_in_a_handler_above_any_gate_is_not_the_last_one() {
    kill_at_every_gate(Some("stays"), Event::SignalThenKill, 3);
}

/// The same of a handler on the alternate stack.
#[test]
fn a_kick_in_a_handler_on_the_alternate_stack_is_not_the_last_one() {
    kill_at_every_gate(Some("stays on the alternate stack"), Event::SignalThenKill, 6);
}

/// Callers of an exclusive domain wait for each other, and none waits for ever: whoever leaves wakes whoever came meanwhile.
#[test]
fn no_wake_up_is_lost() {
    let outcomes = at_every_instruction("exclusive", Event::Rival, MOST);
    let seen: Vec<&str> = outcomes.keys().map(String::as_str).collect();
    assert_eq!(seen, ["returned 2, then 2; the rival: returned 6"]);
}

/// The first thread of a domain takes libc's locks without atomic instructions until a second one comes (docs/decisions/0048). Red if
/// that one does not wait for the first.
#[test]
fn locks_hold_when_a_second_thread_comes() {
    let outcomes = at_every_instruction("lock", Event::Rival, MOST);
    let seen: Vec<&str> = outcomes.keys().map(String::as_str).collect();
    assert_eq!(seen, ["returned 0, then 0; the rival: returned 0"]);
}

/// A handler runs to its end wherever the signal comes, finds the host's state, is refused a domain, and harms no call.
#[test]
fn signals_come_between_any_two_instructions() {
    for (scenario, result) in [
        ("increment", 2),
        ("call_back", 12),
        ("across", 4),
        ("jump", 3),
        ("turn", 3),
        ("doze", 2),
        ("repair", 11),
    ] {
        let outcomes = at_every_instruction(scenario, Event::Signal, MOST);
        for (outcome, times) in outcomes {
            assert_eq!(
                outcome,
                format!("returned {result}, then {result}; handled, refused"),
                "{scenario}, {times} times"
            );
        }
    }
}

/// The same of a call that crashes: the error is that of the crash, never that of the handler's call, and never none. Red if a refusal
/// overwrites what the call that was interrupted has come to.
#[test]
fn a_signal_takes_no_error_away() {
    for scenario in ["crash", "crash/dynamic", "crash/bare"] {
        for (outcome, times) in at_every_instruction(scenario, Event::Signal, 2 * MOST) {
            assert_eq!(outcome, "Ill, then Ill; handled, refused", "{scenario}, {times} times");
        }
    }
}

/// Nor does it when nobody asks what came of the handler's call. Red if a raw function pointer forgets the error of the call before, before it is
/// known whose call this is, or if what was refused to a handler counts as the failure of the call that it has interrupted.
#[test]
fn a_signal_whose_handler_asks_nothing_changes_no_calls_end() {
    for (scenario, end) in [("crash/bare", "Ill, then Ill"), ("increment/bare", "returned 2, then 2")] {
        let outcomes = with_handler(scenario, Some("forgets"), Event::Signal, 2 * MOST);
        assert!(outcomes.keys().eq([&format!("{end}; handled, forgotten")]), "{scenario}: {outcomes:?}");
    }
}

/// The same of a handler on the host's own stack, whose call may work: between a call's failure and the look at it, it does not. Red if
/// it is let in there, as it takes the failure away, or for its own.
#[test]
fn calls_of_handlers_on_the_hosts_stack_take_no_error_away() {
    for scenario in ["crash", "crash/dynamic"] {
        let outcomes = with_handler(scenario, Some("calls"), Event::Signal, 2 * MOST);
        let expected =
            ["entered", "refused"].map(|came_of_it| format!("Ill, then Ill; handled, {came_of_it}"));
        assert!(outcomes.keys().eq(expected.iter()), "{scenario}: {outcomes:?}");
    }
}

/// The same of a call that a gate is to end, since it asked for a context, or a place to jump to, that cannot be had; the handler's call goes through a
/// gate of its own. Red if that one takes the end that waits for the other, or puts its own in its
/// place: the domain goes on.
#[test]
fn calls_of_handlers_are_not_those_of_what_has_ended_the_call() {
    for (scenario, handler, came_of_it) in [
        ("jump_nowhere", "asks", "entered"),
        ("turn_nowhere", "asks", "entered"),
        ("turn_nowhere", "fails in a gate", "failed"),
    ] {
        let outcomes = with_handler(scenario, Some(handler), Event::Signal, usize::MAX);
        let expected =
            [came_of_it, "refused"].map(|came_of_it| format!("Gate, then Gate; handled, {came_of_it}"));
        assert!(outcomes.keys().eq(expected.iter()), "{scenario}: {outcomes:?}");
    }
}

/// A function of the host's has ended the call that it is called in, and calls once more: that is refused, wherever in it a handler's call
/// comes, which is refused as well. Red if that one takes away what has the other ask: the domain goes on.
#[test]
fn calls_of_handlers_do_not_let_in_what_comes_behind_an_end() {
    let outcomes = with_handler("ended", Some("calls"), Event::Signal, usize::MAX);
    let expected = ["as behind the end", "entered", "refused"]
        .map(|came_of_it| format!("ended, then ended; handled, {came_of_it}"));
    assert!(outcomes.keys().eq(expected.iter()), "{outcomes:?}");
}

/// A handler jumps out of the gate that binds an import at its first call: the client's next calls begin where all did. Red if that gate
/// does not say in its record what the thread's place in the client was: it is another domain's then.
#[test]
fn a_jump_out_of_a_lazy_import_moves_no_stack() {
    let outcomes = at_every_instruction("lazy", Event::Signal, usize::MAX);
    assert!(outcomes.get("jumped, then 4").is_some_and(|times| *times > 20), "{outcomes:?}");
    assert!(outcomes.keys().all(|outcome| !outcome.contains("moved")), "{outcomes:?}");
}

/// Calls that a handler on the host's stack interrupts: what they return, and at how many of their instructions, at most.
const CALLS: [(&str, i64, usize); 8] = [
    ("increment", 2, 2 * MOST),
    ("exclusive", 2, 2 * MOST),
    ("deep", 11, 2 * MOST),
    ("deep_across", 2, 2 * MOST),
    ("lazy_deep", 2, usize::MAX),
    ("jump", 3, 2 * MOST),
    ("turn", 3, 5 * MOST),
    ("repair", 11, usize::MAX),
];

/// A handler on the host's own stack calls a domain wherever the signal comes: it is refused, or works, and no live frame changes. Red if
/// a proxy in transit lets it in, whose record it overwrites, or if a gate raises its domain's place before it is off the records.
#[test]
fn calls_of_handlers_on_the_hosts_stack_change_no_frame() {
    for (scenario, result, most) in CALLS {
        let outcomes = with_handler(scenario, Some("calls"), Event::Signal, most);
        let expected = ["entered", "refused"]
            .map(|came_of_it| format!("returned {result}, then {result}; handled, {came_of_it}"));
        assert!(outcomes.keys().eq(expected.iter()), "{scenario}: {outcomes:?}");
    }
}

/// What the handler calls compares where it begins with the lowest live word of the domain's, as the domain knows it: the return word of its call of
/// the gate. Red if a place is above that, even where nothing is overwritten.
#[test]
fn calls_of_handlers_begin_below_the_lowest_live_word() {
    for (scenario, result) in [("low", 11), ("low_across", 2), ("lazy_low", 2)] {
        let outcomes = with_handler(scenario, Some("looks"), Event::Signal, usize::MAX);
        let expected = ["entered", "refused"]
            .map(|came_of_it| format!("returned {result}, then {result}; handled, {came_of_it}"));
        assert!(outcomes.keys().eq(expected.iter()), "{scenario}: {outcomes:?}");
    }
}

/// The same while a handler of the domain's own begins, and returns or jumps: neither it nor what it has interrupted is changed. Red if calls
/// begin between the look at what waits, which writes the handler's first frame below all others, and the gate's end.
#[test]
fn calls_of_handlers_change_no_frame_of_the_domains_own() {
    for scenario in OWN {
        let outcomes = at_every_gate(scenario, "calls");
        let expected =
            ["entered", "refused"].map(|came_of_it| format!("returned 2, then 2; handled, {came_of_it}"));
        assert!(outcomes.keys().eq(expected.iter()), "{scenario}: {outcomes:?}");
    }
}

/// The same of a call that fails. Red if the end of the stack in which the domain's handler of an overflow ran is closed while the gate that
/// jumps out of it still stands there: the error tells of the calls around it, whose return words are not there.
#[test]
fn failing_calls_of_handlers_read_nothing_that_is_closed() {
    for scenario in ["overflow_own", "return_own"] {
        let outcomes = at_every_gate(scenario, "fails");
        let expected =
            ["failed", "refused"].map(|came_of_it| format!("returned 2, then 2; handled, {came_of_it}"));
        assert!(outcomes.keys().eq(expected.iter()), "{scenario}: {outcomes:?}");
    }
}

/// A signal of the domain's own comes at each instruction by which a frame of variable size is opened: its handler jumps out, to where the
/// function was called. Red if it begins between the two instructions of U2 that open the frame, where rsp has moved, and nothing tells yet where
/// the function began. (The branch between is a long one here.)
#[test]
fn handlers_of_the_domains_own_come_to_no_frame_that_opens() {
    let outcomes = at_every_instruction("open_own", Event::Own, MOST);
    assert!(outcomes.keys().eq(["returned 1, then 1"]), "{outcomes:?}");
}

/// The same where a frame is closed, to be opened further down, or at a label, with more alive in it than a handler leaves free below rsp: the
/// handler returns, and finds none of it. Red if one begins anywhere in U2, or behind the frame's end on the way to a jump.
#[test]
fn handlers_of_the_domains_own_come_to_no_frame_that_moves() {
    let outcomes = at_every_instruction("reopen_own", Event::Own, 2 * MOST);
    assert!(outcomes.keys().eq(["returned 1, then 1"]), "{outcomes:?}");
}

/// The caller's time is over at each instruction: the call goes on on another thread, with all that it had. Red if
/// anything of it gets lost on the way.
#[test]
fn calls_go_on_without_their_caller_from_everywhere() {
    for (scenario, result) in [
        ("late_increment", 2),
        ("late_ask_directly", 2),
        ("late_jump", 3),
        ("late_reopens", 1),
        ("late_doze", 2),
    ] {
        let outcomes = at_every_instruction(scenario, Event::Late, usize::MAX);
        let expected = ["detached", "returned"].map(|first| format!("{first} {result}, then {result}"));
        assert!(outcomes.keys().all(|outcome| expected.contains(outcome)), "{scenario}: {outcomes:?}");
        let detached = outcomes.get(&expected[0]).copied().unwrap_or_default();
        assert!(detached > 1, "{scenario}: {outcomes:?}");
    }
}

/// It jumps out of all that.
#[test]
fn jumps_out_of_beginning_handlers_leave_nothing_behind() {
    for scenario in OWN {
        let outcomes = at_every_gate(scenario, "jumps anywhere");
        let expected = ["jumped, then 2", "returned 2, then 2"];
        assert!(
            outcomes.keys().all(|outcome| expected.contains(&outcome.as_str())),
            "{scenario}: {outcomes:?}"
        );
        assert!(outcomes["jumped, then 2"] > 200, "{scenario}: {outcomes:?}");
    }
}

/// The same of a handler that calls another domain: what has been interrupted goes on in its own window. Red if a gate looks at gs before
/// it is off the records: the handler's call is let in then, and leaves its own window's gs behind, through which the domain reads and
/// writes.
#[test]
fn calls_of_another_domain_leave_no_window_behind() {
    for (scenario, result) in [
        ("increment", 2),
        ("remember", 2),
        ("remember_across_service", 2),
        ("across", 4),
        ("jump", 3),
        ("turn", 3),
    ] {
        let outcomes = with_handler(scenario, Some("calls another"), Event::Signal, 2 * MOST);
        let expected = ["entered", "refused"]
            .map(|came_of_it| format!("returned {result}, then {result}; handled, {came_of_it}"));
        assert!(outcomes.keys().eq(expected.iter()), "{scenario}: {outcomes:?}");
    }
}

/// In the middle of the handler's call another thread takes the very context that is switched to or from, as soon as that can be had, and
/// uses much of its stack. What the call finds later is another matter; but no frame changes. Red if a context can be had before the
/// thread's next call begins elsewhere.
#[test]
fn calls_of_handlers_do_not_begin_on_stacks_that_are_given_away() {
    let outcomes = with_handler("turn", Some("invades"), Event::Signal, 5 * MOST);
    let expected = |outcome: &String| {
        ["returned 3, then ", "Gate, then "].iter().any(|first| {
            let rest = outcome.strip_prefix(first).and_then(|rest| rest.split_once("; handled, "));
            rest.is_some_and(|(next, came)| {
                ["3", "Gate"].contains(&next) && ["taken", "refused", "kept out"].contains(&came)
            })
        })
    };
    assert!(outcomes.keys().all(expected), "{outcomes:?}");
    for came in ["taken", "refused", "kept out"] {
        assert!(outcomes.keys().any(|outcome| outcome.ends_with(came)), "{came}: {outcomes:?}");
    }
}

/// The handler's call makes a context in the middle of a switch, and runs it: it has a stack of its own, wherever the signal comes. Red if
/// it is let in when the context that is gone to has been taken and no record says so: it finds that one lost, and takes its stack.
#[test]
fn contexts_of_handlers_take_no_stack_of_a_context_that_is_gone_to() {
    let outcomes = with_handler("turn", Some("invites"), Event::Signal, 5 * MOST);
    let expected =
        ["entered", "refused"].map(|came_of_it| format!("returned 3, then 3; handled, {came_of_it}"));
    assert!(outcomes.keys().eq(expected.iter()), "{outcomes:?}");
}

/// The same of a domain whose callee has failed, and which goes on. (What the handler's call comes to may be the callee's error there.)
#[test]
fn calls_of_handlers_on_the_hosts_stack_change_no_frame_behind_a_failure() {
    let outcomes = with_handler("deep_failing", Some("calls"), Event::Signal, 2 * MOST);
    assert!(outcomes.keys().all(|outcome| outcome.starts_with("returned -1, then -1;")), "{outcomes:?}");
}

/// A handler forks, by a system call that nobody hears of, at any instruction of a domain's, a proxy's or a gate's, and goes on in the child, too: what
/// that calls afterwards of its parent's domains is refused, be it in a function of the host's that the call in progress comes to, or when that is over;
/// by each kind of caller, the domain that it was in, which may call itself, and others. Red if a gate that ends a call gives the thread its place
/// back, or if a place that a gate has written is all that a proxy looks for.
fn children_call_nothing<const N: usize>(scenarios: [(&str, &str); N]) {
    for (scenario, end) in scenarios {
        let mut victim = Victim::start(scenario, Some("forks"));
        let way = match OWN.contains(&scenario) {
            true => victim.way_through(),
            // (What a gate calls may call a domain there.)
            false => victim.way_of(Event::Signal, usize::MAX),
        };
        let [gates, exit, _] = victim.here(&tracer_sys::assembly());
        let is_wanted = |place: u64| !way.stays(place) || gates.contains(&place) || exit.contains(&place);
        let part = support::Part::one_in(4, format!("{scenario}, forks"));
        let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
        for (place, times) in part.among(way.places(is_wanted, 2)) {
            let _watchdog = watchdog("a call that does not come back");
            let (outcome, happened) = victim.call_to(Event::Signal, place, times);
            if happened {
                *outcomes.entry(outcome).or_default() += 1;
            }
        }
        println!("{scenario}, forks: {outcomes:?}");
        let refused = format!("{end}; its child was refused");
        assert!(outcomes.keys().all(|outcome| [end, &refused].contains(&outcome.as_str())), "{outcomes:?}");
        assert!(outcomes.get(&refused).is_some_and(|times| *times > 5), "{scenario}: {outcomes:?}");
    }
}

#[test]
fn children_of_handlers_call_no_domain_of_their_parents() {
    children_call_nothing([
        ("increment", "returned 2, then 2"),
        ("call_back", "returned 12, then 12"),
        ("ask", "returned 2, then 2"),
        ("itself", "returned 4, then 4"),
    ]);
}

#[test]
fn children_of_handlers_call_nothing_behind_jumps_and_handlers() {
    children_call_nothing([
        ("across", "returned 4, then 4"),
        ("jump", "returned 3, then 3"),
        ("turn", "returned 3, then 3"),
        ("lazy", "returned 4, then 4"),
        ("raise_own", "returned 2, then 2"),
    ]);
}

#[test]
fn children_of_handlers_call_nothing_behind_ends() {
    children_call_nothing([
        ("quit", "Exit(3), then Exit(3)"),
        ("crash", "Ill, then Ill"),
        ("deep_failing", "returned -1, then -1"),
    ]);
}

/// It jumps out of assembly, wherever the signal comes: the next call works, where all did. Red if a jump out of a proxy in transit leaves
/// the thread there, or an exclusive domain taken.
#[test]
fn jumps_out_of_handlers_on_the_hosts_stack_leave_nothing_behind() {
    jumps_leave_nothing_behind("jumps", CALLS);
}

/// The same from the alternate stack, out of proxies, gates, the one that binds imports, crossings, *resume* and switches.
#[test]
fn jumps_out_of_handlers_on_the_alternate_stack_leave_nothing_behind() {
    let part = support::Part::one_in(5, "jumps off the alternate stack");
    let across = [("call_back", 12, 2 * MOST), ("across", 4, 2 * MOST)];
    jumps_leave_nothing_behind("jumps off the alternate stack", part.among(CALLS.into_iter().chain(across)));
}

fn jumps_leave_nothing_behind(handler: &str, calls: impl IntoIterator<Item = (&'static str, i64, usize)>) {
    for (scenario, result, most) in calls {
        let outcomes = with_handler(scenario, Some(handler), Event::Signal, most);
        let expected =
            ["jumped", &format!("returned {result}")].map(|first| format!("{first}, then {result}"));
        assert!(outcomes.keys().eq(expected.iter()), "{scenario}: {outcomes:?}");
    }
}

/// It jumps out of services of the library's as well, and of its slow paths: the next call works, under the same limit, signals come, the
/// thread can be cancelled. Red if a handler may interrupt what holds a lock: the next call waits for that for good.
#[test]
fn jumps_out_of_services_leave_nothing_behind() {
    for (scenario, stride) in [
        ("ask", 7),
        ("ask_directly", 11),
        ("tell_functions", 11),
        ("pass", 17),
        ("await", 11),
        ("map", 97),
        ("make", 97),
        ("doze", 53),
        ("attach", 3),
    ] {
        let outcomes = at_some_instructions(scenario, Some("jumps anywhere"), Event::Signal, 4000, stride);
        assert!(outcomes.keys().eq(&["jumped, then 2", "returned 2, then 2"]), "{scenario}: {outcomes:?}");
        assert!(outcomes["jumped, then 2"] > 20, "{scenario}: {outcomes:?}");
    }
}

/// It ends its thread, wherever the signal comes, on the alternate stack: that is all that ends, and what the thread had in the domain is given
/// back. Red if a handler may come to a frame of Rust's that cannot be unwound: the process ends.
#[test]
fn a_thread_that_a_handler_ends_leaves_nothing_behind() {
    for (scenario, result, stride) in [
        ("increment", 2, 2),
        ("ask", 2, 3),
        ("ask_directly", 2, 7),
        ("tell_time", 2, 5),
        ("tell_functions", 2, 7),
        ("pass", 2, 11),
        ("await", 2, 11),
        ("jump", 3, 5),
        ("turn", 3, 7),
        ("map", 2, 97),
        ("make", 2, 53),
        ("doze", 2, 53),
        ("attach", 2, 97),
        ("exclusive", 2, 2),
        ("lazy", 4, 97),
        ("across", 4, 5),
    ] {
        let outcomes = at_some_instructions(scenario, Some("ends"), Event::Signal, 4000, stride);
        let expected = ["ended".to_owned(), format!("returned {result}")]
            .map(|first| format!("{first}, then returned {result}"));
        assert!(
            outcomes.keys().eq(expected.iter()) || outcomes.keys().eq(&expected[..1]),
            "{scenario}: {outcomes:?}"
        );
        assert!(outcomes[&expected[0]] > 20, "{scenario}: {outcomes:?}");
    }
}

/// It unwinds, as one that ends its thread has it done. Red if what describes a frame is behind a push or a pop: a word of the module's is taken
/// for an address of code.
fn unwinds(scenario: &str, result: i64, most: usize) {
    let outcomes = with_handler(scenario, Some("unwinds"), Event::Signal, most);
    let expected = format!("returned {result}, then {result}; handled, at an end");
    assert!(outcomes.keys().eq([&expected]), "{scenario}: {outcomes:?}");
}

#[test]
fn what_unwinds_finds_code_on_the_slow_path() {
    unwinds("attach", 2, 200);
}

#[test]
fn what_unwinds_finds_code_in_a_service() {
    // (A service lies behind thousands of instructions of Rust's.)
    let victim = Victim::start("doze", Some("unwinds out of a service"));
    let outcomes = at_each_place(victim, Event::Signal, usize::MAX, "doze, unwinds out of a service");
    assert!(outcomes.keys().eq(&["returned 2, then 2; handled, at an end"]), "{outcomes:?}");
}

#[test]
fn what_unwinds_finds_code_in_an_exclusive_domain() {
    unwinds("exclusive", 2, MOST);
}

#[test]
fn what_unwinds_finds_code_between_domains() {
    unwinds("across", 4, MOST);
}

/// Of a call with arguments on its stack, and a result there, the place is above where it began. Red if a jump out of a gate that has moved the
/// place, and shows no record, leaves it by that much lower.
#[test]
fn jumps_out_of_gates_move_no_stack() {
    let outcomes = at_some_instructions("wide", Some("jumps"), Event::Signal, 3 * MOST, 1);
    assert!(outcomes.keys().eq(&["jumped, then 2", "returned 2, then 2"]), "{outcomes:?}");
}

/// It faults, wherever the signal comes, and the host has a handler for that: the call goes on. Red if faults on the host's stack, or in
/// the host's code, are the domain's whose record is innermost.
#[test]
fn faults_of_handlers_are_the_hosts_on_any_stack() {
    for (scenario, result) in [("increment", 2), ("deep", 11), ("deep_across", 2), ("jump", 3)] {
        let outcomes = with_handler(scenario, Some("faults"), Event::Signal, 2 * MOST);
        let expected = [format!("returned {result}, then {result}; handled, skipped")];
        assert!(outcomes.keys().eq(expected.iter()), "{scenario}: {outcomes:?}");
    }
}

/// A kick that finds a handler of the host's on the host's own stack may have found it above a proxy in transit. Red if it counts as a
/// look of the thread's own.
#[test]
fn no_domain_is_reclaimed_under_a_handler_above_a_proxy() {
    no_domain_is_reclaimed_under("stays", WAITING);
}

/// The same of one on the alternate stack.
#[test]
fn no_domain_is_reclaimed_under_a_handler_on_the_alternate_stack() {
    let part = support::Part::one_in(3, "kicks of handlers on the alternate stack");
    no_domain_is_reclaimed_under("stays on the alternate stack", part.among(WAITING));
}

const WAITING: [(&str, &str); 3] = [
    ("for_ever", "killed, then killed"),
    ("kill_waiting_callee", "returned -2, then -2"),
    ("kill_waiting_callee_on_stack", "returned -2, then -2"),
];

fn no_domain_is_reclaimed_under(
    handler: &str,
    calls: impl IntoIterator<Item = (&'static str, &'static str)>,
) {
    for (scenario, outcome) in calls {
        let outcomes = with_handler(scenario, Some(handler), Event::SignalThenKill, 200);
        assert!(outcomes.keys().eq([outcome]), "{scenario}: {outcomes:?}");
    }
}

/// The same without a handler, of what a crossing calls before it shows its record.
#[test]
fn no_domain_is_reclaimed_while_stack_arguments_are_copied() {
    let expected = ["returned -2, then -2"];
    expect_of_kills("kill_waiting_callee_on_stack", Event::KillAndKick, 400, &expected);
}

/// It switches to another coroutine above in the same mapping, where a domain is called, and is switched back to in a callback of that: either
/// call is refused, or ends, or the first one is over. Red if a proxy in transit counts as left by a jump: it writes the other call's record.
fn switch_stacks(scenario: &str, right: &str) {
    switch_with("switches", scenario, right);
}

fn switch_with(handler: &str, scenario: &str, right: &str) {
    let outcomes = match scenario.ends_with("_own") {
        true => at_every_gate(scenario, handler),
        false => with_handler(scenario, Some(handler), Event::Signal, 2 * MOST),
    };
    for outcome in outcomes.keys() {
        let outcome = outcome.strip_suffix("; returned 0, returned 3");
        let outcome = outcome.and_then(|outcome| outcome.split_once("; "));
        let (first, other) = outcome.unwrap_or_else(|| panic!("{outcomes:?}"));
        assert!(matches!(other, "none" | "SignalHandler" | "returned 2" | "Gate"), "{outcomes:?}");
        assert!(first == right || matches!(first, "TooDeep" | "Gate"), "{outcomes:?}");
    }
    let refused = format!("{right}; SignalHandler; returned 0, returned 3");
    assert!(outcomes.get(&refused).copied().unwrap_or_default() > 10, "{outcomes:?}");
}

#[test]
fn handlers_that_switch_stacks_lead_no_call_astray() {
    switch_stacks("increment", "returned 2");
}

/// The same of calls that go through gates. Red if calls begin between a gate's question whether its record is its own and the end of that: it
/// goes on in the other call's domain.
#[test]
fn handlers_that_switch_stacks_lead_no_gate_astray() {
    switch_stacks("call_back", "returned 12");
    switch_stacks("ask", "returned 2");
    switch_stacks("ask_directly", "returned 2");
}

/// The same of calls that handlers of the domain's own begin and end in. Red if a gate that has asked once does not look whether its record is its
/// own when it begins one.
#[test]
fn handlers_that_switch_stacks_lead_no_handler_astray() {
    switch_stacks("raise_own", "returned 2");
    switch_stacks("trap_own", "returned 2");
}

/// The same of services that a handler may interrupt, since they hold nothing. Red if one works for the record that it finds, whose domain is the
/// other call's by then: it tells that domain the time.
#[test]
fn handlers_that_switch_stacks_lead_no_service_astray() {
    switch_with("switches anywhere", "keep_time", "returned 2");
}

/// The same of a service that no handler interrupts once it works. Red if it begins without a look at whose the record is by then: it gives that
/// domain random numbers.
#[test]
fn handlers_that_switch_stacks_lead_no_working_service_astray() {
    switch_with("switches anywhere", "keep_random", "returned 2");
}

/// The same of switches of contexts. Red if the other call's domain loses a context.
#[test]
fn handlers_that_switch_stacks_lead_no_context_astray() {
    switch_with("switches anywhere", "turn", "returned 3");
}

/// It interrupts a call of a coroutine's, and switches to another one, in whose host function's call that one began, and which goes on there,
/// and comes back: one of the two ends, or both are as they would be. Red if a gate goes back to its domain while a proxy is in transit, which then
/// begins its call where the domain has gone on, over its live frames.
#[test]
fn handlers_that_switch_to_an_outer_call_change_no_frame() {
    let outcomes = with_handler("go_deeper", Some("gives way"), Event::Signal, MOST);
    for outcome in outcomes.keys() {
        let (first, second) = outcome.split_once("; ").expect("two calls");
        assert!(matches!(first, "returned 10" | "Gate"), "{outcomes:?}");
        // (TooDeep: a thread whose calls have come back out of turn calls no more.)
        assert!(matches!(second, "returned 1515870810" | "Gate" | "TooDeep"), "{outcomes:?}");
    }
    let ended = outcomes.get("Gate; returned 1515870810").copied().unwrap_or_default();
    assert!(ended > 10, "{outcomes:?}");
}

/// Handlers switch twice: out of a call, or a gate on its way back, to another coroutine, and from the middle of that one's proxy back. One of the
/// two calls is refused or ends, or both are as they would be; and no call begins while another one's proxy is in transit. Red if one instruction
/// asks whether something is in transit, and another one says that something is: the first call overwrites the second one's note, and goes on
/// where that one begins later.
#[test]
fn handlers_that_switch_stacks_twice_change_no_frame() {
    let mut victim = Victim::start("go_deeper", Some("gives way twice"));
    let ways = victim.ways_of_two();
    let way = way::Way::of(victim.child.id());
    let assembly = victim.here(&tracer_sys::assembly());
    let is_assembly = |place: u64| !way.stays(place) || assembly.iter().any(|code| code.contains(&place));
    let [first, second] = ways;
    // The host's code of the first call: its way in, then a host function's, with the gate's around it.
    let stretches: Vec<_> = first.chunk_by(|one, next| one.1 == next.1).collect();
    let [begin, _, function, ..] = stretches[..] else { panic!("{} stretches", stretches.len()) };
    let places = |way: &[(u64, bool)]| way.iter().map(|(place, _)| *place).collect::<Vec<_>>();
    let begin: Vec<u64> = places(begin).into_iter().filter(|place| is_assembly(*place)).collect();
    let function = places(function);
    let back = function.iter().rposition(|place| !is_assembly(*place)).expect("a function in Rust") + 1;
    let proxy = second.iter().take_while(|(_, is_hosts)| *is_hosts).enumerate();
    let seconds = proxy.filter(|(_, (place, _))| is_assembly(*place)).map(|(number, _)| number + 1);
    let seconds: Vec<usize> = support::Part::one_in(8, "two switches").among(seconds).collect();
    assert!(
        begin.len() > 20 && function.len() > back + 20 && seconds.len() > 2,
        "{begin:x?} {function:x?} {seconds:?}"
    );
    let mut outcomes: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, &place) in begin.iter().chain(&function[back..]).enumerate() {
        for &steps in &seconds {
            let _watchdog = watchdog("a call that does not come back");
            let Some(outcome) = victim.switch_twice(place, steps) else { continue };
            // A call that has not begun is refused, if it does not go on.
            let way = if number < begin.len() { "proxy" } else { "gate" };
            outcomes.entry(format!("{way}: {outcome}")).or_default().push((number, steps));
        }
    }
    let counts: BTreeMap<_, _> = outcomes.iter().map(|(outcome, places)| (outcome, places.len())).collect();
    println!("{} places in the proxy, {} in the gate: {counts:?}", begin.len(), function.len() - back);
    // Where the first call has not begun, it is refused; behind that, the host comes back to its gate while the second one's proxy is in transit.
    let expected = [
        "gate: Gate; TooDeep",
        "gate: Gate; returned 1515870810",
        "gate: returned 10; SignalHandler",
        "gate: returned 10; returned 1515870810",
        "proxy: Gate; TooDeep",
        "proxy: SignalHandler; returned 1515870810",
        "proxy: returned 10; SignalHandler",
        "proxy: returned 10; returned 1515870810",
    ];
    for (outcome, places) in &outcomes {
        assert!(expected.contains(&outcome.as_str()), "{outcome}, at {places:?}");
    }
    for outcome in ["proxy: SignalHandler; returned 1515870810", "gate: Gate; returned 1515870810"] {
        assert!(outcomes.contains_key(outcome), "{outcome}: {:?}", outcomes.keys());
    }
}
