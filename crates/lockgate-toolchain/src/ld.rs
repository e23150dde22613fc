//! One run of GNU ld with `sysroot/module.ld`.

use crate::input::Input;
use crate::join::{Foreign, Undefined};
use crate::{Error, process, tools::Tools};
use object::read::elf::{ElfFile64, ElfSymbol64};
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind, elf};
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
    /// Every other global symbol is exported, too.
    pub export_all: bool,
    /// What a module that joins a domain has from others.
    pub foreign: Option<&'a Foreign>,
    /// Paths of rewritten inputs, with the names that messages should use instead.
    pub names: Vec<(PathBuf, String)>,
}

impl Job<'_> {
    /// What the inputs leave undefined, archives searched: the module is not made yet.
    ///
    /// # Errors
    /// [`Error::ThreadLocal`], because such variables of a module that joins would need a place behind the base's thread pointer.
    pub(crate) fn undefined(&self) -> Result<Vec<Undefined>, Error> {
        let path = self.folder.join("partial.o");
        let mut command = self.tools.ld()?;
        let mut arguments: Vec<OsString> = ["-r", "-e", self.entry, "-o"].map(OsString::from).into();
        arguments.push((&path).into());
        arguments.extend(self.exports.iter().map(|name| format!("--undefined={name}").into()));
        arguments.extend(self.arguments.iter().cloned());
        process::arguments_in_file(&mut command, self.folder, arguments)?;
        let output = process::output(&mut command)?;
        if !output.status.success() {
            let stderr = self.with_names(&String::from_utf8_lossy(&output.stderr));
            return Err(Error::Program { program: "ld".to_owned(), stderr });
        }
        let bytes = lockgate_outside::read(&path).map_err(Error::io("read", &path))?;
        let partial = parse(&bytes)?;
        let is_thread_local = |symbol: &ElfSymbol64<'_, '_, LittleEndian>| symbol.kind() == SymbolKind::Tls;
        let variables: BTreeSet<_> = partial
            .symbols()
            .filter(is_thread_local)
            .filter_map(|symbol| Some(symbol.name().ok()?.to_owned()))
            .collect();
        match variables.is_empty() {
            true => undefined_symbols(partial.symbols()),
            false => Err(Error::ThreadLocal(variables.into_iter().collect())),
        }
    }

    /// Links; the result is the linked file's bytes.
    pub(crate) fn run(&self) -> Result<Vec<u8>, Error> {
        let linked = self.link(&[])?;
        refuse_chosen(&linked)?;
        if let Some(foreign) = self.foreign {
            let known: BTreeSet<&str> = foreign.words.iter().map(|word| &*word.name).collect();
            let symbols = undefined_symbols(parse(&linked)?.dynamic_symbols())?;
            let missing = symbols.into_iter().filter(|symbol| !symbol.weak && !known.contains(&*symbol.name));
            let missing: Vec<_> = missing.map(|symbol| symbol.name).collect();
            return if missing.is_empty() { Ok(linked) } else { Err(Error::Undefined(missing)) };
        }
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
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |more: &[&str]| arguments.extend(more.iter().map(OsString::from));
        match self.foreign {
            None => {
                add(&["-pie", "--no-dynamic-linker"]);
                let exports = self.exports.iter().map(|name| format!("--export-dynamic-symbol={name}"));
                arguments.extend(exports.map(OsString::from));
            }
            // What is undefined stays, with relocations by name.
            Some(foreign) => {
                let exports = self.folder.join("exports");
                let names: String = self.exports.iter().map(|name| format!("\"{name}\";")).collect();
                let text = format!("{{ global: {names} local: *; }};");
                std::fs::write(&exports, text).map_err(Error::io("write", &exports))?;
                add(&["-shared", "-Bsymbolic", "--version-script"]);
                arguments.push(exports.into());
                arguments.extend(foreign.functions.iter().map(|name| format!("--wrap={name}").into()));
            }
        };
        let mut add = |more: &[&str]| arguments.extend(more.iter().map(OsString::from));
        if self.export_all {
            add(&["--export-dynamic"]);
        }
        add(&["-z", "text", "-z", "norelro", "-z", "noexecstack"]);
        add(&["-z", "max-page-size=4096", "--build-id=none", "--hash-style=gnu", "--eh-frame-hdr"]);
        add(&["--no-demangle", "--error-unresolved-symbols", "-nostdlib", "-e", self.entry, "-o"]);
        arguments.push((&path).into());
        arguments.extend(self.exports.iter().map(|name| format!("--undefined={name}").into()));
        arguments.extend(more.iter().map(OsString::from));
        arguments.extend(self.arguments.iter().cloned());
        // Behind the inputs: what it provides (`end`, for example) is theirs if they define it, also if it was asked for before.
        arguments.extend(["-T".into(), self.script.into()]);
        let mut command = self.tools.ld()?;
        process::arguments_in_file(&mut command, self.folder, arguments)?;
        let output = process::output(&mut command)?;
        let messages = self.with_names(&String::from_utf8_lossy(&output.stderr));
        // Only a warning, for ld: but then no exception passes any function.
        let is_without_index = messages.contains("no .eh_frame_hdr table");
        if output.status.success() && !is_without_index {
            return lockgate_outside::read(&path).map_err(Error::io("read", &path));
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

fn undefined_symbols<'data, 'file>(
    symbols: impl Iterator<Item = ElfSymbol64<'data, 'file, LittleEndian>>,
) -> Result<Vec<Undefined>, Error>
where
    'data: 'file,
{
    let undefined = symbols.filter(|symbol| symbol.is_undefined() && symbol.is_global());
    let name = |symbol: &ElfSymbol64<'data, 'file, LittleEndian>| {
        let name = symbol
            .name()
            .map_err(|error| Error::Layout(format!("the linker's output is damaged ({error})")))?;
        Ok(Undefined { name: name.to_owned(), weak: symbol.is_weak() })
    };
    undefined
        .filter(|symbol| symbol.name_bytes().is_ok_and(|name| !name.is_empty()))
        .map(|symbol| name(&symbol))
        .collect()
}

/// Refuses functions that are chosen at start: no module has code that runs before its own.
fn refuse_chosen(linked: &[u8]) -> Result<(), Error> {
    let file = parse(linked)?;
    let chooses = |relocation: &object::Relocation| matches!(relocation.flags(), object::RelocationFlags::Elf { r_type } if r_type == elf::R_X86_64_IRELATIVE);
    let mut relocations = file.dynamic_relocations().into_iter().flatten().map(|(_, relocation)| relocation);
    if !relocations.any(|relocation| chooses(&relocation)) {
        return Ok(());
    }
    let is_chosen = |symbol: &ElfSymbol64<'_, '_, LittleEndian>| {
        symbol.is_definition() && symbol.elf_symbol().st_type() == elf::STT_GNU_IFUNC
    };
    let names: BTreeSet<String> =
        file.symbols().filter(is_chosen).filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    Err(Error::Usage(format!(
        "chosen at start, by __attribute__((ifunc)) or ((target_clones)): {names}; remove the attribute, or choose where the function is \
         called: if (__builtin_cpu_supports(\"avx2\")) ..."
    )))
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
