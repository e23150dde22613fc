//! Declarations.
use super::steps::{Value, cast, group, word};
use crate::header::model::{CType, Prototype, Shape};

/// `name` declared with the type spelled `spelling`.
pub fn declare(spelling: &str, name: &str) -> String {
    if let Some(at) = place_of_name(spelling) {
        return format!("{}{name}{}", &spelling[..at], &spelling[at..]);
    }
    if let Some(at) = spelling.find('[') {
        return format!("{} {name}{}", spelling[..at].trim_end(), &spelling[at..]);
    }
    let gap = if spelling.ends_with('*') || name.is_empty() { "" } else { " " };
    format!("{spelling}{gap}{name}")
}

/// Where a name stands in the type of a function pointer: behind the stars that nothing stands behind, whatever functions those lead to take
/// and give (`int (*(*)(void))(int)`).
fn place_of_name(spelling: &str) -> Option<usize> {
    spelling.match_indices("(*").map(|(at, _)| at + 1).find_map(|stars| {
        let own = |c: char| c == '*' || c == ' ' || c.is_ascii_alphabetic() || c == '_';
        let end = spelling[stars..].find(|c| !own(c)).map(|length| stars + length)?;
        // (Words between stars and the end belong to the pointers: `*const`.)
        let words = spelling[stars..end].split(['*', ' ']).filter(|word| !word.is_empty());
        let qualifies =
            |word: &str| ["const", "volatile", "restrict", "_Nonnull", "_Nullable"].contains(&word);
        (spelling[end..].starts_with([')', '[']) && words.into_iter().all(qualifies)).then_some(end)
    })
}

/// A type without the `const` of the variable itself.
pub fn mutable(spelling: &str) -> String {
    if !spelling.contains(['*', '(']) {
        return spelling.trim_start_matches("const ").to_owned();
    }
    spelling.strip_suffix("*const").map_or_else(|| spelling.to_owned(), |pointer| format!("{pointer}*"))
}

/// What a call that fails returns: a brace is an initialiser, anything else an expression of some integer type.
pub fn failure(error: &str, kind: &CType) -> Value {
    match (error.starts_with('{'), &kind.shape) {
        (true, _) => cast(&kind.spelling, word(error)),
        // (Nothing is cast to a structure.)
        (false, Shape::Record(_)) => group(word(error)),
        _ => cast(&kind.spelling, group(word(error))),
    }
}

/// The parameters of a function, declared.
pub fn parameters(prototype: &Prototype) -> String {
    let mut declared: Vec<String> =
        prototype.parameters.iter().map(|p| declare(&p.kind.spelling, &p.name)).collect();
    if prototype.variadic {
        declared.push("...".to_owned());
    }
    if declared.is_empty() { "void".to_owned() } else { declared.join(", ") }
}

/// The type with which a value of `kind` crosses: pointers are numbers.
pub fn crossing(kind: &CType) -> String {
    match kind.shape {
        Shape::Pointer(_) | Shape::Function(_) => "uint64_t".to_owned(),
        // Only a copy that is 0 or 1 is a bool.
        _ if kind.is_bool() => "unsigned char".to_owned(),
        _ => kind.spelling.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_where_c_wants_them() {
        for (spelling, expected) in [
            ("int", "int x"),
            ("const char *", "const char *x"),
            ("int (*)(void *, int)", "int (*x)(void *, int)"),
            ("int (**)(int)", "int (**x)(int)"),
            ("int (*const *)(int)", "int (*const *x)(int)"),
            ("int (*const)(int)", "int (*constx)(int)"),
            ("int (*(*)(int))(void)", "int (*(*x)(int))(void)"),
            ("void (*(*)(void))(int (*)(char))", "void (*(*x)(void))(int (*)(char))"),
            ("char[8]", "char x[8]"),
            ("gzFile", "gzFile x"),
        ] {
            assert_eq!(declare(spelling, "x"), expected);
        }
    }
}
