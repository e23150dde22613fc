//! Modules: verified once, shared by every domain made from them.
mod image;
mod placed;

pub(crate) use image::{Filled, Image};
pub(crate) use placed::Placed;

use crate::host::{self, Once, PerProcess};
use crate::signature::{PrototypeError, Signature};
use lockgate_abi::window;
use lockgate_signature::printable;
use lockgate_syscall::OwnFile;
use lockgate_verify::{Rejection, Report};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A verified module. Its code and constants are held in a sealed memory file (rule V0) that all domains
/// map; data is copied on write.
pub struct Module {
    name: String,
    parsed: lockgate_verify::Module,
    report: Report,
    image: Image,
    file: Vec<u8>,
    /// Of the report, for debuggers.
    sites: Vec<crate::symbols::Site>,
    /// What is known of single functions: by the exports' addresses, ascending; looked at when one is first bound.
    functions: Vec<(u64, Once<Option<Report>>)>,
    /// What the module says of each export, in their order; read when one is first bound.
    notes: Vec<Once<Result<Signature, PrototypeError>>>,
    symbols: Once<lockgate_symbols::Symbols>,
    /// The file's bytes for its own domains, made when one asks for them.
    own_file: PerProcess<Mutex<Option<Arc<OwnedFd>>>>,
}

/// Why a module was not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be read.
    #[error("cannot read {}: {source}; {}", printable(&path.to_string_lossy()), host::remedy(source, "check the path and its permissions"))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The bytes could not be copied.
    #[error("cannot copy the bytes of {name}: {source}; pass the bytes of one module")]
    Bytes {
        /// The given name.
        name: String,
        /// They are too many, or there is no memory.
        source: std::io::Error,
    },
    /// The file is not a module.
    #[error("{name} is not a module: {source}")]
    Parse {
        /// File or given name.
        name: String,
        /// What is wrong and where.
        source: lockgate_verify::ParseError,
    },
    /// The module breaks a rule of the code model.
    #[error("the verifier rejects {name}: {rejection}; rebuild it with `lockgate cc`")]
    Rejected {
        /// File or given name.
        name: String,
        /// Rule, place and reason.
        rejection: Box<Rejection>,
    },
    /// The machine or process cannot run modules.
    #[error(transparent)]
    Host(#[from] crate::host::HostError),
    /// The processor lacks what the module's code is compiled for.
    #[error(
        "module {name} needs {features}, which this processor lacks, and does not ask for it (cpuid): compile it without -m options \
             or -march=native for another processor"
    )]
    Processor {
        /// File or given name.
        name: String,
        /// What is missing, as Intel's manual calls it: "AVX2, BMI2 and FMA".
        features: String,
    },
    /// No memory for the image.
    #[error(
        "no memory for the image of {name} ({size} bytes): {source}; {}",
        host::remedy(source, "close other modules or raise the limit")
    )]
    Memory {
        /// File or given name.
        name: String,
        /// Bytes of the image.
        size: u64,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// What a note says of a function, if a call can be made by it: a note that cannot be read, or has variable arguments, is as good as none.
pub(crate) fn callable(note: Option<&str>) -> Option<Signature> {
    note?.parse().ok()
}

impl Module {
    /// Verifies the module in `file`, on a machine that can run it. `thunks` are the runtime's own, for every window.
    ///
    /// # Errors
    /// All of [`LoadError`] but those of reading.
    pub(crate) fn verified(name: String, file: Vec<u8>, thunks: &[u8]) -> Result<Arc<Module>, LoadError> {
        let mut parsed = lockgate_verify::Module::parse(&file)
            .map_err(|source| LoadError::Parse { name: name.clone(), source })?;
        let report = lockgate_verify::verify(&parsed)
            .map_err(|rejection| LoadError::Rejected { name: name.clone(), rejection })?;
        if let Some(features) = host::lacks(&report) {
            return Err(LoadError::Processor { name, features });
        }
        let image = Image::new(&parsed, thunks).map_err(|source| LoadError::Memory {
            name: name.clone(),
            size: parsed.image_size,
            source: source.into(),
        })?;
        for segment in &mut parsed.segments {
            // The image holds the bytes now; relocated words are all that domains need of them.
            segment.bytes = Vec::new();
        }
        let sites = crate::symbols::sites(&report.frames);
        let addresses: BTreeSet<u64> = parsed.exports.iter().map(|export| export.address).collect();
        let functions = addresses.into_iter().map(|address| (address, Once::new())).collect();
        let notes = parsed.exports.iter().map(|_| Once::new()).collect();
        Ok(Arc::new(Module {
            name,
            parsed,
            report,
            image,
            file,
            sites,
            functions,
            notes,
            symbols: Once::new(),
            own_file: PerProcess::default(),
        }))
    }

    /// File name, or "module" for one from bytes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the module can read or modify (rule V6).
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Procedures that [`Domain::bind`](crate::Domain::bind) finds: name and C prototype, if known.
    pub fn exports(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.parsed.exports.iter().map(|e| (e.name.as_str(), e.signature.as_deref()))
    }

    /// Host procedures that the module calls: name and C prototype, if known.
    pub fn imports(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.parsed.imports.iter().map(|i| (i.name.as_str(), i.signature.as_deref()))
    }

    /// What a call of the function at an image-relative address can read or modify; `None`: whatever the module can.
    pub(crate) fn function(&self, address: u64) -> Option<Cow<'_, Report>> {
        let look = || lockgate_verify::Functions::in_file(&self.file)?.report(address);
        match self.functions.binary_search_by_key(&address, |(export, _)| *export) {
            Ok(index) => self.functions[index].1.get(look).as_ref().map(Cow::Borrowed),
            // Whatever the host or another function points to.
            Err(_) => look().map(Cow::Owned),
        }
    }

    pub(crate) fn parsed(&self) -> &lockgate_verify::Module {
        &self.parsed
    }

    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    /// Image-relative address of an export.
    pub(crate) fn export(&self, name: &str) -> Option<&lockgate_verify::Export> {
        self.find(name).map(|index| &self.parsed.exports[index])
    }

    /// The same, with what the module says of it.
    ///
    /// # Errors
    /// It says something that is no prototype.
    pub(crate) fn export_with_note(
        &self,
        name: &str,
    ) -> Result<Option<(&lockgate_verify::Export, Option<&Signature>)>, PrototypeError> {
        let Some(index) = self.find(name) else { return Ok(None) };
        let export = &self.parsed.exports[index];
        let read = |text: &str| self.notes[index].get(|| text.parse()).as_ref().map_err(Clone::clone);
        Ok(Some((export, export.signature.as_deref().map(read).transpose()?)))
    }

    /// As [`callable`], of an export.
    pub(crate) fn callable(&self, name: &str) -> Option<&Signature> {
        self.export_with_note(name).ok()??.1
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.parsed.exports.binary_search_by(|export| export.name.as_str().cmp(name)).ok()
    }

    /// Window offset of one past the image.
    pub(crate) fn image_end(&self) -> u64 {
        window::IMAGE + self.parsed.image_size
    }

    /// Window offset from which the memory services of its domains work: behind the image, or behind the room for those that join.
    pub(crate) fn memory_start(&self) -> u64 {
        if self.parsed.base { window::IMAGE_MAX } else { self.image_end() }
    }

    /// Whether both were made from the same file.
    pub(crate) fn is_same(&self, other: &Module) -> bool {
        self.file == other.file
    }

    /// Shows debuggers the module of `domain`, whose image is at `image`, until the registration is dropped. `domain` must
    /// stay where it is until then.
    pub(crate) fn list_for_debuggers(
        &self,
        image: u64,
        domain: &str,
        process: crate::symbols::ProcessFacts,
    ) -> crate::symbols::Registration {
        crate::symbols::Registration::new(image, domain, &self.name, &self.file, &self.sites, process)
    }

    /// Debug information, read when first asked for.
    pub(crate) fn symbols(&self) -> &lockgate_symbols::Symbols {
        self.symbols.get(|| lockgate_symbols::Symbols::read(&self.file))
    }

    /// What is known of an image-relative address, if that can be found out soon.
    pub(crate) fn code_at(&self, address: u64) -> Option<lockgate_verify::Place> {
        lockgate_verify::place(&self.file, &self.parsed, &self.report.frames, address)
    }
}

impl OwnFile for Module {
    /// A copy that no domain maps as code, so that rule R6 says nothing of it; no process can write it any more. Threads that ask at the
    /// same time wait for one copy: a module does not choose how many there are.
    fn open(&self) -> Result<Arc<OwnedFd>, Errno> {
        let mut own = self.own_file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*own {
            return Ok(file.clone());
        }
        let (flags, wanted) = (MemfdFlags::ALLOW_SEALING, MemfdFlags::NOEXEC_SEAL);
        let file = host::memory_file("lockgate-file", flags, wanted, self.file.len() as u64)?;
        image::write_at(&file, &self.file, 0)?;
        image::seal(&file)?;
        Ok(own.insert(Arc::new(file)).clone())
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("name", &self.name)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
