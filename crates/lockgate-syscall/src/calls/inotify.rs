//! `inotify_init`, `inotify_init1`, `inotify_add_watch`, `inotify_rm_watch`: beneath granted directories.
use super::event;
use super::pieces::Pieces;
use crate::SyscallContext;
use crate::descriptors::{Behind, Description};
use crate::directories::admit;
use crate::directory::link_of;
use crate::notifications::{Notifications, Watched};
use crate::outcome::{Halt, Reply};
use lockgate_kernel::Identity;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use std::sync::Arc;

/// Bytes that are read at a time: each event may have its directory looked up, between two looks at the call's limits.
const BUFFER: usize = 1 << 10;

/// `inotify_init()`.
pub fn inotify_init(ctx: &SyscallContext<'_>, _: [u64; 6]) -> Reply {
    inotify_init1(ctx, [0; 6])
}

/// `inotify_init1(flags)`.
pub fn inotify_init1(ctx: &SyscallContext<'_>, [flags, ..]: [u64; 6]) -> Reply {
    let flags = OFlags::from_bits_retain(flags as u32);
    // (They have the same bits as of `open`.)
    if !(OFlags::CLOEXEC | OFlags::NONBLOCK).contains(flags) {
        return Err(Errno::INVAL.into());
    }
    // Without a directory there is nothing to watch.
    if !ctx.process.grants.has_directories() {
        return Err(Errno::MFILE.into());
    }
    let instance = Notifications::new(ctx.process.notifications()?)?;
    event::made_as(ctx, flags.bits().into(), Behind::Notifications(instance), || {
        inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
    })
}

/// `inotify_add_watch(fd, path, mask)`.
pub fn inotify_add_watch(ctx: &SyscallContext<'_>, [fd, path, mask, ..]: [u64; 6]) -> Reply {
    let mut flags = WatchFlags::from_bits_retain(mask as u32);
    // (The kernel says whether that is something to watch for, before it looks at the path.)
    if flags.is_empty() {
        return Err(Errno::INVAL.into());
    }
    let file = ctx.process.descriptor(fd as i32)?;
    let notifications = instance(&file)?;
    let path = ctx.path(path)?;
    let follow = !flags.contains(WatchFlags::DONT_FOLLOW);
    let location = ctx.locate(libc::AT_FDCWD, &path)?;
    // The domain's own file, and its list of names, are those of other domains as well: none is to learn from it what others do.
    if location.is_shared() {
        return Err(Errno::ACCESS.into());
    }
    let handle = location.handle(&ctx.process.grants, follow)?;
    admit(&ctx.process.grants, &handle.stat)?;
    let identity = Identity::from(&handle.stat);
    // (A path that climbs behind a symbolic link has no shorter form.)
    let is_directory = FileType::from_raw_mode(handle.stat.st_mode).is_dir();
    if is_directory && !ctx.process.grants.is_at(identity, &location.guest) {
        return Err(Errno::ACCESS.into());
    }
    // What is watched is what was looked at: the kernel follows a link of ours to it.
    flags.remove(WatchFlags::DONT_FOLLOW);
    let link = link_of(&handle.fd);
    let _place = ctx.process.place().map_err(|_| Errno::NOSPC)?;
    let watched = Watched { path: location.guest, identity, _place };
    let number = notifications.add(file.fd(), &link, flags, watched)?;
    Ok(number as u64)
}

/// `inotify_rm_watch(fd, watch)`.
pub fn inotify_rm_watch(ctx: &SyscallContext<'_>, [fd, watch, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?;
    instance(&file)?;
    inotify::remove_watch(file.fd(), watch as i32)?;
    Ok(0)
}

fn instance(file: &Arc<Description>) -> Result<&Notifications, Errno> {
    match &file.behind {
        Behind::Notifications(notifications) => Ok(notifications),
        _ => Err(Errno::INVAL),
    }
}

/// Reads events that the domain may hear of, or waits for one; `read` reads whichever there are.
pub(super) fn read(
    ctx: &SyscallContext<'_>,
    notifications: &Notifications,
    mut pieces: Pieces,
    file: &Description,
    read: impl Fn(&mut [u8]) -> Result<usize, Halt>,
) -> Reply {
    // (The kernel would take a read of nothing for one.)
    let want = pieces.left().min(BUFFER);
    if want == 0 {
        return Err(Errno::INVAL.into());
    }
    let room = pieces.writable(ctx, want);
    if room == 0 {
        return Err(Errno::FAULT.into());
    }
    let mut buffer = vec![0; room];
    loop {
        ctx.check()?;
        let got = read(&mut buffer)?;
        let is_at = |identity, path: &[u8]| ctx.process.grants.is_at(identity, path);
        let heard = notifications.filter(file.fd(), &buffer[..got], is_at);
        if !heard.is_empty() {
            pieces.take(heard.len(), |at, place| ctx.memory.write(at, &heard[place]))?;
            return Ok(heard.len() as u64);
        }
    }
}
