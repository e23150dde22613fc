//! `ioctl`: no device is driven from a domain.
use crate::SyscallContext;
use crate::locked::locked;
use crate::outcome::Reply;
use crate::wire::Record;
use rustix::io::Errno;

/// `ioctl(fd, request, argument)`: a terminal's size (libc's test for line buffering) and `FIOCLEX`; else
/// `ENOTTY`.
pub fn ioctl(ctx: &SyscallContext<'_>, [fd, request, at, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?;
    match request {
        libc::TIOCGWINSZ => {
            let size = rustix::termios::tcgetwinsize(file.fd())?;
            let record = Record::new().u16(size.ws_row).u16(size.ws_col).u16(0).u16(0);
            ctx.memory.write(at, &record.0)?;
        }
        libc::FIOCLEX | libc::FIONCLEX => {
            *locked(&ctx.process.descriptors).close_on_exec(fd as i32)? = request == libc::FIOCLEX;
        }
        _ => return Err(Errno::NOTTY.into()),
    }
    Ok(0)
}
