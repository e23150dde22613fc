//! A module's image in a sealed memory file: thunks, then the segments at their addresses.
use crate::host::{environment, memory_file};
use crate::space::{Backing, Stride};
use lockgate_abi::{PAGE, window};
use lockgate_kernel::Identity;
use lockgate_verify::SegmentKind;
use rustix::fs::{self, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::ProtFlags;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Length of the thunks at the start of the file, bytes.
const THUNKS: u64 = window::IMAGE - window::THUNKS;

/// What domains map.
#[derive(Debug)]
pub(crate) struct Image {
    file: OwnedFd,
    /// Which file it is.
    identity: Identity,
    /// Segments in address order: address, length, rights. Addresses here are image-relative.
    segments: Vec<(u64, u64, SegmentKind)>,
    /// Words to relocate, in address order: address, value.
    relocations: Vec<(u64, u64)>,
    /// Address of the data, its bytes before relocation.
    data: Vec<(u64, Vec<u8>)>,
}

/// A word of a module that joins: address, and what it is to hold.
pub(crate) type Filled = (u64, u64);

impl Image {
    /// Copies the parsed, verified bytes into a file that no process can write any more.
    ///
    /// # Errors
    /// The kernel's: no memory, no descriptors, `memfd_create` forbidden.
    pub fn new(module: &lockgate_verify::Module, thunks: &[u8]) -> Result<Image, Errno> {
        // MFD_EXEC is asked for where the kernel knows it (6.3); older ones imply it.
        let (flags, wanted) = (MemfdFlags::ALLOW_SEALING, MemfdFlags::EXEC);
        let file = memory_file("lockgate-module", flags, wanted, THUNKS + module.image_size)?;
        write_at(&file, thunks, 0)?;
        let mut segments: Vec<(u64, u64, SegmentKind)> = Vec::new();
        let mut data = Vec::new();
        for segment in &module.segments {
            write_at(&file, &segment.bytes, THUNKS + segment.address)?;
            match segments.last_mut() {
                // As one kernel mapping.
                Some((last, length, kind)) if *kind == segment.kind && *last + *length == segment.address => {
                    *length += segment.size;
                }
                _ => segments.push((segment.address, segment.size, segment.kind)),
            }
            if segment.kind == SegmentKind::Data {
                data.push((segment.address, segment.bytes.clone()));
            }
        }
        seal(&file)?;
        let relocations = module.relocations.iter().map(|r| (r.at, r.addend)).collect();
        Ok(Image { identity: identity(&file)?, file, segments, relocations, data })
    }

    /// Address and length of the code, image-relative: the first segment (rule V0).
    pub fn code(&self) -> (u64, u64) {
        let code = self.segments.first().map(|(at, length, _)| (*at, *length));
        code.unwrap_or_default()
    }

    /// Maps the image at window offset `place`, with `words` filled; at [`window::IMAGE`] with the thunks before it. Threads may be
    /// in the window: code becomes executable when everything else is ready.
    ///
    /// # Errors
    /// The kernel's, `ENOMEM` mostly. No code is mapped then.
    pub fn map(&self, stride: &Stride, place: u64, words: &[Filled]) -> Result<(), Errno> {
        self.map_data(stride, place, words)?;
        for (at, length) in self.executable(place) {
            let offset = at + THUNKS - place;
            // Code that joins is never writable, whatever `perf` would like: threads are in the window.
            if place == window::IMAGE && environment::perf_map() {
                self.copy_code(stride, at, length, offset)?;
                continue;
            }
            let access = ProtFlags::READ | ProtFlags::EXEC;
            stride.map(at, length, access, self.backing(place, offset)?)?;
        }
        Ok(())
    }

    /// The file from an offset, for an image at `place`. Threads can be in the window of one that joins.
    ///
    /// # Errors
    /// As [`file`](Image::file).
    fn backing(&self, place: u64, offset: u64) -> Result<Backing<'_>, Errno> {
        let map = if place == window::IMAGE { Backing::Image } else { Backing::Joining };
        Ok(map(self.file()?, offset))
    }

    /// The file that was verified, and no other that has its number by now: what is mapped from it runs.
    ///
    /// # Errors
    /// `EBADF`: the host has closed what it has not opened, or the calling thread has a table of descriptors of its own.
    fn file(&self) -> Result<BorrowedFd<'_>, Errno> {
        if identity(&self.file)? == self.identity { Ok(self.file.as_fd()) } else { Err(Errno::BADF) }
    }

    /// Window offset and length of code, and of the thunks: as one kernel mapping if there is nothing between.
    fn executable(&self, place: u64) -> Vec<(u64, u64)> {
        // The verifier lets nothing else be the first segment.
        let (at, length, _) = self.segments[0];
        match (place, at) {
            (window::IMAGE, 0) => vec![(window::THUNKS, THUNKS + length)],
            (window::IMAGE, _) => vec![(window::THUNKS, THUNKS), (place + at, length)],
            _ => vec![(place + at, length)],
        }
    }

    /// Everything but code.
    fn map_data(&self, stride: &Stride, place: u64, words: &[Filled]) -> Result<(), Errno> {
        for &(at, length, kind) in &self.segments {
            let access = match kind {
                SegmentKind::Code => continue,
                SegmentKind::Constants => ProtFlags::READ,
                SegmentKind::Data => ProtFlags::READ | ProtFlags::WRITE,
            };
            stride.map(place + at, length, access, self.backing(place, THUNKS + at)?)?;
        }
        self.relocate(stride, place, words)
    }

    /// The same code in anonymous memory: `perf` looks for names of no other (docs/debugging.md).
    fn copy_code(&self, stride: &Stride, at: u64, length: u64, from: u64) -> Result<(), Errno> {
        stride.map(at, length, ProtFlags::READ | ProtFlags::WRITE, Backing::Anonymous)?;
        let mut page = [0; PAGE as usize];
        for offset in (0..length).step_by(page.len()) {
            let read = rustix::io::pread(self.file()?, &mut page[..], from + offset)?;
            stride.write(at + offset, &page[..read])?;
        }
        stride.execute(at, length)
    }

    /// Brings the data of the image at `place` back to what mapping it left.
    ///
    /// # Errors
    /// The kernel's.
    pub fn reset(&self, stride: &Stride, place: u64, words: &[Filled]) -> Result<(), Errno> {
        for range in self.data(place) {
            stride.discard(range.start, range.end - range.start)?;
        }
        self.relocate(stride, place, words)
    }

    /// Data: window offsets of what the module at `place` can write.
    pub fn data(&self, place: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        self.segments
            .iter()
            .filter(|(_, _, kind)| *kind == SegmentKind::Data)
            .map(move |&(at, length, _)| place + at..place + at + length)
    }

    /// Code and constants at `place`: what may be sealed for good, window offset and length.
    pub fn fixed(&self, place: u64) -> Vec<(u64, u64)> {
        let constants = self.segments.iter().filter(|(_, _, kind)| *kind == SegmentKind::Constants);
        let constants = constants.map(|&(at, length, _)| (place + at, length));
        self.executable(place).into_iter().chain(constants).collect()
    }

    /// Page by page, so that each page is touched once.
    fn relocate(&self, stride: &Stride, place: u64, words: &[Filled]) -> Result<(), Errno> {
        let base = stride.base() + place;
        for group in self.relocations.chunk_by(|a, b| a.0 / PAGE == b.0 / PAGE) {
            let (first, last) = (group[0].0, group[group.len() - 1].0 + 8);
            let mut bytes = self.initial(first, last);
            for &(at, value) in group {
                let skip = (at - first) as usize;
                bytes[skip..skip + 8].copy_from_slice(&base.wrapping_add(value).to_le_bytes());
            }
            stride.write(place + first, &bytes)?;
        }
        words.iter().try_for_each(|&(at, value)| stride.write(place + at, &value.to_le_bytes()))
    }

    /// Data before relocation, `[first, last)`; relocations lie in initialised bytes.
    fn initial(&self, first: u64, last: u64) -> Vec<u8> {
        let (at, bytes) = self
            .data
            .iter()
            .find(|(at, bytes)| *at <= first && last <= at + bytes.len() as u64)
            .expect("the parser checks that relocations lie in data");
        bytes[(first - at) as usize..(last - at) as usize].to_vec()
    }
}

fn identity(file: &OwnedFd) -> Result<Identity, Errno> {
    Ok(Identity::from(&fs::fstat(file)?))
}

/// From now on the file cannot be written.
pub(super) fn seal(file: &OwnedFd) -> Result<(), Errno> {
    fs::fcntl_add_seals(file, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
}

pub(super) fn write_at(file: &OwnedFd, mut bytes: &[u8], mut at: u64) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = rustix::io::pwrite(file, bytes, at)?;
        bytes = &bytes[written..];
        at += written as u64;
    }
    Ok(())
}
