//! `getrlimit`, `prlimit64`: what the domain may have, not what the host may.
use crate::SyscallContext;
use crate::locked::locked;
use crate::outcome::Reply;
use crate::wire::Record;
use rustix::io::Errno;

const INFINITY: u64 = u64::MAX;
/// Resources are 0 to 15.
const RESOURCES: u64 = 16;

fn limit(ctx: &SyscallContext<'_>, resource: u64) -> Result<Record, Errno> {
    let value = match resource as u32 {
        libc::RLIMIT_NOFILE => locked(&ctx.process.descriptors).limit() as u64,
        libc::RLIMIT_STACK => ctx.process.stack_size(),
        libc::RLIMIT_AS | libc::RLIMIT_DATA => ctx.memory.usage().0,
        libc::RLIMIT_CORE => 0,
        _ if resource < RESOURCES => INFINITY,
        _ => return Err(Errno::INVAL),
    };
    Ok(Record::new().u64(value).u64(value))
}

/// `getrlimit(resource, limit)`.
pub fn getrlimit(ctx: &SyscallContext<'_>, [resource, at, ..]: [u64; 6]) -> Reply {
    ctx.memory.write(at, &limit(ctx, resource)?.0)?;
    Ok(0)
}

/// `prlimit64(process, resource, new or null, old or null)`: limits cannot be changed.
pub fn prlimit64(ctx: &SyscallContext<'_>, [process, resource, new, old, ..]: [u64; 6]) -> Reply {
    if process != 0 && process != u64::from(ctx.process.number()) {
        return Err(Errno::SRCH.into());
    }
    let record = limit(ctx, resource)?;
    if new != 0 {
        return Err(Errno::PERM.into());
    }
    ctx.give(old, &record.0)?;
    Ok(0)
}
