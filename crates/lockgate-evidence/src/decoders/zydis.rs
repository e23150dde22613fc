//! Zydis, with all operands that an instruction has, hidden ones too.

use super::{Address, Decoder, Flow, RIP, State, View};
use lockgate_verify::Operand;
use zydis::ffi::{DecodedInstruction, DecodedOperand, DecodedOperandKind as Kind, MemoryInfo};
use zydis::{
    AllOperands, BranchType, InstructionCategory, InstructionEncoding, MachineMode, MemoryOperandType,
    Mnemonic,
};
use zydis::{OperandAction, OperandVisibility, Register, RegisterClass};

/// Zydis.
pub struct Zydis(zydis::Decoder);

impl Default for Zydis {
    fn default() -> Self {
        Zydis(zydis::Decoder::new64())
    }
}

impl Decoder for Zydis {
    const NAME: &'static str = "zydis";

    fn view(&self, bytes: &[u8]) -> Option<View> {
        let instruction = self.0.decode_first::<AllOperands>(bytes).ok().flatten()?;
        let mut view = View {
            len: instruction.length.into(),
            operand: Operand::None,
            several: false,
            access: Some(0),
            written: Some(0),
            flow: flow(&instruction, instruction.operands()),
            state: None,
            certain: Some(false),
        };
        let mut state = State { evex: instruction.encoding == InstructionEncoding::EVEX, ..State::default() };
        let mut written = 0;
        for operand in instruction.operands() {
            match &operand.kind {
                Kind::Mem(memory) => {
                    view.several |= view.operand != Operand::None;
                    view.operand = address(memory, instruction.address_width == 32).operand();
                    let computed =
                        memory.ty == MemoryOperandType::AGEN || instruction.mnemonic == Mnemonic::NOP;
                    let certain = operand.action.intersects(OperandAction::READWRITE) && !computed;
                    view.certain =
                        Some(certain && instruction.meta.category != InstructionCategory::PREFETCH);
                    let bits = match memory.ty {
                        // One element at a time.
                        MemoryOperandType::VSIB => operand.element_size,
                        _ => operand.size,
                    };
                    view.access = Some(if computed { 0 } else { bits.div_ceil(8).into() });
                }
                Kind::Reg(register) => {
                    let class = register.class();
                    let is_general = matches!(
                        class,
                        RegisterClass::GPR8
                            | RegisterClass::GPR16
                            | RegisterClass::GPR32
                            | RegisterClass::GPR64
                    );
                    if is_general && operand.action.intersects(OperandAction::MASK_WRITE) {
                        written |= 1 << number(*register);
                    }
                    match class {
                        RegisterClass::X87 | RegisterClass::MMX => state.x87 = true,
                        RegisterClass::MASK => {
                            let no_mask = operand.visibility != OperandVisibility::EXPLICIT
                                && *register == Register::K0;
                            let no_mask = no_mask || *register == Register::K0 && is_mask_field(operand);
                            state.mask |= !no_mask;
                        }
                        RegisterClass::XMM => state.vector = true,
                        RegisterClass::YMM | RegisterClass::ZMM => (state.vector, state.ymm) = (true, true),
                        _ if matches!(
                            register,
                            Register::X87CONTROL | Register::X87STATUS | Register::X87TAG
                        ) =>
                        {
                            state.x87 = true
                        }
                        _ => (),
                    }
                }
                _ => (),
            }
        }
        state.mxcsr_write = matches!(instruction.mnemonic, Mnemonic::LDMXCSR | Mnemonic::VLDMXCSR);
        state.mxcsr_read = matches!(instruction.mnemonic, Mnemonic::STMXCSR | Mnemonic::VSTMXCSR);
        (view.written, view.state) = (Some(written), Some(state));
        Some(view)
    }
}

/// EVEX.aaa as an operand.
fn is_mask_field(operand: &DecodedOperand) -> bool {
    operand.encoding == zydis::OperandEncoding::MASK
}

/// Number of a general register; ah, ch, dh, bh are parts of 0–3.
fn number(register: Register) -> u8 {
    match register.largest_enclosing(MachineMode::LONG_64).id() {
        number @ 0..=15 => number,
        other => panic!("{register:?} is number {other}"),
    }
}

/// The address; `narrow` if its registers have 32 bits.
fn address(memory: &MemoryInfo, narrow: bool) -> Address {
    let general = |register: Register| match register {
        Register::NONE => None,
        Register::RIP | Register::EIP => Some(RIP),
        other => Some(number(other)),
    };
    Address {
        gs: memory.segment == Register::GS,
        fs: memory.segment == Register::FS,
        narrow,
        base: general(memory.base),
        index: memory.index != Register::NONE,
        disp: memory.disp.displacement,
    }
}

fn flow(instruction: &DecodedInstruction, operands: &[DecodedOperand]) -> Flow {
    let target = operands.iter().find_map(|operand| match &operand.kind {
        _ if operand.visibility != OperandVisibility::EXPLICIT => None,
        Kind::Imm(immediate) if immediate.is_relative => Some(Target::Relative(immediate.value as i64)),
        Kind::Reg(register) if register.class() == RegisterClass::GPR64 => {
            Some(Target::Register(number(*register)))
        }
        Kind::Mem(_) => Some(Target::Memory),
        _ => None,
    });
    let near = instruction.meta.branch_type != BranchType::FAR;
    match (instruction.meta.category, target) {
        (InstructionCategory::COND_BR, Some(Target::Relative(disp))) => Flow::Branch(disp),
        (InstructionCategory::UNCOND_BR, Some(Target::Relative(disp))) => Flow::Jump(disp),
        (InstructionCategory::CALL, Some(Target::Relative(disp))) => Flow::Call(disp),
        (InstructionCategory::UNCOND_BR, Some(Target::Register(number))) => {
            Flow::ThroughRegister(number, false)
        }
        (InstructionCategory::CALL, Some(Target::Register(number))) => Flow::ThroughRegister(number, true),
        (InstructionCategory::CALL, Some(Target::Memory)) if near => Flow::CallThroughMemory,
        (InstructionCategory::RET, None)
            if near && instruction.operand_count_visible == 0 && instruction.mnemonic == Mnemonic::RET =>
        {
            Flow::Return
        }
        (InstructionCategory::INTERRUPT, None) if instruction.mnemonic == Mnemonic::INT3 => Flow::Trap,
        _ if instruction.mnemonic == Mnemonic::UD2 => Flow::Trap,
        (
            InstructionCategory::COND_BR
            | InstructionCategory::UNCOND_BR
            | InstructionCategory::CALL
            | InstructionCategory::RET
            | InstructionCategory::INTERRUPT
            | InstructionCategory::SYSCALL
            | InstructionCategory::SYSRET
            | InstructionCategory::SYSTEM,
            _,
        ) if !matches!(instruction.mnemonic, Mnemonic::RDTSC | Mnemonic::RDTSCP | Mnemonic::XGETBV) => {
            Flow::Other
        }
        _ => Flow::Next,
    }
}

enum Target {
    Relative(i64),
    Register(u8),
    Memory,
}

/// How an instruction forms the address of its memory operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the general register that is the base; not of rip.
    pub base: Option<u8>,
    /// The index.
    pub index: Option<Index>,
    /// What the index counts, bytes.
    pub scale: u8,
    /// Displacement, scaled.
    pub disp: i64,
    /// Offset in the instruction of a displacement of 32 bits.
    pub disp32_at: Option<usize>,
    /// Whether the processor reads or writes there.
    pub accessed: bool,
}

/// An index of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// A general register.
    General(u8),
    /// al (xlat).
    Al,
    /// A vector register.
    Vector(u8),
}

impl Zydis {
    /// The address of the memory operand of the instruction at the start of `bytes`.
    #[must_use]
    pub fn place(&self, bytes: &[u8]) -> Option<Place> {
        let instruction = self.0.decode_first::<AllOperands>(bytes).ok().flatten()?;
        let (operand, memory) = instruction.operands().iter().find_map(|operand| match &operand.kind {
            Kind::Mem(memory) => Some((operand, memory)),
            _ => None,
        })?;
        let index = match memory.index {
            // Zydis does not name al here.
            Register::NONE => (instruction.mnemonic == Mnemonic::XLAT).then_some(Index::Al),
            vector if memory.ty == MemoryOperandType::VSIB => Some(Index::Vector(vector.id())),
            general => Some(Index::General(number(general))),
        };
        let base = match memory.base {
            Register::NONE | Register::RIP | Register::EIP => None,
            base => Some(number(base)),
        };
        let disp = &instruction.raw.disp;
        Some(Place {
            base,
            index,
            scale: memory.scale,
            disp: memory.disp.displacement,
            disp32_at: (disp.size == 32).then_some(disp.offset.into()),
            accessed: memory.ty != MemoryOperandType::AGEN && operand.action != OperandAction::empty(),
        })
    }
}
