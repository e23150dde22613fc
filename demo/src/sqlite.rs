//! SQLite in a domain: the real thing, through typed bindings.

use crate::modules::{Builder, run};
use anyhow::{Context as _, ensure};
use lockgate::{CallError, Domain, DomainOptions, HostFunction, Module, Pointer};
use lockgate_bench::screen::{Cell, Paint, Screen};
use lockgate_corpus::Corpus;
use std::ffi::CString;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A result row must end somewhere: longest text accepted from the module, bytes.
const TEXT: usize = 1 << 16;
/// Most columns accepted in a row.
const COLUMNS: u64 = 64;

const EXPORTS: &[&str] = &[
    "int sqlite3_open(const char *filename, void **db)",
    "int sqlite3_exec(void *db, const char *sql, void *callback, void *context, void *message)",
    "int sqlite3_prepare_v2(void *db, const char *sql, int size, void *statement, void *tail)",
    "int sqlite3_bind_int64(void *statement, int index, long value)",
    "int sqlite3_step(void *statement)",
    "long sqlite3_column_int64(void *statement, int column)",
    "double sqlite3_column_double(void *statement, int column)",
    "void *sqlite3_column_text(void *statement, int column)",
    "void *sqlite3_errmsg(void *db)",
    "int sqlite3_finalize(void *statement)",
    "int sqlite3_close(void *db)",
];

/// Opaque objects of SQLite: the host holds their addresses and nothing else.
type Handle = Pointer<u8>;
const ROW: i32 = 100;
const DONE: i32 = 101;

/// Compiles SQLite once, at the optimisation `level`, makes a module and a native program of the object, runs the same queries on both, and compares
/// what they answer.
pub fn show(screen: &Screen, builder: &Builder, corpus: &Corpus, level: &str) -> anyhow::Result<()> {
    let library = corpus.library("sqlite")?;
    let folder = corpus.root().join("demo");
    let start = Instant::now();
    let flags: Vec<String> =
        [level, "-g", "-w"].iter().map(|flag| (*flag).to_owned()).chain(library.flags()).collect();
    let object = builder.compile(&library.sources[0], &flags, "sqlite")?;
    let compiled = start.elapsed();
    let start = Instant::now();
    let (path, outcome) = builder.link(&object, EXPORTS, false)?;
    let linked = start.elapsed();
    let start = Instant::now();
    let module = Module::open(&path)?;
    let verified = start.elapsed();
    let report = module.report();
    // Two tables, printed as the work goes on, that look like one.
    let label = |what: &str| Cell::new(Paint::Faint, format!("{what:9}"));
    let fact = |what: &str, text: String| vec![label(what), Cell::new(Paint::Plain, text)];
    screen.table(&[
        fact(
            "source",
            library.sources[0].file_name().unwrap_or_default().to_string_lossy().into_owned()
                + " of the crate libsqlite3-sys",
        ),
        fact(
            "compiled",
            format!("by an ordinary gcc {level} to an ordinary object, in {:.1} s", compiled.as_secs_f64()),
        ),
        fact(
            "rewritten",
            format!(
                "and linked in {:.2} s: {} → {} KiB of code ({:.2} ×)",
                linked.as_secs_f64(),
                outcome.text_in >> 10,
                outcome.text_out >> 10,
                outcome.text_out as f64 / outcome.text_in as f64
            ),
        ),
        fact(
            "verified",
            format!(
                "and loaded in {:.1} ms: {} instructions, all of them confined",
                verified.as_secs_f64() * 1e3,
                report.instructions
            ),
        ),
    ]);

    let sql = std::fs::read_to_string(folder.join("queries.sql"))?;
    let start = Instant::now();
    let ours = Database::open(&module)?.answers(&sql)?;
    let ran = start.elapsed();

    let native = builder.folder().join("native");
    let mut linker = Command::new("musl-gcc");
    linker
        .arg("-static")
        .args(library.flags())
        .arg(folder.join("native.c"))
        .arg(&object)
        .arg("-o")
        .arg(&native);
    run(linker.arg("-lm"))?;
    let theirs = run(Command::new(&native).arg(folder.join("queries.sql")))?;

    ensure!(ours == theirs, "SQLite in the domain and native SQLite disagree:\n{ours}\n---\n{theirs}");
    screen.table(&[
        fact(
            "ran",
            format!(
                "in a domain of this process, with a callback into the host for each row, in {:.1} ms",
                ran.as_secs_f64() * 1e3
            ),
        ),
        vec![
            label("result"),
            Cell::new(
                Paint::Good,
                format!(
                    "{} rows, {} bytes: the same as those of that object in a native program",
                    ours.lines().count(),
                    ours.len()
                ),
            ),
        ],
    ]);
    Ok(())
}

/// An in-memory database inside a domain.
struct Database {
    domain: Domain,
    handle: Handle,
}

impl Database {
    fn open(module: &Arc<Module>) -> anyhow::Result<Self> {
        let domain = Domain::new(module, DomainOptions::new().name("sqlite").memory_limit(256 << 20))?;
        let open = domain.bind::<extern "C" fn(Pointer<u8>, Pointer<Handle>) -> i32>("sqlite3_open")?;
        let place = domain.alloc::<Handle>(1)?;
        let code = open.call(domain.alloc_string(c":memory:")?, place)?;
        ensure!(code == 0, "sqlite3_open: {code}");
        let handle = domain.read(place)?.trust("only handed back to the domain that it came from");
        Ok(Self { domain, handle })
    }

    /// Runs `sql`, collecting rows in a callback; then one prepared query, column by column. All answers as text.
    fn answers(&self, sql: &str) -> anyhow::Result<String> {
        let rows = Arc::new(Mutex::new(String::new()));
        let exec = self
            .domain
            .bind::<extern "C" fn(Handle, Pointer<u8>, Handle, Handle, Handle) -> i32>("sqlite3_exec")?;
        let collected = rows.clone();
        let row = self
            .domain
            .callback(HostFunction::new(
                move |domain: &Domain, _: Handle, count: i32, values: Pointer<Pointer<u8>>, _: Handle| {
                    // Whatever the module passes, the host reads inside the module's memory only, and never without end.
                    match line(domain, count, values) {
                        Some(line) => {
                            *collected.lock().expect("no panic while it is locked") += &line;
                            0
                        }
                        None => 1,
                    }
                },
            ))
            .context("no callback is free")?;
        let text = self.domain.alloc_string(&CString::new(sql)?)?;
        let code = exec.call(self.handle, text, row.pointer(), Handle::NULL, Handle::NULL)?;
        ensure!(code == 0, "sqlite3_exec: {}", self.message()?);
        let mut answers = rows.lock().expect("no panic while it is locked").clone();
        answers += &self.prepared()?;
        let close = self.domain.bind::<extern "C" fn(Handle) -> i32>("sqlite3_close")?;
        ensure!(close.call(self.handle)? == 0, "sqlite3_close: {}", self.message()?);
        Ok(answers)
    }

    fn prepared(&self) -> anyhow::Result<String> {
        let domain = &self.domain;
        let prepare = domain
            .bind::<extern "C" fn(Handle, Pointer<u8>, i32, Pointer<Handle>, Handle) -> i32>(
                "sqlite3_prepare_v2",
            )?;
        let bind = domain.bind::<extern "C" fn(Handle, i32, i64) -> i32>("sqlite3_bind_int64")?;
        let step = domain.bind::<extern "C" fn(Handle) -> i32>("sqlite3_step")?;
        let integer = domain.bind::<extern "C" fn(Handle, i32) -> i64>("sqlite3_column_int64")?;
        let double = domain.bind::<extern "C" fn(Handle, i32) -> f64>("sqlite3_column_double")?;
        let text = domain.bind::<extern "C" fn(Handle, i32) -> Pointer<u8>>("sqlite3_column_text")?;
        let finalize = domain.bind::<extern "C" fn(Handle) -> i32>("sqlite3_finalize")?;

        let sql =
            domain.alloc_string(c"SELECT id, rise * 2, canal FROM lock WHERE built = ?1 ORDER BY id")?;
        let place = domain.alloc::<Handle>(1)?;
        ensure!(
            prepare.call(self.handle, sql, -1, place, Handle::NULL)? == 0,
            "prepare: {}",
            self.message()?
        );
        let statement = domain.read(place)?.trust("only handed back to the domain that it came from");
        ensure!(bind.call(statement, 1, 1777)? == 0, "bind: {}", self.message()?);
        let mut answers = String::new();
        loop {
            match step.call(statement)? {
                ROW => {
                    let (id, rise) = (integer.call(statement, 0)?, double.call(statement, 1)?);
                    let canal = string(domain, text.call(statement, 2)?).context("text without end")?;
                    answers += &format!("{id}|{:#x}|{canal}\n", rise.to_bits());
                }
                DONE => break,
                code => anyhow::bail!("step: {code}: {}", self.message()?),
            }
        }
        finalize.call(statement)?;
        Ok(answers)
    }

    /// SQLite's own words for its last error.
    fn message(&self) -> Result<String, CallError> {
        let Ok(errmsg) = self.domain.bind::<extern "C" fn(Handle) -> Pointer<u8>>("sqlite3_errmsg") else {
            return Ok(String::new());
        };
        Ok(string(&self.domain, errmsg.call(self.handle)?).unwrap_or_default())
    }
}

/// One row as the native program prints it; `None` if what the module passed makes no sense.
fn line(domain: &Domain, count: i32, values: Pointer<Pointer<u8>>) -> Option<String> {
    let count = u64::try_from(count).ok().filter(|count| *count <= COLUMNS)?;
    let fields: Option<Vec<String>> = (0..count)
        .map(|i| {
            let value = domain.read(values.add(i)).ok()?.trust("read within the domain only");
            if value.is_null() { Some("NULL".to_owned()) } else { string(domain, value) }
        })
        .collect();
    Some(fields?.join("|") + "\n")
}

/// A string of the module, as text; `None` if it has no end or is not UTF-8.
fn string(domain: &Domain, at: Pointer<u8>) -> Option<String> {
    let bytes = domain.read_string(at, TEXT).ok()?.trust("checked to be UTF-8 next");
    bytes.into_string().ok()
}
