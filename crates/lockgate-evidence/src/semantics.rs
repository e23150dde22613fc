//! What accepted instructions do on the processor at hand, one at a time, with random registers.
//!
//! Each case is an instruction that computes, from the enumeration of `encodings.rs`. It is executed twice, on a window in which nothing but its code is mapped and with
//! its operand placed exactly at one end of the only page that is. The first run must fault where the model says, inside the window or its guards;
//! the second one must not, and must have changed nothing but what the verifier says: that is the proof of address, access size and registers written.

use crate::decoders::{Decoder as _, Index, Place, Zydis, mnemonic};
use crate::encodings::{Slice, slices};
use crate::machine_sys::{Access, Component, End, Machine, Registers};
use crate::random::Random;
use anyhow::Result;
use iced_x86::DecoderOptions;
use lockgate_abi::{PAGE, code, stack, window};
use lockgate_verify::{Operand, Reading};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What came of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Instructions executed.
    pub cases: u64,
    /// Of these, the ones that this processor does not have.
    pub undefined: u64,
    /// Left out, because this processor lacks AVX-512, or AVX, which they belong to.
    pub left_out: u64,
    /// Faults, where the model expects one.
    pub faults: u64,
    /// Operands at a page's end that were accessed completely.
    pub edges: u64,
    /// Forms executed (codes of iced-x86).
    pub forms: BTreeSet<u16>,
    /// Deviations from the model.
    pub violations: u64,
    /// One example of each kind, with their number.
    pub kinds: BTreeMap<String, (u64, String)>,
}

impl Outcome {
    /// Adds what another process found.
    pub fn add(&mut self, other: Outcome) {
        self.cases += other.cases;
        self.undefined += other.undefined;
        self.left_out += other.left_out;
        self.faults += other.faults;
        self.edges += other.edges;
        self.forms.extend(other.forms);
        self.violations += other.violations;
        for (kind, (number, example)) in other.kinds {
            self.kinds.entry(kind).or_insert((0, example)).0 += number;
        }
    }

    /// Notes a deviation.
    pub fn violate(&mut self, kind: String, example: String) {
        self.violations += 1;
        self.kinds.entry(kind).or_insert((0, example)).0 += 1;
    }
}

const RSP: usize = 4;
/// Where things lie in the window: the instruction, and the only pages that are mapped besides.
const CODE: u64 = window::IMAGE;
const IMAGE_DATA: u64 = window::IMAGE + 0x10_0000;
const HEAP: u64 = 0x5000_0000;
/// rsp, in the middle of the second slot of the control area. Nothing is mapped there.
const CONTROL: u64 = window::CONTROL + stack::SLOT + stack::SLOT / 2;
/// The page of its image on the data stack.
const DATA_STACK: u64 = CONTROL - code::OFF as u64;
const PAGES: [u64; 3] = [IMAGE_DATA, HEAP, DATA_STACK];
/// Flags that an instruction may change.
const ARITHMETIC_FLAGS: u64 = 0x8d5;
/// The processor sets it where it resumes a faulting instruction.
const RESUME_FLAG: u64 = 0x1_0000;
/// Status flags of MXCSR: any SSE instruction may raise them.
const MXCSR_STATUS: u32 = 0x3f;
/// Vectors of exceptions: those of arithmetic are a division's, the x87's and SSE's.
const ARITHMETIC: [u64; 3] = [0, 16, 19];
const UNDEFINED: u64 = 6;
const PROTECTION: u64 = 13;

/// A thread's window, cases and counts.
struct Bench {
    machine: Machine,
    random: Random,
    zydis: Zydis,
    slices: Vec<Slice>,
    components: Components,
    outcome: Outcome,
}

struct Components {
    ymm: Component,
    zmm: Component,
    high_zmm: Component,
    masks: Component,
}

/// An instruction to try.
struct Case {
    bytes: [u8; 16],
    reading: Reading,
    place: Option<Place>,
    name: String,
}

/// Instructions that must be noticed when they are taken for others of the same length: what is executed, what is claimed, and what shows it. A harness that
/// cannot fail proves nothing.
const CONTROLS: &[(&[u8], &[u8], &str)] = &[
    (&[0x65, 0x48, 0x8b, 0x08], &[0x65, 0x67, 0x8b, 0x08], "64-bit address registers"),
    (&[0x66, 0x67, 0x8b, 0x08], &[0x65, 0x67, 0x8b, 0x08], "no gs"),
    (&[0x65, 0x67, 0x48, 0x8b, 0x08], &[0x65, 0x67, 0x0f, 0xb6, 0x08], "a larger access"),
    (&[0x65, 0x67, 0x8b, 0x48, 0x01], &[0x65, 0x67, 0x8b, 0x48, 0xff], "another displacement"),
    (&[0x48, 0x89, 0xc3], &[0x48, 0x89, 0xd8], "another register written"),
    (&[0x48, 0x89, 0xc4], &[0x48, 0x89, 0xc1], "rsp written"),
    (&[0x90], &[0x48, 0x89, 0xc1], "another length"),
    (&[0xd9, 0xe8], &[0x89, 0xc9], "x87"),
    (&[0x65, 0x67, 0x0f, 0xae, 0x10], &[0x65, 0x67, 0x0f, 0x58, 0x10], "MXCSR"),
    (&[0xc5, 0xf4, 0x58, 0xc2], &[0x66, 0x0f, 0x58, 0xc2], "ymm"),
    (&[0xc5, 0xec, 0x41, 0xcb], &[0x66, 0x0f, 0x58, 0xc2], "a mask"),
    (&[0xfd], &[0xf8], "the direction flag"),
];

/// Executes `cases` instructions. In a process of its own: it takes over its signals.
///
/// # Errors
/// The kernel refuses memory or handlers.
pub fn run(cases: u64, seed: u64) -> Result<Outcome> {
    let mut machine = Machine::new()?;
    machine.map(CODE, PAGE, Access::Execute)?;
    for page in PAGES {
        machine.map(page, PAGE, Access::Write)?;
    }
    let mut bench = Bench {
        machine,
        random: Random::new(seed),
        zydis: Zydis::default(),
        slices: slices(),
        components: Components {
            ymm: Component::ymm(),
            zmm: Component::zmm(),
            high_zmm: Component::high_zmm(),
            masks: Component::masks(),
        },
        outcome: Outcome::default(),
    };
    bench.controls();
    while bench.outcome.cases < cases {
        if let Some(case) = bench.case() {
            bench.anywhere(&case);
            bench.at_the_edge(case);
        }
    }
    Ok(bench.outcome)
}

/// Whether the instruction belongs to an extension that this processor lacks as a whole.
fn lacking(reading: &Reading) -> bool {
    let usage = &reading.usage;
    (usage.evex || usage.mask) && !std::arch::is_x86_feature_detected!("avx512f")
        || usage.ymm && !std::arch::is_x86_feature_detected!("avx")
}

impl Bench {
    /// Each control must be noticed within a few attempts, in one run or the other.
    fn controls(&mut self) {
        const ATTEMPTS: u32 = 16;
        for (executed, claimed, what) in CONTROLS {
            if Reading::of(executed).is_some_and(|executed| lacking(&executed)) {
                continue;
            }
            let padded = |bytes: &[u8]| std::array::from_fn(|i| *bytes.get(i).unwrap_or(&0x90));
            let before = std::mem::take(&mut self.outcome);
            for _ in 0..ATTEMPTS {
                let reading = Reading::of(claimed).expect("an instruction of the list");
                let case = Case {
                    bytes: padded(executed),
                    reading,
                    place: self.zydis.place(claimed),
                    name: "control".to_owned(),
                };
                self.anywhere(&case);
                self.at_the_edge(case);
            }
            let noticed = std::mem::replace(&mut self.outcome, before).violations != 0;
            if !noticed {
                self.outcome
                    .violate(format!("not noticed: {what}"), format!("{executed:02x?} as {claimed:02x?}"));
            }
        }
    }

    /// A random instruction that computes and is legal by itself.
    fn case(&mut self) -> Option<Case> {
        let slice = self.random.of(&self.slices);
        let bytes = slice.get(self.random.below(slice.len()));
        let reading = Reading::of(&bytes)?;
        let legal = reading.operand != Operand::Unconfined || reading.access == 0;
        if reading.control.is_some() || !legal || reading.written >> RSP & 1 != 0 {
            return None;
        }
        if lacking(&reading) {
            self.outcome.left_out += 1;
            return None;
        }
        let place = self.zydis.place(&bytes);
        let near = matches!(reading.operand, Operand::Stack(_))
            && place.is_none_or(|place| place.disp32_at.is_none());
        if near && reading.access > 0 {
            // It is beside rsp, not on the data stack, whatever the displacement.
            return None;
        }
        let code = iced_x86::Decoder::new(64, &bytes, DecoderOptions::NONE).decode().code();
        self.outcome.forms.insert(code as u16);
        Some(Case { bytes, reading, place, name: mnemonic(&bytes) })
    }

    /// Random registers: general ones of every size; rsp on the control stack.
    fn registers(&mut self) -> Registers {
        let mut registers = self.machine.registers();
        for register in &mut registers.general {
            *register = value(&mut self.random);
        }
        registers.general[RSP] = self.machine.base() + CONTROL + 8 * self.random.below(PAGE / 8);
        registers.rip = self.machine.base() + CODE;
        let extended = &mut registers.extended;
        extended.reset_x87_and_mxcsr();
        let Components { ymm, zmm, high_zmm, masks } = self.components;
        fill(extended.xmm(), &mut self.random);
        for component in [ymm, zmm, high_zmm, masks] {
            fill(extended.component(component), &mut self.random);
        }
        registers
    }

    /// With random addresses: a fault must be inside the window, where the model says.
    fn anywhere(&mut self, case: &Case) {
        let mut registers = self.registers();
        let before = registers.clone();
        let mut bytes = case.bytes;
        let target = self.target(case, &before, &mut bytes);
        self.machine.write(CODE, &bytes);
        let end = self.step(&mut registers);
        let expected = match (case.reading.operand, target) {
            (Operand::None, _) | (_, None) => None,
            (_, Some(target)) => Some(target),
        };
        match (end, expected) {
            (End::PageFault(at), Some((low, size))) => {
                self.outcome.faults += 1;
                let offset = at.wrapping_sub(self.machine.base());
                let right = offset >= low && offset < low + size;
                // Zen 4 adds up the address of each of their elements modulo 2³², Zen 5 that of the first.
                let wraps = case.name.contains("maskmov") && matches!(case.reading.operand, Operand::Window);
                let right = right || wraps && offset + window::SIZE < low + size;
                if !right || offset >= window::SIZE + u64::from(code::MAX_ACCESS) {
                    self.violation("address", case, &before, &registers, end);
                }
                if registers.general != before.general || registers.rip != before.rip {
                    self.violation("fault changes registers", case, &before, &registers, end);
                }
            }
            // Aligned accesses say no before they look at the page.
            (End::Exception(PROTECTION), Some(_)) if case.reading.access >= 16 => self.outcome.faults += 1,
            // The operand may lie on a page that is mapped.
            _ => self.completed(case, &before, &registers, end),
        }
    }

    /// The bytes that a case's operand may touch, as offset in the window and size: everything for vector indices. Displacements from rip and rsp are made to lie in
    /// their regions.
    fn target(&mut self, case: &Case, registers: &Registers, bytes: &mut [u8; 16]) -> Option<(u64, u64)> {
        let place = case.place.filter(|place| place.accessed && case.reading.access > 0)?;
        let access = u64::from(case.reading.access);
        match case.reading.operand {
            Operand::Window if matches!(place.index, Some(Index::Vector(_))) => {
                Some((0, window::SIZE + access))
            }
            Operand::Window => Some((u64::from(address(&place, registers)), access)),
            Operand::Relative(_) => {
                // In the image, but not on its page of data.
                let offset = 0x1_0000 + self.random.below(0x8_0000);
                put(bytes, place.disp32_at, offset as i64 - case.reading.len as i64);
                Some((CODE + offset, access))
            }
            Operand::Stack(_) => {
                let distance =
                    self.random.below(2 * u64::from(code::MAX_MOVE) + 1) as i64 - i64::from(code::MAX_MOVE);
                put(bytes, place.disp32_at, distance - i64::from(code::OFF));
                let rsp = registers.general[RSP] - self.machine.base();
                Some(((rsp as i64 - i64::from(code::OFF) + distance) as u64, access))
            }
            Operand::None | Operand::Unconfined => None,
        }
    }

    /// With the operand at one end of a page whose neighbours are not mapped.
    fn at_the_edge(&mut self, case: Case) {
        let mut registers = self.registers();
        let mut bytes = case.bytes;
        let mut edge = None;
        if let Some(place) = case.place.filter(|place| place.accessed && case.reading.access > 0) {
            let end = if self.random.one_in(2) { PAGE - u64::from(case.reading.access) } else { 0 };
            let Some(page) =
                aim(&case, &place, end, &mut registers, &mut bytes, self.machine.base(), &self.components)
            else {
                return;
            };
            edge = Some(page + end);
            let mut content = [0; 2 * code::MAX_ACCESS as usize];
            fill(&mut content, &mut self.random);
            if case.reading.usage.mxcsr_write {
                // Reserved bits are a fault of their own.
                content.fill(0);
            }
            self.machine.write(page, &content);
            self.machine.write(page + PAGE - content.len() as u64, &content);
        }
        let before = registers.clone();
        self.machine.write(CODE, &bytes);
        let end = self.step(&mut registers);
        if end == End::Stepped && edge.is_some() {
            self.outcome.edges += 1;
        }
        self.completed(&Case { bytes, ..case }, &before, &registers, end);
    }

    fn step(&mut self, registers: &mut Registers) -> End {
        self.outcome.cases += 1;
        let end = self.machine.step(registers);
        self.outcome.undefined += u64::from(end == End::Exception(UNDEFINED));
        end
    }

    /// What an instruction leaves behind that met no inaccessible page.
    fn completed(&mut self, case: &Case, before: &Registers, after: &Registers, end: End) {
        let reading = &case.reading;
        match end {
            End::Stepped => {
                if after.rip != before.rip + reading.len as u64 {
                    self.violation("length", case, before, after, end);
                }
            }
            End::Exception(UNDEFINED) if after.rip == before.rip => (),
            End::Exception(vector) if ARITHMETIC.contains(&vector) && after.rip == before.rip => (),
            // xgetbv of a register that is none.
            End::Exception(PROTECTION) if case.name == "xgetbv" => (),
            _ => self.violation("end", case, before, after, end),
        }
        if end != End::Stepped {
            return;
        }
        // The verifier leaves implicit writes to rax, rcx and rdx out; Zydis does not.
        let written =
            self.zydis.view(&case.bytes).and_then(|view| view.written).unwrap_or(0) & (reading.written | 7);
        if let Some(register) =
            (0..16).find(|&i| written >> i & 1 == 0 && after.general[i] != before.general[i])
        {
            self.violation(&format!("register {register}"), case, before, after, end);
        }
        if (after.flags ^ before.flags) & !(ARITHMETIC_FLAGS | RESUME_FLAG) != 0 {
            self.violation("flags", case, before, after, end);
        }
        let (old, new) = (&before.extended, &after.extended);
        let usage = &reading.usage;
        let Components { ymm, zmm, high_zmm, masks } = self.components;
        let changed = [
            ("mxcsr", !usage.mxcsr_write && (old.mxcsr() ^ new.mxcsr()) & !MXCSR_STATUS != 0),
            ("x87", !usage.x87 && old.x87() != new.x87()),
            ("xmm", !usage.vector && old.low_vectors() != new.low_vectors()),
            ("ymm", !usage.ymm && !old.same(new, ymm)),
            // VEX clears upper halves.
            ("zmm", !usage.ymm && !old.same(new, zmm)),
            ("zmm16-31", !usage.evex && !old.same(new, high_zmm)),
            ("masks", !usage.mask && !old.same(new, masks)),
        ];
        for (what, _) in changed.into_iter().filter(|(_, changed)| *changed) {
            self.violation(what, case, before, after, end);
        }
    }

    fn violation(&mut self, what: &str, case: &Case, before: &Registers, after: &Registers, end: End) {
        let example = || {
            let hex: String =
                case.bytes[..case.reading.len].iter().map(|byte| format!("{byte:02x}")).collect();
            let base = self.machine.base();
            format!(
                "{hex} at {:#x}: {:?} {end:x?}, base {base:#x}\n  before {:x?}\n  after  {:x?} rip {:#x}",
                before.rip, case.reading, before.general, after.general, after.rip
            )
        };
        let example = example();
        self.outcome.violate(format!("{what} {}", case.name), example);
    }
}

/// Makes the operand lie `end` bytes into one of the pages, which is given back; `None` if this form's address cannot be chosen.
fn aim(
    case: &Case,
    place: &Place,
    end: u64,
    registers: &mut Registers,
    bytes: &mut [u8; 16],
    base: u64,
    components: &Components,
) -> Option<u64> {
    match case.reading.operand {
        Operand::Relative(_) => {
            put(
                bytes,
                Some(place.disp32_at?),
                (IMAGE_DATA + end) as i64 - (CODE as i64 + case.reading.len as i64),
            );
            Some(IMAGE_DATA)
        }
        Operand::Stack(_) => {
            let rsp = registers.general[RSP] - base;
            put(bytes, place.disp32_at, (DATA_STACK + end) as i64 - rsp as i64);
            Some(DATA_STACK)
        }
        Operand::Window => {
            if let Some(Index::Vector(number)) = place.index {
                clear_vector(registers, number, components);
            }
            let away = (HEAP + end) as u32;
            let general_index = match place.index {
                Some(Index::General(index)) => Some(index),
                Some(Index::Al) => Some(0),
                _ => None,
            };
            let delta = away.wrapping_sub(address(place, registers));
            match place.base {
                Some(register) if general_index != Some(register) => {
                    let register = &mut registers.general[usize::from(register)];
                    *register = register.wrapping_add(delta.into());
                }
                None => put(
                    bytes,
                    Some(place.disp32_at?),
                    i64::from((place.disp as u32).wrapping_add(delta) as i32),
                ),
                // Base and index are one register: its multiples do not go everywhere.
                Some(_) => return None,
            }
            Some(HEAP)
        }
        Operand::None | Operand::Unconfined => None,
    }
}

/// The model of an M1 address without a vector index: the sum of 32-bit parts, modulo 2³².
fn address(place: &Place, registers: &Registers) -> u32 {
    let register = |number: u8| registers.general[usize::from(number)] as u32;
    let index = match place.index {
        Some(Index::General(number)) => register(number).wrapping_mul(place.scale.into()),
        Some(Index::Al) => register(0) & 0xff,
        Some(Index::Vector(_)) | None => 0,
    };
    place.base.map_or(0, register).wrapping_add(index).wrapping_add(place.disp as u32)
}

fn put(bytes: &mut [u8; 16], at: Option<usize>, disp: i64) {
    if let Some(at) = at {
        bytes[at..at + 4].copy_from_slice(&(disp as i32).to_le_bytes());
    }
}

/// All indices zero.
fn clear_vector(registers: &mut Registers, number: u8, components: &Components) {
    let extended = &mut registers.extended;
    let number = usize::from(number);
    if number < 16 {
        extended.xmm()[16 * number..][..16].fill(0);
        for (component, size) in [(components.ymm, 16), (components.zmm, 32)] {
            let bytes = extended.component(component);
            if !bytes.is_empty() {
                bytes[size * number..][..size].fill(0);
            }
        }
    } else if let Some(bytes) =
        extended.component(components.high_zmm).get_mut(64 * (number - 16)..64 * (number - 15))
    {
        bytes.fill(0);
    }
}

/// A general register's content.
fn value(random: &mut Random) -> u64 {
    let word = random.word();
    match random.below(5) {
        0 => word,
        1 => word & 0xffff_ffff,
        2 => word as i32 as i64 as u64,
        3 => word | 0xffff_ffff_0000_0000,
        _ => word >> (word & 63),
    }
}

fn fill(bytes: &mut [u8], random: &mut Random) {
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&random.word().to_le_bytes()[..chunk.len()]);
    }
}
