//! The program: a module for each domain, stubs, and the host with both inside.

use crate::compile::{Compiler, DEFINE, cannot_start, run};
use crate::program::{self, Domain};
use crate::unit::{self, Contents, Unit};
use crate::{Error, Refusal, library, types};
use lockgate_headers::LOCKGATE_H;
use lockgate_outside::printable_text;
use lockgate_stubs::emit::c;
use lockgate_stubs::header::{self, model::Header};
use lockgate_stubs::plan;
use lockgate_toolchain::{Link, Progress, Sysroot};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Links a program: `files` are all its objects and archives, `arguments` gcc's for the host, `options` those of the compiler. With
/// `listing`, says on standard output what each domain may call.
///
/// # Errors
/// [`Error`]. A status that is no success is gcc's.
pub fn link(
    compiler: &Compiler,
    arguments: &[String],
    files: &[PathBuf],
    options: &[String],
    listing: bool,
    progress: Progress<'_>,
) -> Result<ExitStatus, Error> {
    let mut contents: Vec<Contents> = Vec::new();
    // What is not there gcc says best.
    for file in files.iter().filter(|file| file.exists()) {
        contents.extend(unit::read(file)?);
    }
    let domains = program::domains(&contents).map_err(Error::Refused)?;
    if let Some(domain) = domains.first()
        && arguments.iter().any(|argument| argument == "-shared" || argument == "--shared")
    {
        return Err(Error::Shared(domain.name.clone()));
    }
    if listing {
        let text = program::listing(&contents, &domains);
        std::io::Write::write_all(&mut std::io::stdout(), printable_text(&text).as_bytes())
            .map_err(Error::io("write", Path::new("standard output")))?;
    }
    let mut host = compiler.tools.gcc();
    host.args(arguments);
    let folder = lockgate_toolchain::work_folder()?;
    if !domains.is_empty() {
        let library = library::find()?;
        for domain in &domains {
            host.args(make(compiler, domain, options, folder.path(), progress)?);
        }
        host.arg(library).args(library::NEEDS);
    }
    host.status().map_err(|error| cannot_start(&host, &error))
}

/// Makes the module and the stubs of a domain: objects for the host.
fn make(
    compiler: &Compiler,
    domain: &Domain<'_>,
    options: &[String],
    folder: &Path,
    progress: Progress<'_>,
) -> Result<[PathBuf; 2], Error> {
    let word = lockgate_stubs::name::word(&domain.name);
    let write = |path: &Path, bytes: &[u8]| std::fs::write(path, bytes).map_err(Error::io("write", path));
    let declarations = declarations(&domain.units, |unit| &unit.interface);
    let gates: BTreeSet<String> = domain.gates.keys().cloned().collect();
    let names: BTreeSet<String> = domain.entries.union(&gates).cloned().collect();
    let header = read(&declarations, &domain.name, names.clone(), domain.types().to_vec())?;
    let otherwise = contradictions(domain, &header)?;
    if !otherwise.is_empty() {
        return Err(Error::Refused(otherwise));
    }
    let mut plan = plan::plan_domain(&header, &domain.name, &domain.options, &gates);
    let inside = self::declarations(&domain.units, |unit| &unit.inside);
    let system = [&compiler.musl(), domain.types()].concat();
    plan.hold_against(&header, &read(&inside, &domain.name, names, system)?);
    if !plan.refusals.is_empty() {
        return Err(Error::Stubs { domain: domain.name.clone(), refusals: plan.refusals });
    }

    let module = folder.join(&word).with_extension("lg");
    let failed = |error| Error::Module { domain: domain.name.clone(), error };
    let mut link = Link::new(&module);
    for (number, object) in domain.objects.iter().enumerate() {
        let path = folder.join(format!("{word}-{number}.o"));
        write(&path, object)?;
        link.file(&path).map_err(failed)?;
    }
    for export in c::exported(&plan) {
        link.export(&export).map_err(failed)?;
    }
    for import in c::imported(&plan) {
        link.gate(&import).map_err(failed)?;
    }
    link.library("m");
    let sysroot = Sysroot::ensure(progress)?;
    link.run(&sysroot, progress).map_err(failed)?;

    let files = c::domain(&plan, &domain.name, &declarations);
    lockgate_stubs::write(folder, &files).map_err(|(path, error)| Error::Io {
        action: "write",
        path,
        error,
    })?;
    write(&folder.join("lockgate.h"), LOCKGATE_H.as_bytes())?;
    let stubs = folder.join(format!("{word}_client.o"));
    let generates_code = |option: &&String| {
        ["-O", "-m", "-f", "-g"].iter().any(|start| option.starts_with(start)) && !types::decides(option)
    };
    let mut compile = compiler.tools.gcc();
    compile.args(["-O2", "-fPIE"]).args(options.iter().filter(generates_code)).args(domain.types());
    compile.args(["-std=gnu11", "-w", "-D_GNU_SOURCE", DEFINE, "-I"]).arg(folder);
    compile.arg("-c").arg(folder.join(&files[0].name)).arg("-o").arg(&stubs);
    run(&mut compile)?;
    Ok([stubs, embed(&word, &module)?])
}

/// The declarations of `names` in the text of sources; libclang finds the C library's headers by `system`.
fn read(
    declarations: &str,
    origin: &str,
    names: BTreeSet<String>,
    system: Vec<String>,
) -> Result<Header, Error> {
    let text = format!("#define _GNU_SOURCE 1\n{declarations}");
    Ok(header::read_text(&text, Path::new(origin), names, system)?)
}

/// Where who is on the other side of an entry or a gate declares it otherwise than the domain's sources, which the stubs are made from:
/// a domain's author does not say what the program passes, nor which of a gate's arguments are checked.
fn contradictions(domain: &Domain<'_>, ours: &Header) -> Result<Vec<Refusal>, Error> {
    // By their places: a unit has no other identity.
    let mut others: Vec<(&Unit, BTreeSet<String>)> = Vec::new();
    let gates = domain.gates.iter().map(|(gate, opened)| (opened.unit, gate));
    let used = |unit: &'_ Unit, entry: &String| unit.uses.iter().any(|used| used.name == *entry);
    let callers = domain
        .callers
        .iter()
        .flat_map(|unit| domain.entries.iter().filter(|entry| used(unit, entry)).map(|entry| (*unit, entry)));
    for (unit, name) in gates.chain(callers) {
        match others.iter_mut().find(|(known, _)| std::ptr::eq(*known, unit)) {
            Some((_, names)) => {
                names.insert(name.clone());
            }
            None => others.push((unit, BTreeSet::from([name.clone()]))),
        }
    }
    let mut refusals = Vec::new();
    // (Sizes ask others than those that are called.)
    let all: BTreeSet<String> = domain.entries.iter().chain(domain.gates.keys()).cloned().collect();
    for (unit, names) in others {
        let text = declarations(&[unit], |unit| &unit.interface);
        let theirs = read(&text, &unit.source, all.clone(), unit.types.clone())?;
        for name in &names {
            if plan::agree(ours, &theirs, name, domain.gates.contains_key(name)) != Some(false) {
                continue;
            }
            let place =
                |header: &Header| header.functions.named(name).map(|f| f.place.clone()).unwrap_or_default();
            refusals.push(Refusal {
                place: place(&theirs),
                what: format!(
                    "{name}() is declared differently here and in the sources of domain {}, at {}: the two sides would not agree about its arguments",
                    domain.name,
                    place(ours)
                ),
                remedy: match unit.types == domain.types() {
                    true => "give both one header, with all annotations; a pointer to a structure that only one of them defines \
                             needs LG_OPAQUE"
                        .into(),
                    false => format!("compile {} and that domain's sources with the same options", unit.source),
                },
            });
        }
    }
    Ok(refusals)
}

/// An object with the module between two symbols.
fn embed(word: &str, module: &Path) -> Result<PathBuf, Error> {
    let bytes = lockgate_outside::read(module).map_err(Error::io("read", module))?;
    let object = module.with_extension("module.o");
    std::fs::write(&object, lockgate_toolchain::embed(&format!("{word}_module"), &bytes))
        .map_err(Error::io("write", &object))?;
    Ok(object)
}

/// Declarations of a source: file, line, text.
type Pieces = Vec<(String, u32, String)>;

/// The declarations of sources, each once: they include the same headers. `of` are those of one side.
fn declarations(units: &[&Unit], of: fn(&Unit) -> &Pieces) -> String {
    let mut known: BTreeSet<(&str, u32, &str)> = BTreeSet::new();
    let mut all = String::new();
    for (number, unit) in units.iter().enumerate() {
        let mut own = Vec::new();
        for (file, line, text) in of(unit) {
            // A source may include a header twice, to have it say something else.
            if number == 0 || !known.contains(&(file, *line, text)) {
                let _ = writeln!(all, "# {line} \"{file}\"\n{text}");
            }
            own.push((file.as_str(), *line, text.as_str()));
        }
        known.extend(own);
    }
    all
}
