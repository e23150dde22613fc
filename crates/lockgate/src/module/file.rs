//! Files that are said to hold modules: opened once, examined by that descriptor, read with a limit.
use rustix::fs::{Mode, OFlags};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Largest file that is read as a module, bytes.
const LARGEST: u64 = 1 << 30;

/// Opens the file at `path`, waiting for nobody, and says what it is. Whatever `path` names afterwards, this is the file.
///
/// # Errors
/// The system's; or it is no ordinary file.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    match metadata.file_type() {
        kind if kind.is_file() => Ok((file, metadata)),
        kind if kind.is_dir() => Err(rustix::io::Errno::ISDIR.into()),
        _ => Err(io::Error::other("not an ordinary file")),
    }
}

/// The bytes of a file that [`open`] has opened.
///
/// # Errors
/// The system's; or it is larger than any module, or than memory.
pub(crate) fn read(file: &File, metadata: &Metadata) -> io::Result<Vec<u8>> {
    let size = metadata.len();
    if size > LARGEST {
        let what = format!("a file of {size} bytes: a module has at most {LARGEST}");
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize).map_err(|_| ErrorKind::OutOfMemory)?;
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the file at `path`, as all parts of Lockgate read modules: once, by one descriptor, waiting for nobody, up to 1 GiB.
///
/// # Errors
/// The system's; or it is no ordinary file, or too large.
pub fn read_module(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let (file, metadata) = open(path.as_ref())?;
    read(&file, &metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_any_size_and_kind_are_answered() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // 1 TiB that takes no room.
        File::create(at("sparse")).unwrap().set_len(1 << 40).unwrap();
        let error = read_module(at("sparse")).unwrap_err();
        assert!(error.to_string().contains("a module has at most"), "{error}");
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(read_module(at("fifo")).unwrap_err().to_string(), "not an ordinary file");
        assert_eq!(read_module(at(".")).unwrap_err().kind(), ErrorKind::IsADirectory);
        std::fs::write(at("short"), b"text").unwrap();
        assert_eq!(read_module(at("short")).unwrap(), b"text");
        assert_eq!(read_module(at("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
