//! Rejections for people: bytes and disassembly of the offending unit. iced-x86 is used for nothing else.

use crate::Rejection;
use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter};

/// A rule that the unit at an offset of the text breaks.
#[derive(Debug)]
pub(crate) struct Broken {
    pub rule: &'static str,
    pub at: usize,
    pub reason: String,
}

pub(crate) type Judged<T = ()> = Result<T, Broken>;

/// The rule `rule` is broken.
#[cold]
pub(crate) fn broken<T>(rule: &'static str, at: usize, reason: impl Into<String>) -> Judged<T> {
    Err(Broken { rule, at, reason: reason.into() })
}

/// Explains what the unit at `broken.at` of the text at `address` does wrong.
pub(crate) fn explain(address: u64, text: &[u8], broken: Broken) -> Rejection {
    let address = address + broken.at as u64;
    let rest = &text[broken.at..];
    let instruction = Decoder::with_ip(64, rest, address, DecoderOptions::NONE).decode();
    let len = instruction.len().clamp(1, rest.len());
    let mut disassembly = String::new();
    GasFormatter::new().format(&instruction, &mut disassembly);
    let bytes = rest[..len].iter().map(|byte| format!("{byte:02x}")).collect();
    Rejection { rule: broken.rule, address, bytes, instruction: disassembly, reason: broken.reason }
}

/// Explains what is wrong with a segment (V0), where there is no instruction to show.
pub(crate) fn segment(address: u64, reason: &str) -> Rejection {
    Rejection {
        rule: "V0",
        address,
        bytes: String::new(),
        instruction: String::new(),
        reason: reason.to_owned(),
    }
}
