//! C prototypes on the command line: only as much parsing as it takes to find the name.

use crate::Error;

/// A procedure's name, with its C prototype if it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    name: String,
    text: String,
}

impl Prototype {
    /// Parses `double cbrt(double)` or `cbrt`. White space is normalised, a final semicolon dropped.
    ///
    /// # Errors
    /// [`Error::Prototype`].
    pub fn parse(text: &str) -> Result<Prototype, Error> {
        let normal = text.trim().trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ");
        let wrong = |reason| Error::Prototype { text: text.to_owned(), reason };
        let head = match normal.split_once('(') {
            None => normal.as_str(),
            Some((head, rest)) if rest.ends_with(')') => head.trim_end(),
            Some(_) => return Err(wrong("it does not end with ')'")),
        };
        let start = head.trim_end_matches(is_identifier).len();
        let name = &head[start..];
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(wrong("there is no name before the parameters"));
        }
        if normal.contains('(') && start == 0 {
            return Err(wrong("there is no return type"));
        }
        if !normal.contains('(') && start != 0 {
            return Err(wrong("it has a type but no parameters"));
        }
        Ok(Prototype { name: name.to_owned(), text: normal })
    }

    /// The symbol's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The prototype, or the bare name: a line of the module's notes.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn is_identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '.'
}

#[cfg(test)]
mod tests {
    use super::Prototype;

    #[test]
    fn names() {
        for (text, expected) in [
            ("cbrt", Some(("cbrt", "cbrt"))),
            (" double  cbrt ( double ) ; ", Some(("cbrt", "double cbrt ( double )"))),
            (
                "const char *sqlite3_libversion(void)",
                Some(("sqlite3_libversion", "const char *sqlite3_libversion(void)")),
            ),
            (
                "struct point add(struct point, struct point)",
                Some(("add", "struct point add(struct point, struct point)")),
            ),
            (
                "void sort(void *, int (*)(const void *, const void *))",
                Some(("sort", "void sort(void *, int (*)(const void *, const void *))")),
            ),
            ("", None),
            ("int", Some(("int", "int"))),
            ("double cbrt", None),
            ("cbrt(double)", None),
            ("double (double)", None),
            ("double cbrt(double", None),
            ("double 3cbrt(double)", None),
            ("é", None),
            ("é f(void)", Some(("f", "é f(void)"))),
            ("int é(void)", None),
            ("\u{feff}int f(void)", Some(("f", "\u{feff}int f(void)"))),
        ] {
            let parsed = Prototype::parse(text).ok();
            let found = parsed.as_ref().map(|prototype| (prototype.name(), prototype.text()));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
