//! `programs.system_call.<name>`: a system call of a module's, `….native` the same of an ordinary library's, and `….added` the difference, round by
//! round. `pipe` and `socket` are two calls each, a byte written and read; the others that move bytes move 64.

use crate::dlopen_sys::{Plain, call};
use crate::interleave::{Side, interleave};
use crate::{Metric, Options, objects};
use anyhow::ensure;
use lockgate::syscall::{Access, Grants};
use lockgate::{Domain, DomainOptions, Module};
use lockgate_corpus::Corpus;
use std::path::Path;
use std::time::Instant;

/// Samples of a full run.
const ROUNDS: usize = 200;
/// System calls in one sample.
const CALLS: i64 = 1000;

const NAMES: &[&str] =
    &["clock_gettime", "getppid", "pread", "pwrite", "pipe", "socket", "poll", "epoll_wait", "open_close"];

/// Measures on both sides, in turns.
pub fn measure(options: &Options, folder: &Path) -> anyhow::Result<Vec<Metric>> {
    let files = folder.join("files");
    std::fs::create_dir(&files)?;
    let source = Corpus::locate()?.root().join("bench/system_calls.c");
    let named = folder.join("system_calls.c");
    std::fs::write(&named, format!("#define FOLDER {files:?}\n#include {source:?}\n"))?;
    let native = Plain::compile(&named, &folder.join("system_calls.so"))?;
    let exports: Vec<String> = NAMES.iter().map(|name| format!("long {name}_many(long)")).collect();
    let exports: Vec<&str> = exports.iter().map(String::as_str).chain(["long prepare(long)"]).collect();
    let module = objects::module(&named, "system_calls", &[], &exports, folder)?;
    let guest = files.to_str().expect("a temporary folder's name is text");
    let grants = Grants::default().directory(guest, &files, Access::ReadWrite)?;
    let domain = Domain::new(&Module::open(module)?, DomainOptions::new().grants(grants))?;
    let prepare = domain.bind::<super::Number>("prepare")?;
    ensure!(prepare.call(0)? == 0 && call(native.function("prepare")?, 0) == 0, "cannot prepare");

    let mut sides = Vec::new();
    for name in NAMES {
        let function = format!("{name}_many");
        let (own, plain) = (domain.bind::<super::Number>(&function)?, native.function(&function)?);
        let side = |name: String, mut many: Box<dyn FnMut() -> anyhow::Result<i64>>| {
            let sample = move || {
                let start = Instant::now();
                ensure!(many()? == CALLS, "a system call failed");
                Ok(start.elapsed().as_nanos() as f64 / CALLS as f64)
            };
            Side::timed(name, sample)
        };
        sides.push(side(format!("programs.system_call.{name}"), Box::new(move || Ok(own.call(CALLS)?))));
        sides.push(side(
            format!("programs.system_call.{name}.native"),
            Box::new(move || Ok(call(plain, CALLS))),
        ));
    }
    let samples = interleave("system calls", options, ROUNDS, sides)?;
    let mut metrics = Vec::new();
    for pair in samples.chunks(2) {
        let added = pair[0].values.iter().zip(&pair[1].values).map(|(own, native)| own - native).collect();
        metrics.push(Metric::new(format!("{}.added", pair[0].name), "ns", added));
        metrics.extend(pair.iter().map(|samples| samples.metric("ns")));
    }
    Ok(metrics)
}
