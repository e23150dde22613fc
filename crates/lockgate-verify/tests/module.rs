//! The parser: legal modules, and files that are damaged or hostile.

use crate::support::elf::{CONSTANTS, DATA, FileBuilder, at};
use lockgate_abi::{code, gate, note, window};
use lockgate_verify::{Module, ParseError, SegmentKind, State, verify};

#[test]
fn a_module_is_read_completely() {
    for gnu_hash in [false, true] {
        let module = Module::parse(&FileBuilder { gnu_hash, ..FileBuilder::default() }.build()).unwrap();
        let shape: Vec<_> =
            module.segments.iter().map(|s| (s.kind, s.address, s.bytes.len(), s.size)).collect();
        let expected = [
            (SegmentKind::Code, 0, 0x1000, 0x1000),
            (SegmentKind::Constants, CONSTANTS, 0x1000, 0x1000),
            (SegmentKind::Data, DATA, 0x800, 0x5000),
        ];
        assert_eq!(shape, expected);
        assert_eq!(module.image_size, 0x8000);
        assert_eq!(module.program_headers, (CONSTANTS + at::HEADERS as u64, 7));
        assert_eq!(module.tls, Some((DATA + 0x400, 0x10, 0x20, 16)));
        let relocations: Vec<_> = module.relocations.iter().map(|r| (r.at, r.addend)).collect();
        assert_eq!(relocations, [(DATA + 0x200, 0x1000), (DATA + 0x208, 0)]);
        let export = &module.exports[0];
        assert_eq!((export.name.as_str(), export.address), ("f", 0));
        assert_eq!(export.signature.as_deref(), Some("double f(double, int)"));
        assert_eq!(module.data_symbols, [("d".to_owned(), DATA + 0x200, 8)]);
        let imports: Vec<_> =
            module.imports.iter().map(|i| (i.slot, i.name.as_str(), i.signature.is_some())).collect();
        assert_eq!(imports, [(16, "host_log", true), (17, "host_tick", false)]);
        assert_eq!(module.sources, [("ab".repeat(32), "f.c".to_owned())]);
        assert!(!module.strict_bounds && module.symbols.is_empty());
        verify(&module).unwrap();
    }
}

#[test]
fn short_segments_are_filled_up_to_whole_pages() {
    let mut builder = FileBuilder::default();
    (builder.headers[0][4], builder.headers[0][5]) = (12, 12);
    (builder.headers[1][4], builder.headers[1][5]) = (0xf00, 0xf00);
    let module = Module::parse(&builder.build()).unwrap();
    assert_eq!(module.segments[0].bytes[11..14], [0xc3, 0xcc, 0xcc]);
    assert!(module.segments[0].bytes[12..0xffe].iter().all(|&byte| byte == 0xcc));
    assert_eq!(module.segments[0].bytes[0xffe..], code::UD2);
    assert_eq!((module.segments[0].bytes.len(), module.segments[1].bytes.len()), (0x1000, 0x1000));
    assert!(module.segments[1].bytes[0xf00..].iter().all(|&byte| byte == 0));
    verify(&module).unwrap();
}

/// However little room there is behind the code, control does not leave it.
#[test]
fn code_is_padded_with_what_control_does_not_go_on_from() {
    let ends: [&[u8]; 5] = [&[], &[0xc3], &[0x0f, 0x0b], &[0xcc, 0x0f, 0x0b], &[0xcc, 0xcc, 0x0f, 0x0b]];
    for (room, end) in ends.into_iter().enumerate() {
        let size = 0x1000 - room;
        let mut builder = FileBuilder { code: vec![0x90; size], ..FileBuilder::default() };
        builder.code[..4].copy_from_slice(&code::LABEL);
        // jmp to itself
        builder.code[size - 2..].copy_from_slice(&[0xeb, 0xfe]);
        (builder.headers[0][4], builder.headers[0][5]) = (size as u64, size as u64);
        let module = Module::parse(&builder.build()).unwrap();
        assert_eq!(module.segments[0].bytes[..size], builder.code);
        assert_eq!(module.segments[0].bytes[size..], *end);
        verify(&module).unwrap();
    }
}

/// The bytes of a STATES note, and what they say.
type Note<'a> = (&'a [u8], &'a [(u64, State)]);

/// What the note of states says, and what linkers may have put behind it.
#[test]
fn states_are_read() {
    let read = |note: &[u8]| {
        let mut builder = FileBuilder::default();
        builder.notes.push((note::STATES, note.to_vec()));
        Module::parse(&builder.build()).map(|module| module.states)
    };
    const fn s(o: u32) -> State {
        State::S { o }
    }
    let cases: [Note<'_>; 11] = [
        (&[], &[]),
        (&[12, 2], &[(12, s(8))]),
        (&[12, 2, 5, 4], &[(12, s(8)), (17, s(16))]),
        (&[12, 3, 0], &[(12, State::C { b: 8, d: 0 })]),
        (&[12, 5, 3, 1, 0], &[(12, State::C { b: 16, d: 24 }), (13, s(0))]),
        // Bytes of seven bits, the lowest ones first, whether or not there are more than needed.
        (&[0x80, 0x01, 0x82, 0x01], &[(128, s(8 * 65))]),
        (&[0x8c, 0x00, 0x82, 0x80, 0x00], &[(12, s(8))]),
        (&[0xff, 0xff, 0xff, 0xff, 0x0f, 0], &[(0xffff_ffff, s(0))]),
        // The first region; then padding.
        (&[0, 0], &[(0, s(0))]),
        (&[0, 2, 0, 0, 0, 0], &[(0, s(8))]),
        (&[12, 2, 0], &[(12, s(8))]),
    ];
    for (note, states) in cases {
        assert_eq!(read(note).unwrap(), states, "{note:?}");
    }
    let damaged: [&[u8]; 11] = [
        &[12],
        &[0x8c],
        &[12, 0x82],
        &[12, 3],
        &[12, 3, 0x80],
        &[12, 2, 0, 1],
        &[12, 2, 0, 0, 0, 0, 2],
        &[0xff, 0xff, 0xff, 0xff, 0x10, 0],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0],
        &[12, 0xfe, 0xff, 0xff, 0xff, 0x0f],
        &[12, 3, 0xff, 0xff, 0xff, 0xff, 0x0f],
    ];
    for note in damaged {
        let error = read(note).unwrap_err();
        assert!(error.what.contains("STATES"), "{note:?}: {error}");
    }
}

/// A note that says what is so is needed, and any other one is refused.
#[test]
fn states_are_checked() {
    let verdict = |note: &[u8]| {
        let mut builder = FileBuilder::default();
        // Behind f: add $8,%rsp; ret
        builder.code.extend([0x48, 0x83, 0xc4, 0x08, 0xc3]);
        builder.notes.push((note::STATES, note.to_vec()));
        verify(&Module::parse(&builder.build()).unwrap()).map_err(|rejection| rejection.rule)
    };
    verdict(&[12, 2]).unwrap();
    for note in [&[][..], &[12, 4], &[11, 2], &[12, 2, 100, 2], &[12, 3, 0], &[4, 0, 8, 2]] {
        assert_eq!(verdict(note).map(|_| ()), Err("V3"), "{note:?}");
    }
}

/// A module may fill its place in the window to the last byte.
#[test]
fn the_largest_image_is_read() {
    let mut builder = FileBuilder::default();
    builder.headers[2][5] = window::IMAGE_MAX - window::IMAGE - DATA;
    assert_eq!(Module::parse(&builder.build()).unwrap().image_size, window::IMAGE_MAX - window::IMAGE);
    builder.headers[2][5] += 1;
    assert!(refused(&builder.build()).what.contains("image is larger"));
}

/// Symbols that are not to be bound, or no functions and no data, are passed over, whatever they say.
#[test]
fn other_symbols_are_passed_over() {
    const LOCAL_FUNCTION: u8 = 0x02;
    const GLOBAL_SECTION: u8 = 0x13;
    const WEAK: u8 = 0x20;
    let mut builder = FileBuilder::default();
    builder.symbols.push((5, LOCAL_FUNCTION, 1, 4, 8));
    builder.symbols.push((5, LOCAL_FUNCTION, 0, 0, 0));
    builder.symbols.push((5, GLOBAL_SECTION, 1, 4, 8));
    builder.symbols.push((5, WEAK, 0, 0, 0));
    let module = Module::parse(&builder.build()).unwrap();
    let exports: Vec<_> = module.exports.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(exports, ["f"]);
    assert_eq!(module.data_symbols.len(), 1);
}

/// A change of the legal file, and a part of the message that it must cause.
type Damage = (&'static str, fn(&mut FileBuilder));

const DAMAGES: &[Damage] = &[
    ("more than one code segment", |b| b.headers[1][1] = 5),
    ("both writable and executable", |b| b.headers[0][1] = 7),
    ("both writable and executable", |b| b.headers[2][1] = 7),
    ("first segment is not code", |b| b.headers[0][1] = 4),
    ("first segment is not code", |b| b.headers.clear()),
    ("not page-aligned", |b| b.headers[1][3] = 0x1800),
    ("not page-aligned", |b| b.headers[1][3] = 0),
    ("not page-aligned", |b| b.headers[2][3] = 0x1000),
    ("overlap in the file", |b| b.headers[2] = [1, 6, 0, DATA, 0x2000, 0x5000, 0x1000]),
    ("does not fit its size in memory", |b| b.headers[0][5] = 0x2000),
    ("does not fit its size in memory", |b| b.headers[1][5] = 0x1001),
    ("does not fit its size in memory", |b| b.headers[2][4] = 0x5001),
    ("image is larger", |b| b.headers[2][5] = window::IMAGE_MAX),
    ("image is larger", |b| b.headers[2][5] = u64::MAX),
    ("image is larger", |b| b.headers[2][3] = u64::MAX - 0xfff),
    ("bytes are needed", |b| b.headers[2][2] = 0x2001),
    ("bytes are needed", |b| b.headers[2][2] = u64::MAX),
    ("program interpreter", |b| b.headers[6][0] = 3),
    ("PT_GNU_RELRO", |b| b.headers[6][0] = 0x6474_e552),
    ("exactly one PT_DYNAMIC", |b| b.headers[3][0] = 0),
    ("exactly one PT_DYNAMIC", |b| b.headers[6] = b.headers[3]),
    ("thread-local template", |b| b.headers[5][3] = 0x9000),
    ("thread-local template", |b| b.headers[5][5] = 8),
    ("thread-local template", |b| b.headers[5][5] = window::IMAGE_MAX),
    ("thread-local template", |b| b.headers[5][6] = 24),
    ("thread-local template", |b| b.headers[5][6] = 1 << 20),
    ("dynamic table has no end", |b| b.headers[3][4] = 16),
    ("needs shared libraries", |b| b.dynamic.push((1, 1))),
    ("relocations in code", |b| b.dynamic.push((22, 0))),
    ("not of the RELA form", |b| b.dynamic.push((17, 0))),
    ("not of the RELA form", |b| b.dynamic.push((36, 0))),
    ("procedure linkage", |b| b.dynamic.push((2, 24))),
    ("relocation table", |b| b.relocations = vec![[DATA + 0x200, 8, 0]; 150]),
    ("relocation of type 6 with symbol 1", |b| b.relocations[0][1] = 1 << 32 | 6),
    ("relocation of type 37", |b| b.relocations[0][1] = 37),
    ("relocation of type 0", |b| b.relocations[0][1] = 0),
    ("relocation at 0x0 is not in initialised data", |b| b.relocations[0][0] = 0),
    ("relocation at 0x1000 is not in initialised data", |b| b.relocations[0][0] = CONSTANTS),
    ("relocation at 0x37f9 is not in initialised data", |b| b.relocations[0][0] = DATA + 0x7f9),
    ("is not in initialised data", |b| b.relocations[0][0] = DATA + 0x1000),
    ("is not in initialised data", |b| b.relocations[0][0] = DATA - 4),
    ("is not in initialised data", |b| b.relocations[0][0] = u64::MAX),
    ("relocations overlap at 0x3208", |b| b.relocations[0][0] = DATA + 0x207),
    ("does not start with the entry label", |b| b.symbols[0].3 = 4),
    ("does not start with the entry label", |b| b.symbols[0].3 = CONSTANTS),
    ("does not start with the entry label", |b| b.symbols[0].3 = 0xffd),
    ("does not start with the entry label", |b| b.symbols[0].3 = u64::MAX),
    // The label's bytes, but among the constants: the addend of the first relocation.
    ("does not start with the entry label", |b| {
        b.relocations[0][2] = u32::from_le_bytes(code::LABEL).into();
        b.symbols[0].3 = CONSTANTS + at::RELOCATIONS as u64 + 16;
    }),
    ("'d' is undefined", |b| b.symbols[1].2 = 0),
    ("'f' is exported twice", |b| b.symbols[1] = b.symbols[0]),
    ("a name lies outside", |b| b.symbols[0].0 = 100),
    ("empty or holds control characters", |b| b.symbols[0].0 = 0),
    ("empty or holds control characters", |b| b.symbols[0].0 = 7),
    ("two STATES notes", |b| b.notes.extend([(note::STATES, vec![]), (note::STATES, vec![])])),
    ("the STATES note is damaged", |b| b.notes.push((note::STATES, vec![12]))),
    ("export 'f' is noted but", |b| b.symbols[0].1 = 0x10),
    ("no Lockgate note", |b| b.notes.clear()),
    ("no Lockgate note", |b| b.headers[4][0] = 0),
    ("bytes are needed", |b| b.headers[4][2] = 0x27f0),
    ("version 3 of the code model", |b| b.notes[0].1[0] = 3),
    ("unknown flags", |b| b.notes[0].1[4] = 4),
    ("not one note of 8 bytes", |b| b.notes[0].1.truncate(4)),
    ("not one note of 8 bytes", |b| b.notes.push(b.notes[0].clone())),
    ("note type 9", |b| b.notes[3].0 = 9),
    ("not UTF-8", |b| b.notes[1].1[0] = 0xff),
    ("control characters", |b| b.notes[1].1[3] = 0x1b),
    ("no name in", |b| b.notes[1].1 = b"(double)".to_vec()),
    ("no name in", |b| b.notes[1].1 = b"double f".to_vec()),
    ("noted twice", |b| b.notes[1].1 = b"f\nint f(int)".to_vec()),
    ("import 'f' is noted twice", |b| b.notes[2].1 = b"16 f\n17 int f(int)".to_vec()),
    ("not an import", |b| b.notes[2].1 = b"host_log".to_vec()),
    ("not an import", |b| b.notes[2].1 = format!("{} f", gate::FIRST_IMPORT - 1).into_bytes()),
    ("not an import", |b| b.notes[2].1 = format!("{} f", gate::SLOTS).into_bytes()),
    ("not an import", |b| b.notes[2].1 = b"99999999999 f".to_vec()),
    ("two imports use gate slot 16", |b| b.notes[2].1 = b"16 f\n16 g".to_vec()),
    ("not a file's hash", |b| b.notes[3].1 = b"00  f.c".to_vec()),
    ("takes symbols from other modules and does not say from which", |b| {
        b.notes.push((note::WORDS, b"module g".to_vec()))
    }),
    ("has imports of its own", |b| b.notes.push((note::JOIN, HASHES.as_bytes().to_vec()))),
];

/// A base and a module that joined it.
const HASHES: &str = "abababababababababababababababababababababababababababababababab  base.lg
cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd  other.lg
";

/// The same module, but it joins a domain: `g` is another's, at two words.
fn joining() -> FileBuilder {
    let mut builder = FileBuilder::default();
    builder.notes[2] = (note::JOIN, HASHES.as_bytes().to_vec());
    builder.notes.push((note::WORDS, b"module long g(long)".to_vec()));
    builder.symbols.push((5, 0x10, 0, 0, 0));
    builder.relocations.extend([[DATA + 0x218, 3 << 32 | 6, 0], [DATA + 0x210, 3 << 32 | 1, 24]]);
    // No thread-local template.
    builder.headers[5] = [0; 7];
    builder
}

#[test]
fn a_module_that_joins_says_what_it_has_from_whom() {
    for of_host in [false, true] {
        let mut builder = joining();
        if of_host {
            builder.notes[4].1 = b"host g".to_vec();
        }
        let module = Module::parse(&builder.build()).unwrap();
        let join = module.join.as_ref().expect("it joins");
        let names: Vec<_> = join.modules.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["base.lg", "other.lg"]);
        assert_eq!(join.modules[1].0, "cd".repeat(32));
        let [symbol] = &join.symbols[..] else { panic!("{:?}", join.symbols) };
        assert_eq!((symbol.name.as_str(), symbol.of_host), ("g", of_host));
        assert_eq!(symbol.signature.as_deref(), (!of_host).then_some("long g(long)"));
        let words: Vec<_> = join.words.iter().map(|word| (word.at, word.symbol, word.addend)).collect();
        assert_eq!(words, [(DATA + 0x210, 0, 24), (DATA + 0x218, 0, 0)]);
        assert_eq!(module.relocations.len(), 2);
        assert!(!module.base && module.imports.is_empty());
        verify(&module).unwrap();
    }
    let mut base = FileBuilder::default();
    base.notes[0].1[4] = note::FLAG_BASE as u8;
    let base = Module::parse(&base.build()).unwrap();
    assert!(base.base && base.join.is_none() && !base.strict_bounds);
}

const DAMAGED_JOINS: &[Damage] = &[
    ("has thread-local variables", |b| b.headers[5] = FileBuilder::default().headers[5]),
    ("says it is a base", |b| b.notes[0].1[4] = note::FLAG_BASE as u8),
    ("does not say from which", |b| drop(b.notes.remove(2))),
    ("'g' is undefined", |b| b.notes[4].1 = b"module h".to_vec()),
    ("'h' is noted and not used", |b| b.notes[4].1 = b"module g\nmodule h".to_vec()),
    ("'d' is noted and not used", |b| b.notes[4].1 = b"module g\nmodule d".to_vec()),
    ("noted twice: 'host g'", |b| b.notes[4].1 = b"module g\nhost g".to_vec()),
    ("not a symbol's source", |b| b.notes[4].1 = b"g".to_vec()),
    ("not a symbol's source", |b| b.notes[4].1 = b"modules g".to_vec()),
    ("not a symbol's source", |b| b.notes[4].1 = b"module double g".to_vec()),
    ("not a file's hash", |b| b.notes[2].1 = b"base.lg".to_vec()),
    ("not a file's hash", |b| b.notes[2].1[0] = b'x'),
    // Words that are not words, or not the noted symbol's.
    ("relocation of type 6 with symbol 1", |b| b.relocations[2][1] = 1 << 32 | 6),
    ("relocation of type 6 with symbol 9", |b| b.relocations[2][1] = 9 << 32 | 6),
    ("relocation of type 6 with symbol 0", |b| b.relocations[2][1] = 6),
    ("relocation of type 6 with symbol 3", |b| b.relocations[2][2] = 1),
    ("relocation of type 2 with symbol 3", |b| b.relocations[2][1] = 3 << 32 | 2),
    ("relocation of type 8 with symbol 3", |b| b.relocations[2][1] = 3 << 32 | 8),
    ("relocation at 0x0 is not in initialised data", |b| b.relocations[2][0] = 0),
    ("relocation at 0x1000 is not in initialised data", |b| b.relocations[2][0] = CONSTANTS),
    ("relocation at 0x37f9 is not in initialised data", |b| b.relocations[2][0] = DATA + 0x7f9),
    ("is not in initialised data", |b| b.relocations[2][0] = u64::MAX),
    ("relocations overlap at 0x3210", |b| b.relocations[2][0] = DATA + 0x210),
    ("relocations overlap at 0x3213", |b| b.relocations[2][0] = DATA + 0x213),
    ("relocations overlap at 0x3201", |b| b.relocations[2][0] = DATA + 0x201),
];

#[test]
fn damaged_modules_that_join_are_refused() {
    for (wanted, damage) in DAMAGED_JOINS {
        let mut builder = joining();
        damage(&mut builder);
        let error = refused(&builder.build());
        assert!(error.to_string().contains(wanted), "'{error}' does not say '{wanted}'");
        assert!(!error.remedy.is_empty(), "{error}");
    }
}

/// A module's note makes the loader open files: no more than a domain can have.
#[test]
fn modules_that_join_name_no_more_than_fit() {
    const FILE_SIZE: usize = at::HEADERS + 6 * 56 + 32;
    for (more, is_allowed) in [(window::JOINED - 1, true), (window::JOINED, false)] {
        let lines = HASHES.lines().next().unwrap().to_owned() + "\n";
        let text = lines.repeat(more);
        let mut note = [9, text.len() as u32, note::JOIN].map(u32::to_le_bytes).concat();
        note.extend_from_slice(b"Lockgate\0\0\0\0");
        note.extend_from_slice(text.as_bytes());
        note.resize(note.len().next_multiple_of(4), 0);
        let mut builder = joining();
        let end = builder.build().len();
        builder.headers[6] = [4, 4, end as u64, 0, 0, 0, 4];
        let mut file = builder.build();
        file[FILE_SIZE..FILE_SIZE + 8].copy_from_slice(&(note.len() as u64).to_le_bytes());
        file.extend(note);
        let parsed = Module::parse(&file);
        assert_eq!(parsed.is_ok(), is_allowed, "{more}: {:?}", parsed.err());
        if !is_allowed {
            let error = refused(&file);
            assert!(error.what.contains("from 66 modules (at most 65)"));
            assert_eq!(error.offset, 0);
        }
    }
}

/// Gates are numbered for the whole window: all but those of system calls and of resume are the base's.
#[test]
fn gates_of_the_base_are_not_for_modules_that_join() {
    for (slot, is_allowed) in [
        (gate::SYSCALL, true),
        (gate::RESUME, true),
        (gate::SYSCALL_AS_CALL, true),
        (3, false),
        (gate::FIRST_IMPORT, false),
        (gate::SLOTS - 1, false),
    ] {
        let entry = (window::GATE_TABLE + 8 * slot) as u32;
        // f: endbr64; call *%gs:entry; ret
        let code = [&code::LABEL[..], &[0x65, 0xff, 0x14, 0x25], &entry.to_le_bytes(), &[0xc3]].concat();
        let verdict = |builder: FileBuilder| verify(&Module::parse(&builder.build()).unwrap());
        let joins = verdict(FileBuilder { code: code.clone(), ..joining() });
        assert_eq!(joins.is_ok(), is_allowed, "gate {slot}: {joins:?}");
        verdict(FileBuilder { code, ..FileBuilder::default() }).expect("the base's own");
    }
}

#[test]
fn damaged_modules_are_refused_with_place_and_remedy() {
    for (wanted, damage) in DAMAGES {
        let mut builder = FileBuilder::default();
        damage(&mut builder);
        let error = refused(&builder.build());
        assert!(error.to_string().contains(wanted), "'{error}' does not say '{wanted}'");
        assert!(!error.remedy.is_empty(), "{error}");
    }
}

/// A byte of the legal file, its value, and a part of the message that it must cause.
const NO_MODULES: [(usize, u8, &str); 12] = [
    (0, b'?', "not an ELF file"),
    (4, 1, "64-bit"),
    (5, 2, "little-endian"),
    (6, 2, "version 1"),
    (16, 2, "position-independent"),
    (16, 1, "position-independent"),
    (18, 183, "machine 183"),
    (54, 55, "program headers of 55 bytes"),
    (56, 65, "65 program headers"),
    (56, 255, "255 program headers"),
    (39, 0x80, "bytes are needed"),
    (33, 0x80, "bytes are needed"),
];

/// The refusals of such files, in order.
fn no_modules() -> impl Iterator<Item = (&'static str, ParseError)> {
    NO_MODULES.iter().map(|&(at, byte, wanted)| {
        let mut file = FileBuilder::default().build();
        file[at] = byte;
        (wanted, refused(&file))
    })
}

#[test]
fn files_that_are_no_modules_are_refused() {
    for (wanted, error) in no_modules() {
        assert!(error.what.contains(wanted), "{error:?} does not say '{wanted}'");
    }
    assert!(refused(b"").what.contains("not an ELF file"));
    assert!(refused(b"int main() {}").what.contains("not an ELF file"));
}

/// What a refusal says, to the letter: `tests/refusals.txt`. `BLESS=1 cargo test` writes what is said into the file: read the
/// difference before you keep it.
#[test]
fn every_refusal_is_as_listed() {
    let damaged = |builder: fn() -> FileBuilder, damages: &'static [Damage]| {
        damages.iter().map(move |(_, damage)| {
            let mut builder = builder();
            damage(&mut builder);
            refused(&builder.build())
        })
    };
    let refusals = damaged(FileBuilder::default, DAMAGES)
        .chain(damaged(joining, DAMAGED_JOINS))
        .chain(no_modules().map(|(_, error)| error));
    let got: Vec<_> = refusals.map(|error| error.to_string()).collect();
    let path = "tests/refusals.txt";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, got.join("\n") + "\n").unwrap();
    }
    let listed = std::fs::read_to_string(path).unwrap();
    let listed: Vec<_> = listed.lines().collect();
    for (got, listed) in got.iter().zip(&listed) {
        assert_eq!(got, listed);
    }
    assert_eq!(got.len(), listed.len());
}

#[test]
fn program_headers_that_are_not_mapped_are_refused() {
    let legal = FileBuilder::default().build();
    let headers = legal[at::HEADERS..at::HEADERS + 56 * 7].to_vec();
    // Behind everything that is mapped, and in the data, which the module can change.
    for place in [legal.len(), at::DATA + 0x600] {
        let mut file = legal.clone();
        file.resize(file.len().max(place + headers.len()), 0);
        file[place..place + headers.len()].copy_from_slice(&headers);
        file[32..40].copy_from_slice(&(place as u64).to_le_bytes());
        assert!(refused(&file).what.contains("program headers are not part of the constants"), "{place:#x}");
    }
}

/// `.symtab` gives names for reports; a damaged one is no reason to refuse the module.
#[test]
fn symbols_for_reports_are_read_if_they_can_be() {
    let mut file = FileBuilder::default().build();
    let sections = file.len() as u64;
    let section = |kind: u32, offset: usize, size: u64, link: u32| {
        let mut header = [0; 64];
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[24..32].copy_from_slice(&(offset as u64).to_le_bytes());
        header[32..40].copy_from_slice(&size.to_le_bytes());
        header[40..44].copy_from_slice(&link.to_le_bytes());
        header
    };
    let names = crate::support::elf::NAMES.len() as u64;
    file.extend(section(2, at::SYMBOLS, 72, 1));
    file.extend(section(3, at::STRINGS, names, 0));
    file[40..48].copy_from_slice(&sections.to_le_bytes());
    file[60] = 2;
    let symbols = Module::parse(&file).unwrap().symbols;
    let symbols: Vec<_> =
        symbols.iter().map(|symbol| (symbol.name.as_str(), symbol.address, symbol.size)).collect();
    assert_eq!(symbols, [("f", 0, 12)]);
    file[sections as usize + 32..][..8].fill(0xff);
    assert!(Module::parse(&file).unwrap().symbols.is_empty());
}

#[test]
fn a_truncated_module_is_refused() {
    let file = FileBuilder::default().build();
    for length in (0..file.len()).step_by(7) {
        refused(&file[..length]);
    }
}

/// Every bit of a module file flipped: refused, or still a module that obeys the rules; never a panic.
#[test]
fn flipped_bits_are_harmless() {
    let file = FileBuilder::default().build();
    let (mut refused, mut rejected) = (0, 0);
    for bit in 0..file.len() * 8 {
        let mut file = file.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        match Module::parse(&file).map(|module| verify(&module)) {
            Err(_) => refused += 1,
            Ok(Err(_)) => rejected += 1,
            Ok(Ok(_)) => (),
        }
    }
    assert!(refused > 1000 && rejected > 4000, "{refused} refused, {rejected} rejected");
}

/// Every 4-byte word of the tables replaced by numbers at the edges of arithmetic, alone and together with the next one.
#[test]
fn extreme_numbers_are_harmless() {
    for gnu_hash in [false, true] {
        let file = FileBuilder { gnu_hash, ..FileBuilder::default() }.build();
        let tables = (0..0x800).chain(at::DATA..at::DATA + 0x100);
        for place in tables.step_by(4) {
            for value in
                [1, 1 << 31, 1 << 32, 1 << 63, u64::MAX, u64::MAX - 7, file.len() as u64, 0xffff_f000]
            {
                for size in [4, 8] {
                    let mut file = file.clone();
                    file[place..place + size].copy_from_slice(&value.to_le_bytes()[..size]);
                    if let Ok(module) = Module::parse(&file) {
                        let _ = verify(&module);
                    }
                }
            }
        }
    }
}

/// Hostile tables whose names overlap must not multiply memory or time.
#[test]
fn overlapping_names_are_refused() {
    let mut builder = FileBuilder::default();
    builder.notes.truncate(1);
    let mut file = builder.build();
    // 3,000 functions with one and the same name of 4,000 bytes, in a larger page of constants.
    let (symbols, strings) = (0x3000, 0x3000 + 24 * 3001);
    file.resize(strings + 4096, 0);
    file.copy_within(0..0x1000, 0x2800);
    for i in 1..=3000 {
        let at = symbols + 24 * i;
        file[at..at + 8].copy_from_slice(&[1, 0, 0, 0, 0x12, 0, 1, 0]);
    }
    file[strings + 1..strings + 4000].fill(b'n');
    let size = (file.len() - 0x2800) as u64;
    let mut header = |i: usize, field: usize, value: u64| {
        let at = at::HEADERS + 56 * i + field;
        file[at..at + 8].copy_from_slice(&value.to_le_bytes());
    };
    for (field, value) in [(8, 0x2800), (32, size), (40, size)] {
        header(1, field, value);
    }
    let data = size.next_multiple_of(0x1000) + CONSTANTS;
    header(2, 16, data);
    header(3, 16, data);
    header(4, 8, 0x2800 + at::NOTES as u64);
    header(5, 16, data + 0x400);
    let headers = file[at::HEADERS..at::HEADERS + 56 * 7].to_vec();
    file[0x2800 + at::HEADERS..][..headers.len()].copy_from_slice(&headers);
    file[32..40].copy_from_slice(&(0x2800 + at::HEADERS as u64).to_le_bytes());
    file[0x2800 + at::HASH + 4..][..4].copy_from_slice(&3001_u32.to_le_bytes());
    let image = |offset: usize| CONSTANTS + (offset - 0x2800) as u64;
    for (entry, value) in [(1, image(strings)), (2, 4096), (3, image(symbols)), (5, 0)] {
        file[at::DATA + 16 * entry + 8..][..8].copy_from_slice(&value.to_le_bytes());
    }
    let error = refused(&file);
    assert!(error.what.contains("longer than the file"), "{error}");
}

fn refused(file: &[u8]) -> ParseError {
    Module::parse(file).map(|_| ()).expect_err("this file must be refused")
}
