//! The list of mutations that change nothing that the rules speak of, each with its reason.
use crate::{LIST, Mutant};
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// One entry of the list.
#[derive(Debug, Clone)]
pub struct Equivalent {
    /// `equivalent.txt:12`.
    pub place: String,
    /// As in [`Mutant`]; an empty change stands for all of the function.
    pub file: String,
    /// As in [`Mutant`].
    pub function: String,
    /// As in [`Mutant`]: all that begin so.
    pub change: String,
    /// Why no test can see the difference.
    pub reason: String,
}

impl Equivalent {
    /// Whether the entry is about this mutation.
    pub fn is_about(&self, mutant: &Mutant) -> bool {
        self.file == mutant.file && self.function == mutant.function && self.change == mutant.change
    }
}

/// The entries, in order, for the tree at `root`.
///
/// # Errors
/// Names the line that is not of the form that README.md describes.
pub fn equivalents(root: &Path) -> Result<Vec<Equivalent>> {
    let text = std::fs::read_to_string(root.join(LIST)).context(LIST)?;
    let mut all = Vec::new();
    let (mut file, mut function, mut reason) = (String::new(), String::new(), String::new());
    for (number, line) in
        (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    {
        let place = format!("equivalent.txt:{number}");
        if let Some(change) = line.strip_prefix("    ") {
            ensure!(!reason.is_empty(), "{place}: no reason stands above");
            let (file, function, reason) = (file.clone(), function.clone(), reason.clone());
            all.push(Equivalent { place, file, function, change: change.to_owned(), reason });
        } else if let Some(text) = line.strip_prefix("because ") {
            text.clone_into(&mut reason);
        } else {
            let (one, other) =
                line.split_once(' ').with_context(|| format!("{place}: not 'FILE FUNCTION'"))?;
            (file, function, reason) = (one.to_owned(), other.to_owned(), String::new());
        }
    }
    Ok(all)
}
