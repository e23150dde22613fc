//! Links of Markdown, and paths relative to each other.

/// The text with the target of each link replaced by what `map` says. Code stays as it is.
pub fn map(text: &str, mut map: impl FnMut(&str) -> String) -> String {
    let mut is_code = false;
    let mut result = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_fence || is_code || line.starts_with("    ") {
            result += line;
            continue;
        }
        for (number, part) in line.split('`').enumerate() {
            if number > 0 {
                result.push('`');
            }
            if number % 2 == 0 {
                map_prose(part, &mut map, &mut result);
            } else {
                result += part;
            }
        }
    }
    result
}

fn map_prose(mut text: &str, map: &mut impl FnMut(&str) -> String, result: &mut String) {
    while let Some((before, rest)) = text.split_once("](") {
        let Some((target, after)) = rest.split_once(')') else { break };
        *result += before;
        *result += "](";
        *result += &map(target);
        result.push(')');
        text = after;
    }
    *result += text;
}

/// Whether a target leaves the site.
pub fn is_outside(target: &str) -> bool {
    ["://", "mailto:", "javascript:", "data:"].iter().any(|mark| target.contains(mark))
}

/// The folder of a path; empty at the root.
pub fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The path that `target` names in `folder`, without `.` and `..`. None if it leaves the root.
pub fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The relative path from `folder` to `path`.
pub fn relative(folder: &str, path: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = path.split('/').collect();
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    "../".repeat(from.len() - same) + &to[same..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_mapped_and_code_is_not() {
        let text = "[a](x) `[b](x)` [`c`](x)\n```\n[d](x)\n```\n    [e](x)\n[f](x";
        let mapped = map(text, |target| format!("<{target}>"));
        assert_eq!(mapped, "[a](<x>) `[b](x)` [`c`](<x>)\n```\n[d](x)\n```\n    [e](x)\n[f](x");
    }

    #[test]
    fn paths_are_resolved_and_made_relative() {
        for (folder, target, path) in [
            ("docs", "rules.md", Some("docs/rules.md")),
            ("docs/start", "../../README.md", Some("README.md")),
            ("", "./docs//x.md", Some("docs/x.md")),
            ("docs", "../../out.md", None),
        ] {
            assert_eq!(resolve(folder, target).as_deref(), path, "{target} in {folder}");
        }
        for (folder, path, found) in [
            ("", "docs/x.md", "docs/x.md"),
            ("docs/start", "docs/x.md", "../x.md"),
            ("docs", "docs/start/c.md", "start/c.md"),
            ("docs", "source/include/a.h.html", "../source/include/a.h.html"),
        ] {
            assert_eq!(relative(folder, path), found, "{path} from {folder}");
        }
    }
}
