//! Preprocessed C as text. Every step keeps each byte where it is, so that offsets hold in all versions of one text.

use lockgate_stubs::header::model::Place;
use std::collections::BTreeSet;
use std::ops::Range;

/// A line marker: `# 12 "file.c" 1 3`.
struct Marker<'t> {
    line: u32,
    file: &'t str,
    /// A file begins here.
    enters: bool,
    /// A file that was included ends here.
    leaves: bool,
    /// It is a system header, or the text is a macro of one.
    system: bool,
}

impl<'t> Marker<'t> {
    fn parse(line: &'t str) -> Option<Marker<'t>> {
        let (number, rest) = line.strip_prefix("# ")?.split_once(' ')?;
        let (file, flags) = rest.strip_prefix('"')?.rsplit_once('"')?;
        if !flags.is_empty() && !flags.starts_with([' ', '\n']) {
            return None;
        }
        let flag = |flag| flags.split_whitespace().any(|found| found == flag);
        Some(Marker {
            line: number.parse().ok()?,
            file,
            enters: flag("1"),
            leaves: flag("2"),
            system: flag("3"),
        })
    }
}

/// A line of preprocessed text.
struct Line<'t> {
    text: &'t str,
    marker: Option<Marker<'t>>,
    /// The line before belongs to a system header.
    behind_system: bool,
    /// This one does.
    system: bool,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    // The files that are open: whether they are system headers.
    let mut open = Vec::new();
    text.split_inclusive('\n').map(move |text| {
        let behind_system = open.last() == Some(&true);
        let marker = Marker::parse(text);
        match &marker {
            Some(marker) if marker.enters => open.push(marker.system),
            Some(marker) if marker.leaves => drop(open.pop()),
            _ => {}
        }
        Line { text, marker, behind_system, system: open.last() == Some(&true) }
    })
}

/// The text with every system header replaced by its `#include`: libclang reads those by itself, for it does not know all that
/// gcc's versions of them say.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for Line { text: line, marker, behind_system, system } in lines(text) {
        match marker {
            Some(marker) if marker.enters && system && !behind_system => {
                // Without a space: it must be no longer than the marker.
                folded += &fill(format!("#include\"{}\"", marker.file), line);
            }
            // Flags speak of a nesting that is no more.
            Some(marker) if !system => {
                folded += &fill(format!("# {} \"{}\"", marker.line, marker.file), line);
            }
            None if !system || line.starts_with(UNDEFINE) => folded += line,
            _ => folded += &blank(line),
        }
    }
    folded
}

/// Ends a macro's life. gcc writes none into preprocessed text by itself.
const UNDEFINE: &str = "#undef ";

/// Preprocessed text in which each system header ends with an `#undef` of the `macros` whose names the source's own text has still: gcc is through with them (a
/// macro names itself, as `sa_handler` does, or its life ended before), and libclang, which reads the headers again, would expand them once more.
pub fn expanded_once(text: &str, macros: &BTreeSet<String>) -> String {
    let own: String = lines(text).filter(|line| !line.system).map(|line| line.text).collect();
    let undefine = |name: &&str| macros.contains(*name);
    let undefined: String = words(own.as_bytes())
        .into_iter()
        .filter(undefine)
        .map(|name| format!("{UNDEFINE}{name}\n"))
        .collect();
    let mut result = String::with_capacity(text.len());
    for line in lines(text) {
        if line.behind_system && !line.system {
            result += &undefined;
        }
        result += line.text;
    }
    result
}

/// The names in code.
fn words(text: &[u8]) -> BTreeSet<&str> {
    let mut words = BTreeSet::new();
    let mut scan = Scan { text, at: 0, depth: 0 };
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut start = 0;
    while let Some(step) = scan.next() {
        if step.len() > 1 || !is_part(text[step.start]) {
            words.extend(std::str::from_utf8(&text[start..step.start]));
            start = step.end;
        }
    }
    words.extend(std::str::from_utf8(&text[start..]));
    words
}

/// Takes those `#undef` out of a source's declarations that were for other parts of it: who reads them goes by macros, too.
pub fn keep_needed(declarations: &mut Vec<(Place, String)>) {
    let code = declarations.iter().map(|(_, text)| text).filter(|text| !text.starts_with(UNDEFINE));
    let code: String = code.flat_map(|text| [text, "\n"]).collect();
    let words = words(code.as_bytes());
    let is_needed = |text: &str| text.strip_prefix(UNDEFINE).is_none_or(|name| words.contains(name));
    declarations.retain(|(_, text)| is_needed(text));
}

/// `text` with spaces up to the end of `line`, which it takes the place of: as many bytes, however many characters they are.
fn fill(text: String, line: &str) -> String {
    let end = if line.ends_with('\n') { "\n" } else { "" };
    let spaces = line.len().saturating_sub(text.len() + end.len());
    format!("{text}{:spaces$}{end}", "")
}

/// Spaces in place of everything but line ends.
fn blank(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// Overwrites `range` with spaces. Line ends and directives stay, for the numbers of later lines depend on them.
pub fn erase(text: &mut [u8], range: Range<usize>) {
    let mut at = range.start;
    while at < range.end {
        let end = text[at..range.end].iter().position(|&b| b == b'\n').map_or(range.end, |n| at + n);
        let begins = at == 0 || text[at - 1] == b'\n';
        if !(begins && text[at..].starts_with(b"# ")) {
            text[at..end].fill(b' ');
        }
        at = end + 1;
    }
}

/// Takes our annotations out: gcc knows no such attribute, and permits none in some of the places.
pub fn erase_notes(text: &mut [u8]) {
    const BEGIN: &[u8] = b"__attribute__((annotate(\"lockgate:";
    let mut from = 0;
    while let Some(found) = find(&text[from..], BEGIN) {
        let start = from + found;
        let end = past_parentheses(text, start + b"__attribute__".len());
        erase(text, start..end);
        from = end;
    }
}

/// Behind the group in parentheses that begins at `at`.
fn past_parentheses(text: &[u8], at: usize) -> usize {
    let mut scan = Scan { text, at, depth: 0 };
    while scan.next().is_some() {
        if scan.depth == 0 {
            break;
        }
    }
    scan.at
}

/// Where `needle` is in `text`.
pub fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

/// A walk over code, token by token as far as brackets are concerned: strings, characters and directives are one step each.
struct Scan<'t> {
    text: &'t [u8],
    at: usize,
    depth: usize,
}

impl Scan<'_> {
    /// The next step's range. [`Scan::depth`] is then the depth behind it.
    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let first = *self.text.get(start)?;
        self.at = start + 1;
        match first {
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            b'"' | b'\'' => {
                while let Some(&byte) = self.text.get(self.at) {
                    self.at += if byte == b'\\' { 2 } else { 1 };
                    if byte == first {
                        break;
                    }
                }
            }
            b'#' if start == 0 || self.text[start - 1] == b'\n' => {
                let rest = &self.text[start..];
                self.at = start + rest.iter().position(|&b| b == b'\n').map_or(rest.len(), |n| n + 1);
            }
            _ => {}
        }
        self.at = self.at.min(self.text.len());
        Some(start..self.at)
    }
}

/// One declaration outside functions, or a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// From its first character to behind its semicolon.
    pub range: Range<usize>,
    /// Where the program has it.
    pub place: Place,
}

/// The declarations of a text without bodies of functions.
pub fn pieces(text: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut scan = Scan { text, at: 0, depth: 0 };
    let mut place = Place::default();
    let mut start: Option<(usize, Place)> = None;
    while let Some(step) = scan.next() {
        let first = text[step.start];
        let directive = first == b'#' && step.len() > 1;
        if directive {
            let line = String::from_utf8_lossy(&text[step.clone()]);
            if let Some(marker) = Marker::parse(&line) {
                place = Place { file: marker.file.to_owned(), line: marker.line };
            } else {
                if start.is_none() {
                    pieces.push(Piece { range: step, place: place.clone() });
                }
                place.line += 1;
            }
            continue;
        }
        if start.is_none() && !first.is_ascii_whitespace() {
            start = Some((step.start, place.clone()));
        }
        place.line += text[step.clone()].iter().filter(|&&b| b == b'\n').count() as u32;
        if first == b';' && scan.depth == 0 {
            let (from, place) = start.take().unwrap_or((step.start, place.clone()));
            pieces.push(Piece { range: from..step.end, place });
        }
    }
    pieces
}

/// The initialisers in the declaration at `range`, from `=` to before the comma or semicolon.
pub fn initialisers(text: &[u8], range: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut scan = Scan { text: &text[..range.end], at: range.start, depth: 0 };
    let mut start = None;
    while let Some(step) = scan.next() {
        match (text[step.start], scan.depth, start) {
            (b'=', 0, None) => start = Some(step.start),
            (b',' | b';', 0, Some(from)) => {
                found.push(from..step.start);
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// The text of `range`, its white space and line markers made equal, to be compared.
pub fn normal(text: &str) -> String {
    let code = text.lines().filter(|line| Marker::parse(line).is_none());
    code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_headers_are_folded_in_place() {
        let text = "# 1 \"a.c\"\n# 1 \"/usr/include/stdio.h\" 1 3 4\nint puts(const char *);\n# 1 \"/usr/include/x.h\" 1 3 4\n\
                    int x;\n# 2 \"/usr/include/stdio.h\" 2 3 4\nint y;\n# 2 \"a.c\" 2\n# 3 \"a.c\" 3 4\nint main(void) { return 0; }\n";
        let folded = fold(text);
        assert_eq!(folded.len(), text.len());
        assert!(folded.contains("#include\"/usr/include/stdio.h\" "), "{folded}");
        assert!(!["x.h", "puts", "int y"].iter().any(|gone| folded.contains(gone)), "{folded}");
        // A macro of a system header is no header.
        assert_eq!(folded.find("int main"), text.find("int main"));
    }

    /// Paths of users are not ASCII everywhere.
    #[test]
    fn names_of_several_bytes_move_nothing() {
        let text = "# 1 \"\u{fc}.c\"\n# 1 \"/usr/include/\u{fc}.h\" 1 3\nint x;\n# 2 \"\u{fc}.c\" 2\nint y;\n# 9 \"\u{fc}.c\" 3";
        let folded = fold(text);
        assert_eq!(folded.len(), text.len(), "{folded}");
        assert_eq!(folded.find("int y"), text.find("int y"));
    }

    #[test]
    fn macros_are_expanded_once() {
        let text = "# 1 \"a.c\"\n# 1 \"/usr/include/s.h\" 1 3 4\nint s;\n# 2 \"a.c\" 2\nint a = b.self; char *c = \"other\";\nint gone;\n";
        let macros = ["self", "other", "gone", "s"].map(str::to_owned).into();
        let once = expanded_once(text, &macros);
        assert_eq!(once, text.replace("# 2", "#undef gone\n#undef self\n# 2"));
        let folded = fold(&once);
        assert_eq!(folded.len(), once.len());
        assert!(folded.contains("\n#undef gone\n#undef self\n# 2"), "{folded}");
        let mut declarations = ["#undef gone", "#undef self", "int gone;"]
            .map(|text| (Place::default(), text.to_owned()))
            .to_vec();
        keep_needed(&mut declarations);
        assert_eq!(
            declarations.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(),
            ["#undef gone", "int gone;"]
        );
    }

    #[test]
    fn declarations_are_taken_apart() {
        let text = b"# 7 \"a.h\"\nstruct s { int a; };\n\nint f(int (*g)(char c)) ;\n#include \"/x.h\"\nchar a[2] = {';', '\"'}, *b = \"=;\", c;\n";
        let found = pieces(text);
        let texts: Vec<_> = found
            .iter()
            .map(|p| String::from_utf8_lossy(&text[p.range.clone()]).trim_end().to_owned())
            .collect();
        assert_eq!(
            texts,
            [
                "struct s { int a; };",
                "int f(int (*g)(char c)) ;",
                "#include \"/x.h\"",
                "char a[2] = {';', '\"'}, *b = \"=;\", c;"
            ]
        );
        assert_eq!(found.iter().map(|p| p.place.line).collect::<Vec<_>>(), [7, 9, 10, 11]);
        let values = initialisers(text, found[3].range.clone());
        let values: Vec<_> =
            values.into_iter().map(|r| String::from_utf8_lossy(&text[r]).into_owned()).collect();
        assert_eq!(values, ["= {';', '\"'}", "= \"=;\""]);
    }

    #[test]
    fn annotations_are_erased() {
        let mut text = *b"int f(char *p __attribute__((annotate(\"lockgate:\" \"size:(n)\")))) ;";
        erase_notes(&mut text);
        assert_eq!(
            String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>(),
            ["int", "f(char", "*p", ")", ";"]
        );
    }

    #[test]
    fn line_markers_survive() {
        let mut text = *b"{ a;\n# 9 \"f.c\"\n b; }";
        let end = text.len();
        erase(&mut text, 0..end);
        assert_eq!(normal(&String::from_utf8_lossy(&text)), "");
        assert!(find(&text, b"# 9 \"f.c\"").is_some());
    }
}
