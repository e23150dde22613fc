//! Annotations of headers, and the expressions in them: understood once, whatever else is said of the same thing.

use crate::Target;
use lockgate_stubs::annotation::{NoteError, Notes};
use lockgate_stubs::expression::Expression;

/// See [`check`].
pub const TARGET: Target = Target {
    name: "annotation",
    run: |input| check(input, |notes, text| notes.add(text)),
    longest: 2048,
    memory: 1 << 20,
    near: 10_000,
    tokens: &[
        b"in\n",
        b"out\n",
        b"inout\n",
        b"size:",
        b"written:",
        b"at_most:",
        b"error:",
        b"string\n",
        b"nullable\n",
        b"kept\n",
        b"shared\n",
        b"release\n",
        b"home:3:parser\n",
        b"format:f,s,p\n",
        b"dispose:f,1\n",
        b"strlen(s)",
        b"lg_told(f, h, lg_result)",
        b"?",
        b":",
        b"->",
        b"((((((((",
        b"0xffffffffffffffff",
        b"!!!!!!!!",
        b"&&",
        b"||",
        b"<=",
        b"18446744073709551616",
    ],
};

/// What takes an annotation.
pub type Add = fn(&mut Notes, &str) -> Result<(), NoteError>;

/// One annotation a line, all of one declaration. Returns the number of lines.
///
/// # Panics
/// They say something else the second time, or what the annotation does not.
pub fn check(input: &[u8], add: Add) -> u64 {
    let text = String::from_utf8_lossy(input);
    let mut notes = Notes::default();
    let mut lines = 0;
    for line in text.lines() {
        lines += 1;
        let before = notes.clone();
        match add(&mut notes, line) {
            Ok(()) => {
                let mut again = notes.clone();
                assert_eq!(add(&mut again, line), Ok(()), "`{line}`, said twice");
                assert_eq!(again, notes, "`{line}`, said twice");
                names_are_written(line, &notes);
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                notes = before;
            }
        }
        assert_eq!(notes.clone().or(&notes), notes);
        assert_eq!(Notes::default().or(&notes), notes);
    }
    lines
}

/// An expression speaks of nothing that the annotation does not name.
fn names_are_written(line: &str, notes: &Notes) {
    let said = [
        ("size:", &notes.size),
        ("written:", &notes.written),
        ("at_most:", &notes.at_most),
        ("rows:", &notes.rows),
    ];
    for (macro_name, expression) in said {
        if let (Some(argument), Some(expression)) = (line.strip_prefix(macro_name), expression) {
            for name in expression.names() {
                assert!(argument.contains(name) && !name.is_empty(), "`{name}` in {line}");
            }
            assert_eq!(Expression::parse(argument).as_ref(), Ok(expression));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    #[test]
    fn a_note_that_is_forgotten_is_noticed() {
        notices(&TARGET, |input| {
            check(input, |notes, text| {
                notes.add(text)?;
                notes.borrowed ^= text.starts_with("kept");
                Ok(())
            })
        });
    }
}
