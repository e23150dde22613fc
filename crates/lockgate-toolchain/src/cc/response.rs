//! `@file`: more arguments in a file, as gcc reads them.

use crate::Error;
use std::path::Path;

/// How deep response files may name each other.
const MAX_DEPTH: u32 = 32;
/// How many are read, as gcc has it: files that name each other twice soon take longer than a user can wait for.
const MAX_FILES: u32 = 2000;

/// Replaces each `@file` that exists by the arguments in it; one that does not exist stays, as gcc has it.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::Usage`] if such files name each other too deep, or are too many.
pub fn expand(arguments: Vec<String>) -> Result<Vec<String>, Error> {
    let mut expanded = Vec::with_capacity(arguments.len());
    let mut files = 0;
    for argument in arguments {
        append(argument, 0, &mut files, &mut expanded)?;
    }
    Ok(expanded)
}

fn append(argument: String, depth: u32, files: &mut u32, expanded: &mut Vec<String>) -> Result<(), Error> {
    let Some(path) = argument.strip_prefix('@').map(Path::new).filter(|path| path.is_file()) else {
        expanded.push(argument);
        return Ok(());
    };
    if depth == MAX_DEPTH {
        return Err(Error::Usage(format!("{argument}: response files name each other {MAX_DEPTH} deep")));
    }
    *files += 1;
    if *files > MAX_FILES {
        return Err(Error::Usage(format!("{argument}: more than {MAX_FILES} response files: give fewer")));
    }
    let text = crate::input::text(path)?;
    split(&text).into_iter().try_for_each(|inner| append(inner, depth + 1, files, expanded))
}

/// Splits at white space of ASCII (a name may have other spaces, as it may for gcc); single and double quotes group, a backslash makes the next character ordinary.
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
            (' ' | '\t'..='\r', None) => words.extend(word.take()),
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
            ("a\x0bb\u{a0}c", vec!["a", "b\u{a0}c"]),
            ("", vec![]),
        ] {
            assert_eq!(super::split(text), expected, "{text:?}");
        }
    }

    /// Each file names the next one twice: without a bound the last is read thousands of times.
    #[test]
    fn files_that_name_each_other_end() {
        let folder = lockgate_outside::Folder::new().unwrap();
        let file = |number: u32| format!("@{}", folder.path().join(number.to_string()).display());
        for number in 0..super::MAX_DEPTH {
            let next = file(number + 1);
            std::fs::write(&file(number)[1..], format!("{next} {next}")).unwrap();
        }
        let refused = super::expand(vec![file(18)]).unwrap_err().to_string();
        assert!(refused.contains("more than 2000 response files"), "{refused}");
    }
}
