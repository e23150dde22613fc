//! Control stacks, what is known of them that no program can change, the runtime's part, and the adversary.
//!
//! Several threads, whose steps alternate, have calls in progress, each nested in a gate of the one before. A call runs on frames of its
//! own, or on a context, of which there are as many as wanted, each on a stack of its own. A handler of the domain's own signals interrupts them
//! anywhere, and a call that waits at a gate may be handed over to another thread. All that the runtime does is chosen by chance among what its
//! rules allow.
//!
//! The adversary writes every word below rsp: after each step no program knows what is there, so whoever reads such a word before the program
//! has written it again has lost.
use super::program::{Op, Program};
use lockgate_verify::{Frames, State};
use support::Random;

/// A rule of the runtime's, or of unit U2, that a machine goes without.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Without {
    Nothing,
    /// Only suspended contexts are taken.
    Suspended,
    /// A call's own frames are gone back to by that call alone, while it is innermost.
    OwnFrames,
    /// A context with a live gate is not switched to: not even by the thread that it is of.
    LiveGate,
    /// Where a suspended context goes on is what the host has stored last.
    Latest,
    /// Walks end with the context that they begin in.
    Base,
    /// Nested calls begin below what their thread runs on.
    Place,
    /// U2 moves rsp before it stores the frame word.
    Moved,
    /// *resume* goes on with rsp = E of a function that is still to return.
    Live,
    /// What *resume* passes is interrupted no more: no handler goes back to it.
    Passed,
    /// A call that has been handed over is gone on with once.
    Once,
}

pub const RULES: [Without; 10] = [
    Without::Suspended,
    Without::OwnFrames,
    Without::LiveGate,
    Without::Latest,
    Without::Base,
    Without::Place,
    Without::Moved,
    Without::Live,
    Without::Passed,
    Without::Once,
];

const SPACING: u64 = 0x10_0000;
const ROOM: u64 = 0x1000;
const WORDS: usize = (ROOM / 8 + 1) as usize;
const STACKS: usize = 6;
const THREADS: usize = 2;
const MOST_CALLS: usize = 3;
/// What marks return words; their low half is a place of the program.
const WORD: u64 = 1 << 63;
/// The exit return address, and that which a context begins with.
const EXIT: u64 = WORD | 0xffff_ffff;
const BASE: u64 = 0;
/// What a handler returns to: the runtime's own way out of it.
const LANDING: u64 = WORD | 0xffff_fffe;
/// What the adversary has written: anything at all.
const UNKNOWN: u64 = 0x0bad_0bad_0bad_0bad;
/// What a handler leaves alone of what it has interrupted.
const LEFT_ALONE: u64 = 16;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Is {
    Runs,
    Suspended,
    Over,
}

/// Frames that were called one by another: a call's own, or a context's.
#[derive(Debug)]
struct Chain {
    stack: usize,
    is: Is,
    /// rsp, while it does not run; and what it was when it did not run the time before.
    rsp: u64,
    before: u64,
    /// Return words that are still to be popped: where they were pushed, and what they say.
    live: Vec<(u64, u64)>,
    is_context: bool,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    own: usize,
    /// The chain that it runs.
    runs: usize,
}

/// What a handler has interrupted.
#[derive(Clone, Copy, Debug)]
struct Interruption {
    chain: usize,
    place: usize,
    rsp: u64,
    /// Where the handler's frames end: their last return word.
    bottom: u64,
}

#[derive(Debug, Default)]
struct Thread {
    calls: Vec<Call>,
    rsp: u64,
    place: usize,
}

pub struct Machine<'a> {
    program: &'a Program,
    frames: &'a Frames,
    without: Without,
    random: Random,
    /// Of each stack, from [`low`] up.
    words: Vec<Vec<u64>>,
    chains: Vec<Chain>,
    threads: Vec<Thread>,
    interruptions: Vec<Interruption>,
    /// Calls that wait at a gate for a thread to go on with them, and rsp there.
    handed: Vec<(Call, u64)>,
    /// Of each stack, the lowest word that a program has written since the adversary came.
    written: Vec<usize>,
    labels: Vec<usize>,
    pushed: u64,
    pub returned: u64,
    pub switched: u64,
    pub interrupted: u64,
    pub handed_over: u64,
}

const fn top(stack: usize) -> u64 {
    (stack as u64 + 1) * SPACING
}

const fn low(stack: usize) -> u64 {
    top(stack) - ROOM
}

/// How a thread's step ends.
enum Step {
    At(usize),
    /// The innermost call ends, and with it the context that it runs.
    Ends,
}

impl<'a> Machine<'a> {
    pub fn new(program: &'a Program, frames: &'a Frames, seed: u64, without: Without) -> Machine<'a> {
        let labels = (0..program.ops.len()).filter(|&place| program.ops[place] == Op::Label).collect();
        Machine {
            program,
            frames,
            without,
            random: Random(seed),
            words: vec![vec![UNKNOWN; WORDS]; STACKS],
            written: vec![WORDS; STACKS],
            interruptions: Vec::new(),
            handed: Vec::new(),
            chains: Vec::new(),
            threads: (0..THREADS).map(|_| Thread::default()).collect(),
            labels,
            pushed: 0,
            returned: 0,
            switched: 0,
            interrupted: 0,
            handed_over: 0,
        }
    }

    fn place_of(at: u64) -> Option<(usize, usize)> {
        let stack = usize::try_from(at.wrapping_sub(1) / SPACING).ok().filter(|&stack| stack < STACKS)?;
        let skip = at.checked_sub(low(stack)).filter(|skip| skip.is_multiple_of(8))?;
        Some((stack, (skip / 8) as usize))
    }

    /// The word at an address; what is no word of a stack reads as zero.
    fn word(&self, at: u64) -> u64 {
        Machine::place_of(at).map_or(0, |(stack, number)| self.words[stack][number])
    }

    fn set(&mut self, at: u64, word: u64) {
        if let Some((stack, number)) = Machine::place_of(at) {
            self.words[stack][number] = word;
            self.written[stack] = self.written[stack].min(number);
        }
    }

    /// rsp of a chain, of which the machine goes on with that or with more.
    fn rsp_of(&self, number: usize) -> u64 {
        let chain = &self.chains[number];
        let innermost = |t: &&Thread| t.calls.last().is_some_and(|call| call.runs == number);
        match (chain.is, self.threads.iter().find(innermost)) {
            (Is::Suspended, _) => chain.rsp,
            (_, Some(thread)) => thread.rsp,
            // At the gate that a call is nested in, or that it waits at to be handed over.
            (_, None) => chain.live.last().map_or(chain.rsp, |&(at, _)| at),
        }
    }

    /// What writes below rsp: signals, debuggers, later calls. On a stack that waits, too.
    fn adversary(&mut self) {
        let mut lowest = [WORDS; STACKS];
        for (number, chain) in self.chains.iter().enumerate().filter(|(_, chain)| chain.is != Is::Over) {
            let at = self.rsp_of(number).saturating_sub(low(chain.stack)) / 8;
            lowest[chain.stack] = lowest[chain.stack].min(at as usize);
        }
        for (stack, lowest) in lowest.into_iter().enumerate() {
            let from = self.written[stack].min(lowest);
            self.words[stack][from..lowest].fill(UNKNOWN);
            self.written[stack] = lowest;
        }
    }

    fn label(&mut self) -> Option<usize> {
        self.random.pick(&self.labels)
    }

    fn call_of(&self, thread: usize) -> Call {
        *self.threads[thread].calls.last().expect("a call in progress")
    }

    /// Pushes a word to return to `place` with; `false`: the guard stops it.
    fn push(&mut self, thread: usize, place: usize) -> bool {
        let runs = self.call_of(thread).runs;
        let rsp = self.threads[thread].rsp - 8;
        self.threads[thread].rsp = rsp;
        self.pushed += 1;
        let word = WORD | (self.pushed & 0x7fff_ffff) << 32 | place as u64;
        self.set(rsp, word);
        self.chains[runs].live.push((rsp, word));
        rsp > low(self.chains[runs].stack) + 64
    }

    /// The word that the table says is the next to be popped, behind a call that ended at `place`.
    fn entry(&self, thread: usize, place: usize) -> Option<u64> {
        let rsp = self.threads[thread].rsp;
        match self.frames.at(self.program.addresses[place])? {
            State::S { o } => Some(rsp + u64::from(o)),
            State::C { b, d } => self.word(rsp + u64::from(d)).checked_add(b.into()),
        }
    }

    /// A call begins on `stack`, with rsp at most `rsp`.
    fn enter(&mut self, thread: usize, stack: usize, rsp: u64) -> Option<()> {
        let label = self.label()?;
        if rsp < low(stack) + 512 {
            return None;
        }
        self.set(rsp, EXIT);
        let live = vec![(rsp, EXIT)];
        self.chains.push(Chain { stack, is: Is::Runs, rsp, before: rsp, live, is_context: false });
        let own = self.chains.len() - 1;
        let thread = &mut self.threads[thread];
        thread.calls.push(Call { own, runs: own });
        (thread.rsp, thread.place) = (rsp, label);
        Some(())
    }

    /// A thread without calls goes on with one that was handed over, or begins one on its own stack, which may be another thread's by now.
    fn begins(&mut self, thread: usize) -> bool {
        if let Some((call, rsp)) = self.handed.pop() {
            if self.without == Without::Once && self.handed_over.is_multiple_of(2) {
                self.handed.push((call, rsp));
            }
            self.threads[thread].calls.push(call);
            self.threads[thread].rsp = rsp;
            self.threads[thread].place = usize::MAX; // `ret`
            self.handed_over += 1;
            return true;
        }
        let is_used = |chain: &Chain| chain.stack == thread && chain.is != Is::Over;
        !self.chains.iter().any(is_used) && self.enter(thread, thread, top(thread)).is_some()
    }

    /// A handler begins at a label, below all that the thread has.
    fn interrupt(&mut self, thread: usize) {
        let runs = self.call_of(thread).runs;
        let Thread { rsp, place, .. } = self.threads[thread];
        let bottom = (rsp - LEFT_ALONE) & !15;
        if bottom < low(self.chains[runs].stack) + 512 {
            return;
        }
        let Some(label) = self.label() else { return };
        for (at, word) in [(bottom, BASE), (bottom - 8, LANDING)] {
            self.set(at, word);
            self.chains[runs].live.push((at, word));
        }
        self.interruptions.push(Interruption { chain: runs, place, rsp, bottom });
        self.threads[thread].rsp = bottom - 8;
        self.threads[thread].place = label;
        self.interrupted += 1;
    }

    /// A handler has returned: the thread goes on with what it had interrupted last.
    fn goes_back(&mut self, thread: usize, bottom: u64) -> Result<Step, String> {
        let runs = self.call_of(thread).runs;
        let all = (0..self.interruptions.len()).filter(|&number| self.interruptions[number].chain == runs);
        let all: Vec<usize> = all.collect();
        let one = match self.without {
            Without::Passed => self.random.pick(&all),
            _ => all.last().copied(),
        };
        let Some(number) = one else { return Err("a handler returns to nothing".to_owned()) };
        let one = self.interruptions.remove(number);
        if self.without != Without::Passed && one.bottom != bottom {
            return Err(format!(
                "a handler of {bottom:#x} returns to what another has interrupted, {one:x?}"
            ));
        }
        let live = &mut self.chains[runs].live;
        live.truncate(live.iter().position(|(at, _)| *at <= bottom).unwrap_or(live.len()));
        self.threads[thread].rsp = one.rsp;
        Ok(Step::At(one.place))
    }

    /// Runs all threads. `Err`: what was broken.
    pub fn run(&mut self, steps: u64) -> Result<u64, String> {
        if self.labels.is_empty() {
            return Ok(0);
        }
        for step in 0..steps {
            let thread = self.random.below(THREADS);
            if self.threads[thread].calls.is_empty() && !self.begins(thread) {
                if self.threads.iter().all(|thread| thread.calls.is_empty()) {
                    return Ok(step);
                }
                continue;
            }
            if self.random.one_in(40) {
                self.interrupt(thread);
            }
            match self.step(thread)? {
                Step::At(place) => self.threads[thread].place = place,
                Step::Ends => self.end(thread),
            }
            let now = &self.threads[thread];
            if let Some(call) = now.calls.last() {
                let stack = self.chains[call.runs].stack;
                if now.rsp > top(stack) {
                    return Err(format!("rsp is {:#x} before place {}", now.rsp, now.place));
                }
                if now.rsp < low(stack) + 64 {
                    self.end(thread);
                }
            }
            self.adversary();
        }
        Ok(steps)
    }

    /// The innermost call ends, by a fault or a limit: the context that it runs is lost, its frames are gone, and the gate that it was nested
    /// in returns.
    fn end(&mut self, thread: usize) {
        let call = self.threads[thread].calls.pop().expect("a call in progress");
        self.chains[call.runs].is = Is::Over;
        self.chains[call.own].is = Is::Over;
        self.interruptions.retain(|one| one.chain != call.runs && one.chain != call.own);
        self.back_at_gate(thread);
    }

    /// The innermost call has ended: the gate below it returns to what that call's thread ran.
    fn back_at_gate(&mut self, thread: usize) {
        let Some(call) = self.threads[thread].calls.last() else { return };
        if let Some(&(at, _)) = self.chains[call.runs].live.last() {
            self.threads[thread].rsp = at;
        }
        self.threads[thread].place = usize::MAX; // `ret`
    }

    fn step(&mut self, thread: usize) -> Result<Step, String> {
        let place = self.threads[thread].place;
        if place == usize::MAX {
            return self.pop(thread, place);
        }
        let (rsp, next) = (self.threads[thread].rsp, place + 1);
        Ok(Step::At(match self.program.ops[place] {
            Op::Label | Op::Nop | Op::Int3 => next,
            Op::Shift(by) => {
                self.threads[thread].rsp = rsp.wrapping_add_signed(by.into());
                next
            }
            Op::Open(away) => {
                let wanted = rsp - 32 + 8 * self.random.below(9) as u64;
                if wanted > rsp {
                    away
                } else if self.without == Without::Moved {
                    self.set(wanted, rsp);
                    self.adversary();
                    self.threads[thread].rsp = wanted;
                    next
                } else {
                    self.threads[thread].rsp = wanted;
                    self.adversary();
                    self.set(wanted, rsp);
                    next
                }
            }
            Op::Close(d) => {
                let closed = self.word(rsp.wrapping_add_signed(d.into()));
                let stack = self.chains[self.call_of(thread).runs].stack;
                if !(low(stack)..=top(stack)).contains(&closed) {
                    return Err(format!("rsp is {closed:#x} behind place {place}"));
                }
                self.threads[thread].rsp = closed;
                next
            }
            Op::Call(to) if self.push(thread, next) => to,
            Op::CallLabel if self.push(thread, next) => match self.label() {
                Some(label) => label,
                None => return Ok(Step::Ends),
            },
            Op::Call(_) | Op::CallLabel | Op::Ud2 => return Ok(Step::Ends),
            Op::JumpLabel => match self.label() {
                Some(label) => label,
                None => return Ok(Step::Ends),
            },
            Op::Branch(to) if self.random.one_in(2) => to,
            Op::Branch(_) => next,
            Op::Jump(to) => to,
            Op::Switch(_, away) if self.random.one_in(3) => away,
            Op::Switch(table, _) => self.random.pick(&self.program.tables[table]).expect("entries"),
            Op::Return => return self.pop(thread, place),
            Op::Resume => match self.resume(thread) {
                Some(label) => label,
                None => return Ok(Step::Ends),
            },
            Op::Gate if self.push(thread, next) => return Ok(self.gate(thread)),
            Op::Gate => return Ok(Step::Ends),
        }))
    }

    fn pop(&mut self, thread: usize, place: usize) -> Result<Step, String> {
        let call = self.call_of(thread);
        let rsp = self.threads[thread].rsp;
        let popped = (rsp, self.word(rsp));
        let own = self.chains[call.runs].live.pop();
        if own != Some(popped) {
            return Err(format!("ret at place {place} pops {popped:x?}, not {own:x?}"));
        }
        self.returned += 1;
        match popped.1 {
            BASE => return Ok(Step::Ends), // a fault
            LANDING => return self.goes_back(thread, rsp + 8),
            EXIT if call.runs != call.own => return Err("the exit return address of another call".to_owned()),
            EXIT => {
                self.chains[call.own].is = Is::Over;
                self.threads[thread].calls.pop();
                self.back_at_gate(thread);
                return Ok(Step::At(self.threads[thread].place));
            }
            _ => {}
        }
        self.threads[thread].rsp += 8;
        let site = (popped.1 & 0xffff_ffff) as usize;
        if site >= self.program.ops.len() {
            return Ok(Step::At(self.label().expect("a context's begin"))); // the word was a label's address
        }
        let Some(&(entry, _)) = self.chains[call.runs].live.last() else {
            return Err(format!("nothing is left to return to behind place {site}"));
        };
        let said = self.entry(thread, site);
        if said != Some(entry) {
            return Err(format!("the table says {said:x?} behind place {site}, not {entry:#x}"));
        }
        Ok(Step::At(site))
    }

    fn resume(&mut self, thread: usize) -> Option<usize> {
        let label = self.label()?;
        let mut chain = self.call_of(thread).runs;
        if self.without == Without::Base {
            chain = self.random.below(self.chains.len());
            if self.chains[chain].live.is_empty() || self.chains[chain].is == Is::Over {
                return None;
            }
        }
        if self.chains[chain].live.is_empty() {
            return None;
        }
        let kept = 1 + self.random.below(self.chains[chain].live.len());
        let entry = self.chains[chain].live[kept - 1].0;
        // Without the rule, at any word from here to there.
        let between = (entry.saturating_sub(self.threads[thread].rsp) / 8) as usize;
        self.threads[thread].rsp = match self.without {
            Without::Live => entry - 8 * self.random.below(between + 1) as u64,
            _ => entry,
        };
        self.chains[chain].live.truncate(kept);
        if self.without != Without::Passed {
            self.interruptions.retain(|one| one.chain != chain || one.bottom >= entry);
        }
        Some(label)
    }

    /// What happens behind a gate, whose word has been pushed. In the end rsp is at the word that it returns by.
    fn gate(&mut self, thread: usize) -> Step {
        let call = self.call_of(thread);
        let rsp = self.threads[thread].rsp;
        match self.random.below(9) {
            // Another thread goes on with it, some time.
            8 if self.threads[thread].calls.len() == 1 && call.runs == call.own => {
                self.threads[thread].calls.clear();
                self.handed.push((call, rsp));
            }
            0 | 4 if self.threads[thread].calls.len() < MOST_CALLS => {
                let stack = self.chains[call.runs].stack;
                // Below the red zone, as far as that matters here; without the rule, where this call began.
                let begin = match self.without {
                    Without::Place => self.chains[call.runs].live[0].0 - 8,
                    _ => rsp - 16 - 8 * self.random.below(3) as u64,
                };
                if self.enter(thread, stack, begin).is_some() {
                    return Step::At(self.threads[thread].place);
                }
            }
            1 | 5 => {
                // A new context, if there is a free stack.
                let used: Vec<usize> = self
                    .chains
                    .iter()
                    .filter(|chain| chain.is != Is::Over)
                    .map(|chain| chain.stack)
                    .collect();
                if let Some(stack) = (THREADS..STACKS).find(|stack| !used.contains(stack)) {
                    let base = top(stack);
                    let begin = WORD | 0xffff_0000;
                    self.set(base, BASE);
                    self.set(base - 8, begin);
                    let live = vec![(base, BASE), (base - 8, begin)];
                    let rsp = base - 8;
                    self.chains.push(Chain {
                        stack,
                        is: Is::Suspended,
                        rsp,
                        before: rsp,
                        live,
                        is_context: true,
                    });
                }
            }
            2 | 3 | 6 | 7 => self.switch(thread, call, rsp),
            _ => {}
        }
        Step::At(usize::MAX)
    }

    fn switch(&mut self, thread: usize, call: Call, rsp: u64) {
        let is_allowed = |number: usize| {
            let chain = &self.chains[number];
            let runs_here = self.threads[thread].calls.iter().any(|call| call.runs == number);
            match (chain.is, chain.is_context) {
                (Is::Over, _) => false,
                (_, _) if number == call.runs => false,
                (Is::Suspended, true) => true,
                (Is::Suspended, false) if number == call.own => true,
                (Is::Suspended, false) => {
                    self.without == Without::OwnFrames
                        && self.threads[thread].calls.iter().any(|call| call.own == number)
                }
                (Is::Runs, true) => match self.without {
                    Without::Suspended => !runs_here,
                    Without::LiveGate => runs_here,
                    _ => false,
                },
                (Is::Runs, false) => false,
            }
        };
        let targets: Vec<usize> = (0..self.chains.len()).filter(|&number| is_allowed(number)).collect();
        let Some(target) = self.random.pick(&targets) else { return };
        let left = &mut self.chains[call.runs];
        (left.before, left.rsp) = (left.rsp, rsp);
        left.is = Is::Suspended;
        let taken = &mut self.chains[target];
        taken.is = Is::Runs;
        self.threads[thread].rsp = match self.without {
            Without::Latest => taken.before,
            _ => taken.rsp,
        };
        self.threads[thread].calls.last_mut().expect("a call in progress").runs = target;
        self.switched += 1;
    }
}
