//! The file of `lockgate up`: each mistake is told with its line.

use super::listeners::Listeners;
use crate::cmd::domain::{self, Granted, Settings};
use crate::cmd::output;
use crate::cmd::proxy::Preset;
use anyhow::{Context as _, anyhow, bail};
use clap::ValueEnum as _;
use lockgate::syscall::Grants;
use lockgate::{CallLimit, DomainOptions, Expiry, Module, OnFailure, Policy, Version};
use lockgate_outside::printable;
use lockgate_programs::{
    Address, BackOff, Exported, Imported, Programs, ProgramsError, Ready, Restart, Shared, Spec,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a program's table may have. `lockgate up --help` names each (`every_key_is_in_the_help_and_on_the_page`).
const KEYS: &[&str] = &[
    "module",
    "arguments",
    "argv0",
    "environment",
    "directories",
    "working_directory",
    "umask",
    "listen",
    "connect",
    "memory_limit",
    "stack_size",
    "threads",
    "descriptors",
    "mappings",
    "time_limit",
    "cpu_limit",
    "restart",
    "restart_delay",
    "restart_delay_max",
    "restart_reset",
    "depends_on",
    "ready",
    "stop_timeout",
    "exports",
    "imports",
    "turn_timeout",
    "detached_limit",
];

/// Longest name of a program, bytes.
const LONGEST_NAME: usize = 64;

/// Longest message of a mistake, characters.
const LONGEST_MESSAGE: usize = 1_000;

/// Programs that one file may have.
const MOST: usize = 4096;

/// What is told of a program when something happens to it.
pub struct Told {
    pub name: String,
    /// It says itself when it is ready.
    pub says_when_ready: bool,
    /// That it may start.
    pub threads: u32,
}

/// What a file says.
pub struct File {
    pub programs: Programs,
    /// By program, in the order of the file.
    pub told: Vec<Told>,
    /// Where figures can be had.
    pub metrics: Option<Address>,
}

/// A mistake, and where in the text it is.
#[derive(Debug)]
struct Mistake {
    at: usize,
    error: anyhow::Error,
}

type Parsed<T> = Result<T, Mistake>;

/// Adds where it is to what is wrong.
trait At<T> {
    fn at(self, span: &Range<usize>) -> Parsed<T>;
}

impl<T, E: Into<anyhow::Error>> At<T> for Result<T, E> {
    fn at(self, span: &Range<usize>) -> Parsed<T> {
        self.map_err(|error| Mistake { at: span.start, error: error.into() })
    }
}

fn mistake<T>(span: &Range<usize>, what: impl std::fmt::Display) -> Parsed<T> {
    Err(Mistake { at: span.start, error: anyhow!("{what}") })
}

/// The programs of a file. Relative paths in it begin in the current directory.
///
/// # Errors
/// The first mistake, with the file's name and the line.
pub fn read(shown: &str, text: &str) -> anyhow::Result<File> {
    parse(text).map_err(|Mistake { at, error }| {
        let line = text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow!("{shown}:{line}: {}", shortened(&output::explain(&error)))
    })
}

/// A message that may have a value of the file in it, however long that is: its middle is left out then.
fn shortened(text: &str) -> String {
    let half = LONGEST_MESSAGE / 2;
    match (text.char_indices().nth(half), text.char_indices().nth_back(half)) {
        (Some((end, _)), Some((start, _))) if end < start => format!("{} … {}", &text[..end], &text[start..]),
        _ => text.to_owned(),
    }
}

fn parse(text: &str) -> Parsed<File> {
    let file = DeTable::parse(text).map_err(|error| Mistake {
        at: error.span().map_or(0, |span| span.start),
        error: anyhow!("{}", error.message().lines().next().unwrap_or_default()),
    })?;
    let whole = file.span();
    let file = Table::new("the file", file.into_inner(), whole, &["programs", "metrics"])?;
    let mut listeners = Listeners::default();
    let metrics = file.string("metrics", |text| {
        let every =
            text.strip_prefix("*:").and_then(|port| Some((Ipv4Addr::UNSPECIFIED, port.parse().ok()?)));
        let every = every.map(|every| Address::Tcp(every.into()));
        let address = every.or_else(|| accepts_at(text));
        let address = address.context("metrics are at an address with a port, or at unix:PATH")?;
        listeners.add("metrics", text);
        Ok(address)
    })?;
    let Some(programs) = file.get("programs") else {
        return mistake(&(0..0), "the file has no programs: begin one with [programs.NAME]");
    };
    let DeValue::Table(programs) = programs.get_ref() else {
        return mistake(&programs.span(), "programs must be a table: begin a program with [programs.NAME]");
    };
    if programs.is_empty() {
        return mistake(&file.whole, "the file has no programs: begin one with [programs.NAME]");
    }
    if programs.len() > MOST {
        return mistake(
            &file.whole,
            format!("the file has {} programs: at most {MOST} are allowed", programs.len()),
        );
    }
    // In the order of the file.
    let mut tables: Vec<_> = programs.iter().collect();
    tables.sort_by_key(|(name, _)| name.span().start);
    let mut modules = BTreeMap::new();
    let mut all = Programs::new();
    let mut told = Vec::new();
    let mut spans = Vec::new();
    let mut places = Vec::new();
    for (key, table) in tables {
        let name = name(key)?;
        let DeValue::Table(table) = table.get_ref() else {
            return mistake(&key.span(), format!("{name} must be a table: write [programs.{name}]"));
        };
        let table = Table::new(&format!("program {name}"), table.clone(), key.span(), KEYS)?;
        spans.push((name.clone(), table.span("depends_on")));
        for kind in ["exports", "imports"] {
            for (of, span) in table.entries(kind)?.iter().map(|(of, _, span)| (of.clone(), span.clone())) {
                places.push((name.clone(), kind, of, span));
            }
        }
        told.push(Told {
            name: name.clone(),
            says_when_ready: table.get("ready").is_some(),
            threads: threads(&table)?,
        });
        let spec = program(&name, &table, &mut modules, &mut listeners)?;
        // Metrics have its CPU time.
        let spec = if metrics.is_some() { spec.measure_cpu_time() } else { spec };
        all.add(spec).at(&key.span())?;
    }
    let place = |name: &String| {
        spans.iter().find(|(other, _)| other == name).map_or(whole_start(), |(_, span)| span.clone())
    };
    let shared = |kind: &str, program: &str, name: &str| {
        let is_it = |(of, its, entry, _): &&(String, &str, String, Range<usize>)| {
            of == program && *its == kind && entry == name
        };
        places.iter().find(is_it).map_or(whole_start(), |(.., span)| span.clone())
    };
    all.check().map_err(|error| {
        let span = match &error {
            ProgramsError::Missing { program, .. } => place(program),
            ProgramsError::Circle(circle) => circle.first().map_or(whole_start(), place),
            ProgramsError::Export { program, export, .. } => shared("exports", program, export),
            ProgramsError::Import { program, import, .. } => shared("imports", program, import),
            _ => whole_start(),
        };
        let error = match error {
            ProgramsError::Missing { program, missing } => {
                let known = told.iter().map(|program| program.name.as_str());
                let near = lockgate::nearest(&missing, known);
                let near = near.map_or(String::new(), |near| format!("; one is called {near}"));
                anyhow!(
                    "depends_on: {program} depends on {}, which is not a program of this file{near}",
                    printable(&missing)
                )
            }
            error => error.into(),
        };
        Mistake { at: span.start, error }
    })?;
    Ok(File { programs: all, told, metrics })
}

fn whole_start() -> Range<usize> {
    0..0
}

fn name(key: &Spanned<std::borrow::Cow<'_, str>>) -> Parsed<String> {
    let name = key.get_ref().as_ref();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) || name.starts_with('-') {
        return mistake(
            &key.span(),
            format!(
                "{:?} is no name of a program: it has 1 to {LONGEST_NAME} letters, digits, and _ . - inside",
                printable(name)
            ),
        );
    }
    Ok(name.to_owned())
}

/// A table whose keys are all known.
struct Table<'t> {
    fields: DeTable<'t>,
    whole: Range<usize>,
}

impl<'t> Table<'t> {
    fn new(what: &str, fields: DeTable<'t>, whole: Range<usize>, known: &[&str]) -> Parsed<Table<'t>> {
        // The first in the file.
        let unknown = fields.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        if let Some(key) = unknown.min_by_key(|key| key.span().start) {
            let shown = printable(key.get_ref());
            let near = lockgate::nearest(key.get_ref(), known.iter().copied());
            let near = near
                .map_or(format!("it may have {}", known.join(", ")), |near| format!("did you mean {near}?"));
            return mistake(&key.span(), format!("{what} has no key {shown}: {near}"));
        }
        Ok(Table { fields, whole })
    }

    fn get(&self, key: &str) -> Option<&Spanned<DeValue<'t>>> {
        self.fields.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// Where the key's value is, or the table.
    fn span(&self, key: &str) -> Range<usize> {
        self.get(key).map_or(self.whole.clone(), Spanned::span)
    }

    /// A value that `read` understands; what it says of another is told with the key.
    fn read<T>(&self, key: &str, read: impl FnOnce(&DeValue<'t>) -> anyhow::Result<T>) -> Parsed<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value.get_ref()).map(Some).with_context(|| key.to_owned()).at(&value.span())
    }

    /// A string that `parse` understands.
    fn string<T>(&self, key: &str, parse: impl FnOnce(&str) -> anyhow::Result<T>) -> Parsed<Option<T>> {
        self.read(key, |value| {
            let text = value.as_str().with_context(|| format!("{} instead of a string", kind(value)))?;
            parse(text).with_context(|| format!("{:?}", printable(text)))
        })
    }

    fn number(&self, key: &str, range: std::ops::RangeInclusive<u32>) -> Parsed<Option<u32>> {
        self.read(key, |value| {
            let number =
                value.as_integer().with_context(|| format!("{} instead of a number", kind(value)))?;
            let parsed = u32::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok();
            parsed.filter(|number| range.contains(number)).with_context(|| {
                format!("{} is not between {} and {}", number.as_str(), range.start(), range.end())
            })
        })
    }

    /// The entries of a table: name, value, and where they are.
    fn entries(&self, key: &str) -> Parsed<Vec<(String, &DeValue<'t>, Range<usize>)>> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let DeValue::Table(table) = value.get_ref() else {
            return mistake(&value.span(), format!("{key}: {} instead of a table", kind(value.get_ref())));
        };
        let mut entries: Vec<_> = table
            .iter()
            .map(|(name, value)| (name.get_ref().clone().into_owned(), value.get_ref(), name.span()))
            .collect();
        entries.sort_by_key(|(.., span)| span.start);
        Ok(entries)
    }

    /// A list of strings, each with its place.
    fn strings(&self, key: &str) -> Parsed<Vec<(String, Range<usize>)>> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let DeValue::Array(array) = value.get_ref() else {
            let what = kind(value.get_ref());
            return mistake(&value.span(), format!("{key}: {what} instead of a list of strings"));
        };
        let each = |item: &Spanned<DeValue<'t>>| match item.get_ref().as_str() {
            Some(text) => Ok((text.to_owned(), item.span())),
            None => {
                let what = kind(item.get_ref());
                mistake(&item.span(), format!("{key}: {what} instead of a string"))
            }
        };
        array.iter().map(each).collect()
    }
}

/// What a value is, with its article.
fn kind(value: &DeValue<'_>) -> String {
    let kind = value.type_str();
    format!("{} {kind}", if kind.starts_with(['a', 'i']) { "an" } else { "a" })
}

type Modules = BTreeMap<PathBuf, (Arc<Module>, Arc<std::fs::File>)>;

fn program(name: &str, table: &Table<'_>, modules: &mut Modules, listeners: &mut Listeners) -> Parsed<Spec> {
    let Some(path) = table.string("module", |text| Ok(text.to_owned()))? else {
        return mistake(&table.whole, format!("program {name} has no module: write module = \"PATH.lg\""));
    };
    let (module, file) = module(&path, modules).context("module").at(&table.span("module"))?;
    let grants = grants(name, table, listeners)?.forbid(&*file).at(&table.span("module"))?;
    let options = options(table, &path)?;
    let back_off = BackOff::default();
    let delay = |key, default: Duration| {
        table.string(key, domain::any_time).map(|delay: Option<Duration>| delay.unwrap_or(default))
    };
    let back_off = BackOff {
        first: delay("restart_delay", back_off.first)?,
        ceiling: delay("restart_delay_max", back_off.ceiling)?,
        reset: delay("restart_reset", back_off.reset)?,
    };
    if back_off.first > back_off.ceiling {
        let (first, ceiling) = (back_off.first, back_off.ceiling);
        let what =
            format!("restart_delay {first:?} is longer than restart_delay_max {ceiling:?}: raise that");
        return mistake(&table.span("restart_delay"), what);
    }
    let depends_on = table.strings("depends_on")?.into_iter().map(|(name, _)| name);
    let mut spec = Spec::new(name, &module, options, grants)
        .back_off(back_off)
        .restart(table.string("restart", restart)?.unwrap_or_default())
        .ready(ready(table)?)
        .depends_on(depends_on)
        .threads(threads(table)?);
    if let Some(descriptors) = table.number("descriptors", domain::DESCRIPTORS)? {
        spec = spec.descriptors(descriptors);
    }
    if let Some(mappings) = table.number("mappings", domain::MAPPINGS)? {
        spec = spec.mappings(mappings);
    }
    if let Some(timeout) = table.string("stop_timeout", domain::any_time)? {
        spec = spec.stop_timeout(timeout);
    }
    if let Some(timeout) = table.string("turn_timeout", domain::any_time)? {
        spec = spec.turn_timeout(timeout);
    }
    for (name, value, span) in table.entries("exports")? {
        spec = spec.export(export(&name, value, &span)?);
    }
    for (import, value, span) in table.entries("imports")? {
        spec = spec.import(self::import(&import, value, &span)?);
    }
    // What the file says well may be more, or less, than a domain can have.
    spec.check().at(&table.whole)?;
    Ok(spec)
}

fn threads(table: &Table<'_>) -> Parsed<u32> {
    Ok(table.number("threads", domain::THREADS)?.unwrap_or(0))
}

/// What a program exports as `name`: the function, or a table.
fn export(name: &str, value: &DeValue<'_>, span: &Range<usize>) -> Parsed<Exported> {
    const KEYS: &[&str] = &["function", "version", "serialize", "policy", "to", "share"];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
        let what = printable(name);
        return mistake(
            span,
            format!("exports: {what:?} is no name: it has 1 to {LONGEST_NAME} letters, digits, _ and -"),
        );
    }
    let exported = Exported::new(name);
    match value {
        DeValue::String(function) => Ok(exported.of(function.as_ref())),
        DeValue::Table(table) => {
            let table = Table::new(&format!("export {name}"), table.clone(), span.clone(), KEYS)?;
            let mut exported = match table.string("function", |text| Ok(text.to_owned()))? {
                Some(function) => exported.of(function),
                None => exported,
            };
            if let Some(version) = table.string("version", version)? {
                exported = exported.version(version);
            }
            if let Some(policy) = table.string("policy", policy)? {
                exported = exported.policy(policy);
            }
            if let Some(serialize) = table.read("serialize", truth)? {
                exported = exported.serialize(serialize);
            }
            exported = exported.shared(table.read("share", share)?.unwrap_or_default());
            if table.get("to").is_some() {
                exported = exported.to(table.strings("to")?.into_iter().map(|(program, _)| program));
            }
            Ok(exported)
        }
        other => mistake(
            span,
            format!(
                "exports: {name}: {} instead of a function's name, its prototype, or a table",
                kind(other)
            ),
        ),
    }
}

/// What answers an import: `PROGRAM.EXPORT`, or a table.
fn import(name: &str, value: &DeValue<'_>, span: &Range<usize>) -> Parsed<Imported> {
    const KEYS: &[&str] = &["from", "version", "policy", "on_failure", "time_limit", "on_expiry"];
    let from = |text: &str| {
        // (Names of programs may have dots, those of exports have none.)
        let both =
            text.rsplit_once('.').filter(|(program, export)| !program.is_empty() && !export.is_empty());
        let (program, export) = both.context("what is imported is called PROGRAM.EXPORT")?;
        Ok(Imported::new(name, program, export))
    };
    match value {
        DeValue::String(text) => {
            from(text).with_context(|| format!("imports: {name}: {:?}", printable(text))).at(span)
        }
        DeValue::Table(table) => {
            let table =
                Table::new(&format!("import {}", printable(name)), table.clone(), span.clone(), KEYS)?;
            let Some(mut imported) = table.string("from", from)? else {
                return mistake(
                    span,
                    format!("import {} has no from: write from = \"PROGRAM.EXPORT\"", printable(name)),
                );
            };
            if let Some(version) = table.string("version", version)? {
                imported = imported.version(version);
            }
            if let Some(policy) = table.string("policy", policy)? {
                imported = imported.policy(policy);
            }
            if let Some(on_failure) = table.read("on_failure", on_failure)? {
                imported = imported.on_failure(on_failure);
            }
            let on_expiry = table.string("on_expiry", on_expiry)?;
            match table.string("time_limit", domain::time)? {
                Some(time) => {
                    let limit = CallLimit::new(time).on_expiry(on_expiry.unwrap_or_default());
                    imported = imported.within(limit);
                }
                None if on_expiry.is_some() => {
                    return mistake(
                        &table.span("on_expiry"),
                        format!(
                            "import {} has on_expiry, and no time_limit that could pass: add time_limit = \"50ms\"",
                            printable(name)
                        ),
                    );
                }
                None => {}
            }
            Ok(imported)
        }
        other => mistake(
            span,
            format!(
                "imports: {}: {} instead of \"PROGRAM.EXPORT\", or a table",
                printable(name),
                kind(other)
            ),
        ),
    }
}

fn version(text: &str) -> anyhow::Result<Version> {
    let parts =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) = parts.context("a version is MAJOR.MINOR, such as 1.0")?;
    Ok(Version::new(major, minor))
}

fn policy(text: &str) -> anyhow::Result<Policy> {
    let preset = Preset::from_str(text, false).ok();
    let preset = preset.context("it must be mutual-trust, server-trusted, integrity or mutual-distrust")?;
    Ok(preset.policy())
}

fn truth(value: &DeValue<'_>) -> anyhow::Result<bool> {
    value.as_bool().with_context(|| format!("{} instead of true or false", kind(value)))
}

/// Whether other processes may call an export, or by which prototype.
fn share(value: &DeValue<'_>) -> anyhow::Result<Shared> {
    match value {
        DeValue::Boolean(true) => Ok(Shared::Values),
        DeValue::Boolean(false) => Ok(Shared::No),
        DeValue::String(prototype) => Ok(Shared::As(prototype.to_string())),
        other => bail!("{} instead of true, false or a prototype", kind(other)),
    }
}

/// What becomes of a call that takes longer than its caller waits.
fn on_expiry(text: &str) -> anyhow::Result<Expiry> {
    match text {
        "stop" => Ok(Expiry::Stop),
        "detach" => Ok(Expiry::Detach),
        _ => bail!("it must be \"stop\" or \"detach\""),
    }
}

/// What a call that fails comes to: a number, or the end of the caller's own.
fn on_failure(value: &DeValue<'_>) -> anyhow::Result<OnFailure> {
    const WAYS: &str =
        "on_failure must be a number, which a failed call returns, or \"end\", which ends the caller, too";
    match value {
        DeValue::String(text) if text == "end" => Ok(OnFailure::Propagate),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(&number.as_str().replace('_', ""), number.radix());
            Ok(OnFailure::Return(number.context(WAYS)? as u64))
        }
        _ => bail!("{WAYS}"),
    }
}

/// The module of a path, opened once.
fn module(path: &str, modules: &mut Modules) -> anyhow::Result<(Arc<Module>, Arc<std::fs::File>)> {
    let path = Path::new(path);
    if let Some(known) = modules.get(path) {
        return Ok(known.clone());
    }
    let module = Module::open(path)?;
    let (file, _) = lockgate_outside::open(path)
        .with_context(|| format!("cannot read {}", printable(&path.to_string_lossy())))?;
    let opened = (module, Arc::new(file));
    modules.insert(path.to_owned(), opened.clone());
    Ok(opened)
}

fn grants(name: &str, table: &Table<'_>, listeners: &mut Listeners) -> Parsed<Grants> {
    let mut directories: Vec<Granted> = Vec::new();
    let mut grants = Grants::default();
    for (text, span) in table.strings("directories")? {
        directories.push(domain::granted(&text).context("directories").at(&span)?);
        grants = domain::directories(Grants::default(), &directories).context("directories").at(&span)?;
    }
    let current = table.string("working_directory", |text| Ok(text.to_owned()))?;
    grants = domain::start_in(grants, &directories, current.as_deref())
        .with_context(|| format!("working_directory {}", printable(&current.clone().unwrap_or_default())))
        .at(&table.span("working_directory"))?;
    let (listen, connect) = (table.strings("listen")?, table.strings("connect")?);
    for (address, span) in &listen {
        grants = grants.listen(address).context("listen").at(span)?;
        if let Some((other, theirs)) = listeners.rival(address) {
            let also = if theirs == address { ", too" } else { "" };
            let what = [address, theirs].map(|address| printable(address));
            return mistake(span, format!("listen {}: {other} listens on {}{also}", what[0], what[1]));
        }
    }
    listen.iter().for_each(|(address, _)| listeners.add(name, address));
    for (address, span) in &connect {
        grants = grants.connect(address).context("connect").at(span)?;
    }
    let texts =
        |list: &[(String, Range<usize>)]| list.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
    domain::keep_control(&directories, &texts(&listen), &texts(&connect)).at(&table.whole)?;
    Ok(grants)
}

fn options(table: &Table<'_>, path: &str) -> Parsed<DomainOptions> {
    let settings = Settings {
        umask: table.string("umask", domain::mask)?.unwrap_or(domain::MASK),
        time_limit: table.string("time_limit", domain::time)?,
        cpu_limit: table.string("cpu_limit", domain::time)?,
        memory_limit: table.string("memory_limit", domain::memory)?.unwrap_or(domain::MEMORY),
        stack_size: table.string("stack_size", domain::size)?.unwrap_or(domain::STACK),
    };
    let mut options = settings.options();
    if let Some(limit) = table
        .string("detached_limit", |text| if text == "0" { Ok(Duration::ZERO) } else { domain::time(text) })?
    {
        options = options.detached_limit(limit);
    }
    let mut names = BTreeSet::new();
    for (text, span) in table.strings("environment")? {
        let (name, value) = domain::variable(OsStr::new(&text)).context("environment").at(&span)?;
        if !names.insert(name.clone()) {
            return mistake(&span, format!("environment: {} is given twice", printable(&name)));
        }
        options = options.environment(&name, value);
    }
    let name = table.string("argv0", |name| Ok(name.to_owned()))?.unwrap_or_else(|| path.to_owned());
    let arguments = table.strings("arguments")?.into_iter().map(|(text, _)| text);
    Ok(options.arguments([name].into_iter().chain(arguments)))
}

fn restart(text: &str) -> anyhow::Result<Restart> {
    Ok(match text {
        "never" => Restart::Never,
        "on-fault" => Restart::OnFault,
        "always" => Restart::Always,
        _ => bail!("it must be \"never\", \"on-fault\" or \"always\""),
    })
}

fn ready(table: &Table<'_>) -> Parsed<Ready> {
    const WAYS: &str = "it must be \"started\", \"listening\" or { line = \"TEXT\" }";
    let Some(value) = table.get("ready") else { return Ok(Ready::Started) };
    match value.get_ref() {
        DeValue::String(text) if text == "started" => Ok(Ready::Started),
        DeValue::String(text) if text == "listening" => {
            let addresses = table.strings("listen")?;
            match addresses.iter().find_map(|(address, _)| accepts_at(address)) {
                Some(address) => Ok(Ready::Listening(address)),
                None => mistake(
                    &value.span(),
                    "ready: listen has no address of TCP with a port, and no unix:PATH, to connect to",
                ),
            }
        }
        DeValue::Table(line) => {
            let line = Table::new("ready", line.clone(), value.span(), &["line"])?;
            match line.string("line", |text| Ok(text.to_owned()))? {
                Some(text) if !text.is_empty() => Ok(Ready::Line(text)),
                _ => mistake(&value.span(), format!("ready: {WAYS}")),
            }
        }
        _ => mistake(&value.span(), format!("ready: {WAYS}")),
    }
}

/// Where a program that may listen on `address` can be connected to.
fn accepts_at(address: &str) -> Option<Address> {
    if let Some(path) = address.strip_prefix("unix:") {
        return (path != "*").then(|| Address::Unix(path.into()));
    }
    let address = address.strip_prefix("tcp:").unwrap_or(address);
    let local = match address.strip_prefix("*:") {
        Some(port) => SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().ok()?)),
        None => address.to_socket_addrs().ok()?.next()?,
    };
    (local.port() != 0).then_some(Address::Tcp(local))
}
