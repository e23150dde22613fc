//! Version scripts, as far as they say what a shared library exports.

/// The names that a script exports, if it is the simple kind that rustc and many build systems write: one version without a name, names
/// without patterns, and all else local. A module has no versions; whatever else a script says has no effect.
pub(super) fn exports(script: &str) -> Option<Vec<String>> {
    let body = script.trim().strip_prefix('{')?.strip_suffix(';')?.trim_end().strip_suffix('}')?;
    let (mut names, mut global, mut rest_is_local) = (Vec::new(), true, false);
    for item in body.split(';').map(str::trim).filter(|item| !item.is_empty()) {
        let (label, item) = match item.split_once(':') {
            Some((label, item)) => (Some(label.trim()), item.trim()),
            None => (None, item),
        };
        match label {
            None => (),
            Some("global") => global = true,
            Some("local") => global = false,
            Some(_) => return None,
        }
        let is_plain = item.chars().all(|c| c.is_alphanumeric() || "_$.".contains(c));
        match (global, item) {
            (false, "*") => rest_is_local = true,
            (_, "") => (),
            (true, name) if is_plain => names.push(name.to_owned()),
            _ => return None,
        }
    }
    rest_is_local.then_some(names)
}

#[cfg(test)]
mod tests {
    use super::exports;

    #[test]
    fn scripts() {
        for (script, expected) in [
            ("{\n  global:\n    words;\n    add;\n\n  local:\n    *;\n};\n", Some(vec!["words", "add"])),
            ("{ local: *; };", Some(vec![])),
            ("{ global: f; };", None),
            ("{ global: f*; local: *; };", None),
            ("{ global: extern \"C++\" { f; }; local: *; };", None),
            ("V1 { global: f; local: *; };", None),
            ("{ global: f; local: g; };", None),
            ("", None),
        ] {
            let names = exports(script);
            assert_eq!(
                names.as_deref().map(|names| names.iter().map(String::as_str).collect()),
                expected,
                "{script}"
            );
        }
    }
}
