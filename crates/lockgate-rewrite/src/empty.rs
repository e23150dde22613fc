//! Functions without instructions. A compiler leaves nothing of one that it takes never to run to its end (`__builtin_unreachable`), and where each
//! function has a section of its own, that section is empty. Natively what lies behind runs, if it is called all the same; here it traps.

use crate::elf::{Object, shf, sht, sym};

/// `ud2`.
const TRAP: [u8; 2] = [0x0f, 0x0b];

/// Gives sections of functions without instructions one that traps.
pub(crate) fn fill(object: &mut Object) {
    for symbol in object.symbols.iter_mut().filter(|symbol| symbol.kind == sym::FUNC && symbol.size == 0) {
        let Some(section) = object.sections.get_mut(usize::from(symbol.shndx)) else { continue };
        let is_of_code = section.kind == sht::PROGBITS && section.flags & shf::EXECINSTR != 0;
        if is_of_code && section.data.is_empty() {
            section.data = TRAP.to_vec();
        }
    }
}
