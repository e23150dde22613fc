//! Where in the domain's memory a call reads or writes, and how much of it.
use crate::SyscallContext;
use crate::wire::word;
use rustix::io::Errno;
use std::collections::VecDeque;

/// Most pieces of one vector (Linux's `IOV_MAX`).
const PIECES: u64 = 1024;
/// Most bytes of one call, as in Linux (`MAX_RW_COUNT`).
pub(super) const MOST: u64 = 0x7fff_f000;
/// Most bytes of one message: more than the kernel takes, unless an administrator raised its limits (`net.core.wmem_max`).
pub(super) const MESSAGE: usize = 1 << 20;

/// Parts of the domain's memory that a call reads or writes, in order.
pub(super) struct Pieces(VecDeque<(u64, u64)>);

impl Pieces {
    pub(super) fn one(at: u64, length: u64) -> Self {
        Pieces(VecDeque::from([(at, length.min(MOST))]))
    }

    /// Copies a `struct iovec[count]`, once.
    pub(super) fn copied(ctx: &SyscallContext<'_>, vector: u64, count: u64) -> Result<Self, Errno> {
        if count > PIECES {
            return Err(Errno::INVAL);
        }
        let mut bytes = vec![0; count as usize * 16];
        ctx.memory.read(vector, &mut bytes)?;
        let pieces: VecDeque<_> = bytes.chunks(16).map(|piece| (word(piece, 0), word(piece, 8))).collect();
        let total = pieces.iter().try_fold(0u64, |total, (_, length)| total.checked_add(*length));
        if total.is_none_or(|total| total > i64::MAX as u64) {
            return Err(Errno::INVAL);
        }
        Ok(Pieces(pieces))
    }

    /// Bytes that are left, at most [`MOST`].
    pub(super) fn left(&self) -> usize {
        self.0.iter().map(|(_, length)| *length).sum::<u64>().min(MOST) as usize
    }

    /// How many of the first `bytes` can be written in the domain.
    pub(super) fn writable(&self, ctx: &SyscallContext<'_>, bytes: usize) -> usize {
        let mut fits = 0;
        for (at, length) in &self.0 {
            let step = (*length).min(bytes as u64 - fits);
            let here = ctx.memory.writable(*at, step);
            fits += here;
            if here < step || fits == bytes as u64 {
                break;
            }
        }
        fits as usize
    }

    /// Takes `bytes` off the front, piece by piece: gives each part's address and place in the buffer.
    pub(super) fn take(
        &mut self,
        bytes: usize,
        mut part: impl FnMut(u64, std::ops::Range<usize>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut done = 0;
        while done < bytes {
            let (at, length) = self.0.front_mut().expect("no more is taken than is left");
            let step = (*length).min((bytes - done) as u64);
            if step > 0 {
                part(*at, done..done + step as usize)?;
            }
            done += step as usize;
            *at = at.checked_add(step).ok_or(Errno::FAULT)?;
            *length -= step;
            if *length == 0 {
                self.0.pop_front();
            }
        }
        Ok(())
    }
}
