//! `select`, `pselect6`: as `poll`, with sets of bits.
use super::poll::{Entry, look};
use super::signal;
use crate::SyscallContext;
use crate::outcome::{Halt, Reply};
use crate::wire::{Record, word};
use lockgate_kernel::locked;
use rustix::event::PollFlags;
use rustix::io::Errno;
use std::time::{Duration, Instant};

/// What puts a descriptor into each of the three sets.
const SETS: [PollFlags; 3] = [
    PollFlags::IN
        .union(PollFlags::RDNORM)
        .union(PollFlags::RDBAND)
        .union(PollFlags::HUP)
        .union(PollFlags::ERR),
    PollFlags::OUT.union(PollFlags::WRNORM).union(PollFlags::WRBAND).union(PollFlags::ERR),
    PollFlags::PRI,
];

/// `select(count, reading, writing, exceptions, struct timeval or null)`, which is what is left afterwards.
pub fn select(ctx: &SyscallContext<'_>, [count, reading, writing, others, at, _]: [u64; 6]) -> Reply {
    let timeout = match at {
        0 => None,
        _ => {
            let [seconds, microseconds] = ctx.words(at)?.map(|word| word as i64);
            let (Ok(seconds), Ok(microseconds)) = (u64::try_from(seconds), u64::try_from(microseconds))
            else {
                return Err(Errno::INVAL.into());
            };
            Duration::from_secs(seconds).checked_add(Duration::from_micros(microseconds))
        }
    };
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let reply = wait(ctx, count, [reading, writing, others], until);
    if let Some(until) = until {
        let left = until.saturating_duration_since(Instant::now());
        // (What is left is told where it can be, as Linux does.)
        let _ = ctx.memory.write(at, &Record::new().u64(left.as_secs()).u64(left.subsec_micros().into()).0);
    }
    reply
}

/// `pselect6(count, reading, writing, exceptions, struct timespec or null, mask and its size, or null)`.
pub fn pselect6(
    ctx: &SyscallContext<'_>,
    [count, reading, writing, others, timeout, mask]: [u64; 6],
) -> Reply {
    let timeout = if timeout == 0 { None } else { Some(ctx.timespec(timeout)?) };
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let [mask, size] = if mask == 0 { [0, 0] } else { ctx.words(mask)? };
    signal::with_mask_at(ctx, mask, size, || wait(ctx, count, [reading, writing, others], until))
}

fn wait(ctx: &SyscallContext<'_>, count: u64, sets: [u64; 3], until: Option<Instant>) -> Reply {
    // Beyond its table a domain has no descriptors: Linux, too, looks no further than that.
    let most = locked(&ctx.process.descriptors).limit();
    let count = Some(count as i32).filter(|&count| count >= 0).ok_or(Errno::INVAL)?.min(most);
    let words = (count as usize).div_ceil(64);
    let mut asked = [const { Vec::new() }; 3];
    for (set, at) in asked.iter_mut().zip(sets) {
        let mut bytes = vec![0; words * 8];
        if at != 0 {
            ctx.memory.read(at, &mut bytes)?;
        }
        *set = (0..words).map(|index| word(&bytes, index * 8)).collect::<Vec<_>>();
    }
    let bit = |number: i32| (number as usize / 64, 1u64 << (number % 64));
    let wants = |set: &[u64], number| set[bit(number).0] & bit(number).1 != 0;
    let mut entries = Vec::new();
    for number in 0..count {
        let events = (0..3).filter(|&set| wants(&asked[set], number)).map(|set| SETS[set]);
        let events = events.fold(PollFlags::empty(), PollFlags::union);
        if !events.is_empty() {
            ctx.process.descriptor(number)?;
            entries.push(Entry::new(ctx, number, events));
        }
    }
    look(ctx, &mut entries, until)?;
    let mut found = [const { Vec::new() }; 3].map(|_: Vec<u64>| vec![0u64; words]);
    let mut total = 0;
    for entry in &entries {
        // (It was closed meanwhile.)
        if entry.found().contains(PollFlags::NVAL) {
            return Err(Halt::Errno(Errno::BADF));
        }
        for set in 0..3 {
            if wants(&asked[set], entry.number()) && entry.found().intersects(SETS[set]) {
                let (word, bit) = bit(entry.number());
                found[set][word] |= bit;
                total += 1;
            }
        }
    }
    for (set, at) in found.iter().zip(sets) {
        if at != 0 {
            let record = set.iter().fold(Record::new(), |record, word| record.u64(*word));
            ctx.memory.write(at, &record.0)?;
        }
    }
    Ok(total)
}
