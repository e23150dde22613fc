//! Names that somebody else chose, made fit for terminals, logs and reports.

/// `text` without what a terminal obeys (escape sequences), what begins a new line in a log, and what shows characters in another
/// order than they have: each such character becomes `?`. For where a name becomes a name: a module's, from its file; a function's,
/// from debug information.
pub fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() || is_invisible(c), "?")
}

/// Line and paragraph separators, marks of direction, and others that are not seen.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{61c}' | '\u{feff}' | '\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_terminals_obey_is_gone() {
        for (text, expected) in [
            ("libz.so.1 größe 漢字", "libz.so.1 größe 漢字"),
            ("\x1b]0;owned\x07\x1b[2J", "?]0;owned??[2J"),
            ("m.lg: verified\nlockgate: x\ty\r", "m.lg: verified?lockgate: x?y?"),
            ("\u{9b}31m", "?31m"),
            ("a\u{202e}gl.m\u{2028}", "a?gl.m?"),
        ] {
            assert_eq!(printable(text), expected);
        }
    }
}
