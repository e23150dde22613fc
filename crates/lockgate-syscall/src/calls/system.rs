//! `uname`, `sysinfo`, `getrusage`, `times`: a small machine of the domain's own.
use crate::SyscallContext;
use crate::outcome::Reply;
use crate::wire::Record;
use rustix::time::{ClockId, clock_gettime};

/// `uname(utsname)`: fixed strings; the host's name and kernel stay its own.
pub fn uname(ctx: &SyscallContext<'_>, [at, ..]: [u64; 6]) -> Reply {
    const FIELD: usize = 65;
    let fields: [&[u8]; 6] = [b"Linux", b"lockgate", b"6.1.0", b"#1 Lockgate domain", b"x86_64", b"(none)"];
    let record = fields
        .iter()
        .enumerate()
        .fold(Record::new(), |record, (i, field)| record.bytes(field).padded_to((i + 1) * FIELD));
    ctx.memory.write(at, &record.0)?;
    Ok(0)
}

/// `sysinfo(info)`: memory is the domain's quota.
pub fn sysinfo(ctx: &SyscallContext<'_>, [at, ..]: [u64; 6]) -> Reply {
    const SIZE: usize = 112;
    let (limit, used) = ctx.memory.usage();
    let uptime = clock_gettime(ClockId::Monotonic).tv_sec;
    let record = Record::new()
        .i64(uptime)
        .bytes(&[0; 24]) // load averages
        .u64(limit)
        .u64(limit.saturating_sub(used))
        .bytes(&[0; 32]) // shared, buffers, swap and its free part
        .u16(1) // processes
        .padded_to(SIZE - 8)
        .u32(1) // bytes of a memory unit
        .padded_to(SIZE);
    ctx.memory.write(at, &record.0)?;
    Ok(0)
}

/// `getrusage(who, usage)`: CPU time of the calling thread, the rest zero.
pub fn getrusage(ctx: &SyscallContext<'_>, [_, at, ..]: [u64; 6]) -> Reply {
    const SIZE: usize = 144;
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let record = Record::new().i64(time.tv_sec).i64(time.tv_nsec / 1000).padded_to(SIZE);
    ctx.memory.write(at, &record.0)?;
    Ok(0)
}

/// `times(tms or null)`: CPU time of the calling thread, in hundredths of a second.
pub fn times(ctx: &SyscallContext<'_>, [at, ..]: [u64; 6]) -> Reply {
    let ticks = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec * 100 + time.tv_nsec / 10_000_000
    };
    ctx.give(at, &Record::new().i64(ticks(ClockId::ThreadCPUTime)).padded_to(32).0)?;
    Ok(ticks(ClockId::Monotonic) as u64)
}
