//! Names this build of rewriter and sysroot by the hash of their sources, so that nothing that older ones wrote is taken
//! from the cache. In a package from a registry the crates beside are not there: its version stands for theirs, which the manifest demands.

use std::path::{Path, PathBuf};

/// What determines their output.
const SOURCES: &[&str] = &["src", "sysroot", "hosts"];
/// Likewise, where this is built in the tree.
const TREE: &[&str] = &[
    "../lockgate-abi/src",
    "../lockgate-headers",
    "../lockgate-outside/src",
    "../lockgate-rewrite/src",
    "../lockgate-signature/src",
    "../../Cargo.lock",
];

fn main() -> std::io::Result<()> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    for source in SOURCES.iter().chain(TREE.iter().filter(|source| Path::new(source).exists())) {
        println!("cargo::rerun-if-changed={source}");
        hash(Path::new(source), &mut hasher)?;
    }
    println!("cargo::rustc-env=LOCKGATE_BUILD={}", hasher.finalize().to_hex());
    Ok(())
}

fn hash(path: &Path, hasher: &mut blake3::Hasher) -> std::io::Result<()> {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> =
            path.read_dir()?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        entries.sort();
        return entries
            .iter()
            .filter(|entry| !entry.ends_with("tests"))
            .try_for_each(|entry| hash(entry, hasher));
    }
    let contents = std::fs::read(path)?;
    hasher.update(path.as_os_str().as_encoded_bytes()).update(&(contents.len() as u64).to_le_bytes());
    hasher.update(&contents);
    Ok(())
}
