//! From objects and archives to a verified module.

use crate::glue::{self, Notes};
use crate::input::{self, Input, Kind, Part, inputs};
use crate::join::{self, Provider};
use crate::rewritten::Rewritten;
use crate::{CxxLibrary, Error, Progress, Prototype, Sysroot, cxx, declared, layout, ld, lto, signatures};
use lockgate_abi::symbol;
use lockgate_verify::{Module, Report};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Symbols of the sysroot that the runtime looks up, and finds in every module.
const RUNTIME_EXPORTS: &[&str] = &[
    symbol::INIT,
    symbol::FINI,
    symbol::THREAD_INIT,
    symbol::THREAD_EXIT,
    symbol::THREAD_RENEW,
    symbol::THREAD_MEND,
    symbol::ALLOC,
    symbol::FREE,
];

/// Those of a module that joins a domain.
const JOIN_EXPORTS: &[&str] = &[symbol::INIT, symbol::FINI];

/// Like any linker's output.
const EXECUTABLE: u32 = 0o777;

/// A module to be made.
#[derive(Debug, Clone)]
pub struct Link {
    output: PathBuf,
    items: Vec<Item>,
    exports: Vec<Prototype>,
    /// Functions of C++ by the names that their source has.
    cxx_exports: Vec<String>,
    imports: Vec<Prototype>,
    folders: Vec<PathBuf>,
    lto_options: Vec<String>,
    export_all: bool,
    export_archives: bool,
    declared: bool,
    keep_rejected: bool,
    base: bool,
    cxx: Option<CxxLibrary>,
    providers: Vec<Provider>,
}

#[derive(Debug, Clone)]
enum Item {
    Part(Part),
    /// `-lname`, searched when all folders are known.
    Library(String),
}

/// What [`Link::run`] made.
#[derive(Debug, Clone)]
pub struct LinkOutcome {
    /// The verifier's report.
    pub report: Report,
    /// Bytes of machine code in the objects and archives that were given (the sysroot's not counted).
    pub text_in: u64,
    /// The same after rewriting.
    pub text_out: u64,
    /// Size of the module file, bytes.
    pub file_size: u64,
    /// Inputs whose debug information could not follow the code: name, reason and remedy. Reports of faults in them
    /// name functions, but no lines.
    pub debug_dropped: Vec<String>,
    /// Gathers and scatters in a `--strict-bounds` build: their addresses are confined, but not checked.
    pub unchecked_vectors: u64,
    /// Functions that no module can have, in whose place our own stand (docs/building-modules.md).
    pub replaced: Vec<String>,
}

impl Link {
    /// A module that will be written to `output`.
    pub fn new(output: impl Into<PathBuf>) -> Link {
        Link {
            output: output.into(),
            items: Vec::new(),
            exports: Vec::new(),
            cxx_exports: Vec::new(),
            imports: Vec::new(),
            folders: Vec::new(),
            lto_options: Vec::new(),
            export_all: false,
            export_archives: false,
            declared: false,
            keep_rejected: false,
            base: false,
            cxx: None,
            providers: Vec::new(),
        }
    }

    /// Adds an object or archive.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Input`] if it is neither, or made for another machine.
    pub fn file(&mut self, path: &Path) -> Result<&mut Self, Error> {
        spares(path, &self.output)?;
        self.push(Input::read(path)?);
        Ok(self)
    }

    /// Adds an object that was compiled from `source`: the notes name and hash that.
    ///
    /// # Errors
    /// As [`Link::file`].
    pub fn compiled(&mut self, object: &Path, source: &Path) -> Result<&mut Self, Error> {
        spares(source, &self.output)?;
        let mut input = Input::read_as(object, source.to_string_lossy().into_owned())?;
        match lockgate_outside::read(source) {
            Ok(text) => input.hash = blake3::hash(&text),
            // What the compiler has read from a pipe cannot be read again.
            Err(error) if !lockgate_outside::is_ordinary(&error) => {}
            Err(error) => return Err(Error::io("read", source)(error)),
        }
        self.push(input);
        Ok(self)
    }

    /// Adds an object that is in the code model already: it is not rewritten, only verified.
    ///
    /// # Errors
    /// As [`Link::file`].
    pub fn verbatim(&mut self, path: &Path) -> Result<&mut Self, Error> {
        spares(path, &self.output)?;
        self.push(Input { verbatim: true, ..Input::read(path)? });
        Ok(self)
    }

    /// Adds the archive of `-lname`, to be found in the folders of [`Link::folder`] or among musl's.
    pub fn library(&mut self, name: impl Into<String>) -> &mut Self {
        self.items.push(Item::Library(name.into()));
        self
    }

    /// Adds a folder to search for libraries.
    pub fn folder(&mut self, path: impl Into<PathBuf>) -> &mut Self {
        self.folders.push(path.into());
        self
    }

    /// Passes an option to ld, between the inputs that come before and after it.
    pub fn ld_option(&mut self, option: impl Into<String>) -> &mut Self {
        self.items.push(Item::Part(Part::Option(option.into())));
        self
    }

    /// Passes an option to gcc where it compiles intermediate code. With `-flto` it does, and then does whatever that code says,
    /// assembly that includes the builder's files among it: for inputs whose authors may do that. Without, machine code is linked
    /// that is there beside it, and inputs that have none are refused.
    pub fn lto_option(&mut self, option: impl Into<String>) -> &mut Self {
        self.lto_options.push(option.into());
        self
    }

    /// Makes a function callable from the host: its C prototype, or its name alone. [`Link::run`] completes a name
    /// from the object's debug information, if there is any. The name of a global object lets the host find that.
    ///
    /// A function of C++ is called by its C prototype (the module then has this name for it, too), or as it is in a scope,
    /// `shop::Till::count(int) const`, with its parameters unless it is the only one (its symbol is exported as it is).
    ///
    /// # Errors
    /// [`Error::Prototype`].
    pub fn export(&mut self, prototype: &str) -> Result<&mut Self, Error> {
        if cxx::is_scoped(prototype) {
            self.cxx_exports.push(prototype.to_owned());
            return Ok(self);
        }
        add(&mut self.exports, Prototype::parse(prototype)?)?;
        Ok(self)
    }

    /// Exports every global function and every global object of the objects (not of the archives).
    pub fn export_all(&mut self, yes: bool) -> &mut Self {
        self.export_all = yes;
        self
    }

    /// Exports the global functions of the archives whose names are as in C, as a Rust `staticlib` has them: its own, and not those
    /// of the libraries in it, whose names have types and crates in them.
    pub fn export_archives(&mut self, yes: bool) -> &mut Self {
        self.export_archives = yes;
        self
    }

    /// Exports and imports what the inputs declare themselves, in sections that the crate lockgate-guest makes. (A module is one in
    /// any case: all that it says is its own word.)
    pub fn declared(&mut self, yes: bool) -> &mut Self {
        self.declared = yes;
        self
    }

    /// Imports a function of the host: its C prototype, or its name alone. Gate slots are given in this order.
    ///
    /// # Errors
    /// [`Error::Prototype`].
    pub fn gate(&mut self, prototype: &str) -> Result<&mut Self, Error> {
        add(&mut self.imports, Prototype::parse(prototype)?)?;
        Ok(self)
    }

    /// Links a C++ library, too, as `-lstdc++` or `-lc++` among the libraries does.
    pub fn cxx(&mut self, library: Option<CxxLibrary>) -> &mut Self {
        self.cxx = library;
        self
    }

    /// Makes a module whose domains others may join: all of libc is in it, and everything global is exported.
    pub fn base(&mut self, yes: bool) -> &mut Self {
        self.base = yes;
        self
    }

    /// Makes a module that joins a domain of the base in the file `path`: it has no libc, and what it does not define comes
    /// from there; or, from the second file on, another module that joins the same base. Functions of [`Link::gate`] come from the
    /// host, without gates of the module's own.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Input`] if it is no module.
    pub fn join(&mut self, path: &Path) -> Result<&mut Self, Error> {
        spares(path, &self.output)?;
        self.providers.push(Provider::read(path)?);
        Ok(self)
    }

    /// Keeps a module that the verifier rejects, as the output's name with `.rejected` appended.
    pub fn keep_rejected(&mut self, yes: bool) -> &mut Self {
        self.keep_rejected = yes;
        self
    }

    /// Rewrites, links, lays out, verifies and writes the module. Same inputs, same bytes.
    ///
    /// # Errors
    /// [`Error`]; nothing is written to the output's path then.
    pub fn run(&self, sysroot: &Sysroot, progress: Progress<'_>) -> Result<LinkOutcome, Error> {
        let folder = work_folder()?;
        let folder = folder.path();
        join::check(&self.providers)?;
        let joins = !self.providers.is_empty();
        if joins && self.base {
            return Err(Error::Usage(
                "--base and --join: a module that joins a domain is no base".to_owned(),
            ));
        }
        let parts = self.parts()?;
        let sources: Vec<_> = inputs(&parts).map(|input| (input.hash, input.name.clone())).collect();
        let parts = self.without_lto(sysroot, folder, parts)?;
        let functions: Vec<String> =
            inputs(&parts).filter(|input| input.kind == Kind::Object).flat_map(Input::functions).collect();
        let is_program = !joins && self.has_main(&parts);
        let (mut exports, mut imports) = (self.exports.clone(), self.imports.clone());
        if self.declared {
            declared::add(inputs(&parts), &mut exports, &mut imports)?;
        }
        for name in &self.cxx_exports {
            add(&mut exports, Prototype::parse(&cxx::symbol(&functions, name)?)?)?;
        }
        let export_all = self.export_all || self.base;
        if export_all {
            let mut known: BTreeSet<String> = exports.iter().map(|export| export.name().to_owned()).collect();
            for name in functions.iter().filter(|name| *name != "main") {
                if known.insert(name.clone()) {
                    exports.push(Prototype::parse(name)?);
                }
            }
        }
        if self.export_archives {
            let archives = inputs(&parts).filter(|input| input.kind == Kind::Archive);
            let mut known: BTreeSet<String> = exports.iter().map(|export| export.name().to_owned()).collect();
            for name in archives.flat_map(Input::functions).filter(|name| is_plain(name)) {
                if known.insert(name.clone()) {
                    exports.push(Prototype::parse(&name)?);
                }
            }
        }
        let objects: BTreeSet<String> =
            inputs(&parts).filter(|input| input.kind == Kind::Object).flat_map(Input::data).collect();
        let (data, mut exports): (Vec<_>, Vec<_>) =
            exports.into_iter().partition(|export| objects.contains(export.text()));
        let mut data: BTreeSet<String> = data.iter().map(|export| export.name().to_owned()).collect();
        if export_all {
            data.extend(objects);
        }
        let aliases = cxx::aliases(&functions, exports.iter().map(Prototype::name))?;
        // What joins may call others from its constructors alone.
        if !is_program && !self.base && !joins && exports.is_empty() && data.is_empty() {
            let what = "nothing to call: the inputs define no `main`, and no function is exported; \
                        name the functions that the host may call with --export 'PROTOTYPE'";
            return Err(Error::Usage(what.to_owned()));
        }
        signatures::complete(&mut exports, inputs(&parts))?;
        let mut symbols: Vec<String> = exports.iter().map(|export| export.name().to_owned()).collect();
        symbols.extend(data);
        let runtime_exports = if joins { JOIN_EXPORTS } else { RUNTIME_EXPORTS };
        symbols.extend(runtime_exports.iter().map(|&name| name.to_owned()));
        symbols.extend(is_program.then(|| symbol::MAIN.to_owned()));
        let cxx = self.cxx_library();
        if self.base {
            symbols.extend(sysroot.libc_names()?);
            symbols.extend(cxx.map_or(Ok(Vec::new()), |library| library.symbols(sysroot, progress))?);
        }
        let mut rewritten = Rewritten::of(&parts, sysroot, folder, progress)?;

        progress("linking", 0, 1);
        let mut arguments: Vec<OsString> = sysroot.start_files(is_program, joins).map(Into::into).collect();
        // It comes with clone, in modules that start threads; what joins a domain has its base's.
        let thread_start = format!("--export-dynamic-symbol={}", symbol::THREAD_START);
        arguments.extend((!joins).then(|| thread_start.into()));
        arguments.append(&mut rewritten.arguments);
        arguments.extend(aliases.iter().map(|(name, symbol)| format!("--defsym={name}={symbol}").into()));
        // Whatever options the caller left open end here.
        arguments.extend(["--no-whole-archive", "--start-group"].map(OsString::from));
        match joins {
            true => arguments.push(sysroot.compiler_library().into()),
            false => {
                if let Some(library) = cxx {
                    arguments.extend(library.archives(sysroot, progress)?.into_iter().map(OsString::from));
                }
                arguments.extend(sysroot.archives().map(OsString::from));
            }
        }
        arguments.push("--end-group".into());
        let mut job = ld::Job {
            tools: sysroot.tools(),
            folder,
            script: &sysroot.script(),
            arguments,
            exports: symbols,
            export_all: self.base,
            foreign: None,
            entry: if is_program { symbol::MAIN } else { symbol::INIT },
            names: rewritten.names,
        };
        let undefined = if joins { job.undefined()? } else { Vec::new() };
        let foreign = join::look_up(&undefined, &imports, &self.providers);
        let mut notes = Notes {
            exports: &exports,
            imports: &imports,
            sources: &sources,
            strict_bounds: sysroot.options().strict_bounds,
            base: self.base,
            states: &[],
            join: joins.then_some((&self.providers, &foreign)),
        };
        job.arguments.insert(0, glue::make(folder, &notes)?.into());
        job.foreign = joins.then_some(&foreign);
        let mut linked = job.run()?;
        layout::refuse_alignment(&linked, joins)?;
        // Where code lies does not depend on what the notes say of it.
        let states = layout::states(&linked)?;
        if !states.is_empty() {
            notes.states = &states;
            glue::make(folder, &notes)?;
            linked = job.run()?;
        }
        let exported = ld::exported(&linked)?;
        let missing: Vec<String> = exports
            .iter()
            .map(|export| export.name().to_owned())
            .filter(|name| !exported.contains(name))
            .collect();
        if !missing.is_empty() {
            return Err(Error::MissingExports(missing));
        }
        let file = layout::layout(&linked)?;
        let report = self.verify(&file)?;
        put(&self.output, &file, EXECUTABLE)?;
        progress("linking", 1, 1);
        Ok(LinkOutcome {
            report,
            text_in: rewritten.text_in,
            text_out: rewritten.text_out,
            file_size: file.len() as u64,
            debug_dropped: rewritten.debug_dropped,
            unchecked_vectors: rewritten.unchecked_vectors,
            replaced: rewritten.replaced,
        })
    }

    fn push(&mut self, input: Input) {
        self.items.push(Item::Part(Part::Input(input)));
    }

    /// What is to be linked, with libraries found.
    fn parts(&self) -> Result<Vec<Part>, Error> {
        let mut parts = Vec::new();
        for item in &self.items {
            match item {
                Item::Part(part) => parts.push(part.clone()),
                Item::Library(name) if Sysroot::has_library(name) || CxxLibrary::named(name).is_some() => (),
                Item::Library(name) => {
                    parts.push(Part::Input(Input::read(&input::library(name, &self.folders)?)?));
                }
            }
        }
        Ok(parts)
    }

    /// The C++ library to link with: what `-l` names goes before the compiler's usual one.
    fn cxx_library(&self) -> Option<CxxLibrary> {
        let named = self.items.iter().filter_map(|item| match item {
            Item::Library(name) => CxxLibrary::named(name),
            Item::Part(_) => None,
        });
        let not_usual = |library: &CxxLibrary| *library != CxxLibrary::default();
        named.clone().chain(self.cxx).find(not_usual).or_else(|| named.chain(self.cxx).next())
    }

    /// Whether the inputs are a program: an object has a `main`, hidden or not, or, where nothing is exported, an archive.
    fn has_main(&self, parts: &[Part]) -> bool {
        let wants_archives = self.exports.is_empty() && !self.export_all && !self.base;
        inputs(parts).any(|input| (input.kind == Kind::Object || wants_archives) && input.defines("main"))
    }

    /// The parts, with intermediate code compiled, if that was asked for.
    fn without_lto(&self, sysroot: &Sysroot, folder: &Path, parts: Vec<Part>) -> Result<Vec<Part>, Error> {
        let switch =
            self.lto_options.iter().rfind(|option| option.starts_with("-flto") || *option == "-fno-lto");
        if switch.is_none_or(|option| option == "-fno-lto") {
            if let Some(input) = inputs(&parts).find(|input| input.is_only_lto()) {
                let reason = "it holds nothing but intermediate code of -flto, which the compiler would compile here, with all assembly in it: give -flto if you trust its author, or have it compiled with -fno-lto";
                return Err(Error::input(&input.name, reason));
            }
            return Ok(parts);
        }
        let is_lto = |part: &Part| matches!(part, Part::Input(input) if input.is_lto());
        let (lto, mut ordinary): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_lto);
        if !lto.is_empty() {
            let inputs: Vec<&Input> = inputs(&lto).collect();
            let roots = self.exports.iter().map(Prototype::name);
            let object = lto::compile(sysroot.tools(), folder, &inputs, roots, &self.lto_options)?;
            ordinary.insert(0, Part::Input(object));
        }
        Ok(ordinary)
    }

    /// Parses and verifies the finished file.
    fn verify(&self, file: &[u8]) -> Result<Report, Error> {
        let module = Module::parse(file)?;
        lockgate_verify::verify(&module).map_err(|rejection| {
            let mut name = self.output.clone().into_os_string();
            name.push(".rejected");
            let kept = self.keep_rejected.then(|| PathBuf::from(name));
            match kept.as_deref().map(|path| keep(path, file)) {
                Some(Err(error)) => error,
                _ => Error::Rejected { rejection, kept },
            }
        })
    }
}

/// Writes what was rejected, under a name that no user has chosen: it must not replace what is no file, or wait for a reader.
fn keep(path: &Path, file: &[u8]) -> Result<(), Error> {
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let error = std::io::Error::other("it exists, and is not a file");
        return Err(Error::Io { action: "write", path: path.to_owned(), error });
    }
    put(path, file, EXECUTABLE)
}

/// Whether it is the name of a function of C: no name that C++ or Rust have made of types and modules, and none of their runtimes'.
fn is_plain(name: &str) -> bool {
    !["_Z", "_R"].iter().any(|start| name.starts_with(start))
        && !["main", "rust_eh_personality"].contains(&name)
}

/// Adds a prototype; the same one twice counts once.
fn add(list: &mut Vec<Prototype>, prototype: Prototype) -> Result<(), Error> {
    match list.iter().find(|other| other.name() == prototype.name()) {
        None => list.push(prototype),
        Some(other) if *other == prototype => (),
        Some(other) => {
            let what = format!("two prototypes for one name: `{}` and `{}`", other.text(), prototype.text());
            return Err(Error::Usage(what));
        }
    }
    Ok(())
}

/// What is made does not take the place of what it is made of.
///
/// # Errors
/// [`Error::Input`].
pub fn spares(input: &Path, output: &Path) -> Result<(), Error> {
    match lockgate_outside::is_same(input, output) {
        true => Err(Error::input(
            lockgate_outside::printable(&input.to_string_lossy()),
            "the output would overwrite this input: give the output (-o) another name",
        )),
        false => Ok(()),
    }
}

/// A folder for what is made on the way.
///
/// # Errors
/// [`Error::Io`].
pub fn work_folder() -> Result<lockgate_outside::Folder, Error> {
    lockgate_outside::Folder::new().map_err(Error::io("create a folder in", &std::env::temp_dir()))
}

/// Writes a file that appears complete or not at all. What is there and no file gets the bytes and stays: a device, and a link, for it
/// may lead to what a process has open (`/dev/stdout`), and its folder may be one of the system's.
///
/// # Errors
/// [`Error::Io`].
pub fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |error| Error::Io { action: "write", path: path.to_owned(), error };
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let mut file = std::fs::File::create(path).map_err(failed)?;
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            // Another user's file keeps its mode.
            let _ = file.set_permissions(std::fs::Permissions::from_mode(mode));
        }
        return std::io::Write::write_all(&mut file, bytes).map_err(failed);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".lockgate-")
        .permissions(std::fs::Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(failed)?;
    std::io::Write::write_all(&mut file, bytes).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
