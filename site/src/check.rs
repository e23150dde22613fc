//! The links of the finished site: each leads to a file that is there, and to an anchor that is there.

use crate::links;
use anyhow::Context as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

struct Page {
    anchors: BTreeSet<String>,
    targets: Vec<String>,
}

/// What is wrong with the links below `site`. rustdoc checks the links of its own pages, below `rust/`.
pub fn broken(site: &Path) -> anyhow::Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    collect(site, "", &mut pages)?;
    anyhow::ensure!(pages.contains_key("index.html"), "{} has no site", site.display());
    let mut wrong = Vec::new();
    for (path, page) in &pages {
        for target in page.targets.iter().filter(|target| !links::is_outside(target)) {
            let target = target.replace("&amp;", "&").replace("%20", " ");
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let full = if file.is_empty() {
                Some(path.clone())
            } else {
                links::resolve(links::folder(path), file.split('?').next().unwrap_or_default())
            };
            let Some(mut full) = full else {
                wrong.push(format!("{path}: {target} leaves the site"));
                continue;
            };
            if site.join(&full).is_dir() {
                full = if full.is_empty() { "index.html".to_owned() } else { full + "/index.html" };
            }
            if !site.join(&full).is_file() {
                wrong.push(format!("{path}: there is no {target}"));
            } else if let Some(goal) = pages.get(&full)
                && !anchor.is_empty()
                && !goal.anchors.contains(anchor)
            {
                wrong.push(format!("{path}: no heading of {full} is #{anchor}"));
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    Ok(wrong)
}

fn collect(site: &Path, folder: &str, pages: &mut BTreeMap<String, Page>) -> anyhow::Result<()> {
    for entry in
        fs::read_dir(site.join(folder)).with_context(|| format!("cannot read {folder:?} of the site"))?
    {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if site.join(&path).is_dir() {
            if path != "rust" {
                collect(site, &path, pages)?;
            }
        // This page stands for any path, so its links start at the server's root.
        } else if path.ends_with(".html") && path != "404.html" {
            let text = fs::read_to_string(site.join(&path)).with_context(|| format!("cannot read {path}"))?;
            let targets = [" href=\"", " src=\""].iter().flat_map(|start| values(&text, start)).collect();
            pages.insert(path, Page { anchors: values(&text, " id=\"").collect(), targets });
        }
    }
    Ok(())
}

/// The values of an attribute.
fn values<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = String> + 'a {
    text.split(start).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_broken_link_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path();
        fs::create_dir(site.join("a")).unwrap();
        fs::create_dir(site.join("rust")).unwrap();
        fs::write(site.join("rust/index.html"), "<a href=\"nowhere\">").unwrap();
        fs::write(site.join("a/index.html"), "<h1 id=\"top\"></h1><a href=\"../index.html#start\"></a>")
            .unwrap();
        let good = "<h1 id=\"start\"></h1><a href=\"a/#top\"></a><a href=\"https://x/y\"></a><a href=\"#start\"></a><a href=\"rust/\">";
        fs::write(site.join("index.html"), good).unwrap();
        assert_eq!(broken(site).unwrap(), Vec::<String>::new());
        let bad = "<a href=\"b.html\"></a><a href=\"a/#none\"></a><a href=\"#none\"></a><img src=\"c.svg\"><a href=\"../x\"></a>";
        fs::write(site.join("index.html"), good.to_owned() + bad).unwrap();
        let wrong = broken(site).unwrap();
        assert_eq!(wrong.len(), 5, "{wrong:?}");
        fs::remove_file(site.join("index.html")).unwrap();
        assert!(broken(site).is_err());
    }
}
