//! `getrlimit`, `setrlimit`, `prlimit64`: what the domain may have, not what the host may.
//!
//! A domain lowers its own limits and raises them again, as a process does. Only [`RLIMIT_NOFILE`](libc::RLIMIT_NOFILE) does something: the others
//! are remembered and told, and what bounds the domain is what its host has said.
use crate::SyscallContext;
use crate::outcome::Reply;
use crate::wire::Record;
use lockgate_kernel::locked;
use rustix::io::Errno;

const INFINITY: u64 = u64::MAX;
/// Resources are 0 to 15.
const RESOURCES: u64 = 16;

fn limit(ctx: &SyscallContext<'_>, resource: u64) -> Result<[u64; 2], Errno> {
    // (As an `unsigned int`, which Linux takes it for.)
    let resource = resource as u32;
    if u64::from(resource) >= RESOURCES {
        return Err(Errno::INVAL);
    }
    if let Some(set) = locked(&ctx.process.limits).get(&resource) {
        return Ok(*set);
    }
    let value = match resource {
        libc::RLIMIT_NOFILE => locked(&ctx.process.descriptors).limit() as u64,
        libc::RLIMIT_STACK => ctx.process.stack_size(),
        libc::RLIMIT_AS | libc::RLIMIT_DATA => ctx.memory.usage().0,
        libc::RLIMIT_CORE => 0,
        _ => INFINITY,
    };
    Ok([value; 2])
}

/// Sets a limit; what it was before.
fn set(ctx: &SyscallContext<'_>, resource: u64, new: Option<[u64; 2]>) -> Result<[u64; 2], Errno> {
    let before = limit(ctx, resource)?;
    let Some([soft, hard]) = new else { return Ok(before) };
    if soft > hard {
        return Err(Errno::INVAL);
    }
    if hard > before[1] {
        return Err(Errno::PERM);
    }
    locked(&ctx.process.limits).insert(resource as u32, [soft, hard]);
    if resource as u32 == libc::RLIMIT_NOFILE {
        locked(&ctx.process.descriptors).lower(soft);
    }
    Ok(before)
}

fn record([soft, hard]: [u64; 2]) -> Vec<u8> {
    Record::new().u64(soft).u64(hard).0
}

/// `getrlimit(resource, limit)`.
pub fn getrlimit(ctx: &SyscallContext<'_>, [resource, at, ..]: [u64; 6]) -> Reply {
    ctx.memory.write(at, &record(limit(ctx, resource)?))?;
    Ok(0)
}

/// `setrlimit(resource, limit)`.
pub fn setrlimit(ctx: &SyscallContext<'_>, [resource, at, ..]: [u64; 6]) -> Reply {
    let new = ctx.words(at)?;
    set(ctx, resource, Some(new))?;
    Ok(0)
}

/// `prlimit64(process, resource, new or null, old or null)`.
pub fn prlimit64(ctx: &SyscallContext<'_>, [process, resource, new, old, ..]: [u64; 6]) -> Reply {
    let new = if new == 0 { None } else { Some(ctx.words(new)?) };
    if process as i32 != 0 && process as u32 != ctx.process.number() {
        return Err(Errno::SRCH.into());
    }
    let before = set(ctx, resource, new)?;
    ctx.give(old, &record(before))?;
    Ok(0)
}
