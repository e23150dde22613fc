//! The images of a domain's window: its module's, and those of modules that joined (rule R26).
//!
//! Each has a place of its own below the memory services' area, with a gap that is never mapped before it. What was mapped as code
//! stays until the domain ends (rule R5), because a thread may be in it, or have return addresses into it; a module that leaves and
//! joins again gets its place back, with the same code and fresh data.
use super::core::{Core, Joined};
use super::reclamation::release_functions;
use super::rest;
use crate::call::call_abi::StateUsage;
use crate::call::{self, Gate, thunks, watch};
use crate::module::{Filled, Module, Placed};
use lockgate_abi::window;
use rustix::io::Errno;
use std::sync::Arc;
use std::time::Duration;

/// What a symbol of a module that joins leads to.
pub(crate) enum Target {
    /// A window offset: something that another image exports.
    Image(u64),
    /// A function of the host.
    Host(Gate),
}

/// How long a module that joins again waits for calls that were ended when it left: they end in a moment, but for one in a function of the
/// host's. Behind that it gets another place.
const OUT: Duration = Duration::from_secs(1);

/// Why a module cannot join a domain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The domain's module was not made for it.
    #[error("{0} is no base: link it with `lockgate cc --base`")]
    NotABase(String),
    /// The module does not join anything.
    #[error("{0} has a libc and a domain of its own: link it with `lockgate cc --join`")]
    NotJoining(String),
    /// The module was linked against other files.
    #[error("{module} was linked with another {other}: link it again with --join and the one that is open")]
    Other {
        /// The module.
        module: String,
        /// File name of the module that it takes symbols from.
        other: String,
    },
    /// The files that it was linked with are together larger than one may be.
    #[error("{module} needs {other}, which is too large: the files that a module was linked with have at most {max} bytes in all", max = lockgate_outside::LARGEST)]
    TooMuch {
        /// The module.
        module: String,
        /// File name of one that it takes symbols from.
        other: String,
    },
    /// Modules that were linked with modules that were linked with modules.
    #[error("{0} needs a longer chain of modules than a domain has: at most {max}", max = window::JOINED)]
    TooDeep(String),
    /// The host has not said that the module may share another's memory.
    #[error(
        "{module} would share the memory of {base}, which is open: name that as the library whose domain it joins"
    )]
    Uninvited {
        /// The module.
        module: String,
        /// The library.
        base: String,
    },
    /// The module touches processor state that the domain's calls do not keep.
    #[error(
        "{module} can touch {}, which calls of this domain leave alone: make the domain with full_xstate, or compile the module \
         without (-mno-avx, -mno-avx512f)", .states.join(", ")
    )]
    State {
        /// The module.
        module: String,
        /// What it is.
        states: Vec<&'static str>,
    },
    /// No module that it names has the symbol.
    #[error("{module} takes {symbol} from {from}, which has no such symbol: link it again")]
    Symbol {
        /// The module.
        module: String,
        /// The name.
        symbol: String,
        /// Names of the modules.
        from: String,
    },
    /// The symbol has another type.
    #[error("{module} was linked with another type of {symbol}: {what}; link it again")]
    Type {
        /// The module.
        module: String,
        /// The name.
        symbol: String,
        /// The difference.
        what: String,
    },
    /// There is no room in the window, or for more modules.
    #[error("{module} does not fit: the domain has {modules} modules that joined (at most {max}), in {room} bytes", max = window::JOINED)]
    Room {
        /// The module.
        module: String,
        /// How many.
        modules: usize,
        /// Bytes for all of them.
        room: u64,
    },
    /// All function pointers of the host's are taken.
    #[error("{0}: the domain has no function pointers left for functions of the host: close others")]
    Callbacks(String),
    /// No memory.
    #[error("{module}: no memory for its image of {size} bytes ({errno}): raise the domain's memory limit")]
    Memory {
        /// The module.
        module: String,
        /// Bytes.
        size: u64,
        /// The system's reason.
        errno: Errno,
    },
}

impl Core {
    /// Maps `module`, whose symbols are `targets`, in order; none of its code has run yet. Threads may be in the domain.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn join(self: &Arc<Core>, module: &Arc<Module>, targets: Vec<Target>) -> Result<Placed, JoinError> {
        let name = || module.name().to_owned();
        let Some(join) = &module.parsed().join else { return Err(JoinError::NotJoining(name())) };
        if !self.module().parsed().base {
            return Err(JoinError::NotABase(self.module().name().to_owned()));
        }
        // What proxies leave out rests on the window's report, and bindings are made already (rule V6).
        let beyond = StateUsage::of(module.report()).beyond(self.state_usage());
        if beyond != StateUsage::default() {
            return Err(JoinError::State { module: name(), states: beyond.names() });
        }
        let is_old = |one: &Joined| !one.in_use && one.image.module.is_same(module);
        let left_by: Vec<usize> =
            self.joined().iter().filter(|one| is_old(one)).flat_map(|one| one.left_by.clone()).collect();
        watch::until_out_of(&left_by, OUT);
        let mut joined = self.joined();
        let (addresses, callbacks) = self.addresses(targets).ok_or_else(|| JoinError::Callbacks(name()))?;
        let words: Vec<Filled> = join
            .words
            .iter()
            .map(|word| (word.at, addresses[word.symbol].wrapping_add(word.addend)))
            .collect();
        // (Who is in it still would go on with the new one's data.)
        let old = joined.iter_mut().find(|one| is_old(one) && !watch::may_be_in(&one.left_by));
        let image = match old {
            // The code is there still.
            Some(old) => match old.image.module.image().reset(self.stride(), old.image.at, &words) {
                Ok(()) => {
                    old.in_use = true;
                    self.forget(std::mem::replace(&mut old.callbacks, callbacks));
                    return Ok(old.image.clone());
                }
                Err(errno) => Err(memory(module, errno)),
            },
            None => self.map_image(&joined, module, &words),
        };
        match image {
            Ok(image) => {
                // It stays when the module leaves, as the code does.
                self.codes().add(module, self.base() + image.at);
                let _listing =
                    module.list_for_debuggers(self.base() + image.at, self.name(), call::for_debuggers());
                joined.push(Joined {
                    _listing,
                    image: image.clone(),
                    in_use: true,
                    left_by: Vec::new(),
                    callbacks,
                });
                Ok(image)
            }
            Err(error) => {
                self.forget(callbacks);
                Err(error)
            }
        }
    }

    /// The module of an image that joined leaves. Its code and data stay where they are until it joins again or the domain ends, but its words lead
    /// to no function of the host's any more. `left_by` are the headers of the bindings that led there, which have been stopped.
    pub fn leave(self: &Arc<Core>, image: &Placed, left_by: Vec<usize>) {
        let mut is_due = false;
        if let Some(joined) = self.joined().iter_mut().find(|joined| joined.image.at == image.at) {
            (joined.in_use, joined.left_by) = (false, left_by);
            for number in &joined.callbacks {
                is_due |= self.gates().close_callback(*number);
            }
        }
        if is_due {
            release_functions(self);
        }
    }

    /// Addresses of symbols, and the callbacks that were made for them; `None` if there are none left.
    fn addresses(self: &Arc<Core>, targets: Vec<Target>) -> Option<(Vec<u64>, Vec<u64>)> {
        let (mut addresses, mut callbacks) = (Vec::with_capacity(targets.len()), Vec::new());
        for target in targets {
            let offset = match target {
                Target::Image(offset) => offset,
                Target::Host(gate) => match self.gates().add_callback(gate) {
                    Some(number) => {
                        callbacks.push(number);
                        thunks::callback_thunk(number)
                    }
                    None => {
                        self.forget(callbacks);
                        return None;
                    }
                },
            };
            addresses.push(self.base() + offset);
        }
        Some((addresses, callbacks))
    }

    /// From now on, the words of the image that joined lead to `gate` where they led to the function of the host's that its module names as
    /// this one, counted among the functions of the host's.
    pub fn link_joined(self: &Arc<Core>, image: &Placed, function: usize, gate: Gate) {
        let joined = self.joined();
        let own = joined.iter().find(|joined| joined.in_use && joined.image.at == image.at);
        if let Some(number) = own.and_then(|own| own.callbacks.get(function)) {
            self.gates().replace_callback(*number, gate);
        }
        drop(joined);
        // What answered it before.
        release_functions(self);
    }

    fn forget(self: &Arc<Core>, callbacks: Vec<u64>) {
        let removed = callbacks.into_iter().map(|number| self.gates().remove_callback(number));
        // All of them, then at once.
        if removed.filter(|is_due| *is_due).count() > 0 {
            release_functions(self);
        }
    }

    /// Maps an image behind the last one.
    fn map_image(
        &self,
        joined: &[Joined],
        module: &Arc<Module>,
        words: &[Filled],
    ) -> Result<Placed, JoinError> {
        let size = module.parsed().image_size;
        let end = joined.last().map_or_else(|| self.image().end(), |last| last.image.end());
        let image = Placed { module: module.clone(), at: end + window::IMAGE_GAP };
        if joined.len() >= window::JOINED || image.end() + window::IMAGE_GAP > window::IMAGE_MAX {
            let room = window::IMAGE_MAX - window::IMAGE;
            return Err(JoinError::Room { module: module.name().to_owned(), modules: joined.len(), room });
        }
        self.books.charge(size).map_err(|errno| memory(module, errno))?;
        let mapped = rest::with_room(|| module.image().map(self.stride(), image.at, words));
        if let Err(errno) = mapped {
            // No code was mapped, so the place is as good as new; if it cannot be cleared, what is there is data of the domain's.
            let cleared = self.stride().clear(image.at, size);
            self.books.refund(size);
            return Err(memory(module, cleared.err().unwrap_or(errno)));
        }
        if self.options().seal {
            for (at, length) in module.image().fixed(image.at) {
                self.stride().seal(at, length);
            }
        }
        Ok(image)
    }
}

fn memory(module: &Module, errno: Errno) -> JoinError {
    JoinError::Memory { module: module.name().to_owned(), size: module.parsed().image_size, errno }
}
