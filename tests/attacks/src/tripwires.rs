//! What no attack may change: noted before, compared afterwards.
use crate::common::mappings;
use crate::world::{BYTE, World};
use anyhow::{Context, Result};
use lockgate_evidence::Kept;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// 1 + … + 8.
const X87_SUM: f64 = 36.0;

/// The state of everything that is watched.
pub struct Tripwires {
    secret: u64,
    process: BTreeMap<String, String>,
}

impl Tripwires {
    /// Notes how things are.
    ///
    /// # Errors
    /// /proc is not there.
    pub fn new(world: &World) -> Result<Tripwires> {
        Ok(Tripwires { secret: world.secret[0], process: process(world.files.path())? })
    }

    /// What is not as it was, in words.
    ///
    /// # Errors
    /// /proc is not there.
    pub fn changed(&self, world: &World) -> Result<Vec<String>> {
        let mut changed = Vec::new();
        let mut note = |unharmed: bool, what: &str| {
            if !unharmed {
                changed.push(what.to_owned());
            }
        };
        let unchanged = |block: &Vec<u8>| *block == vec![BYTE; block.len()];
        note(world.memory.iter().all(unchanged), "memory of the host was changed");
        note(world.secret.iter().all(|word| *word == self.secret), "the host's secret was overwritten");
        note(!world.host_code_ran(), "code of the host ran");
        note(world.neighbour.is_unharmed(), "memory of another domain was changed");
        note(world.neighbour.answers(), "another domain does not work any more");
        for kept in &world.kept {
            note(*kept == Kept::default(), &format!("registers of the host were changed: {kept:x?}"));
        }
        for sum in &world.x87_sums {
            note(
                *sum == X87_SUM,
                &format!("x87 registers of the host were in use after a call: 1 + … + 8 is {sum}"),
            );
        }
        let now = process(world.files.path())?;
        for (what, before) in &self.process {
            let after = now.get(what).map_or("", String::as_str);
            note(before == after, &format!("{what} was changed: {before:?}, now {after:?}"));
        }
        Ok(changed)
    }
}

/// glibc's own signals, 32 and 33: a program that `posix_spawn` has started ignores them until its first thread starts, or is cancelled.
const LIBCS: u64 = 0b11 << 31;

/// What belongs to the process as a whole, by name.
fn process(files: &Path) -> Result<BTreeMap<String, String>> {
    /// Lines of /proc/self/status that a domain has no business with (proc(5)).
    const STATUS: [&str; 9] =
        ["Umask", "Uid", "Gid", "SigBlk", "SigIgn", "CapEff", "NoNewPrivs", "Seccomp", "TracerPid"];
    let mut state = BTreeMap::new();
    let status = fs::read_to_string("/proc/thread-self/status").context("/proc is not mounted")?;
    for line in status.lines().filter_map(|line| line.split_once(':')).filter(|(key, _)| STATUS.contains(key))
    {
        let mut value = line.1.trim().to_owned();
        if line.0 == "SigIgn" {
            let ignored = u64::from_str_radix(&value, 16).context("a mask of /proc is no number")?;
            value = format!("{:016x}", ignored & !LIBCS);
        }
        state.insert(format!("{} of the process", line.0), value);
    }
    for file in ["personality", "limits", "oom_score_adj"] {
        state.insert(format!("/proc/self/{file}"), fs::read_to_string(Path::new("/proc/self").join(file))?);
    }
    state.insert("the current directory".to_owned(), std::env::current_dir()?.display().to_string());
    state.insert("what runs in the host".to_owned(), code()?);
    let mut found = Vec::new();
    tree(files, &mut found)?;
    state.insert("files of the host".to_owned(), found.join(" "));
    Ok(state)
}

/// Hash of the host's program as it is in memory, and every mapping that is writable and executable.
fn code() -> Result<String> {
    let program = std::env::current_exe()?;
    let mut hash = blake3::Hasher::new();
    let mut both = Vec::new();
    for mapping in mappings(0, u64::MAX) {
        if mapping.rights.starts_with("rwx") || mapping.rights.starts_with("-wx") {
            both.push(format!("{:#x}–{:#x}", mapping.start, mapping.end));
        }
        if Path::new(&mapping.path) == program && !mapping.rights.contains('w') {
            let bytes = crate::common::peek_bytes(mapping.start, (mapping.end - mapping.start) as usize);
            hash.update(&bytes.context("a mapping of the program cannot be read")?);
        }
    }
    Ok(format!("{} writable and executable: {both:?}", hash.finalize().to_hex()))
}

/// Names and contents of everything in a folder.
fn tree(folder: &Path, found: &mut Vec<String>) -> Result<()> {
    let mut paths: Vec<_> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        let about = path.symlink_metadata()?;
        found.push(format!("{} {:?}", path.display(), about.permissions()));
        if about.is_dir() {
            tree(&path, found)?;
        } else if about.is_file() {
            found.push(blake3::hash(&fs::read(&path)?).to_string());
        }
    }
    Ok(())
}
