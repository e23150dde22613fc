//! From hostile sources to a verified module, or to whoever said no.
use crate::common::Guest;
use crate::expect::{By, Ending};
use crate::list::{Attack, Source};
use anyhow::{Context, Result, ensure};
use lockgate::{LoadError, Module};
use lockgate_toolchain::{Error, Sysroot, silent};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// A module that was accepted, or the rejection.
pub type Built<T> = std::result::Result<T, Ending>;

/// Builds and loads the attack's module.
///
/// # Errors
/// The source is not what its file name says, or the tools do not work here: nothing is shown then.
pub fn module(attack: &Attack) -> Result<Built<Arc<Module>>> {
    Ok(match file(attack)? {
        Ok(bytes) => load(&bytes)?,
        Err(ending) => Err(ending),
    })
}

/// Loads a module file.
///
/// # Errors
/// The machine cannot run modules.
pub fn load(bytes: &[u8]) -> Result<Built<Arc<Module>>> {
    match Module::from_bytes(bytes) {
        Ok(module) => Ok(Ok(module)),
        Err(LoadError::Parse { source, .. }) => Ok(Err(rejected(By::Loader, "V0", source.to_string()))),
        Err(LoadError::Rejected { rejection, .. }) => {
            Ok(Err(rejected(By::Verifier, rejection.rule, rejection.to_string())))
        }
        Err(error) => Err(error.into()),
    }
}

/// Builds the attack's module file.
///
/// # Errors
/// As [`module`].
pub fn file(attack: &Attack) -> Result<Built<Vec<u8>>> {
    file_by(attack, Guest::try_build)
}

/// The same as it comes to a host that calls functions by their prototypes, here that of the attack; if the verifier rejects it, too.
///
/// # Errors
/// As [`module`].
pub fn foreign_file(attack: &Attack, prototype: Option<&str>) -> Result<Built<Vec<u8>>> {
    let noted = |guest: Guest| prototype.into_iter().fold(guest, Guest::export);
    file_by(attack, |guest| noted(guest).try_build_unverified())
}

fn file_by(
    attack: &Attack,
    finish: impl FnOnce(Guest) -> std::result::Result<Vec<u8>, Error>,
) -> Result<Built<Vec<u8>>> {
    let source = attack.source.context("this attack has no source")?;
    let path = attack.folder.join(source.file());
    let flags: Vec<&str> = attack.description.build.flags.iter().map(String::as_str).collect();
    let scratch = tempfile::tempdir()?;
    let guest = match source {
        Source::File => return Ok(Ok(bytes(&path, scratch.path())?)),
        Source::ModuleAssembly => Guest::assembly(&format!("{UNITS}{DWARF}{}", fs::read_to_string(&path)?)),
        Source::ModuleC => {
            let includes = format!("-I{}", area(&path)?.display());
            let flags = if flags.is_empty() { Guest::FLAGS } else { &flags };
            Guest::c_with(&fs::read_to_string(&path)?, &[flags, &[&includes]].concat())
        }
        Source::Object | Source::Input => {
            let input = scratch.path().join("hostile.o");
            let guest = match source {
                Source::Object => {
                    assemble(&path, &input, &flags)?;
                    Guest::new()
                }
                _ => {
                    fs::write(&input, bytes(&path, scratch.path())?)?;
                    Guest::c("long hostile(void); long attack(void) { return hostile(); }")
                }
            };
            match guest.file(&input) {
                Ok(guest) => guest,
                Err(error) => return refusal(error).map(Err),
            }
        }
    };
    let gates = &attack.description.build.gates;
    match finish(gates.iter().fold(guest, |guest, gate| guest.gate(gate))) {
        Ok(bytes) => Ok(Ok(bytes)),
        Err(error) => refusal(error).map(Err),
    }
}

/// Whose refusal an error of the toolchain is.
fn refusal(error: Error) -> Result<Ending> {
    Ok(match error {
        Error::Rejected { rejection, .. } => rejected(By::Verifier, rejection.rule, rejection.to_string()),
        Error::Parse(error) => rejected(By::Loader, "V0", error.to_string()),
        Error::Rewrite(error) => Ending::Rejected { by: By::Rewriter, rule: None, reason: error.to_string() },
        Error::Missing { .. } | Error::Io { .. } | Error::Usage(_) | Error::Prototype { .. } => {
            return Err(error.into());
        }
        error => Ending::Rejected { by: By::Linker, rule: None, reason: error.to_string() },
    })
}

fn rejected(by: By, rule: &str, reason: String) -> Ending {
    Ending::Rejected { by, rule: Some(rule.to_owned()), reason }
}

/// The bytes that a source describes one by one: its `.text`, without symbols and relocations.
fn bytes(source: &Path, scratch: &Path) -> Result<Vec<u8>> {
    let (object, bytes) = (scratch.join("bytes.o"), scratch.join("bytes"));
    assemble(source, &object, &[])?;
    run(Command::new("objcopy").args(["-O", "binary", "-j", ".text"]).arg(&object).arg(&bytes))?;
    Ok(fs::read(bytes)?)
}

/// The units of the code model as macros.
const UNITS: &str = include_str!("../suite/units.inc");

/// Debug information out of proportion.
const DWARF: &str = include_str!("../suite/dwarf.inc");

/// Assembles; includes are looked for in the area's folder, and in the suite's.
fn assemble(source: &Path, object: &Path, flags: &[&str]) -> Result<()> {
    let sysroot = Sysroot::ensure(&silent)?;
    let mut command = sysroot.tools().compiler();
    for folder in area(source)?.ancestors().take(2) {
        command.arg(format!("-Wa,-I{}", folder.display()));
    }
    command.args(flags);
    run(command.arg("-c").arg(source).arg("-o").arg(object))
}

/// The folder of the area that a source belongs to: what its attacks share is there.
fn area(source: &Path) -> Result<&Path> {
    source.ancestors().nth(2).context("a source lies in a folder of an area")
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
