//! One run of GNU ld with `sysroot/module.ld`.

use crate::input::Input;
use crate::{Error, process, tools::Tools};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What to link.
pub(crate) struct Job<'a> {
    pub tools: &'a Tools,
    /// A scratch folder.
    pub folder: &'a Path,
    /// `module.ld`.
    pub script: &'a Path,
    /// Files and options in order; the sysroot's archives last.
    pub arguments: Vec<OsString>,
    /// Symbols of the dynamic symbol table.
    pub exports: Vec<String>,
    pub entry: &'a str,
    /// Paths of rewritten inputs, with the names that messages should use instead.
    pub names: Vec<(PathBuf, String)>,
}

impl Job<'_> {
    /// Links; the result is the linked file's bytes.
    pub(crate) fn run(&self) -> Result<Vec<u8>, Error> {
        let linked = self.link(&[])?;
        if !has_linkage_tables(&linked) {
            return Ok(linked);
        }
        // For a call of a weak function that nothing defines ld makes a procedure linkage table, whose indirect jumps
        // are no code of ours. Defined as 0, the call goes to the trap at address 0, as such a call deserves.
        let absent = self.absent_weak_symbols(&linked)?;
        self.link(&absent.iter().map(|name| format!("--defsym={name}=0")).collect::<Vec<_>>())
    }

    /// Weak symbols that the inputs use and nothing defines. (ld's output does not have their names any more.)
    fn absent_weak_symbols(&self, linked: &[u8]) -> Result<BTreeSet<String>, Error> {
        let mut absent = BTreeSet::new();
        for (path, _) in &self.names {
            absent.extend(Input::read(path)?.undefined_weak_symbols());
        }
        let defined = parse(linked)?;
        for symbol in defined.symbols().filter(|symbol| symbol.is_definition()) {
            absent.remove(symbol.name().unwrap_or_default());
        }
        Ok(absent)
    }

    fn link(&self, more: &[String]) -> Result<Vec<u8>, Error> {
        let path = self.folder.join("linked");
        let mut command = self.tools.ld()?;
        command
            .args(["-pie", "--no-dynamic-linker", "-z", "text", "-z", "norelro", "-z", "noexecstack"])
            .args(["-z", "max-page-size=4096", "--build-id=none", "--hash-style=gnu", "--eh-frame-hdr"])
            .args(["--no-demangle", "--error-unresolved-symbols", "-nostdlib", "-T"])
            .arg(self.script)
            .args(["-e", self.entry, "-o"])
            .arg(&path)
            .args(
                self.exports.iter().flat_map(|name| {
                    [format!("--undefined={name}"), format!("--export-dynamic-symbol={name}")]
                }),
            )
            .args(more)
            .args(&self.arguments);
        let output = process::output(&mut command)?;
        let messages = self.with_names(&String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            return std::fs::read(&path).map_err(Error::io("read", &path));
        }
        let undefined = undefined(&messages);
        if undefined.is_empty() {
            return Err(Error::Program { program: "ld".to_owned(), stderr: messages });
        }
        Err(Error::Undefined(undefined))
    }

    /// ld's messages with the inputs' own names.
    fn with_names(&self, messages: &str) -> String {
        self.names
            .iter()
            .fold(messages.to_owned(), |text, (path, name)| text.replace(&*path.to_string_lossy(), name))
    }
}

/// The names in ld's complaints, without repetition.
fn undefined(messages: &str) -> Vec<String> {
    let names: BTreeSet<&str> = messages
        .lines()
        .filter_map(|line| line.split_once("undefined reference to `")?.1.split_once('\''))
        .map(|(name, _)| name)
        .collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Names of the functions in the dynamic symbol table.
pub(crate) fn exported(linked: &[u8]) -> Result<BTreeSet<String>, Error> {
    let file = parse(linked)?;
    let functions =
        file.dynamic_symbols().filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
    Ok(functions.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect())
}

fn has_linkage_tables(linked: &[u8]) -> bool {
    let is_table = |name: &[u8]| name.starts_with(b".plt");
    parse(linked).is_ok_and(|file| {
        file.sections().any(|section| section.size() > 0 && section.name_bytes().is_ok_and(is_table))
    })
}

fn parse(linked: &[u8]) -> Result<ElfFile64<'_, LittleEndian>, Error> {
    ElfFile64::parse(linked)
        .map_err(|error| Error::Layout(format!("the linker's output is damaged ({error})")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn undefined_names_are_listed_once() {
        let messages = "ld: a.o: in function `f':\na.c:(.text+0x5): undefined reference to `host_log'\n\
                        ld: b.o:(.data+0x0): undefined reference to `other'\n\
                        ld: a.c:(.text+0x9): undefined reference to `host_log'\n";
        assert_eq!(super::undefined(messages), ["host_log", "other"]);
    }
}
