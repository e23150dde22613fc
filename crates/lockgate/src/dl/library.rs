//! One open library.
use super::join::Needed;
use super::loaded::Loaded;
use super::service_sys::Service;
use super::table::{self, Hold};
use super::verdicts::{Found, Opened};
use super::{DlError, Library, MAX_STACK_BYTES, Mode, Object, Options, Symbol, opening, search};
use crate::call;
use crate::domain;
use crate::error::{AllocError, BindError};
use crate::grant::Rights;
use crate::memory::Pointer;
use crate::signature::Asked;
use crate::space;
use lockgate_abi::window;
use std::path::Path;

impl Library {
    /// Opens the module `name`: a path if it has a slash, else a file in one of the folders of
    /// [`search_path`](super::search_path). A file that is open already is the same library, opened once more; `options` are those
    /// of the first time then.
    ///
    /// Constructors run before this returns, on the calling thread, inside the domain.
    ///
    /// # Errors
    /// [`DlError`]. A constructor that faults or takes too long is one, too.
    pub fn open(name: impl AsRef<Path>, mode: Mode, options: &Options) -> Result<Library, DlError> {
        if options.stack_bytes > MAX_STACK_BYTES {
            return Err(DlError::StackBytes(options.stack_bytes));
        }
        let path = search::find(name.as_ref())?;
        // Once: identity and contents are of this descriptor, not of what the path leads to at one moment and another.
        let opened = Opened::new(&path)?;
        if let Some(known) = opening::open_again(&opened, None, mode, &options.begun())? {
            return Ok(known);
        }
        // No other thread waits for this one's file to be read and judged, nor for those of what it needs.
        let found = Found::new(opened)?;
        let mut needed = if mode.only_if_open { Needed::default() } else { Needed::of(&found) };
        // One time for the constructors of all of them.
        let options = options.begun();
        Ok(Library::from_number(
            opening::open_found(found, &mut needed, mode, &options, Hold::Host(mode))?.id(),
        ))
    }

    /// Closes it once. When it was closed as often as opened, and no library that is open calls it, its destructors run, on the
    /// calling thread; calls of it that are in progress on other threads end with an error, and so do all later ones through
    /// pointers into it.
    ///
    /// # Errors
    /// [`DlError::Handle`]. A failure of a destructor is no error of this function: see [`last_failure`](super::last_failure).
    pub fn close(self) -> Result<(), DlError> {
        table::release(self.number())?;
        table::end_unneeded();
        domain::settle();
        Ok(())
    }

    /// What `name` stands for: a function, as [`function`](Library::function) finds it by its name, or data. Which of both it is, the
    /// library says.
    ///
    /// # Errors
    /// [`DlError::Symbol`], [`DlError::Bind`], [`DlError::Handle`].
    pub fn symbol(self, name: &str) -> Result<Symbol, DlError> {
        let loaded = self.loaded()?;
        match loaded.object(name) {
            Some(_) => loaded.writable_object(name).map(Symbol::Object),
            None => loaded.function(name, None).map(Symbol::Function),
        }
    }

    /// What `name` stands for in the first library that is open with `RTLD_GLOBAL` and has it.
    ///
    /// # Errors
    /// [`DlError::GlobalSymbol`].
    pub fn symbol_of_all(name: &str) -> Result<Symbol, DlError> {
        let found = table::global().into_iter().find(|loaded| loaded.has(name));
        Library::from_number(found.ok_or_else(|| DlError::GlobalSymbol(name.to_owned()))?.id()).symbol(name)
    }

    /// A C function pointer: by its name, or by its prototype (`double cbrt(double)`), which must agree with the module's note if
    /// that has one.
    ///
    /// By its name, a signature that the module's note has counts only if arguments and result travel in registers: others need the
    /// prototype ([`BindError::NeedsPrototype`]), since the library's word never decides what a call does to the host's memory.
    /// Without any signature every argument register is passed on, and [`Options::stack_bytes`] of the stack; results are those
    /// of rax, rdx, xmm0 and xmm1. A result in memory needs a signature.
    ///
    /// The pointer may be called for as long as the process lives. When the library is closed, a call of it is an error; when
    /// the same module was opened again and the symbol looked up again, it may lead there.
    ///
    /// # Errors
    /// [`DlError::Symbol`], [`DlError::IsData`], [`DlError::Bind`], [`DlError::Handle`].
    pub fn function(self, prototype: &str) -> Result<*const (), DlError> {
        let loaded = self.loaded()?;
        match Asked::parse(prototype).map_err(BindError::from)? {
            Asked::Name(name) => loaded.function(name, None),
            Asked::Prototype(signature) => loaded.function(&signature.name.clone(), Some(signature)),
        }
    }

    /// A C function pointer to a function whose address in the window the library gave, in a table of functions for example.
    ///
    /// # Errors
    /// [`DlError::NoFunction`] if there is none: whatever address a library hands out, nothing but the beginnings of its functions
    /// can be called. And as [`function`](Library::function).
    pub fn function_at(self, address: u64, prototype: Option<&str>) -> Result<*const (), DlError> {
        let loaded = self.loaded()?;
        let signature = prototype.map(str::parse).transpose().map_err(BindError::from)?;
        loaded.function_at(address, signature)
    }

    /// An exported object. All of it is memory of the library's that can be read and written, when this returns: constants and code are
    /// [`DlError::Memory`]. The library may take the right to write away later; [`read`](Library::read) and [`write`](Library::write) return
    /// an error then.
    ///
    /// # Errors
    /// [`DlError::Memory`], [`DlError::Symbol`], [`DlError::IsFunction`], [`DlError::Handle`].
    pub fn object(self, name: &str) -> Result<Object, DlError> {
        let loaded = self.loaded()?;
        loaded.writable_object(name)
    }

    /// Room for `size` bytes on the library's heap: what the host gives the library pointers to. All of it is memory of the library's that
    /// can be read and written, when this returns: what its allocator gives besides is [`AllocError::Memory`].
    ///
    /// # Errors
    /// [`DlError::Alloc`], [`DlError::Handle`].
    pub fn allocate(self, size: usize) -> Result<u64, DlError> {
        let loaded = self.loaded()?;
        let at = loaded.domain.alloc::<u8>(size.max(1))?;
        // Where it is, is the module's word, and the caller that asks for room goes on to write there.
        loaded.domain.check(at, size.max(1), Rights::ReadWrite).map_err(AllocError::Memory)?;
        Ok(at.address())
    }

    /// Frees what [`allocate`](Library::allocate) gave, or the library itself allocated.
    ///
    /// # Errors
    /// [`DlError::Alloc`] if the heap is damaged, [`DlError::Handle`].
    pub fn free(self, address: u64) -> Result<(), DlError> {
        Ok(self.loaded()?.domain.free(Pointer::<u8>::from_address(address))?)
    }

    /// Copies bytes of the library's memory, once.
    ///
    /// # Errors
    /// [`DlError::Memory`] if they are not all its own and readable, [`DlError::Handle`].
    pub fn read(self, at: u64, to: &mut [u8]) -> Result<(), DlError> {
        let loaded = self.loaded()?;
        loaded.owns(at, to.len(), "readable")?;
        let bytes = loaded.domain.read_slice(Pointer::<u8>::from_address(at), to.len())?;
        to.copy_from_slice(&bytes.trust("handed on as it is: the caller's to check"));
        Ok(())
    }

    /// Copies bytes to the library's memory.
    ///
    /// # Errors
    /// [`DlError::Memory`] if it is not all its own and writable, [`DlError::Handle`].
    pub fn write(self, at: u64, from: &[u8]) -> Result<(), DlError> {
        let loaded = self.loaded()?;
        loaded.owns(at, from.len(), "writable")?;
        Ok(loaded.domain.write_slice(Pointer::<u8>::from_address(at), from)?)
    }

    /// Makes a service callable by the library through a function pointer, which stays as long as the library. Returns that.
    ///
    /// # Errors
    /// [`DlError::Service`]: it has no signature, or the library has no pointers left; [`DlError::Handle`].
    pub fn callback(self, service: &Service) -> Result<u64, DlError> {
        self.loaded()?.callback(service)
    }

    /// Takes back what [`expose`](Library::expose) gave: no access of the library succeeds when this has returned.
    ///
    /// # Errors
    /// [`DlError::NotExposed`], [`DlError::Handle`].
    pub fn hide(self, at: *mut u8) -> Result<(), DlError> {
        let loaded = self.loaded()?;
        let found = loaded.exposed().extract_if(.., |(address, _)| *address == at as u64).count();
        if found == 0 {
            return Err(DlError::NotExposed(at as u64, loaded.name.clone()));
        }
        Ok(())
    }

    /// Offers a service to this library alone, before others'.
    ///
    /// # Errors
    /// [`DlError::Service`], [`DlError::Handle`].
    pub fn provide(self, service: Service) -> Result<(), DlError> {
        let loaded = self.loaded()?;
        loaded.scope.provide(loaded.core(), loaded.image(), service)
    }

    /// What calls of `symbol` return when they fail, or of all functions that were looked up or will be.
    ///
    /// # Errors
    /// [`DlError::Symbol`] if it was not looked up, [`DlError::Handle`].
    pub fn set_failure(self, symbol: Option<&str>, value: u64) -> Result<(), DlError> {
        let loaded = self.loaded()?;
        match (loaded.set_failure(symbol, value), symbol) {
            (false, Some(symbol)) => Err(loaded.no_symbol(symbol)),
            _ => Ok(()),
        }
    }

    /// The library's name in reports.
    ///
    /// # Errors
    /// [`DlError::Handle`].
    pub fn name(self) -> Result<String, DlError> {
        Ok(self.loaded()?.name.clone())
    }

    /// The library whose window `address` lies in; of several in one domain the one whose image it lies in, or the base.
    pub fn of_address(address: u64) -> Option<Library> {
        let (base, offset) = (space::base_of(address), address % window::STRIDE);
        let place = |loaded: &Loaded| {
            (loaded.core().base() == base).then(|| (!loaded.image().holds(offset), loaded.id()))
        };
        table::least(place).map(Library::from_number)
    }

    /// The library that has called the service that the calling thread is in: the one whose code the service returns to. (Modules of one domain
    /// can call in each other's name.)
    pub fn caller() -> Option<Library> {
        call::calling_site().and_then(Library::of_address)
    }
}
