//! Who called whom when a call ended: functions and lines from the fault up to the entry point, and on through the domains
//! that the call was nested in.
//!
//! Nothing is unwound when the call ends: the thread's stacks are copied (`stack_image.rs`), and read when somebody asks.
//! Return addresses are on the control stack, which a module cannot write to, so that none is ever forged; but stale ones lie
//! between frames. Which are live is said by the module's own frame information (`frames.rs`), a proposal that must lead to a
//! return address right behind a call; or, for functions without any (the C library's), by what fits best (`chain.rs`). A module that lies about its frames gets a wrong backtrace of itself, nothing else.
use super::chain::{Called, Chain};
use super::frames::{REGISTERS, RSP, Rule, Rules};
use super::{SourcePlace, StackImage};
use crate::binding::Info;
use crate::domain::Placed;
use crate::fault::Registers;
use lockgate_abi::window;
use std::fmt;

/// Most frames of a domain that are shown.
const MOST_FRAMES: usize = 200;
const WORD: u64 = 8;

/// A function in progress.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Frame {
    /// Address relative to its module's image: of the instruction in the innermost frame, else where the function goes on.
    pub address: u64,
    /// Function, file and line.
    #[serde(flatten)]
    pub place: SourcePlace,
    /// The compiler put the function's code into its caller's, the next frame.
    pub inlined: bool,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourcePlace { function, file, line, .. } = &self.place;
        if !self.inlined {
            return self.place.fmt(f);
        }
        write!(f, "{}", function.as_deref().unwrap_or("?"))?;
        if let (Some(file), Some(line)) = (file, line) {
            write!(f, " at {file}:{line}")?;
        }
        write!(f, ", inlined")
    }
}

/// The functions in progress of one call of a domain, innermost first.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DomainFrames {
    /// Name of the domain.
    pub domain: String,
    /// Name of its module.
    pub module: String,
    /// What was called from outside.
    pub entry_point: String,
    /// Its frames.
    pub frames: Vec<Frame>,
    /// The frames go up to the entry point; if not, the outer ones are missing.
    pub complete: bool,
}

/// The calls in progress on a thread, innermost first. Host functions that lie between domains are not shown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Backtrace {
    /// A call of a domain each.
    pub calls: Vec<DomainFrames>,
}

impl fmt::Display for Backtrace {
    /// A line for each frame, and one for each entry into a domain.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = 0;
        for (outer, call) in self.calls.iter().enumerate() {
            if outer > 0 {
                writeln!(f)?;
            }
            for frame in &call.frames {
                writeln!(f, "{number:>4}: {frame}")?;
                number += 1;
            }
            if !call.complete {
                writeln!(f, "      (frames further out were not kept)")?;
            }
            write!(f, "      entered at {}, domain {} ({})", call.entry_point, call.domain, call.module)?;
        }
        Ok(())
    }
}

/// Raw facts of one call of a domain.
pub(crate) struct Entered {
    pub domain: String,
    pub entry_point: String,
    /// As [`in_image`](Entered::in_image) counts.
    pub(super) entry_address: u64,
    /// Of its window: its module's first.
    images: Vec<Placed>,
    /// `W`.
    window: u64,
    pub registers: Registers,
    pub(super) stack: StackImage,
}

/// What is kept of a call that ended: it, and those that it was nested in.
pub(crate) struct Captured {
    pub call: Entered,
    /// Innermost first.
    pub outer: Vec<Entered>,
}

impl Captured {
    /// Reads the frames.
    pub(crate) fn backtrace(&self) -> Backtrace {
        Backtrace { calls: [&self.call].into_iter().chain(&self.outer).map(Entered::frames).collect() }
    }
}

impl Entered {
    /// A call through `binding` that began with its stack pointer at `entry`, with its stacks as they are now.
    pub(crate) fn new(binding: &Info, registers: Registers, entry: u64) -> Entered {
        let domain = &binding.core;
        Entered {
            domain: domain.name().to_owned(),
            entry_point: binding.signature.name.clone(),
            entry_address: binding.address - window::IMAGE,
            images: domain.images(),
            window: domain.base(),
            registers,
            stack: StackImage::take(domain.stride(), domain.stack_size(), registers.rsp, entry),
        }
    }

    /// Name of the domain's module.
    pub(crate) fn module(&self) -> &str {
        self.images[0].module.name()
    }

    /// Address relative to the image of the domain's module, if it lies in there or in that of a module that joined.
    pub(crate) fn in_image(&self, address: u64) -> Option<u64> {
        let at = address.checked_sub(self.window + window::IMAGE)?;
        self.image_of(at).map(|_| at)
    }

    /// The image that such an address lies in, and the address relative to that.
    fn image_of(&self, at: u64) -> Option<(&Placed, u64)> {
        let offset = window::IMAGE.checked_add(at)?;
        self.images.iter().find(|image| image.holds(offset)).map(|image| (image, offset - image.at))
    }

    /// Function and line at such an address.
    pub(crate) fn place(&self, at: u64) -> Option<SourcePlace> {
        let (image, own) = self.image_of(at)?;
        Some(image.module.symbols().at(own))
    }

    /// Copies code at such an address.
    pub(super) fn read_code(&self, at: u64, into: &mut [u8]) -> Option<()> {
        let (image, own) = self.image_of(at)?;
        image.module.image().read(own, into)
    }

    /// Whether a gate, not an instruction, ended the call: rip is a return address.
    pub(crate) fn after_call(&self) -> bool {
        self.registers.rflags == 0
    }

    /// Where the function at such an address starts.
    pub(super) fn start_of(&self, at: u64) -> Option<u64> {
        let (image, own) = self.image_of(at)?;
        image.module.symbols().start_of(own).map(|start| start + (at - own))
    }

    /// What the call right before the return address `word` calls; `None` if there is none: `word` is no return address.
    /// (Nor is that of a gate's call in a frame further out, because gates begin calls of their own.)
    pub(super) fn called(&self, word: u64) -> Option<Called> {
        const DIRECT: u64 = 5;
        let at = self.in_image(word)?;
        let mut before = [0; DIRECT as usize];
        self.read_code(at.checked_sub(DIRECT)?, &mut before)?;
        match before {
            [0xe8, a, b, c, d] => {
                let distance = i32::from_le_bytes([a, b, c, d]);
                Some(Called::Function(at.wrapping_add_signed(distance.into())))
            }
            [.., 0x41, 0xff, 0xd3] => Some(Called::Any), // call *%r11, the end of unit U1
            _ => None,
        }
    }

    fn frames(&self) -> DomainFrames {
        let mut walk = Walk::new(self);
        let mut frames = Vec::new();
        let mut complete = false;
        for _ in 0..MOST_FRAMES {
            frames.extend(walk.named());
            match walk.step() {
                Step::Caller => {}
                Step::Entry => {
                    complete = true;
                    break;
                }
                Step::Lost => break,
            }
        }
        DomainFrames {
            domain: self.domain.clone(),
            module: self.module().to_owned(),
            entry_point: self.entry_point.clone(),
            frames,
            complete,
        }
    }
}

/// Where one step outwards has led.
enum Step {
    Caller,
    /// There is none: the function is the entry point.
    Entry,
    Lost,
}

/// A walk from the innermost frame outwards.
struct Walk<'a> {
    call: &'a Entered,
    pc: u64,
    /// The instruction is the one before `pc`.
    after_call: bool,
    /// By DWARF number, as far as they are known.
    registers: [Option<u64>; REGISTERS],
    /// Made when first needed.
    chain: Option<Chain>,
}

impl<'a> Walk<'a> {
    fn new(call: &'a Entered) -> Walk<'a> {
        let Registers { rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, .. } = call.registers;
        let Registers { r8, r9, r10, r11, r12, r13, r14, r15, rip, .. } = call.registers;
        let all = [rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15];
        // Gates note no other register of the module's.
        let known = |number| !call.after_call() || number == RSP;
        let registers = std::array::from_fn(|number| known(number).then_some(all[number]));
        Walk { call, pc: rip, after_call: call.after_call(), registers, chain: None }
    }

    /// Image-relative address of the instruction that the frame is at.
    fn instruction(&self) -> Option<u64> {
        let at = self.call.in_image(self.pc)?;
        Some(if self.after_call { at.saturating_sub(1) } else { at })
    }

    /// The frame by names, with what was inlined in it. Nothing outside of the image has any.
    fn named(&self) -> Vec<Frame> {
        let (Some(address), Some(instruction)) = (self.call.in_image(self.pc), self.instruction()) else {
            return Vec::new();
        };
        let Some((image, own)) = self.call.image_of(instruction) else { return Vec::new() };
        let mut places = image.module.symbols().frames(own);
        let start = instruction - own;
        if let Some(whole) = places.last_mut() {
            whole.offset += address - instruction;
        }
        let outermost = places.len() - 1;
        let frame = |(depth, place)| Frame { address: address - start, place, inlined: depth < outermost };
        places.into_iter().enumerate().map(frame).collect()
    }

    fn step(&mut self) -> Step {
        let image = self.instruction().and_then(|at| self.call.image_of(at));
        let rules = image.and_then(|(image, own)| image.module.frames_at(own));
        let described = rules.and_then(|rules| self.follow(&rules));
        let Some((slot, registers)) = described.or_else(|| self.search()) else { return Step::Lost };
        if slot == self.call.stack.exit() {
            return Step::Entry;
        }
        let Some(returns) = self.call.stack.word(slot) else { return Step::Lost };
        (self.pc, self.after_call, self.registers) = (returns, true, registers);
        Step::Caller
    }

    /// The place of the return address, and the caller's registers, as the frame information says, if what it says leads
    /// outwards to a return address.
    fn follow(&self, rules: &Rules) -> Option<(u64, [Option<u64>; REGISTERS])> {
        let frame = self.registers[rules.frame.0]?.wrapping_add_signed(rules.frame.1);
        let slot = frame.wrapping_add_signed(rules.returns);
        let stack = &self.call.stack;
        let is_outwards = slot >= self.registers[RSP]? && slot % WORD == 0;
        let is_live = slot == stack.exit() || self.call.called(stack.word(slot)?).is_some();
        if !is_outwards || !(slot == stack.exit() || stack.is_control(slot)) || !is_live {
            return None;
        }
        let mut registers = std::array::from_fn(|number| match rules.caller[number] {
            Rule::Unknown => None,
            Rule::Same => self.registers[number],
            Rule::Is(value) => Some(frame.wrapping_add_signed(value)),
            Rule::Saved(at) => stack.word(frame.wrapping_add_signed(at)),
        });
        registers[RSP] = Some(slot.checked_add(WORD)?);
        Some((slot, registers))
    }

    /// The place of the return address of a function without frame information.
    fn search(&mut self) -> Option<(u64, [Option<u64>; REGISTERS])> {
        let start = self.instruction().and_then(|at| self.call.start_of(at));
        let chain = self.chain.get_or_insert_with(|| Chain::new(self.call));
        let slot = chain.next(start, self.registers[RSP]?)?;
        let mut registers = [None; REGISTERS];
        registers[RSP] = Some(slot.checked_add(WORD)?);
        Some((slot, registers))
    }
}
