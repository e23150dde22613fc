//! One source: compiled as ever, and, where it is annotated, once more for each of its parts.

use crate::part::{self, Part};
use crate::survey::survey;
use crate::unit::{Defined, SECTION, Unit, Used, stored};
use crate::{Error, consent, text, types};
use lockgate_toolchain::Tools;
use lockgate_toolchain::cc::Source;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// What stands in the text of every source that is annotated, or includes something that is.
const NOTE: &str = "\"lockgate:";

/// Tells sources that they are compiled for several domains.
pub const DEFINE: &str = "-DLOCKGATE_SPLIT=1";

/// Makes annotations part of the text.
const NOTED: &str = "-DLOCKGATE_STUBS=1";

/// Options that write files of dependencies: the ordinary compilation has done it.
const DEPENDENCIES: &[&str] = &["-MD", "-MMD", "-MP", "-MG"];
const DEPENDENCIES_WITH_VALUE: &[&str] = &["-MF", "-MT", "-MQ"];

/// Compiles sources.
#[derive(Debug)]
pub struct Compiler {
    /// The programs.
    pub tools: Tools,
}

impl Compiler {
    /// gcc as the host uses it, for programs in several domains.
    pub fn host(&self) -> Command {
        let mut command = self.tools.gcc();
        command.arg(DEFINE).arg("-idirafter").arg(self.tools.headers());
        command
    }

    /// Makes `object`, which gcc has made of `source` already, the object of all its parts, if it has more than one.
    ///
    /// # Errors
    /// [`Error`]. A status that is no success is gcc's, of a part; its messages are on standard error.
    pub fn split(&self, source: Source<'_>, options: &[String], object: &Path) -> Result<ExitStatus, Error> {
        let options = without_dependencies(options);
        let origin = Path::new(source.path);
        let folder = lockgate_toolchain::work_folder()?;
        let (status, host) = self.preprocess(self.host(), &options, source)?;
        if !status.success() || !host.contains(NOTE) {
            return Ok(status);
        }
        if let Some(option) = types::refused(&options) {
            return Err(Error::Types { source_file: source.path.to_owned(), option: option.to_owned() });
        }
        let types = types::of(&options);
        let host = text::expanded_once(&host, &self.macros(self.host(), &options, source)?);
        let folded = text::fold(&host);
        let reading = std::iter::once("-D_GNU_SOURCE".to_owned()).chain(types.iter().cloned());
        let host_survey = survey(&folded, origin, reading.collect())?;
        let mut refusals: Vec<_> = host_survey.refusals.clone();
        let parts = Part::all(&host_survey);
        refusals.extend(part::refusals(&parts));
        if !refusals.is_empty() {
            return Err(Error::Refused(refusals));
        }
        let mut unit = Unit::new(source.path);
        unit.types.clone_from(&types);
        unit.domains.clone_from(&host_survey.domains);
        let external =
            host_survey.definitions.iter().filter(|d| d.linkage == crate::survey::Linkage::External);
        unit.definitions = external
            .map(|d| Defined {
                name: d.name.clone(),
                function: d.function,
                home: d.home.clone(),
                entry: d.entry,
                place: stored(&d.place),
            })
            .collect();
        for part in &parts {
            unit.uses.extend(part.uses().into_iter().map(|used| Used {
                by: part.home.clone(),
                name: used.name.clone(),
                function: used.function,
                place: stored(&used.place),
            }));
        }
        unit.parts = parts.iter().skip(1).map(|part| part.home.clone()).collect();
        let pieces = part::interface(&host_survey, &folded).into_iter();
        unit.interface = pieces.map(|(place, text)| (place.file, place.line, text)).collect();
        if !unit.parts.is_empty() {
            let own = parts[0].text(&host, &folded);
            let status = self.compile(self.host(), &options, &own, object, folder.path())?;
            if !status.success() {
                return Ok(status);
            }
            // The same of the domains' side, where headers are musl's.
            let (status, inside) = self.preprocess(self.inside(), &options, source)?;
            if !status.success() {
                return Ok(status);
            }
            let inside = text::expanded_once(&inside, &self.macros(self.inside(), &options, source)?);
            let folded = text::fold(&inside);
            let inside_survey = survey(&folded, origin, [self.musl(), types].concat())?;
            let pieces = part::interface(&inside_survey, &folded).into_iter();
            unit.inside = pieces.map(|(place, text)| (place.file, place.line, text)).collect();
            let made = folder.path().join("part.o");
            let inside_parts = Part::all(&inside_survey);
            if !parts.iter().map(|part| &part.home).eq(inside_parts.iter().map(|part| &part.home)) {
                let what =
                    ": with musl's headers, which domains see, it has other parts than with the host's"
                        .to_owned();
                return Err(Error::Program { program: format!("splitting {}", source.path), what });
            }
            // (Behind the program's own: domains are linked from code, and export their entries.)
            let own = ["-fno-lto", "-fvisibility=default"].map(str::to_owned);
            let plain: Vec<String> = options.iter().cloned().chain(own).collect();
            for part in inside_parts.iter().skip(1) {
                let own = part.text(&inside, &folded);
                let status = self.compile(self.inside(), &plain, &own, &made, folder.path())?;
                if !status.success() {
                    return Ok(status);
                }
                unit.objects.push(lockgate_outside::read(&made).map_err(Error::io("read", &made))?);
            }
        }
        unit.consent = consent::read(origin, self.as_gcc_reads(&options))?;
        let section = folder.path().join("section");
        std::fs::write(&section, unit.to_bytes()).map_err(Error::io("write", &section))?;
        let mut objcopy = self.tools.binutil("objcopy")?;
        objcopy.arg(format!("--add-section={SECTION}={}", section.display()));
        objcopy.arg(format!("--set-section-flags={SECTION}=exclude,readonly")).arg(object);
        run(&mut objcopy)?;
        Ok(status)
    }

    /// gcc for domains.
    fn inside(&self) -> Command {
        let mut command = self.tools.compiler();
        command.arg(DEFINE);
        command
    }

    /// Where libclang finds what domains include.
    pub(crate) fn musl(&self) -> Vec<String> {
        let folders = self.tools.header_folders().into_iter();
        let folders =
            folders.flat_map(|folder| ["-isystem".to_owned(), folder.to_string_lossy().into_owned()]);
        ["-nostdinc".to_owned(), "-D_GNU_SOURCE".to_owned()].into_iter().chain(folders).collect()
    }

    /// What libclang must be told to read a source of the host's as gcc does.
    fn as_gcc_reads(&self, options: &[String]) -> Vec<String> {
        // Its complaints do not matter, and it reads on.
        let own = [DEFINE, NOTED, "-ferror-limit=0"].map(str::to_owned);
        let behind = ["-idirafter".to_owned(), self.tools.headers().to_string_lossy().into_owned()];
        own.into_iter().chain(consent::options(options)).chain(behind).collect()
    }

    /// The text of `source`, annotations included.
    fn preprocess(
        &self,
        mut compiler: Command,
        options: &[String],
        source: Source<'_>,
    ) -> Result<(ExitStatus, String), Error> {
        // (With -g3, macros would be in it, of which the last definition is not the one that a line was read with.)
        compiler.args(options).args([NOTED, "-w", "-g0", "-E"]).args(source.arguments());
        let output = compiler.stderr(std::process::Stdio::inherit()).output();
        let output = output.map_err(|error| cannot_start(&compiler, &error))?;
        Ok((output.status, String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// All macros that are or were defined somewhere in it.
    fn macros(
        &self,
        mut compiler: Command,
        options: &[String],
        source: Source<'_>,
    ) -> Result<BTreeSet<String>, Error> {
        compiler.arg("-dN");
        let (_, text) = self.preprocess(compiler, options, source)?;
        Ok(text.lines().filter_map(|line| line.strip_prefix("#define ")).map(str::to_owned).collect())
    }

    /// Compiles a text to `object`. The ordinary compilation has shown all warnings.
    fn compile(
        &self,
        mut compiler: Command,
        options: &[String],
        text: &str,
        object: &Path,
        folder: &Path,
    ) -> Result<ExitStatus, Error> {
        let path = folder.join("part.i");
        std::fs::write(&path, text).map_err(Error::io("write", &path))?;
        compiler.args(options).args(["-w", "-fpreprocessed", "-fno-keep-static-consts", "-c"]);
        compiler.arg(&path).arg("-o").arg(object);
        compiler.status().map_err(|error| cannot_start(&compiler, &error))
    }
}

fn without_dependencies(options: &[String]) -> Vec<String> {
    let mut left = Vec::new();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        if DEPENDENCIES_WITH_VALUE.contains(&option.as_str()) {
            rest.next();
        } else if !DEPENDENCIES.contains(&option.as_str()) && !option.starts_with("-Wp,-M") {
            left.push(option.clone());
        }
    }
    left
}

/// Runs a program that has no reason to fail.
pub fn run(command: &mut Command) -> Result<(), Error> {
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let what = format!(":\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    Err(Error::Program { program: command.get_program().to_string_lossy().into_owned(), what })
}

pub fn cannot_start(command: &Command, error: &std::io::Error) -> Error {
    Error::Program {
        program: command.get_program().to_string_lossy().into_owned(),
        what: format!(": {error}"),
    }
}
