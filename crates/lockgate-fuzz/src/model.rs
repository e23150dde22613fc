//! Rules V1–V5 a second time, on iced-x86's reading of the code: whatever the verifier accepts must pass here, too.
//!
//! It shares nothing with the verifier but the constants of `lockgate-abi`. It may permit more than the rules do, where they are
//! stricter than safety needs; never less.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, MemorySize, Mnemonic,
    OpAccess, OpKind, Register, RflagsBits,
};
use lockgate_abi::{code, gate, header, stack, window};
use std::collections::{BTreeMap, BTreeSet};

/// A page of code in an image, and what lies around it.
#[derive(Clone, Copy)]
pub struct Text<'t> {
    /// The code.
    pub bytes: &'t [u8],
    /// Image address of its first byte.
    pub address: u64,
    /// One past the image.
    pub image_end: u64,
    /// What the image holds at an address: for tables of switches.
    pub read: &'t dyn Fn(u64) -> Option<i32>,
}

const OFF: i64 = code::OFF as i64;
const D: i64 = code::MAX_MOVE as i64;
const T: i64 = code::MAX_PROBE as i64;

/// Judges the code.
///
/// # Errors
/// What is wrong, and where.
pub fn judge(text: &Text<'_>) -> Result<(), String> {
    let decoder = Decoder::with_ip(64, text.bytes, text.address, DecoderOptions::NONE);
    let instructions: Vec<Instruction> = decoder.into_iter().collect();
    let mut walk = Walk {
        text,
        code: &instructions,
        starts: instructions.iter().map(Instruction::ip).collect(),
        inside: BTreeSet::new(),
        branches: Vec::new(),
        loads: BTreeSet::new(),
        of_switches: BTreeSet::new(),
        facts: InstructionInfoFactory::new(),
        stores: BTreeSet::new(),
        frame: Frame::ENTRY,
        settled: 0,
        ended: true,
        frames: BTreeMap::new(),
    };
    for (number, one) in instructions.iter().enumerate() {
        if std::mem::take(&mut walk.ended) {
            // No way comes from above, and one that comes by a branch has probed the stack.
            (walk.frame, walk.settled) = (Frame::ENTRY, 0);
        }
        walk.frames.insert(one.ip(), walk.frame);
        walk.instruction(number).map_err(|what| format!("{what}: {one} at {:#x}", one.ip()))?;
    }
    ensure(walk.ended, "control leaves the code at its end")?;
    walk.whole()
}

/// Where rsp is: so many bytes below the word that is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    /// What the frame word holds, as bytes below the return word; `None`: the return word itself is counted from.
    word: Option<i64>,
    depth: i64,
}

impl Frame {
    /// At the entry of a function, where it returns, and at labels.
    const ENTRY: Frame = Frame { word: None, depth: 0 };
}

struct Walk<'t> {
    text: &'t Text<'t>,
    code: &'t [Instruction],
    starts: BTreeSet<u64>,
    /// Instructions inside units: nothing may come here but from the one before.
    inside: BTreeSet<u64>,
    /// Where branches lead, and where rsp is then.
    branches: Vec<(u64, Frame)>,
    /// Loads that are legal in a switch only, and those that were in one.
    loads: BTreeSet<u64>,
    of_switches: BTreeSet<u64>,
    facts: InstructionInfoFactory,
    /// Stores of frame words: addresses of instructions that units have just made legal.
    stores: BTreeSet<u64>,
    /// Where rsp is.
    frame: Frame,
    /// The lowest depth that lies at most D below a mapped word; down to D any depth does.
    settled: i64,
    /// Control does not go on from the instruction before.
    ended: bool,
    /// Where rsp is before each instruction.
    frames: BTreeMap<u64, Frame>,
}

type Verdict = Result<(), String>;

fn ensure(fine: bool, what: &str) -> Verdict {
    if fine { Ok(()) } else { Err(what.to_owned()) }
}

impl Walk<'_> {
    fn instruction(&mut self, number: usize) -> Verdict {
        let one = &self.code[number];
        ensure(!one.is_invalid(), "no instruction")?;
        ensure(
            !one.is_privileged() && !one.is_stack_instruction() || calls_or_returns(one),
            "privileged, or it uses the stack",
        )?;
        match one.flow_control() {
            FlowControl::Next => self.computes(number),
            FlowControl::Return => {
                ensure(one.mnemonic() == Mnemonic::Ret && one.len() == 1, "a return that is no plain one")?;
                self.leaves()
            }
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                ensure(near(one), "a far or short branch")?;
                self.branches.push((one.near_branch_target(), self.frame));
                self.ended = one.flow_control() == FlowControl::UnconditionalBranch;
                self.settled()
            }
            FlowControl::Call => {
                if one.op0_kind() == OpKind::Memory {
                    return self.gate(one);
                }
                ensure(near(one), "a far call")?;
                self.branches.push((one.near_branch_target(), Frame::ENTRY));
                self.probed();
                Ok(())
            }
            FlowControl::IndirectCall => match one.op0_kind() {
                OpKind::Memory => self.gate(one),
                _ => self.checked(number).map(|()| self.probed()),
            },
            FlowControl::IndirectBranch => match self.checked(number) {
                Ok(()) => self.leaves(),
                Err(_) => self.switch(number).map(|()| self.ended = true),
            },
            FlowControl::Exception | FlowControl::Interrupt => {
                // It does not probe the stack. Behind `int3` a handler may go on.
                self.ended = one.mnemonic() == Mnemonic::Ud2;
                ensure(one.mnemonic() != Mnemonic::Int, "an interrupt")
            }
            FlowControl::XbeginXabortXend => Err("a transaction".into()),
        }
    }

    /// At a branch, rsp is at most D below a mapped word.
    fn settled(&self) -> Verdict {
        ensure(self.frame.depth <= self.settled.max(D), "rsp has moved")
    }

    fn probed(&mut self) {
        self.settled = self.settled.max(self.frame.depth);
    }

    /// Where a function is left, its return word is on top.
    fn leaves(&mut self) -> Verdict {
        self.ended = true;
        ensure(self.frame == Frame::ENTRY, "a function is left with a frame")
    }

    fn gate(&mut self, one: &Instruction) -> Verdict {
        let slot = one.memory_displacement64().wrapping_sub(window::GATE_TABLE);
        let plain = one.memory_base() == Register::None && one.memory_index() == Register::None;
        let fits = slot.is_multiple_of(8) && slot / 8 < gate::SLOTS;
        self.probed();
        ensure(plain && one.segment_prefix() == Register::GS && fits && one.len() == 8, "no gate call")
    }

    /// U1.
    fn checked(&mut self, number: usize) -> Verdict {
        let [load, compare, branch, copy, base, jump] = self.unit::<6>(number)?;
        let target = load.memory_base();
        let is = load.mnemonic() == Mnemonic::Mov
            && load.op0_register() == Register::R11D
            && load.segment_prefix() == Register::GS
            && target.is_gpr32()
            && target != Register::R11D
            && target != Register::ESP
            && load.memory_index() == Register::None
            && load.memory_displacement64() == 0
            && compare.mnemonic() == Mnemonic::Add
            && compare.op0_register() == Register::R11D
            && compare.op_count() == 2
            && compare.immediate(1) as u32 == code::LABEL_NEGATED
            && branch.mnemonic() == Mnemonic::Jne
            && copy.mnemonic() == Mnemonic::Mov
            && copy.op0_register() == Register::R11D
            && copy.op1_register() == target
            && adds_base(&base, Register::R11)
            && jump.op0_register() == Register::R11;
        ensure(is, "an unchecked branch")?;
        self.settled()?;
        self.enclose(number, 6);
        Ok(())
    }

    /// U4.
    fn switch(&mut self, number: usize) -> Verdict {
        let [compare, above, table, load, sum, jump] = self.unit::<6>(number)?;
        let (base, index, target) = (load.memory_base(), load.memory_index(), load.op0_register());
        let is = compare.mnemonic() == Mnemonic::Cmp
            && compare.op0_register() == index
            && index.is_gpr64()
            && matches!(compare.op1_kind(), OpKind::Immediate8to64 | OpKind::Immediate32to64)
            && above.mnemonic() == Mnemonic::Ja
            && table.mnemonic() == Mnemonic::Lea
            && table.op0_register() == base
            && table.is_ip_rel_memory_operand()
            && load.mnemonic() == Mnemonic::Movsxd
            && load.segment_prefix() == Register::None
            && load.memory_index_scale() == 4
            && load.memory_displacement64() == 0
            && target.is_gpr64()
            && base != index
            && base != target
            && sum.mnemonic() == Mnemonic::Add
            && (sum.op0_register(), sum.op1_register()) == (target, base)
            && jump.op0_register() == target
            && ![base, index, target].contains(&Register::RSP);
        ensure(is, "an unbounded jump")?;
        let last = compare.immediate(1) as i64;
        ensure(last >= 0, "a switch without end")?;
        let table = table.ip_rel_memory_address();
        for entry in 0..=last as u64 {
            let value = (self.text.read)(table + 4 * entry).ok_or("a table outside the constants")?;
            self.branches.push((table.wrapping_add_signed(value.into()), self.frame));
        }
        self.settled()?;
        self.of_switches.insert(load.ip());
        self.enclose(number, 6);
        Ok(())
    }

    /// The last `N` instructions up to `number`.
    fn unit<const N: usize>(&self, number: usize) -> Result<[Instruction; N], String> {
        let first = (number + 1).checked_sub(N).ok_or("a unit that begins before the code")?;
        Ok(std::array::from_fn(|i| self.code[first + i]))
    }

    /// Marks the last `length` instructions up to `number` as one unit.
    fn enclose(&mut self, number: usize, length: usize) {
        self.inside.extend(self.code[number + 2 - length..=number].iter().map(Instruction::ip));
    }

    fn computes(&mut self, number: usize) -> Verdict {
        let one = &self.code[number];
        const FORBIDDEN: [Mnemonic; 14] = [
            Mnemonic::Syscall,
            Mnemonic::Sysenter,
            Mnemonic::Wrpkru,
            Mnemonic::Rdpkru,
            Mnemonic::Wrfsbase,
            Mnemonic::Wrgsbase,
            Mnemonic::Rdfsbase,
            Mnemonic::Rdgsbase,
            Mnemonic::Movdir64b,
            Mnemonic::Enqcmd,
            Mnemonic::Xrstor,
            Mnemonic::Fxrstor,
            Mnemonic::Frstor,
            Mnemonic::Swapgs,
        ];
        ensure(!FORBIDDEN.contains(&one.mnemonic()), "forbidden")?;
        if one.mnemonic() == Mnemonic::Endbr64 {
            ensure(self.frame == Frame::ENTRY, "a label in a frame")?;
        }
        let changed = one.rflags_modified();
        ensure(changed & RflagsBits::AC == 0, "it changes AC")?;
        ensure(one.rflags_set() & RflagsBits::DF == 0, "it sets the direction")?;
        if one.is_string_instruction() {
            return self.string(number);
        }
        let facts = self.facts.info(one).clone();
        let writes = |access| {
            !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess)
        };
        for used in facts.used_registers() {
            if writes(used.access()) {
                let register = used.register();
                ensure(!register.is_segment_register(), "it writes a segment register")?;
                if register.full_register() == Register::RSP {
                    return self.changes_rsp(number);
                }
            }
        }
        if self.stores.contains(&one.ip()) {
            return Ok(());
        }
        ensure(facts.used_memory().len() <= 1, "several memory operands")?;
        let Some(used) = facts.used_memory().first().copied() else { return Ok(()) };
        if used.access() == OpAccess::NoMemAccess || one.mnemonic() == Mnemonic::Nop {
            return Ok(());
        }
        let size = size(one, used.memory_size());
        let bit_string =
            matches!(one.mnemonic(), Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc)
                && one.op1_kind() == OpKind::Register;
        ensure(!bit_string && size <= code::MAX_ACCESS as u64, "an access of any length")?;
        let table = one.mnemonic() == Mnemonic::Xlatb;
        let narrow = |register: Register| {
            let part = table && register == Register::AL;
            register == Register::None || register.is_gpr32() || register.is_vector_register() || part
        };
        if used.segment() == Register::GS && used.address_size() == iced_x86::CodeSize::Code32 {
            return ensure(narrow(used.base()) && narrow(used.index()), "wide registers in an address");
        }
        ensure(one.segment_prefix() == Register::None, "a segment")?;
        if one.is_ip_rel_memory_operand() {
            let (at, end) = (one.ip_rel_memory_address(), self.text.image_end);
            return ensure(
                one.memory_base() == Register::RIP && at < end && at + size <= end,
                "outside the image",
            );
        }
        let disp = one.memory_displacement64() as i64 + OFF;
        if one.mnemonic() == Mnemonic::Movsxd && used.index() != Register::None {
            self.loads.insert(one.ip());
            return Ok(());
        }
        let on_stack = used.base() == Register::RSP && used.index() == Register::None;
        ensure(on_stack && (-D..=D).contains(&disp) || is_test_of_stack(one), "an unconfined access")?;
        if (-T..=T).contains(&disp) || is_test_of_stack(one) {
            let certain = matches!(used.access(), OpAccess::Read | OpAccess::Write | OpAccess::ReadWrite);
            let prefetch = format!("{:?}", one.mnemonic()).contains("refetch");
            if certain && !prefetch && !one.has_op_mask() {
                self.probed();
            }
        }
        Ok(())
    }

    /// U3.
    fn string(&mut self, number: usize) -> Verdict {
        let one = &self.code[number];
        let wide = (0..one.op_count()).all(|operand| {
            !matches!(
                one.op_kind(operand),
                OpKind::MemorySegSI
                    | OpKind::MemorySegESI
                    | OpKind::MemorySegDI
                    | OpKind::MemorySegEDI
                    | OpKind::MemoryESDI
                    | OpKind::MemoryESEDI
            )
        });
        ensure(wide && one.segment_prefix() == Register::None, "a narrow or displaced string")?;
        let uses = |kind| (0..one.op_count()).any(|operand| one.op_kind(operand) == kind);
        let mut first = number;
        for (used, narrow, full) in [
            (uses(OpKind::MemorySegRSI), Register::ESI, Register::RSI),
            (uses(OpKind::MemoryESRDI), Register::EDI, Register::RDI),
        ] {
            if used {
                first = first.checked_sub(2).ok_or("an unconfined string")?;
                let (cut, base) = (&self.code[first], &self.code[first + 1]);
                let cuts = cut.mnemonic() == Mnemonic::Mov
                    && (cut.op0_register(), cut.op1_register()) == (narrow, narrow);
                ensure(cuts && adds_base(base, full), "an unconfined string")?;
            }
        }
        self.enclose(number, number - first + 1);
        Ok(())
    }

    /// V3: by a constant, or by a frame word that is stored and loaded again.
    fn changes_rsp(&mut self, number: usize) -> Verdict {
        let one = &self.code[number];
        ensure(
            one.op0_kind() == OpKind::Register && one.op0_register() == Register::RSP,
            "it writes a part of rsp, or rsp by the way",
        )?;
        let relative = one.memory_base() == Register::RSP && one.memory_index() == Register::None;
        let by = match one.mnemonic() {
            Mnemonic::Add if one.op1_kind() != OpKind::Register => one.immediate(1) as i64,
            Mnemonic::Sub if one.op1_kind() != OpKind::Register => -(one.immediate(1) as i64),
            Mnemonic::Lea if relative => one.memory_displacement64() as i64,
            Mnemonic::Xchg => return self.opens(number),
            Mnemonic::Mov if relative && one.segment_prefix() == Register::None => {
                let Frame { word: Some(word), depth } = self.frame else {
                    return Err("rsp is loaded without a frame word".into());
                };
                ensure(one.memory_displacement64() as i64 == depth, "rsp is loaded from elsewhere")?;
                // It was settled when the word was stored.
                (self.frame, self.settled) = (Frame { word: None, depth: word }, word);
                return Ok(());
            }
            _ => return Err("it writes rsp".into()),
        };
        let depth = self.frame.depth - by;
        ensure(by % 8 == 0 && (0..=stack::SLOT as i64).contains(&depth), "rsp leaves its frame")?;
        self.frame.depth = depth;
        ensure(depth - self.settled.max(D) <= D, "rsp goes too far")
    }

    /// U2: rsp goes down inside its slot, and then what it was is stored where it is.
    fn opens(&mut self, number: usize) -> Verdict {
        let first = number.checked_sub(5).ok_or("a cut unit")?;
        let Some([low, cut, high, compare, above, exchange, store]) = self.code.get(first..first + 7) else {
            return Err("a cut unit".into());
        };
        let of_rsp = |one: &Instruction, mnemonic| {
            (one.mnemonic(), one.op0_register(), one.op1_register())
                == (mnemonic, Register::R11, Register::RSP)
                && one.op1_kind() == OpKind::Register
        };
        let is = of_rsp(low, Mnemonic::Xor)
            && (cut.mnemonic(), cut.op0_register()) == (Mnemonic::And, Register::R11D)
            && cut.op1_kind() != OpKind::Register
            && cut.immediate(1) as u32 == code::SLOT_MASK
            && of_rsp(high, Mnemonic::Xor)
            && of_rsp(compare, Mnemonic::Cmp)
            && above.mnemonic() == Mnemonic::Ja
            && exchange.op1_register() == Register::R11
            && store.mnemonic() == Mnemonic::Mov
            && store.op0_kind() == OpKind::Memory
            && store.memory_base() == Register::RSP
            && store.memory_index() == Register::None
            && store.memory_displacement64() == 0
            && store.segment_prefix() == Register::None
            && store.op1_register() == Register::R11;
        ensure(is, "a computed rsp")?;
        self.settled()?;
        let Frame { word: None, depth: word @ 8.. } = self.frame else {
            return Err("a frame word in the place of another, or of the return word".into());
        };
        (self.frame, self.settled) = (Frame { word: Some(word), depth: 0 }, 0);
        self.stores.insert(store.ip());
        self.enclose(number + 1, 7);
        Ok(())
    }

    /// What needs the whole text: labels, and where branches lead.
    fn whole(&self) -> Verdict {
        for (at, four) in self.text.bytes.windows(4).enumerate() {
            if four == code::LABEL {
                let at = self.text.address + at as u64;
                let label = self.code.iter().any(|one| one.ip() == at && one.mnemonic() == Mnemonic::Endbr64);
                ensure(label && !self.inside.contains(&at), &format!("a label's bytes at {at:#x}"))?;
            }
        }
        let stray = self.loads.difference(&self.of_switches).next();
        ensure(stray.is_none(), &format!("an unconfined load at {stray:x?}"))?;
        for (target, frame) in &self.branches {
            let fine = self.starts.contains(target) && !self.inside.contains(target);
            ensure(fine, &format!("a branch to {target:#x}, where no unit starts"))?;
            // A trap needs no stack.
            let bytes = &self.text.bytes[(target - self.text.address) as usize..];
            let fits = self.frames[target] == *frame || bytes.starts_with(&code::UD2);
            ensure(fits, &format!("a branch to {target:#x} with another frame: {frame:?}"))?;
        }
        Ok(())
    }
}

fn near(one: &Instruction) -> bool {
    one.op0_kind() == OpKind::NearBranch64
}

fn calls_or_returns(one: &Instruction) -> bool {
    matches!(one.flow_control(), FlowControl::Call | FlowControl::IndirectCall | FlowControl::Return)
}

/// `add %gs:W,%register`
fn adds_base(one: &Instruction, register: Register) -> bool {
    one.mnemonic() == Mnemonic::Add
        && one.op0_register() == register
        && one.segment_prefix() == Register::GS
        && one.memory_base() == Register::None
        && one.memory_index() == Register::None
        && one.memory_displacement64() == header::W
}

/// `testb $0,(%rsp)`, which may stand on the control stack: decisions/0008.
fn is_test_of_stack(one: &Instruction) -> bool {
    one.mnemonic() == Mnemonic::Test
        && one.memory_base() == Register::RSP
        && one.memory_index() == Register::None
        && one.memory_displacement64() == 0
        && one.op1_kind() == OpKind::Immediate8
        && one.immediate8() == 0
}

/// Bytes of the access; of those that iced-x86 gives no size, what the processor manuals say.
fn size(one: &Instruction, size: MemorySize) -> u64 {
    match (one.mnemonic(), size.size() as u64) {
        (Mnemonic::Fnstenv | Mnemonic::Fldenv, _) => 28,
        (Mnemonic::Clzero, _) => 64,
        (_, size) => size,
    }
}
