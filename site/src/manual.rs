//! Manual pages as pages of the site.

use anyhow::Context as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A manual page.
pub struct Page {
    /// `lockgate_domains`
    pub name: String,
    /// What the page is about.
    pub about: String,
    file: PathBuf,
    section: char,
    /// Functions whose manual page refers to this one.
    pub functions: Vec<String>,
}

impl Page {
    /// Where the page is in the site.
    pub fn path(&self) -> String {
        format!("reference/{}.{}.md", self.name, self.section)
    }

    /// The page as Markdown. `all` are the pages that it may refer to.
    pub fn text(&self, all: &[Page]) -> anyhow::Result<String> {
        let output = Command::new("mandoc")
            .args(["-T", "html", "-O", "fragment"])
            .arg(&self.file)
            .output()
            .context("cannot run mandoc (scripts/setup.sh docs installs it)")?;
        anyhow::ensure!(output.status.success(), "mandoc fails for {}", self.file.display());
        let mut html = String::from_utf8(output.stdout).context("mandoc writes UTF-8")?;
        for page in all {
            let path = page.path();
            let link = path.rsplit('/').next().unwrap_or_default().replace(".md", ".html");
            let (name, section) = (&page.name, page.section);
            let plain = format!("<b>{name}</b>({section})");
            html = html.replace(&plain, &format!("<a href=\"{link}\">{name}({section})</a>"));
        }
        let mut text = format!("# {}({})\n\n", self.name, self.section);
        if !self.functions.is_empty() {
            text += &format!("Functions: `{}`.\n\n", self.functions.join("`, `"));
        }
        Ok(text + "<div class=\"manual\">\n" + &one_block(&html) + "</div>\n")
    }
}

/// HTML that Markdown takes as one block: no empty lines; those of preformatted text are character references.
fn one_block(html: &str) -> String {
    let mut is_literal = false;
    let mut block = String::new();
    for line in html.lines() {
        let starts = line.rfind("<pre").map_or(-1, usize::cast_signed);
        let ends = line.rfind("</pre>").map_or(-1, usize::cast_signed);
        if !line.is_empty() {
            block += line;
            block.push('\n');
        } else if is_literal {
            block += "&#10;";
        }
        if starts != ends {
            is_literal = starts > ends;
        }
    }
    block
}

/// The pages of one section below `folder`, in the order of their names.
pub fn pages(folder: &Path, section: char) -> anyhow::Result<Vec<Page>> {
    let folder = folder.join(format!("man{section}"));
    let end = format!(".{section}");
    let mut pages: Vec<Page> = Vec::new();
    let mut references: Vec<(String, String)> = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let file = entry?.path();
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(&end).map(str::to_owned) else { continue };
        if let Some(target) = text.strip_prefix(".so ") {
            let target = target.trim().rsplit('/').next().unwrap_or_default();
            references.push((target.trim_end_matches(&end).to_owned(), name));
            continue;
        }
        let line = text.split(".SH NAME\n").nth(1).and_then(|text| text.lines().next()).unwrap_or_default();
        let about = line.split_once(" \\- ").map_or(line, |(_, about)| about).replace('\\', "");
        pages.push(Page { name, about, file, section, functions: Vec::new() });
    }
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    references.sort();
    for (target, function) in references {
        let page = pages.iter_mut().find(|page| page.name == target);
        page.with_context(|| format!("{function} refers to {target}, which is no page"))?
            .functions
            .push(function);
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_end_no_block() {
        let html = "<p>a</p>\n\n<pre>b\n\nc</pre>\n\n<pre>d</pre>\n\n<p>e</p>\n";
        assert_eq!(one_block(html), "<p>a</p>\n<pre>b\n&#10;c</pre>\n<pre>d</pre>\n<p>e</p>\n");
    }

    #[test]
    fn functions_belong_to_the_page_that_they_refer_to() {
        let folder = tempfile::tempdir().unwrap();
        let man = folder.path().join("man3");
        fs::create_dir(&man).unwrap();
        fs::write(man.join("lockgate_a.3"), ".TH A 3\n.SH NAME\nlockgate_a \\- about\\-a\n").unwrap();
        fs::write(man.join("lg_x.3"), ".so man3/lockgate_a.3\n").unwrap();
        let pages = pages(folder.path(), '3').unwrap();
        assert_eq!(pages.len(), 1);
        assert_eq!(
            (pages[0].about.as_str(), pages[0].functions.as_slice()),
            ("about-a", &["lg_x".to_owned()][..])
        );
        fs::write(man.join("lg_y.3"), ".so man3/lockgate_b.3\n").unwrap();
        assert!(super::pages(folder.path(), '3').is_err());
    }
}
