//! Modules as files: what is not accepted is refused with a reason, what is accepted runs in a domain, and leaves nothing behind.

use crate::Target;
use crate::module_file::ModuleFile;
use lockgate::{Domain, DomainOptions, LoadError, Module};
use lockgate_abi::{code, window};
use lockgate_verify::SegmentKind;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// See [`check`].
pub const TARGET: Target = Target {
    name: "module",
    run: |input| check(input, Module::from_bytes),
    longest: 4096,
    memory: 16 << 20,
    near: 5000,
    tokens: &[
        b"Lockgate\0",
        b"\x7fELF",
        b"_lg_init",
        b"_lg_alloc",
        b"double f(double)\n",
        b"16 f\n",
        b"host g\n",
        b"module g\n",
        b"\xf3\x0f\x1e\xfa",
        b"\x04\0\0\0",
        b"\x05\0\0\0",
        b"\x06\0\0\0",
        b"\x07\0\0\0",
        b"\x50\xe5\x74\x64",
        b"\x52\xe5\x74\x64",
    ],
};

/// What loads a module.
pub type Load = fn(&[u8]) -> Result<Arc<Module>, LoadError>;

/// The input is a file. Returns the number of calls that it took.
///
/// # Panics
/// Something of the file is believed that is not so, or something stays mapped.
pub fn check(input: &[u8], load: Load) -> u64 {
    static BEFORE: OnceLock<(usize, usize)> = OnceLock::new();
    let before = *BEFORE.get_or_init(|| {
        warm();
        traces()
    });
    let calls = match load(input) {
        Ok(module) => run(input, &module),
        Err(LoadError::Parse { source, .. }) => {
            assert!(!source.what.is_empty() && !source.remedy.is_empty(), "{source:?}");
            0
        }
        Err(LoadError::Rejected { rejection, .. }) => {
            assert!(!rejection.reason.is_empty(), "{rejection:?}");
            0
        }
        // Not for this processor.
        Err(LoadError::Processor { .. }) => 0,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(traces(), before, "something of the module is left");
    calls + 1
}

fn run(input: &[u8], module: &Arc<Module>) -> u64 {
    let parsed = lockgate_verify::Module::parse(input).expect("it was loaded");
    facts(&parsed);
    // Larger images than files are not mapped here: each page would be touched.
    const LARGEST: u64 = 1 << 20;
    if parsed.image_size > LARGEST || parsed.join.is_some() {
        return 0;
    }
    const LIMIT: Duration = Duration::from_millis(1);
    let options = DomainOptions::new().name("fuzz").time_limit(LIMIT).memory_limit(LARGEST + (64 << 20));
    let Ok(domain) = Domain::new(module, options) else { return 1 };
    let mut calls = 1;
    for export in &parsed.exports {
        // What has an unknown signature cannot be bound.
        if let Ok(function) = domain.bind::<extern "C" fn(u64) -> u64>(&export.name) {
            if let Err(error) = function.call(domain.base()) {
                assert!(!error.to_string().is_empty());
            }
            calls += 1;
        }
    }
    calls
}

/// Lets the library make what it makes once.
fn warm() {
    let code = vec![0xf3, 0x0f, 0x1e, 0xfa, 0xc3];
    let module = Module::from_bytes(&ModuleFile { code, ..ModuleFile::default() }.build()).expect("a module");
    let options = DomainOptions::new().time_limit(Duration::from_secs(1));
    let domain = Domain::new(&module, options).expect("a domain");
    domain.bind::<extern "C" fn(u64) -> u64>("f").expect("an export").call(0).expect("it returns");
}

/// What the loader relies on, looked at again.
fn facts(module: &lockgate_verify::Module) {
    let inside = |kind, at: u64, size: u64| {
        module.segments.iter().any(|segment| {
            segment.kind == kind
                && segment.address <= at
                && at - segment.address + size <= segment.bytes.len() as u64
        })
    };
    assert!(module.image_size <= window::IMAGE_MAX - window::IMAGE);
    for relocation in &module.relocations {
        assert!(inside(SegmentKind::Data, relocation.at, 8), "{relocation:?}");
    }
    for export in &module.exports {
        assert!(inside(SegmentKind::Code, export.address, code::LABEL.len() as u64), "{export:?}");
    }
    let (at, count) = module.program_headers;
    assert!(inside(SegmentKind::Constants, at, 56 * u64::from(count)));
}

/// Mappings of modules and open descriptors of this process.
fn traces() -> (usize, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc is mounted");
    let mapped = maps.lines().filter(|line| line.contains("lockgate-module")).count();
    (mapped, std::fs::read_dir("/proc/self/fd").expect("/proc is mounted").count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    #[test]
    fn a_loader_that_keeps_a_module_is_noticed() {
        notices(&TARGET, |input| {
            check(input, |bytes| {
                let module = Module::from_bytes(bytes)?;
                std::mem::forget(module.clone());
                Ok(module)
            })
        });
    }
}
