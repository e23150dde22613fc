//! yaxpeax-x86. It knows which registers most instructions write, but not what a mask register is for.

use super::{Address, Decoder, Flow, RIP, View};
use lockgate_verify::Operand as Kind;
use yaxpeax_arch::LengthedInstruction;
use yaxpeax_x86::long_mode::behavior::AccessVisitor;
use yaxpeax_x86::long_mode::{InstDecoder, Instruction, Opcode, Operand, RegSpec, Segment, register_class};

/// yaxpeax-x86, told of every extension.
#[derive(Default)]
pub struct Yaxpeax(InstDecoder);

impl Decoder for Yaxpeax {
    const NAME: &'static str = "yaxpeax";

    fn view(&self, bytes: &[u8]) -> Option<View> {
        let instruction = self.0.decode_slice(bytes).ok()?;
        let mut view = View {
            len: LengthedInstruction::len(&instruction).to_const() as usize,
            operand: Kind::None,
            several: false,
            access: Some(0),
            written: written(&instruction),
            flow: flow(&instruction),
            state: None,
            certain: None,
        };
        for i in 0..instruction.operand_count() {
            if let Some(address) = address(&instruction, i) {
                view.several |= view.operand != Kind::None;
                view.operand = address.operand();
                let computed = matches!(instruction.opcode(), Opcode::LEA | Opcode::NOP);
                let size = instruction.mem_size().and_then(|size| size.bytes_size());
                view.access = if computed { Some(0) } else { size.map(u32::from) };
            }
        }
        Some(view)
    }
}

/// The operand's address if it is memory.
fn address(instruction: &Instruction, i: u8) -> Option<Address> {
    let (base, index, disp) = match instruction.operand(i) {
        Operand::AbsoluteU32 { addr } => (None, None, addr as i32),
        Operand::AbsoluteU64 { .. } => (None, None, 0),
        Operand::MemDeref { base } | Operand::MemDerefMasked { base, .. } => (Some(base), None, 0),
        Operand::Disp { base, disp } | Operand::DispMasked { base, disp, .. } => (Some(base), None, disp),
        Operand::MemIndexScale { index, .. } | Operand::MemIndexScaleMasked { index, .. } => {
            (None, Some(index), 0)
        }
        Operand::MemIndexScaleDisp { index, disp, .. }
        | Operand::MemIndexScaleDispMasked { index, disp, .. } => (None, Some(index), disp),
        Operand::MemBaseIndexScale { base, index, .. }
        | Operand::MemBaseIndexScaleMasked { base, index, .. } => (Some(base), Some(index), 0),
        Operand::MemBaseIndexScaleDisp { base, index, disp, .. }
        | Operand::MemBaseIndexScaleDispMasked { base, index, disp, .. } => (Some(base), Some(index), disp),
        _ => return None,
    };
    let is_rip = |register: RegSpec| matches!(register.class(), register_class::RIP | register_class::EIP);
    let segment = instruction.prefixes.segment();
    Some(Address {
        gs: segment == Segment::GS,
        fs: segment == Segment::FS,
        narrow: instruction.prefixes.address_size(),
        base: base.map(|base| if is_rip(base) { RIP } else { base.num() }),
        index: index.is_some(),
        disp: disp.into(),
    })
}

/// The general registers that it writes, as far as the crate knows.
fn written(instruction: &Instruction) -> Option<u16> {
    let mut written = Written(0);
    instruction.behavior().visit_accesses(&mut written).ok()?;
    Some(written.0)
}

struct Written(u16);

impl AccessVisitor for Written {
    fn register_read(&mut self, _: RegSpec) {}

    fn register_write(&mut self, register: RegSpec) {
        match register.class() {
            register_class::Q | register_class::D | register_class::W | register_class::RB => {
                self.0 |= 1 << register.num()
            }
            register_class::B => self.0 |= 1 << (register.num() & 3),
            _ => (),
        }
    }

    fn memory_read(&mut self, _: Option<u64>, _: u32) {}

    fn memory_write(&mut self, _: Option<u64>, _: u32) {}
}

fn flow(instruction: &Instruction) -> Flow {
    let disp = match instruction.operand(0) {
        Operand::ImmediateI8 { imm } => Some(i64::from(imm)),
        Operand::ImmediateI32 { imm } => Some(i64::from(imm)),
        _ => None,
    };
    let register = match instruction.operand(0) {
        Operand::Register { reg } => Some(reg.num()),
        _ => None,
    };
    let opcode = instruction.opcode();
    let loops =
        matches!(opcode, Opcode::LOOP | Opcode::LOOPZ | Opcode::LOOPNZ | Opcode::JRCXZ | Opcode::JECXZ);
    match (opcode, disp, register) {
        (_, Some(disp), _) if opcode.is_jcc() || loops => Flow::Branch(disp),
        (Opcode::JMP, Some(disp), _) => Flow::Jump(disp),
        (Opcode::CALL, Some(disp), _) => Flow::Call(disp),
        (Opcode::JMP, _, Some(register)) => Flow::ThroughRegister(register, false),
        (Opcode::CALL, _, Some(register)) => Flow::ThroughRegister(register, true),
        (Opcode::CALL, ..) => Flow::CallThroughMemory,
        (Opcode::RETURN, ..) if instruction.operand_count() == 0 => Flow::Return,
        (Opcode::INT, ..) if instruction.operand(0) == (Operand::ImmediateU8 { imm: 3 }) => Flow::Trap,
        (Opcode::UD2, ..) => Flow::Trap,
        (
            Opcode::JMP
            | Opcode::JMPF
            | Opcode::JMPE
            | Opcode::CALLF
            | Opcode::RETURN
            | Opcode::RETF
            | Opcode::IRET
            | Opcode::IRETD
            | Opcode::IRETQ
            | Opcode::INT
            | Opcode::INTO
            | Opcode::SYSCALL
            | Opcode::SYSENTER
            | Opcode::SYSEXIT
            | Opcode::SYSRET
            | Opcode::XBEGIN
            | Opcode::XABORT
            | Opcode::HLT
            | Opcode::UD0
            | Opcode::UD1,
            ..,
        ) => Flow::Other,
        _ => Flow::Next,
    }
}
