//! Files of the repository that pages link to, as HTML.

use crate::links;
use anyhow::Context as _;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Where the page of a file or folder is in the site. mdBook takes `.md` within a link for the end of a page's name.
pub fn page_of(root: &Path, path: &str) -> String {
    let end = if root.join(path).is_dir() { "/index.html" } else { ".html" };
    format!("source/{}{end}", path.replace(".md", "-md"))
}

/// Writes the pages of all `paths`, and of what is in folders among them.
pub fn write(root: &Path, site: &Path, paths: BTreeSet<String>) -> anyhow::Result<()> {
    let mut left: Vec<String> = paths.into_iter().collect();
    let mut done = BTreeSet::new();
    while let Some(path) = left.pop() {
        if !done.insert(path.clone()) {
            continue;
        }
        let from = root.join(&path);
        let mut body = String::new();
        if from.is_dir() {
            let entries = fs::read_dir(&from).with_context(|| format!("cannot read {path}"))?;
            let mut names = Vec::new();
            for entry in entries {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
            names.retain(|name| !name.starts_with('.') && name != "target" && name != "__pycache__");
            names.sort();
            body += "<ul>\n";
            for name in names {
                let inner = format!("{path}/{name}");
                let link = links::relative(links::folder(&page_of(root, &path)), &page_of(root, &inner));
                let _ = writeln!(body, "<li><a href=\"{}\">{}</a></li>", escape(&link), escape(&name));
                left.push(inner);
            }
            body += "</ul>\n";
        } else {
            let bytes = fs::read(&from).with_context(|| format!("cannot read {path}"))?;
            match String::from_utf8(bytes) {
                Ok(text) => {
                    let _ = writeln!(body, "<pre>{}</pre>", escape(&text));
                }
                Err(_) => body += "<p>This file is not text.</p>\n",
            }
        }
        let title = escape(&path);
        let page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title></head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
        );
        put(&site.join(page_of(root, &path)), &page)?;
    }
    Ok(())
}

/// Writes a file, with its folder.
pub fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Text as HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
