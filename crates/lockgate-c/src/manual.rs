//! Manual pages (section 3), made from the header: it is the one place where the library is described.

use std::fmt::Write as _;

/// The header.
pub const HEADER: &str = lockgate_headers::LOCKGATE_H;

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

/// The overview, a page for each section of the header, and, for each function, a reference to its section's page.
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
    let mut literal = false;
    for line in lines.skip(1) {
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
    text += ".SH SEE ALSO\n";
    for section in sections {
        let _ = writeln!(text, ".BR {} (3),", section.name());
    }
    text += ".BR lockgate\\-cc (1)\n";
    Page { file: "lockgate.3".to_owned(), text }
}

fn head(name: &str, what: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let title = name.to_uppercase();
    format!(".TH {title} 3 \"\" \"lockgate {version}\" Lockgate\n.SH NAME\n{name} \\- {}\n", escape(what))
}

/// Text that roff takes as it is.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
