//! What a header reads of structures by itself: its inline functions and macros are compiled into programs, and no stub stands between.
use super::libclang_sys::{Cursor, Unit};
use super::model::{Look, Place};
use clang_sys::{CXCursor_CompoundStmt, CXCursor_FunctionDecl, CXCursor_MemberRefExpr};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The reads of the functions that `unit`, which includes the header, has bodies of, and of the macros of the files in `folders` that it
/// includes.
pub fn of_header(unit: &Unit, header: &Path, folders: &[PathBuf]) -> Vec<Look> {
    let mut looks = Vec::new();
    let mut files = BTreeSet::from([header.to_owned()]);
    for cursor in unit.root().children() {
        let file = PathBuf::from(cursor.location().0);
        if folders.iter().any(|folder| file.starts_with(folder)) {
            files.insert(file);
        }
        if cursor.kind() == CXCursor_FunctionDecl
            && let Some(body) = cursor.children().into_iter().find(|c| c.kind() == CXCursor_CompoundStmt)
        {
            of_body(cursor, body, &mut looks);
        }
    }
    for file in files {
        let source = String::from_utf8_lossy(&std::fs::read(&file).unwrap_or_default()).into_owned();
        looks.extend(of_macros(&source, &file.to_string_lossy()));
    }
    looks
}

fn of_body(function: Cursor<'_>, body: Cursor<'_>, looks: &mut Vec<Look>) {
    let (file, line) = function.presumed();
    for member in body.descendants().into_iter().filter(|c| c.kind() == CXCursor_MemberRefExpr) {
        let Some(field) = member.referenced() else { continue };
        // (What is in a structure without a name is the outer one's.)
        let mut record = field.parent();
        while record.is_anonymous_record() {
            record = record.parent();
        }
        let record = record.kind_of_value().canonical().spelling();
        looks.push(Look {
            record: Some(record),
            field: field.name(),
            by: format!("inline function `{}`", function.name()),
            place: Place { file: file.clone(), line },
        });
    }
}

/// What stands behind `->` or `.` in the macros that `source` defines.
fn of_macros(source: &str, file: &str) -> Vec<Look> {
    let mut looks = Vec::new();
    let mut lines = source.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(rest) = line.trim_start().strip_prefix('#') else { continue };
        let Some(rest) = rest.trim_start().strip_prefix("define") else { continue };
        let mut text = rest.trim_start().to_owned();
        while text.ends_with('\\') {
            text.pop();
            let Some((_, next)) = lines.next() else { break };
            text.push_str(next);
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, body) = text.split_at(text.find(|c| !is_word(c)).unwrap_or(text.len()));
        for field in fields(body) {
            looks.push(Look {
                record: None,
                field: field.to_owned(),
                by: format!("macro `{name}`"),
                place: Place { file: file.to_owned(), line: number as u32 + 1 },
            });
        }
    }
    looks
}

/// Names behind `->` and `.`; literals and comments have none.
fn fields(body: &str) -> BTreeSet<&str> {
    let bytes = body.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut found = BTreeSet::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &body.as_bytes()[at..];
        at += match rest {
            [quote @ (b'"' | b'\''), ..] => {
                let mut end = 1;
                while end < rest.len() && rest[end] != *quote {
                    end += 1 + usize::from(rest[end] == b'\\');
                }
                end + 1
            }
            [b'/', b'*', ..] => {
                rest[2..].windows(2).position(|w| w == b"*/").map_or(rest.len(), |end| end + 4)
            }
            [b'/', b'/', ..] => rest.len(),
            [b'-', b'>', ..] | [b'.', ..] => {
                let sign = 1 + usize::from(rest[0] == b'-');
                // (`1.f` and `...` name nothing.)
                let number = rest[0] == b'.' && at > 0 && bytes[at - 1].is_ascii_digit();
                let start =
                    at + sign + rest[sign..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                let end = start + bytes[start..].iter().take_while(|byte| is_word(**byte)).count();
                if !number && end > start && !bytes[start].is_ascii_digit() {
                    found.insert(&body[start..end]);
                }
                end.max(at + sign) - at
            }
            _ => 1,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::of_macros;

    #[test]
    fn macros_that_read_fields() {
        let source = "#define TYPE(json) ((json)->type)\n  # define EACH(e, a) \\\n  for (e = (a) -> child; e; e = e->next)\n\
                      #define HALF 0.5f\n#define TEXT \"a->b\" /* c->d */ // e->f\n#define ANY(...) f(__VA_ARGS__)\n#define S(x) x.first.second\n";
        let looks = of_macros(source, "h");
        let found: Vec<_> =
            looks.iter().map(|look| (look.by.as_str(), look.field.as_str(), look.place.line)).collect();
        assert_eq!(
            found,
            [
                ("macro `TYPE`", "type", 1),
                ("macro `EACH`", "child", 2),
                ("macro `EACH`", "next", 2),
                ("macro `S`", "first", 7),
                ("macro `S`", "second", 7),
            ]
        );
    }
}
