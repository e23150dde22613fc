//! The library as users get it, in hosts of several kinds: linked shared or static, brought by a plugin into a C program, into Go, Java, Node,
//! Perl, PHP, Python and Ruby. README.md
#![forbid(unsafe_code)]

pub mod languages;

use lockgate_c as _; // so that the library is built
use lockgate_toolchain::{Link, Sysroot, silent};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Runs a command to its end; what it said, and whether it went well.
pub fn run(command: &mut Command) -> (bool, String) {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (status.success(), if status.success() { text } else { format!("{status}: {text}") })
}

/// The same; it must succeed.
pub fn done(command: &mut Command) -> String {
    let (well, text) = run(command);
    assert!(well, "{command:?}: {text}");
    text
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the tree is there")
}

/// A source of `hosts/`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts").join(name)
}

/// What all hosts need: the installed library, the plugin, the modules.
pub struct Workshop {
    folder: PathBuf,
}

impl Workshop {
    /// The one of this process.
    pub fn get() -> &'static Workshop {
        static WORKSHOP: OnceLock<Workshop> = OnceLock::new();
        WORKSHOP.get_or_init(Workshop::new)
    }

    fn new() -> Workshop {
        let workshop = Workshop { folder: support::shared_folder() };
        let test = std::env::current_exe().expect("a test has a path");
        let built = test.parent().expect("a folder");
        // The library that the tests of this build share: target/debug/deps/PROGRAM.
        let target = built.ancestors().nth(2).expect("a program that cargo has built");
        let prefix = target.join("tmp/lockgate");
        done(Command::new(root().join("scripts/install-library.sh")).arg(built).arg(&prefix));
        std::os::unix::fs::symlink(&prefix, workshop.at("usr")).expect("the folder is new");
        let flags_of_iso = "-std=c11 -D_XOPEN_SOURCE=700";
        let plain = ["host", "attack", "state", "unprotected", "main", "loader"].map(|name| (name, ""));
        for (name, flags) in plain.into_iter().chain([("iso", flags_of_iso)]) {
            let mut gcc = Command::new("gcc");
            gcc.args(["-O1", "-g", "-Wall", "-fPIC", "-c"]).args(flags.split_whitespace());
            gcc.arg("-I").arg(workshop.at("usr/include")).arg(source(name).with_extension("c"));
            done(gcc.arg("-o").arg(workshop.at(name).with_extension("o")));
        }
        let library = workshop.at("usr/lib");
        let run_path = format!("-Wl,-rpath,{}", library.display());
        let link = |name: &str, objects: &[&str], more: &[&str]| {
            let mut gcc = Command::new("gcc");
            gcc.arg("-o").arg(workshop.at(name)).args(objects.iter().map(|object| workshop.at(object)));
            done(gcc.arg("-L").arg(&library).args(more).args(["-lm", "-lpthread", "-ldl", &run_path]));
        };
        let host = ["host.o", "attack.o", "state.o", "unprotected.o", "iso.o"];
        let program = [&["main.o"], &host[..]].concat();
        link("shared", &program, &["-llockgate"]);
        link("static", &program, &["-l:liblockgate.a"]);
        link("plugin.so", &host, &["-shared", "-llockgate"]);
        link("loader", &["loader.o"], &[]);
        for (name, gates) in
            [("guest", &[][..]), ("gated", &["void host(void)"]), ("escape", &["void unprotect(void)"])]
        {
            workshop.module(name, gates);
        }
        workshop
    }

    /// Builds a module of `hosts/`.
    fn module(&self, name: &str, gates: &[&str]) {
        self.module_of(name, &source(name).with_extension("c"), gates);
    }

    /// Builds a module of another source in C.
    pub fn module_of(&self, name: &str, source: &Path, gates: &[&str]) {
        let sysroot = Sysroot::ensure(&silent).expect("the sysroot can be built");
        let object = self.at(name).with_extension("guest.o");
        let mut compiler = sysroot.tools().compiler();
        done(compiler.args(["-O1", "-g", "-c"]).arg(source).arg("-o").arg(&object));
        let module = self.at(name).with_extension("lg");
        let mut link = Link::new(&module);
        link.file(&object).expect("an object").export_all(true);
        for gate in gates {
            link.gate(gate).expect("a prototype");
        }
        link.run(&sysroot, &silent).unwrap_or_else(|error| panic!("{error}"));
    }

    /// A file of it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A program, in the workshop's folder.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.at(name));
        command.current_dir(&self.folder);
        command
    }

    /// The C program that gets the library by `dlopen`.
    pub fn loader(&self) -> Command {
        let mut command = self.program("loader");
        command.arg(self.at("plugin.so"));
        command
    }
}
