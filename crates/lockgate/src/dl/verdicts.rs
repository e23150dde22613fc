//! Modules that were verified by this process, so that a file is read and judged once.
//!
//! What is kept is not a verdict about a file but the verified module itself: its bytes lie in a sealed memory file, and whatever
//! happens to the file afterwards, a library opened from here runs those bytes. So nothing that this cache gets wrong about
//! files can let code run that was not verified; at worst an old version runs. Nothing is kept on disk: a user who could write
//! there would decide what runs (docs/decisions).
use super::DlError;
use crate::host::{Once, Short, locked};
use crate::module::Module;
use lockgate_kernel::Identity;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

/// A module by the hash of its file's bytes (BLAKE3).
pub(super) type Hash = [u8; 32];

/// Which file, and when it was last changed: as long as this is the same, so are its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileKey {
    file: Identity,
    size: u64,
    modified: (i64, i64),
    /// Programs cannot set this one.
    changed: (i64, i64),
}

impl FileKey {
    /// True if both are of one file, whatever has become of it.
    pub fn is_place_of(&self, other: &FileKey) -> bool {
        self.file == other.file
    }

    /// True if the file was left alone for long enough that a later change would show: kernels before 6.13 count time stamps in
    /// ticks, of a hundredth of a second at most.
    fn is_settled(&self) -> bool {
        const TICKS: Duration = Duration::from_millis(20);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let changed = Duration::new(self.changed.0.max(0) as u64, self.changed.1 as u32);
        changed + TICKS < now
    }
}

impl From<&Metadata> for FileKey {
    fn from(metadata: &Metadata) -> FileKey {
        FileKey {
            file: metadata.into(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// A file that is open: what it is and what is in it come from this descriptor, whatever its path leads to meanwhile.
pub(super) struct Opened {
    path: PathBuf,
    file: File,
    metadata: Metadata,
    pub key: FileKey,
}

impl Opened {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`DlError::File`]: it does not exist, or is no ordinary file.
    pub fn new(path: &Path) -> Result<Opened, DlError> {
        let (file, metadata) = lockgate_outside::open(path).map_err(|source| file_error(path, source))?;
        Ok(Opened { path: path.to_owned(), key: FileKey::from(&metadata), file, metadata })
    }

    /// Where it was, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.key.size
    }

    /// Its bytes, and which file they are of, if it did not change meanwhile.
    fn read(&self) -> std::io::Result<(Vec<u8>, Option<FileKey>)> {
        let bytes = lockgate_outside::read_open(&self.file, &self.metadata)?;
        let after = FileKey::from(&self.file.metadata()?);
        Ok((bytes, (self.key == after && after.is_settled()).then_some(after)))
    }
}

/// A file that was read and judged.
pub(super) struct Found {
    pub opened: Opened,
    pub module: Arc<Module>,
    pub hash: Hash,
}

impl Found {
    /// The verified module in a file.
    ///
    /// # Errors
    /// [`DlError`]: it cannot be read, is no module, or was refused.
    pub fn new(opened: Opened) -> Result<Found, DlError> {
        let known = Found::of_these(opened, |_| true)?;
        Ok(known.expect("every hash is asked for"))
    }

    /// The same, if the file's bytes have a hash that is asked for: others are not judged, which takes much longer than reading them.
    ///
    /// # Errors
    /// As [`new`](Found::new).
    pub fn of_these(opened: Opened, asked: impl Fn(&Hash) -> bool) -> Result<Option<Found>, DlError> {
        let found = module(&opened, asked)?;
        Ok(found.map(|(module, hash)| Found { opened, module, hash }))
    }
}

/// Bytes of modules that are kept while they are not open.
const MOST: usize = 256 << 20;

/// Modules that are kept while they are not open: each has a descriptor of the process's, of which a program may have a thousand.
const MOST_IDLE: usize = 64;

/// States of files that are known, each without its contents: a user who may touch a file makes as many as he likes.
const MOST_FILES: usize = 4096;

#[derive(Default)]
struct Verdicts {
    files: HashMap<FileKey, Hash>,
    modules: HashMap<Hash, Kept>,
    bytes: usize,
    uses: u64,
}

struct Kept {
    module: Arc<Module>,
    size: usize,
    last_use: u64,
}

/// A forked child has its parent's.
static VERDICTS: Once<Mutex<Verdicts>> = Once::new();

fn verdicts() -> Short<MutexGuard<'static, Verdicts>> {
    Short::new(|| locked(VERDICTS.get(Mutex::default)))
}

fn module(opened: &Opened, asked: impl Fn(&Hash) -> bool) -> Result<Option<(Arc<Module>, Hash)>, DlError> {
    let known = verdicts().by_file(&opened.key);
    if let Some(known) = known {
        return Ok(Some(known).filter(|(_, hash)| asked(hash)));
    }
    let path = opened.path();
    let (bytes, key) = opened.read().map_err(|source| file_error(path, source))?;
    let hash = *blake3::hash(&bytes).as_bytes();
    if !asked(&hash) {
        return Ok(None);
    }
    let known = verdicts().with_file(key, &hash);
    if let Some(module) = known {
        return Ok(Some((module, hash)));
    }
    if is_ordinary_library(&bytes) {
        return Err(DlError::NotConfined(path.to_owned()));
    }
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let size = bytes.len();
    let module = Module::named(name, bytes)?;
    let mut verdicts = verdicts();
    verdicts.keep(hash, &module, size);
    verdicts.remember(key, hash);
    drop(verdicts);
    Ok(Some((module, hash)))
}

fn file_error(path: &Path, source: std::io::Error) -> DlError {
    DlError::File { path: path.to_owned(), source }
}

/// An ELF file without Lockgate's notes, which a host may have meant to be opened by the other dlopen.
fn is_ordinary_library(bytes: &[u8]) -> bool {
    let owner = lockgate_abi::note::NAME.as_bytes();
    bytes.starts_with(b"\x7fELF") && !bytes.windows(owner.len()).any(|window| window == owner)
}

impl Verdicts {
    fn by_file(&mut self, key: &FileKey) -> Option<(Arc<Module>, Hash)> {
        let hash = *self.files.get(key)?;
        Some((self.by_hash(&hash)?, hash))
    }

    /// The module with these bytes, which the file has now.
    fn with_file(&mut self, key: Option<FileKey>, hash: &Hash) -> Option<Arc<Module>> {
        let module = self.by_hash(hash)?;
        self.remember(key, *hash);
        Some(module)
    }

    fn by_hash(&mut self, hash: &Hash) -> Option<Arc<Module>> {
        self.uses += 1;
        let kept = self.modules.get_mut(hash)?;
        kept.last_use = self.uses;
        Some(kept.module.clone())
    }

    fn remember(&mut self, key: Option<FileKey>, hash: Hash) {
        if let Some(key) = key {
            if self.files.len() >= MOST_FILES {
                self.files.clear();
            }
            self.files.insert(key, hash);
        }
    }

    /// Keeps a module, and forgets those that were not used for the longest time if there are too many.
    fn keep(&mut self, hash: Hash, module: &Arc<Module>, size: usize) {
        self.uses += 1;
        self.bytes += size;
        let kept = Kept { module: module.clone(), size, last_use: self.uses };
        if let Some(same) = self.modules.insert(hash, kept) {
            self.bytes -= same.size;
        }
        while self.bytes > MOST && self.modules.len() > 1 {
            let oldest = self.modules.iter().min_by_key(|(_, kept)| kept.last_use).map(|(hash, _)| *hash);
            let Some(oldest) = oldest else { break };
            self.forget(&oldest);
        }
        // What only the table holds, no thread can take hold of while the table is locked.
        let idle = self.modules.iter().filter(|(_, kept)| Arc::strong_count(&kept.module) == 1);
        let mut idle: Vec<_> = idle.map(|(hash, kept)| (kept.last_use, *hash)).collect();
        idle.sort_unstable();
        for (_, hash) in idle.iter().take(idle.len().saturating_sub(MOST_IDLE)) {
            self.forget(hash);
        }
    }

    fn forget(&mut self, hash: &Hash) {
        if let Some(gone) = self.modules.remove(hash) {
            self.bytes -= gone.size;
            self.files.retain(|_, hash| self.modules.contains_key(hash));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is touched and opened again, for ever.
    #[test]
    fn states_of_files_are_not_kept_for_ever() {
        let mut verdicts = Verdicts::default();
        let file = FileKey::from(&tempfile::tempfile().unwrap().metadata().unwrap());
        let key = |time: usize| FileKey { modified: (time as i64, 0), changed: (time as i64, 0), ..file };
        for time in 0..3 * MOST_FILES {
            verdicts.remember(Some(key(time)), [1; 32]);
            assert!(verdicts.files.len() <= MOST_FILES && verdicts.files.contains_key(&key(time)));
        }
    }
}
