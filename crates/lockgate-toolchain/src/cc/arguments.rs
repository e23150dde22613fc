//! What a compiler's arguments mean.

use super::ld_options::{LdOptions, Meaning};
use super::options::{CHOICES, CXX, IGNORED, IN_LONG, Long, NOT_LINKING, OPTIONS, SOURCES, WITH_VALUE};
use super::versions;
use crate::host::{self, Host};
use crate::{CxxLibrary, Error, Link};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Which compiler's command line it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Driver {
    /// gcc's: sources are in the language that their names say.
    #[default]
    C,
    /// g++'s: sources in C are in C++, too, and the C++ library is linked.
    Cxx,
}

/// A command line, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// Nothing is linked.
    Compile {
        /// For gcc, without ours.
        arguments: Vec<String>,
        /// There are sources in C++ among them, for this library.
        cxx: Option<CxxLibrary>,
    },
    /// The final link.
    Link(Box<Linking>),
}

/// A command line that ends in a module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Linking {
    pub(super) driver: Driver,
    /// There are sources in C++, for this library, or the command is their compiler.
    pub(super) cxx: Option<CxxLibrary>,
    no_cxx_library: bool,
    pub(super) items: Vec<Item>,
    /// The whole command line without options of ours, for a compiler that links programs of the host's: sources by the numbers of
    /// their items.
    line: Vec<Word>,
    /// Options for compiling the sources among the items.
    pub(super) compile: Vec<String>,
    pub(super) strict_bounds: bool,
    output: Option<String>,
    folders: Vec<PathBuf>,
    exports: Vec<String>,
    gates: Vec<String>,
    export_all: bool,
    declared: bool,
    keep_rejected: bool,
    base: bool,
    joins: Vec<PathBuf>,
    /// Files with prototypes.
    lists: Vec<PathBuf>,
    /// Version scripts.
    versions: Vec<PathBuf>,
}

/// One input, or an option whose place among the inputs matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Source { path: String, language: Option<String> },
    File(String),
    Verbatim(String),
    Library(String),
    LdOption(String),
}

/// A word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Source(usize),
    Other(String),
}

/// A source of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source<'l> {
    /// As it was given; `-` is standard input.
    pub path: &'l str,
    /// Of `-x`.
    pub language: Option<&'l str>,
}

impl Source<'_> {
    /// Whether it is in C.
    pub fn is_c(&self) -> bool {
        self.language.map_or(self.path.ends_with(".c"), |language| language == "c")
    }

    fn is_cxx(&self) -> bool {
        let extension = Path::new(self.path).extension().and_then(|extension| extension.to_str());
        match self.language {
            Some(language) => language.starts_with("c++"),
            None => extension.is_some_and(|extension| CXX.contains(&extension)),
        }
    }

    /// As gcc's arguments say it, whatever comes before and after.
    pub fn arguments(&self) -> Vec<String> {
        match self.language {
            None => vec![self.path.to_owned()],
            Some(language) => ["-x", language, self.path, "-x", "none"].map(str::to_owned).to_vec(),
        }
    }
}

impl CommandLine {
    /// Understands the arguments, response files already expanded.
    ///
    /// # Errors
    /// [`Error::Usage`] if an option lacks its value; [`Error::Io`] if a file with prototypes cannot be read.
    pub fn parse(driver: Driver, arguments: Vec<String>) -> Result<CommandLine, Error> {
        let mut linking = Linking { driver, ..Linking::default() };
        let mut for_gcc = Vec::new();
        let mut language = None;
        let mut links = true;
        let mut library = CxxLibrary::default();
        let mut ld_options = LdOptions::default();
        let mut rest = Rest(arguments.into());
        while let Some(argument) = rest.option()? {
            if linking.own_option(&argument, &mut rest)? {
                continue;
            }
            if let Some(name) = argument.strip_prefix("-stdlib=") {
                library = cxx_library(name)?;
                continue;
            }
            let (begin, items) = (for_gcc.len(), linking.items.len());
            for_gcc.push(argument.clone());
            // The value that is the rest of this argument, or the next one.
            let mut value = |attached: &str| -> Result<String, Error> {
                if !attached.is_empty() {
                    return Ok(attached.to_owned());
                }
                let next = rest.next().ok_or_else(|| missing_value(&argument))?;
                for_gcc.push(next.clone());
                Ok(next)
            };
            let mut for_ld = |option: &str, linking: &mut Linking| {
                match ld_options.meaning(option) {
                    Meaning::Ignored => (),
                    Meaning::Option => linking.items.push(Item::LdOption(option.to_owned())),
                    Meaning::Layout => return Err(no_layout(option)),
                    Meaning::File => linking.items.push(Item::File(option.to_owned())),
                    Meaning::Library(name) => linking.items.push(Item::Library(name)),
                    Meaning::Folder(path) => linking.folders.push(path.into()),
                    Meaning::Versions(path) => linking.versions.push(path.into()),
                }
                Ok(())
            };
            match argument.as_str() {
                option if NOT_LINKING.contains(&option) => links = false,
                option
                    if ["-print-", "--print-", "--help="].iter().any(|start| option.starts_with(start)) =>
                {
                    links = false
                }
                option if IGNORED.contains(&option) => (),
                option if CHOICES.iter().any(|choice| option.starts_with(choice)) => (),
                "-shared" => linking.export_all = true,
                "-nostdlib++" => linking.no_cxx_library = true,
                "-s" => linking.items.push(Item::LdOption("-s".to_owned())),
                "-Xlinker" => for_ld(&value("")?, &mut linking)?,
                "-u" | "-z" | "-T" | "-e" => {
                    for_ld(&argument, &mut linking)?;
                    for_ld(&value("")?, &mut linking)?;
                }
                option if WITH_VALUE.contains(&option) => {
                    let value = value("")?;
                    linking.compile.extend([argument.clone(), value]);
                }
                option => match option.split_at_checked(2).unwrap_or((option, "")) {
                    _ if option.starts_with("-Wl,") => {
                        option[4..].split(',').try_for_each(|option| for_ld(option, &mut linking))?;
                    }
                    ("-o", attached) => linking.output = Some(value(attached)?),
                    ("-T", _) => for_ld(option, &mut linking)?,
                    ("-L", attached) => linking.folders.push(value(attached)?.into()),
                    ("-l", attached) => linking.items.push(Item::Library(value(attached)?)),
                    ("-x", attached) => {
                        language = Some(value(attached)?).filter(|language| language != "none")
                    }
                    ("-", "") => linking.items.push(source("-", &language)),
                    (_, _) if option.starts_with('-') => linking.compile.push(argument.clone()),
                    (_, _) if language.is_some() || is_source(option) => {
                        linking.items.push(source(option, &language))
                    }
                    (_, _) if is_start_file(option) => (),
                    (_, _) => linking.items.push(Item::File(argument.clone())),
                },
            }
            let sets_language = argument.starts_with("-x");
            let is_source = matches!(linking.items.get(items), Some(Item::Source { .. }));
            match (is_source, sets_language) {
                (true, _) => linking.line.push(Word::Source(items)),
                (false, true) => (),
                (false, false) => linking.line.extend(for_gcc[begin..].iter().cloned().map(Word::Other)),
            }
        }
        // Libraries alone may hold a program; gcc would make one of the host's.
        let has_inputs = linking.items.iter().any(|item| !matches!(item, Item::LdOption(_)))
            || !linking.exports.is_empty()
            || linking.output.is_some();
        let is_cxx = driver == Driver::Cxx || linking.sources().any(|source| source.is_cxx());
        linking.cxx = is_cxx.then_some(library);
        Ok(match links && has_inputs {
            true => CommandLine::Link(Box::new(linking)),
            false => CommandLine::Compile { arguments: for_gcc, cxx: linking.cxx },
        })
    }
}

/// The arguments that are left.
struct Rest(VecDeque<String>);

impl Iterator for Rest {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.0.pop_front()
    }
}

impl Rest {
    /// The next argument, where an option may stand: in short if gcc has a short form of it. Its value is the next argument then.
    fn option(&mut self) -> Result<Option<String>, Error> {
        let Some(argument) = self.next() else { return Ok(None) };
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (argument.as_str(), None),
        };
        let short = match (IN_LONG.iter().find(|(long, ..)| *long == name), value) {
            (Some((_, short, Long::Joined)), value) => {
                let value = value.map(str::to_owned).or_else(|| self.next());
                format!("{short}{}", value.ok_or_else(|| missing_value(name))?)
            }
            (Some((_, short, Long::Alone | Long::Value)), None) => (*short).to_owned(),
            (Some((_, short, Long::Value)), Some(value)) => {
                self.0.push_front(value.to_owned());
                (*short).to_owned()
            }
            (Some((_, short, Long::Attached)), value) => format!("{short}{}", value.unwrap_or_default()),
            _ => argument,
        };
        Ok(Some(short))
    }
}

impl Item {
    fn source(&self) -> Option<Source<'_>> {
        match self {
            Item::Source { path, language } => Some(Source { path, language: language.as_deref() }),
            _ => None,
        }
    }
}

impl Linking {
    /// The sources, in order.
    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        self.items.iter().filter_map(Item::source)
    }

    /// The arguments for a compiler that links a program of the host's: `object` says what stands for a source, `None` leaves it to
    /// that compiler.
    pub fn host_line(&self, mut object: impl FnMut(Source<'_>) -> Option<String>) -> Vec<String> {
        let mut arguments = Vec::new();
        for word in &self.line {
            match word {
                Word::Other(text) => arguments.push(text.clone()),
                Word::Source(number) => {
                    let Some(source) = self.items[*number].source() else { continue };
                    match object(source) {
                        Some(object) => arguments.push(object),
                        None => arguments.extend(source.arguments()),
                    }
                }
            }
        }
        arguments
    }

    /// Objects and archives, the latter also where `-l` finds one in a folder of `-L`.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.items.iter().filter_map(|item| match item {
            Item::File(path) => Some(path.into()),
            Item::Library(name) => crate::input::library(name, &self.folders).ok(),
            _ => None,
        })
    }

    /// Options for compiling the sources.
    pub fn compile_options(&self) -> &[String] {
        &self.compile
    }

    /// The output, if it was named.
    pub fn output(&self) -> Option<&str> {
        self.output.as_deref()
    }

    /// Whether what is made takes the place of nothing that it is made of.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn spares_inputs(&self) -> Result<(), Error> {
        let Some(output) = self.output.as_deref().map(Path::new) else { return Ok(()) };
        let items = self.items.iter().filter_map(|item| match item {
            Item::Source { path, .. } | Item::File(path) | Item::Verbatim(path) => Some(Path::new(path)),
            Item::Library(_) | Item::LdOption(_) => None,
        });
        let ours = self.joins.iter().chain(&self.lists).chain(&self.versions).map(PathBuf::as_path);
        items.chain(ours).try_for_each(|input| crate::link::spares(input, output))
    }

    /// Options for compiling `source` that have files of dependencies (`-MD`) written where gcc writes them when it links, too.
    pub fn dependencies(&self, source: Source<'_>) -> Vec<String> {
        let has = |names: &[&str]| self.compile.iter().any(|option| names.contains(&option.as_str()));
        let mut more = Vec::new();
        if !has(&["-MD", "-MMD"]) {
            return more;
        }
        let output = Path::new(self.output.as_deref().unwrap_or("a.out"));
        if !has(&["-MF"]) {
            let stem = Path::new(source.path).file_stem().unwrap_or("stdin".as_ref()).to_string_lossy();
            let file = match self.output {
                Some(_) => output.with_extension("d").to_string_lossy().into_owned(),
                None => format!("a-{stem}.d"),
            };
            more.extend(["-MF".to_owned(), file]);
        }
        if !has(&["-MT", "-MQ"]) {
            more.extend(["-MQ".to_owned(), output.to_string_lossy().into_owned()]);
        }
        more
    }

    /// Options for compiling `source` that have files beside the output (`-save-temps`, `-fstack-usage`, `-gsplit-dwarf`) written where gcc
    /// writes them when it links, too, and not beside the object, which goes.
    pub fn dumps(&self, source: &str) -> Vec<String> {
        let asks = |option: &String| {
            let names = [
                "-save-temps",
                "-fstack-usage",
                "-gsplit-dwarf",
                "-fdump-",
                "-fcallgraph-info",
                "-ftest-coverage",
                "--coverage",
            ];
            names.iter().any(|name| option.starts_with(name))
        };
        if !self.compile.iter().any(asks) {
            return Vec::new();
        }
        let output = self.output.as_deref().unwrap_or("a");
        let output = output.strip_suffix(".out").unwrap_or(output);
        let name = Path::new(source).file_name().unwrap_or("stdin".as_ref()).to_string_lossy();
        let mut options = ["-dumpdir", &format!("{output}-"), "-dumpbase", &name].map(str::to_owned).to_vec();
        if let Some((_, extension)) = name.rsplit_once('.') {
            options.extend(["-dumpbase-ext".to_owned(), format!(".{extension}")]);
        }
        options
    }

    /// Takes an option of ours, with its value. False if it is none.
    fn own_option(&mut self, argument: &str, rest: &mut impl Iterator<Item = String>) -> Result<bool, Error> {
        let (name, attached) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (argument, None),
        };
        if !OPTIONS.iter().any(|(own, ..)| *own == name) {
            return Ok(false);
        }
        let mut value = || attached.clone().or_else(|| rest.next()).ok_or_else(|| missing_value(name));
        match name {
            "--export" => self.exports.push(value()?),
            "--exports" => {
                let list = PathBuf::from(value()?);
                self.exports.extend(prototypes(&list)?);
                self.lists.push(list);
            }
            "--gate" => self.gates.push(value()?),
            "--gates" => {
                let list = PathBuf::from(value()?);
                self.gates.extend(prototypes(&list)?);
                self.lists.push(list);
            }
            "--for" => {
                self.gates.extend(Host::named(&value()?)?.gates().map(str::to_owned));
                self.export_all = true;
            }
            "--verbatim" => self.items.push(Item::Verbatim(value()?)),
            "--export-all" => self.export_all = true,
            "--declared" => self.declared = true,
            "--base" => self.base = true,
            "--join" => self.joins.push(value()?.into()),
            "--strict-bounds" => self.strict_bounds = true,
            "--keep-rejected" => self.keep_rejected = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options for sources of a module that joins a domain: objects of others are reached through words.
    pub(super) fn compile_for_join(&self) -> &'static [&'static str] {
        match self.joins.is_empty() {
            true => &[],
            false => &["-fPIC", "-fno-semantic-interposition"],
        }
    }

    /// The link, without its inputs.
    pub(super) fn start(&self) -> Result<Link, Error> {
        let mut link = Link::new(self.output.as_deref().unwrap_or("a.out"));
        let mut named = Vec::new();
        for script in &self.versions {
            named.extend(versions::exports(&crate::input::text(script)?));
        }
        for export in named.iter().flatten() {
            link.export(export)?;
        }
        link.export_all(self.export_all && named.is_empty())
            .declared(self.declared)
            .keep_rejected(self.keep_rejected)
            .base(self.base);
        link.cxx(self.cxx.filter(|_| !self.no_cxx_library));
        for module in &self.joins {
            link.join(module)?;
        }
        for export in &self.exports {
            link.export(export)?;
        }
        for gate in &self.gates {
            link.gate(gate)?;
        }
        for folder in &self.folders {
            link.folder(folder);
        }
        let generates_code =
            |option: &&String| ["-O", "-m", "-f", "-g"].iter().any(|start| option.starts_with(start));
        for option in self.compile.iter().filter(generates_code) {
            link.lto_option(option);
        }
        Ok(link)
    }
}

/// The prototypes in a file: one per line; empty lines and those that begin with `#` or `//` are skipped.
fn prototypes(path: &Path) -> Result<Vec<String>, Error> {
    let text = crate::input::text(path)?;
    Ok(host::prototypes(&text).map(str::to_owned).collect())
}

fn source(path: &str, language: &Option<String>) -> Item {
    Item::Source { path: path.to_owned(), language: language.clone() }
}

fn is_source(path: &str) -> bool {
    Path::new(path).extension().and_then(|extension| extension.to_str()).is_some_and(|e| SOURCES.contains(&e))
}

/// Whether it is start code that rustc brings for programs of the host's; a module has its own.
fn is_start_file(path: &str) -> bool {
    const NAMES: &[&str] = &[
        "crt1.o",
        "rcrt1.o",
        "Scrt1.o",
        "crti.o",
        "crtn.o",
        "crtbegin.o",
        "crtbeginS.o",
        "crtbeginT.o",
        "crtend.o",
        "crtendS.o",
    ];
    let path = Path::new(path);
    let is = |part: Option<&std::ffi::OsStr>, names: &[&str]| {
        part.is_some_and(|part| names.iter().any(|name| part == *name))
    };
    is(path.file_name(), NAMES) && is(path.parent().and_then(Path::file_name), &["self-contained"])
}

/// What clang's `-stdlib=` names.
fn cxx_library(name: &str) -> Result<CxxLibrary, Error> {
    match name {
        "libstdc++" | "platform" => Ok(CxxLibrary::Libstdcxx),
        "libc++" => Ok(CxxLibrary::Libcxx),
        other => Err(Error::Usage(format!(
            "-stdlib={}: modules have libstdc++ and libc++",
            lockgate_outside::printable(other)
        ))),
    }
}

fn no_layout(option: &str) -> Error {
    let what =
        "modules have a layout of their own: leave linker scripts out, and name the output by cc's own -o";
    Error::Usage(format!("{}: {what}", lockgate_outside::printable(option)))
}

fn missing_value(option: &str) -> Error {
    Error::Usage(format!("{option}: its value is missing"))
}

#[cfg(test)]
mod tests {
    use super::{CommandLine, CxxLibrary, Driver, Item};

    fn parse(arguments: &str) -> CommandLine {
        let words = arguments.split_whitespace().map(str::to_owned).collect();
        CommandLine::parse(Driver::C, words).expect(arguments)
    }

    /// What does not link goes to gcc unchanged, but for our own options.
    #[test]
    fn compiling() {
        for (arguments, expected) in [
            ("-c a.c -o a.o", "-c a.c -o a.o"),
            ("--export f -O2 -c a.c", "-O2 -c a.c"),
            ("-E -", "-E -"),
            ("--gate=g -MM a.c", "-MM a.c"),
            ("-dumpmachine", "-dumpmachine"),
            ("-v", "-v"),
            ("--version", "--version"),
            ("-print-prog-name=ld", "-print-prog-name=ld"),
            ("-r a.o b.o -o c.o", "-r a.o b.o -o c.o"),
            ("-Wl,--version", "-Wl,--version"),
            ("--compile a.c --output=a.o", "-c a.c -o a.o"),
            ("--define-macro X --language c --preprocess a", "-D X -x c -E a"),
            ("--debug=3 --optimize --std c99 -c a.c", "-g3 -O -std=c99 -c a.c"),
            ("--print-prog-name ld", "-print-prog-name=ld"),
            ("--user-dependencies a.c", "-MM a.c"),
        ] {
            let expected = expected.split_whitespace().map(str::to_owned).collect();
            let expected = CommandLine::Compile { arguments: expected, cxx: None };
            assert_eq!(parse(arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn linking() {
        let arguments = "-O2 -I inc -DX a.c -x c - -x none b.o libc.a -L. -L /lib -lz -l m -Wl,-rpath,/x,--gc-sections \
                         -Xlinker --whole-archive -pthread -no-pie -o out --export f";
        let CommandLine::Link(linking) = parse(arguments) else { panic!("it links") };
        let source = |path: &str, language: Option<&str>| Item::Source {
            path: path.to_owned(),
            language: language.map(str::to_owned),
        };
        let file = |path: &str| Item::File(path.to_owned());
        let library = |name: &str| Item::Library(name.to_owned());
        let option = |option: &str| Item::LdOption(option.to_owned());
        assert_eq!(
            linking.items,
            [
                source("a.c", None),
                source("-", Some("c")),
                file("b.o"),
                file("libc.a"),
                library("z"),
                library("m"),
                option("--gc-sections"),
                option("--whole-archive"),
            ]
        );
        assert_eq!(linking.compile, ["-O2", "-I", "inc", "-DX", "-pthread"]);
        assert_eq!(linking.output.as_deref(), Some("out"));
        assert_eq!(linking.folders.len(), 2);
        assert_eq!(linking.exports, ["f"]);
    }

    /// Options with values, which are no inputs, and take no inputs for theirs; whatever begins like an option that links nothing.
    #[test]
    fn values_are_no_inputs() {
        for arguments in [
            "-dumpbase a a.c",
            "-dumpbase-ext .c a.c",
            "-dumpdir d- a.c",
            "-A cpu=x a.c",
            "-imultilib x a.c",
            "--sysroot / a.c",
            "--for-assembler -L a.c",
            "--for-linker --gc-sections a.c",
            "--include a.h --include-directory inc a.c",
            "--output a.lg a.c",
            "--library-directory . a.c",
        ] {
            let CommandLine::Link(linking) = parse(arguments) else { panic!("{arguments}: it links") };
            let sources: Vec<_> = linking.sources().map(|source| source.path).collect();
            assert_eq!(sources, ["a.c"], "{arguments}");
            assert!(!linking.items.iter().any(|item| matches!(item, Item::File(_))), "{arguments}");
        }
    }

    /// C++ is known by the command, by a file's name, or by -x.
    #[test]
    fn languages() {
        let is_cxx = |driver, arguments: &str| {
            let words = arguments.split_whitespace().map(str::to_owned).collect();
            match CommandLine::parse(driver, words).expect(arguments) {
                CommandLine::Compile { cxx, .. } => cxx.is_some(),
                CommandLine::Link(linking) => linking.cxx.is_some(),
            }
        };
        for arguments in ["-c a.cpp", "a.c b.cc", "-x c++ -c a.c", "-x c++ -", "a.C -o a.lg"] {
            assert!(is_cxx(Driver::C, arguments), "{arguments}");
        }
        for arguments in ["-c a.c", "a.c b.o", "-x c a.cpp", "-x c++ -x none a.c"] {
            assert!(!is_cxx(Driver::C, arguments), "{arguments}");
            assert!(is_cxx(Driver::Cxx, arguments), "{arguments}");
        }
    }

    /// The C++ library is chosen as clang chooses it; no compiler is told.
    #[test]
    fn cxx_libraries() {
        for (arguments, library) in [
            ("-c a.cc", CxxLibrary::Libstdcxx),
            ("-stdlib=libstdc++ -c a.cc", CxxLibrary::Libstdcxx),
            ("-c a.cc -stdlib=libc++", CxxLibrary::Libcxx),
        ] {
            let CommandLine::Compile { arguments: told, cxx } = parse(arguments) else {
                panic!("{arguments}: it links")
            };
            assert_eq!(cxx, Some(library), "{arguments}");
            assert_eq!(told, ["-c", "a.cc"], "{arguments}");
        }
        let words = ["a.cc", "-stdlib=other"].map(str::to_owned).to_vec();
        assert!(CommandLine::parse(Driver::C, words).is_err());
    }

    /// Whatever may hold a program makes a module or an error, never a program of the host's.
    #[test]
    fn libraries_and_the_linkers_files_are_inputs() {
        for (arguments, expected) in [
            ("-L. -lmm", Item::Library("mm".to_owned())),
            ("-l:libmm.a", Item::Library(":libmm.a".to_owned())),
            ("-Wl,h.o", Item::File("h.o".to_owned())),
            ("-Xlinker h.o", Item::File("h.o".to_owned())),
            ("-Wl,-lmm", Item::Library("mm".to_owned())),
            ("-Wl,-L,/x,-l,mm", Item::Library("mm".to_owned())),
        ] {
            let CommandLine::Link(linking) = parse(arguments) else { panic!("{arguments}: it links") };
            assert_eq!(linking.items, [expected], "{arguments}");
        }
        assert!(matches!(parse("-O2 -o x.lg"), CommandLine::Link(_)), "an output is no compiler's question");
    }

    /// A line for a compiler of the host's: what was a source has no language any more that the next input would take.
    #[test]
    fn lines_for_the_host() {
        let arguments = "-O2 -x c a.txt -x none b.o -Wl,-rpath,/x -x c++ c -o out --export f";
        let CommandLine::Link(linking) = parse(arguments) else { panic!("it links") };
        let line = linking.host_line(|source| source.is_c().then(|| "a.o".to_owned())).join(" ");
        assert_eq!(line, "-O2 a.o b.o -Wl,-rpath,/x -x c++ c -x none -o out");
    }

    #[test]
    fn missing_values_are_errors() {
        for arguments in ["a.c -o", "a.c -I", "a.c --export", "a.c -Xlinker", "a.c --output", "a.c --std"] {
            let words = arguments.split_whitespace().map(str::to_owned).collect();
            assert!(CommandLine::parse(Driver::C, words).is_err(), "{arguments}");
        }
    }
}
