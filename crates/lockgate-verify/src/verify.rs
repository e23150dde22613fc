//! The rules V0–V6 of `docs/rules.md`, in one linear pass over the text and a look at what it collected.

use crate::bitmap::Bitmap;
use crate::control::{self, Control};
use crate::decode::{Decoder, Instruction, Memory};
use crate::forms::{Forms, flag};
use crate::frame::{Frames, Place, State};
use crate::reject::{Judged, broken};
use crate::rsp::{Leaving, Rsp};
use crate::{Module, Rejection, SegmentKind};
use crate::{features, units};
use lockgate_abi::{PAGE, code, gate, window};

/// What a module can read or modify, as a whole (rule V6). Proxies save, clear and restore only this.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Uses x87 or MMX state in any way.
    pub x87: bool,
    /// Reads the x87 environment (fnstenv): shows the host's last x87 instruction.
    pub x87_environment: bool,
    /// Writes MXCSR as a whole (ldmxcsr). Its status flags, which any SSE operation may set, are not counted: they
    /// do not survive a call in the System V ABI either.
    pub mxcsr_write: bool,
    /// Reads MXCSR (stmxcsr), the host's status flags included.
    pub mxcsr_read: bool,
    /// Names an EVEX instruction: can read or write zmm0–31.
    pub evex: bool,
    /// Names a mask register (VEX-coded kmov included).
    pub mask: bool,
    /// Names a vector register of any size, or clears them all.
    pub vector: bool,
    /// Names a ymm or zmm register, or is a VEX- or EVEX-coded vector instruction, which clears upper halves.
    pub ymm: bool,
    /// Asks the processor what it has (cpuid): code for other processors may stand beside code for this one.
    pub cpuid: bool,
    /// What its instructions need of the processor, beyond x86-64 with AVX: names of [`FEATURES`](features::FEATURES).
    pub needs: Vec<&'static str>,
    /// Callee-saved general registers written anywhere, bit i = register number i (rbx 3, rbp 5, r12–r15).
    pub callee_saved_written: u16,
    /// Gate slots used, ascending.
    pub gates: Vec<u16>,
    /// Where rsp is behind each call.
    #[serde(skip)]
    pub frames: Frames,
    /// Bytes of verified text.
    pub text_bytes: u64,
    /// Instructions decoded.
    pub instructions: u64,
}

/// Judges a parsed module.
///
/// # Errors
/// A rule that the module breaks: the first one in address order among those that concern one unit (V1–V5);
/// if there is none, then labels (V4), branches (V1, V3) and switch tables (V3, V5).
pub fn verify(module: &Module) -> Result<Report, Box<Rejection>> {
    let text = segments(module)?;
    let mut pass = Pass::new(module, text, &module.states);
    pass.run()
        .and_then(|()| pass.labels())
        .and_then(|()| pass.branches())
        .and_then(|()| pass.switch_tables())
        .map_err(|broken| Box::new(crate::reject::explain(pass.address, pass.text, broken)))?;
    Ok(pass.report())
}

/// Bytes of code that [`place`] reads at most: from the last call before the address.
pub const FAR: usize = 1 << 20;

/// No unit is longer.
const UNIT: usize = 64;

/// Gates that are the same in each window: not the base's.
const SERVICES: [u64; 3] = [gate::SYSCALL, gate::RESUME, gate::SYSCALL_AS_CALL];

/// What is known of an image-relative address in the code of a module that [`verify`] accepts, which was parsed from `file`. [`None`]: it is not in
/// the code, or `FAR` behind all calls, so that this never takes more than some milliseconds.
#[must_use]
pub fn place(file: &[u8], module: &Module, frames: &Frames, address: u64) -> Option<Place> {
    let segments = Module::segments_of(file)?;
    let (_, start, text) = segments.into_iter().find(|(kind, ..)| *kind == SegmentKind::Code)?;
    place_in(module, (start, text), frames, address)
}

/// The same in a module's text.
pub(crate) fn place_in(
    module: &Module,
    (start, text): Text<'_>,
    frames: &Frames,
    address: u64,
) -> Option<Place> {
    let offset = usize::try_from(address.checked_sub(start)?).ok().filter(|at| *at < text.len())?;
    let known = frames.last(u32::try_from(offset).ok()?);
    let from = known.map_or(0, |(at, _)| at as usize);
    let at = offset - from;
    if at > FAR {
        return None;
    }
    let text = &text[from..text.len().min(offset + UNIT)];
    let first = start + from as u64;
    let notes = &module.states[module.states.partition_point(|&(at, _)| at < first)..];
    let mut pass = Pass::new(module, (first, text), notes);
    if let Some((_, state)) = known {
        pass.rsp.begin(state);
    }
    // (Where it is cut off, the text may end in the middle of an instruction.)
    match pass.units(known.is_none()) {
        Err(broken) if broken.at <= at => None,
        _ => Some(Place {
            state: (!frames.is_unsure(offset as u32)).then(|| pass.rsp.before(at)),
            begins: pass.starts.contains(at),
        }),
    }
}

/// Address and bytes of the code.
type Text<'a> = (u64, &'a [u8]);

/// V0: what [`Module::parse`] promises, for modules that came another way. Segments are whole pages in order,
/// disjoint, the first one and no other is code; relocations change data alone.
fn segments(module: &Module) -> Result<Text<'_>, Box<Rejection>> {
    let wrong = |address, reason: &str| Err(Box::new(crate::reject::segment(address, reason)));
    let mut end = 0;
    for (i, segment) in module.segments.iter().enumerate() {
        let is_page =
            segment.address.is_multiple_of(PAGE) && segment.size.is_multiple_of(PAGE) && segment.size > 0;
        if !is_page || segment.address < end {
            return wrong(
                segment.address,
                "a segment is not made of whole pages, or overlaps the one before it",
            );
        }
        let full = segment.bytes.len() as u64 == segment.size;
        if !full && (segment.kind != SegmentKind::Data || segment.bytes.len() as u64 > segment.size) {
            return wrong(segment.address, "a segment's bytes are not the bytes that will be mapped");
        }
        if (segment.kind == SegmentKind::Code) != (i == 0) {
            return wrong(segment.address, "code is not exactly the first segment");
        }
        match segment.address.checked_add(segment.size) {
            Some(next) if next <= window::IMAGE_MAX - window::IMAGE => end = next,
            _ => return wrong(segment.address, "the image does not fit below IMAGE_MAX"),
        }
    }
    if end != module.image_size {
        return wrong(end, "the image does not end with its last segment");
    }
    let in_data = |at: u64| {
        module.segments.iter().any(|segment| {
            let initialised = segment.bytes.len() as u64;
            let inside =
                at.checked_sub(segment.address).is_some_and(|skip| skip.saturating_add(8) <= initialised);
            segment.kind == SegmentKind::Data && inside
        })
    };
    let words = module.join.iter().flat_map(|join| &join.words).map(|word| word.at);
    let mut changed = module.relocations.iter().map(|relocation| relocation.at).chain(words);
    if let Some(at) = changed.find(|at| !in_data(*at)) {
        return wrong(at, "a relocation changes something else than data");
    }
    match module.segments.first() {
        Some(first) => Ok((first.address, &first.bytes)),
        None => wrong(0, "there is no code"),
    }
}

/// What follows a unit.
struct Next {
    /// Offset of the next unit.
    at: usize,
    /// Control cannot come there from this one.
    ends: bool,
}

/// The next unit, with control going on to it.
fn on(at: usize) -> Next {
    Next { at, ends: false }
}

struct Pass<'a> {
    module: &'a Module,
    /// Image-relative address of the text.
    address: u64,
    text: &'a [u8],
    /// First bytes of units.
    starts: Bitmap,
    /// V3.
    rsp: Rsp<'a>,
    /// Direct branches: offset of the target, offset of the branch, state.
    branches: Vec<(i64, u32, Leaving)>,
    /// Jumps through tables, with the offset of the jump and the state.
    switches: Vec<(usize, Leaving, units::Switch)>,
    /// Places behind calls.
    frames: Frames,
    /// V6: flags of all forms, registers written, EVEX, what the processor must have, gates called.
    flags: u32,
    written: u16,
    evex: bool,
    needs: u64,
    gates: Vec<bool>,
    instructions: u64,
}

/// Number of rsp.
const RSP: u16 = 4;
/// rbx, rbp, r12–r15 (System V ABI, figure 3.4).
const CALLEE_SAVED: u16 = 1 << 3 | 1 << 5 | 0xf000;
/// `testb $0,(%rsp)`: a probe that reads the control stack and keeps nothing of it (docs/decisions/0008-test-touch.md).
const TEST_PROBE: [u8; 4] = [0xf6, 0x04, 0x24, 0x00];

impl<'a> Pass<'a> {
    fn new(module: &'a Module, (address, text): Text<'a>, notes: &'a [(u64, State)]) -> Pass<'a> {
        Pass {
            module,
            address,
            text,
            starts: Bitmap::new(text.len()),
            rsp: Rsp::new(notes, address, text.len()),
            branches: Vec::with_capacity(text.len() / 16),
            switches: Vec::new(),
            frames: Frames::new(address),
            flags: 0,
            written: 0,
            evex: false,
            needs: 0,
            gates: vec![false; gate::SLOTS as usize],
            instructions: 0,
        }
    }

    /// V1–V3 and V5, unit by unit.
    fn run(&mut self) -> Judged {
        let (unit, ends) = self.units(true)?;
        if !ends {
            return broken("V1", unit, "control can go on behind the code's last instruction");
        }
        match self.rsp.finish() {
            Ok(()) => Ok(()),
            Err(address) => {
                let what =
                    format!("its STATES note has {address:#x}, where no region starts, or out of order");
                broken("V3", unit, what)
            }
        }
    }

    /// Each unit. `region`: one begins with the first of them. The last one's offset, and whether control goes on from there.
    #[inline(always)]
    fn units(&mut self, region: bool) -> Judged<(usize, bool)> {
        let forms = Forms::get();
        let (mut unit, mut at, mut ends) = (0, 0, region);
        while at < self.text.len() {
            if ends {
                self.rsp.region(at)?;
            }
            self.starts.insert(at);
            self.instructions += 1;
            let mut decoder = Decoder::new(forms, self.text, at);
            let next = match decoder.run() {
                Ok(()) => self.data(at, &decoder.instruction)?,
                Err(refusal) => match control::decode(&self.text[at..]) {
                    Some((len, control)) => self.transfer(at, at + len, control)?,
                    None => return broken("V1", at, refusal),
                },
            };
            (unit, at, ends) = (at, next.at, next.ends);
        }
        Ok((unit, ends))
    }

    /// An instruction that computes.
    #[inline(always)]
    fn data(&mut self, at: usize, instruction: &Instruction) -> Judged<Next> {
        let end = at + instruction.len;
        let mut next = on(end);
        match instruction.memory {
            _ if instruction.written >> RSP & 1 != 0 => next = self.rsp_written(at, end)?,
            Memory::None | Memory::Window => (),
            _ if instruction.flags & flag::ADDRESS_ONLY != 0 => (),
            Memory::Rip => self.in_image(at, end, instruction)?,
            Memory::Stack => self.on_stack(at, end, instruction)?,
            Memory::Other => next = self.unconfined(at)?,
        }
        self.flags |= instruction.flags | if instruction.mask != 0 { flag::MASKREGS } else { 0 };
        self.evex |= instruction.evex;
        self.needs |= instruction.needs;
        self.written |= instruction.written;
        Ok(next)
    }

    /// V2, M2.
    #[inline(always)]
    fn in_image(&self, at: usize, end: usize, instruction: &Instruction) -> Judged {
        let (size, image) = (instruction.access, self.module.image_size);
        let target = self.address as i64 + end as i64 + i64::from(instruction.disp);
        match u64::try_from(target) {
            Ok(target) if target + u64::from(size) <= image => Ok(()),
            _ => broken("V2", at, format!("its {size} bytes at {target:#x} are not inside the image")),
        }
    }

    /// V2, M3, and the probe of V3.
    #[inline(always)]
    fn on_stack(&mut self, at: usize, end: usize, instruction: &Instruction) -> Judged {
        // Distance of the operand from rsp's image on the data stack.
        let distance = (i64::from(instruction.disp) + i64::from(code::OFF)).unsigned_abs();
        if self.text[at..end] == TEST_PROBE {
            self.rsp.probe();
        } else if distance > u64::from(code::MAX_MOVE) {
            return broken("V2", at, "its rsp-based address is not on the data stack (disp-OFF(%rsp))");
        } else if instruction.flags & flag::PROBE != 0
            && instruction.mask == 0
            && distance <= u64::from(code::MAX_PROBE)
        {
            self.rsp.probe();
        }
        Ok(())
    }

    /// V2 for addresses that nothing confines: M5, the load of U4.
    #[cold]
    fn unconfined(&mut self, at: usize) -> Judged<Next> {
        let Some(switch) = units::switch(self.text, at) else {
            return broken("V2", at, "its address is not confined: use %gs: with 32-bit registers (65 67)");
        };
        self.rsp.unprobed(at)?;
        self.close_unit(switch.start, at, switch.end)?;
        let next = Next { at: switch.end, ends: true };
        self.switches.push((at, self.rsp.leaving(), switch));
        Ok(next)
    }

    /// V3 b–e.
    #[cold]
    fn rsp_written(&mut self, at: usize, end: usize) -> Judged<Next> {
        if let Some((start, end)) = units::open(self.text, at) {
            self.close_unit(start, at, end)?;
            self.rsp.open(at, end)?;
            return Ok(on(end));
        }
        let disp8 = |n: u8| i64::from(n as i8);
        let disp32 = |a, b, c, d| i64::from(i32::from_le_bytes([a, b, c, d]));
        let change = match self.text[at..end] {
            // add imm,%rsp; sub imm,%rsp; lea disp(%rsp),%rsp
            [0x48, 0x83, 0xc4, n] => disp8(n),
            [0x48, 0x81, 0xc4, a, b, c, d] => disp32(a, b, c, d),
            [0x48, 0x83, 0xec, n] => -disp8(n),
            [0x48, 0x81, 0xec, a, b, c, d] => -disp32(a, b, c, d),
            [0x48, 0x8d, 0x64, 0x24, n] => disp8(n),
            [0x48, 0x8d, 0xa4, 0x24, a, b, c, d] => disp32(a, b, c, d),
            _ => match units::close(&self.text[at..end]) {
                Some(distance) => return self.rsp.close(at, end, distance).map(|()| on(end)),
                None => return broken("V3", at, "it writes rsp in a form that is not allowed"),
            },
        };
        self.rsp.shift(at, end, change)?;
        Ok(on(end))
    }

    /// A control transfer.
    #[inline(always)]
    fn transfer(&mut self, at: usize, end: usize, control: Control) -> Judged<Next> {
        let mut ends = false;
        match control {
            Control::Branch(disp) | Control::Jump(disp) => {
                self.rsp.unprobed(at)?;
                self.branches.push((end as i64 + i64::from(disp), at as u32, self.rsp.leaving()));
                ends = matches!(control, Control::Jump(_));
            }
            Control::Call(disp) => {
                self.branches.push((end as i64 + i64::from(disp), at as u32, Leaving::CALL));
                self.called(end);
            }
            Control::Return => {
                self.rsp.at_entry(at, "it returns")?;
                ends = true;
            }
            Control::Trap => ends = true,
            // A handler, a debugger or a tracer may go on behind it, with rsp as it is.
            Control::Breakpoint | Control::Nop => (),
            Control::Label => self.rsp.at_entry(at, "a label is")?,
            Control::Gate(disp) => self.gate(at, end, disp)?,
            Control::Indirect { register, call } => {
                self.checked_branch(at, end, register)?;
                if call {
                    self.called(end);
                } else {
                    self.rsp.at_entry(at, "it leaves the function")?;
                }
                ends = !call;
            }
            Control::String { source, destination } => {
                let Some(start) = units::string(&self.text[..at], source, destination) else {
                    return broken(
                        "V2",
                        at,
                        "a string instruction without the unit that confines its registers",
                    );
                };
                self.close_unit(start, at, end)?;
            }
        }
        Ok(Next { at: end, ends })
    }

    /// A call, through whatever, that ends at `end`: its push was a probe, and the function goes on with rsp as it was.
    #[inline(always)]
    fn called(&mut self, end: usize) {
        self.rsp.probe();
        self.frames.push(end as u32, self.rsp.state());
    }

    /// M4.
    fn gate(&mut self, at: usize, end: usize, disp: i32) -> Judged {
        let offset = u64::try_from(disp).ok().and_then(|disp| disp.checked_sub(window::GATE_TABLE));
        match offset.filter(|offset| offset.is_multiple_of(8)).map(|offset| offset / 8) {
            Some(slot) if self.module.join.is_some() && !SERVICES.contains(&slot) => broken(
                "V2",
                at,
                format!("it joins a domain, whose gates are the base's, and uses gate {slot}"),
            ),
            Some(slot) if slot < gate::SLOTS => {
                self.gates[slot as usize] = true;
                self.called(end);
                Ok(())
            }
            _ => broken("V2", at, "its operand is not a slot of the gate table"),
        }
    }

    /// V5, U1.
    fn checked_branch(&mut self, at: usize, end: usize, register: u8) -> Judged {
        const R11: u8 = 11;
        self.rsp.unprobed(at)?;
        match units::checked_branch(&self.text[..at]) {
            Some(start) if register == R11 => self.close_unit(start, at, end),
            _ => broken("V5", at, "an indirect branch without the unit that checks its target's label"),
        }
    }

    /// Makes one unit of `start..end`: nothing but its first byte is a unit start.
    fn close_unit(&mut self, start: usize, at: usize, end: usize) -> Judged {
        if !self.starts.contains(start) {
            return broken("V5", at, "the bytes before it look like its unit, but decode otherwise");
        }
        for inside in start + 1..end {
            self.starts.remove(inside);
        }
        Ok(())
    }

    /// V4: every occurrence of the label's bytes is a unit; and exports, where the host enters, are labels.
    fn labels(&self) -> Judged {
        for export in &self.module.exports {
            let at = export.address.wrapping_sub(self.address) as usize;
            if !self.text.get(at..).is_some_and(|text| text.starts_with(&code::LABEL)) {
                return broken(
                    "V4",
                    0,
                    format!("export '{}' does not start with the entry label", export.name),
                );
            }
        }
        // Blocks without the label's last byte, nearly all, are passed over at once: one comparison of a vector.
        const BLOCK: usize = 16;
        let last = code::LABEL[code::LABEL.len() - 1];
        for (i, block) in self.text.chunks(BLOCK).enumerate() {
            let has_last =
                |block: &[u8; BLOCK]| block.iter().fold(false, |found, &byte| found | (byte == last));
            if block.first_chunk().is_some_and(|block| !has_last(block)) {
                continue;
            }
            for end in i * BLOCK + 1..=i * BLOCK + block.len() {
                let at = end.saturating_sub(code::LABEL.len());
                if self.text[at..end] == code::LABEL && !self.starts.contains(at) {
                    return broken("V4", at, "the entry label's bytes inside another unit");
                }
            }
        }
        Ok(())
    }

    /// V1 and V3: direct branches go to units, with rsp as it is there.
    fn branches(&mut self) -> Judged {
        for &(target, at, leaving) in &self.branches {
            match usize::try_from(target) {
                Ok(target) if self.starts.contains(target) => {
                    if !self.rsp.edge(self.text, at as usize, leaving, target)? {
                        self.frames.doubt(target as u32);
                    }
                }
                _ => {
                    let target = self.address as i64 + target;
                    let what = format!("its target {target:#x} is not the start of a unit");
                    return broken("V1", at as usize, what);
                }
            }
        }
        Ok(())
    }

    /// V5, U4: the tables are constants, and their entries go to units, with rsp as it is there (V3). Tables are disjoint or the
    /// same, and then used in one state (which bounds the work).
    fn switch_tables(&mut self) -> Judged {
        let mut switches = std::mem::take(&mut self.switches);
        let start =
            |switch: &units::Switch| self.address as i64 + switch.table_base as i64 + i64::from(switch.table);
        switches.sort_by_key(|(at, _, switch)| (start(switch), std::cmp::Reverse(switch.last), *at));
        let mut checked_to = i64::MIN;
        let mut last_table = None;
        for &(at, leaving, ref switch) in &switches {
            let table = start(switch);
            if let Some((_, checked)) = last_table.filter(|(last, _)| *last == table) {
                self.rsp.same(at, leaving, checked)?;
                continue;
            }
            let size = (u64::from(switch.last) + 1) * 4;
            if table < checked_to {
                return broken("V5", at, format!("its table at {table:#x} overlaps another one"));
            }
            let Some(entries) = self.constants(table, size) else {
                return broken(
                    "V5",
                    at,
                    format!("its table ({size} bytes at {table:#x}) is not in the constants"),
                );
            };
            for (i, entry) in entries.chunks_exact(4).enumerate() {
                let entry = i32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
                let target = table + i64::from(entry) - self.address as i64;
                match usize::try_from(target) {
                    Ok(target) if self.starts.contains(target) => {
                        if !self.rsp.edge(self.text, at, leaving, target)? {
                            self.frames.doubt(target as u32);
                        }
                    }
                    _ => {
                        let what = format!("entry {i} of its table does not go to the start of a unit");
                        return broken("V5", at, what);
                    }
                }
            }
            (checked_to, last_table) = (table + size as i64, Some((table, leaving)));
        }
        Ok(())
    }

    /// `size` bytes of one segment of constants.
    fn constants(&self, address: i64, size: u64) -> Option<&'a [u8]> {
        let address = u64::try_from(address).ok()?;
        let constants = self.module.segments.iter().filter(|segment| segment.kind == SegmentKind::Constants);
        let segment = constants.rev().find(|segment| segment.address <= address)?;
        let skip = usize::try_from(address - segment.address).ok()?;
        segment.bytes.get(skip..)?.get(..usize::try_from(size).ok()?)
    }

    /// V6.
    fn report(self) -> Report {
        Report {
            frames: self.frames.settled(),
            gates: (0..).zip(&self.gates).filter(|(_, used)| **used).map(|(slot, _)| slot).collect(),
            text_bytes: self.text.len() as u64,
            instructions: self.instructions,
            needs: features::names(self.needs),
            ..state_usage(self.flags, self.evex, self.written)
        }
    }
}

/// V6: what the forms used say of a module, by their flags and the general registers that they write.
pub(crate) fn state_usage(flags: u32, evex: bool, written: u16) -> Report {
    let uses = |flag: u32| flags & flag != 0;
    Report {
        x87: uses(flag::X87),
        x87_environment: uses(flag::ENVIRONMENT),
        mxcsr_write: uses(flag::MXCSR_WRITE),
        mxcsr_read: uses(flag::MXCSR_READ),
        evex,
        mask: uses(flag::MASKREGS),
        vector: uses(flag::VECTOR),
        ymm: uses(flag::YMM),
        cpuid: uses(flag::CPUID),
        callee_saved_written: written & CALLEE_SAVED,
        ..Report::default()
    }
}
