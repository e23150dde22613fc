//! Preprocessed C as `lockgate cc --split` takes it apart: offsets and lines hold through every step.

use crate::Target;
use lockgate_split::text;

/// See [`check`].
pub const TARGET: Target = Target {
    name: "split_text",
    run: |input| check(input, text::fold),
    longest: 4096,
    memory: 1 << 20,
    near: 10_000,
    tokens: &[
        b"\n# 1 \"a.c\"\n",
        b"\n# 1 \"/usr/include/stdio.h\" 1 3 4\n",
        b"\n# 2 \"a.c\" 2\n",
        b"\n# 3 \"a.c\" 3 4\n",
        b"__attribute__((annotate(\"lockgate:",
        b"\")))",
        b"\xc3\xbc",
        b"= {",
        b"};",
        b"'\"'",
        b"\"\\\"\"",
        b"\n#define x\n",
        b"(",
        b")",
        b";",
        b",",
    ],
};

/// What replaces system headers by their names.
pub type Fold = fn(&str) -> String;

/// Takes the text apart. Returns the number of declarations.
///
/// # Panics
/// Something moved.
pub fn check(input: &[u8], fold: Fold) -> u64 {
    let original = String::from_utf8_lossy(input);
    let folded = fold(&original);
    same_shape(original.as_bytes(), folded.as_bytes());

    let mut bare = original.as_bytes().to_vec();
    text::erase_notes(&mut bare);
    same_shape(original.as_bytes(), &bare);

    let pieces = text::pieces(&bare);
    let mut end = 0;
    for piece in &pieces {
        assert!(end <= piece.range.start && piece.range.start < piece.range.end, "{piece:?} after {end}");
        end = piece.range.end;
        let mut from = piece.range.start;
        for value in text::initialisers(&bare, piece.range.clone()) {
            assert!(
                from <= value.start && value.start < value.end && value.end <= end,
                "{value:?} in {piece:?}"
            );
            assert_eq!(bare[value.start], b'=');
            from = value.end;
        }
    }
    assert!(end <= bare.len());
    let mut all = bare.clone();
    text::erase(&mut all, 0..bare.len());
    same_shape(&bare, &all);
    assert!(!text::normal(&original).contains(['\n', '\t']));
    pieces.len().max(1) as u64
}

/// Every line ends where it did.
fn same_shape(before: &[u8], after: &[u8]) {
    assert_eq!(before.len(), after.len(), "bytes");
    let ends = |text: &[u8]| {
        text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(ends(before), ends(after), "lines");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    #[test]
    fn a_fold_that_loses_a_space_is_noticed() {
        notices(&TARGET, |input| check(input, |text| text::fold(text).replacen("#include\"", "#include", 1)));
    }
}
