//! Real code: the executable sections of the archives that the distribution's C and C++ compilers bring along.

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection, SectionKind};
use std::path::{Path, PathBuf};

/// Folders in which archives lie; a `*` stands for any one name.
const FOLDERS: [&str; 3] =
    ["/usr/lib/x86_64-linux-musl", "/usr/lib/gcc/x86_64-linux-gnu/*", "/usr/lib/x86_64-linux-gnu"];

/// All archives: their number, and their executable sections one after the other. Sixteen bytes of padding follow.
///
/// # Errors
/// There is none, or one cannot be read.
pub fn code() -> Result<(usize, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = folders().iter().flat_map(|folder| archives(folder)).collect();
    paths.sort();
    paths.dedup_by_key(|path| path.canonicalize().unwrap_or_default());
    ensure!(
        !paths.is_empty(),
        "no archive in {}: install musl-dev and gcc (scripts/setup.sh)",
        FOLDERS.join(", ")
    );
    let mut code = Vec::new();
    for path in &paths {
        sections(path, &mut code).with_context(|| format!("reading {}", path.display()))?;
    }
    code.extend([0xcc; 16]);
    Ok((paths.len(), code))
}

fn folders() -> Vec<PathBuf> {
    let expand = |folder: &str| match folder.strip_suffix("/*") {
        Some(parent) => entries(Path::new(parent)),
        None => vec![PathBuf::from(folder)],
    };
    FOLDERS.into_iter().flat_map(expand).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn archives(folder: &Path) -> Vec<PathBuf> {
    entries(folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "a"))
        .collect()
}

/// Adds an archive's code.
fn sections(path: &Path, code: &mut Vec<u8>) -> Result<()> {
    let file = std::fs::read(path)?;
    // Linker scripts are called archives, too; they have no members.
    let Ok(archive) = object::read::archive::ArchiveFile::parse(&*file) else { return Ok(()) };
    for member in archive.members() {
        let Ok(object) = object::File::parse(member?.data(&*file)?) else { continue };
        for section in object.sections().filter(|section| section.kind() == SectionKind::Text) {
            code.extend_from_slice(section.data()?);
        }
    }
    Ok(())
}
