//! What a client has for each type of structure.
use super::super::boundary::record;
use super::super::template::{row, template};
use super::print;
use crate::plan::{Plan, RecordPlan};

/// All functions for structures of one type.
pub fn functions(key: &str, record: &RecordPlan, number: usize, plan: &Plan) -> String {
    let parts = record::parts(record, plan);
    let buffer = |name: &&str| template!("c/buffer.c.in", NAME = name);
    let string = |name: &&str| row(format!("struct lgs_block {name};"));
    let buffers = parts.buffers.iter().map(buffer);
    let strings = parts.strings.iter().map(string);
    template!(
        "c/record.c.in",
        SPELLING = record.spelling,
        WORD = record.word,
        BUFFERS = buffers.chain(strings).collect::<String>(),
        INTO = print::lines(&parts.into),
        NUMBERS = print::lines(&parts.numbers),
        COPIES = if plan.copies(key) { copies(record, &parts) } else { String::new() },
        FIRST = print::lines(&parts.first),
        CHECK = print::lines(&parts.check),
        BACK = print::lines(&parts.back),
        SHOWN = shown(record, number),
    )
}

/// What tells whose buffers are in one of several structures, where there are any.
fn copies(record: &RecordPlan, parts: &record::Parts<'_>) -> String {
    let RecordPlan { spelling, word, .. } = record;
    match &parts.copied {
        None => String::new(),
        Some(copied) => template!(
            "c/copies.c.in",
            SPELLING = spelling,
            WORD = word,
            WHOSE = print::lines(&parts.whose),
            UNMARKED = print::lines(&parts.unmarked),
            COPIED = print::value(copied)
        ),
    }
}

/// Structures that the library gives: copied once, checked in memory of the frame's, and handed out from there. `count` of them, or,
/// where `length` is not zero, up to one whose bytes there are.
pub fn shown(record: &RecordPlan, number: usize) -> String {
    let RecordPlan { spelling, word, .. } = record;
    let check = match record.is_plain() {
        true => String::new(),
        false => template!("c/check.c.in", SPELLING = spelling, WORD = word),
    };
    let bools = match record.bools.is_empty() {
        true => String::new(),
        false => format!("lgs_bools_{word}(checked, (size_t)count);"),
    };
    let number = number.to_string();
    template!("c/shown.c.in", SPELLING = spelling, WORD = word, NUMBER = number, BOOLS = bools, CHECK = check)
}

/// Makes every `bool` in structures of this type 0 or 1, and ends text.
pub fn bools(record: &RecordPlan) -> String {
    let steps = print::lines(&record::bools(record));
    template!("c/bools.c.in", SPELLING = record.spelling, WORD = record.word, BOOLS = steps)
}
