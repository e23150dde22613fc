//! The list of modules in memory, for debuggers.
//!
//! gdb's own interface for code made at run time takes files whose addresses are final; a module's addresses, those in
//! its debug information included, are relative to its image. So the runtime only keeps a list, and
//! `crates/lockgate/gdb/lockgate.py` reads it out of the process, or out of its core file, and loads the symbols of each module at its
//! place. The list costs one lock per domain made, nothing per call, and is always there: a debugger may attach at any
//! time. gdb finds the script in the program itself.

use crate::host::{Owner, PerProcess};
use lockgate_verify::State;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// Version of the layout of [`Head`] and [`Entry`], for the script.
const VERSION: u64 = 4;

/// A module at its place in one domain's window. The script knows this layout.
#[repr(C)]
struct Entry {
    next: *mut Entry,
    previous: *mut Entry,
    /// Address of the image, `W + IMAGE`.
    image: u64,
    file: *const u8,
    file_size: u64,
    /// Of the module.
    name: *const u8,
    name_size: u64,
    domain: *const u8,
    domain_size: u64,
    sites: *const Site,
    site_count: u64,
}

/// A return site, from the verifier's table: image-relative address, b and d of C(b, d), or o and [`CONSTANT`] of S(o). The script knows
/// this layout, too.
pub(crate) type Site = [u32; 3];

/// In place of d, which is a multiple of 8.
const CONSTANT: u32 = u32::MAX;

/// The table of `frames` for debuggers. (Images are smaller than 4 GiB.)
pub(crate) fn sites(frames: &lockgate_verify::Frames) -> Vec<Site> {
    let site = |(address, state)| match state {
        State::S { o } => [address as u32, o, CONSTANT],
        State::C { b, d } => [address as u32, b, d],
    };
    frames.iter().map(site).collect()
}

/// Where the script starts.
#[repr(C)]
struct Head {
    version: u64,
    first: *mut Entry,
    /// Offset of every thread's block (`call::layout::ThreadBlock`) from its `fs` base.
    block: i64,
    /// The signal that asks threads to look at their state, or 0: no reason to stop.
    kick: i64,
}

#[unsafe(no_mangle)]
static mut lockgate_debug_modules: Head = Head { version: VERSION, first: null_mut(), block: 0, kick: 0 };

const TEXT: &[u8] = include_bytes!("../../gdb/lockgate.py");
/// A Python text, its name, the end (gdb's manual, ".debug_gdb_scripts section").
const BEFORE: &[u8] = b"\x04lockgate\n";
const SCRIPT_SIZE: usize = BEFORE.len() + TEXT.len() + 1;

/// The script, where gdb looks for those of a program or library.
#[unsafe(link_section = ".debug_gdb_scripts")]
static SCRIPT: [u8; SCRIPT_SIZE] = {
    let mut script = [0; SCRIPT_SIZE];
    let (before, rest) = script.split_at_mut(BEFORE.len());
    before.copy_from_slice(BEFORE);
    rest.split_at_mut(TEXT.len()).0.copy_from_slice(TEXT);
    script
};

/// Held while the list is read or changed.
static CHANGE: PerProcess<Mutex<()>> = PerProcess::new(|| Mutex::new(()));

/// The script has a breakpoint here: the list has changed.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn lockgate_debug_changed() {
    // Keeps the function and the calls of it, the script, and what that refers to.
    std::hint::black_box((&raw const SCRIPT, lockgate_crossing as *const ()));
}

// A frame between two domains that call each other: the script has backtraces pass through here. The proxy's own frame
// information cannot tell where the caller is, and gdb lets the stack go on at a lower address after signal frames only.
core::arch::global_asm!(
    r#"
    .text
    .p2align 4
    .globl lockgate_crossing
    .hidden lockgate_crossing
    .type lockgate_crossing,@function
lockgate_crossing:
    .cfi_startproc
    .cfi_signal_frame
    nop
    ret
    .cfi_endproc
    .size lockgate_crossing,.-lockgate_crossing
    "#,
    options(att_syntax)
);

unsafe extern "C" {
    fn lockgate_crossing();
}

/// In a forked child: the list is empty, whatever it was in the middle of.
pub(crate) fn abandon() {
    // SAFETY: the child has one thread yet, or others that wait for this one.
    unsafe { lockgate_debug_modules.first = null_mut() };
}

/// What debuggers must know of the process.
#[derive(Clone, Copy)]
pub(crate) struct ProcessFacts {
    /// Offset of every thread's block from its `fs` base.
    pub block: i32,
    /// The signal that the library kicks threads with; 0 for none.
    pub kick: i32,
}

/// A place in the list, until it is dropped.
#[derive(Debug)]
pub(crate) struct Registration(*mut Entry, Owner);

// SAFETY: the entry is reached under `CHANGE` only.
unsafe impl Send for Registration {}
// SAFETY: a shared registration offers nothing.
unsafe impl Sync for Registration {}

impl Registration {
    /// Lists the module in `file`, called `name`, of the domain called `domain`, whose image is at `image`, with its return sites. All must
    /// stay where they are while the registration lives, because a debugger reads them; this process never does.
    pub(crate) fn new(
        image: u64,
        domain: &str,
        name: &str,
        file: &[u8],
        sites: &[Site],
        process: ProcessFacts,
    ) -> Registration {
        let entry = Box::into_raw(Box::new(Entry {
            next: null_mut(),
            previous: null_mut(),
            image,
            file: file.as_ptr(),
            file_size: file.len() as u64,
            name: name.as_ptr(),
            name_size: name.len() as u64,
            domain: domain.as_ptr(),
            domain_size: domain.len() as u64,
            sites: sites.as_ptr(),
            site_count: sites.len() as u64,
        }));
        let _guard = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: under the lock; all entries in the list live until their registration is dropped.
        unsafe {
            let first = lockgate_debug_modules.first;
            (*entry).next = first;
            if !first.is_null() {
                (*first).previous = entry;
            }
            lockgate_debug_modules.first = entry;
            lockgate_debug_modules.block = process.block.into();
            lockgate_debug_modules.kick = process.kick.into();
        }
        lockgate_debug_changed();
        Registration(entry, Owner::this())
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.1.may_drop() {
            return; // the parent's list
        }
        let _guard = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: under the lock; the entry is in the list and so are its neighbours; it was made by `new`.
        let entry = unsafe {
            let Entry { next, previous, .. } = *self.0;
            if !next.is_null() {
                (*next).previous = previous;
            }
            match previous.is_null() {
                true => lockgate_debug_modules.first = next,
                false => (*previous).next = next,
            }
            Box::from_raw(self.0)
        };
        lockgate_debug_changed();
        drop(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::layout::{
        BindingHeader, ENTRY, EntryRecord, FRAME, FROM_DOMAIN, GateRecord, LIMITED_ENTRY, RECORD, ThreadBlock,
    };
    use lockgate_abi::{code, window};
    use std::mem::offset_of;

    /// Images in the list, first to last, of those at least `from`.
    fn listed(from: u64) -> Vec<u64> {
        let _guard = CHANGE.lock().unwrap();
        let mut images = Vec::new();
        // SAFETY: as in `new`.
        unsafe {
            let mut entry = lockgate_debug_modules.first;
            while !entry.is_null() {
                images.push((*entry).image);
                entry = (*entry).next;
            }
        }
        images.retain(|&image| image >= from);
        images
    }

    /// The script repeats what it needs of our structures.
    #[test]
    fn the_script_knows_the_layout() {
        let script = std::str::from_utf8(TEXT).unwrap();
        let (target, flags) = (offset_of!(BindingHeader, target), offset_of!(BindingHeader, flags));
        let thunk_jump = offset_of!(BindingHeader, proxy);
        assert_eq!((thunk_jump, offset_of!(ThreadBlock, top), offset_of!(ThreadBlock, first)), (0, 0, 8));
        let record = [
            offset_of!(EntryRecord, kind),
            offset_of!(EntryRecord, binding),
            offset_of!(EntryRecord, control),
            offset_of!(EntryRecord, host),
        ];
        assert_eq!((record, offset_of!(GateRecord, control)), ([0, 8, 16, 24], 8));
        let lines = [
            format!("VERSION = {VERSION}"),
            format!("TARGET, FLAGS, FROM_DOMAIN = {target}, {flags}, {FROM_DOMAIN}"),
            format!("RECORD_SIZE, ENTRIES = {RECORD}, ({ENTRY}, {LIMITED_ENTRY})"),
            format!("FRAME_RETURN = {}", FRAME - 8),
            format!(
                "THUNKS, IMAGE, STRIDE, OFF = {:#x}, {:#x}, 8 << 30, {:#x}",
                window::THUNKS,
                window::IMAGE,
                code::OFF
            ),
        ];
        for line in lines {
            assert!(script.lines().any(|found| found == line), "the script has no line {line:?}");
        }
        assert_eq!((window::STRIDE, size_of::<Head>(), size_of::<Entry>()), (8 << 30, 32, 88));
    }

    #[test]
    fn the_list_holds_what_is_registered() {
        // No image is this high: other tests may run domains meanwhile.
        let base = 1 << 60;
        let [a, b, c] = [1, 2, 3]
            .map(|n| Registration::new(base + n, "d", "m", b"file", &[], ProcessFacts { block: 0, kick: 0 }));
        assert_eq!(listed(base), [base + 3, base + 2, base + 1]);
        drop(b);
        assert_eq!(listed(base), [base + 3, base + 1]);
        drop(c);
        assert_eq!(listed(base), [base + 1]);
        drop(a);
        assert!(listed(base).is_empty());
    }
}
