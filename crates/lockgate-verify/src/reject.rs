//! Rejections for people: bytes and disassembly of the offending unit. iced-x86 is used for nothing else.

/// Why a module was refused.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[error("{rule}: {reason} at {address:#x}: {bytes} {instruction}")]
pub struct Rejection {
    /// Rule of `docs/rules.md`: "V0" … "V5".
    pub rule: &'static str,
    /// Image-relative address of the unit.
    pub address: u64,
    /// Its bytes in hexadecimal; without the feature `disassembly` the 15 that it begins with.
    pub bytes: String,
    /// Its disassembly, or "(bad)"; without the feature `disassembly` who shows it.
    pub instruction: String,
    /// What is wrong with it.
    pub reason: String,
}

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
    let (length, instruction) = disassembled(address, rest);
    let length = length.clamp(1, rest.len());
    let bytes = rest[..length].iter().map(|byte| format!("{byte:02x}")).collect();
    Rejection { rule: broken.rule, address, bytes, instruction, reason: broken.reason }
}

/// Length and text of the instruction that `bytes` begin with.
#[cfg(feature = "disassembly")]
fn disassembled(address: u64, bytes: &[u8]) -> (usize, String) {
    use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter};
    let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    let mut text = String::new();
    GasFormatter::new().format(&instruction, &mut text);
    (instruction.len(), text)
}

/// The longest that an instruction can be; and who shows it.
#[cfg(not(feature = "disassembly"))]
fn disassembled(_: u64, _: &[u8]) -> (usize, String) {
    (15, "… (`lockgate verify` shows the instruction)".to_owned())
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
