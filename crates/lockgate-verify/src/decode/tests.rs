//! Whatever the decoder accepts, iced-x86 reads in the same way, as an Intel and as an AMD processor.

use super::{Decoder, Instruction, Memory};
use crate::forms::{Forms, flag};
use iced_x86::{
    DecoderOptions, EncodingKind, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Address at which test instructions are decoded.
const IP: u64 = 0x1000_0000;

/// xorshift64*: enough to choose operands, and the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    /// True once in `n` times.
    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }
}

/// One line of encodings.txt, as text.
struct Listed {
    line: &'static str,
    /// Encoding, prefix, map, W, L.
    row: Vec<&'static str>,
    opcode: u8,
    operands: &'static str,
    has_memory: bool,
    has_register: bool,
    implicit: bool,
}

fn list() -> &'static [Listed] {
    static LIST: LazyLock<Vec<Listed>> = LazyLock::new(|| {
        let lines = include_str!("../encodings.txt").lines().filter(|line| !line.starts_with('#'));
        let listed = lines.map(|line| {
            let mut words = line.split(' ');
            let row = words.next().unwrap().split('.').collect();
            let opcode = u8::from_str_radix(words.next().unwrap(), 16).unwrap();
            Listed {
                line,
                row,
                opcode,
                operands: words.next().unwrap(),
                has_memory: line.contains(" mem="),
                has_register: line.contains(" rm=") || line.contains(" rms="),
                implicit: line.contains(" implicit="),
            }
        });
        listed.collect()
    });
    &LIST
}

impl Listed {
    /// Bytes with the line's opcode and random operands; most of them, not all, are legal.
    fn sample(&self, random: &mut Random, memory: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        if memory || self.implicit && !random.one_in(8) {
            bytes.extend_from_slice(match random.next() % 8 {
                0 => &[],
                1 => &[0x65],
                _ => &[0x65, 0x67],
            });
        }
        let map =
            ["00", "0f", "0f38", "0f3a", "-", "map5", "map6"].iter().position(|map| *map == self.row[2]);
        let map = map.unwrap() as u8;
        let w = u8::from(self.row[3] == "w1") << 7;
        let pp = ["np", "66", "f3", "f2"].iter().position(|pp| *pp == self.row[1]);
        let unused = if random.one_in(2) { 0 } else { random.byte() };
        // A group is legal with its digit alone; the other forms with any register.
        let reg = self.operands[1..].parse().unwrap_or(random.byte() & 7);
        match self.row[0] {
            "legacy" => {
                let prefixes = self.row[1];
                bytes.extend(prefixes.starts_with("66").then_some(0x66));
                bytes.extend(random.one_in(16).then_some(0xf0));
                bytes.extend(prefixes.ends_with("f3").then_some(0xf3));
                bytes.extend(prefixes.ends_with("f2").then_some(0xf2));
                let rex = 0x40 | w >> 4 | if random.one_in(2) { 0 } else { random.byte() & 7 };
                if rex != 0x40 || random.one_in(4) {
                    bytes.push(rex);
                }
                bytes.extend_from_slice([&[][..], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]][map as usize]);
            }
            "vex" => {
                let l = u8::from(self.row[4] == "l1") << 2;
                let p1 = w | 0x78 & !unused | l | pp.unwrap() as u8;
                if map == 1 && w == 0 && random.one_in(2) {
                    bytes.extend([0xc5, 0x80 & !random.byte() | p1]);
                } else {
                    bytes.extend([0xc4, 0xe0 & !random.byte() | map, p1]);
                }
            }
            _ => {
                let l = self.row[4][1..].parse::<u8>().unwrap() << 5;
                let high = if random.one_in(2) { 0 } else { 0xf0 & random.byte() };
                let b = if random.one_in(3) { 0x10 } else { 0 };
                let mask = if random.one_in(2) { 0 } else { random.byte() & 0x87 };
                let p1 = w | 0x78 & !unused | 4 | pp.unwrap() as u8;
                bytes.extend([0x62, 0xf0 & !high | map, p1, l | b | 8 & !(unused >> 4) | mask]);
            }
        }
        if self.operands == "+r" {
            bytes.push(self.opcode | random.byte() & 7);
        } else {
            bytes.push(self.opcode);
            if self.operands != "--" {
                let rm = if self.line.contains(" vsib") { 4 } else { random.byte() & 7 };
                let modrm = reg << 3 | rm;
                bytes.push(if memory { modrm | (random.byte() % 3) << 6 } else { modrm | 0xc0 });
            }
        }
        bytes.extend((0..16).map(|_| random.byte()));
        bytes.truncate(16);
        bytes
    }
}

#[test]
fn every_listed_form_is_decoded_and_agrees_with_iced() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for listed in list() {
        let wanted = [(listed.has_memory, true), (listed.has_register || !listed.has_memory, false)];
        for (_, memory) in wanted.iter().filter(|(exists, _)| *exists) {
            let mut accepted = 0;
            for _ in 0..400 {
                let bytes = listed.sample(&mut random, *memory);
                accepted += u32::from(check(&bytes));
            }
            assert!(accepted > 0, "no sample of this form is accepted (memory: {memory}): {}", listed.line);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn random_bytes_agree_with_iced(prefix in 0_usize..6, bytes in any::<[u8; 16]>()) {
        let mut text = [&[][..], &[0x65, 0x67], &[0x65, 0x67, 0x66], &[0xc5], &[0xc4, 0xe2], &[0x62, 0xf1]][prefix].to_vec();
        text.extend(bytes);
        check(&text);
    }

    #[test]
    fn mutated_forms_agree_with_iced(line in any::<prop::sample::Index>(), seed in 1_u64.., flips in prop::collection::vec(0_usize..100, 0..3)) {
        let list = list();
        let listed = &list[line.index(list.len())];
        let mut random = Random(seed);
        let memory = listed.has_memory && random.one_in(2);
        let mut bytes = listed.sample(&mut random, memory);
        for bit in flips {
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        check(&bytes);
    }
}

/// Decodes `bytes`; whether they are accepted. Panics if iced-x86 sees another instruction than we do.
fn check(bytes: &[u8]) -> bool {
    let mut decoder = Decoder::new(Forms::get(), bytes, 0);
    if decoder.run().is_err() {
        return false;
    }
    let ours = decoder.instruction;
    for options in [DecoderOptions::NONE, DecoderOptions::AMD] {
        let theirs = iced_x86::Decoder::with_ip(64, bytes, IP, options).decode();
        if let Err(what) = compare(&ours, &theirs, bytes) {
            panic!("{what}: {bytes:02x?}\nours {ours:?}\niced {theirs} {theirs:?}");
        }
    }
    true
}

fn compare(ours: &Instruction, theirs: &iced_x86::Instruction, bytes: &[u8]) -> Result<(), &'static str> {
    let ensure = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
    let code = theirs.code();
    ensure(!theirs.is_invalid() && theirs.len() == ours.len, "length")?;
    ensure(!code.is_privileged() && !code.is_stack_instruction(), "privileged or stack")?;
    ensure(code.flow_control() == FlowControl::Next, "control transfer")?;
    ensure(allowed(theirs.mnemonic()), "mnemonic not in forms.txt")?;
    let has = |flag: u32| ours.flags & flag != 0;
    let disp = if matches!(ours.memory, Memory::Rip | Memory::Stack) { ours.disp } else { 0 };
    ensure(memory(theirs, bytes) == (ours.memory, disp), "memory operand")?;
    let access =
        if has(flag::ADDRESS_ONLY) || ours.memory == Memory::None { 0 } else { theirs.memory_size().size() };
    let is_padding = matches!(theirs.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
    ensure(
        usize::from(ours.access) == access && is_padding >= has(flag::ADDRESS_ONLY),
        "size of the access",
    )?;
    ensure(ours.access <= 64, "an access larger than A")?;
    let used = InstructionInfoFactory::new().info(theirs).used_registers().to_vec();
    let written = used.iter().filter(|used| {
        use OpAccess::*;
        matches!(used.access(), Write | CondWrite | ReadWrite | ReadCondWrite)
    });
    let general = written.map(|used| used.register().full_register()).filter(|register| register.is_gpr64());
    let general = general.fold(0_u16, |set, register| set | 1 << register.number());
    const IMPLICIT: u16 = 7; // rax, rcx, rdx: no rule needs their implicit writes
    ensure((general ^ ours.written) & !IMPLICIT == 0, "general registers written")?;
    let uses = |is: fn(Register) -> bool| used.iter().any(|used| is(used.register()));
    let evex = code.encoding() == EncodingKind::EVEX;
    ensure(ours.evex == evex, "EVEX")?;
    ensure(
        evex || !uses(|r| (r.is_xmm() || r.is_ymm() || r.is_zmm()) && r.number() > 15),
        "xmm16 without EVEX",
    )?;
    let theirs_mask = theirs.op_mask();
    ensure(
        if theirs_mask == Register::None { 0 } else { theirs_mask.number() as u8 } == ours.mask,
        "mask register",
    )?;
    ensure(has(flag::MASKREGS) || ours.mask != 0 || !uses(Register::is_k), "mask registers")?;
    ensure(has(flag::YMM) || !uses(|r| r.is_ymm() || r.is_zmm()), "ymm")?;
    let x87 = theirs.cpuid_features().iter().any(|feature| format!("{feature:?}").starts_with("FPU"));
    ensure(has(flag::X87) || !x87 && !uses(|r| r.is_mm() || r.is_st()), "x87")?;
    use Mnemonic::{Fnstenv, Ldmxcsr, Stmxcsr, Vldmxcsr, Vstmxcsr};
    ensure(has(flag::ENVIRONMENT) == (theirs.mnemonic() == Fnstenv), "x87 environment")?;
    ensure(has(flag::MXCSR_READ) == matches!(theirs.mnemonic(), Stmxcsr | Vstmxcsr), "MXCSR read")?;
    ensure(has(flag::MXCSR_WRITE) == matches!(theirs.mnemonic(), Ldmxcsr | Vldmxcsr), "MXCSR written")
}

/// iced's view of the memory operand, in our terms.
fn memory(theirs: &iced_x86::Instruction, bytes: &[u8]) -> (Memory, i32) {
    let kinds = (0..theirs.op_count()).map(|i| theirs.op_kind(i));
    let is_memory =
        |kind: &OpKind| !matches!(kind, OpKind::Register) && !format!("{kind:?}").starts_with("Immediate");
    if !kinds.into_iter().any(|kind| is_memory(&kind)) {
        return (Memory::None, 0);
    }
    let wide = |register: Register| register.is_gpr64() || register == Register::RIP;
    let (base, index) = (theirs.memory_base(), theirs.memory_index());
    let window = theirs.segment_prefix() == Register::GS && bytes[..2] == [0x65, 0x67];
    if window && !wide(base) && !wide(index) && base != Register::EIP {
        return (Memory::Window, 0);
    }
    if theirs.segment_prefix() != Register::None {
        return (Memory::Other, 0);
    }
    if theirs.is_ip_rel_memory_operand() {
        return (Memory::Rip, theirs.ip_rel_memory_address().wrapping_sub(theirs.next_ip()) as i32);
    }
    if base == Register::RSP && index == Register::None {
        return (Memory::Stack, theirs.memory_displacement64() as i32);
    }
    (Memory::Other, 0)
}

fn allowed(mnemonic: Mnemonic) -> bool {
    static NAMES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
        let lines = include_str!("../../forms.txt").lines().filter(|line| !line.starts_with(['#', '[']));
        lines.flat_map(str::split_ascii_whitespace).collect()
    });
    NAMES.contains(format!("{mnemonic:?}").to_lowercase().as_str())
}
