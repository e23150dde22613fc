//! A module's first steps: what the kernel gives a new process, made in the domain, then `_lg_init`.
use super::core::Core;
use crate::binding::{Binding, Internal};
use crate::call::thread_sys;
use crate::error::CallError;
use lockgate_abi::{PAGE, stack, symbol, window};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::Duration;

/// Runs the module's initialisation, if it has one, on the calling thread. Modules without are ready at once;
/// their first thread attaches at its first call.
pub(super) fn run(core: &Arc<Core>, limit: Option<Duration>) -> Result<(), CallError> {
    let Some(init) = Binding::internal(core.clone(), symbol::INIT, Internal::within(limit)) else {
        return Ok(());
    };
    let stack = prepare(core, limit)?;
    init.map_err(CallError::Memory)?.invoke(&[stack])?;
    Ok(())
}

/// Attaches the calling thread and puts the start block on its data stack; returns the block's address. `queue`: see
/// [`AnyDomain::attach`](crate::call::AnyDomain::attach).
pub(super) fn prepare(core: &Arc<Core>, queue: Option<Duration>) -> Result<u64, CallError> {
    core.enter_early(queue)?;
    let thread = thread_sys::current().ok_or(CallError::ThreadEnding)?;
    let block = block(core);
    if block.len() as u64 > core.stack_size() / 2 {
        let what = "arguments and environment take more than half of the stack; raise the stack size";
        return Err(CallError::Arguments(what.to_owned()));
    }
    core.place_start_block(thread, &block)
}

/// argc, argv, 0, envp, 0, auxv, and what they point to (System V ABI for x86-64, 3.4.1).
fn block(core: &Core) -> Vec<u8> {
    let options = core.options();
    let mut arguments = options.arguments.clone();
    if arguments.is_empty() {
        arguments.push(core.name().replace('\0', "").into());
    }
    let random: [u8; 16] = random();
    let words = 1 + arguments.len() + 1 + options.environment.len() + 1 + 2 * AUXILIARY;
    let strings: usize = arguments.iter().chain(&options.environment).map(|s| s.len() + 1).sum();
    let length = (words * 8 + random.len() + strings).next_multiple_of(64);
    let base = core.base() + window::STACKS + stack::THREAD_HEADER - length as u64;

    let mut tail = random.to_vec();
    let tail_at = base + words as u64 * 8;
    let mut string = |text: &OsStr| {
        let at = tail_at + tail.len() as u64;
        tail.extend(text.as_bytes());
        tail.push(0);
        at
    };
    let mut head = vec![arguments.len() as u64];
    head.extend(arguments.iter().map(|s| string(s)));
    head.push(0);
    head.extend(options.environment.iter().map(|s| string(s)));
    head.push(0);
    head.extend(auxiliary(core, tail_at).into_iter().flat_map(|(kind, value)| [kind, value]));
    let mut bytes: Vec<u8> = head.into_iter().flat_map(u64::to_le_bytes).collect();
    bytes.extend(tail);
    bytes.resize(length, 0);
    bytes
}

/// Number of auxiliary entries.
const AUXILIARY: usize = 16;

/// The auxiliary vector. User and group stand for none: the domain is no process of the host's user.
fn auxiliary(core: &Core, random: u64) -> [(u64, u64); AUXILIARY] {
    const NO_USER: u64 = 65534;
    let image = core.base() + window::IMAGE;
    let (headers, count) = core.module().parsed().program_headers;
    [
        (libc::AT_PHDR, image + headers),
        (libc::AT_PHENT, 56),
        (libc::AT_PHNUM, u64::from(count)),
        (libc::AT_PAGESZ, PAGE),
        (libc::AT_BASE, 0),
        (libc::AT_FLAGS, 0),
        (libc::AT_ENTRY, image),
        (libc::AT_UID, NO_USER),
        (libc::AT_EUID, NO_USER),
        (libc::AT_GID, NO_USER),
        (libc::AT_EGID, NO_USER),
        (libc::AT_SECURE, 0),
        (libc::AT_CLKTCK, 100),
        (libc::AT_HWCAP, 0),
        (libc::AT_RANDOM, random),
        (libc::AT_NULL, 0),
    ]
}

fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    // Only the module's own stack protector depends on it: without entropy it is weak, nothing else.
    let _ = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::NONBLOCK);
    bytes
}
