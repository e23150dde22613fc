//! iced-x86, as a processor of Intel.

use super::{Address, Decoder, Flow, RIP, State, View};
use iced_x86::{
    Code, CpuidFeature, DecoderOptions, EncodingKind, FlowControl, Instruction, InstructionInfoFactory,
    Mnemonic, OpAccess, OpKind, Register,
};
use lockgate_verify::Operand;
use std::cell::RefCell;

/// The features that x87 instructions belong to.
const X87: [CpuidFeature; 5] = {
    use CpuidFeature::{FPU, FPU287, FPU287XL_ONLY, FPU387, FPU387SL_ONLY};
    [FPU, FPU287, FPU287XL_ONLY, FPU387, FPU387SL_ONLY]
};

/// iced-x86.
pub struct Iced(RefCell<InstructionInfoFactory>);

impl Default for Iced {
    fn default() -> Self {
        Iced(RefCell::new(InstructionInfoFactory::new()))
    }
}

/// The mnemonic of the instruction at the start of `bytes`, for [`crate::explained`].
#[must_use]
pub fn mnemonic(bytes: &[u8]) -> String {
    let instruction = iced_x86::Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    format!("{:?}", instruction.mnemonic()).to_lowercase()
}

impl Decoder for Iced {
    const NAME: &'static str = "iced";

    fn view(&self, bytes: &[u8]) -> Option<View> {
        let instruction = iced_x86::Decoder::new(64, bytes, DecoderOptions::NONE).decode();
        if instruction.is_invalid() {
            return None;
        }
        let kinds = (0..instruction.op_count()).map(|i| instruction.op_kind(i));
        let memories = kinds.filter(|kind| is_memory(*kind)).count();
        let computed = matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop) || memories == 0;
        let mut factory = self.0.borrow_mut();
        let used = factory.info(&instruction).used_registers();
        let is_written = |access| {
            use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
            matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
        };
        let general =
            used.iter().filter(|used| is_written(used.access())).map(|used| used.register().full_register());
        let uses = |is: fn(Register) -> bool| used.iter().any(|used| is(used.register()));
        let features = instruction.cpuid_features();
        let state = State {
            x87: features.iter().any(|feature| X87.contains(feature)) || uses(|r| r.is_mm() || r.is_st()),
            mask: uses(Register::is_k),
            vector: uses(Register::is_vector_register),
            ymm: uses(|r| r.is_ymm() || r.is_zmm()),
            evex: instruction.code().encoding() == EncodingKind::EVEX,
            mxcsr_write: matches!(instruction.mnemonic(), Mnemonic::Ldmxcsr | Mnemonic::Vldmxcsr),
            mxcsr_read: matches!(instruction.mnemonic(), Mnemonic::Stmxcsr | Mnemonic::Vstmxcsr),
        };
        Some(View {
            len: instruction.len(),
            operand: if memories == 0 { Operand::None } else { address(&instruction).operand() },
            several: memories > 1,
            access: Some(if computed { 0 } else { instruction.memory_size().size() as u32 }),
            written: Some(general.filter(|r| r.is_gpr64()).fold(0, |set, r| set | 1 << r.number())),
            flow: flow(&instruction),
            state: Some(state),
            certain: None,
        })
    }
}

fn is_memory(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(
        kind,
        Memory
            | MemorySegSI
            | MemorySegESI
            | MemorySegRSI
            | MemorySegDI
            | MemorySegEDI
            | MemorySegRDI
            | MemoryESDI
            | MemoryESEDI
            | MemoryESRDI
    )
}

fn address(instruction: &Instruction) -> Address {
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    let implicit = (0..instruction.op_count())
        .map(|i| instruction.op_kind(i))
        .find(|kind| *kind != OpKind::Memory && is_memory(*kind));
    let narrow = base.is_gpr32() || index.is_gpr32() || base == Register::EIP;
    // Without registers, the width shows in the displacement's size alone.
    let absolute = base == Register::None && !index.is_gpr() && instruction.memory_displ_size() == 4;
    let relative = instruction.is_ip_rel_memory_operand();
    Address {
        gs: instruction.memory_segment() == Register::GS,
        fs: instruction.memory_segment() == Register::FS,
        narrow: narrow || absolute || matches!(implicit, Some(OpKind::MemorySegESI | OpKind::MemorySegEDI)),
        base: match base {
            _ if relative => Some(RIP),
            Register::None => None,
            other => Some(other.number() as u8),
        },
        index: index != Register::None,
        disp: match relative {
            true => instruction.ip_rel_memory_address().wrapping_sub(instruction.next_ip()) as i64,
            false => instruction.memory_displacement64() as i64,
        },
    }
}

fn flow(instruction: &Instruction) -> Flow {
    let disp = || instruction.near_branch64().wrapping_sub(instruction.next_ip()) as i64;
    match instruction.flow_control() {
        FlowControl::Next => Flow::Next,
        FlowControl::ConditionalBranch => Flow::Branch(disp()),
        FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => Flow::Jump(disp()),
        FlowControl::Call if instruction.is_call_near() => Flow::Call(disp()),
        FlowControl::IndirectBranch | FlowControl::IndirectCall
            if instruction.op0_kind() == OpKind::Register =>
        {
            let call = instruction.flow_control() == FlowControl::IndirectCall;
            Flow::ThroughRegister(instruction.op0_register().number() as u8, call)
        }
        FlowControl::IndirectCall if instruction.code() == Code::Call_rm64 => Flow::CallThroughMemory,
        FlowControl::Return if instruction.code() == Code::Retnq => Flow::Return,
        FlowControl::Interrupt if instruction.code() == Code::Int3 => Flow::Trap,
        FlowControl::Exception if instruction.code() == Code::Ud2 => Flow::Trap,
        _ => Flow::Other,
    }
}
