//! The smallest case: one function of a plugin, and a mistake in another.

use crate::modules::Builder;
use anyhow::{bail, ensure};
use lockgate::{CallError, Domain, DomainOptions, Module};
use lockgate_bench::screen::{Cell, Paint, Screen};
use std::path::Path;

const FLAGS: &[&str] = &["-O2", "-g", "-w"];
const EXPORTS: &[&str] = &["int add(int a, int b)", "int read_at(unsigned long address)"];

/// Builds `plugin.c` in `folder` as a module, calls it, and has it crash.
pub fn show(screen: &Screen, builder: &Builder, folder: &Path) -> anyhow::Result<()> {
    let flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    let object = builder.compile(&folder.join("plugin.c"), &flags, "plugin")?;
    let (path, _) = builder.link(&object, EXPORTS, false)?;
    let domain = Domain::new(&Module::open(&path)?, DomainOptions::new().name("plugin"))?;
    let add = domain.bind::<extern "C" fn(i32, i32) -> i32>("add")?;
    let sum = add.call(40, 2)?;
    ensure!(sum == 42, "add(40, 2) = {sum}");
    let read = domain.bind::<extern "C" fn(u64) -> i32>("read_at")?;
    let fault = match read.call(8) {
        Err(CallError::Fault(fault)) => fault,
        other => bail!("a wild read ended so: {other:?}"),
    };
    ensure!(add.call(1, 1)? == 2, "the domain goes on");
    let label = |what: &str| Cell::new(Paint::Faint, format!("{what:12}"));
    screen.table(&[
        vec![label("add(40, 2)"), Cell::new(Paint::Good, format!("{sum}, from a domain in this process"))],
        vec![
            label("read_at(8)"),
            Cell::new(Paint::Good, format!("an error, and this process goes on: {}", fault.reason())),
        ],
    ]);
    Ok(())
}
