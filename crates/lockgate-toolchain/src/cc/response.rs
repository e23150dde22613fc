//! `@file`: more arguments in a file, as gcc reads them.

use crate::Error;
use std::path::Path;

/// How deep response files may name each other.
const MAX_DEPTH: u32 = 32;

/// Replaces each `@file` that exists by the arguments in it; one that does not exist stays, as gcc has it.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::Usage`] if such files name each other too deep.
pub fn expand(arguments: Vec<String>) -> Result<Vec<String>, Error> {
    let mut expanded = Vec::with_capacity(arguments.len());
    for argument in arguments {
        append(argument, 0, &mut expanded)?;
    }
    Ok(expanded)
}

fn append(argument: String, depth: u32, expanded: &mut Vec<String>) -> Result<(), Error> {
    let Some(path) = argument.strip_prefix('@').map(Path::new).filter(|path| path.is_file()) else {
        expanded.push(argument);
        return Ok(());
    };
    if depth == MAX_DEPTH {
        return Err(Error::Usage(format!("{argument}: response files name each other {MAX_DEPTH} deep")));
    }
    let text = crate::input::text(path)?;
    split(&text).into_iter().try_for_each(|inner| append(inner, depth + 1, expanded))
}

/// Splits at white space; single and double quotes group, a backslash makes the next character ordinary.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    #[test]
    fn words() {
        for (text, expected) in [
            ("a  b\nc", vec!["a", "b", "c"]),
            ("'a b' \"c d\"e", vec!["a b", "c de"]),
            (r#"a\ b "c\"d" '' x"#, vec!["a b", "c\"d", "", "x"]),
            ("", vec![]),
        ] {
            assert_eq!(super::split(text), expected, "{text:?}");
        }
    }
}
