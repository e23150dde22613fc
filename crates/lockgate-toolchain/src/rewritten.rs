//! The inputs of a link, rewritten, as ld will see them.

use crate::cache::Key;
use crate::input::{Input, Kind, Part, inputs};
use crate::{Error, Progress, Sysroot};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names of the files in an archive's cache entry: the rewritten archive; a line with the number of unchecked gathers
/// and scatters, one with the functions that were replaced, and one for each member whose debug information was dropped.
const ARCHIVE: &str = "archive.a";
const FINDINGS: &str = "findings";

/// Most bytes that a link may write without having read them: alignment and the like make some of it, and a small file can ask for any
/// amount.
const MAX_UNREAD: u64 = 64 << 20;

#[derive(Default)]
pub(crate) struct Rewritten {
    /// For ld, in order.
    pub arguments: Vec<OsString>,
    /// Paths that ld will see, and how messages call them.
    pub names: Vec<(PathBuf, String)>,
    /// Bytes of machine code, before and after.
    pub text_in: u64,
    pub text_out: u64,
    /// As in [`LinkOutcome`](crate::LinkOutcome).
    pub debug_dropped: Vec<String>,
    pub unchecked_vectors: u64,
    pub replaced: Vec<String>,
}

impl Rewritten {
    /// Rewrites every input into a folder of its own in `folder`; archives come from the cache.
    pub(crate) fn of(
        parts: &[Part],
        sysroot: &Sysroot,
        folder: &Path,
        progress: Progress<'_>,
    ) -> Result<Rewritten, Error> {
        let total: u64 = inputs(parts).map(|input| input.bytes.len() as u64).sum();
        refuse_padding(parts)?;
        let mut rewritten = Rewritten::default();
        let mut done = 0;
        for (i, part) in parts.iter().enumerate() {
            let input = match part {
                Part::Input(input) => input,
                Part::Option(option) => {
                    rewritten.arguments.push(option.into());
                    continue;
                }
            };
            progress("rewriting", done, total);
            done += input.bytes.len() as u64;
            let path = match (input.verbatim, input.kind) {
                (false, Kind::Archive) => rewritten.archive(sysroot, input)?,
                (false, Kind::Object) => {
                    let object =
                        lockgate_rewrite::rewrite_object(&input.name, &input.bytes, sysroot.options())?;
                    rewritten.debug_dropped.extend(object.stats.debug_dropped);
                    rewritten.unchecked_vectors += object.stats.unchecked_vectors;
                    rewritten.replaced.extend(object.stats.replaced);
                    write(folder, i, input, &object.bytes)?
                }
                (true, _) => write(folder, i, input, &input.bytes)?,
            };
            rewritten.text_in += input.text_size();
            rewritten.text_out += Input::read(&path)?.text_size();
            rewritten.names.push((path.clone(), input.name.clone()));
            rewritten.arguments.push(path.into());
        }
        progress("rewriting", total, total);
        Ok(rewritten)
    }

    fn archive(&mut self, sysroot: &Sysroot, input: &Input) -> Result<PathBuf, Error> {
        let mut key = Key::new("archive");
        key.add(&[sysroot.options().strict_bounds.into()]).add(&input.bytes);
        let entry = sysroot.cache().entry(&key, |folder| {
            let options = sysroot.options();
            let archive =
                lockgate_rewrite::rewrite_archive(&input.name, &input.bytes, options, &mut |_, _| ())?;
            // The same archive may have another name next time.
            let dropped = archive.stats.debug_dropped.iter();
            let dropped = dropped.map(|line| line.strip_prefix(&input.name).unwrap_or(line));
            let unchecked = archive.stats.unchecked_vectors.to_string();
            let replaced = archive.stats.replaced.join("\t");
            let findings: Vec<&str> = [&*unchecked, &*replaced].into_iter().chain(dropped).collect();
            for (name, bytes) in [(ARCHIVE, &*archive.bytes), (FINDINGS, findings.join("\n").as_bytes())] {
                let path = folder.join(name);
                std::fs::write(&path, bytes).map_err(Error::io("write", &path))?;
            }
            Ok(())
        })?;
        let path = entry.join(FINDINGS);
        let findings = std::fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let mut lines = findings.lines();
        self.unchecked_vectors += lines.next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
        let replaced = lines.next().unwrap_or_default().split('\t').filter(|name| !name.is_empty());
        self.replaced.extend(replaced.map(str::to_owned));
        self.debug_dropped.extend(lines.map(|line| format!("{}{line}", input.name)));
        Ok(entry.join(ARCHIVE))
    }
}

/// Refuses a link whose output would consist of padding, before anything is made so large.
fn refuse_padding(parts: &[Part]) -> Result<(), Error> {
    let mut total = 0u64;
    for input in inputs(parts) {
        total = total.saturating_add(input.unread_bytes());
        if total > MAX_UNREAD {
            let reason = format!(
                "with its sections' alignment and zeros the linked file would have more than {} MiB of padding; align to 2 MiB at \
                 most, and leave large zeroed arrays in .bss",
                MAX_UNREAD >> 20
            );
            return Err(Error::input(&*input.name, reason));
        }
    }
    Ok(())
}

/// Writes the `i`-th input, in a folder of its own because many may have the same name.
fn write(folder: &Path, i: usize, input: &Input, bytes: &[u8]) -> Result<PathBuf, Error> {
    let own = folder.join(i.to_string());
    std::fs::create_dir(&own).map_err(Error::io("create", &own))?;
    let path = own.join(Path::new(&input.name).file_name().unwrap_or(input.name.as_ref()));
    std::fs::write(&path, bytes).map_err(Error::io("write", &path))?;
    Ok(path)
}
