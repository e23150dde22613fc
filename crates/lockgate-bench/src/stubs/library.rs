//! Real libraries and their own programs, built twice: linked with the library, and with the client that `lockgate stubs` makes.

use super::layout;
use crate::command::done;
use anyhow::Context as _;
use lockgate_corpus::Corpus;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library of the corpus with annotations in `share/stubs`.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// Its name in the corpus, and of its metrics: `stubs.<name>`.
    pub name: &'static str,
    /// Libraries of the corpus that are linked into its module.
    pub with: &'static [&'static str],
    /// Its header.
    pub header: &'static str,
    /// Annotations, in `share/stubs`.
    pub annotations: &'static str,
    /// Name that the annotations give it.
    pub client: &'static str,
    /// Macros beside the corpus's.
    pub defines: &'static [&'static str],
    /// Functions without annotations are left out.
    pub partial: bool,
    /// They get failing stubs: some program mentions them.
    pub failing_stubs: bool,
    /// Programs that use it.
    pub programs: &'static [Program],
}

/// An unchanged program.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Its files: a package of the corpus, or the repository (""), and the path in it.
    pub sources: &'static [(&'static str, &'static str)],
    /// Include folder in the repository.
    pub includes: &'static [&'static str],
}

const fn program(name: &'static str, sources: &'static [(&'static str, &'static str)]) -> Program {
    Program { name, sources, includes: &[] }
}

/// A client of SQLite's, our own.
const SQLITE: Program =
    Program { name: "sqlite", sources: &[("", "bench/programs/sqlite.c")], includes: &["bench/programs"] };

/// All of them.
pub const LIBRARIES: &[Library] = &[
    Library {
        name: "zlib",
        with: &[],
        header: "zlib.h",
        annotations: "zlib.lg.h",
        client: "zlib",
        defines: &[],
        partial: false,
        failing_stubs: false,
        programs: &[
            program("minigzip", &[("", "corpus/clients/zlib/minigzip.c")]),
            program("example", &[("", "corpus/clients/zlib/example.c")]),
            program("zpipe", &[("", "corpus/clients/zlib/zpipe.c")]),
            program("shared", &[("", "bench/programs/shared.c")]),
        ],
    },
    Library {
        name: "expat",
        with: &[],
        header: "expat.h",
        annotations: "expat.lg.h",
        client: "expat",
        defines: &["HAVE_UNISTD_H"],
        partial: false,
        failing_stubs: false,
        programs: &[
            program(
                "xmlwf",
                &[
                    ("expat-sys", "expat/xmlwf/xmlwf.c"),
                    ("expat-sys", "expat/xmlwf/xmlfile.c"),
                    ("expat-sys", "expat/xmlwf/codepage.c"),
                    ("expat-sys", "expat/xmlwf/unixfilemap.c"),
                ],
            ),
            program("elements", &[("expat-sys", "expat/examples/elements.c")]),
            program("outline", &[("expat-sys", "expat/examples/outline.c")]),
        ],
    },
    Library {
        name: "png",
        with: &["zlib"],
        header: "png.h",
        annotations: "png.lg.h",
        client: "png",
        defines: &[],
        partial: true,
        failing_stubs: false,
        programs: &[
            program("pngtest", &[("libpng-sys", "vendor/pngtest.c")]),
            program("png2pnm", &[("", "corpus/clients/png/png2pnm.c")]),
            program("pnm2png", &[("", "corpus/clients/png/pnm2png.c")]),
        ],
    },
    Library {
        name: "sqlite",
        with: &[],
        header: "sqlite3.h",
        annotations: "sqlite3.lg.h",
        client: "sqlite",
        defines: &["SQLITE_ENABLE_COLUMN_METADATA"],
        partial: true,
        failing_stubs: false,
        programs: &[SQLITE],
    },
    Library {
        name: lockgate_corpus::SHELL,
        with: &[],
        header: "sqlite3.h",
        annotations: "sqlite3.lg.h",
        client: "sqlite",
        defines: &["SQLITE_ENABLE_COLUMN_METADATA"],
        partial: true,
        failing_stubs: true,
        programs: &[program("shell", &[("sqlite3-src", "source/shell.c")]), SQLITE],
    },
];

/// What was built of a library.
#[derive(Debug)]
pub struct Built {
    /// The library in each of its layouts; at least one.
    pub layouts: Vec<Layout>,
    /// The programs linked with the client, by name. They load the first layout's module.
    pub protected: BTreeMap<&'static str, PathBuf>,
    /// The environment variable that has them load another.
    pub module_variable: String,
    /// Objects that the module was linked from.
    pub objects: Vec<PathBuf>,
    /// Folder of the client's files.
    pub client: PathBuf,
    /// Lines of annotations.
    pub annotation_lines: usize,
}

/// A library whose functions lie in a certain order.
#[derive(Debug)]
pub struct Layout {
    /// Programs linked with the library itself, by name.
    pub native: BTreeMap<&'static str, PathBuf>,
    /// The module.
    pub module: PathBuf,
}

/// The tools of a build.
#[derive(Debug)]
pub struct Kit<'a> {
    /// Where sources are.
    pub corpus: &'a Corpus,
    /// The `lockgate` program.
    pub lockgate: &'a Path,
    /// Where liblockgate is installed.
    pub prefix: &'a Path,
    /// `-O2` and its like.
    pub optimisation: &'a str,
    /// In how many layouts. One is as the compiler would have it; with more, both sides are compiled with [`layout::FLAG`].
    pub layouts: usize,
}

impl Kit<'_> {
    /// Builds everything of `library` in `folder`.
    pub fn build(&self, library: &Library, folder: &Path) -> anyhow::Result<Built> {
        let Library { name, header, client: client_name, .. } = *library;
        let parts = std::iter::once(&name).chain(library.with);
        let parts = parts.map(|part| self.corpus.library(part)).collect::<Result<Vec<_>, _>>()?;
        let mut flags = vec![self.optimisation.to_owned(), "-g".to_owned(), "-w".to_owned()];
        flags.extend(parts.iter().flat_map(|part| part.flags()));
        flags.extend(library.defines.iter().map(|define| format!("-D{define}")));
        flags.extend((self.layouts > 1).then(|| layout::FLAG.to_owned()));
        let sources: Vec<PathBuf> = parts.iter().flat_map(|part| part.sources.clone()).collect();
        let mut modular = Command::new(self.lockgate);
        let objects = self.objects(modular.arg("cc"), &flags, &sources, &folder.join("module"))?;
        let native_objects =
            self.objects(&mut Command::new("gcc"), &flags, &sources, &folder.join("native"))?;

        let main = &parts[0];
        let found = main.includes.iter().map(|include| include.join(header)).find(|path| path.is_file());
        let header_path = found.with_context(|| format!("{header} is not in {name}'s include folders"))?;
        let layout_in = |number: usize| folder.join(format!("layout-{number}"));
        let module_in = |layout: &Path| layout.join(name).with_extension("lg");
        let client = folder.join("client");
        let mut stubs = Command::new(self.lockgate);
        stubs
            .arg("stubs")
            .arg(&header_path)
            .arg("-o")
            .arg(&client)
            .arg("-m")
            .arg(module_in(&layout_in(0)))
            .arg("--json");
        stubs.arg("-a").arg(self.corpus.root().join("share/stubs").join(library.annotations));
        stubs.args(flags.iter().filter(|flag| flag.starts_with("-I") || flag.starts_with("-D")));
        stubs.args(library.partial.then_some("--partial"));
        stubs.args(library.failing_stubs.then_some("--failing-stubs"));
        for object in &objects {
            stubs.arg("--defined-in").arg(object);
        }
        let summary: serde_json::Value = serde_json::from_str(&done(&mut stubs)?)?;
        let annotation_lines = summary["annotation_lines"].as_u64().unwrap_or_default() as usize;

        let exports = client.join(client_name).with_extension("exports");
        let client_object = folder.join("client.o");
        let mut compile = Command::new("gcc");
        compile.args([self.optimisation, "-g", "-Wall", "-Wextra", "-Werror", "-I"]).arg(&client);
        compile.args(&flags[3..]).arg("-I").arg(self.prefix.join("include"));
        done(
            compile
                .arg("-c")
                .arg(client.join(format!("{client_name}_client.c")))
                .arg("-o")
                .arg(&client_object),
        )?;

        let mut layouts = Vec::new();
        for number in 0..self.layouts {
            let own = layout_in(number);
            std::fs::create_dir_all(&own)?;
            let lay = |objects: &[PathBuf], joined: &str| match self.layouts {
                1 => Ok(objects.to_vec()),
                of => layout::turned(objects, number, of, own.join(joined)).map(|object| vec![object]),
            };
            let module = module_in(&own);
            let mut link = Command::new(self.lockgate);
            link.arg("cc").args(lay(&objects, "module.o")?).arg("-lm").arg("-o").arg(&module);
            done(link.arg("--exports").arg(&exports))?;
            let laid = lay(&native_objects, "native.o")?;
            let native = library.programs.iter().map(|program| {
                let path = own.join(program.name);
                let mut compile = self.program(program, None, &flags)?;
                done(compile.args(&laid).arg("-o").arg(&path).args(["-lm", "-lpthread"]))?;
                anyhow::Ok((program.name, path))
            });
            layouts.push(Layout { native: native.collect::<Result<_, _>>()?, module });
        }
        let protected = library.programs.iter().map(|program| {
            let path = folder.join(program.name);
            let mut compile = self.program(program, Some(&client), &flags)?;
            compile.arg(&client_object).arg("-o").arg(&path);
            done(self.link_with_library(&mut compile))?;
            anyhow::Ok((program.name, path))
        });
        let protected = protected.collect::<Result<_, _>>()?;
        let module_variable = format!("LOCKGATE_{}", client_name.to_uppercase());
        Ok(Built { layouts, protected, module_variable, objects, client, annotation_lines })
    }

    /// The compiler, with a program's sources and include folders; `client`'s comes before the library's.
    fn program(&self, program: &Program, client: Option<&Path>, flags: &[String]) -> anyhow::Result<Command> {
        let mut compile = Command::new("gcc");
        let own = program.includes.iter().map(|folder| self.corpus.root().join(folder));
        for folder in own.chain(client.map(Path::to_owned)) {
            compile.arg("-I").arg(folder);
        }
        compile.args(flags);
        for (package, path) in program.sources {
            compile.arg(match *package {
                "" => self.corpus.root().join(path),
                package => self.corpus.package(package)?.join(path),
            });
        }
        Ok(compile)
    }

    /// Completes a link with liblockgate.
    pub fn link_with_library<'c>(&self, compile: &'c mut Command) -> &'c mut Command {
        let library = self.prefix.join("lib");
        compile.arg("-L").arg(&library).arg("-llockgate").arg(format!("-Wl,-rpath,{}", library.display()));
        compile.arg("-lpthread")
    }

    fn objects(
        &self,
        compiler: &mut Command,
        flags: &[String],
        sources: &[PathBuf],
        folder: &Path,
    ) -> anyhow::Result<Vec<PathBuf>> {
        std::fs::create_dir_all(folder)?;
        let program = compiler.get_program().to_owned();
        let first: Vec<_> = compiler.get_args().map(ToOwned::to_owned).collect();
        let object = |source: &PathBuf| {
            let object = folder.join(source.file_name().unwrap_or_default()).with_extension("o");
            let mut compile = Command::new(&program);
            compile.args(&first).args(flags).arg("-c").arg(source).arg("-o").arg(&object);
            done(&mut compile).map(|_| object)
        };
        sources.iter().map(object).collect()
    }
}
