//! `poll`, `ppoll`.
use super::signal;
use crate::SyscallContext;
use crate::descriptors::{self, Kind};
use crate::outcome::{Halt, Reply};
use crate::wire::{Record, half};
use lockgate_kernel::locked;
use rustix::event::PollFlags;
use rustix::io::Errno;
use std::time::{Duration, Instant};

/// `poll(fds, count, milliseconds)`; negative is for ever.
pub fn poll(ctx: &SyscallContext<'_>, [fds, count, timeout, ..]: [u64; 6]) -> Reply {
    let timeout = u64::try_from(timeout as i32).ok().map(Duration::from_millis);
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    wait(ctx, fds, count, until)
}

/// `ppoll(fds, count, timeout or null, mask or null, set size)`.
pub fn ppoll(ctx: &SyscallContext<'_>, [fds, count, timeout, mask, size, ..]: [u64; 6]) -> Reply {
    let until = if timeout == 0 { None } else { Instant::now().checked_add(ctx.timespec(timeout)?) };
    signal::with_mask_at(ctx, mask, size, || wait(ctx, fds, count, until))
}

/// One `struct pollfd`: number, events asked for, and what it came to.
pub(super) struct Entry {
    number: i32,
    asked: PollFlags,
    file: Option<std::sync::Arc<descriptors::Description>>,
    found: PollFlags,
}

fn wait(ctx: &SyscallContext<'_>, at: u64, count: u64, until: Option<Instant>) -> Reply {
    const SIZE: usize = 8;
    if count > locked(&ctx.process.descriptors).limit() as u64 {
        return Err(Errno::INVAL.into());
    }
    let mut bytes = vec![0; count as usize * SIZE];
    ctx.memory.read(at, &mut bytes)?;
    let asked = |raw| PollFlags::from_bits_retain(half(raw, 4) as u16);
    let mut entries: Vec<Entry> =
        bytes.chunks(SIZE).map(|raw| Entry::new(ctx, half(raw, 0) as i32, asked(raw))).collect();
    look(ctx, &mut entries, until)?;
    let record = entries.iter().fold(Record::new(), |record, entry| {
        record.u32(entry.number as u32).u16(entry.asked.bits()).u16(entry.found.bits())
    });
    ctx.memory.write(at, &record.0)?;
    Ok(entries.iter().filter(|entry| !entry.found.is_empty()).count() as u64)
}

/// Waits until one of them is ready for what was asked, or until `until`, and says of each for what it is.
pub(super) fn look(
    ctx: &SyscallContext<'_>,
    entries: &mut [Entry],
    until: Option<Instant>,
) -> Result<(), Halt> {
    let settled = entries.iter().any(|entry| !entry.found.is_empty());
    let until = if settled { Some(Instant::now()) } else { until };
    let files: Vec<_> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.found.is_empty())
        .filter_map(|(i, entry)| Some((i, entry.file.clone()?, entry.asked)))
        .collect();
    let mut waiting: Vec<_> = files.iter().map(|(_, file, asked)| (file.fd(), *asked)).collect();
    if waiting.is_empty() {
        // No host descriptor is needed to wait for nothing.
        ctx.sleep_until(until)?;
    } else {
        ctx.process.waits.poll(ctx.caller(), &mut waiting, until)?;
    }
    let found: Vec<_> = waiting.iter().map(|(_, found)| *found).collect();
    for ((i, ..), found) in files.iter().zip(found) {
        entries[*i].found = found;
    }
    Ok(())
}

/// What files and directories are ready for, always.
const READY: PollFlags =
    PollFlags::IN.union(PollFlags::OUT).union(PollFlags::RDNORM).union(PollFlags::WRNORM);

impl Entry {
    pub(super) fn new(ctx: &SyscallContext<'_>, number: i32, asked: PollFlags) -> Entry {
        let file = if number < 0 { None } else { ctx.process.descriptor(number).ok() };
        let found = match &file {
            None if number >= 0 => PollFlags::NVAL,
            // Files and directories are always ready.
            Some(file) if file.kind != Kind::Stream => asked & READY,
            _ => PollFlags::empty(),
        };
        Entry { number, asked, file, found }
    }

    pub(super) fn number(&self) -> i32 {
        self.number
    }

    pub(super) fn found(&self) -> PollFlags {
        self.found
    }
}
