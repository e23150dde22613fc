//! `dup`, `dup2`, `dup3`.
use super::lock;
use crate::SyscallContext;
use crate::outcome::Reply;
use lockgate_kernel::locked;
use rustix::io::Errno;

/// `dup(fd)`.
pub fn dup(ctx: &SyscallContext<'_>, [fd, ..]: [u64; 6]) -> Reply {
    let mut descriptors = locked(&ctx.process.descriptors);
    let description = descriptors.get(fd as i32)?;
    Ok(descriptors.insert(description, 0, false)? as u64)
}

/// `dup2(old, new)`.
pub fn dup2(ctx: &SyscallContext<'_>, [old, new, ..]: [u64; 6]) -> Reply {
    if old as i32 == new as i32 {
        ctx.process.handle(old as i32)?;
        return Ok(old);
    }
    dup3(ctx, [old, new, 0, 0, 0, 0])
}

/// `dup3(old, new, flags)`.
pub fn dup3(ctx: &SyscallContext<'_>, [old, new, flags, ..]: [u64; 6]) -> Reply {
    let close_on_exec = match flags as i32 {
        0 => false,
        libc::O_CLOEXEC => true,
        _ => return Err(Errno::INVAL.into()),
    };
    if old as i32 == new as i32 {
        return Err(Errno::INVAL.into());
    }
    let mut descriptors = locked(&ctx.process.descriptors);
    let description = descriptors.get(old as i32)?;
    let closed = descriptors.replace(new as i32, description, close_on_exec)?;
    drop(descriptors);
    if let Some(closed) = closed {
        lock::release(ctx, &closed);
    }
    Ok(new)
}
