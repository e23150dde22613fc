//! `mmap`, `munmap`, `mprotect`, `mremap`, `madvise`, `msync`: memory of the window, never executable.
use crate::descriptors::{Behind, Description, Kind};
use crate::memory::CHUNK;
use crate::outcome::{Halt, Reply};
use crate::{Placement, Protection, Resize, SyscallContext};
use rustix::io::Errno;

const PAGE: u64 = lockgate_abi::PAGE;

/// Rights from `PROT_*` bits.
fn protection(bits: u64) -> Result<Protection, Errno> {
    let [read, write, exec] = [libc::PROT_READ, libc::PROT_WRITE, libc::PROT_EXEC].map(|bit| bit as u64);
    match bits {
        _ if bits & exec != 0 => Err(Errno::PERM),
        _ if bits & !(read | write) != 0 => Err(Errno::INVAL),
        _ if bits & write != 0 => Ok(Protection::ReadWrite),
        _ if bits & read != 0 => Ok(Protection::Read),
        _ => Ok(Protection::None),
    }
}

/// `length` in whole pages.
fn pages(length: u64) -> Result<u64, Errno> {
    match length.checked_next_multiple_of(PAGE) {
        Some(length) if length > 0 => Ok(length),
        Some(_) => Err(Errno::INVAL),
        None => Err(Errno::NOMEM),
    }
}

/// `mmap(address, length, protection, flags, fd, offset)`: anonymous memory, a file that the module opened
/// (shared), or a copy of one (private).
///
/// A copy does not follow later writes to the file; POSIX leaves that open for `MAP_PRIVATE`.
pub fn mmap(ctx: &SyscallContext<'_>, [at, length, prot, flags, fd, offset]: [u64; 6]) -> Reply {
    let flags = flags as i32;
    // (A file's descriptor and offset are looked at first, as in Linux.)
    let file = match flags & libc::MAP_ANONYMOUS != 0 {
        true => None,
        false if !offset.is_multiple_of(PAGE) => return Err(Errno::INVAL.into()),
        false => Some(ctx.process.descriptor(fd as i32)?),
    };
    let protection = protection(prot)?;
    let length = pages(length)?;
    if flags & (libc::MAP_HUGETLB | libc::MAP_GROWSDOWN) != 0 {
        return Err(Errno::INVAL.into());
    }
    let placement = match flags {
        _ if flags & libc::MAP_FIXED_NOREPLACE != 0 => Placement::FixedNoReplace,
        _ if flags & libc::MAP_FIXED != 0 => Placement::Fixed,
        _ => Placement::Anywhere,
    };
    if placement != Placement::Anywhere && at % PAGE != 0 {
        return Err(Errno::INVAL.into());
    }
    let Some(file) = file else {
        return Ok(ctx.memory.map(at, length, placement, protection)?);
    };
    if offset.checked_add(length).is_none_or(|end| end > i64::MAX as u64) {
        return Err(Errno::OVERFLOW.into());
    }
    if file.kind != Kind::Regular {
        return Err(Errno::NODEV.into());
    }
    if !file.readable {
        return Err(Errno::ACCESS.into());
    }
    match flags & libc::MAP_TYPE {
        0 => return Err(Errno::INVAL.into()),
        libc::MAP_PRIVATE => {}
        // A granted stream's host descriptor may have more rights than were granted, and mprotect would find them.
        libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE if is_own(&file) => {
            if let Behind::Memory(memory) = &file.behind {
                memory.is_mapped();
            }
            return Ok(ctx.memory.map_shared(at, length, placement, protection, (file.fd(), offset))?);
        }
        _ => return Err(Errno::NODEV.into()),
    }
    let base = ctx.memory.map_copy(at, length, placement, protection)?;
    let filled: Result<(), Halt> = (|| {
        let mut chunk = vec![0; CHUNK.min(length as usize)];
        let mut done = 0;
        while done < length {
            ctx.check()?; // a file may be large
            let want = chunk.len().min((length - done) as usize);
            let read = rustix::io::pread(file.fd(), &mut chunk[..want], offset + done)?;
            if read == 0 {
                break;
            }
            ctx.memory.write(base + done, &chunk[..read])?;
            done += read as u64;
        }
        Ok(ctx.memory.copied(base, length)?)
    })();
    match filled {
        Ok(()) => Ok(base),
        Err(halt) => {
            ctx.memory.unmap(base, length)?;
            Err(halt)
        }
    }
}

/// Whether the domain has opened or made the file itself.
fn is_own(file: &Description) -> bool {
    !file.path.is_empty() || matches!(file.behind, Behind::Memory(_))
}

/// `munmap(address, length)`.
pub fn munmap(ctx: &SyscallContext<'_>, [at, length, ..]: [u64; 6]) -> Reply {
    ctx.memory.unmap(aligned(at)?, pages(length)?)?;
    Ok(0)
}

/// `mprotect(address, length, protection)`; executable is refused with `EPERM`.
pub fn mprotect(ctx: &SyscallContext<'_>, [at, length, prot, ..]: [u64; 6]) -> Reply {
    let protection = protection(prot)?;
    let at = aligned(at)?;
    if length != 0 {
        ctx.memory.protect(at, pages(length)?, protection)?;
    }
    Ok(0)
}

/// `mremap(address, length, new_length, flags)`; `MREMAP_FIXED` and `MREMAP_DONTUNMAP` are refused.
pub fn mremap(ctx: &SyscallContext<'_>, [at, length, new_length, flags, ..]: [u64; 6]) -> Reply {
    let may_move = match i32::try_from(flags) {
        Ok(0) => false,
        Ok(libc::MREMAP_MAYMOVE) => true,
        _ => return Err(Errno::INVAL.into()),
    };
    let mut halt = None;
    let mut go_on = || match ctx.check() {
        Ok(()) => true,
        Err(why) => {
            halt = Some(why);
            false
        }
    };
    let resize =
        Resize { at: aligned(at)?, length: pages(length)?, new_length: pages(new_length)?, may_move };
    let done = ctx.memory.remap(resize, &mut go_on);
    match halt {
        Some(why) => Err(why),
        None => Ok(done?),
    }
}

/// `madvise(address, length, advice)`: `MADV_DONTNEED`, and `MADV_FREE` of much, drop the contents, but not those of a file's copy; known
/// hints do nothing.
pub fn madvise(ctx: &SyscallContext<'_>, [at, length, advice, ..]: [u64; 6]) -> Reply {
    let at = aligned(at)?;
    match advice as i32 {
        libc::MADV_DONTNEED | libc::MADV_FREE if length != 0 => {
            ctx.memory.discard(at, pages(length)?, advice as i32 == libc::MADV_FREE)?;
        }
        libc::MADV_DONTNEED
        | libc::MADV_FREE
        | libc::MADV_NORMAL
        | libc::MADV_RANDOM
        | libc::MADV_SEQUENTIAL
        | libc::MADV_WILLNEED
        | libc::MADV_HUGEPAGE
        | libc::MADV_NOHUGEPAGE
        | libc::MADV_COLD
        | libc::MADV_PAGEOUT => {}
        _ => return Err(Errno::INVAL.into()),
    }
    Ok(0)
}

/// `msync(address, length, flags)`: the kernel writes shared files itself sooner or later; `MS_SYNC` waits until it has.
pub fn msync(ctx: &SyscallContext<'_>, [at, length, flags, ..]: [u64; 6]) -> Reply {
    let wait = match flags as i32 & !libc::MS_INVALIDATE {
        0 | libc::MS_ASYNC => false,
        libc::MS_SYNC => true,
        _ => return Err(Errno::INVAL.into()),
    };
    let at = aligned(at)?;
    if length != 0 {
        ctx.memory.sync(at, pages(length)?, wait)?;
    }
    Ok(0)
}

fn aligned(at: u64) -> Result<u64, Errno> {
    if at.is_multiple_of(PAGE) { Ok(at) } else { Err(Errno::INVAL) }
}
