//! A call of ours: passing on what others share with the domain.
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
    let writable = match rights {
        READ => false,
        READ_WRITE => true,
        _ => return Err(Errno::INVAL.into()),
    };
    let import = ctx.path(import)?;
    let import = std::str::from_utf8(&import).map_err(|_| Errno::NOENT)?;
    ctx.sharing.pass_on(import, at & (window::SIZE - 1), size, writable)?;
    Ok(0)
}
