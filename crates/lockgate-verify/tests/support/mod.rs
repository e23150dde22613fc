//! Modules around a few bytes of code.

#![allow(dead_code, reason = "each test uses its part")]

pub mod elf;

use lockgate_verify::{Module, Segment, SegmentKind};

/// Where a case's bytes lie in the page of code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// At 0x1000, followed by `trap: ud2; f: nop; ud2` and padding that ends with `ud2`.
    Followed,
    /// Behind padding, at the end of the page.
    Last,
}

const PAGE: usize = 4096;
const INT3: u8 = 0xcc;

/// Parses hexadecimal digits.
pub fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_else(|| panic!("'{hexadecimal}'")) as u8;
    hexadecimal.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// An image with `code` in a page at 0x1000, [`constants`] at 0x2000, and data from 0x3000 to 0x101000.
pub fn module(code: &[u8], placement: Placement) -> Module {
    let mut page = Vec::new();
    match placement {
        Placement::Followed => {
            page.extend_from_slice(code);
            page.extend([0x0f, 0x0b, 0x90, 0x0f, 0x0b]);
            page.resize(PAGE - 2, INT3);
            page.extend([0x0f, 0x0b]);
        }
        Placement::Last => {
            page.resize(PAGE - code.len(), INT3);
            page.extend_from_slice(code);
        }
    }
    Module {
        segments: vec![
            Segment { kind: SegmentKind::Code, address: 0x1000, size: PAGE as u64, bytes: page },
            Segment { kind: SegmentKind::Constants, address: 0x2000, size: PAGE as u64, bytes: constants() },
            Segment { kind: SegmentKind::Data, address: 0x3000, size: 0xfe000, bytes: data() },
        ],
        relocations: vec![],
        exports: vec![],
        data_symbols: vec![],
        imports: vec![],
        sources: vec![],
        image_size: 0x101000,
        program_headers: (0x2000, 0),
        tls: None,
        strict_bounds: false,
        base: false,
        join: None,
        states: vec![],
        symbols: vec![],
    }
}

/// The page of constants: switch tables (displacements from the table's own address) at
/// 0x2000: four entries to 0x1000; 0x2020: the third entry to 0x1001; 0x2040: the third behind the code;
/// 0x2ff8: two entries to 0x1000, up to the page's end.
fn constants() -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let mut put = |at: usize, targets: &[i32]| {
        let table = table(0x2000 + at as i32, targets);
        page[at..at + table.len()].copy_from_slice(&table);
    };
    put(0, &[0x1000; 4]);
    put(0x20, &[0x1000, 0x1000, 0x1001, 0x1000]);
    put(0x40, &[0x1000, 0x1000, 0x2000, 0x1000]);
    put(0xff8, &[0x1000; 2]);
    page
}

/// The initialised data: what would be a legal table of four entries to 0x1000, if it were constant; then zeros.
fn data() -> Vec<u8> {
    let mut data = table(0x3000, &[0x1000; 4]);
    data.resize(64, 0);
    data
}

fn table(address: i32, targets: &[i32]) -> Vec<u8> {
    targets.iter().flat_map(|target| (target - address).to_le_bytes()).collect()
}

/// A module of `text`, padded, and `constants` behind it; it was not verified.
pub fn large(mut text: Vec<u8>, constants: Vec<u8>) -> Module {
    let size = (text.len() + 2).next_multiple_of(PAGE);
    text.resize(size - 2, INT3);
    text.extend([0x0f, 0x0b]);
    let mut module = module(&[0xc3], Placement::Followed);
    let segment = |kind, address: usize, bytes: Vec<u8>| {
        let size = bytes.len() as u64;
        Segment { kind, address: address as u64, bytes, size }
    };
    module.image_size = (size + constants.len()) as u64;
    module.segments =
        vec![segment(SegmentKind::Code, 0, text), segment(SegmentKind::Constants, size, constants)];
    module
}
