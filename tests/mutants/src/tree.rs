//! A copy of the tree, in which protections are missing for a while.
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The copy.
pub struct Tree {
    /// Its root.
    pub root: PathBuf,
}

impl Tree {
    /// Makes `root` equal to the sources at `from`. Files that are equal are left alone, so that cargo does not
    /// build again what did not change.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn copy(from: &Path, root: &Path) -> Result<Tree> {
        fs::create_dir_all(root).with_context(|| root.display().to_string())?;
        let wanted = files(from)?;
        for file in files(root)?.difference(&wanted) {
            fs::remove_file(root.join(file)).with_context(|| file.display().to_string())?;
        }
        let tree = Tree { root: root.to_owned() };
        for file in &wanted {
            let bytes = fs::read(from.join(file)).with_context(|| file.display().to_string())?;
            tree.write(file, &bytes)?;
            let rights = fs::metadata(from.join(file))?.permissions();
            fs::set_permissions(root.join(file), rights)?;
        }
        Ok(tree)
    }

    /// Gives a file these bytes.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, file: &Path, bytes: &[u8]) -> Result<()> {
        let path = self.root.join(file);
        if fs::read(&path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        fs::write(&path, bytes).with_context(|| path.display().to_string())
    }
}

/// All files below `root`, relative to it; hidden folders and build products left out.
fn files(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "build" {
                    folders.push(entry.path());
                }
            } else {
                found.insert(entry.path().strip_prefix(root)?.to_owned());
            }
        }
    }
    Ok(found)
}
