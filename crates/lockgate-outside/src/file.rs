//! Files of others: opened once, examined by that descriptor, read with a limit.
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Largest file that is read, bytes: modules have at most as many, and what is larger than a module is no part of one.
pub const LARGEST: u64 = 1 << 30;

/// `open(2)`: the opening does not wait (for a FIFO's other end, a device), and no terminal becomes the process's own. Linux has these
/// numbers on x86-64.
const NONBLOCK: i32 = 0o4000;
const NOCTTY: i32 = 0o400;
const EISDIR: i32 = 21;

/// Opens the file at `path`, without waiting, and says what it is. Whatever `path` names afterwards, this is the file.
///
/// # Errors
/// The system's; or it is no ordinary file ([`is_ordinary`]).
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = OpenOptions::new().read(true).custom_flags(NONBLOCK | NOCTTY).open(path)?;
    let metadata = file.metadata()?;
    match metadata.file_type() {
        kind if kind.is_file() => Ok((file, metadata)),
        kind if kind.is_dir() => Err(io::Error::from_raw_os_error(EISDIR)),
        _ => Err(io::Error::new(ErrorKind::Unsupported, "not an ordinary file")),
    }
}

/// Whether `error`, of [`open`] or [`read`], is anything else than that there is a device, a pipe or a socket.
pub fn is_ordinary(error: &io::Error) -> bool {
    error.kind() != ErrorKind::Unsupported
}

/// Whether the file at `path` is one that [`read`] reads, for those who leave reading to a program.
///
/// # Errors
/// As [`read`].
pub fn examine(path: &Path) -> io::Result<()> {
    let (_, metadata) = open(path)?;
    within(metadata.len()).map(|_| ())
}

fn within(size: u64) -> io::Result<u64> {
    if size > LARGEST {
        let what = format!("the file has {size} bytes, at most {LARGEST} are allowed");
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(size)
}

/// The bytes of a file that [`open`] has opened.
///
/// # Errors
/// The system's; or it is larger than [`LARGEST`], or than memory.
pub fn read_open(file: &File, metadata: &Metadata) -> io::Result<Vec<u8>> {
    let size = within(metadata.len())?;
    let mut bytes = room(size as usize)?;
    // Files of /proc have no size; what they hold is as limited as any.
    file.take(if size == 0 { LARGEST + 1 } else { size }).read_to_end(&mut bytes)?;
    within(bytes.len() as u64)?;
    Ok(bytes)
}

/// A copy of what another process gives as a file, within the same limits.
///
/// # Errors
/// It is larger than [`LARGEST`], or than memory.
pub fn copied(file: &[u8]) -> io::Result<Vec<u8>> {
    within(file.len() as u64)?;
    let mut bytes = room(file.len())?;
    bytes.extend_from_slice(file);
    Ok(bytes)
}

/// Room for so many bytes, whose number comes from outside.
///
/// # Errors
/// There is no memory.
pub fn room(size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| ErrorKind::OutOfMemory)?;
    Ok(bytes)
}

/// Reads the file at `path`: once, by one descriptor, without waiting, up to [`LARGEST`].
///
/// # Errors
/// The system's; or it is no ordinary file, or too large.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let (file, metadata) = open(path.as_ref())?;
    read_open(&file, &metadata)
}

/// Whether both names are those of one ordinary file: what is written to one takes the other's place.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| path.metadata().ok().filter(Metadata::is_file).map(|of| (of.dev(), of.ino()));
    file(one).is_some_and(|identity| file(other) == Some(identity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn files_of_any_size_and_kind_are_answered() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // 1 TiB that takes no room.
        File::create(at("sparse")).unwrap().set_len(1 << 40).unwrap();
        let error = read(at("sparse")).unwrap_err();
        assert!(error.to_string().contains("at most 1073741824 are allowed"), "{error}");
        assert!(examine(&at("sparse")).is_err());
        assert!(std::process::Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        for path in [at("fifo"), "/dev/zero".into(), "/dev/null".into()] {
            let error = read(&path).unwrap_err();
            assert_eq!((error.to_string().as_str(), is_ordinary(&error)), ("not an ordinary file", false));
        }
        assert_eq!(room(usize::MAX / 2).unwrap_err().kind(), ErrorKind::OutOfMemory);
        assert_eq!(copied(b"text").unwrap(), b"text");
        let _socket = UnixListener::bind(at("socket")).unwrap();
        assert!(read(at("socket")).is_err());
        assert_eq!(read(at(".")).unwrap_err().kind(), ErrorKind::IsADirectory);
        let own = read("/proc/self/cmdline").unwrap();
        assert!(!own.is_empty(), "a file of /proc has no size");
        std::fs::write(at("empty"), b"").unwrap();
        assert_eq!(read(at("empty")).unwrap(), b"");
        std::fs::write(at("short"), b"text").unwrap();
        assert_eq!(read(at("short")).unwrap(), b"text");
        assert_eq!(read(at("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
