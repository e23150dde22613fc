//! Functions without instructions. A compiler leaves nothing of one that it takes never to run to its end (`__builtin_unreachable`), and where each
//! function has a section of its own, that section is empty. Natively what lies behind runs, if it is called all the same; here it traps.

use crate::elf::{Object, sym};
use crate::encode::TRAP;

/// Gives sections of functions without instructions one that traps.
pub(crate) fn fill(object: &mut Object) {
    for symbol in object.symbols.iter().filter(|symbol| symbol.kind == sym::FUNC && symbol.size == 0) {
        let section = object.sections.get_mut(usize::from(symbol.shndx));
        if let Some(section) = section.filter(|section| section.is_for_code() && section.data.is_empty()) {
            section.data = TRAP.to_vec();
        }
    }
}
