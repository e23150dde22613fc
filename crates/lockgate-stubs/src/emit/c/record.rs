//! What a client has for each type of structure.
use super::super::boundary::record;
use super::super::template::fill;
use super::print;
use crate::plan::{Plan, RecordPlan};

/// All functions for structures of one type.
pub fn functions(record: &RecordPlan, number: usize, plan: &Plan) -> String {
    let parts = record::parts(record, plan);
    let buffer = |name: &&str| format!("struct lgs_block {name};\nsize_t written_{name};\n");
    let places = [
        ("SPELLING", &*record.spelling),
        ("WORD", &record.word),
        ("BUFFERS", &parts.buffers.iter().map(buffer).collect::<String>()),
        ("INTO", &print::lines(&parts.into)),
        ("NUMBERS", &print::lines(&parts.numbers)),
        ("FIRST", &print::lines(&parts.first)),
        ("CHECK", &print::lines(&parts.check)),
        ("BACK", &print::lines(&parts.back)),
        ("SHOWN", &shown(record, number)),
    ];
    fill(include_str!("../../../templates/c/record.c.in"), &places)
}

/// Structures that the library gives: copied once, checked in memory of the frame's, and handed out from there. `count` of them, or,
/// where `length` is not zero, up to one whose bytes there are.
pub fn shown(record: &RecordPlan, number: usize) -> String {
    let RecordPlan { spelling, word, .. } = record;
    let own = [("SPELLING", &**spelling), ("WORD", word)];
    let check = match record.is_plain() {
        true => String::new(),
        false => fill(include_str!("../../../templates/c/check.c.in"), &own),
    };
    let bools = match record.bools.is_empty() {
        true => String::new(),
        false => format!("lgs_bools_{word}(checked, (size_t)count);"),
    };
    let more = [("NUMBER", &*number.to_string()), ("BOOLS", &bools), ("CHECK", &check)];
    fill(include_str!("../../../templates/c/shown.c.in"), &[&own[..], &more].concat())
}

/// Makes every `bool` in structures of this type 0 or 1, and ends text.
pub fn bools(record: &RecordPlan) -> String {
    let steps = print::lines(&record::bools(record));
    let places = [("SPELLING", &*record.spelling), ("WORD", &record.word), ("BOOLS", &steps)];
    fill(include_str!("../../../templates/c/bools.c.in"), &places)
}
