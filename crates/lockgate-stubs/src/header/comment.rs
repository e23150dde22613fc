//! Comments of headers, as documentation.
use std::ops::Range;

/// The comment that belongs to the declaration at `extent` of `text`: it ends on the line before, or begins on the same line or the
/// next, with no empty line between. Headers do either; a comment further away may be about anything. One that stands behind something
/// on its line is that one's, and one between two declarations, with no empty line at all, the second's.
pub fn beside(text: &str, extent: Range<usize>) -> Option<String> {
    let found = above(text.get(..extent.start)?).or_else(|| behind(text.get(extent.end..)?));
    found.filter(|comment| !comment.is_empty())
}

fn above(before: &str) -> Option<String> {
    // Macros may stand before the declaration proper, on its line.
    let line = before.rfind('\n')?;
    let before = before[..line].trim_end_matches([' ', '\t', '\r']);
    if before.ends_with("*/") {
        let at = before.rfind("/*")?;
        let line = before[..at].rfind('\n').map_or(0, |end| end + 1);
        return before[line..at].trim().is_empty().then(|| block(&before[at..]));
    }
    let own = |line: &&str| line.trim_start().starts_with("//");
    let mut lines: Vec<&str> = before.lines().rev().take_while(own).collect();
    lines.reverse();
    (!lines.is_empty()).then(|| clean(lines.iter().map(|l| l.trim_start().trim_start_matches(['/', '!']))))
}

fn behind(rest: &str) -> Option<String> {
    let rest = &rest[rest.find(';')? + 1..];
    let rest = rest.trim_start_matches([' ', '\t', '\r']);
    let next = rest.strip_prefix('\n');
    let rest = next.unwrap_or(rest).trim_start_matches([' ', '\t']);
    let end = 2 + rest.starts_with("/*").then(|| rest.find("*/"))??;
    let mut behind = rest[end..].lines().skip(1);
    let ends = behind.next().is_none_or(|line| line.trim().is_empty() || line.starts_with('#'));
    (next.is_none() || ends).then(|| block(&rest[..end]))
}

/// The text of `/* … */`.
fn block(comment: &str) -> String {
    let inner = comment.trim_start_matches('/').trim_end_matches('/');
    let star = |line: &'_ str| line.trim_start().starts_with('*') || line.trim().is_empty();
    let starred = inner.lines().skip(1).all(star);
    let strip = |line: &str| match starred {
        true => line.trim_start().trim_start_matches('*').to_owned(),
        false => line.trim_start_matches('*').to_owned(),
    };
    let last = inner.trim_end_matches('*');
    let lines: Vec<String> = last.lines().map(strip).collect();
    clean(lines.iter().map(String::as_str))
}

/// Without the indentation that all lines share, and without empty lines around.
fn clean<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.map(str::trim_end).collect();
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    // The first line begins behind the comment's opening.
    let rest = lines.iter().skip(1).filter(|line| !line.is_empty());
    let shared = rest.map(indentation).min().unwrap_or(0);
    let first = lines.first().map_or("", |line| line.trim_start());
    let rest = lines.iter().skip(1).map(|line| line.get(shared..).unwrap_or(""));
    let text: Vec<&str> = std::iter::once(first).chain(rest).collect();
    plain(text.join("\n").trim_matches('\n').trim_end())
}

/// Without what does something to a terminal, or has text read otherwise than it stands there: it becomes documentation in sources.
fn plain(text: &str) -> String {
    let marks = |c: char| matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let kept = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || marks(*c));
    text.chars().filter(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::beside;

    #[test]
    fn a_comment_belongs_to_what_it_touches() {
        let cases = [
            ("/* What f does. */\nint f(void);\n", Some("What f does.")),
            ("/** First.\n *\n * Second.\n */\nAPI int f(void);\n", Some("First.\n\nSecond.")),
            ("/*\n** A title\n**   indented\n*/\nAPI int f(void);\n", Some("A title\n  indented")),
            ("// One\n/// two.\nint f(void);", Some("One\ntwo.")),
            ("/* Of something else. */\n\nint f(void);\n", None),
            ("int f(void);\n/*\n    Behind it.\n  More.\n*/\n", Some("  Behind it.\nMore.")),
            ("int f(void); /* On its line. */\n", Some("On its line.")),
            ("int f(void);\n\n/* Of the next. */\nint g(void);\n", None),
            (
                "/* Looks\u{1b}[2J \u{202e}like\u{2066} this\r\u{7}. */\nint f(void);\n",
                Some("Looks[2J like this."),
            ),
            ("/* Of g. */\nint g(void);\nint f(void);\n/* Of h. */\nint h(void);\n", None),
            ("int g(void); /* Of g. */\nint f(void);\n", None),
            ("int g(void); /* Of g,\n    on two lines. */\nint f(void);\n", None),
            ("int f(void); /* Of f. */\n/* Of g. */\nint g(void);\n", Some("Of f.")),
            ("int f(void);\n/* Behind, the last of them. */\n#endif\n", Some("Behind, the last of them.")),
            ("int f(void)", None),
        ];
        for (text, expected) in cases {
            let start = text.find("int f").expect("the declaration");
            let found = beside(text, start..start + "int f(void)".len());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
