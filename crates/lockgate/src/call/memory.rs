//! A domain's memory as its emulated system calls see it: [`lockgate_syscall::Memory`].
use crate::space::{Backing, Services, Stride};
use lockgate_abi::PAGE;
use lockgate_syscall::{Exchange, Placement, Protection, Resize};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;

/// Addresses are the module's pointers: the window is 4 GiB-aligned, so their low half is the offset, exactly
/// as for the module's own accesses.
pub(crate) struct Memory<'a> {
    pub(super) stride: &'a Stride,
    pub(super) services: &'a Services,
}

fn offset(address: u64) -> u64 {
    address & 0xffff_ffff
}

impl Memory<'_> {
    fn map_backed(
        &self,
        at: u64,
        length: u64,
        placement: Placement,
        protection: Protection,
        backing: Backing<'_>,
    ) -> Result<u64, Errno> {
        let start = self.services.map(self.stride, offset(at), length, placement, protection, backing)?;
        Ok(self.stride.base() + start)
    }
}

impl lockgate_syscall::Memory for Memory<'_> {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.stride.read(offset(at), into)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.stride.write(offset(at), bytes)
    }

    fn exchange(&self, how: Exchange, file: BorrowedFd<'_>, parts: &[(u64, u64)]) -> Result<u64, Errno> {
        self.stride.exchange(how, file, parts)
    }

    fn writable(&self, at: u64, length: u64) -> u64 {
        let reached = |from: u64, length| self.stride.probe(offset(from), length as usize, true).is_ok();
        if reached(at, length) {
            return length;
        }
        let mut done = 0;
        while done < length {
            let step = (PAGE - at.wrapping_add(done) % PAGE).min(length - done);
            if !reached(at.wrapping_add(done), step) {
                break;
            }
            done += step;
        }
        done
    }

    fn load_u32(&self, at: u64) -> Result<u32, Errno> {
        self.stride.load_u32(offset(at))
    }

    fn wake_shared(&self, at: u64) {
        self.stride.wake_shared(offset(at));
    }

    fn brk(&self, to: u64) -> u64 {
        self.stride.base() + self.services.brk(self.stride, offset(to))
    }

    fn map(&self, at: u64, length: u64, placement: Placement, protection: Protection) -> Result<u64, Errno> {
        self.map_backed(at, length, placement, protection, Backing::Anonymous)
    }

    fn map_shared(
        &self,
        at: u64,
        length: u64,
        placement: Placement,
        protection: Protection,
        (file, from): (BorrowedFd<'_>, u64),
    ) -> Result<u64, Errno> {
        self.map_backed(at, length, placement, protection, Backing::Shared(file, from))
    }

    fn map_copy(
        &self,
        at: u64,
        length: u64,
        placement: Placement,
        protection: Protection,
    ) -> Result<u64, Errno> {
        self.map_backed(at, length, placement, protection, Backing::Copy)
    }

    fn copied(&self, at: u64, length: u64) -> Result<(), Errno> {
        self.services.copied(self.stride, offset(at), length)
    }

    fn unmap(&self, at: u64, length: u64) -> Result<(), Errno> {
        self.services.unmap(self.stride, offset(at), length)
    }

    fn protect(&self, at: u64, length: u64, protection: Protection) -> Result<(), Errno> {
        self.services.protect(self.stride, offset(at), length, protection)
    }

    fn remap(&self, resize: Resize, go_on: &mut dyn FnMut() -> bool) -> Result<u64, Errno> {
        let inside = Resize { at: offset(resize.at), ..resize };
        let to = self.services.remap(self.stride, inside, go_on)?;
        Ok(self.stride.base() + to)
    }

    fn discard(&self, at: u64, length: u64, lazily: bool) -> Result<(), Errno> {
        self.services.discard(self.stride, offset(at), length, lazily)
    }

    fn sync(&self, at: u64, length: u64, wait: bool) -> Result<(), Errno> {
        self.services.sync(self.stride, offset(at), length, wait)
    }

    fn usage(&self) -> (u64, u64) {
        let usage = self.services.usage();
        (usage.limit, usage.used)
    }
}
