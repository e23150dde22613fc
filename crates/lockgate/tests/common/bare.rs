//! Modules of assembly and nothing else: no libc, no toolchain of ours, so that each byte of code is the test's.
use lockgate_abi::{ABI_VERSION, PAGE, note};
use std::process::Command;

/// For [`module`]: what a guest begins with. `OFF`, functions with labels, system calls of both kinds and `resume`, a region that nothing falls into;
/// unit U2, which goes to the guest's `trap`.
const MACROS: &str = "
#define OFF 0x3f000000
.macro function name
.globl \\name
\\name: endbr64
.endm
.macro syscall_gate
call *%gs:0x11000
.endm
.macro syscall_as_call_gate
call *%gs:0x11010
.endm
.macro resume_gate
call *%gs:0x11008
.endm
.macro open_frame
xor %rsp,%r11
and $0xfffff8,%r11d
xor %rsp,%r11
cmp %rsp,%r11
ja trap
.byte 0x4c,0x87,0xdc
mov %r11,(%rsp)
.endm
.text
";

/// Assembles, and wraps: every global symbol is exported by its name, `imports` are lines of that note. 64 KiB of data lie
/// behind.
pub fn module(source: &str, imports: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name);
    // The code fills whole pages, and ends with a trap that ends a way.
    let text = format!("{MACROS}{source}\n.balign 4096,0xcc\n.fill 4094,1,0xcc\nud2\n");
    std::fs::write(path("guest.S"), text).expect("a source");
    run(Command::new("gcc").arg("-c").arg(path("guest.S")).arg("-o").arg(path("guest.o")));
    let mut link = Command::new("ld");
    link.args(["-Ttext=0", "-e0", "--no-warn-rwx-segments", "-o"]);
    run(link.arg(path("guest")).arg(path("guest.o")));
    let mut copy = Command::new("objcopy");
    run(copy.args(["-O", "binary", "-j", ".text"]).arg(path("guest")).arg(path("text")));
    let code = std::fs::read(path("text")).expect("the code");
    let names = run(Command::new("nm").arg("-g").arg(path("guest")));
    let mut symbols: Vec<(String, u64)> = names
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let at = u64::from_str_radix(words.next()?, 16).ok()?;
            Some((words.nth(1)?.to_owned(), at))
        })
        .filter(|(_, at)| *at < code.len() as u64)
        .collect();
    symbols.sort();
    file(&code, &symbols, imports)
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

const DATA: u64 = 64 << 10;

/// The ELF file: code at the image's start, then constants (headers, notes, symbols), which the file begins with, then data.
fn file(code: &[u8], symbols: &[(String, u64)], imports: &str) -> Vec<u8> {
    let constants_at = code.len() as u64;
    let mut strings = vec![0];
    let mut table = vec![0; 24];
    for (name, at) in symbols {
        table.extend((strings.len() as u32).to_le_bytes());
        // A global function of the first section.
        table.extend([0x12, 0, 1, 0]);
        table.extend(words(&[*at, 0]));
        strings.extend(name.bytes().chain([0]));
    }
    let exports: String = symbols.iter().map(|(name, _)| format!("{name}\n")).collect();
    let mut notes = Vec::new();
    let abi = [ABI_VERSION, 0].map(u32::to_le_bytes).concat();
    let sources = format!("{}  guest.S\n", "ab".repeat(32));
    for (kind, text) in [
        (note::ABI, &abi[..]),
        (note::EXPORTS, exports.as_bytes()),
        (note::IMPORTS, imports.as_bytes()),
        (note::SOURCES, sources.as_bytes()),
    ] {
        notes.extend([9, text.len() as u32, kind].map(u32::to_le_bytes).concat());
        notes.extend(*b"Lockgate\0\0\0\0");
        notes.extend(text);
        notes.resize(notes.len().next_multiple_of(4), 0);
    }
    let hash = [1, symbols.len() as u32 + 1, 0, 0].map(u32::to_le_bytes).concat();
    let hash = [hash, vec![0; 4 * symbols.len()]].concat();
    let mut page = vec![0; 0x200];
    let mut put = |bytes: &[u8]| {
        let at = page.len().next_multiple_of(16);
        page.resize(at, 0);
        page.extend(bytes);
        at as u64
    };
    let [notes_at, table_at, strings_at, hash_at] = [&notes, &table, &strings, &hash].map(|bytes| put(bytes));
    page.resize(page.len().next_multiple_of(PAGE as usize), 0);
    let constants = page.len() as u64;
    let data_at = constants_at + constants;
    let file_code = constants;
    let file_data = file_code + code.len() as u64;
    let address = |at: u64| constants_at + at;
    let dynamic = [
        [4, address(hash_at)],
        [5, address(strings_at)],
        [10, strings.len() as u64],
        [6, address(table_at)],
        [0, 0],
    ];
    let dynamic = words(&dynamic.concat());
    let notes_size = notes.len() as u64;
    let headers: [[u64; 7]; 6] = [
        [1, 5, file_code, 0, code.len() as u64, code.len() as u64, PAGE],
        [1, 4, 0, constants_at, constants, constants, PAGE],
        [1, 6, file_data, data_at, PAGE, DATA + PAGE, PAGE],
        [2, 6, file_data, data_at, dynamic.len() as u64, dynamic.len() as u64, 8],
        [4, 4, notes_at, address(notes_at), notes_size, notes_size, 4],
        [0x6474_e551, 6, 0, 0, 0, 0, 16],
    ];
    page[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
    page[16..24].copy_from_slice(&[3_u16, 62, 1, 0].map(u16::to_le_bytes).concat());
    page[24..48].copy_from_slice(&words(&[0, 0x40, 0]));
    page[52..64]
        .copy_from_slice(&[64_u16, 56, headers.len() as u16, 64, 0, 0].map(u16::to_le_bytes).concat());
    for (i, [kind, flags, offset, at, file_size, size, align]) in headers.into_iter().enumerate() {
        let place = 0x40 + 56 * i;
        page[place..place + 8].copy_from_slice(&[kind as u32, flags as u32].map(u32::to_le_bytes).concat());
        let rest = words(&[offset, at, at, file_size, size, align]);
        page[place + 8..place + 56].copy_from_slice(&rest);
    }
    let mut data = dynamic;
    data.resize(PAGE as usize, 0);
    [page, code.to_vec(), data].concat()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
