//! `getrandom`.
use crate::SyscallContext;
use crate::outcome::Reply;
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

/// Most bytes that one call gives; the kernel itself never gives fewer if asked for no more.
const MOST: u64 = 256;

/// `getrandom(buffer, length, flags)`. `GRND_RANDOM` has meant nothing since Linux 5.6.
pub fn getrandom(ctx: &SyscallContext<'_>, [at, length, flags, ..]: [u64; 6]) -> Reply {
    let flags = u32::try_from(flags).ok().and_then(GetRandomFlags::from_bits).ok_or(Errno::INVAL)?;
    let mut bytes = [0; MOST as usize];
    let wanted = &mut bytes[..length.min(MOST) as usize];
    let given = rustix::rand::getrandom(&mut *wanted, flags.difference(GetRandomFlags::RANDOM))?;
    ctx.memory.write(at, &wanted[..given])?;
    Ok(given as u64)
}
