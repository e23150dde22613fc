//! Code sections as instructions: one linear sweep, every relocation on an operand.

use iced_x86::{
    Code as IcedCode, CpuidFeature, Decoder, DecoderOptions, FlowControl, Formatter, GasFormatter,
    Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use crate::elf::{Object, Reloc, reloc, sym};
use crate::error::{Error, Place, Reason};

/// Marks an offset that is no instruction boundary.
pub(crate) const NONE: u32 = u32::MAX;

/// What is known about an instruction from the references to it: a union of these bits.
pub(crate) mod mark {
    /// Control arrives here by another way than falling through.
    pub(crate) const LABEL: u16 = 1;
    /// First instruction of a function.
    pub(crate) const FUNCTION: u16 = 2;
    /// Reached by indirect branches: gets the entry label.
    pub(crate) const ENTRY: u16 = 4;
    /// Target of a switch table.
    pub(crate) const CASE: u16 = 8;
    /// Replaced by the unit of a later instruction: leaves no code of its own.
    pub(crate) const ABSORBED: u16 = 16;
    /// Reached by a branch from another code section.
    pub(crate) const OUTSIDE: u16 = 32;
    /// A branch to the inside of a function, or to its cold part, in another code section.
    pub(crate) const LEAVES: u16 = 64;
    /// A call across which the value of r11 is kept.
    pub(crate) const SPARES_R11: u16 = 128;
    /// A global label of a function's inside that is no function: nothing goes there but the function's own code, as far as is known.
    pub(crate) const INNER: u16 = 256;
    /// It has rsp, or a part of it, as an operand that it writes.
    pub(crate) const SETS_RSP: u16 = 512;
    /// First instruction of a function's cold part, which control comes to by branches only.
    pub(crate) const PART: u16 = 2048;
    /// A landing pad of exceptions.
    pub(crate) const PAD: u16 = 1024;
    /// Its address is taken, and not by tables of labels alone ([`crate::labels`]).
    pub(crate) const TAKEN: u16 = 4096;
    /// A function whose address has to be even: a pointer to a member function in C++ is odd where it stands for a virtual one.
    pub(crate) const EVEN: u16 = 8192;
}

/// A decoded instruction.
pub(crate) struct Ins {
    /// The instruction; its `ip` is the offset in the section.
    pub(crate) code: Instruction,
    /// Index of the first relocation at or after it.
    pub(crate) reloc: u32,
    /// Index of the instruction that a direct branch inside the section goes to, or [`NONE`].
    pub(crate) target: u32,
    /// Union of [`mark`] bits.
    pub(crate) marks: u16,
}

impl Ins {
    /// Offset of the first byte.
    pub(crate) fn start(&self) -> u32 {
        self.code.ip() as u32
    }

    /// Offset one past the last byte.
    pub(crate) fn end(&self) -> u32 {
        self.code.next_ip() as u32
    }

    /// Whether any of the bits `marks` is set.
    pub(crate) fn has(&self, marks: u16) -> bool {
        self.marks & marks != 0
    }

    /// Whether the operand `n` names a near branch target.
    pub(crate) fn is_near_branch(&self) -> bool {
        self.code.op_count() == 1 && self.code.op0_kind() == OpKind::NearBranch64
    }

    /// Whether control never goes on to the next instruction. A call does go on.
    pub(crate) fn ends_flow(&self) -> bool {
        matches!(
            self.code.flow_control(),
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Return
        ) || matches!(
            self.code.mnemonic(),
            Mnemonic::Ud2 | Mnemonic::Ud1 | Mnemonic::Ud0 | Mnemonic::Hlt | Mnemonic::Int3
        )
    }
}

/// A code section.
pub(crate) struct Text {
    /// Index of the section.
    pub(crate) section: usize,
    /// Its instructions in order.
    pub(crate) code: Vec<Ins>,
    /// By offset: index of the instruction that starts there, or [`NONE`]; the entry at the section's size
    /// is the number of instructions.
    pub(crate) index: Vec<u32>,
    /// First instructions of its functions, ascending; the first entry is 0. Filled by [`crate::refs`].
    pub(crate) functions: Vec<u32>,
    /// The same, and those of functions' cold parts: what lies behind one another need not belong together.
    pub(crate) parts: Vec<u32>,
}

impl Text {
    /// Whether an instruction names a register of vectors, or uses the x87 stack.
    pub(crate) fn has_vectors(&self) -> bool {
        self.code.iter().any(|ins| {
            let registers = (0..ins.code.op_count()).map(|operand| ins.code.op_register(operand));
            let is_x87 = |feature: &CpuidFeature| {
                matches!(feature, CpuidFeature::FPU | CpuidFeature::FPU287 | CpuidFeature::FPU387)
            };
            registers.into_iter().any(|register| {
                register.is_vector_register() || register.is_mm() || register.is_st() || register.is_k()
            }) || ins.code.cpuid_features().iter().any(is_x87)
        })
    }

    /// Decodes section `section` of `object`; `file` names the object in errors.
    pub(crate) fn decode(file: &str, object: &Object, section: usize) -> Result<Text, Error> {
        let data = &object.sections[section].data;
        let relocs = &object.sections[section].relocs;
        let name = &object.sections[section].name;
        if data.len() > i32::MAX as usize / 2 {
            return Err(Error::at(
                file,
                name,
                0,
                Reason::new("the section is larger than 1 GiB", "split the source"),
            ));
        }
        let mut decoder = Decoder::with_ip(64, data, 0, DecoderOptions::NONE);
        let mut index = vec![NONE; data.len() + 1];
        let mut code: Vec<Ins> = Vec::with_capacity(data.len() / 4);
        let mut reloc = 0;
        let mut info = InstructionInfoFactory::new();
        while decoder.can_decode() {
            index[decoder.position()] = code.len() as u32;
            code.push(Ins { code: Instruction::default(), reloc: reloc as u32, target: NONE, marks: 0 });
            let ins = code.last_mut().expect("just pushed");
            // Decoded in place: instructions are large.
            decoder.decode_out(&mut ins.code);
            if ins.code.is_invalid() {
                return Err(Error::at(
                    file,
                    name,
                    ins.code.ip(),
                    data_in_text("these bytes are no instruction"),
                ));
            }
            if let Some(mask) = clears_part_of_rsp(&ins.code) {
                let (at, len) = (ins.code.ip(), ins.code.len());
                ins.code = Instruction::with2(IcedCode::And_rm64_imm32, Register::RSP, mask)
                    .expect("it has these operands");
                ins.code.set_len(len);
                ins.code.set_ip(at);
            }
            if writes_rsp(&ins.code, &mut info) {
                ins.marks |= mark::SETS_RSP;
            }
            if relocs.get(reloc).is_some_and(|next| next.offset < ins.code.next_ip()) {
                let fields = decoder.get_constant_offsets(&ins.code);
                while let Some(next) = relocs.get(reloc).filter(|next| next.offset < ins.code.next_ip()) {
                    let at = (next.offset - ins.code.ip()) as usize;
                    let on_operand = fields.has_displacement() && at == fields.displacement_offset()
                        || fields.has_immediate() && at == fields.immediate_offset()
                        || matches!(next.kind, reloc::NONE | reloc::TLSDESC_CALL);
                    if !on_operand {
                        let reason = data_in_text("a relocation lies on no operand of the instruction");
                        return Err(Error::at(file, name, ins.code.ip(), reason));
                    }
                    if next.symbol == 0 && next.kind != reloc::NONE {
                        return Err(Error::at(file, name, ins.code.ip(), fixed_address()));
                    }
                    reloc += 1;
                }
            }
        }
        index[data.len()] = code.len() as u32;
        Ok(Text { section, code, index, functions: Vec::new(), parts: Vec::new() })
    }

    /// Index of the instruction that starts at `offset`; the number of instructions for the section's end.
    pub(crate) fn at(&self, offset: i64) -> Option<usize> {
        let index = *self.index.get(usize::try_from(offset).ok()?)?;
        (index != NONE).then_some(index as usize)
    }

    /// Index of the instruction that the direct branch `index` goes to, if it stays in the section.
    pub(crate) fn local_target(&self, index: usize) -> Option<usize> {
        let target = self.code[index].target;
        (target != NONE).then_some(target as usize)
    }

    /// The relocations of instruction `index`.
    pub(crate) fn relocs<'a>(&self, object: &'a Object, index: usize) -> &'a [Reloc] {
        let relocs = &object.sections[self.section].relocs;
        let end = self.code.get(index + 1).map_or(relocs.len(), |next| next.reloc as usize);
        &relocs[self.code[index].reloc as usize..end]
    }

    /// A refusal of instruction `index`.
    pub(crate) fn refuse(&self, file: &str, object: &Object, index: usize, reason: Reason) -> Error {
        let ins = &self.code[index];
        let mut text = String::new();
        GasFormatter::new().format(&ins.code, &mut text);
        let section = object.sections[self.section].name.clone();
        let offset = ins.code.ip();
        let function = object
            .symbols
            .iter()
            .filter(|symbol| symbol.section() == Some(self.section) && symbol.kind == sym::FUNC)
            .filter(|symbol| (symbol.value..symbol.value.saturating_add(symbol.size)).contains(&offset))
            .map(crate::elf::Symbol::display_name)
            .next();
        let place = Place { section, offset, function, instruction: Some(text) };
        Error { file: file.into(), place: Some(Box::new(place)), reason }
    }

    /// Number of the function that instruction `index` lies in.
    pub(crate) fn function_of(&self, index: usize) -> usize {
        self.functions.partition_point(|&start| start as usize <= index).saturating_sub(1)
    }

    /// First instruction of the function that `index` lies in, and one past its last.
    pub(crate) fn function_around(&self, index: usize) -> (usize, usize) {
        self.around(&self.functions, index)
    }

    /// Number of the function, or cold part of one, that instruction `index` lies in.
    pub(crate) fn part_of(&self, index: usize) -> usize {
        self.parts.partition_point(|&start| start as usize <= index).saturating_sub(1)
    }

    /// Its first instruction, and one past its last.
    pub(crate) fn part_around(&self, index: usize) -> (usize, usize) {
        self.around(&self.parts, index)
    }

    /// The places in the section where one of these marks is, and its start, ascending.
    pub(crate) fn starts(&self, marks: u16) -> Vec<u32> {
        let all = 1..self.code.len() as u32;
        let marked = all.filter(|&index| self.code[index as usize].has(marks));
        std::iter::once(0).chain(marked).collect()
    }

    /// What lies between two of `starts`, with instruction `index` in it: its first instruction, and one past its last.
    pub(crate) fn around(&self, starts: &[u32], index: usize) -> (usize, usize) {
        let next = starts.partition_point(|&start| start as usize <= index);
        let end = starts.get(next).map_or(self.code.len(), |&next| next as usize);
        (starts[next.saturating_sub(1)] as usize, end)
    }
}

/// Refusal of code that a linear sweep does not explain.
pub(crate) fn data_in_text(what: &str) -> Reason {
    Reason::new(
        format!("{what}: data in a code section, or a jump into the middle of an instruction"),
        "move constants to .rodata and jump only to whole instructions; for library assembly choose the portable C version",
    )
}

/// Refusal of a relocation that counts from address 0 instead of a symbol.
fn fixed_address() -> Reason {
    Reason::of_assembly(
        "it goes to, or uses, an address that was fixed when it was assembled",
        "name functions and data by their symbols",
    )
}

/// The mask of `and $mask,%rsp`, for which compilers write `mov $0,%spl` or `mov $0,%sp` where locals are aligned to 256 or 65536 bytes.
fn clears_part_of_rsp(code: &Instruction) -> Option<i32> {
    if code.mnemonic() != Mnemonic::Mov
        || !matches!(code.op1_kind(), OpKind::Immediate8 | OpKind::Immediate16)
    {
        return None;
    }
    match (code.op0_register(), code.immediate(1)) {
        (Register::SPL, 0) => Some(-0x100),
        (Register::SP, 0) => Some(-0x10000),
        _ => None,
    }
}

/// Whether one of the operands is rsp, or a part of it, and is written.
fn writes_rsp(code: &Instruction, info: &mut InstructionInfoFactory) -> bool {
    let is_rsp = |n: &u32| code.op_kind(*n) == OpKind::Register && is_rsp(code.op_register(*n));
    let Some(first) = (0..code.op_count()).find(is_rsp) else { return false };
    let info = info.info(code);
    let writes = |n: u32| {
        !matches!(
            info.op_access(n),
            OpAccess::None | OpAccess::NoMemAccess | OpAccess::Read | OpAccess::CondRead
        )
    };
    (first..code.op_count()).filter(is_rsp).any(writes)
}

/// Whether `register` is rsp or a part of it.
pub(crate) fn is_rsp(register: Register) -> bool {
    register != Register::None && register.full_register() == Register::RSP
}

/// Whether one of the operands is ah, ch, dh or bh.
pub(crate) fn has_high_byte(code: &Instruction) -> bool {
    let is_high = |register| matches!(register, Register::AH | Register::CH | Register::DH | Register::BH);
    (0..code.op_count())
        .any(|operand| code.op_kind(operand) == OpKind::Register && is_high(code.op_register(operand)))
}

/// The memory operand that the instruction encodes, if any: its operand number.
pub(crate) fn memory_operand(code: &Instruction) -> Option<u32> {
    (0..code.op_count()).find(|&operand| code.op_kind(operand) == OpKind::Memory)
}
