//! How much machine code a program has.

use anyhow::Context as _;
use object::LittleEndian;
use object::elf::{FileHeader64, PF_X, PT_LOAD};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use std::path::Path;

/// Bytes in the executable segments of the ELF file at `path`, without the `int3` that fill the last page of a module.
pub fn of(path: &Path) -> anyhow::Result<usize> {
    let data = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file = FileHeader64::<LittleEndian>::parse(&*data)?;
    let mut size = 0;
    for header in file.program_headers(LittleEndian, &*data)? {
        if header.p_type(LittleEndian) == PT_LOAD && header.p_flags(LittleEndian).contains(PF_X) {
            let bytes = header.data(LittleEndian, &*data).ok().context("segment outside the file")?;
            size += bytes.len() - bytes.iter().rev().take_while(|byte| **byte == 0xcc).count();
        }
    }
    Ok(size)
}
