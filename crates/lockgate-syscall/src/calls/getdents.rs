//! `getdents64`.
use crate::SyscallContext;
use crate::descriptors::Kind;
use crate::outcome::Reply;
use crate::wire::Record;
use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;
use std::mem::MaybeUninit;

/// Most bytes of entries that one call gives.
const MOST: u64 = 32 << 10;

/// `getdents64(fd, buffer, length)`.
pub fn getdents64(ctx: &SyscallContext<'_>, [fd, at, length, ..]: [u64; 6]) -> Reply {
    let directory = ctx.process.descriptor(fd as i32)?;
    if directory.kind != Kind::Directory {
        return Err(Errno::NOTDIR.into());
    }
    // What has no place in the domain is not read: the next call finds it.
    let fits = ctx.memory.writable(at, length.min(MOST));
    let mut buffer = vec![MaybeUninit::<u8>::uninit(); fits as usize];
    let mut entries = RawDir::new(directory.fd(), &mut buffer);
    let mut given = Record::new();
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Err(Errno::INVAL) if fits < length.min(MOST) => return Err(Errno::FAULT.into()),
            entry => entry?,
        };
        let name = entry.file_name().to_bytes_with_nul();
        let start = given.0.len();
        // struct linux_dirent64: inode, next position, record length, type, name; 8-aligned.
        let size = (8 + 8 + 2 + 1 + name.len()).next_multiple_of(8);
        given = given
            .u64(entry.ino())
            .u64(entry.next_entry_cookie())
            .u16(size as u16)
            .bytes(&[kind(entry.file_type())])
            .bytes(name)
            .padded_to(start + size);
        // The next one would be read from the kernel, past what the domain asked for.
        if entries.is_buffer_empty() {
            break;
        }
    }
    ctx.memory.write(at, &given.0)?;
    Ok(given.0.len() as u64)
}

fn kind(file_type: FileType) -> u8 {
    match file_type {
        FileType::RegularFile => libc::DT_REG,
        FileType::Directory => libc::DT_DIR,
        FileType::Symlink => libc::DT_LNK,
        FileType::Fifo => libc::DT_FIFO,
        FileType::Socket => libc::DT_SOCK,
        FileType::CharacterDevice => libc::DT_CHR,
        FileType::BlockDevice => libc::DT_BLK,
        FileType::Unknown => libc::DT_UNKNOWN,
    }
}
