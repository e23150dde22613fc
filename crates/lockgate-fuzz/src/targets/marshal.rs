//! What stubs do with memory of a domain, when the domain says anything at all: its allocator returns any address, its pointers lead
//! anywhere, its strings do not end.

use crate::Target;
use crate::module_file::ModuleFile;
use crate::traces::has_run;
use arbitrary::{Result, Unstructured};
use lockgate::{Domain, DomainOptions, MemoryError, Module, Pointer, Rights};
use lockgate_abi::{symbol, window};
use std::ffi::CString;

/// See [`check`].
pub const TARGET: Target = Target {
    name: "marshal",
    run: |input| {
        thread_local!(static WORLD: World = World::new());
        WORLD.with(|world| check(input, world, Domain::read_into))
    },
    longest: 512,
    memory: 4 << 20,
    near: 3000,
    tokens: &[],
};

/// What copies from a domain.
pub type Read = fn(&Domain, Pointer<u8>, &mut [u8]) -> std::result::Result<(), MemoryError>;

/// A domain whose allocator returns what its data says, and memory of the host.
pub struct World {
    domain: Domain,
    /// Address of the word that the allocator returns.
    answer: u64,
    canary: Box<[u8; CANARY]>,
}

const PAGE: u64 = 4096;
/// What the module's data is full of, and the host's.
const THEIRS: u8 = 0xd0;
const OURS: u8 = 0x5a;
/// Bytes of the host's memory that are looked at.
const CANARY: usize = 8192;
/// Pages of data of the module.
const ROOM: u64 = 4;

/// `endbr64; mov answer(%rip),%rax; ret`: the word lies in the last page of the data.
fn allocator() -> Vec<u8> {
    const END_OF_LOAD: i32 = 11;
    const DATA: i32 = 2 * PAGE as i32;
    let answer = DATA + 3 * PAGE as i32;
    let mut code = vec![0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x05];
    code.extend((answer - END_OF_LOAD).to_le_bytes());
    code.push(0xc3);
    code
}

impl World {
    fn new() -> World {
        let file = ModuleFile {
            code: allocator(),
            export: symbol::ALLOC,
            room: ROOM * PAGE,
            ..ModuleFile::default()
        };
        let module = Module::from_bytes(&file.build()).expect("a module");
        let domain = Domain::new(&module, DomainOptions::new().name("liar")).expect("a domain");
        let answer = domain.base() + window::IMAGE + 5 * PAGE;
        World { domain, answer, canary: Box::new([OURS; CANARY]) }
    }

    /// The pages of data whose contents are known.
    fn known(&self) -> std::ops::Range<u64> {
        self.answer - 2 * PAGE..self.answer
    }
}

/// A number of copies, out and in. Returns how many.
///
/// # Panics
/// Something else was read or written than memory of the domain.
pub fn check(input: &[u8], world: &World, read: Read) -> u64 {
    let known = world.known();
    const PAGES: [u8; 2 * PAGE as usize] = [THEIRS; 2 * PAGE as usize];
    assert_eq!(known.end - known.start, PAGES.len() as u64);
    world.domain.write_slice(Pointer::from_address(known.start), &PAGES).expect("the module's own memory");
    let (mut input, mut copies) = (Unstructured::new(input), 0);
    while !input.is_empty() && copies < 64 {
        copies += 1;
        if step(&mut input, world, read).is_err() {
            break;
        }
        assert!(*world.canary == [OURS; CANARY], "memory of the host was written");
    }
    copies
}

fn step(input: &mut Unstructured<'_>, world: &World, read: Read) -> Result<()> {
    let domain = &world.domain;
    let (kind, at, length) = (input.arbitrary::<u8>()? % 7, address(input, world)?, length(input)?);
    let pointer = Pointer::<u8>::from_address(at);
    // The low half of an address counts, wherever it comes from.
    let offset = at & 0xffff_ffff;
    let stays = |start: u64| start >= window::IMAGE && start + length as u64 <= window::SIZE;
    match kind {
        0 => {
            let mut bytes = vec![0; length];
            if read(domain, pointer, &mut bytes).is_ok() {
                assert!(length == 0 || offset + length as u64 <= window::SIZE, "{at:#x}+{length:#x}");
                expected(world, offset, &bytes);
            }
        }
        1 => {
            let written = domain.write_slice(pointer, &vec![THEIRS; length]);
            if written.is_ok() && length > 0 {
                assert!(stays(offset), "{at:#x}+{length:#x}");
                let mut bytes = vec![0; length];
                domain.read_into(pointer, &mut bytes).expect("it was written");
                assert!(bytes.iter().all(|byte| *byte == THEIRS));
            }
        }
        2 => {
            if let Ok(text) = domain.read_string(pointer, length)
                && let Some(text) = text.check(|_| true)
            {
                assert!(text.as_bytes().len() <= length);
                expected(world, offset, text.as_bytes());
            }
        }
        3 => {
            if domain.check(pointer, length, Rights::ReadWrite).is_ok() && length > 0 {
                assert!(stays(offset), "{at:#x}+{length:#x}");
            }
        }
        4 => {
            answer(world, at);
            if let Ok(pointer) = domain.alloc::<u64>(length) {
                assert!((domain.base()..domain.base() + window::SIZE).contains(&pointer.address()));
            }
        }
        5 => {
            answer(world, at);
            if let Ok(pointer) = domain.alloc_slice(&vec![THEIRS; length]) {
                assert!(length == 0 || stays(pointer.address() - domain.base()));
            }
        }
        _ => {
            answer(world, at);
            let text = CString::new(vec![THEIRS; length]).expect("no zeros");
            if let Ok(pointer) = domain.alloc_string(&text) {
                let again =
                    domain.read_string(pointer, length + 1).ok().and_then(|text| text.check(|_| true));
                assert_eq!(again, Some(text));
            }
        }
    }
    Ok(())
}

/// What is copied from pages that are known is what is there.
fn expected(world: &World, offset: u64, bytes: &[u8]) {
    let known = world.known();
    let start = world.domain.base() + offset;
    if known.start <= start && start + bytes.len() as u64 <= known.end {
        assert!(bytes.iter().all(|byte| matches!(*byte, THEIRS | 0)), "at {offset:#x}");
    }
    assert!(!has_run(bytes, OURS, 32), "memory of the host, at {offset:#x}");
}

/// Lets the allocator return this next.
fn answer(world: &World, address: u64) {
    world.domain.write(Pointer::from_address(world.answer), address).expect("the module's own memory");
}

/// Short ones reach over every edge: [`address`] goes no further from one.
fn length(input: &mut Unstructured<'_>) -> Result<usize> {
    Ok(match input.arbitrary::<u8>()? {
        255 => input.arbitrary::<u16>()?.into(),
        short => short.into(),
    })
}

fn address(input: &mut Unstructured<'_>, world: &World) -> Result<u64> {
    let base = world.domain.base();
    let edges = [
        0,
        1,
        base,
        base + window::THUNKS,
        base + window::IMAGE,
        world.known().start,
        world.known().end,
        base + window::SHARED,
        base + window::STACKS,
        base + window::SIZE,
        base + window::CONTROL,
        world.canary.as_ptr() as u64,
        1 << 63,
        u64::MAX,
    ];
    let near = i64::from(input.arbitrary::<i8>()?);
    Ok(match input.arbitrary::<u8>()? {
        kind @ 0..=199 => edges[usize::from(kind) % edges.len()].wrapping_add_signed(near),
        200..=229 => base + u64::from(input.arbitrary::<u32>()?),
        _ => input.arbitrary()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    #[test]
    fn a_copy_from_elsewhere_is_noticed() {
        let world = World::new();
        notices(&TARGET, |input| {
            check(input, &world, |domain, at, into| {
                domain.read_into(at, into)?;
                into.fill(OURS);
                Ok(())
            })
        });
    }
}
