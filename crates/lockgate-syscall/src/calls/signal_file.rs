//! `signalfd`, `signalfd4`.
use super::event;
use super::pieces::Pieces;
use super::signal::SET;
use crate::SyscallContext;
use crate::descriptors::{Behind, Description};
use crate::outcome::Reply;
use crate::signal_files::{RECORD, SignalFile, record};
use crate::signal_state::{FIXED, Info};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::sync::Arc;

/// Most signals of one read.
const READ: usize = 64;

/// `signalfd(fd or -1, set, its size)`.
pub fn signalfd(ctx: &SyscallContext<'_>, [fd, set, size, ..]: [u64; 6]) -> Reply {
    signalfd4(ctx, [fd, set, size, 0, 0, 0])
}

/// `signalfd4(fd or -1, set, its size, flags)`.
pub fn signalfd4(ctx: &SyscallContext<'_>, [fd, set, size, flags, ..]: [u64; 6]) -> Reply {
    if size != SET {
        return Err(Errno::INVAL.into());
    }
    let set = u64::from_le_bytes(ctx.array(set)?) & !FIXED;
    let flags = OFlags::from_bits_retain(flags as u32);
    // (They have the same bits as of `open`.)
    if !(OFlags::CLOEXEC | OFlags::NONBLOCK).contains(flags) {
        return Err(Errno::INVAL.into());
    }
    if fd as i32 != -1 {
        let file = ctx.process.descriptor(fd as i32)?;
        let Behind::Signals { file, .. } = &file.behind else { return Err(Errno::INVAL.into()) };
        file.change(set);
        ctx.process.change_signals(|_| ());
        return Ok(fd & 0xffff_ffff);
    }
    // (The pipe that stands for it has another end, and each end two.)
    let places = [ctx.process.place()?, ctx.process.place()?];
    let (file, shown) = SignalFile::new(set)?;
    let file = Arc::new(file);
    ctx.process.add_signal_file(&file)?;
    event::made_as(ctx, flags.bits().into(), Behind::Signals { file, _places: places }, || Ok(shown))
}

/// Reads signals that wait for the thread or the domain, or waits for one.
pub(super) fn read(
    ctx: &SyscallContext<'_>,
    description: &Description,
    file: &SignalFile,
    mut pieces: Pieces,
) -> Reply {
    let most = (pieces.left() / RECORD).min(READ);
    if most == 0 {
        return Err(Errno::INVAL.into());
    }
    // What has no place in the domain goes on waiting.
    let most = pieces.writable(ctx, most * RECORD) / RECORD;
    if most == 0 {
        return Err(Errno::FAULT.into());
    }
    let slot = ctx.thread.slot;
    let take = || -> Vec<Info> {
        ctx.process.change_signals(|signals| {
            signals.want(slot, 0);
            std::iter::from_fn(|| signals.take(slot, file.set())).take(most).collect()
        })
    };
    let mut taken = take();
    if taken.is_empty() {
        if description.nonblocking() {
            return Err(Errno::AGAIN.into());
        }
        ctx.process.change_signals(|signals| signals.want(slot, file.set()));
        let slept = ctx.sleep_until(None);
        taken = take();
        if taken.is_empty() {
            slept?;
            return Err(Errno::INTR.into());
        }
    }
    let records: Vec<u8> = taken.iter().flat_map(record).collect();
    pieces.take(records.len(), |at, place| ctx.memory.write(at, &records[place]))?;
    Ok(records.len() as u64)
}
