//! Where cargo keeps the packages of `corpus/Cargo.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The corpus on this machine: the repository and the packages' source folders.
#[derive(Debug, Clone)]
pub struct Corpus {
    root: PathBuf,
    packages: BTreeMap<String, PathBuf>,
}

/// Why the corpus or one part of it cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The repository is not where this program was built.
    #[error("{manifest}: not found; run from a checkout of Lockgate (the corpus is part of the repository)")]
    NoManifest {
        /// Path that was looked for.
        manifest: PathBuf,
    },
    /// `cargo metadata` could not be started.
    #[error("cannot run {cargo}: {error}; install cargo, it keeps the corpus's sources")]
    NoCargo {
        /// Program that was tried.
        cargo: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// `cargo metadata` failed, offline and online.
    #[error("cargo metadata of {manifest} failed; try `cargo fetch --manifest-path {manifest}`:\n{message}")]
    Metadata {
        /// The manifest.
        manifest: PathBuf,
        /// Standard error of cargo.
        message: String,
    },
    /// A package that the tables name is not among the manifest's dependencies.
    #[error("package {0} is not in corpus/Cargo.toml's dependencies")]
    NoPackage(String),
    /// No such library or program.
    #[error("no {kind} {name} in the corpus; there are: {known}")]
    Unknown {
        /// "library" or "program".
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// What exists.
        known: String,
    },
    /// A folder of a package cannot be read.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}

impl Corpus {
    /// The corpus of the repository that this crate was built from.
    pub fn locate() -> Result<Self, Error> {
        Self::locate_in(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")))
    }

    /// The corpus of the repository at `root`. Asks cargo offline first, so that no network is needed once the
    /// packages are fetched; fetches them otherwise.
    pub fn locate_in(root: &Path) -> Result<Self, Error> {
        let manifest = root.join("corpus/Cargo.toml");
        let root = root.canonicalize().map_err(|_| Error::NoManifest { manifest: manifest.clone() })?;
        let manifest = root.join("corpus/Cargo.toml");
        if !manifest.is_file() {
            return Err(Error::NoManifest { manifest });
        }
        let mut packages = BTreeMap::new();
        for manifest in [manifest, root.join("corpus/shell/Cargo.toml")] {
            let metadata = metadata(&manifest, true).or_else(|_| metadata(&manifest, false))?;
            packages.extend(metadata["packages"].as_array().into_iter().flatten().filter_map(|package| {
                let folder = Path::new(package["manifest_path"].as_str()?).parent()?;
                Some((package["name"].as_str()?.to_owned(), folder.to_owned()))
            }));
        }
        Ok(Self { packages, root })
    }

    /// Root of the repository.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Folder in which cargo keeps the package `name`.
    pub fn package(&self, name: &str) -> Result<&Path, Error> {
        self.packages.get(name).map(PathBuf::as_path).ok_or_else(|| Error::NoPackage(name.to_owned()))
    }
}

/// Output of `cargo metadata` for `manifest`.
fn metadata(manifest: &Path, offline: bool) -> Result<serde_json::Value, Error> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let failed = |message: String| Error::Metadata { manifest: manifest.to_owned(), message };
    let output = Command::new(&cargo)
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform=x86_64-unknown-linux-gnu"])
        .args(offline.then_some("--offline"))
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .map_err(|error| Error::NoCargo { cargo: cargo.clone(), error })?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}
