//! `fcntl`: duplicates, flags and record locks.
use super::{lock, memory_file};
use crate::SyscallContext;
use crate::outcome::Reply;
use lockgate_kernel::locked;
use rustix::fs::OFlags;
use rustix::io::Errno;

/// Which signal tells of a descriptor (linux/fcntl.h; libc has no name for it).
const F_GETSIG: i32 = 11;

/// `fcntl(fd, command, argument)`.
pub fn fcntl(ctx: &SyscallContext<'_>, [fd, command, argument, ..]: [u64; 6]) -> Reply {
    let number = fd as i32;
    let file = ctx.process.handle(number)?;
    let duplicate = |close_on_exec| -> Reply {
        let mut descriptors = locked(&ctx.process.descriptors);
        let file = descriptors.get(number)?;
        Ok(descriptors.insert(file, argument as i32, close_on_exec)? as u64)
    };
    match command as i32 {
        libc::F_DUPFD => duplicate(false),
        libc::F_DUPFD_CLOEXEC => duplicate(true),
        libc::F_GETFD => Ok((*locked(&ctx.process.descriptors).close_on_exec(number)?).into()),
        libc::F_SETFD => {
            let flag = argument & libc::FD_CLOEXEC as u64 != 0;
            *locked(&ctx.process.descriptors).close_on_exec(number)? = flag;
            Ok(0)
        }
        libc::F_GETFL => Ok(file.status().bits().into()),
        _ if file.path_only => Err(Errno::BADF.into()),
        libc::F_SETFL => {
            file.set_status(OFlags::from_bits_retain(argument as u32))?;
            Ok(0)
        }
        libc::F_ADD_SEALS => memory_file::add_seals(&file, argument),
        libc::F_GET_SEALS => memory_file::seals(&file),
        // No process gets a SIGIO.
        libc::F_GETOWN | F_GETSIG => Ok(0),
        libc::F_GETLK => lock::get(ctx, &file, argument),
        libc::F_SETLK => lock::set(ctx, number, &file, argument, false),
        libc::F_SETLKW => lock::set(ctx, number, &file, argument, true),
        _ => Err(Errno::INVAL.into()),
    }
}
