//! How much machine code a program has.

use anyhow::Context as _;
use object::LittleEndian;
use object::elf::{FileHeader64, PF_X, PT_LOAD};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use std::path::Path;

/// Bytes in the executable segments of the ELF file at `path`, without what fills the last page of a module: `int3`, and a `ud2` behind
/// them.
pub fn of(path: &Path) -> anyhow::Result<usize> {
    let data = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file = FileHeader64::<LittleEndian>::parse(&*data)?;
    let mut size = 0;
    for header in file.program_headers(LittleEndian, &*data)? {
        if header.p_type(LittleEndian) == PT_LOAD && header.p_flags(LittleEndian).contains(PF_X) {
            let bytes = header.data(LittleEndian, &*data).ok().context("segment outside the file")?;
            size += without_filling(bytes).len();
        }
    }
    Ok(size)
}

/// Code without the `int3`, and the `ud2` that ends them, which fill its last page.
fn without_filling(code: &[u8]) -> &[u8] {
    let filling = |code: &[u8]| code.iter().rev().take_while(|byte| **byte == 0xcc).count();
    // A `ud2` that nothing but code stands before is code.
    let code = code.strip_suffix(&[0x0f, 0x0b]).filter(|code| filling(code) > 0).unwrap_or(code);
    &code[..code.len() - filling(code)]
}

#[cfg(test)]
mod tests {
    use super::without_filling;

    #[test]
    fn what_fills_a_page_is_no_code() {
        for (code, of_it) in [
            (&[0x90, 0xc3][..], 2),
            (&[0x90, 0xc3, 0xcc, 0xcc, 0xcc], 2),
            (&[0x90, 0xc3, 0xcc, 0xcc, 0x0f, 0x0b], 2),
            (&[0x90, 0x0f, 0x0b], 3),
            (&[0x90, 0x0f, 0x0b, 0xcc, 0x0f, 0x0b], 3),
            (&[0xcc, 0x0f, 0x0b], 0),
        ] {
            assert_eq!(without_filling(code).len(), of_it, "{code:x?}");
        }
    }
}
