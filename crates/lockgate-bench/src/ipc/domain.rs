//! The sides of `lockgate-bench ipc` that call into a domain of this process.

use super::{Caller, SIZES, fill_sys};
use crate::objects;
use crate::preset::Preset;
use anyhow::ensure;
use lockgate::{Arena, Domain, DomainOptions, Function, Grant, Module, Pointer, Region, Rights};
use lockgate_corpus::Corpus;
use std::path::Path;
use std::time::{Duration, Instant};

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

/// Calls into a domain, with the argument in memory there.
pub struct InDomain<'a> {
    byte: Function<extern "C" fn(u8) -> u64>,
    bytes: Function<extern "C" fn(Pointer<u8>, u64) -> u64>,
    passing: Passing<'a>,
    /// Where the domain has the argument.
    place: Pointer<u8>,
}

/// How the argument gets into the domain.
enum Passing<'a> {
    /// The caller fills its own buffer and copies that. An argument of one byte goes in a register.
    Copy(&'a Domain, Vec<u8>),
    /// The caller fills memory that the domain may read.
    Grant(Grant),
    /// The caller allocates a block for each call, in memory that the domain may read.
    Arena(&'a Domain, Arena),
    /// The caller fills memory that the domain may read during the call only.
    Lent(&'a Domain, Region),
}

impl<'a> InDomain<'a> {
    /// Calls under `preset` with a copy of the argument.
    pub fn by_copy(domain: &'a Domain, preset: Preset) -> anyhow::Result<Self> {
        Self::new(domain, preset, Passing::Copy(domain, vec![0; LARGEST]), domain.alloc(LARGEST)?)
    }

    /// Calls under `preset` with the argument in granted memory.
    pub fn by_grant(domain: &'a Domain, preset: Preset) -> anyhow::Result<Self> {
        let grant = domain.grant(&Region::new(LARGEST as u64)?, Rights::Read)?;
        let place = grant.pointer(0)?;
        Self::new(domain, preset, Passing::Grant(grant), place)
    }

    /// Calls under `preset` with the argument in a block of an arena.
    pub fn by_arena(domain: &'a Domain, preset: Preset) -> anyhow::Result<Self> {
        let arena = Arena::new(2 * LARGEST as u64)?;
        arena.open(domain, Rights::Read)?;
        Self::new(domain, preset, Passing::Arena(domain, arena), Pointer::NULL)
    }

    /// Calls under `preset` with the argument in memory that is lent for each call.
    pub fn by_lending(domain: &'a Domain, preset: Preset) -> anyhow::Result<Self> {
        Self::new(domain, preset, Passing::Lent(domain, Region::new(LARGEST as u64)?), Pointer::NULL)
    }

    fn new(
        domain: &Domain,
        preset: Preset,
        passing: Passing<'a>,
        place: Pointer<u8>,
    ) -> anyhow::Result<Self> {
        Ok(Self { byte: preset.bind(domain, "byte")?, bytes: preset.bind(domain, "bytes")?, passing, place })
    }

    fn calls(&mut self, size: usize, count: u64) -> anyhow::Result<()> {
        for call in 0..count {
            let value = call as u8;
            let result = match &mut self.passing {
                Passing::Copy(..) if size == 1 => self.byte.call(value)?,
                Passing::Copy(domain, argument) => {
                    let argument = &mut argument[..size];
                    argument.fill(value);
                    domain.write_slice(self.place, argument)?;
                    self.bytes.call(self.place, size as u64)?
                }
                Passing::Grant(grant) => {
                    fill_sys::fill(grant.region(), 0, size, value);
                    self.bytes.call(self.place, size as u64)?
                }
                Passing::Arena(domain, arena) => {
                    let block = arena.alloc(size as u64)?;
                    fill_sys::fill(arena.region(), block.at(), size, value);
                    self.bytes.call(block.pointer(domain)?, size as u64)?
                }
                Passing::Lent(domain, region) => {
                    fill_sys::fill(region, 0, size, value);
                    let bytes = &self.bytes;
                    domain.lend(region, Rights::Read, |lent| {
                        anyhow::Ok(bytes.call(lent.pointer(0)?, size as u64)?)
                    })??
                }
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
