//! Manual pages (section 3), made from the headers: they are the one place where the library, and what goes with it, is described.

use std::fmt::Write as _;

/// The header.
pub const HEADER: &str = lockgate_headers::LOCKGATE_H;

/// The other headers: each has one page.
const OTHERS: [Other; 4] = [
    Other {
        name: "lockgate.hpp",
        include: "lockgate.hpp",
        about: "Lockgate for C++17",
        text: lockgate_headers::LOCKGATE_HPP,
    },
    Other {
        name: "lockgate_annotations.h",
        include: "lockgate/annotations.h",
        about: "annotations for lockgate stubs and lockgate cc --split",
        text: lockgate_headers::ANNOTATIONS_H,
    },
    Other {
        name: "lockgate_pg.h",
        include: "lockgate_pg.h",
        about: "functions for modules in PostgreSQL",
        text: lockgate_headers::LOCKGATE_PG_H,
    },
    Other {
        name: "lockgate_ring.h",
        include: "lockgate_ring.h",
        about: "queues between domains, for modules",
        text: lockgate_headers::LOCKGATE_RING_H,
    },
];

/// A header beside `lockgate.h`.
struct Other {
    /// Of the page.
    name: &'static str,
    /// How programs include it.
    include: &'static str,
    about: &'static str,
    text: &'static str,
}

/// The section that no program reads: what it defines is declared, and described, before.
const INLINE: &str = "Implementation of what is inline";

/// A page: the name of its file, and its text for man(1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// `lockgate_domains.3`
    pub file: String,
    /// roff with man macros.
    pub text: String,
}

/// The overview, a page for each section of the header, and one for each other header; for each function, a reference to its page.
pub fn pages() -> Vec<Page> {
    let mut parts = HEADER.split("/* ---- ");
    let prologue = parts.next().unwrap_or_default();
    let sections: Vec<Section<'_>> = parts.filter_map(Section::new).filter(|s| s.title != INLINE).collect();
    let mut pages = vec![overview(prologue, &sections)];
    for section in &sections {
        pages.push(section.page());
        pages.extend(section.functions().into_iter().map(|function| Page {
            file: format!("{function}.3"),
            text: format!(".so man3/{}.3\n", section.name()),
        }));
    }
    for other in &OTHERS {
        pages.push(other.page());
        pages.extend(other.functions().into_iter().map(|function| Page {
            file: format!("{function}.3"),
            text: format!(".so man3/{}.3\n", other.name),
        }));
    }
    pages
}

/// A section of the header.
struct Section<'a> {
    title: &'a str,
    paragraphs: Vec<Paragraph<'a>>,
}

/// Declarations that belong together, with the comment above them.
struct Paragraph<'a> {
    comment: String,
    code: Vec<&'a str>,
}

impl<'a> Section<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let (title, body) = text.split_once('\n')?;
        let title = title.split(" --").next()?;
        let body = body.split("\n/* ---- ").next()?;
        let paragraphs = body.split("\n\n").map(Paragraph::new);
        let said = paragraphs.filter(|paragraph| !paragraph.code.is_empty() || !paragraph.comment.is_empty());
        Some(Section { title, paragraphs: said.collect() })
    }

    /// `lockgate_shared_memory`
    fn name(&self) -> String {
        format!("lockgate_{}", self.title.to_lowercase().replace(' ', "_"))
    }

    fn functions(&self) -> Vec<&'a str> {
        let of = |paragraph: &Paragraph<'a>| {
            paragraph.functions().into_iter().filter_map(name_of).collect::<Vec<_>>()
        };
        self.paragraphs.iter().flat_map(of).collect()
    }

    fn page(&self) -> Page {
        let name = self.name();
        let mut text = head(&name, self.title);
        text += ".SH SYNOPSIS\n.nf\n#include <lockgate.h>\n\n";
        for paragraph in &self.paragraphs {
            for line in paragraph.functions() {
                let line = line.split(" /*").next().unwrap_or(line);
                let _ = writeln!(text, "{}", escape(line));
            }
        }
        text += ".fi\n.SH DESCRIPTION\n";
        for paragraph in &self.paragraphs {
            if !paragraph.code.is_empty() {
                text += ".PP\n.nf\n";
                for line in &paragraph.code {
                    let _ = writeln!(text, "{}", escape(line));
                }
                text += ".fi\n";
            }
            if !paragraph.comment.is_empty() {
                let (start, end) = if paragraph.code.is_empty() { (".PP\n", "") } else { (".RS\n", ".RE\n") };
                let _ = write!(text, "{start}{}\n{end}", escape(&paragraph.comment));
            }
        }
        text += ".SH SEE ALSO\n.BR lockgate (3)\n";
        Page { file: format!("{name}.3"), text }
    }
}

impl<'a> Paragraph<'a> {
    fn new(text: &'a str) -> Self {
        let mut comment = String::new();
        let mut code = Vec::new();
        let mut inside = false;
        for line in text.lines() {
            if code.is_empty() && (inside || line.starts_with("/*")) {
                inside = !line.ends_with("*/");
                let words =
                    line.trim_start_matches("/*").trim_end_matches("*/").trim().trim_start_matches("* ");
                comment += if comment.is_empty() { "" } else { " " };
                comment += words;
            } else if !line.is_empty() {
                code.push(line);
            }
        }
        Paragraph { comment: comment.trim().to_owned(), code }
    }

    /// Lines that declare functions. A declaration that goes on in a second line keeps it.
    fn functions(&self) -> Vec<&'a str> {
        let mut goes_on = false;
        let declares = |line: &&&'a str| {
            let begins =
                line.contains(" lg_") && line.contains('(') || line.contains("*lg_") && line.contains('(');
            let plain = !line.starts_with([' ', '#', '}']) && !line.starts_with("typedef");
            let chosen = goes_on || (begins && plain);
            goes_on = chosen && !line.contains(';');
            chosen
        };
        self.code.iter().filter(declares).copied().collect()
    }
}

/// The function that a declaration declares.
fn name_of(line: &str) -> Option<&str> {
    let before = line.split('(').next()?;
    let name = before.rsplit([' ', '*']).next()?;
    (!line.starts_with(' ')).then_some(name).filter(|name| name.starts_with("lg_"))
}

fn overview(prologue: &str, sections: &[Section<'_>]) -> Page {
    let comment = prologue.split("*/").next().unwrap_or_default();
    let lines = comment.lines().map(|line| line.trim_start_matches("/*").trim_start_matches(" *"));
    let mut text = head("lockgate", "call native modules that you do not trust, in your own address space");
    text += ".SH SYNOPSIS\n.nf\n#include <lockgate.h>\n\ncc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs lockgate)\n.fi\n.SH DESCRIPTION\n";
    text += &prose(lines.skip(1));
    text += ".SH SEE ALSO\n";
    for section in sections {
        let _ = writeln!(text, ".BR {} (3),", section.name());
    }
    for other in &OTHERS {
        let _ = writeln!(text, ".BR {} (3),", other.name);
    }
    text += ".BR lockgate\\-cc (1)\n";
    Page { file: "lockgate.3".to_owned(), text }
}

/// The comment at the head of a header: paragraphs, headings in capitals, and examples, which are indented.
fn prose<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut literal = false;
    for line in lines {
        let is_heading = line.len() > 3 && line.chars().all(|c| c.is_ascii_uppercase() || c == ' ');
        if line.starts_with("     ") != literal && !line.trim().is_empty() {
            literal = !literal;
            text += if literal { ".PP\n.nf\n.RS\n" } else { ".RE\n.fi\n" };
        }
        if is_heading {
            let _ = writeln!(text, ".SH {}", line.trim());
        } else if line.trim().is_empty() {
            text += if literal { "\n" } else { ".PP\n" };
        } else {
            let _ = writeln!(text, "{}", escape(if literal { line } else { line.trim() }));
        }
    }
    if literal {
        text += ".RE\n.fi\n";
    }
    text
}

/// What a header declares, with the comment above it.
#[derive(Default)]
struct Item {
    /// Members of a class are indented.
    depth: usize,
    code: Vec<String>,
    comment: Vec<String>,
}

/// A part of a page: a heading and what stands below it.
type Part = (String, Vec<Item>);

impl Other {
    fn is_cpp(&self) -> bool {
        self.name.ends_with(".hpp")
    }

    /// The lines of the comment at the head, and those behind it.
    fn halves(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let mut lines = self.text.lines();
        if self.is_cpp() {
            let head: Vec<&str> = lines.by_ref().take_while(|line| line.starts_with("//")).collect();
            let head = head.into_iter().map(|line| line.trim_start_matches("//")).collect();
            return (head, lines.collect());
        }
        let mut head = Vec::new();
        for line in lines.by_ref() {
            if line.ends_with("*/") {
                break;
            }
            head.push(line.trim_start_matches("/*").trim_start_matches(" *"));
        }
        (head, lines.collect())
    }

    fn parts(&self) -> Vec<Part> {
        let (_, lines) = self.halves();
        match self.is_cpp() {
            true => cpp_parts(&lines),
            false => c_parts(&lines, self.name == "lockgate_annotations.h"),
        }
    }

    fn functions(&self) -> Vec<String> {
        if self.is_cpp() {
            return Vec::new();
        }
        let parts = self.parts();
        let code = parts.iter().flat_map(|(_, items)| items).flat_map(|item| &item.code);
        let names = code.filter(|line| line.contains('(') && !line.starts_with(['#', ' ', '}']));
        names.filter_map(|line| name_of(line)).map(str::to_owned).collect()
    }

    fn page(&self) -> Page {
        let (head_lines, _) = self.halves();
        let mut text = head(self.name, self.about);
        let _ = writeln!(text, ".SH SYNOPSIS\n.nf\n#include <{}>\n.fi\n.SH DESCRIPTION", self.include);
        text += &prose(head_lines.into_iter().chain([""]));
        for (title, items) in self.parts() {
            let _ = writeln!(text, ".SH {}", escape(&title.to_uppercase()));
            for Item { depth, code, comment } in items {
                text += &".RS\n".repeat(depth);
                if !code.is_empty() {
                    text += ".PP\n.nf\n";
                    code.iter().for_each(|line| text += &(escape(line) + "\n"));
                    text += ".fi\n";
                }
                if !comment.is_empty() {
                    text += if code.is_empty() { ".PP\n" } else { ".RS\n" };
                    text += &prose(comment.iter().map(String::as_str));
                    text += if code.is_empty() { "" } else { ".RE\n" };
                }
                text += &".RE\n".repeat(depth);
            }
        }
        text += ".SH SEE ALSO\n.BR lockgate (3)\n";
        Page { file: format!("{}.3", self.name), text }
    }
}

/// The title of a section, from the line that begins it.
fn title_of(line: &str) -> Option<String> {
    let rest = line.strip_prefix("/* ---- ").or_else(|| line.strip_prefix("// ---- "))?;
    let title = rest.split(" --").next().and_then(|title| title.split(". ").next()).unwrap_or(rest);
    let mut letters = title.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect())
}

/// The declarations of a header in C: of functions with a body, what stands before it. With `macros`, names of macros are all that is shown,
/// and what comes before the first section is the header's own.
fn c_parts(lines: &[&str], macros: bool) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut item, mut in_comment, mut in_body) = (Item::default(), false, false);
    if !macros {
        parts.push(("Declarations".to_owned(), Vec::new()));
    }
    for line in lines {
        if in_body {
            in_body = *line != "}";
            continue;
        }
        let title = title_of(line);
        let ends = line.is_empty() || title.is_some() || (line.starts_with("/*") && !item.code.is_empty());
        if ends && !in_comment {
            if let Some((_, items)) =
                parts.last_mut().filter(|_| !item.code.is_empty() || !item.comment.is_empty())
            {
                items.push(std::mem::take(&mut item));
            }
            item = Item::default();
        }
        if let Some(title) = title {
            parts.push((title, Vec::new()));
        } else if in_comment || line.starts_with("/*") {
            in_comment = !line.ends_with("*/");
            let words = line.trim_start_matches("/*").trim_end_matches("*/");
            item.comment.push(words.trim_start_matches(" *").trim_end().to_owned());
        } else if let Some(rest) = line.strip_prefix("#define ") {
            let (name, value) =
                match rest.find(')').filter(|_| rest.split(' ').next().is_some_and(|w| w.contains('('))) {
                    Some(end) => rest.split_at(end + 1),
                    None => rest.split_at(rest.find(' ').unwrap_or(rest.len())),
                };
            if macros {
                item.code.push(name.to_owned());
            } else if !value.is_empty() {
                item.code.push((*line).to_owned());
            }
        } else if *line == "{" {
            in_body = true;
        } else if line.starts_with('#') || line.is_empty() || line.starts_with(' ') && item.code.is_empty() {
            // For the compiler.
        } else if line.ends_with(") {") {
            item.code.push(plain(line).to_owned());
            in_body = true;
        } else {
            item.code.push(plain(line).to_owned());
        }
    }
    parts.retain(|(_, items)| !items.is_empty());
    parts
}

/// A declaration of a function without what callers need not know.
fn plain(line: &str) -> &str {
    let line =
        ["extern ", "static inline "].iter().find_map(|start| line.strip_prefix(start)).unwrap_or(line);
    line.trim_end_matches(" {")
}

/// The public declarations of a header in C++, outside of `namespace detail`: classes, their public members, functions, without bodies.
fn cpp_parts(lines: &[&str]) -> Vec<Part> {
    let mut parts: Vec<Part> = vec![("Errors".to_owned(), Vec::new())];
    let (mut comment, mut is_detail, mut is_public) = (Vec::new(), false, false);
    let mut declaration = String::new();
    let mut in_macro = false;
    for line in lines {
        let is_macro = in_macro || line.starts_with("#define LOCKGATE_COMP");
        in_macro = is_macro && line.ends_with('\\');
        if is_macro || line.starts_with("LOCKGATE_COMP") {
            continue;
        }
        is_detail = (is_detail || *line == "namespace detail {") && !line.starts_with("} // namespace");
        let depth = (line.len() - line.trim_start().len()) / 4;
        let text = line.trim();
        if is_detail {
            continue;
        }
        if let Some(title) = title_of(line) {
            parts.push((title, Vec::new()));
        } else if text.starts_with("private:") || line.starts_with('}') {
            (is_public, comment) = (false, Vec::new());
        } else if text == "public:" {
            is_public = true;
        } else if text.is_empty() {
            comment.clear();
        } else if let Some(words) = text.strip_prefix("//") {
            if depth == 0 || (depth == 1 && is_public) {
                comment.push(words.to_owned());
            }
        } else if depth == 0 || (depth == 1 && is_public) || !declaration.is_empty() {
            if text.starts_with(['#', '}'])
                && !text.starts_with("#define LOCKGATE_BIND")
                && !text.starts_with("#define LOCKGATE_INVOKE")
                || text.starts_with("namespace")
                || text.starts_with("static_assert")
            {
                continue;
            }
            let depth = if declaration.is_empty() { depth } else { depth.min(1) };
            declaration += if declaration.is_empty() { "" } else { " " };
            let (before, is_over) = signature(text, declaration.contains('('));
            declaration += before;
            declaration.truncate(declaration.trim_end().len());
            if is_over {
                let is_type = ["class ", "struct ", "template <"].iter().any(|start| text.starts_with(start));
                is_public |= depth == 0 && declaration.contains("struct ");
                // (Operators that do not compile say why not.)
                let is_misuse = comment.first().is_some_and(|words: &String| words.starts_with(" Misuse"));
                let is_shown = !is_misuse && (!comment.is_empty() || !is_type || text.ends_with('{'));
                let code = declaration.trim_start_matches("inline ").to_owned();
                if let Some((_, items)) = parts.last_mut().filter(|_| is_shown) {
                    items.push(Item { depth, code: vec![code], comment: std::mem::take(&mut comment) });
                }
                declaration.clear();
                comment.clear();
            }
        }
    }
    parts.retain(|(_, items)| !items.is_empty());
    parts
}

/// What a line has of a declaration, without its body and what it initialises, and whether the declaration is over. Its parameters may stand in
/// a line before.
fn signature(line: &str, mut has_parameters: bool) -> (&str, bool) {
    if let Some(rest) = line.strip_prefix("#define ") {
        return (rest.split_at(rest.find(')').map_or(rest.len(), |end| end + 1)).0, true);
    }
    let mut depth = 0_i32;
    for (at, c) in line.char_indices() {
        match c {
            '(' => (depth, has_parameters) = (depth + 1, true),
            ')' => depth -= 1,
            '{' | ';' if depth == 0 => return (line[..at].trim_end(), true),
            ':' if depth == 0 && has_parameters && line[at..].starts_with(": ") => {
                return (line[..at].trim_end(), true);
            }
            _ => {}
        }
    }
    (line, false)
}

fn head(name: &str, what: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let title = name.to_uppercase();
    format!(".TH {title} 3 \"\" \"lockgate {version}\" Lockgate\n.SH NAME\n{name} \\- {}\n", escape(what))
}

/// Text that roff takes as it is.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('…', "...");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
