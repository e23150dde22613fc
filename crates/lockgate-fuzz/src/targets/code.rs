//! The rewriter on any code at all, in an object that is well-formed: symbols, relocations and tables are the input's.

use super::rewriter::{RewriteObject, object as rewritten};
use crate::Target;
use crate::elf::{self, Section};
use arbitrary::{Result, Unstructured};
use lockgate_rewrite::rewrite_object;

/// See [`check`].
pub const TARGET: Target = Target {
    name: "code",
    run: |input| check(input, rewrite_object),
    longest: 768,
    memory: 32 << 20,
    near: 8000,
    tokens: &[
        b"\x48\x8d\x05\0\0\0\0",
        b"\x48\x63\x04\x82",
        b"\x48\x01\xd0",
        b"\xff\xe0",
        b"\xff\xd0",
        b"\x77\x05",
        b"\x48\x83\xf8\x07",
        b"\xe8\0\0\0\0",
        b"\xf3\xa4",
        b"\xf3\x48\xab",
        b"\x64\x48\x8b\x04\x25\0\0\0\0",
        b"\x48\x8b\x04\x24",
        b"\x55\x48\x89\xe5",
        b"\xc9\xc3",
        b"\x48\x83\xec\x18",
        b"\x48\x81\xe4\xe0\xff\xff\xff",
        b"\x0f\x05",
        b"\xf3\x0f\x1e\xfa",
        b"\x62\xf1\x7c\x48",
        b"\xc4\xe2\x7d",
        b"\x66\x0f",
        b"\x41\x57",
        b"\xe3\xfe",
    ],
};

/// Symbols and relocations, then code. Returns 2: it is rewritten in both modes.
///
/// # Panics
/// What came out is not what the verifier accepts.
pub fn check(input: &[u8], rewrite: RewriteObject) -> u64 {
    let object = build(&mut Unstructured::new(input)).unwrap_or_default();
    rewritten(&object, rewrite)
}

/// Relocations of code: PC32, PLT32, GOTPCREL, 32S, TLSGD, GOTTPOFF, TPOFF32, REX_GOTPCRELX.
const IN_CODE: [u64; 8] = [2, 4, 9, 11, 19, 22, 23, 42];
const PC32: u64 = 2;
/// Numbers of the sections below, and of the symbol that is the code's section.
const TEXT: u32 = 1;
const CONSTANTS: u32 = 2;
const SYMBOLS: u32 = 5;
const NAMES: u32 = 6;
const TEXT_SYMBOL: u64 = 1;

fn build(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    const SECTION_SYMBOL: u8 = 3;
    const GLOBAL_FUNCTION: u8 = 0x12;
    let mut symbols = vec![0; 24];
    symbols.extend(symbol(0, SECTION_SYMBOL, TEXT as u16, 0));
    symbols.extend(symbol(0, SECTION_SYMBOL, CONSTANTS as u16, 0));
    let globals = input.int_in_range(0..=3)?;
    for number in 0..globals {
        let section = if input.arbitrary::<u8>()? == 255 { 0 } else { TEXT as u16 };
        symbols.extend(symbol(1 + 2 * number, GLOBAL_FUNCTION, section, input.arbitrary::<u16>()?));
    }
    let mut relocations = Vec::new();
    for _ in 0..input.int_in_range(0..=7)? {
        let (at, kind) = (input.arbitrary::<u8>()?, *input.choose(&IN_CODE)?);
        let symbol = input.int_in_range(1..=2 + u64::from(globals))?;
        relocations.extend(relocation(at.into(), symbol, kind, input.arbitrary::<i8>()?.into()));
    }
    // A table of distances into the code, as compilers make for switches.
    let mut table = Vec::new();
    for entry in 0..input.int_in_range(0..=8)? {
        let addend = i64::from(input.arbitrary::<u8>()?) + 4 * entry as i64;
        table.extend(relocation(4 * entry, TEXT_SYMBOL, PC32, addend));
    }
    let constants = vec![0; table.len() / 6];
    let section = |name, kind, flags, contents| Section { name, kind, flags, contents, ..Section::default() };
    const LOADED: u64 = 2;
    const EXECUTABLE: u64 = 4;
    let of = |info, section| Section { link: SYMBOLS, info, entry: 24, ..section };
    let sections = [
        section(".text", elf::PROGBITS, LOADED | EXECUTABLE, input.bytes(input.len())?.to_vec()),
        section(".rodata", elf::PROGBITS, LOADED, constants),
        of(TEXT, section(".rela.text", elf::RELA, 0, relocations)),
        of(CONSTANTS, section(".rela.rodata", elf::RELA, 0, table)),
        Section { link: NAMES, info: 3, entry: 24, ..section(".symtab", elf::SYMTAB, 0, symbols) },
        section(".strtab", elf::STRTAB, 0, b"\0a\0b\0c\0".to_vec()),
    ];
    Ok(elf::file(elf::RELOCATABLE, &sections))
}

/// `Elf64_Sym`
fn symbol(name: u32, info: u8, section: u16, value: u16) -> Vec<u8> {
    let mut bytes = name.to_le_bytes().to_vec();
    bytes.extend([info, 0]);
    bytes.extend(section.to_le_bytes());
    bytes.extend([value.into(), 0].map(u64::to_le_bytes).concat());
    bytes
}

/// `Elf64_Rela`
fn relocation(offset: u64, symbol: u64, kind: u64, addend: i64) -> Vec<u8> {
    [offset, symbol << 32 | kind, addend as u64].map(u64::to_le_bytes).concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    #[test]
    fn a_rewriter_that_forgets_one_instruction_is_noticed() {
        notices(&TARGET, |input| {
            check(input, |name, bytes, options| {
                let mut rewritten = rewrite_object(name, bytes, options)?;
                // An operand on the data stack, -OFF and a little from rsp, goes elsewhere.
                let on_stack = |bytes: &[u8]| bytes[0] == 0x24 && matches!(bytes[4], 0xc0 | 0xc1);
                if let Some(at) = rewritten.bytes.windows(5).position(on_stack) {
                    rewritten.bytes[at + 4] ^= 0x10;
                }
                Ok(rewritten)
            })
        });
    }
}
