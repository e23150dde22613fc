//! Names from untrusted sources, made fit for terminals, logs and reports.

/// Bytes of a name that are shown: paths and what compilers call functions are shorter.
pub const LONGEST: usize = 4096;

/// Bytes of a text of several lines that are shown.
const LONGEST_TEXT: usize = 16 * LONGEST;

/// `text` without what a terminal obeys (escape sequences), what begins a new line in a log, and what shows characters in another
/// order than they have: each such character becomes `?`. Of more than [`LONGEST`] bytes it has the first ones, and how many there are.
/// For where a name becomes a name: a module's, from its file; a function's, from debug information.
pub fn printable(text: &str) -> String {
    let shown = first(text, LONGEST);
    truncated(clean(shown), shown.len(), text.len())
}

/// The same of bytes that ought to be UTF-8: those that are not become `?`.
pub fn printable_bytes(bytes: &[u8]) -> String {
    // No character is cut in two.
    let begins = |&end: &usize| bytes.get(end).is_none_or(|byte| byte & 0xc0 != 0x80);
    let most = bytes.len().min(LONGEST);
    let end = (most.saturating_sub(3)..=most).rev().find(begins).unwrap_or(most);
    truncated(clean(&String::from_utf8_lossy(&bytes[..end])), end, bytes.len())
}

/// The same of a message of several lines, each as long as a name. Tabs stay.
pub fn printable_lines(text: &str) -> String {
    let shown = first(text, LONGEST_TEXT);
    truncated(each(shown, printable), shown.len(), text.len())
}

/// The same of a text that the user asked for: all of it, however long.
pub fn printable_text(text: &str) -> String {
    each(text, clean)
}

fn each(text: &str, piece: fn(&str) -> String) -> String {
    let line = |line: &str| line.split('\t').map(piece).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// `clean`, which is made of the first `shown` bytes of so many, and how many there are if these are not all.
fn truncated(clean: String, shown: usize, bytes: usize) -> String {
    if shown < bytes { format!("{clean}… ({bytes} bytes)") } else { clean }
}

fn clean(text: &str) -> String {
    text.replace(|c: char| c.is_control() || is_invisible(c), "?")
}

/// The first characters of `text`, at most `most` bytes.
fn first(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// Line and paragraph separators, marks of direction, and others that are not seen: Unicode's format characters (Cf), separators of lines
/// (Zl, Zp), and what fonts show as nothing (Default_Ignorable_Code_Point); private and unassigned planes, whose characters are unknown.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{ffff}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_obey_is_gone() {
        for (text, expected) in [
            ("libz.so.1 größe 漢字", "libz.so.1 größe 漢字"),
            ("\x1b]0;owned\x07\x1b[2J", "?]0;owned??[2J"),
            ("m.lg: verified\nlockgate: x\ty\r", "m.lg: verified?lockgate: x?y?"),
            ("\u{9b}31m", "?31m"),
            ("a\u{202e}gl.m\u{2028}", "a?gl.m?"),
            ("\u{fff9}x\u{fffb} \u{e0041}tag", "?x? ?tag"),
            ("\u{34f}\u{115f}\u{3164}\u{ad}\u{fe0f}\u{180e}\u{2800}\u{ffa0}\u{f000}\u{10ffff}", "??????????"),
        ] {
            assert_eq!(printable(text), expected);
            assert_eq!(printable_bytes(text.as_bytes()), expected);
        }
        assert_eq!(printable_bytes(b"f\x1b[2J\n\xff"), "f?[2J??");
        for printable in [printable_lines, printable_text] {
            assert_eq!(printable("a\tb\x1b\n\u{202e}c\r\n"), "a\tb?\n?c?\n");
        }
    }

    #[test]
    fn what_is_shown_has_an_end() {
        let long = "ä".repeat(1 << 20);
        let shown = format!("{}… (2097152 bytes)", "ä".repeat(LONGEST / 2));
        assert_eq!(printable(&long), shown);
        assert_eq!(printable_bytes(long.as_bytes()), shown);
        assert!(printable_lines(&"x\n".repeat(1 << 20)).ends_with("x\n… (2097152 bytes)"));
        assert_eq!(printable(&"x".repeat(LONGEST)), "x".repeat(LONGEST));
        assert_eq!(printable_text(&long), long);
    }

    #[test]
    fn bytes_are_counted_as_they_came() {
        for bytes in [0, 1, 2000, LONGEST] {
            assert_eq!(printable_bytes(&vec![0xff; bytes]), "?".repeat(bytes));
        }
        for byte in [0xff, 0x80] {
            let shown = format!("{}… (5000 bytes)", "?".repeat(LONGEST));
            assert_eq!(printable_bytes(&[byte; 5000]), shown);
        }
        for before in 0..4 {
            let text = "x".repeat(before) + &"\u{1f512}".repeat(LONGEST);
            assert_eq!(printable_bytes(text.as_bytes()), printable(&text));
        }
    }
}
