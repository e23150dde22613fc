//! What a call passes by reference: copied into memory that is shared with the domain, and back when the call has returned.
//!
//! The domain never sees the host's own memory, and what it leaves in the copy is data, whatever it is.
use crate::buffer_sys::View;
use lockgate::{Domain, Grant, GrantError, Region, Rights, SharedSlice};
use lockgate_kernel::locked;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard};

/// Smallest block, bytes.
const SMALLEST: u64 = 64 << 10;
/// Largest block that is kept.
const LARGEST_KEPT: u64 = 16 << 20;
/// Most blocks that are kept.
const KEPT: usize = 8;
/// Alignment of what is passed: enough for every type of C.
const ALIGNMENT: u64 = 64;

/// Memory that is shared with one domain, for one call at a time.
struct Block {
    /// Of the domain's instance: it may have got another one since.
    base: u64,
    /// A forked child shares the memory with its parent, whose calls may be using it.
    owner: lockgate::Owner,
    memory: SharedSlice<u8>,
    grant: Grant,
}

/// The blocks of a domain that wait for calls.
#[derive(Default)]
pub struct Scratch(Mutex<Blocks>);

#[derive(Default)]
struct Blocks {
    /// That no call uses.
    free: Vec<Block>,
    left: Vec<Behind>,
}

/// What a call uses that went on without its caller.
struct Behind {
    /// Of the domain's instance.
    base: u64,
    /// How many such calls had begun when this was first looked at: it may be used until so many have ended.
    of: Option<u64>,
    block: Option<Block>,
    /// Objects whose end takes something away from the domain: callbacks, shared memory.
    pins: Vec<Py<PyAny>>,
}

/// How many calls have gone on without their callers, and how many of them, in this order, have ended.
pub fn calls_left(domain: &Domain) -> (u64, u64) {
    let usage = domain.usage();
    (u64::from(usage.detached) + usage.detached_ended, usage.detached_settled)
}

impl Blocks {
    /// Takes out what calls have left that have ended since.
    fn settled(&mut self, domain: &Domain) -> Vec<Behind> {
        if self.left.is_empty() {
            return Vec::new();
        }
        let (begun, settled) = calls_left(domain);
        let has_ended =
            |behind: &mut Behind| settled >= *behind.of.get_or_insert(begun) || behind.base != domain.base();
        self.left.extract_if(.., has_ended).collect()
    }
}

impl Scratch {
    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        locked(&self.0)
    }

    /// Lets go of what calls have left that have ended since. With the GIL, since Python objects go.
    pub fn settle(&self, domain: &Domain) {
        let settled = self.blocks().settled(domain);
        for behind in settled {
            behind.block.into_iter().for_each(|block| self.give_back(block));
        }
    }

    fn take(&self, domain: &Domain, size: u64) -> Result<Block, GrantError> {
        self.settle(domain);
        let mut blocks = self.blocks();
        let free = &mut blocks.free;
        let ours = |block: &Block| block.base == domain.base() && block.owner.is_here();
        let fits = |block: &Block| ours(block) && block.memory.len() >= size;
        if let Some(at) = free.iter().position(fits) {
            return Ok(free.swap_remove(at));
        }
        drop(blocks);
        let region = Region::new(size.max(SMALLEST).checked_next_power_of_two().unwrap_or(size))?;
        let grant = domain.grant(&region, Rights::ReadWrite)?;
        Ok(Block {
            base: domain.base(),
            owner: lockgate::Owner::this(),
            memory: region.slice(0, region.length())?,
            grant,
        })
    }

    fn give_back(&self, block: Block) {
        let free = &mut self.blocks().free;
        if free.len() < KEPT && block.memory.len() <= LARGEST_KEPT && block.grant.rights().is_ok() {
            free.push(block);
        }
    }

    /// Keeps what a call uses that goes on, until it has ended.
    fn leave(&self, behind: Behind) {
        self.blocks().left.push(behind);
    }

    /// For the collector. The lock is only taken with the GIL, or by a thread that does not wait for it, and nothing of Python's is made under it.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.blocks().left.iter().flat_map(|behind| &behind.pins).try_for_each(|pin| visit.call(pin))
    }

    /// Lets go of what [`traverse`](Scratch::traverse) shows.
    pub fn forget_pins(&self) {
        let gone: Vec<_> =
            self.blocks().left.iter_mut().map(|behind| std::mem::take(&mut behind.pins)).collect();
        drop(gone); // after the lock: Python objects go
    }

    /// Lets go of everything. With the GIL, since Python objects go.
    pub fn clear(&self) {
        let gone = std::mem::take(&mut *self.blocks());
        drop(gone);
    }
}

/// Bytes that are compared at once.
const PIECE: usize = 1024;

/// What one call passes by reference, callbacks among it.
#[derive(Default)]
pub struct Passed {
    parts: Vec<Part>,
    size: u64,
    block: Option<Block>,
    /// Where that goes after the call, and the base of the instance that is called.
    home: Option<(Arc<Scratch>, u64)>,
    /// Callbacks that have to stay, and shared memory.
    pins: Vec<Py<PyAny>>,
    /// The call goes on without its caller: what it was passed is its own.
    is_left: bool,
}

struct Part {
    /// The parameter, from 0.
    parameter: usize,
    view: View,
    /// First byte in the block.
    at: u64,
    copied_back: bool,
}

impl Passed {
    /// Passes `view` for a parameter.
    pub fn add(&mut self, parameter: usize, view: View, copied_back: bool) {
        self.parts.push(Part { parameter, view, at: 0, copied_back });
    }

    /// Gives each part its place. What overlaps in Python's memory overlaps in the block in the same way, as if it were used in place:
    /// else one copy would go back over what the domain has written to another. What is passed twice is copied once.
    fn lay_out(&mut self) {
        let mut order: Vec<usize> = (0..self.parts.len()).collect();
        order.sort_by_key(|number| self.parts[*number].view.address());
        let (mut size, mut offset, mut end) = (0, 0, 0);
        for number in order {
            let part = &mut self.parts[number];
            let (start, length) = (part.view.address() as u64, part.view.length() as u64);
            if start >= end {
                // By as much beyond a multiple as there: what lies within has the same alignment.
                let at: u64 = u64::next_multiple_of(size, ALIGNMENT) + start % ALIGNMENT;
                offset = start.wrapping_sub(at);
            }
            part.at = start.wrapping_sub(offset);
            size = size.max(part.at + length);
            end = end.max(start + length);
        }
        self.size = size;
    }

    /// For the collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.pins.iter().try_for_each(|pin| visit.call(pin))
    }

    /// The call goes on without its caller.
    pub fn leave(&mut self) {
        self.is_left = true;
    }

    /// Keeps a callback, or shared memory, until the call has ended, with or without its caller.
    pub fn keep(&mut self, pin: &Bound<'_, PyAny>) {
        self.pins.push(pin.clone().unbind());
    }

    /// The first parameter, from 0, whose memory is not where it was when it was passed.
    pub fn moved(&self, py: Python<'_>) -> Option<usize> {
        self.parts.iter().find(|part| part.view.has_moved(py)).map(|part| part.parameter)
    }

    /// Copies everything into a block.
    ///
    /// # Errors
    /// No memory can be shared.
    pub fn place(&mut self, domain: &Domain, scratch: &Arc<Scratch>) -> Result<(), GrantError> {
        self.home = Some((scratch.clone(), domain.base()));
        if self.parts.is_empty() {
            return Ok(());
        }
        self.lay_out();
        let block = scratch.take(domain, self.size.max(1))?;
        for part in &self.parts {
            block.memory.write(part.at, part.view.bytes())?;
        }
        self.block = Some(block);
        Ok(())
    }

    /// Parameters and where their copies are, as the domain sees it.
    ///
    /// # Errors
    /// The memory is gone.
    pub fn addresses(&self) -> Result<impl Iterator<Item = (usize, u64)>, GrantError> {
        let start = match &self.block {
            Some(block) => block.grant.pointer::<u8>(0)?.address(),
            None => 0, // nothing was copied
        };
        Ok(self.parts.iter().map(move |part| (part.parameter, start + part.at)))
    }

    /// Copies back what the domain may have changed.
    ///
    /// # Errors
    /// The memory is gone.
    pub fn take_back(&mut self) -> Result<(), GrantError> {
        let Some(block) = &self.block else { return Ok(()) };
        for part in self.parts.iter_mut().filter(|part| part.copied_back) {
            block.memory.copy_into(part.at, part.view.bytes_mut())?;
            part.view.settle();
        }
        Ok(())
    }

    /// The first parameter, from 0, whose memory cannot be changed, and whose copy the domain has changed: what it wrote there is lost.
    ///
    /// # Errors
    /// The memory is gone.
    pub fn lost(&self) -> Result<Option<usize>, GrantError> {
        let Some(block) = &self.block else { return Ok(None) };
        let mut piece = [0; PIECE];
        for part in self.parts.iter().filter(|part| !part.copied_back) {
            let mut at = part.at;
            for given in part.view.bytes().chunks(PIECE) {
                let now = &mut piece[..given.len()];
                block.memory.copy_into(at, now)?;
                if now != given {
                    return Ok(Some(part.parameter));
                }
                at += given.len() as u64;
            }
        }
        Ok(None)
    }
}

impl Drop for Passed {
    fn drop(&mut self) {
        let Some((scratch, base)) = self.home.take() else { return };
        let block = self.block.take();
        if self.is_left {
            scratch.leave(Behind { base, of: None, block, pins: std::mem::take(&mut self.pins) });
        } else if let Some(block) = block {
            scratch.give_back(block);
        }
    }
}
