//! Lines about a module that its link reads: what it exports and imports, as C prototypes.

/// The pieces of a line: its kind, the result, the name, the parameters.
pub struct Line {
    /// `export` or `gate`.
    pub kind: &'static str,
    /// As in C.
    pub result: &'static str,
    /// The function.
    pub name: &'static str,
    /// As in C.
    pub parameters: &'static [&'static str],
}

impl Line {
    /// Bytes of the line, with the zero that ends it.
    pub const fn length(&self) -> usize {
        self.write::<0>().1
    }

    /// The line.
    pub const fn text<const N: usize>(&self) -> [u8; N] {
        self.write::<N>().0
    }

    const fn write<const N: usize>(&self) -> ([u8; N], usize) {
        assert!(!is_keyword(self.name), "hosts name functions as C does: this name is a keyword of C");
        let mut out = ([0; N], 0);
        out = add(out, self.kind);
        out = add(out, " ");
        out = add(out, self.result);
        out = add(out, " ");
        out = add(out, self.name);
        out = add(out, "(");
        let mut number = 0;
        while number < self.parameters.len() {
            out = add(out, if number > 0 { ", " } else { "" });
            out = add(out, self.parameters[number]);
            number += 1;
        }
        out = add(out, if number == 0 { "void" } else { "" });
        add(out, ")\0")
    }
}

/// Keywords of C that are none of Rust's.
const KEYWORDS: &[&str] = &[
    "auto", "bool", "case", "char", "default", "double", "float", "goto", "inline", "int", "long",
    "register", "restrict", "short", "signed", "sizeof", "switch", "typedef", "union", "unsigned", "void",
    "volatile",
];

const fn is_keyword(name: &str) -> bool {
    let mut number = 0;
    while number < KEYWORDS.len() {
        if is_same(name.as_bytes(), KEYWORDS[number].as_bytes()) {
            return true;
        }
        number += 1;
    }
    false
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Appends a text; where there is no room, it is but counted.
const fn add<const N: usize>((mut bytes, mut at): ([u8; N], usize), text: &str) -> ([u8; N], usize) {
    let text = text.as_bytes();
    let mut number = 0;
    while number < text.len() {
        if at < N {
            bytes[at] = text[number];
        }
        at += 1;
        number += 1;
    }
    (bytes, at)
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn lines() {
        const NONE: Line = Line { kind: "export", result: "void", name: "f", parameters: &[] };
        const TWO: Line =
            Line { kind: "gate", result: "double", name: "g", parameters: &["float", "const char *"] };
        assert_eq!(&NONE.text::<{ NONE.length() }>(), b"export void f(void)\0");
        assert_eq!(&TWO.text::<{ TWO.length() }>(), b"gate double g(float, const char *)\0");
    }

    /// As exports are declared in constants, the compiler says this.
    #[test]
    #[should_panic(expected = "keyword of C")]
    fn keywords_of_c_are_no_names() {
        assert!(Line { kind: "export", result: "int32_t", name: "longer", parameters: &[] }.length() > 0);
        Line { kind: "export", result: "int32_t", name: "long", parameters: &[] }.length();
    }
}
