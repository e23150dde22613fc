//! Where code lies in a domain's window, for walks over its stacks: read without locks, by threads that are in a gate, and only ever
//! added to. Code that was mapped stays (R5, R26), and so do the tables of its return sites.
use super::call_abi::StateUsage;
use crate::module::{Module, Placed};
use lockgate_abi::window;
use lockgate_verify::State;
use std::sync::{Arc, OnceLock};

/// The code of one image.
#[derive(Debug)]
pub(crate) struct Code {
    /// Address of the image.
    image: u64,
    /// Addresses of the first byte of its code, and of one past the last.
    start: u64,
    end: u64,
    module: Arc<Module>,
}

impl Code {
    /// Of `module`, whose image is at `image`.
    fn new(module: &Arc<Module>, image: u64) -> Code {
        let (at, size) = module.image().code();
        Code { image, start: image + at, end: image + at + size, module: module.clone() }
    }

    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// Its image, in the window at `base`.
    pub fn placed(&self, base: u64) -> Placed {
        Placed { module: self.module.clone(), at: self.image - base }
    }

    /// Whether the byte at `address` is in there.
    #[inline(always)]
    pub fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// One past its last byte.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// What a call of the function at `address` can touch, if nothing else can run in it.
    pub fn function(&self, address: u64) -> Option<StateUsage> {
        StateUsage::of_function(&self.module, address.wrapping_sub(self.image))
    }

    /// The state before the unit that `address` lies in, as far as it is certain. (For who may use memory.)
    pub fn state_before(&self, address: u64) -> Option<State> {
        self.module.code_at(address.wrapping_sub(self.image)).and_then(|place| place.state)
    }

    /// Whether a unit begins at `address`. As [`state_before`](Code::state_before).
    pub fn is_between_units(&self, address: u64) -> bool {
        self.module.code_at(address.wrapping_sub(self.image)).is_some_and(|place| place.begins)
    }

    /// The state of the function that goes on at `address`; `None` if no call ends there.
    #[inline(always)]
    pub fn state(&self, address: u64) -> Option<State> {
        self.module.report().frames.at(address.wrapping_sub(self.image))
    }
}

/// That of all images of a window.
#[derive(Debug)]
pub(crate) struct Codes {
    first: Code,
    /// Of modules that joined, in the order of their places; most domains have none.
    joined: OnceLock<Box<[OnceLock<Code>]>>,
}

impl Codes {
    pub fn new(module: &Arc<Module>, base: u64) -> Codes {
        Codes { first: Code::new(module, base + window::IMAGE), joined: OnceLock::new() }
    }

    /// Adds a module's that joins at `image`, before any of it runs. One after the other.
    pub fn add(&self, module: &Arc<Module>, image: u64) {
        let joined = self.joined.get_or_init(|| (0..window::JOINED).map(|_| OnceLock::new()).collect());
        if let Some(free) = joined.iter().find(|place| place.get().is_none()) {
            free.get_or_init(|| Code::new(module, image));
        }
    }

    /// The domain's own module's.
    pub fn first(&self) -> &Code {
        &self.first
    }

    fn joined(&self) -> impl Iterator<Item = &Code> {
        self.joined.get().into_iter().flatten().map_while(OnceLock::get)
    }

    /// Its own module's first, then those of modules that joined, in the order of their places.
    pub fn all(&self) -> impl Iterator<Item = &Code> {
        [&self.first].into_iter().chain(self.joined())
    }

    /// The code that `address` lies in.
    pub fn at(&self, address: u64) -> Option<&Code> {
        if self.first.holds(address) {
            return Some(&self.first);
        }
        self.joined().find(|code| code.holds(address))
    }
}
