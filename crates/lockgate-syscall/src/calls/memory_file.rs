//! `memfd_create`, and seals of what it has made.
use super::event;
use crate::SyscallContext;
use crate::descriptors::{Behind, Description};
use crate::memory_files::MemoryFile;
use crate::outcome::Reply;
use rustix::fs::{MemfdFlags, OFlags, SealFlags};
use rustix::io::Errno;

/// Longest name, as in Linux.
const NAME: usize = 249;

/// `memfd_create(name, flags)`: `MFD_CLOEXEC` and `MFD_ALLOW_SEALING`; others are unknown, as they are to older kernels. The name is forgotten: the
/// host's tools would show it.
pub fn memfd_create(ctx: &SyscallContext<'_>, [name, flags, ..]: [u64; 6]) -> Reply {
    let flags = MemfdFlags::from_bits_retain(flags as u32);
    if !(MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).contains(flags) {
        return Err(Errno::INVAL.into());
    }
    match ctx.path(name) {
        Ok(name) if name.len() <= NAME => {}
        Ok(_) | Err(Errno::NAMETOOLONG) => return Err(Errno::INVAL.into()),
        Err(error) => return Err(error.into()),
    }
    let file = MemoryFile::new(&ctx.process.memory_files, ctx.memory.usage().0)?;
    let close_on_exec = if flags.contains(MemfdFlags::CLOEXEC) { OFlags::CLOEXEC } else { OFlags::empty() };
    event::made_as(ctx, close_on_exec.bits().into(), Behind::Memory(file), || {
        rustix::fs::memfd_create(c"lockgate", flags | MemfdFlags::CLOEXEC)
    })
}

/// `fcntl(fd, F_ADD_SEALS, seals)`.
pub(super) fn add_seals(file: &Description, seals: u64) -> Reply {
    memory(file)?;
    rustix::fs::fcntl_add_seals(file.fd(), SealFlags::from_bits_retain(seals as u32))?;
    Ok(0)
}

/// `fcntl(fd, F_GET_SEALS)`.
pub(super) fn seals(file: &Description) -> Reply {
    memory(file)?;
    Ok(rustix::fs::fcntl_get_seals(file.fd())?.bits().into())
}

fn memory(file: &Description) -> Result<&MemoryFile, Errno> {
    match &file.behind {
        Behind::Memory(memory) => Ok(memory),
        _ => Err(Errno::INVAL),
    }
}
