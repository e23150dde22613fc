//! The documents as a site. `scripts/docs.sh` (`make docs`) calls this program before and behind mdBook:
//!
//! - `site pages MAN FOLDER` writes what mdBook reads: the documents that `site/SUMMARY.md` names, the manual pages below MAN
//!   as HTML, and the sources that documents link to.
//! - `site check FOLDER` checks the links of what mdBook has written.

mod check;
mod links;
mod manual;
mod pages;
mod sources;

use anyhow::Context as _;
use std::path::Path;

fn main() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the repository")?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pages", man, folder] => pages::write(root, Path::new(man), Path::new(folder)),
        ["check", folder] => {
            let wrong = check::broken(Path::new(folder))?;
            anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
            Ok(())
        }
        _ => anyhow::bail!("usage: site pages MAN FOLDER | site check FOLDER"),
    }
}
