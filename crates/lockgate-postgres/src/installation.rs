//! A private copy of the machine's PostgreSQL, with the extension.

use crate::done;
use crate::keeper::Keeper;
use crate::root;
use anyhow::{Context as _, ensure};
use lockgate_c as _; // so that the library is built
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that find their files by where they themselves are, so that they have to be copied.
const COPIED: [&str; 2] = ["postgres", "initdb"];

/// Where PostgreSQL can be found that `pg_config` on the path does not tell.
const REMEDY: &str = "install PostgreSQL with its headers (Debian: apt-get install postgresql postgresql-server-dev-all), or set PG_CONFIG";

/// What is said of sources that the compiler refuses (tests/mutants looks for it).
const BROKEN: &str = "the extension does not build";

/// PostgreSQL with the extension, in a temporary folder: links to the machine's own files, and beside them what the extension adds.
#[derive(Debug)]
pub struct Installation {
    folder: PathBuf,
    _keeper: Keeper,
    programs: PathBuf,
    own_programs: PathBuf,
    version: String,
}

impl Installation {
    /// Builds the extension, with the library that lies beside the calling program, and puts it into a copy of the PostgreSQL that `$PG_CONFIG`, or
    /// `pg_config`, tells of. What is built is kept beside the library, for the next program that wants the same.
    ///
    /// # Errors
    /// There is no PostgreSQL, or not its headers; what the compiler says.
    pub fn new() -> anyhow::Result<Installation> {
        let config = std::env::var("PG_CONFIG").unwrap_or_else(|_| "pg_config".to_owned());
        let told = |what: &str| -> anyhow::Result<PathBuf> {
            Ok(done(Command::new(&config).arg(what)).context(REMEDY)?.trim_end().into())
        };
        let (programs, share, libraries) = (told("--bindir")?, told("--sharedir")?, told("--pkglibdir")?);
        ensure!(
            told("--includedir-server")?.join("postgres.h").exists(),
            "PostgreSQL's headers are missing: {REMEDY}"
        );
        let version = done(Command::new(&config).arg("--version"))?.trim_end().to_owned();

        let folder =
            tempfile::Builder::new().prefix("lockgate-pg-").tempdir().context("a temporary folder")?;
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let folder = folder.keep();
        let keeper = Keeper::new(&folder)?;
        let tree = folder.join("tree");
        let inside = |path: &Path| tree.join(path.strip_prefix("/").unwrap_or(path));
        let own_programs = inside(&programs);
        fs::create_dir_all(&own_programs)?;
        for name in COPIED {
            fs::copy(programs.join(name), own_programs.join(name))
                .with_context(|| format!("cannot copy {name}"))?;
        }
        link_all(&libraries, &inside(&libraries), &[])?;
        link_all(&share, &inside(&share), &["extension"])?;
        link_all(&share.join("extension"), &inside(&share.join("extension")), &[])?;

        put_extension(&config, &version, &tree)?;
        Ok(Installation { folder, _keeper: keeper, programs, own_programs, version })
    }

    /// The whole folder: readable by all users.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `PostgreSQL 15.18 (…)`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// One of PostgreSQL's programs.
    pub fn program(&self, name: &str) -> Command {
        let folder = if COPIED.contains(&name) { &self.own_programs } else { &self.programs };
        Command::new(folder.join(name))
    }

    /// The folder of libraries that functions in language `c` are loaded from.
    ///
    /// # Errors
    /// As [`done`].
    pub fn libraries(&self) -> anyhow::Result<PathBuf> {
        let config = std::env::var("PG_CONFIG").unwrap_or_else(|_| "pg_config".to_owned());
        let path = done(Command::new(config).arg("--pkglibdir"))?;
        Ok(self.folder.join("tree").join(path.trim_end().trim_start_matches('/')))
    }
}

/// Puts the extension into `tree`: as it was built before, if it comes of the same sources, library and PostgreSQL.
fn put_extension(config: &str, version: &str, tree: &Path) -> anyhow::Result<()> {
    let program = std::env::current_exe()?;
    let beside = program.parent().context("a program lies in a folder")?;
    let kept = beside.join("postgres-extension");
    let (library, built, source, stamp) =
        (kept.join("library"), kept.join("built"), kept.join("source"), kept.join("stamp"));
    fs::create_dir_all(&kept).with_context(|| format!("cannot make {}", kept.display()))?;
    // One program at a time, until it has its copy.
    let lock = fs::File::open(&kept)?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
    done(Command::new(root().join("scripts/install-library.sh")).arg(beside).arg(&library))?;
    let archive = library.join("lib/liblockgate.a").metadata().context("the library is not there")?;
    let mut wanted = format!("{config} {version} {:?} {}\n", archive.modified()?, archive.len()).into_bytes();
    read_all(&root().join("postgres"), &mut wanted)?;
    if fs::read(&stamp).ok() != Some(wanted.clone()) {
        for old in [&stamp, &source, &built] {
            done(Command::new("rm").arg("-rf").arg(old))?;
        }
        done(Command::new("cp").arg("-R").arg(root().join("postgres")).arg(&source))?;
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        for goals in [vec!["clean".to_owned()], vec![format!("-j{jobs}"), "install".to_owned()]] {
            let mut make = Command::new("make");
            make.arg("-s").arg("-C").arg(&source).args(goals);
            make.arg(format!("PG_CONFIG={config}")).arg(format!("LOCKGATE={}", library.display()));
            make.arg(format!("DESTDIR={}", built.display()));
            // Not the flags of a make that runs this.
            done(make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL")).context(BROKEN)?;
        }
        fs::write(&stamp, wanted)?;
    }
    done(Command::new("cp").arg("-R").arg(built.join(".")).arg(tree))?;
    Ok(())
}

/// The names and contents of all files below `folder`, in order, to tell changes by.
fn read_all(folder: &Path, into: &mut Vec<u8>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read_all(&path, into)?;
        } else {
            let file = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            into.extend(format!("{} {}\n", path.display(), file.len()).into_bytes());
            into.extend(file);
        }
    }
    Ok(())
}

/// Fills the new folder `to` with links to what is in `from`, but for what `except` names.
fn link_all(from: &Path, to: &Path, except: &[&str]) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    let entries = fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        // (The machine may have the extension already.)
        let name = entry.file_name();
        let is_ours = name.to_string_lossy().starts_with("lockgate");
        if !is_ours && !except.iter().any(|other| name == *other) {
            symlink(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}
