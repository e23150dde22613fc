//! `src/encodings.txt` is what iced-x86 knows about the mnemonics of `forms.txt`.
//! With `LOCKGATE_UPDATE` set, the file is written instead of compared.

use iced_x86::{
    Code, Decoder, DecoderOptions, EncodingKind, Instruction, InstructionInfoFactory, MandatoryPrefix,
    Mnemonic, OpAccess, OpCodeInfo, OpCodeOperandKind as Kind, OpCodeTableKind, Register,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const HEADER: &str = "\
# The allow-list of encoding forms (rule V1). Made from forms.txt by tests/encodings.rs; src/forms.rs explains it.
";

#[test]
fn the_list_is_what_iced_knows_about_the_allowed_mnemonics() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/encodings.txt");
    let made = HEADER.to_owned() + &lines().join("\n") + "\n";
    if std::env::var_os("LOCKGATE_UPDATE").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap();
    for (found, made) in found.lines().zip(made.lines()) {
        assert_eq!(found, made, "encodings.txt is stale: see forms.txt");
    }
    assert_eq!(found.lines().count(), made.lines().count(), "encodings.txt is stale: see forms.txt");
}

#[test]
fn every_allowed_mnemonic_exists() {
    let used: BTreeSet<String> = Code::values().filter(|&code| usable(code)).map(name).collect();
    let unused: Vec<_> = allowed().into_keys().filter(|mnemonic| !used.contains(mnemonic)).collect();
    assert!(unused.is_empty(), "forms.txt names what no encoding has: {unused:?}");
}

/// Mnemonic → whether its memory forms are probes.
fn allowed() -> BTreeMap<String, bool> {
    let mut allowed = BTreeMap::new();
    let mut probe = None;
    for line in include_str!("../forms.txt").lines().filter(|line| !line.starts_with('#')) {
        match line.trim() {
            "[probe]" => probe = Some(true),
            "[plain]" => probe = Some(false),
            names => {
                for name in names.split_ascii_whitespace() {
                    let probe = probe.expect("a section first");
                    assert!(allowed.insert(name.to_owned(), probe).is_none(), "{name} is listed twice");
                }
            }
        }
    }
    allowed
}

fn lines() -> Vec<String> {
    let allowed = allowed();
    let codes = Code::values().filter(|&code| usable(code) && allowed.contains_key(&name(code)));
    let mut lines: Vec<_> = codes.map(|code| line(code, allowed[&name(code)])).collect();
    lines.sort();
    lines.dedup();
    lines
}

#[test]
fn every_feature_is_needed_by_an_instruction() {
    let list = include_str!("../src/encodings.txt").lines().filter_map(|line| line.split_once(" needs="));
    let needed: BTreeSet<&str> =
        list.flat_map(|(_, rest)| rest.split(" ;").next().unwrap().split(',')).collect();
    assert_eq!(needed, lockgate_verify::FEATURES.split(' ').collect());
}

fn name(code: Code) -> String {
    format!("{:?}", code.mnemonic()).to_lowercase()
}

/// Leaves out what forms.txt says is left out.
fn usable(code: Code) -> bool {
    let info = code.op_code();
    let odd_operand = info.op_kinds().iter().any(|kind| {
        use Kind::*;
        matches!(
            kind,
            seg_reg
                | cr_reg
                | dr_reg
                | tr_reg
                | bnd_reg
                | es
                | cs
                | ss
                | ds
                | fs
                | gs
                | seg_rSI
                | es_rDI
                | sibmem
                | tmm_reg
                | tmm_rm
                | tmm_vvvv
                | farbr2_2
                | farbr4_2
                | mem_mib
                | mem_mpx
                | imm4_m2z
        )
    });
    let encoding = matches!(code.encoding(), EncodingKind::Legacy | EncodingKind::VEX | EncodingKind::EVEX);
    // iced names an alias by its opcode: Test_rm8_imm8_F6r1, Fstp_sti_DFD0, Lfence_E9.
    let name = format!("{code:?}");
    let last = name.rsplit('_').next().unwrap_or("");
    let hexadecimal = matches!(last.len(), 2 | 4) && u16::from_str_radix(last, 16).is_ok_and(|n| n >= 0xd0);
    let alias = hexadecimal
        || matches!(last, "F6r1" | "F7r1")
        || name.starts_with("Prefetchreserved")
        || matches!(
            code,
            Code::Nopw | Code::Nopd | Code::Nopq | Code::Movsxd_r16_rm16 | Code::Movsxd_r32_rm32
        );
    let normal =
        info.is_instruction() && info.mode64() && encoding && info.decoder_option() == 0 && !info.fwait();
    normal && !code.is_privileged() && !code.is_stack_instruction() && !odd_operand && !alias
}

/// The parts of an encoding that select a form.
#[derive(Clone, Copy)]
struct Encoding {
    info: &'static OpCodeInfo,
    p66: bool,
    rep: Option<u8>,
    w: bool,
    opcode: u8,
    /// ModRM byte with mod = 3 if the code names it.
    exact: Option<u8>,
}

impl Encoding {
    fn new(code: Code) -> Encoding {
        let info = code.op_code();
        let prefix = info.mandatory_prefix();
        let legacy = code.encoding() == EncodingKind::Legacy;
        let (opcode, exact) = match info.op_code_len() {
            2 => ((info.op_code() >> 8) as u8, Some(info.op_code() as u8)),
            _ => (info.op_code() as u8, None),
        };
        let rep = match prefix {
            MandatoryPrefix::PF3 => Some(0xf3),
            MandatoryPrefix::PF2 => Some(0xf2),
            _ => None,
        };
        let rep = if code == Code::Pause { Some(0xf3) } else { rep };
        let p66 = prefix == MandatoryPrefix::P66 || legacy && info.operand_size() == 16;
        let w = if legacy { info.operand_size() == 64 && code != Code::Rdpid_r64 } else { info.w() == 1 };
        Encoding { info, p66, rep, w, opcode, exact }
    }

    /// Bytes of the instruction with this ModRM byte.
    fn bytes(&self, modrm: Option<u8>, with_memory: bool) -> Vec<u8> {
        let kinds = self.info.op_kinds();
        let mut bytes = if with_memory { vec![0x65, 0x67] } else { Vec::new() };
        let rep_bits = match self.rep {
            Some(0xf3) => 2,
            Some(_) => 3,
            None => u8::from(self.p66),
        };
        let w = u8::from(self.w);
        match self.info.encoding() {
            EncodingKind::Legacy => {
                bytes.extend(self.p66.then_some(0x66));
                bytes.extend(self.rep);
                bytes.extend(self.w.then_some(0x48));
                bytes.extend_from_slice(match self.info.table() {
                    OpCodeTableKind::Normal => &[],
                    OpCodeTableKind::T0F => &[0x0f],
                    OpCodeTableKind::T0F38 => &[0x0f, 0x38],
                    _ => &[0x0f, 0x3a],
                });
            }
            EncodingKind::VEX => {
                let vvvv = self.vvvv_bits();
                let l = (self.info.l() as u8) << 2;
                bytes.extend([0xc4, 0xe0 | self.map_bits(), w << 7 | vvvv | l | rep_bits]);
            }
            _ => {
                let vvvv = self.vvvv_bits();
                let mask = u8::from(self.info.require_op_mask_register());
                let l = (self.info.l() as u8) << 5;
                bytes.extend([0x62, 0xf0 | self.map_bits(), w << 7 | vvvv | 4 | rep_bits, l | 8 | mask]);
            }
        }
        let opcode_register = u8::from(kinds.iter().any(|&kind| field(kind).0 == "op"));
        bytes.push(self.opcode + opcode_register);
        bytes.extend(modrm);
        if modrm.is_some_and(|modrm| modrm < 0xc0) && kinds.iter().any(|kind| is_vsib(*kind)) {
            bytes.push(0x30);
        }
        let immediate = if kinds.contains(&Kind::mem_offs) { 4 } else { self.immediate() };
        bytes.extend(std::iter::repeat_n(0, immediate));
        bytes
    }

    fn map_bits(&self) -> u8 {
        match self.info.table() {
            OpCodeTableKind::T0F => 1,
            OpCodeTableKind::T0F38 => 2,
            OpCodeTableKind::T0F3A => 3,
            OpCodeTableKind::MAP5 => 5,
            OpCodeTableKind::MAP6 => 6,
            other => panic!("{other:?}"),
        }
    }

    fn immediate(&self) -> usize {
        let size = |kind: &Kind| match kind {
            Kind::imm8 | Kind::imm8sex16 | Kind::imm8sex32 | Kind::imm8sex64 => 1,
            Kind::xmm_is4 | Kind::ymm_is4 => 1,
            Kind::imm16 => 2,
            Kind::imm32 | Kind::imm32sex64 => 4,
            Kind::imm64 => 8,
            _ => 0,
        };
        self.info.op_kinds().iter().map(size).sum()
    }

    /// The inverted field, in place: register 8 where one is named.
    fn vvvv_bits(&self) -> u8 {
        let named = self.info.op_kinds().iter().map(|&kind| field(kind)).find(|field| field.0 == "vvvv");
        if named.is_some_and(|field| field.1 != "k") { 7 << 3 } else { 15 << 3 }
    }
}

fn is_vsib(kind: Kind) -> bool {
    use Kind::*;
    matches!(kind, mem_vsib32x | mem_vsib64x | mem_vsib32y | mem_vsib64y | mem_vsib32z | mem_vsib64z)
}

/// Field (`reg`, `rm`, `vvvv`, `op`) and kind of an operand, and whether it may be memory instead.
fn field(kind: Kind) -> (&'static str, &'static str, bool) {
    use Kind::*;
    match kind {
        mem => ("", "", true),
        kind if is_vsib(kind) => ("", "", true),
        r8_or_mem => ("rm", "b", true),
        r16_or_mem | r32_or_mem | r64_or_mem => ("rm", "g", true),
        mm_or_mem => ("rm", "x", true),
        xmm_or_mem | ymm_or_mem | zmm_or_mem => ("rm", "v", true),
        k_or_mem => ("rm", "k", true),
        r8_reg => ("reg", "b", false),
        r16_reg | r32_reg | r64_reg => ("reg", "g", false),
        k_reg | kp1_reg => ("reg", "k", false),
        mm_reg => ("reg", "x", false),
        xmm_reg | ymm_reg | zmm_reg => ("reg", "v", false),
        r16_rm | r32_rm | r64_rm => ("rm", "g", false),
        k_rm => ("rm", "k", false),
        mm_rm => ("rm", "x", false),
        xmm_rm | ymm_rm | zmm_rm => ("rm", "v", false),
        r32_vvvv | r64_vvvv => ("vvvv", "g", false),
        k_vvvv => ("vvvv", "k", false),
        xmm_vvvv | ymm_vvvv | zmm_vvvv => ("vvvv", "v", false),
        r8_opcode => ("op", "b", false),
        r16_opcode | r32_opcode | r64_opcode => ("op", "g", false),
        _ => ("", "", false),
    }
}

/// The line of one code.
fn line(code: Code, probe: bool) -> String {
    let encoding = Encoding::new(code);
    let (info, kinds) = (encoding.info, encoding.info.op_kinds());
    let fields: Vec<_> = kinds.iter().map(|&kind| field(kind)).collect();
    let digit = if info.group_index() >= 0 { Some(info.group_index() as u8) } else { None };
    let digit = digit.or(encoding.exact.map(|exact| exact >> 3 & 7));
    let x87_operand = kinds.contains(&Kind::sti_opcode);
    // The memory form of bt* with a register reaches beyond its operand: left out.
    let bit_string = matches!(code.mnemonic(), Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc)
        && digit.is_none();
    let memory = fields.iter().any(|field| field.2) && !bit_string;
    let register = encoding.exact.is_some() || fields.iter().any(|field| field.0 == "rm");
    let has_modrm = digit.is_some() || memory || register || fields.iter().any(|field| field.0 == "reg");
    let modrm = has_modrm.then_some(digit.unwrap_or(1) << 3);
    let register_form = decode(code, &encoding, modrm.map(|m| encoding.exact.unwrap_or(0xc0 | m)), false);
    let implicit = kinds.iter().any(|kind| matches!(kind, Kind::seg_rDI | Kind::seg_rBX_al));
    let moffs = kinds.contains(&Kind::mem_offs);
    let memory_form = match memory {
        true => decode(
            code,
            &encoding,
            modrm.map(|m| m | if kinds.iter().any(|&k| is_vsib(k)) { 4 } else { 0 }),
            true,
        ),
        false if implicit || moffs => decode(code, &encoding, modrm.map(|m| 0xc0 | m), true),
        false => None,
    };

    assert!(register_form.is_some() || memory_form.is_some(), "no sample of {code:?}");

    let mut line = format!("{} {:02x} ", row(&encoding), encoding.opcode);
    line += &match digit {
        Some(digit) => format!("/{digit}"),
        None if has_modrm => "/r".to_owned(),
        None if fields.iter().any(|field| field.0 == "op") => "+r".to_owned(),
        None => "--".to_owned(),
    };
    for (field, kind, _) in fields.iter().filter(|field| !field.0.is_empty()) {
        write!(line, " {field}={kind}").unwrap();
    }
    if x87_operand {
        line += " rm=x";
    } else if let Some(exact) = encoding.exact {
        write!(line, " rms={}", exact & 7).unwrap();
    }
    let size = info.memory_size().size();
    if memory {
        let untouched = matches!(code.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
        write!(line, " mem={}", if untouched { 0 } else { size }).unwrap();
        assert!(untouched || (1..=64).contains(&size), "{code:?} accesses {size} bytes");
    } else if implicit || moffs {
        write!(line, " implicit={size}{}", if moffs { " moffs" } else { "" }).unwrap();
    }
    line += if kinds.iter().any(|&kind| is_vsib(kind)) { " vsib" } else { "" };
    line +=
        if info.requires_unique_reg_nums() || info.requires_unique_dest_reg_num() { " distinct" } else { "" };
    line += &writes(code, &fields, &[&register_form, &memory_form]);
    if encoding.immediate() > 0 {
        write!(line, " imm={}", encoding.immediate()).unwrap();
    }
    line += &evex(info, memory);
    if info.can_use_lock_prefix() && memory {
        line += " lock";
    }
    // An x87 exception that is pending comes before the access of an MMX form: a handler that skips it skips both.
    let report = report(&encoding, &fields);
    if probe && memory && !info.require_op_mask_register() && !report.contains("x87") {
        line += " probe";
    }
    line += &report;
    line += &needs(code);
    let _ = write!(line, " ; {}", name(code));
    line
}

/// What every processor with x86-64 and AVX has, by iced's names; hints, which are no-ops where they mean nothing; and `cpuid`, which asks.
const EVERYWHERE: [&str; 40] = [
    "INTEL8086",
    "INTEL186",
    "INTEL286",
    "INTEL386",
    "INTEL486",
    "INTEL8086_ONLY",
    "X64",
    "FPU",
    "FPU287",
    "FPU387",
    "MMX",
    "CMOV",
    "CX8",
    "FXSR",
    "MULTIBYTENOP",
    "PAUSE",
    "TSC",
    "RDTSCP",
    "CLFSH",
    "SSE",
    "SSE2",
    "SSE3",
    "SSSE3",
    "SSE4_1",
    "SSE4_2",
    "POPCNT",
    "CMPXCHG16B",
    "LAHF_SAHF_64",
    "AVX",
    "XSAVE",
    "CPUID",
    "PREFETCHW",
    "PREFETCHITI",
    "SMM",
    "SEP",
    "MSR",
    "CET_IBT",
    "CET_SS",
    "D3NOWEXT",
    "MONITOR",
];

/// What else the processor must have. Compilers emit `tzcnt` for every processor, as `rep bsf`, where it comes to the same in both.
fn needs(code: Code) -> String {
    let names = code.cpuid_features().iter().map(|feature| format!("{feature:?}"));
    let mut names: Vec<String> = names.filter(|name| !EVERYWHERE.contains(&name.as_str())).collect();
    names.sort();
    if names.is_empty() || code.mnemonic() == Mnemonic::Tzcnt {
        return String::new();
    }
    format!(" needs={}", names.join(","))
}

/// The code's sample instruction, if it has this form.
fn decode(code: Code, encoding: &Encoding, modrm: Option<u8>, with_memory: bool) -> Option<Instruction> {
    let bytes = encoding.bytes(modrm, with_memory);
    let instruction = Decoder::new(64, &bytes, DecoderOptions::NONE).decode();
    let found = instruction.code() == code && instruction.len() == bytes.len();
    let only_memory = !with_memory && !encoding.info.op_kinds().iter().any(|&kind| field(kind).0 == "rm");
    assert!(found || only_memory, "{code:?}: {bytes:02x?} is {instruction:?}");
    found.then_some(instruction)
}

fn row(encoding: &Encoding) -> String {
    let info = encoding.info;
    let pp = match (encoding.p66, encoding.rep) {
        (false, None) => "np",
        (true, None) => "66",
        (false, Some(0xf3)) => "f3",
        (false, Some(_)) => "f2",
        (true, Some(0xf3)) => "66f3",
        (true, Some(_)) => "66f2",
    };
    let map = match info.table() {
        OpCodeTableKind::Normal => "00",
        OpCodeTableKind::T0F => "0f",
        OpCodeTableKind::T0F38 => "0f38",
        OpCodeTableKind::T0F3A => "0f3a",
        OpCodeTableKind::MAP5 => "map5",
        OpCodeTableKind::MAP6 => "map6",
        other => panic!("{other:?}"),
    };
    let w = if encoding.w { "w1" } else { "w0" };
    match info.encoding() {
        EncodingKind::Legacy => format!("legacy.{pp}.{map}.{w}"),
        EncodingKind::VEX => format!("vex.{pp}.{map}.{w}.l{}", info.l()),
        _ => format!("evex.{pp}.{map}.{w}.l{}", info.l()),
    }
}

/// Fields whose general register is written, and rbx if it is written implicitly. Implicit writes to the
/// registers that a call may change need no entry.
fn writes(code: Code, fields: &[(&str, &str, bool)], samples: &[&Option<Instruction>]) -> String {
    let mut factory = InstructionInfoFactory::new();
    let mut written = BTreeSet::new();
    for sample in samples.iter().filter_map(|sample| sample.as_ref()) {
        let info = factory.info(sample);
        for (i, (field, kind, _)) in fields.iter().enumerate() {
            let is_register = sample.op_kind(i as u32) == iced_x86::OpKind::Register;
            if is_register && matches!(*kind, "g" | "b") && is_write(info.op_access(i as u32)) {
                written.insert(*field);
            }
        }
        let explicit: Vec<_> = (0..sample.op_count())
            .filter(|&i| sample.op_kind(i) == iced_x86::OpKind::Register && is_write(info.op_access(i)))
            .map(|i| sample.op_register(i).full_register())
            .collect();
        for used in info.used_registers().iter().filter(|used| is_write(used.access())) {
            let register = used.register().full_register();
            assert_ne!(register, Register::RSP, "{code:?} writes rsp");
            match register {
                Register::RBX if !explicit.contains(&register) => drop(written.insert("rbx")),
                Register::RAX | Register::RCX | Register::RDX => (),
                other if other.is_gpr() => assert!(explicit.contains(&other), "{code:?} writes {other:?}"),
                _ => (),
            }
        }
    }
    if written.is_empty() {
        return String::new();
    }
    format!(" write={}", written.into_iter().collect::<Vec<_>>().join(","))
}

fn is_write(access: OpAccess) -> bool {
    use OpAccess::*;
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

fn evex(info: &OpCodeInfo, memory: bool) -> String {
    if info.encoding() != EncodingKind::EVEX {
        return String::new();
    }
    let mut text = String::new();
    let store = field(info.op_kind(0)).2;
    if memory {
        // "N64b4": disp8 counts 64 bytes, or 4 with broadcast.
        let tuple = format!("{:?}", info.tuple_type());
        let (scale, broadcast) = tuple[1..].split_once('b').unwrap_or((&tuple[1..], ""));
        write!(text, " scale={scale}").unwrap();
        if info.can_broadcast() {
            assert_eq!(broadcast.parse(), Ok(info.broadcast_memory_size().size()));
            write!(text, " bcst={broadcast}").unwrap();
        }
    }
    for (has, word) in [
        (info.require_op_mask_register(), " needmask"),
        (info.can_use_op_mask_register() && !info.require_op_mask_register(), " mask"),
        (info.can_use_zeroing_masking() && !store, " zero"),
        (info.can_use_zeroing_masking() && store, " zero-register"),
        (info.can_use_rounding_control(), " er"),
        (info.can_suppress_all_exceptions() && !info.can_use_rounding_control(), " sae"),
    ] {
        text += if has { word } else { "" };
    }
    text
}

fn report(encoding: &Encoding, fields: &[(&str, &str, bool)]) -> String {
    let info = encoding.info;
    let one_byte = info.table() == OpCodeTableKind::Normal && info.encoding() == EncodingKind::Legacy;
    let mnemonic = info.mnemonic();
    let x87 = one_byte && matches!(encoding.opcode, 0xd8..=0xdf | 0x9b)
        || fields.iter().any(|field| field.1 == "x")
        || mnemonic == Mnemonic::Emms;
    let vector = fields.iter().any(|field| field.1 == "v") || one_of(mnemonic, &["vzeroall", "vzeroupper"]);
    let mut text = String::new();
    for (has, word) in [
        (x87, " x87"),
        (mnemonic == Mnemonic::Fnstenv, " environment"),
        (one_of(mnemonic, &["stmxcsr", "vstmxcsr"]), " mxcsr-read"),
        (one_of(mnemonic, &["ldmxcsr", "vldmxcsr"]), " mxcsr-write"),
        (fields.iter().any(|field| field.1 == "k"), " maskregs"),
        (vector && info.encoding() != EncodingKind::Legacy, " ymm"),
        (mnemonic == Mnemonic::Cpuid, " cpuid"),
    ] {
        text += if has { word } else { "" };
    }
    text
}

fn one_of(mnemonic: Mnemonic, names: &[&str]) -> bool {
    names.contains(&format!("{mnemonic:?}").to_lowercase().as_str())
}
