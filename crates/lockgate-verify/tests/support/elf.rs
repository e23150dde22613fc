//! A small, legal module file.

use lockgate_abi::{ABI_VERSION, code, note};

/// Where things lie in [`FileBuilder::build`]'s file; addresses in the image are the same + 0x1000.
pub mod at {
    /// Program headers.
    pub const HEADERS: usize = 0x40;
    /// Notes.
    pub const NOTES: usize = 0x300;
    /// Dynamic symbols, their names, their hash table.
    pub const SYMBOLS: usize = 0x500;
    /// Names.
    pub const STRINGS: usize = 0x600;
    /// DT_HASH or DT_GNU_HASH.
    pub const HASH: usize = 0x680;
    /// Relocations.
    pub const RELOCATIONS: usize = 0x700;
    /// Code (image address 0x0000).
    pub const CODE: usize = 0x1000;
    /// Data (image address 0x3000), with the dynamic table in front.
    pub const DATA: usize = 0x2000;
}

/// Image address of the constants, which hold the file's first page.
pub const CONSTANTS: u64 = 0x1000;
/// Image address of the data.
pub const DATA: u64 = 0x3000;

/// A module file with one export `f`, one data symbol `d`, two relocations, notes, and 4 KiB of each kind of segment.
pub struct FileBuilder {
    /// The code; padded with `int3`, and `ud2` at the end.
    pub code: Vec<u8>,
    /// Note type and text.
    pub notes: Vec<(u32, Vec<u8>)>,
    /// `(tag, value)` in front of the usual dynamic entries.
    pub dynamic: Vec<(u64, u64)>,
    /// Program headers: type, flags, offset, address, file size, memory size, alignment. The sizes of PT_NOTE are
    /// filled in.
    pub headers: Vec<[u64; 7]>,
    /// Relocations: place, info, addend.
    pub relocations: Vec<[u64; 3]>,
    /// Symbols: name (offset in [`NAMES`]), info, section, address, size.
    pub symbols: Vec<(u32, u8, u16, u64, u64)>,
    /// Use DT_GNU_HASH instead of DT_HASH.
    pub gnu_hash: bool,
}

/// Names of symbols: `f` at 1, `d` at 3, `g` at 5.
pub const NAMES: &[u8] = b"\0f\0d\0g\0\x07\0";

const LOAD: u64 = 1;
const DYNAMIC: u64 = 2;
const NOTE: u64 = 4;

impl Default for FileBuilder {
    fn default() -> Self {
        let abi: Vec<u8> = [ABI_VERSION, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        let hash = "ab".repeat(32);
        FileBuilder {
            // f: endbr64; mov table(%rip),%rax; ret
            code: vec![0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x05, 0xf5, 0x1f, 0, 0, 0xc3],
            notes: vec![
                (note::ABI, abi),
                (note::EXPORTS, b"double f(double, int)".to_vec()),
                (note::IMPORTS, b"16 void *host_log(const char *)\n17 host_tick".to_vec()),
                (note::SOURCES, format!("{hash}  f.c\n").into_bytes()),
            ],
            dynamic: vec![],
            headers: vec![
                [LOAD, 5, at::CODE as u64, 0, 0x1000, 0x1000, 0x1000],
                [LOAD, 4, 0, CONSTANTS, 0x1000, 0x1000, 0x1000],
                [LOAD, 6, at::DATA as u64, DATA, 0x800, 0x5000, 0x1000],
                [DYNAMIC, 6, at::DATA as u64, DATA, 0x100, 0x100, 8],
                [NOTE, 4, at::NOTES as u64, CONSTANTS + at::NOTES as u64, 0, 0, 4],
                [7, 4, at::DATA as u64 + 0x400, DATA + 0x400, 0x10, 0x20, 16],
                [0x6474_e551, 6, 0, 0, 0, 0, 16],
            ],
            relocations: vec![[DATA + 0x200, 8, 0x1000], [DATA + 0x208, 8, 0]],
            symbols: vec![(1, 0x12, 1, 0, 12), (3, 0x11, 2, DATA + 0x200, 8)],
            gnu_hash: false,
        }
    }
}

impl FileBuilder {
    /// The file.
    pub fn build(&self) -> Vec<u8> {
        let mut file = vec![0; 0x2800];
        let header: [u64; 3] = [0, at::HEADERS as u64, 0];
        file[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
        put(&mut file, 16, &[3_u16, 62].map(u16::to_le_bytes).concat());
        put(&mut file, 20, &1_u32.to_le_bytes());
        put(&mut file, 24, &words(&header));
        put(&mut file, 52, &[64_u16, 56, self.headers.len() as u16, 64, 0, 0].map(u16::to_le_bytes).concat());
        let mut place = at::NOTES;
        for (kind, text) in &self.notes {
            put(&mut file, place, &[9, text.len() as u32, *kind].map(u32::to_le_bytes).concat());
            put(&mut file, place + 12, b"Lockgate\0");
            put(&mut file, place + 24, text);
            place += 24 + text.len().next_multiple_of(4);
        }
        let notes_size = (place - at::NOTES) as u64;
        for (i, [kind, flags, rest @ ..]) in self.headers.iter().enumerate() {
            let [offset, address, file_size, mem_size, align] = *rest;
            let (file_size, mem_size) =
                if *kind == NOTE { (notes_size, notes_size) } else { (file_size, mem_size) };
            let place = at::HEADERS + 56 * i;
            put(&mut file, place, &[*kind as u32, *flags as u32].map(u32::to_le_bytes).concat());
            put(&mut file, place + 8, &words(&[offset, address, address, file_size, mem_size, align]));
        }
        for (i, (name, info, section, address, size)) in self.symbols.iter().enumerate() {
            let place = at::SYMBOLS + 24 * (i + 1);
            put(&mut file, place, &name.to_le_bytes());
            put(&mut file, place + 4, &[*info, 0]);
            put(&mut file, place + 6, &section.to_le_bytes());
            put(&mut file, place + 8, &words(&[*address, *size]));
        }
        put(&mut file, at::STRINGS, NAMES);
        let count = self.symbols.len() as u32;
        if self.gnu_hash {
            // One bucket with all symbols, from number 1 on; one word of Bloom filter.
            put(&mut file, at::HASH, &[1, 1, 1, 0].map(u32::to_le_bytes).concat());
            put(&mut file, at::HASH + 24, &1_u32.to_le_bytes());
            put(&mut file, at::HASH + 28 + 4 * (count as usize - 1), &1_u32.to_le_bytes());
        } else {
            put(&mut file, at::HASH, &[1, count + 1].map(u32::to_le_bytes).concat());
        }
        for (i, relocation) in self.relocations.iter().enumerate() {
            put(&mut file, at::RELOCATIONS + 24 * i, &words(relocation));
        }
        let mut dynamic = self.dynamic.clone();
        let address = |place: usize| CONSTANTS + place as u64;
        dynamic.extend([
            (if self.gnu_hash { 0x6fff_fef5 } else { 4 }, address(at::HASH)),
            (5, address(at::STRINGS)),
            (10, NAMES.len() as u64),
            (6, address(at::SYMBOLS)),
            (7, address(at::RELOCATIONS)),
            (8, 24 * self.relocations.len() as u64),
            (0, 0),
        ]);
        for (i, (tag, value)) in dynamic.iter().enumerate() {
            put(&mut file, at::DATA + 16 * i, &words(&[*tag, *value]));
        }
        file[at::CODE..at::CODE + 0x1000].fill(0xcc);
        put(&mut file, at::CODE + 0xffe, &code::UD2);
        put(&mut file, at::CODE, &self.code);
        file
    }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}
