//! Calls of ours about what others share with the domain: passing it on, and whether it is there.
use crate::SyscallContext;
use crate::outcome::Reply;
use lockgate_abi::window;
use rustix::io::Errno;

/// `LG_PASS_READ` and `LG_PASS_READ_WRITE` of `lockgate_grant.h`.
const READ: u64 = 1;
const READ_WRITE: u64 = 3;

/// `lg_pass_on(at, size, import, rights)`: the domain that answers the import gets the shared memory that holds these bytes, as long as the
/// calling domain has it.
pub fn lg_pass_on(ctx: &SyscallContext<'_>, [at, size, import, rights, ..]: [u64; 6]) -> Reply {
    let writable = is_to_write(rights)?;
    let import = ctx.path(import)?;
    let import = std::str::from_utf8(&import).map_err(|_| Errno::NOENT)?;
    ctx.sharing.pass_on(import, at & (window::SIZE - 1), size, writable)?;
    Ok(0)
}

/// `lg_is_shared(at, size, rights)`: whether these bytes lie in memory that others share with the domain, in one piece. (Where code for modules
/// runs outside of any domain, the kernel's answer is `ENOSYS`.)
pub fn lg_is_shared(ctx: &SyscallContext<'_>, [at, size, rights, ..]: [u64; 6]) -> Reply {
    ctx.sharing.is_shared(at & (window::SIZE - 1), size, is_to_write(rights)?)?;
    Ok(0)
}

fn is_to_write(rights: u64) -> Result<bool, Errno> {
    match rights {
        READ => Ok(false),
        READ_WRITE => Ok(true),
        _ => Err(Errno::INVAL),
    }
}
