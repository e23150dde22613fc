//! The smallest module file: for mutations, every byte of it should count.

use lockgate_abi::{ABI_VERSION, PAGE, note};

/// What the file has.
#[derive(Debug, Clone, Default)]
pub struct ModuleFile {
    /// Code, from image address 0 on; its first bytes are the export.
    pub code: Vec<u8>,
    /// Name of the export; `f` if it is empty.
    pub export: &'static str,
    /// Note type and text, behind the one that says the version.
    pub notes: Vec<(u32, &'static str)>,
    /// Words of data to relocate: place in the data, value.
    pub relocations: Vec<(u64, u64)>,
    /// A thread-local template.
    pub thread_local: bool,
    /// Bytes of zeros behind the data.
    pub room: u64,
}

const CONSTANTS: u64 = PAGE;
const DATA: u64 = 2 * PAGE;
const HEADER: usize = 64;
const ENTRY: usize = 56;

impl ModuleFile {
    /// The file: headers and constants, code, data, one right behind the other.
    #[must_use]
    pub fn build(&self) -> Vec<u8> {
        const LOAD: u32 = 1;
        const DYNAMIC: u32 = 2;
        const NOTE: u32 = 4;
        const TLS: u32 = 7;
        let headers = 5 + usize::from(self.thread_local);
        let mut out = vec![0; HEADER + ENTRY * headers];
        let notes_at = out.len();
        let version: Vec<u8> = [ABI_VERSION, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        put_note(&mut out, note::ABI, &version);
        self.notes.iter().for_each(|(kind, text)| put_note(&mut out, *kind, text.as_bytes()));
        let notes = (notes_at, out.len() - notes_at);

        out.resize(out.len().next_multiple_of(8), 0);
        let symbols = out.len();
        out.extend([0; 24]);
        // A global function in section 1, at 0.
        out.extend(1_u32.to_le_bytes());
        out.extend([0x12, 0, 1, 0]);
        out.extend(words(&[0, self.code.len() as u64]));
        let names = out.len();
        let export = if self.export.is_empty() { "f" } else { self.export };
        let strings = [&[0], export.as_bytes(), &[0, 0]].concat();
        out.extend(&strings);
        out.resize(out.len().next_multiple_of(4), 0);
        let hash = out.len();
        out.extend([1, 2].map(u32::to_le_bytes).concat());
        out.resize(out.len().next_multiple_of(8), 0);
        let relocations = out.len();
        for (at, value) in &self.relocations {
            out.extend(words(&[DATA + at, 8, *value]));
        }
        let constants = out.len();
        out.extend(&self.code);
        let data = out.len();
        let address = |at: usize| CONSTANTS + at as u64;
        let (table, size) = (address(relocations), 24 * self.relocations.len() as u64);
        out.extend(words(&[
            4,
            address(hash),
            5,
            address(names),
            10,
            strings.len() as u64,
            6,
            address(symbols),
            7,
            table,
            8,
            size,
            0,
            0,
        ]));
        let dynamic = out.len() - data;
        out.extend([0; 32]);

        let size = out.len() - data;
        let mut entries = vec![
            (LOAD, 5, constants, 0, self.code.len(), self.code.len()),
            (LOAD, 4, 0, CONSTANTS, constants, constants),
            (LOAD, 6, data, DATA, size, size + self.room as usize),
            (DYNAMIC, 6, data, DATA, dynamic, dynamic),
            (NOTE, 4, notes.0, address(notes.0), notes.1, notes.1),
        ];
        if self.thread_local {
            entries.push((TLS, 4, data + dynamic, DATA + dynamic as u64, 16, 32));
        }
        for (number, (kind, flags, offset, address, size, memory)) in entries.into_iter().enumerate() {
            let at = HEADER + ENTRY * number;
            out[at..at + 8].copy_from_slice(&[kind, flags].map(u32::to_le_bytes).concat());
            out[at + 8..at + ENTRY].copy_from_slice(&words(&[
                offset as u64,
                address,
                address,
                size as u64,
                memory as u64,
                8,
            ]));
        }
        out[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
        out[16..20].copy_from_slice(&[3_u16, 62].map(u16::to_le_bytes).concat());
        out[20..24].copy_from_slice(&1_u32.to_le_bytes());
        out[32..40].copy_from_slice(&(HEADER as u64).to_le_bytes());
        out[52..58].copy_from_slice(&[64, ENTRY as u16, headers as u16].map(u16::to_le_bytes).concat());
        out
    }
}

fn put_note(out: &mut Vec<u8>, kind: u32, text: &[u8]) {
    out.extend([9, text.len() as u32, kind].map(u32::to_le_bytes).concat());
    out.extend(b"Lockgate\0\0\0\0");
    out.extend(text);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
