//! The verifier on code: what it accepts, a second judge and another decoder accept as well ([`crate::model`]).

use crate::Target;
use crate::link::pad;
use crate::model::{self, judge};
use lockgate_abi::PAGE;
use lockgate_evidence::decoders::{Decoder, Zydis};
use lockgate_evidence::difference::differences;
use lockgate_verify::{Module, Reading, Rejection, Report, Segment, SegmentKind, verify};
use std::cell::RefCell;

/// See [`check`].
pub const TARGET: Target = Target {
    name: "verifier",
    run: |input| check(input, verify),
    longest: TEXT,
    memory: 4 << 20,
    near: 20_000,
    tokens: &[
        b"\x65\x67",
        b"\xf3\x0f\x1e\xfa",
        b"\x65\xff\x14\x25\x00\x10\x01\x00",
        b"\xf6\x04\x24\x00",
        b"\x48\x81\xec\x00\x00\x01\x00",
        b"\x48\x83\xec\x08",
        b"\x48\x8d\x64\x24\xf8",
        b"\x48\x8b\x84\x24\x00\x00\x00\xc1",
        b"\x48\x89\x84\x24\x00\x00\x00\xc1",
        // A computed frame's unit with a branch to the trap behind it, and the end of the frame.
        b"\x49\x31\xe3\x41\x81\xe3\xf8\xff\xff\x00\x49\x31\xe3\x49\x39\xe3\x77\x07\x4c\x87\xdc\x4c\x89\x1c\x24\x0f\x0b",
        b"\x48\x8b\x24\x24",
        b"\x48\x8b\x64\x24\x08",
        b"\x48\x83\xc4\x08",
        b"\x89\xff\x65\x67\x48\x03\x3c\x25\x08\x00\x01\x00\xf3\xaa",
        b"\x0f\x0b",
        b"\xc3",
        b"\xe8\x00\x00\x00\x00",
        b"\x75\x00",
        b"\xeb\xfe",
        b"\x62\xf1\x7c\x48",
        b"\xc5\xfc",
        b"\xc4\xe2\x7d",
    ],
};

/// Longest input, bytes.
const TEXT: usize = 1024;
const CODE: u64 = 0x1000;
const CONSTANTS: u64 = CODE + PAGE;
const IMAGE_END: u64 = 0x10_0000;
/// What constants are full of: as a table for switches, wherever it begins, it leads as far into the code.
const TABLE_ENTRY: i32 = CODE as i32 - CONSTANTS as i32;

/// What judges a module.
pub type Verify = fn(&Module) -> Result<Report, Box<Rejection>>;

/// The input is code, followed by what is harmless ([`pad`]). Returns 1.
///
/// # Panics
/// It was accepted, and should not have been.
pub fn check(input: &[u8], verify: Verify) -> u64 {
    thread_local!(static MODULE: RefCell<Module> = RefCell::new(empty()));
    MODULE.with_borrow_mut(|module| {
        let page = &mut module.segments[0].bytes;
        let size = input.len().min(TEXT);
        page[..size].copy_from_slice(&input[..size]);
        pad(&mut page[size..]);
        if verify(module).is_ok() {
            accepted(&module.segments[0].bytes, size);
        }
    });
    1
}

fn accepted(page: &[u8], size: usize) {
    let read = |at: u64| (CONSTANTS..CONSTANTS + PAGE - 3).contains(&at).then_some(TABLE_ENTRY);
    let text = model::Text { bytes: page, address: CODE, image_end: IMAGE_END, read: &read };
    if let Err(what) = judge(&text) {
        panic!("accepted, but: {what}");
    }
    thread_local!(static ZYDIS: Zydis = Zydis::default());
    let mut at = 0;
    while at < size {
        let bytes = &page[at..];
        let ours = Reading::of(bytes).expect("the verifier has read it");
        let theirs = ZYDIS.with(|zydis| zydis.view(bytes));
        let found = differences(&ours, theirs.as_ref());
        assert!(found.is_empty(), "{found:?} at {at:#x}: {ours:?}, {theirs:?}");
        at += ours.len;
    }
}

fn empty() -> Module {
    let segment = |kind, address, size, bytes| Segment { kind, address, size, bytes };
    let data = CONSTANTS + PAGE;
    let table = TABLE_ENTRY.to_le_bytes().repeat(PAGE as usize / 4);
    let segments = vec![
        segment(SegmentKind::Code, CODE, PAGE, vec![0xcc; PAGE as usize]),
        segment(SegmentKind::Constants, CONSTANTS, PAGE, table),
        segment(SegmentKind::Data, data, IMAGE_END - data, vec![]),
    ];
    lockgate_evidence::text::module(segments, IMAGE_END, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    /// Blind to the rule.
    fn verify_but(module: &Module, rule: &str) -> Result<Report, Box<Rejection>> {
        verify(module)
            .or_else(|rejection| if rejection.rule == rule { Ok(Report::default()) } else { Err(rejection) })
    }

    const BLIND: [(&str, Verify); 5] = [
        ("V1", |module| verify_but(module, "V1")),
        ("V2", |module| verify_but(module, "V2")),
        ("V3", |module| verify_but(module, "V3")),
        ("V4", |module| verify_but(module, "V4")),
        ("V5", |module| verify_but(module, "V5")),
    ];

    #[test]
    fn a_verifier_that_is_blind_to_one_rule_is_noticed() {
        for (rule, verify) in BLIND {
            println!("{rule}");
            notices(&TARGET, |input| check(input, verify));
        }
    }
}
