//! Module files whose tables are legal but unusual: in another order, exactly as large as they must be, absent, or damaged in ways that
//! only their neighbours show.

use crate::support::elf::{CONSTANTS, DATA, FileBuilder, at};
use lockgate_abi::{code, note, window};
use lockgate_verify::{Module, ParseError, verify};

/// Number of the first of the builder's own dynamic entries: the hash table; then strings, their size, symbols, relocations, their size, the end.
const HASH: usize = 0;
const SYMBOLS: usize = 3;
const RELOCATIONS: usize = 4;
const ENTRIES: u64 = 7;
/// Nowhere in the image.
const WILD: u64 = 0x7fff_0000;
/// Room for program headers behind the file that the builder makes.
const BEHIND: usize = 0x2800;

fn put(file: &mut [u8], at: usize, words: &[u64]) {
    for (i, word) in words.iter().enumerate() {
        file[at + 8 * i..at + 8 * i + 8].copy_from_slice(&word.to_le_bytes());
    }
}

/// Gives a dynamic entry another tag or value.
fn dynamic(file: &mut [u8], entry: usize, tag: Option<u64>, value: u64) {
    let at = at::DATA + 16 * entry;
    tag.iter().for_each(|&tag| put(file, at, &[tag]));
    put(file, at + 8, &[value]);
}

fn refused(file: &[u8]) -> ParseError {
    Module::parse(file).map(|_| ()).expect_err("this file must be refused")
}

/// Two functions and three symbols of data, none in order; `more` symbols behind them.
fn rich(more: &[(u32, u8, u16, u64, u64)]) -> FileBuilder {
    let function = [&code::LABEL[..], &[0xc3]].concat();
    let mut builder = FileBuilder {
        code: [&function[..], &[0xcc; 11], &function].concat(),
        relocations: vec![[DATA + 0x210, 8, 3], [DATA + 0x200, 8, 1], [DATA + 0x208, 8, 2]],
        symbols: vec![
            (5, 0x12, 1, 16, 5),
            (1, 0x12, 1, 0, 5),
            (3, 0x11, 2, DATA + 0x208, 8),
            (3, 0x11, 2, DATA + 0x200, 8),
        ],
        ..FileBuilder::default()
    };
    builder.symbols.extend(more);
    builder.notes[2].1 = b"17 host_tick\n16 void *host_log(const char *)".to_vec();
    builder
}

/// What [`rich`] makes must be read so.
fn assert_rich(module: &Module) {
    let exports: Vec<_> =
        module.exports.iter().map(|export| (export.name.as_str(), export.address)).collect();
    assert_eq!(exports, [("f", 0), ("g", 16)]);
    assert_eq!(module.data_symbols, [("d".to_owned(), DATA + 0x200, 8), ("d".to_owned(), DATA + 0x208, 8)]);
    let relocations: Vec<_> = module.relocations.iter().map(|r| (r.at, r.addend)).collect();
    assert_eq!(relocations, [(DATA + 0x200, 1), (DATA + 0x208, 2), (DATA + 0x210, 3)]);
    let imports: Vec<_> = module.imports.iter().map(|import| (import.slot, import.name.as_str())).collect();
    assert_eq!(imports, [(16, "host_log"), (17, "host_tick")]);
    verify(module).unwrap();
}

#[test]
fn order_does_not_matter() {
    assert_rich(&Module::parse(&rich(&[]).build()).unwrap());
}

/// GNU's hash table: buckets, Bloom words and chains in the plural. Behind the last symbol that it knows lies one that must not be read.
#[test]
fn gnu_hash_tables_count_symbols() {
    let undefined = (5, 0x12, 0, 0, 0);
    let mut file = FileBuilder { gnu_hash: true, ..rich(&[undefined]) }.build();
    let table: [u32; 14] = [2, 1, 2, 0, 9, 9, 9, 9, 1, 3, 2, 0, 2, 1];
    for (i, word) in table.iter().enumerate() {
        file[at::HASH + 4 * i..at::HASH + 4 * i + 4].copy_from_slice(&word.to_le_bytes());
    }
    assert_rich(&Module::parse(&file).unwrap());
    // One chain more, and it is read.
    file[at::HASH + 4 * 13] = 2;
    file[at::HASH + 4 * 14] = 1;
    assert!(refused(&file).what.contains("'g' is undefined"));
    // The buckets begin with a symbol that the table does not have.
    file[at::HASH + 4] = 4;
    assert!(refused(&file).what.contains("chains are damaged"));
}

/// Tables may end where their segment ends, and tables of nothing may be anywhere.
#[test]
fn tables_are_exactly_as_large_as_they_say() {
    let bare = || {
        let mut builder = FileBuilder { symbols: vec![], relocations: vec![], ..FileBuilder::default() };
        builder.notes.truncate(1);
        builder
    };
    let end = |size: u64| CONSTANTS + 0x1000 - size;

    // No relocations, wherever their table is.
    let mut file = bare().build();
    dynamic(&mut file, RELOCATIONS, None, WILD);
    Module::parse(&file).unwrap();
    dynamic(&mut file, RELOCATIONS + 1, None, 1);
    assert!(refused(&file).what.contains("relocation table"));

    // No hash table: no symbols, wherever their table is. With the empty symbol alone it must be there.
    let mut file = bare().build();
    dynamic(&mut file, SYMBOLS, None, WILD);
    assert!(refused(&file).what.contains("symbol table"));
    dynamic(&mut file, HASH, Some(0x6fff_fff9), 0);
    Module::parse(&file).unwrap();

    // Hash tables in the last bytes of the constants.
    let mut file = bare().build();
    put(&mut file, 0xff8, &[1 << 32]);
    dynamic(&mut file, HASH, None, end(8));
    Module::parse(&file).unwrap();
    dynamic(&mut file, HASH, None, end(7));
    assert!(refused(&file).what.contains("hash table"));
    let mut file = FileBuilder { gnu_hash: true, ..FileBuilder::default() }.build();
    file[at::NOTES + 24 + 8..at::NOTES + 0x100].fill(0);
    put(&mut file, at::HEADERS + 56 * 4 + 32, &[32, 32]);
    put(&mut file, 0xff0, &[1 << 32, 0]);
    dynamic(&mut file, HASH, None, end(16));
    assert!(Module::parse(&file).unwrap().exports.is_empty());

    // The dynamic table ends with its last entry.
    let mut builder = FileBuilder::default();
    builder.headers[3][4] = 16 * ENTRIES;
    Module::parse(&builder.build()).unwrap();
    builder.headers[3][4] -= 1;
    assert!(refused(&builder.build()).what.contains("dynamic table has no end"));
}

/// Sizes of procedure linkage tables are of interest only if they are not zero.
#[test]
fn empty_linkage_tables_are_none() {
    for (size, is_allowed) in [(0, true), (1, false)] {
        let builder = FileBuilder { dynamic: vec![(2, size)], ..FileBuilder::default() };
        assert_eq!(Module::parse(&builder.build()).is_ok(), is_allowed, "{size} bytes");
    }
}

#[test]
fn empty_segments_are_none() {
    let with = |size: u64| {
        let mut builder = FileBuilder::default();
        builder.headers[6] = [1, 6, 0, 0, 0, size, 0x1000];
        builder.build()
    };
    assert_eq!(Module::parse(&with(0)).unwrap().segments.len(), 3);
    assert!(refused(&with(1)).what.contains("overlaps the one before it"));
}

/// Constants that lie elsewhere in the file, and program headers at their first and last bytes, and half outside.
#[test]
fn program_headers_are_found_wherever_the_constants_are() {
    const HEADERS: usize = 7 * 56;
    let file = |place: usize, write: bool| {
        let mut file = FileBuilder::default().build();
        put(&mut file, at::HEADERS + 56 + 8, &[BEHIND as u64]);
        file.extend_from_within(0..0x1000);
        file.resize(BEHIND + 0x1100, 0);
        if write {
            file.copy_within(at::HEADERS..at::HEADERS + HEADERS, place);
        }
        put(&mut file, 32, &[place as u64]);
        file
    };
    for inside in [0, at::HEADERS, 0x1000 - HEADERS] {
        let module = Module::parse(&file(BEHIND + inside, true)).unwrap();
        assert_eq!(module.program_headers, (CONSTANTS + inside as u64, 7));
    }
    let not_mapped = |file: &[u8]| assert!(refused(file).what.contains("not part of the constants"));
    // Before the constants, and across their end.
    not_mapped(&file(at::HEADERS, false));
    not_mapped(&file(BEHIND + 0x1000 - HEADERS + 1, true));
    // As many as there may be: what is wrong with these is not their number.
    let mut many = FileBuilder::default().build();
    many[56] = 64;
    assert!(!refused(&many).what.contains("program headers of"));
}

#[test]
fn thread_local_templates() {
    let with = |header: [u64; 7]| {
        let mut builder = FileBuilder::default();
        builder.headers[5] = header;
        Module::parse(&builder.build()).map(|module| module.tls)
    };
    let at = DATA + 0x400;
    // Zeros alone are nowhere in the file; sizes and alignments may be the largest; 0 means 1.
    assert_eq!(with([7, 4, 0, WILD, 0, 0x20, 16]), Ok(Some((WILD, 0, 0x20, 16))));
    assert_eq!(with([7, 4, 0, at, 0x20, 0x20, 0x1000]), Ok(Some((at, 0x20, 0x20, 0x1000))));
    assert_eq!(with([7, 4, 0, at, 0, 0x20, 0]), Ok(Some((at, 0, 0x20, 1))));
    assert_eq!(with([7, 4, 0, at, 0, 0x20, 1]), Ok(Some((at, 0, 0x20, 1))));
    for wrong in
        [[7, 4, 0, WILD, 1, 0x20, 16], [7, 4, 0, at, 0, window::IMAGE_MAX, 16], [7, 4, 0, at, 0, 8, 0x2000]]
    {
        assert!(with(wrong).is_err(), "{wrong:x?}");
    }
}

/// Names for reports come in the order of addresses, and from functions that exist.
#[test]
fn symbols_for_reports_are_sorted() {
    let undefined_function = (3, 0x02, 0, 4, 4);
    let mut file = rich(&[undefined_function]).build();
    let sections = file.len() as u64;
    for (kind, offset, size, link) in
        [(2, at::SYMBOLS, 24 * 6, 1), (3, at::STRINGS, crate::support::elf::NAMES.len(), 0)]
    {
        let mut header = [0; 64];
        header[4] = kind;
        put(&mut header, 24, &[offset as u64, size as u64]);
        header[40] = link;
        file.extend(header);
    }
    put(&mut file, 40, &[sections]);
    file[60] = 2;
    let symbols = Module::parse(&file).unwrap().symbols;
    let symbols: Vec<_> = symbols.iter().map(|symbol| (symbol.name.as_str(), symbol.address)).collect();
    assert_eq!(symbols, [("f", 0), ("g", 16)]);
}

/// Notes of other owners are skipped, whatever their kind; with an alignment of 8 so are the bytes between.
#[test]
fn notes_of_others_are_skipped() {
    for align in [4_u64, 8] {
        let pad = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(align as usize), 0);
        let mut notes = Vec::new();
        for (name, kind, text) in [
            (&b"GNU\0"[..], note::EXPORTS, &b"\xff\xff\xff"[..]),
            (b"Lockgate\0", note::ABI, &FileBuilder::default().notes[0].1),
            (b"lockgate\0", 99, b"?"),
            (b"Lockgate", 99, b"?"),
            (b"Lockgate\0", note::EXPORTS, b"int f(int)"),
        ] {
            notes.extend([name.len() as u32, text.len() as u32, kind].map(u32::to_le_bytes).concat());
            notes.extend(name);
            pad(&mut notes);
            notes.extend(text);
            pad(&mut notes);
        }
        let mut builder = FileBuilder::default();
        builder.headers[4][6] = align;
        let mut file = builder.build();
        file[at::NOTES..at::SYMBOLS].fill(0);
        file[at::NOTES..at::NOTES + notes.len()].copy_from_slice(&notes);
        put(&mut file, at::HEADERS + 56 * 4 + 32, &[notes.len() as u64, notes.len() as u64]);
        let module = Module::parse(&file).unwrap_or_else(|error| panic!("aligned to {align}: {error}"));
        assert_eq!(module.exports[0].signature.as_deref(), Some("int f(int)"));
    }
}

/// A note that is longer than its segment: the error says where in the file.
#[test]
fn damaged_notes_are_found_in_the_file() {
    let mut file = FileBuilder::default().build();
    file[at::NOTES + 7] = 0x7f;
    let error = refused(&file);
    assert!(error.what.contains("bytes are needed"), "{error}");
    assert_eq!(error.offset, at::NOTES as u64 + 24);
}
