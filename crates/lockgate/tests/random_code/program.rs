//! Random machine code that the verifier accepts, with every way of moving rsp and of going elsewhere that it knows. Each step is a function
//! of three registers and of rsp, so that whoever runs the same program comes to the same end.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use support::Random;

/// Where rsp is (docs/returns.md).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    S(i32),
    C(i32, i32),
}

const ENTRY: State = State::S(0);

/// What stands at one place of a program; targets are numbers of places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Label,
    Nop,
    /// Adds to rsp.
    Shift(i32),
    /// U2, to [`wanted`]; its branch, and otherwise the next place.
    Open(usize),
    Close(i32),
    Call(usize),
    /// U1, to one of two labels, by [`turns`].
    CallLabel([usize; 2]),
    JumpLabel([usize; 2]),
    /// There, if it [`turns`].
    Branch(usize),
    Jump(usize),
    /// U4: to one of two places, or to the third, by [`choice`].
    Switch([usize; 3]),
    Return,
    Int3,
    Ud2,
    /// To a label, with rsp = E of the function that [`passes`] says.
    Resume(usize),
    /// The host, which may call this program, or another one, again.
    Again,
}

impl Op {
    fn ends(self) -> bool {
        matches!(self, Op::JumpLabel(_) | Op::Jump(_) | Op::Switch(_) | Op::Return | Op::Ud2)
    }
}

/// What r12 becomes at each place: a linear congruential generator, whose high bits are good.
pub const MULTIPLIER: i64 = 0x5851_f42d;
pub const INCREMENT: i64 = 0x1405_7b7f;

/// How far above rsp a frame is asked to open; beyond it, which is refused, if this is positive.
pub const fn wanted(r12: u64) -> i64 {
    16 - 8 * (r12 >> 60) as i64
}

/// The host is called again for one argument in so many.
pub const NESTS: u64 = 16;

pub const fn turns(r12: u64) -> bool {
    (r12 as i64) < 0
}

pub const fn choice(r12: u64) -> u64 {
    r12 >> 62
}

/// How far above rsp *resume* is asked to look from; no further than E of the first function.
pub const fn passes(r12: u64) -> i64 {
    8 * (r12 >> 58) as i64
}

pub struct Program {
    /// The last one is `ud2`, and is no step.
    pub ops: Vec<Op>,
}

const DEEPEST: i32 = 400;

impl Program {
    pub fn new(random: &mut Random) -> Program {
        let end = 20 + random.below(70);
        let (mut states, mut ops) = (vec![ENTRY], Vec::new());
        while ops.len() < end {
            let (op, next) = match ops.is_empty() {
                true => (Op::Label, ENTRY),
                false => Program::op(random, states[ops.len()]),
            };
            ops.push(op);
            states.push(if op.ends() { ENTRY } else { next });
        }
        // Few ways lead to the end.
        if let Some(last) = ops.last_mut().filter(|op| !op.ends()) {
            *last = Op::Jump(0);
        }
        ops.push(Op::Ud2);
        let mut places: BTreeMap<(i32, i32), Vec<usize>> = BTreeMap::new();
        let key = |state: State| match state {
            State::S(o) => (o, -1),
            State::C(b, d) => (b, d),
        };
        for (place, state) in states[..end].iter().enumerate() {
            places.entry(key(*state)).or_default().push(place);
        }
        let labels: Vec<usize> = (0..end).filter(|&place| ops[place] == Op::Label).collect();
        for place in 0..end {
            // (The end is a trap, to which every state may lead.)
            let mut to = |state: State| {
                let found = places.get(&key(state)).and_then(|places| random.pick(places));
                found.filter(|to| *to != place && random.below(400) != 0).unwrap_or(end)
            };
            let state = states[place];
            ops[place] = match ops[place] {
                Op::Open(_) => Op::Open(to(state)),
                Op::Branch(_) => Op::Branch(to(state)),
                Op::Jump(_) => Op::Jump(to(state)),
                Op::Switch(_) => Op::Switch([to(state), to(state), to(state)]),
                Op::Call(_) => Op::Call(to(ENTRY)),
                Op::CallLabel(_) => Op::CallLabel([(); 2].map(|()| random.pick(&labels).unwrap_or(0))),
                Op::JumpLabel(_) => Op::JumpLabel([(); 2].map(|()| random.pick(&labels).unwrap_or(0))),
                Op::Resume(_) => Op::Resume(random.pick(&labels).unwrap_or(0)),
                op => op,
            };
        }
        Program { ops }
    }

    /// Something that may stand in `state`, and the state behind it.
    fn op(random: &mut Random, state: State) -> (Op, State) {
        let (depth, shifted): (i32, fn(State, i32) -> State) = match state {
            State::S(o) => (o, |state, by| if let State::S(o) = state { State::S(o - by) } else { state }),
            State::C(_, d) => {
                (d, |state, by| if let State::C(b, d) = state { State::C(b, d - by) } else { state })
            }
        };
        let at_entry = state == ENTRY;
        match (random.below(20), state) {
            (0 | 1, _) if at_entry => (Op::Label, state),
            (2, _) if at_entry => (Op::Return, state),
            (4, _) if at_entry && random.below(2) == 0 => (Op::JumpLabel([0; 2]), state),
            (3 | 5 | 6, _) if depth < DEEPEST => {
                let by = -8 * (1 + random.below(4) as i32);
                (Op::Shift(by), shifted(state, by))
            }
            // Back to where it returns from, and where labels are: oftener than not all of it.
            (7..=9, _) if depth > 0 => {
                let by = match random.below(4) {
                    0 => 8 * (1 + random.below(depth as usize / 8) as i32),
                    _ => depth,
                };
                (Op::Shift(by), shifted(state, by))
            }
            (0 | 10 | 11 | 17, State::S(o)) if o > 0 => (Op::Open(0), State::C(o, 0)),
            (10 | 11, State::C(b, d)) => (Op::Close(d), State::S(b)),
            (12 | 13, _) => (Op::Call(0), state),
            (14, _) => (Op::CallLabel([0; 2]), state),
            (15, _) => (Op::Branch(0), state),
            (16, _) if random.below(6) == 0 => (Op::Jump(0), state),
            (16, _) if random.below(2) == 0 => (Op::Switch([0; 3]), state),
            (17, _) if random.below(3) == 0 => (Op::Again, state),
            (18, _) if !at_entry || random.below(8) == 0 => (Op::Resume(0), state),
            (19, _) if random.below(60) == 0 => (Op::Int3, state),
            (19, _) if random.below(60) == 0 => (Op::Ud2, state),
            _ => (Op::Nop, state),
        }
    }

    fn assemble(&self, number: usize, text: &mut String) {
        let at = |place: usize| format!(".L{number}_{place}");
        let either = |text: &mut String, [one, other]: [usize; 2]| {
            let (one, other) = (at(one), at(other));
            let _ = writeln!(text, "lea {one}(%rip),%rax\nlea {other}(%rip),%rcx");
            let _ = writeln!(text, "test %r12,%r12\ncmovs %rcx,%rax");
        };
        let end = self.ops.len() - 1;
        for (place, op) in self.ops.iter().enumerate() {
            let _ = writeln!(text, "{}:", at(place));
            if *op == Op::Label {
                text.push_str("endbr64\n");
            }
            if place != end {
                let _ = writeln!(text, "imul ${MULTIPLIER},%r12,%r12\nadd ${INCREMENT},%r12");
                let _ = writeln!(text, "rol $7,%r13\nxor ${place},%r13");
                let _ = writeln!(text, "mov %r15,%rax\nsub %rsp,%rax\nadd %rax,%r13");
                let _ = writeln!(text, "dec %r14\njz {}", at(end));
            }
            let _ = match *op {
                Op::Label => Ok(()),
                Op::Nop => writeln!(text, "nop"),
                Op::Shift(by) if by % 16 == 0 => writeln!(text, "lea {by}(%rsp),%rsp"),
                Op::Shift(by) => writeln!(text, "add ${by},%rsp"),
                Op::Open(away) => {
                    text.push_str("mov %r12,%rax\nshr $60,%rax\nshl $3,%eax\nneg %rax\n");
                    text.push_str("lea 16(%rsp,%rax),%r11\nxor %rsp,%r11\nand $0xfffff8,%r11d\n");
                    let _ = writeln!(text, "xor %rsp,%r11\ncmp %rsp,%r11\nja {}", at(away));
                    writeln!(text, ".byte 0x4c,0x87,0xdc\nmov %r11,(%rsp)")
                }
                Op::Close(d) => writeln!(text, "mov {d}(%rsp),%rsp"),
                Op::Call(to) => writeln!(text, "call {}", at(to)),
                Op::CallLabel(labels) => {
                    either(text, labels);
                    checked(text, "call", &at(end))
                }
                Op::JumpLabel(labels) => {
                    either(text, labels);
                    checked(text, "jmp", &at(end))
                }
                Op::Branch(to) => writeln!(text, "test %r12,%r12\njs {}", at(to)),
                Op::Jump(to) => writeln!(text, "jmp {}", at(to)),
                Op::Switch([one, other, away]) => {
                    let table = format!(".Ltable{number}_{place}");
                    let [one, other, away] = [one, other, away].map(at);
                    let _ = writeln!(text, ".pushsection .rodata\n.p2align 2\n{table}:");
                    let _ = writeln!(text, ".long {one}-{table},{other}-{table}\n.popsection");
                    let _ = writeln!(text, "mov %r12,%rax\nshr $62,%rax\ncmp $1,%rax\nja {away}");
                    writeln!(
                        text,
                        "lea {table}(%rip),%rcx\nmovslq (%rcx,%rax,4),%rdx\nadd %rcx,%rdx\njmp *%rdx"
                    )
                }
                Op::Return => writeln!(text, "mov %r13,%rax\nret"),
                Op::Int3 => writeln!(text, "int3"),
                Op::Ud2 => writeln!(text, "ud2"),
                Op::Resume(label) => {
                    text.push_str("mov %r12,%rax\nshr $58,%rax\nlea (%rsp,%rax,8),%r11\n");
                    let _ = writeln!(text, "cmp %r15,%r11\ncmova %r15,%r11\nlea {}(%rip),%r10", at(label));
                    writeln!(text, ".byte 0x65,0xff,0x14,0x25\n.long {RESUME}")
                }
                Op::Again => writeln!(text, "mov %r12,%rdi\ncall again"),
            };
        }
    }
}

const RESUME: u64 = lockgate_abi::window::GATE_TABLE + 8 * lockgate_abi::gate::RESUME;

/// U1 with the label in eax.
fn checked(text: &mut String, how: &str, trap: &str) -> std::fmt::Result {
    let _ = writeln!(text, "mov %gs:(%eax),%r11d\nadd $0x05e1f00d,%r11d\njne {trap}\nmov %eax,%r11d");
    writeln!(text, ".byte 0x65,0x67,0x4c,0x03,0x1c,0x25,0x08,0x00,0x01,0x00\n{how} *%r11")
}

/// A module of all of them. `run(which, seed, steps)` begins at the first place of one.
pub fn module(programs: &[Program]) -> String {
    let mut text = String::from(".text\n.globl run\n.type run,@function\nrun: endbr64\n");
    text.push_str("mov %rsp,%r15\nmov %rsi,%r12\nmov %rdx,%r14\nxor %r13d,%r13d\n");
    text.push_str("lea .Lbegins(%rip),%rcx\nmovslq %gs:(%ecx,%edi,4),%rax\nadd %rcx,%rax\n");
    let _ = checked(&mut text, "jmp", "1f");
    text.push_str("1: ud2\n");
    for (number, program) in programs.iter().enumerate() {
        program.assemble(number, &mut text);
    }
    text.push_str(".section .rodata\n.p2align 2\n.Lbegins:\n");
    for number in 0..programs.len() {
        let _ = writeln!(text, ".long .L{number}_0-.Lbegins");
    }
    text
}
