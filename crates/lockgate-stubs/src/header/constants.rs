//! Constants that a header defines as macros.
use super::libclang_sys::{Bodies, Cursor};
use super::model::Value;
use super::parse::unit;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

/// What stands before the name of a variable that has a macro's value.
const PREFIX: &str = "lockgate_value_";

/// The same for the bytes of a string literal, its end included.
const SIZE: &str = "lockgate_size_";

/// What names stand for behind a header.
#[derive(Debug, Default)]
pub struct Macros {
    /// The header's own macros that come to a number or a string, in order.
    pub constants: Vec<(String, Value)>,
    /// Names in expressions that come to an integer.
    pub known: BTreeSet<String>,
    /// Names that expressions were written with, and the integers that they come to.
    pub numbers: BTreeMap<String, i128>,
}

/// The macros of `header`, and what the names `asked` and `spelled` come to: the compiler is asked, in a file that begins with `text`. What does not
/// parse is none.
pub fn of_macros(
    header: &Path,
    text: &str,
    mut arguments: Vec<String>,
    asked: &BTreeSet<String>,
    spelled: &BTreeSet<String>,
) -> Macros {
    let Ok(source) = lockgate_outside::read(header) else { return Default::default() };
    let source = String::from_utf8_lossy(&source);
    let own = names(&source);
    let is_own: HashSet<&str> = own.iter().copied().collect();
    let further: BTreeSet<&String> = asked.iter().chain(spelled).collect();
    let further = further.into_iter().map(String::as_str).filter(|name| !is_own.contains(name));
    // (Of a literal only, there is an array that one can point to.)
    let variable = |name: &str| {
        format!("__auto_type {PREFIX}{name} = {name};\n__auto_type {SIZE}{name} = sizeof(*&({name}));\n")
    };
    let text: String =
        text.to_owned() + &own.iter().copied().chain(further).map(variable).collect::<String>();
    arguments.push("-ferror-limit=0".to_owned());
    let Ok(unit) = unit(&text, header, arguments, Bodies::Skipped) else { return Default::default() };
    let value =
        |variable: &Cursor<'_>| Some((variable.name().strip_prefix(PREFIX)?.to_owned(), variable.value()?));
    let variables = unit.root().children();
    let size =
        |variable: &Cursor<'_>| match (variable.name().strip_prefix(SIZE)?.to_owned(), variable.value()?) {
            (name, Value::Integer(size)) => Some((name, size)),
            _ => None,
        };
    let sizes: HashMap<String, i128> = variables.iter().filter_map(size).collect();
    // A literal with a zero in it is no text to C, and what libclang gives of it ends there.
    let whole = |(name, value): &(String, Value)| match value {
        Value::Text(text) => {
            sizes.get(name).is_none_or(|size| *size == text.as_bytes_with_nul().len() as i128)
        }
        _ => true,
    };
    let values: Vec<(String, Value)> = variables.iter().filter_map(value).filter(whole).collect();
    let integer = |(name, value): &(String, Value)| {
        (asked.contains(name) && matches!(value, Value::Integer(_))).then(|| name.clone())
    };
    let known = values.iter().filter_map(integer).collect();
    let number = |(name, value): &(String, Value)| match value {
        Value::Integer(number) if spelled.contains(name) => Some((name.clone(), *number)),
        _ => None,
    };
    let numbers = values.iter().filter_map(number).collect();
    let constants = values.into_iter().filter(|(name, _)| is_own.contains(name.as_str())).collect();
    Macros { constants, known, numbers }
}

/// Names of macros without parameters that stand for something, once each.
fn names(source: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut known = HashSet::new();
    for line in source.lines() {
        let Some(rest) = line.trim_start().strip_prefix('#') else { continue };
        let Some(rest) = rest.trim_start().strip_prefix("define") else { continue };
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, value) = rest.split_at(end);
        let reserved = name.is_empty() || name.starts_with('_');
        if !reserved && value.starts_with([' ', '\t']) && !value.trim().is_empty() && known.insert(name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn macros_with_a_value_and_without_parameters() {
        let source =
            "#define A 1\n  # define B\t(A + 1)\n#define F(x) x\n#define GUARD\n#define A 2\n#define _X 3\n";
        assert_eq!(names(source), ["A", "B"]);
    }
}
