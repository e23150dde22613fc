//! `ioctl`: no device is driven from a domain.
use crate::SyscallContext;
use crate::descriptors::Kind;
use crate::outcome::Reply;
use crate::wire::Record;
use lockgate_kernel::locked;
use rustix::fs::OFlags;
use rustix::io::Errno;

/// `ioctl(fd, request, argument)`: a terminal's size (libc's test for line buffering), `FIOCLEX`, `FIONBIO`, and `FIONREAD` of what the
/// domain opened; else `ENOTTY`.
pub fn ioctl(ctx: &SyscallContext<'_>, [fd, request, at, ..]: [u64; 6]) -> Reply {
    let file = ctx.process.descriptor(fd as i32)?;
    match request {
        libc::TIOCGWINSZ => {
            let size = rustix::termios::tcgetwinsize(file.fd())?;
            let record = Record::new().u16(size.ws_row).u16(size.ws_col).u16(0).u16(0);
            ctx.memory.write(at, &record.0)?;
        }
        libc::FIONBIO => {
            let on = ctx.array::<4>(at)? != [0; 4];
            let others = file.status() & OFlags::APPEND;
            file.set_status(if on { others | OFlags::NONBLOCK } else { others })?;
        }
        // (A stream of the host's may be a device with an idea of its own of this request.)
        libc::FIONREAD if !file.granted && file.kind != Kind::Directory && file.is_kernels() => {
            let bytes = match file.kind {
                Kind::Regular => {
                    let position = rustix::fs::tell(file.fd())? as i64;
                    (rustix::fs::fstat(file.fd())?.st_size - position) as i32
                }
                _ => rustix::io::ioctl_fionread(file.fd())? as i32,
            };
            ctx.memory.write(at, &bytes.to_le_bytes())?;
        }
        libc::FIOCLEX | libc::FIONCLEX => {
            *locked(&ctx.process.descriptors).close_on_exec(fd as i32)? = request == libc::FIOCLEX;
        }
        _ => return Err(Errno::NOTTY.into()),
    }
    Ok(0)
}
