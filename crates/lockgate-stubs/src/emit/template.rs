//! Fixed text with places in it: `@NAME@`.
//!
//! A place that has a line of its own takes as many lines as it is given, each as far in as it stands itself; with nothing to take,
//! the line is gone. What is put into a place is not looked at again.

/// A file of `templates/` with its places filled.
macro_rules! template {
    ($file:literal $(, $name:ident = $value:expr)* $(,)?) => {
        $crate::emit::template::fill(
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/templates/", $file)),
            &[$((stringify!($name), AsRef::<str>::as_ref(&$value))),*],
        )
    };
}
pub(crate) use template;

/// The same of a template that is a piece of a line.
macro_rules! code {
    ($template:literal $(, $name:ident = $value:expr)* $(,)?) => {
        $crate::emit::template::fill($template, &[$((stringify!($name), AsRef::<str>::as_ref(&$value))),*])
    };
}
pub(crate) use code;

/// A line of code.
pub fn row(code: impl Into<String>) -> String {
    code.into() + "\n"
}

/// `template` with its places filled.
///
/// # Panics
/// It has a place that is not in `places`: a mistake of ours.
pub fn fill(template: &str, places: &[(&str, &str)]) -> String {
    let find = |name: &str| {
        let found = places.iter().find(|(own, _)| *own == name);
        found.unwrap_or_else(|| panic!("nothing is given for @{name}@")).1
    };
    let mut text = String::with_capacity(template.len());
    for line in template.split_inclusive('\n') {
        let inner = line.trim();
        let alone = place(inner)
            .filter(|(before, _, after)| before.is_empty() && after.is_empty() && line.ends_with('\n'));
        if let Some((_, name, _)) = alone {
            let indent = &line[..line.len() - line.trim_start().len()];
            for given in find(name).lines() {
                let indent = if given.is_empty() { "" } else { indent };
                text.extend([indent, given, "\n"]);
            }
            continue;
        }
        let mut rest = line;
        while let Some((before, name, after)) = place(rest) {
            text.extend([before, find(name)]);
            rest = after;
        }
        text.push_str(rest);
    }
    text
}

/// The first place in a text: what is before it, its name, what is behind it.
fn place(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find('@')?;
        let end = at + 1 + text[at + 1..].find('@')?;
        let name = &text[at + 1..end];
        if !name.is_empty() && name.bytes().all(|c| c.is_ascii_uppercase() || c == b'_') {
            return Some((&text[..at], name, &text[end + 1..]));
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn places_are_filled_once() {
        let template = "a @ONE@ b@c @d@\n    @MANY@\nend @ONE@@ONE@\n";
        let filled = fill(template, &[("ONE", "@MANY@"), ("MANY", "x\n\n  y\n")]);
        assert_eq!(filled, "a @MANY@ b@c @d@\n    x\n\n      y\nend @MANY@@MANY@\n");
        assert_eq!(fill(template, &[("ONE", ""), ("MANY", "")]), "a  b@c @d@\nend \n");
        // (What has no end of a line is a piece of one.)
        assert_eq!(fill("@ONE@", &[("ONE", "x")]), "x");
    }
}
