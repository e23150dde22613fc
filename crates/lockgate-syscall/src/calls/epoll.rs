//! `epoll_create`, `epoll_ctl`, `epoll_wait` and their like. The set is the kernel's; the wait is where a deadline ends it.
use super::{event, signal};
use crate::SyscallContext;
use crate::descriptors::Description;
use crate::memory::EVENT;
use crate::outcome::Reply;
use crate::wire::{Record, half};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFlags, Timespec};
use rustix::io::Errno;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most events that are copied by one call: more than a domain has descriptors.
pub(super) const EVENTS: usize = 256;
/// What a domain may ask about. (Not `EPOLLWAKEUP`: whether the machine sleeps is not a domain's business.)
const EVENT_FLAGS: EventFlags = EventFlags::IN
    .union(EventFlags::OUT)
    .union(EventFlags::PRI)
    .union(EventFlags::ERR)
    .union(EventFlags::HUP)
    .union(EventFlags::RDNORM)
    .union(EventFlags::RDBAND)
    .union(EventFlags::WRNORM)
    .union(EventFlags::WRBAND)
    .union(EventFlags::MSG)
    .union(EventFlags::RDHUP)
    .union(EventFlags::EXCLUSIVE)
    .union(EventFlags::ONESHOT)
    .union(EventFlags::ET);

/// `epoll_create(size)`.
pub fn epoll_create(ctx: &SyscallContext<'_>, [size, ..]: [u64; 6]) -> Reply {
    if size as i32 <= 0 {
        return Err(Errno::INVAL.into());
    }
    epoll_create1(ctx, [0; 6])
}

/// `epoll_create1(flags)`.
pub fn epoll_create1(ctx: &SyscallContext<'_>, [flags, ..]: [u64; 6]) -> Reply {
    if !CreateFlags::CLOEXEC.contains(CreateFlags::from_bits_retain(flags as u32)) {
        return Err(Errno::INVAL.into());
    }
    event::made(ctx, flags, || {
        let set = epoll::create(CreateFlags::CLOEXEC)?;
        // Each wait ends when the domain is killed. (No call gives this event to the domain.)
        epoll::add(&set, ctx.process.waits.event()?, EventData::new_u64(0), EventFlags::IN)?;
        Ok(set)
    })
}

/// The set that a descriptor is. (The kernel says whether it is one. A stream of the host's is none.)
fn set(ctx: &SyscallContext<'_>, fd: u64) -> Result<Arc<Description>, Errno> {
    let set = ctx.process.descriptor(fd as i32)?;
    if set.granted { Err(Errno::INVAL) } else { Ok(set) }
}

/// `epoll_ctl(set, operation, fd, event)`.
pub fn epoll_ctl(ctx: &SyscallContext<'_>, [fd, operation, watched, at, ..]: [u64; 6]) -> Reply {
    let operation = operation as i32;
    let event = match operation {
        libc::EPOLL_CTL_DEL => None,
        _ => Some(ctx.array::<EVENT>(at)?),
    };
    let number = watched as i32;
    let (set, watched) = (set(ctx, fd)?, ctx.process.descriptor(number)?);
    let (host, shared) = (set.fd(), set.shared());
    let event = event.map(|event| {
        let data = u64::from_le_bytes(*event[4..].first_chunk().expect("eight bytes"));
        (EventData::new_u64(data), EventFlags::from_bits_retain(half(&event, 0)) & EVENT_FLAGS)
    });
    match (operation, event) {
        (libc::EPOLL_CTL_ADD, Some((data, flags))) => {
            let place = || ctx.process.place();
            watched.begin_watch(shared, number, place, |file| epoll::add(host, file, data, flags))?;
        }
        (libc::EPOLL_CTL_MOD, Some((data, flags))) => {
            watched.change_watch(&shared, number, |file| epoll::modify(host, file, data, flags))?;
        }
        (libc::EPOLL_CTL_DEL, None) => {
            watched.end_watch(&shared, number, |file| epoll::delete(host, file))?;
        }
        _ => return Err(Errno::INVAL.into()),
    }
    Ok(0)
}

/// `epoll_wait(set, events, most, milliseconds)`; negative is for ever.
pub fn epoll_wait(ctx: &SyscallContext<'_>, [fd, at, most, timeout, ..]: [u64; 6]) -> Reply {
    wait(ctx, fd, at, most, milliseconds(timeout))
}

/// `epoll_pwait(set, events, most, milliseconds, mask or null, set size)`.
pub fn epoll_pwait(ctx: &SyscallContext<'_>, [fd, at, most, timeout, mask, size]: [u64; 6]) -> Reply {
    signal::with_mask_at(ctx, mask, size, || wait(ctx, fd, at, most, milliseconds(timeout)))
}

/// `epoll_pwait2(set, events, most, timeout or null, mask or null, set size)`.
pub fn epoll_pwait2(ctx: &SyscallContext<'_>, [fd, at, most, timeout, mask, size]: [u64; 6]) -> Reply {
    let timeout = if timeout == 0 { None } else { Some(ctx.timespec(timeout)?) };
    signal::with_mask_at(ctx, mask, size, || wait(ctx, fd, at, most, timeout))
}

fn milliseconds(timeout: u64) -> Option<Duration> {
    u64::try_from(timeout as i32).ok().map(Duration::from_millis)
}

fn wait(ctx: &SyscallContext<'_>, fd: u64, at: u64, most: u64, timeout: Option<Duration>) -> Reply {
    let most = usize::try_from(most as i32).ok().filter(|&most| most > 0).ok_or(Errno::INVAL)?;
    let set = set(ctx, fd)?;
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut room = vec![Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; most.min(EVENTS)];
    loop {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let events = epoll::wait(set.fd(), room.as_mut_slice(), Some(&now))?;
        // (An event may be the end of the domain.)
        ctx.check()?;
        if events > 0 {
            let record = room[..events].iter().fold(Record::new(), |record, event| {
                record.u32({ event.flags }.bits()).u64({ event.data }.u64())
            });
            ctx.memory.write(at, &record.0)?;
            return Ok(events as u64);
        }
        // (Without time to wait no signal is let in.)
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Ok(0);
        }
        ctx.check_signals()?;
        if !ctx.process.waits.poll(ctx.caller(), &mut [(set.fd(), PollFlags::IN)], until)? {
            return Ok(0);
        }
    }
}
