//! Whole programs of random accepted code, single-stepped: after each step, everything must be where the model says.
//!
//! The window is mapped as a domain's is, but completely: header, gate table, code and constants can not be written, everything else can, but for
//! the null guard and the guards of one thread's stacks. Outside, nothing is mapped but that thread's control stack.
//!
//! Calls are noted, and each `ret` must pop the word that its own call pushed (docs/returns.md), while words below rsp are rewritten.

use crate::adversarial::{Adversarial, Generator, Place, TABLE};
use crate::machine_sys::{Access, Component, End, Machine, Registers};
use crate::semantics::Outcome as Steps;
use crate::text;
use anyhow::Result;
use iced_x86::{DecoderOptions, FlowControl};
use lockgate_abi::{PAGE, code, gate, header, stack, window};
use lockgate_verify::{Module, Reading, Report, Segment, SegmentKind, verify};
use serde::{Deserialize, Serialize};

/// What came of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Programs made.
    pub programs: u64,
    /// Programs that the verifier rejected (by chance).
    pub refused: u64,
    /// Runs of programs with random registers.
    pub runs: u64,
    /// Steps and violations.
    pub steps: Steps,
}

impl Outcome {
    /// Adds what another process found.
    pub fn add(&mut self, other: Outcome) {
        self.programs += other.programs;
        self.refused += other.refused;
        self.runs += other.runs;
        self.steps.add(other.steps);
    }
}

/// The image: code at its start, then constants, then data.
const TEXT: usize = 2 * PAGE as usize;
const CONSTANTS: u64 = TEXT as u64;
const DATA: u64 = CONSTANTS + PAGE;
const IMAGE_END: u64 = DATA + 16 * PAGE;
const PLACE: Place = Place { address: 0, size: TEXT, table: CONSTANTS, image_end: IMAGE_END };

/// The thread's slot, and the part of it that is mapped: enough for rsp to go astray in.
const SLOT: u64 = 3 * stack::SLOT;
const USABLE: u64 = 2 << 20;
const CONTROL: u64 = window::CONTROL + SLOT;
const DATA_STACK: u64 = window::STACKS + SLOT;

/// Runs of one program, and the longest run.
const RUNS: u64 = 12;
const STEPS: u64 = 400;

const RSP: usize = 4;
/// `xchg %r11,%rsp`, in unit U2.
const SLOT_MOVE: [u8; 3] = [0x4c, 0x87, 0xdc];
const RET: u8 = 0xc3;
const XGETBV: [u8; 3] = [0x0f, 0x01, 0xd0];
const ARITHMETIC_FLAGS: u64 = 0x8d5;
const RESUME_FLAG: u64 = 0x1_0000;
const MXCSR_STATUS: u32 = 0x3f;
/// Vectors of exceptions that accepted code may raise: division, breakpoint, undefined, protection (alignment, reserved bits), x87, SIMD.
const EXCEPTIONS: [u64; 6] = [0, 3, 6, 13, 16, 19];
const PROTECTION: u64 = 13;

struct World {
    machine: Machine,
    generator: Generator,
    outcome: Outcome,
}

/// Programs that no verifier accepts, and that must be noticed when they run. A harness that cannot fail proves nothing.
const CONTROLS: &[(&str, &[u8])] = &[
    ("a load from anywhere", &[0x8b, 0x08]),
    ("a store beside the window", &[0x65, 0x48, 0x89, 0x08]),
    ("rsp from a register", &[0x48, 0x89, 0xc4]),
    ("rsp not a multiple of 8", &[0x48, 0x83, 0xc4, 0x04]),
    ("rsp going astray", &[0x48, 0x81, 0xec, 0, 0, 1, 0, 0xeb, 0xf7]),
    ("a jump to anywhere", &[0xff, 0xe0]),
    ("a jump into an instruction", &[0xeb, 0x01, 0xb8, 0x90, 0x90, 0x90, 0x90]),
    ("a word on the control stack", &[0x50]),
    ("a return address changed", &[0x48, 0x83, 0x04, 0x24, 0x01]),
    ("a return through a word of its own frame", &[0x48, 0x83, 0xec, 0x08, 0xc3]),
    ("a return behind a step too far", &[0x48, 0x83, 0xc4, 0x08, 0xc3]),
    ("a frame that is closed and was never opened", &[0x48, 0x83, 0xec, 0x40, 0x48, 0x8b, 0x24, 0x24, 0xc3]),
    ("the direction flag", &[0xfd]),
    ("the control stack's guard jumped over", &[0x48, 0x8b, 0x84, 0x24, 0, 0, 0, 0x10]),
    ("x87, not in the report", &[0xd9, 0xe8]),
    ("ymm, not in the report", &[0xc5, 0xfc, 0x5b, 0xc0, 0xc5, 0xfc, 0xc2, 0xc0, 0x0f]),
    ("a callee-saved register, not in the report", &[0x48, 0xff, 0xc3]),
];

/// Steps through programs until so many steps are made. In a process of its own.
///
/// # Errors
/// The kernel refuses memory or handlers.
pub fn run(steps: u64, seed: u64) -> Result<Outcome> {
    let mut world =
        World { machine: window()?, generator: Generator::new(seed), outcome: Outcome::default() };
    world.controls()?;
    while world.outcome.steps.cases < steps {
        let adversarial = world.generator.make(&PLACE);
        world.outcome.programs += 1;
        match verify(&module(&adversarial)) {
            Ok(report) => world.program(&adversarial, &report)?,
            Err(_) => world.outcome.refused += 1,
        }
    }
    Ok(world.outcome)
}

/// A window as described above, without a program.
fn window() -> Result<Machine> {
    const UNIT: u64 = 2 << 20;
    let mut machine = Machine::new()?;
    machine.map_repeated(0, window::SIZE, UNIT)?;
    machine.map(0, window::NULL_GUARD, Access::None)?;
    // Header and gate table; every gate is `ret`.
    machine.map(window::HEADER, window::GATE_TABLE_END - window::HEADER, Access::Write)?;
    machine.write(header::W, &machine.base().to_le_bytes());
    machine.map(window::THUNKS, PAGE, Access::Execute)?;
    machine.write(window::THUNKS, &[0xc3]);
    machine.protect(window::THUNKS, PAGE, Access::Code)?;
    for slot in 0..gate::SLOTS {
        let thunk = machine.base() + window::THUNKS;
        machine.write(window::GATE_TABLE + 8 * slot, &thunk.to_le_bytes());
    }
    machine.protect(window::HEADER, window::GATE_TABLE_END - window::HEADER, Access::Read)?;
    // One thread: both stacks in the same place of their slots.
    machine.map(DATA_STACK, stack::SLOT, Access::None)?;
    for slot in [DATA_STACK, CONTROL] {
        machine.map(slot + stack::TOP - USABLE, USABLE, Access::Write)?;
    }
    Ok(machine)
}

fn module(adversarial: &Adversarial) -> Module {
    let segment = |kind, address, size, bytes| Segment { kind, address, size, bytes };
    let mut constants = adversarial.table.clone();
    constants.resize(PAGE as usize, 0);
    let segments = vec![
        segment(SegmentKind::Code, 0, TEXT as u64, adversarial.text.clone()),
        segment(SegmentKind::Constants, CONSTANTS, PAGE, constants),
        segment(SegmentKind::Data, DATA, IMAGE_END - DATA, vec![]),
    ];
    text::module(segments, IMAGE_END, CONSTANTS)
}

impl World {
    /// Each control must be noticed.
    fn controls(&mut self) -> Result<()> {
        const ATTEMPTS: usize = 4;
        for (what, code) in CONTROLS {
            let mut text = code.to_vec();
            text.resize(TEXT, 0xcc);
            let adversarial = Adversarial {
                text,
                table: vec![0; TABLE],
                starts: vec![0],
                entries: vec![0],
                returns: vec![],
            };
            let before = std::mem::take(&mut self.outcome);
            for _ in 0..ATTEMPTS {
                self.program(&adversarial, &Report::default())?;
            }
            if std::mem::replace(&mut self.outcome, before).steps.violations == 0 {
                self.outcome.steps.violate(format!("not noticed: {what}"), format!("{code:02x?}"));
            }
        }
        Ok(())
    }

    fn program(&mut self, adversarial: &Adversarial, report: &Report) -> Result<()> {
        let machine = &mut self.machine;
        machine.map(window::IMAGE, DATA, Access::Execute)?;
        machine.write(window::IMAGE, &adversarial.text);
        machine.write(window::IMAGE + CONSTANTS, &adversarial.table[..TABLE]);
        machine.protect(window::IMAGE, TEXT as u64, Access::Code)?;
        machine.protect(window::IMAGE + CONSTANTS, PAGE, Access::Read)?;
        self.stale_frames(adversarial);
        for _ in 0..RUNS {
            self.outcome.runs += 1;
            self.run(adversarial, report);
        }
        self.control_stack(adversarial);
        Ok(())
    }

    /// What code might return to, or take for a frame word, everywhere on the control stack, as of calls long ago.
    fn stale_frames(&mut self, adversarial: &Adversarial) {
        let words: Vec<u8> = (0..USABLE / 8).flat_map(|_| self.garbage(adversarial).to_le_bytes()).collect();
        self.machine.write(CONTROL + stack::TOP - USABLE, &words);
    }

    fn garbage(&mut self, adversarial: &Adversarial) -> u64 {
        let (base, random) = (self.machine.base(), &mut self.generator.random);
        if adversarial.returns.is_empty() || random.one_in(2) {
            return base + CONTROL + stack::TOP - 8 - (random.below(USABLE) & !7);
        }
        base + window::IMAGE + *random.of(&adversarial.returns) as u64
    }

    /// One run from a random unit where functions begin, until it faults, has returned, or has made enough steps.
    fn run(&mut self, adversarial: &Adversarial, report: &Report) {
        let mut registers = self.registers(adversarial);
        let first = registers.clone();
        let base = self.machine.base();
        // Where return words were pushed, and what they say. The outermost one goes nowhere.
        let mut live = vec![(registers.general[RSP], 0)];
        self.machine.write(live[0].0 - base, &[0; 8]);
        for _ in 0..STEPS {
            let before = (registers.general, registers.rip);
            let end = self.machine.step(&mut registers);
            self.outcome.steps.cases += 1;
            let returned = self.returned(adversarial, before.1) && registers.rip != before.1;
            let back = (before.0[RSP], registers.rip);
            if returned && live.pop() != Some(back) {
                self.violation("return", adversarial, before, &registers, end);
                break;
            }
            if !(returned && live.is_empty())
                && let Some(what) = self.wrong(adversarial, before, &registers, end)
            {
                self.violation(what, adversarial, before, &registers, end);
            }
            if end != End::Stepped || live.is_empty() {
                self.outcome.steps.faults += u64::from(end != End::Stepped);
                break;
            }
            if let Some(behind) = self.called(adversarial, before, &registers) {
                live.push((registers.general[RSP], behind));
            }
            self.below(adversarial, registers.general[RSP]);
        }
        if let Some(what) = unreported(&first, &registers, report) {
            self.violation(what, adversarial, (first.general, first.rip), &registers, End::Stepped);
        }
    }

    /// Whether a step from here is a return: the module's, or a gate's.
    fn returned(&self, adversarial: &Adversarial, rip: u64) -> bool {
        let base = self.machine.base();
        let text =
            adversarial.text.get(rip.wrapping_sub(base + window::IMAGE) as usize..).unwrap_or_default();
        text.first() == Some(&RET) || rip == base + window::THUNKS
    }

    /// The place behind the call that the step was, if it was one.
    fn called(&self, adversarial: &Adversarial, before: ([u64; 16], u64), after: &Registers) -> Option<u64> {
        let text =
            adversarial.text.get(before.1.wrapping_sub(self.machine.base() + window::IMAGE) as usize..)?;
        let instruction = iced_x86::Decoder::new(64, text, DecoderOptions::NONE).decode();
        let calls = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        (calls && after.general[RSP] == before.0[RSP] - 8).then(|| before.1 + instruction.len() as u64)
    }

    /// Now and then, writes below rsp: handlers may.
    fn below(&mut self, adversarial: &Adversarial, rsp: u64) {
        const WORDS: u64 = 24;
        let at = rsp.wrapping_sub(self.machine.base());
        let usable = CONTROL + stack::TOP - USABLE + 8 * WORDS..=CONTROL + stack::TOP;
        if usable.contains(&at) && self.generator.random.one_in(4) {
            let words: Vec<u8> = (0..WORDS).flat_map(|_| self.garbage(adversarial).to_le_bytes()).collect();
            self.machine.write(at - 8 * WORDS, &words);
        }
    }

    fn registers(&mut self, adversarial: &Adversarial) -> Registers {
        let random = &mut self.generator.random;
        let mut registers = self.machine.registers();
        for register in &mut registers.general {
            *register = match random.below(8) {
                0..=2 => random.word(),
                3..=5 => random.below(1 << 32) & !63,
                6 => random.below(64),
                _ => window::IMAGE + *random.of(&adversarial.starts) as u64,
            };
        }
        // Sometimes near an end of the stack.
        let top = self.machine.base() + CONTROL + stack::TOP;
        let down = match random.below(5) {
            0 => random.below(512),
            1 => USABLE - random.below(512) - 8,
            _ => random.below(USABLE - 8), // the word at rsp is mapped: a call has pushed it
        };
        registers.general[RSP] = (top - 8 - down) & !7;
        registers.rip = self.machine.base() + window::IMAGE + *random.of(&adversarial.entries) as u64;
        registers.extended.reset_x87_and_mxcsr();
        registers
    }

    /// What a step did that it must not.
    fn wrong(
        &self,
        adversarial: &Adversarial,
        before: ([u64; 16], u64),
        after: &Registers,
        end: End,
    ) -> Option<&'static str> {
        let base = self.machine.base();
        let slot = base + CONTROL..base + CONTROL + stack::SLOT;
        let offset = |rip: u64| rip.wrapping_sub(base + window::IMAGE) as usize;
        let text = adversarial.text.get(offset(before.1)..).unwrap_or_default();
        match end {
            End::PageFault(at) => {
                // Window, with an access over its end; the guards of the control stack; the end of the outermost frame's `ret`.
                let inside =
                    at.wrapping_sub(base) < window::SIZE + u64::from(code::MAX_ACCESS) || slot.contains(&at);
                let zero = at == 0 && after.rip == 0;
                return (!inside && !zero).then_some("page fault elsewhere");
            }
            End::Exception(vector) if !EXCEPTIONS.contains(&vector) => return Some("exception"),
            End::Exception(PROTECTION) if !may_protect(text) => return Some("protection fault"),
            End::Exception(_) | End::Stepped => (),
        }
        // Astray by T + D at most, in its own slot, and never above where a function began.
        let astray = u64::from(code::MAX_PROBE + code::MAX_MOVE);
        let usable = slot.start + stack::TOP - USABLE - astray..=slot.start + stack::TOP;
        let rsp = after.general[RSP];
        // In U2, anywhere in the slot, until the store that follows.
        let astray = if text.starts_with(&SLOT_MOVE) { !slot.contains(&rsp) } else { !usable.contains(&rsp) };
        if astray || !rsp.is_multiple_of(8) {
            return Some("rsp");
        }
        if after.flags & !(ARITHMETIC_FLAGS | RESUME_FLAG | 0x202) != 0 {
            return Some("flags");
        }
        // Forwards inside a unit, to the start of one, or through a gate.
        let len = iced_x86::Decoder::new(64, text, DecoderOptions::NONE).decode().len() as u64;
        // A repeated string instruction stays where it is.
        let on = after.rip == before.1 || after.rip == before.1 + len;
        let gate = after.rip == base + window::THUNKS;
        let start = adversarial.starts.binary_search(&offset(after.rip)).is_ok();
        let back = adversarial.returns.binary_search(&offset(after.rip)).is_ok();
        (!on && !gate && !start && !back && !self.is_stray_label(text, after.rip)).then_some("rip")
    }

    /// Whether this is unit U1 going to a copy of the label that lies in data: programs may make one. Nothing executes there (rule R4): the next
    /// step is a page fault.
    fn is_stray_label(&self, text: &[u8], rip: u64) -> bool {
        const THROUGH_R11: [[u8; 3]; 2] = [[0x41, 0xff, 0xe3], [0x41, 0xff, 0xd3]];
        let offset = rip.wrapping_sub(self.machine.base());
        let data = window::IMAGE + DATA..window::SIZE - code::LABEL.len() as u64;
        if !data.contains(&offset) || !THROUGH_R11.iter().any(|branch| text.starts_with(branch)) {
            return false;
        }
        let mut word = [0; code::LABEL.len()];
        self.machine.read(offset, &mut word);
        word == code::LABEL
    }

    /// What the control stack holds: addresses behind calls, frame words, and nothing else. Empties it.
    fn control_stack(&mut self, adversarial: &Adversarial) {
        let at = CONTROL + stack::TOP - USABLE;
        let mut words = vec![0; USABLE as usize];
        self.machine.read(at, &mut words);
        let text = self.machine.base() + window::IMAGE;
        let slot = self.machine.base() + CONTROL..self.machine.base() + CONTROL + stack::SLOT;
        let legal = |word: u64| {
            word == 0
                || slot.contains(&word) && word.is_multiple_of(8)
                || adversarial.returns.binary_search(&(word.wrapping_sub(text) as usize)).is_ok()
        };
        let odd = words
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
            .find(|word| !legal(*word));
        if let Some(word) = odd {
            self.outcome.steps.violate("control stack".to_owned(), format!("{word:#x}"));
        }
        words.fill(0);
        self.machine.write(at, &words);
    }

    fn violation(
        &mut self,
        what: &str,
        adversarial: &Adversarial,
        before: ([u64; 16], u64),
        after: &Registers,
        end: End,
    ) {
        let text = self.machine.base() + window::IMAGE;
        let from = before.1.wrapping_sub(text) as usize;
        let bytes = adversarial.text.get(from..).map_or(&[][..], |rest| &rest[..rest.len().min(16)]);
        let example = format!(
            "at {from:#x} {bytes:02x?} {end:x?}, base {:#x}\n  before {:x?}\n  after  {:x?} rip {:#x} flags {:#x}",
            self.machine.base(),
            before.0,
            after.general,
            after.rip,
            after.flags
        );
        self.outcome.steps.violate(what.to_owned(), example);
    }
}

/// Whether the instruction may end in a general protection fault: it wants alignment, loads reserved bits, or reads a register that is none.
fn may_protect(text: &[u8]) -> bool {
    const ALIGNED: u8 = 16;
    let reading = Reading::of(text);
    reading.is_some_and(|reading| reading.access >= ALIGNED || reading.usage.mxcsr_write)
        || text.starts_with(&XGETBV)
}

/// State that a run changed and the report does not mention (rule V6).
fn unreported(first: &Registers, last: &Registers, report: &Report) -> Option<&'static str> {
    let (old, new) = (&first.extended, &last.extended);
    let changed = [
        ("mxcsr", !report.mxcsr_write && (old.mxcsr() ^ new.mxcsr()) & !MXCSR_STATUS != 0),
        ("x87", !report.x87 && old.x87() != new.x87()),
        ("ymm", !report.ymm && !old.same(new, Component::ymm())),
        ("zmm16-31", !report.evex && !old.same(new, Component::high_zmm())),
        ("masks", !report.mask && !old.same(new, Component::masks())),
        (
            "callee-saved register",
            (0..16).any(|i| {
                CALLEE_SAVED >> i & !report.callee_saved_written >> i & 1 != 0
                    && first.general[i] != last.general[i]
            }),
        ),
    ];
    changed.into_iter().find(|(_, changed)| *changed).map(|(what, _)| what)
}

/// rbx, rbp, r12–r15.
const CALLEE_SAVED: u16 = 0xf028;
