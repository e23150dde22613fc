//! `readlink`, `readlinkat`.
use crate::SyscallContext;
use crate::directories::OWN_FILE;
use crate::outcome::Reply;
use rustix::io::Errno;

/// `readlink(path, buffer, length)`.
pub fn readlink(ctx: &SyscallContext<'_>, [path, at, length, ..]: [u64; 6]) -> Reply {
    readlinkat(ctx, [libc::AT_FDCWD as u64, path, at, length, 0, 0])
}

/// `readlinkat(fd, path, buffer, length)`.
pub fn readlinkat(ctx: &SyscallContext<'_>, [fd, path, at, length, ..]: [u64; 6]) -> Reply {
    if length as i32 <= 0 {
        return Err(Errno::INVAL.into());
    }
    let path = ctx.path(path)?;
    if ctx.leads_to_a_grant(fd as i32, &path).is_some() {
        return Err(Errno::INVAL.into());
    }
    let own = path == OWN_FILE && ctx.process.own_file().is_some();
    let handle = ctx.locate(fd as i32, &path)?.handle(&ctx.process.grants, false)?;
    let is_link = own || rustix::fs::FileType::from_raw_mode(handle.stat.st_mode).is_symlink();
    if !is_link {
        return Err(Errno::INVAL.into());
    }
    // Where it leads to has no other name: programs open what they read here.
    let target = match own {
        true => path,
        false => rustix::fs::readlinkat(handle.fd, c"", Vec::new())?.into_bytes(),
    };
    let given = &target[..target.len().min(length as u32 as usize)];
    ctx.memory.write(at, given)?;
    Ok(given.len() as u64)
}
