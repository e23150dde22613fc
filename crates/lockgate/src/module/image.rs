//! A module's image in a sealed memory file: stubs, then the segments at their addresses.
use crate::host::environment;
use crate::space::{Backing, Stride};
use lockgate_abi::{PAGE, window};
use lockgate_verify::SegmentKind;
use rustix::fs::{self, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::ProtFlags;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

/// Length of the stubs at the start of the file, bytes.
const STUBS: u64 = window::IMAGE - window::STUBS;

/// What domains map.
#[derive(Debug)]
pub(crate) struct Image {
    file: OwnedFd,
    /// Mappings in address order: window offset, length, rights.
    pieces: Vec<(u64, u64, SegmentKind)>,
    /// Words to relocate, in address order: window offset, window-relative value.
    relocations: Vec<(u64, u64)>,
    /// Window offset of the data, its bytes before relocation.
    data: Vec<(u64, Vec<u8>)>,
}

impl Image {
    /// Copies the parsed, verified bytes into a file that nobody can write any more.
    ///
    /// # Errors
    /// The kernel's: no memory, no descriptors, `memfd_create` forbidden.
    pub fn new(module: &lockgate_verify::Module, stubs: &[u8]) -> Result<Image, Errno> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // MFD_EXEC is asked for where the kernel knows it (6.3); older ones imply it.
        let file = fs::memfd_create("lockgate-module", flags | MemfdFlags::EXEC)
            .or_else(|_| fs::memfd_create("lockgate-module", flags))?;
        fs::ftruncate(&file, STUBS + module.image_size)?;
        write_at(&file, stubs, 0)?;
        let mut pieces = vec![(window::STUBS, STUBS, SegmentKind::Code)];
        let mut data = Vec::new();
        for segment in &module.segments {
            write_at(&file, &segment.bytes, STUBS + segment.address)?;
            let at = window::IMAGE + segment.address;
            match pieces.last_mut() {
                // Stubs and code, as one kernel mapping.
                Some((last, length, kind)) if *kind == segment.kind && *last + *length == at => {
                    *length += segment.size;
                }
                _ => pieces.push((at, segment.size, segment.kind)),
            }
            if segment.kind == SegmentKind::Data {
                data.push((at, segment.bytes.clone()));
            }
        }
        let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fs::fcntl_add_seals(&file, seals)?;
        let relocations =
            module.relocations.iter().map(|r| (window::IMAGE + r.at, window::IMAGE + r.addend)).collect();
        Ok(Image { file, pieces, relocations, data })
    }

    /// Maps the image into `stride` and relocates its data.
    ///
    /// # Errors
    /// The kernel's, `ENOMEM` mostly.
    pub fn map(&self, stride: &Stride) -> Result<(), Errno> {
        for &(at, length, kind) in &self.pieces {
            let access = match kind {
                SegmentKind::Code => ProtFlags::READ | ProtFlags::EXEC,
                SegmentKind::Constants => ProtFlags::READ,
                SegmentKind::Data => ProtFlags::READ | ProtFlags::WRITE,
            };
            if kind == SegmentKind::Code && environment::perf_map() {
                self.copy_code(stride, at, length)?;
                continue;
            }
            stride.map(at, length, access, Backing::File(self.file.as_fd(), at - window::STUBS))?;
        }
        self.relocate(stride)
    }

    /// The same code in anonymous memory: `perf` looks for names of no other (docs/debugging.md).
    fn copy_code(&self, stride: &Stride, at: u64, length: u64) -> Result<(), Errno> {
        stride.map(at, length, ProtFlags::READ | ProtFlags::WRITE, Backing::Anonymous)?;
        let mut page = [0; PAGE as usize];
        for offset in (0..length).step_by(page.len()) {
            let read = rustix::io::pread(&self.file, &mut page[..], at - window::STUBS + offset)?;
            stride.write(at + offset, &page[..read])?;
        }
        stride.execute(at, length)
    }

    /// Brings the data back to what [`map`](Image::map) left.
    ///
    /// # Errors
    /// The kernel's.
    pub fn reset(&self, stride: &Stride) -> Result<(), Errno> {
        for &(at, length, kind) in &self.pieces {
            if kind == SegmentKind::Data {
                stride.discard(at, length)?;
            }
        }
        self.relocate(stride)
    }

    /// Data: window offsets of what the module can write.
    pub fn data(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.pieces
            .iter()
            .filter(|(_, _, kind)| *kind == SegmentKind::Data)
            .map(|&(at, length, _)| at..at + length)
    }

    /// Code and constants: what may be sealed for good.
    pub fn fixed(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.pieces
            .iter()
            .filter(|(_, _, kind)| *kind != SegmentKind::Data)
            .map(|&(at, length, _)| (at, length))
    }

    /// Copies code or constants: `at` is relative to the image. `None` beyond the image's end.
    pub fn read(&self, at: u64, into: &mut [u8]) -> Option<()> {
        let read = rustix::io::pread(&self.file, &mut *into, STUBS.checked_add(at)?).ok()?;
        (read == into.len()).then_some(())
    }

    /// Page by page, so that each page is touched once.
    fn relocate(&self, stride: &Stride) -> Result<(), Errno> {
        for group in self.relocations.chunk_by(|a, b| a.0 / PAGE == b.0 / PAGE) {
            let (first, last) = (group[0].0, group[group.len() - 1].0 + 8);
            let mut bytes = self.initial(first, last);
            for &(at, value) in group {
                let place = (at - first) as usize;
                bytes[place..place + 8].copy_from_slice(&(stride.base() + value).to_le_bytes());
            }
            stride.write(first, &bytes)?;
        }
        Ok(())
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

fn write_at(file: &OwnedFd, mut bytes: &[u8], mut at: u64) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = rustix::io::pwrite(file, bytes, at)?;
        bytes = &bytes[written..];
        at += written as u64;
    }
    Ok(())
}
