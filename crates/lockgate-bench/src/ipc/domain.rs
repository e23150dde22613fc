//! The sides of `lockgate bench ipc` that call into a domain of this process.

use super::Caller;
use crate::objects;
use crate::preset::Preset;
use anyhow::ensure;
use lockgate::{Domain, DomainOptions, Function, Module, Pointer};
use lockgate_corpus::Corpus;
use std::path::Path;
use std::time::{Duration, Instant};

use super::SIZES;

/// The largest argument.
const LARGEST: usize = SIZES[SIZES.len() - 1];

/// A domain with the callee of `bench/peers/callee.c`, built in `folder`.
pub fn create(folder: &Path) -> anyhow::Result<Domain> {
    let source = Corpus::locate()?.root().join("bench/peers/callee.c");
    let exports = [
        "unsigned long byte(unsigned char value)",
        "unsigned long bytes(const void *argument, unsigned long size)",
    ];
    let module = Module::open(objects::module(&source, "callee", &[], &exports, folder)?)?;
    Ok(Domain::new(&module, DomainOptions::new())?)
}

/// Calls whose argument is copied into the domain: in a register if it is one byte, else into memory that the
/// domain keeps for it.
pub struct InDomain<'a> {
    domain: &'a Domain,
    byte: Function<extern "C" fn(u8) -> u64>,
    bytes: Function<extern "C" fn(Pointer<u8>, u64) -> u64>,
    argument: Vec<u8>,
    place: Pointer<u8>,
}

impl<'a> InDomain<'a> {
    /// Calls into `domain` under `preset`.
    pub fn by_copy(domain: &'a Domain, preset: Preset) -> anyhow::Result<Self> {
        Ok(Self {
            domain,
            byte: preset.bind(domain, "byte")?,
            bytes: preset.bind(domain, "bytes")?,
            argument: vec![0; LARGEST],
            place: domain.alloc(LARGEST)?,
        })
    }

    fn calls(&mut self, size: usize, count: u64) -> anyhow::Result<()> {
        for call in 0..count {
            let value = call as u8;
            let result = if size == 1 {
                self.byte.call(value)?
            } else {
                let argument = &mut self.argument[..size];
                argument.fill(value);
                self.domain.write_slice(self.place, argument)?;
                self.bytes.call(self.place, size as u64)?
            };
            ensure!(result == expected(size, value), "wrong result for {size} bytes of {value}");
        }
        Ok(())
    }
}

impl Caller for InDomain<'_> {
    fn time(&mut self, size: usize, count: u64) -> anyhow::Result<Duration> {
        self.calls(size, count / 8 + 1)?; // as the peers do
        let start = Instant::now();
        self.calls(size, count)?;
        Ok(start.elapsed())
    }
}

/// What the callee answers to `size` bytes of `value`: `expected` of `bench/peers/work.h`.
fn expected(size: usize, value: u8) -> u64 {
    let word = u64::from_ne_bytes([value; 8]);
    word.wrapping_mul((size / 8) as u64).wrapping_add(u64::from(value) * (size % 8) as u64)
}
