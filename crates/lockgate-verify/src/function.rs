//! What one function can touch (rule V6): what control can reach from its label by direct branches, if it leaves that by returns only.
//!
//! # Why nothing else runs in its call
//! Of a module that [`verify`](crate::verify) accepts, the instructions that its pass read are closed under control: what goes on, goes on to
//! the next of them, direct branches and tables go to units (V1, V5). A label is one of them (V4). So the walk below sees every instruction
//! that can run after the label's, until a return, a checked branch (U1) or a gate call. It gives up at the latter two, which can lead
//! anywhere. A `call` goes to its target and, when that returns, on: to that place and to no other, since returns are proved (V3).
//! So the last return of all is the one to the proxy.

use crate::bitmap::Bitmap;
use crate::control::{self, Control};
use crate::decode::{Decoder, Memory};
use crate::forms::{Forms, flag};
use crate::verify::state_usage;
use crate::{Module, Report, SegmentKind, units};
use lockgate_abi::code;

/// Instructions and entries of tables that are looked at for one function, about ten microseconds' worth. A larger one spends its time
/// elsewhere than in its proxy.
const MAX: usize = 1024;

/// Text and constants of a module that [`verify`](crate::verify) accepts: nothing is said of others.
pub struct Functions<'a> {
    address: u64,
    text: &'a [u8],
    /// Image-relative addresses and bytes.
    constants: Vec<(u64, &'a [u8])>,
}

impl<'a> Functions<'a> {
    /// Of a parsed module, with the bytes of its segments.
    #[must_use]
    pub fn of(module: &'a Module) -> Functions<'a> {
        Functions::from(module.segments.iter().map(|s| (s.kind, s.address, s.bytes.as_slice())))
    }

    /// Of the file that a module was parsed from; `None`: there is none in it.
    #[must_use]
    pub fn in_file(file: &'a [u8]) -> Option<Functions<'a>> {
        Module::segments_of(file).map(|segments| Functions::from(segments.into_iter()))
    }

    fn from(segments: impl Iterator<Item = (SegmentKind, u64, &'a [u8])>) -> Functions<'a> {
        let mut this = Functions { address: 0, text: &[], constants: Vec::new() };
        for (kind, address, bytes) in segments {
            match kind {
                SegmentKind::Code => (this.address, this.text) = (address, bytes),
                SegmentKind::Constants => this.constants.push((address, bytes)),
                SegmentKind::Data => {}
            }
        }
        this
    }

    /// What a call of the function at `label`, an image-relative address, can read or modify: flags and callee-saved registers of the report.
    /// `None`: anything that the module can, because it may leave what direct branches reach, is too large to be looked at, or there
    /// is no label.
    #[must_use]
    pub fn report(&self, label: u64) -> Option<Report> {
        let forms = Forms::get();
        let first = usize::try_from(label.checked_sub(self.address)?).ok()?;
        if !self.text.get(first..)?.starts_with(&code::LABEL) {
            return None;
        }
        let mut seen = Bitmap::new(self.text.len());
        let (mut flags, mut evex, mut written) = (0, false, 0);
        // Where control may go and the walk has not been; how much it may still look at.
        let (mut ways, mut left) = (vec![first as i64], MAX);
        while let Some(way) = ways.pop() {
            let mut next = Some(way);
            while let Some(at) = next.take() {
                let at = usize::try_from(at).ok().filter(|at| *at < self.text.len())?;
                if seen.contains(at) {
                    break;
                }
                seen.insert(at);
                left = left.checked_sub(1)?;
                let mut decoder = Decoder::new(forms, self.text, at);
                if decoder.run().is_ok() {
                    let instruction = &decoder.instruction;
                    flags |= instruction.flags | if instruction.mask != 0 { flag::MASKREGS } else { 0 };
                    evex |= instruction.evex;
                    written |= instruction.written;
                    let computes = instruction.flags & flag::ADDRESS_ONLY != 0;
                    if instruction.memory == Memory::Other && !computes {
                        // U4 is the only unit with such an access.
                        let entries = self.table(&units::switch(self.text, at)?)?;
                        left = left.checked_sub(entries.len())?;
                        ways.extend(entries);
                    } else {
                        next = Some((at + instruction.len) as i64);
                    }
                    continue;
                }
                let (len, control) = control::decode(&self.text[at..])?;
                let end = (at + len) as i64;
                match control {
                    Control::Jump(disp) => next = Some(end + i64::from(disp)),
                    Control::Branch(disp) | Control::Call(disp) => {
                        ways.push(end + i64::from(disp));
                        next = Some(end);
                    }
                    Control::Return | Control::Trap => {}
                    Control::Breakpoint | Control::Nop | Control::Label | Control::String { .. } => {
                        next = Some(end);
                    }
                    Control::Gate(_) | Control::Indirect { .. } => return None,
                }
            }
        }
        Some(state_usage(flags, evex, written))
    }

    /// Offsets that a jump through a table goes to; `None` if there are too many.
    fn table(&self, switch: &units::Switch) -> Option<Vec<i64>> {
        let size = (switch.last as usize).checked_add(1).filter(|entries| *entries <= MAX)? * 4;
        let address = self.address as i64 + switch.table_base as i64 + i64::from(switch.table);
        let table = self.constants.iter().find_map(|&(start, bytes)| {
            let skip = usize::try_from(address - start as i64).ok()?;
            bytes.get(skip..)?.get(..size)
        })?;
        let entry = |bytes: &[u8]| i64::from(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        Some(table.chunks_exact(4).map(|bytes| address + entry(bytes) - self.address as i64).collect())
    }
}
