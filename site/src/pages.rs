//! The pages that mdBook reads: documents of the repository with links that hold in the site.

use crate::{links, manual, sources};
use anyhow::Context as _;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Where a document is in the site: a folder's README is its first page.
fn place(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => path.to_owned(),
    }
}

/// Writes all pages below `site`; `man` has the manual pages.
pub fn write(root: &Path, man: &Path, site: &Path) -> anyhow::Result<()> {
    let read =
        |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"));
    let (programs, library) = (manual::pages(man, '1')?, manual::pages(man, '3')?);

    // What the lists in the summary stand for, and the pages in it.
    let mut documents = BTreeSet::new();
    let mut summary = String::new();
    for line in read("site/SUMMARY.md")?.lines() {
        let indent = line.split("<!--").next().unwrap_or_default();
        match line.trim() {
            "<!-- decisions -->" => {
                for (path, title) in decisions(root)? {
                    let _ = writeln!(summary, "{indent}- [{title}]({path})");
                    documents.insert(path);
                }
            }
            "<!-- manual 1 -->" => list(&mut summary, indent, &programs, |page| page.name.replace('-', " ")),
            "<!-- manual 3 -->" => list(&mut summary, indent, &library, |page| match &*page.name {
                "lockgate" => "Conventions".to_owned(),
                _ => page.about.clone(),
            }),
            _ => {
                let line = links::map(line, |target| {
                    let path = links::resolve("site", target).unwrap_or_default();
                    if let Some(page) = written(&path) {
                        return page.to_owned();
                    }
                    let place = place(&path);
                    documents.insert(path);
                    place
                });
                summary += &line;
                summary.push('\n');
            }
        }
    }
    sources::put(&site.join("SUMMARY.md"), &summary)?;

    // The documents, and what they refer to.
    let mut shown = BTreeSet::new();
    for path in &documents {
        let at = place(path);
        let mut wrong = Vec::new();
        let text = links::map(&read(path)?, |target| {
            let (file, anchor) = target.split_once('#').map_or((target, None), |(file, id)| (file, Some(id)));
            if file.is_empty() || links::is_outside(target) {
                return target.to_owned();
            }
            let Some(full) =
                links::resolve(links::folder(path), file).filter(|full| root.join(full).exists())
            else {
                wrong.push(format!("{path}: there is no {target}"));
                return target.to_owned();
            };
            let readme = format!("{full}/README.md");
            let goal = if documents.contains(&full) {
                place(&full)
            } else if documents.contains(&readme) {
                place(&readme)
            } else if [".svg", ".png"].iter().any(|end| full.ends_with(end)) {
                let copy = site.join(&full);
                let folder = copy.parent().map(fs::create_dir_all);
                if folder.is_none_or(|made| made.is_err()) || fs::copy(root.join(&full), copy).is_err() {
                    wrong.push(format!("{path}: cannot copy {full}"));
                }
                full
            } else {
                let page = sources::page_of(root, &full);
                shown.insert(full);
                page
            };
            let goal = links::relative(links::folder(&at), &goal);
            anchor.map_or_else(|| goal.clone(), |anchor| format!("{goal}#{anchor}"))
        });
        anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        sources::put(&site.join(at), &text)?;
    }
    sources::write(root, site, shown)?;

    // The pages that no document holds.
    for page in programs.iter().chain(&library) {
        let all = if page.path().ends_with(".1.md") { &programs } else { &library };
        sources::put(&site.join(page.path()), &page.text(all)?)?;
    }
    let mut text = "# C library\n\nThese are the manual pages of [lockgate.h](../source/crates/lockgate-headers/include/lockgate.h.html), section by section, and of the headers beside it.\n\n| function | page |\n|---|---|\n".to_owned();
    let mut functions: Vec<_> =
        library.iter().flat_map(|page| page.functions.iter().map(move |name| (name, page))).collect();
    functions.sort_by_key(|(name, _)| *name);
    for (function, page) in functions {
        let _ = writeln!(text, "| `{function}` | [{}](../{}) |", page.about, page.path());
    }
    sources::put(&site.join("reference/library.md"), &text)?;
    sources::write(root, site, BTreeSet::from(["crates/lockgate-headers/include/lockgate.h".to_owned()]))?;
    let mut text = "# Command line\n\n| command | what it does |\n|---|---|\n".to_owned();
    for page in &programs {
        let name = page.name.replace('-', " ");
        let _ = writeln!(text, "| [`{name}`](../{}) | {} |", page.path(), page.about.replace('|', "\\|"));
    }
    sources::put(&site.join("reference/commands.md"), &text)?;
    let text = "# Rust crates\n\n- [`lockgate`](../rust/lockgate/index.html): the runtime.\n- [`lockgate-verify`](../rust/lockgate_verify/index.html): the verifier.\n- [`lockgate-abi`](../rust/lockgate_abi/index.html): the constants of the code model.\n- [`lockgate-guest`](../rust/lockgate_guest/index.html): for Rust inside a domain.\n- [`lockgate-programs`](../rust/lockgate_programs/index.html): several programs as domains of one process.\n";
    sources::put(&site.join("reference/rust.md"), text)
}

/// Pages that are made here. In the summary, each stands under the file that it is made from.
fn written(path: &str) -> Option<&'static str> {
    match path {
        "crates/lockgate-headers/include/lockgate.h" => Some("reference/library.md"),
        "crates/lockgate/src/lib.rs" => Some("reference/rust.md"),
        "crates/lockgate-cli/src/main.rs" => Some("reference/commands.md"),
        _ => None,
    }
}

fn list(summary: &mut String, indent: &str, pages: &[manual::Page], title: impl Fn(&manual::Page) -> String) {
    for page in pages {
        let _ = writeln!(summary, "{indent}- [{}]({})", title(page), page.path());
    }
}

/// The pages of decisions, with their titles, in the order of their numbers.
fn decisions(root: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("docs/decisions")).context("cannot read docs/decisions")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            let path = format!("docs/decisions/{name}");
            let text = fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
            let title = text.lines().next().and_then(|line| line.strip_prefix("# "));
            let title = title.with_context(|| format!("{path} has no title"))?;
            found.push((path, title.replace(['[', ']'], "")));
        }
    }
    found.sort();
    Ok(found)
}
