//! What a program does, on a stack whose words below rsp nobody knows: each that the program has not written since rsp came down over it
//! has no value here, and whoever reads one has broken what docs/returns.md proves.
use super::program::{INCREMENT, MULTIPLIER, Op, Program, choice, passes, turns, wanted};

/// How a call ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Returns(u64),
    /// At a trap: r12, r13, r14, and how far rsp is below where it was in the beginning.
    Traps([u64; 4]),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Exit,
    /// Behind the call before this place.
    Site(usize),
    /// A frame word: how far down rsp was.
    Frame(i64),
}

/// A stack from its first word, where the exit return address is, down to rsp. All offsets are from there, downwards.
struct Stack {
    words: Vec<Option<Word>>,
    /// Return words that are still to be popped, outermost first.
    live: Vec<(i64, Word)>,
}

impl Stack {
    fn depth(&self) -> i64 {
        8 * (self.words.len() as i64 - 1)
    }

    /// What comes into reach is unknown, and so is, from now on, what gets out of it.
    fn move_to(&mut self, depth: i64) {
        assert!(depth >= 0 && depth % 8 == 0, "rsp is {depth} below its begin");
        self.words.resize(depth as usize / 8 + 1, None);
    }

    fn read(&self, above: i64) -> Word {
        let at = usize::try_from((self.depth() - above) / 8).expect("a word of the stack");
        self.words[at].expect("a word that has been written")
    }

    fn store(&mut self, word: Word) {
        *self.words.last_mut().expect("a word") = Some(word);
    }

    fn push(&mut self, site: usize) {
        self.move_to(self.depth() + 8);
        self.store(Word::Site(site));
        self.live.push((self.depth(), Word::Site(site)));
    }

    /// Every return pops what its own call has pushed.
    fn pop(&mut self) -> Word {
        let (at, word) = (self.depth(), self.read(0));
        assert_eq!(self.live.pop(), Some((at, word)), "a return");
        if word != Word::Exit {
            self.move_to(at - 8);
        }
        word
    }
}

#[derive(Default)]
pub struct Counts {
    pub steps: u64,
    pub returns: u64,
    pub resumes: u64,
    pub passed: u64,
    pub opens: u64,
    /// Frame words that a walk had to go by.
    pub framed: u64,
}

/// Runs it; the host is not asked for anything here, since nothing of a call depends on what the host does.
pub fn run(program: &Program, seed: u64, steps: u64, counts: &mut Counts) -> End {
    let mut stack = Stack { words: vec![Some(Word::Exit)], live: vec![(0, Word::Exit)] };
    let (mut r12, mut r13, mut r14, mut place) = (seed, 0_u64, steps, 0);
    loop {
        let traps = |stack: &Stack, r13, r14| End::Traps([r12, r13, r14, stack.depth() as u64]);
        let (op, next) = (program.ops[place], place + 1);
        if next == program.ops.len() {
            return traps(&stack, r13, r14);
        }
        r12 = r12.wrapping_mul(MULTIPLIER as u64).wrapping_add(INCREMENT as u64);
        r13 = (r13.rotate_left(7) ^ place as u64).wrapping_add(stack.depth() as u64);
        r14 -= 1;
        counts.steps += 1;
        let traps = |stack: &Stack| End::Traps([r12, r13, r14, stack.depth() as u64]);
        if r14 == 0 {
            return traps(&stack);
        }
        let labels = |[one, other]: [usize; 2]| if turns(r12) { other } else { one };
        place = match op {
            Op::Label | Op::Nop | Op::Again => next,
            Op::Shift(by) => {
                stack.move_to(stack.depth() - i64::from(by));
                next
            }
            Op::Open(away) if wanted(r12) > 0 => away,
            Op::Open(_) => {
                let before = stack.depth();
                // (The same word, if rsp stays: the frame word takes the place of what was there.)
                stack.move_to(before - wanted(r12));
                stack.store(Word::Frame(before));
                counts.opens += 1;
                next
            }
            Op::Close(d) => match stack.read(d.into()) {
                Word::Frame(before) => {
                    stack.move_to(before);
                    next
                }
                other => panic!("{other:?} is no frame word"),
            },
            Op::Call(to) => {
                stack.push(next);
                to
            }
            Op::CallLabel(to) => {
                stack.push(next);
                labels(to)
            }
            Op::JumpLabel(to) => labels(to),
            Op::Branch(to) if turns(r12) => to,
            Op::Branch(_) => next,
            Op::Jump(to) => to,
            Op::Switch([one, other, away]) => match choice(r12) {
                0 => one,
                1 => other,
                _ => away,
            },
            Op::Return => {
                counts.returns += 1;
                match stack.pop() {
                    Word::Site(site) => site,
                    Word::Exit => return End::Returns(r13),
                    word @ Word::Frame(_) => panic!("a return to {word:?}"),
                }
            }
            Op::Int3 | Op::Ud2 => return traps(&stack),
            Op::Resume(label) => {
                let from = (stack.depth() - passes(r12)).max(0);
                let left = stack.live.iter().rposition(|(at, _)| *at <= from).expect("the first function");
                counts.passed += (stack.live.len() - 1 - left) as u64;
                counts.resumes += 1;
                let first = stack.live[left].0 as usize / 8;
                let is_frame = |word: &&Option<Word>| matches!(word, Some(Word::Frame(_)));
                counts.framed += stack.words[first..].iter().filter(is_frame).count() as u64;
                stack.live.truncate(left + 1);
                stack.move_to(stack.live[left].0);
                label
            }
        };
    }
}
