//! A real program that loads plugins with dlopen, before and after: Lua, whose `require` loads C modules (`examples/c/lua`), and Lua in one domain
//! with its plugins (`examples/c/shared-heap`).

use crate::common::{done, installed, root, run};
use lockgate_corpus::{Corpus, Library};
use lockgate_toolchain::{Link, Sysroot, silent};
use std::io::{Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Names that change in Lua's `loadlib.c`.
const NAMES: [&str; 4] =
    ["-Ddlopen=lg_dlopen", "-Ddlsym=lua_plugin_symbol", "-Ddlclose=lg_dlclose", "-Ddlerror=lg_dlerror"];

/// Two programs with Lua in them, `plain-lua` and `confined-lua`, and a folder of plugins for each: `plain`, `confined`.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let folder = support::shared_folder();
        let lua = Corpus::locate().and_then(|corpus| corpus.library("lua")).expect("the corpus has Lua");
        Build { folder: &folder, lua: &lua }.all();
        folder
    };
    BUILT.get_or_init(build)
}

fn example(name: &str) -> PathBuf {
    root().join("examples/c/lua").join(name)
}

struct Build<'a> {
    folder: &'a Path,
    lua: &'a Library,
}

impl Build<'_> {
    fn source(&self, name: &str) -> PathBuf {
        let found = self.lua.sources.iter().find(|source| source.ends_with(name));
        found.unwrap_or_else(|| panic!("Lua has no {name}")).clone()
    }

    fn gcc(&self, folder: &str) -> Command {
        let mut gcc = Command::new("gcc");
        let folder = self.folder.join(folder);
        std::fs::create_dir_all(&folder).expect("the scratch folder is writable");
        gcc.current_dir(folder).args(["-O0", "-g", "-w", "-DLUA_USE_DLOPEN"]).args(self.lua.flags());
        gcc
    }

    fn all(&self) {
        // Lua itself, once; its loader of plugins, and the program around it, twice.
        let loader = self.source("loadlib.c");
        let others = self.lua.sources.iter().filter(|source| **source != loader);
        done(self.gcc("objects").arg("-c").args(others));
        let archive = self.folder.join("lua.a");
        let objects = std::fs::read_dir(self.folder.join("objects")).expect("objects");
        done(
            Command::new("ar")
                .arg("rcs")
                .arg(&archive)
                .args(objects.map(|entry| entry.expect("an entry").path())),
        );

        let mut plain = self.gcc(".");
        plain.args(["-Wl,-E", "-o", "plain-lua"]).arg(example("host.c")).arg(&loader);
        // All of Lua: plugins call what the program itself does not.
        done(plain.arg("-Wl,--whole-archive").arg(&archive).args(["-Wl,--no-whole-archive", "-ldl", "-lm"]));

        done(self.gcc(".").args(NAMES).args(["-c", "-o", "loadlib.o"]).arg(&loader));
        let library = installed().join("lib");
        let mut confined = self.gcc(".");
        confined.args(["-DCONFINED", "-o", "confined-lua", "-I"]).arg(installed().join("include"));
        confined.args([example("host.c"), example("services.c")]).arg("loadlib.o").arg(&archive);
        confined.arg("-L").arg(&library).args(["-llockgate", "-lm"]);
        done(confined.arg(format!("-Wl,-rpath,{}", library.display())));

        for (name, own) in [("utf8", self.source("lutf8lib.c")), ("crash", example("crash.c"))] {
            let file = format!("{name}.so");
            done(self.gcc("plain").args(["-shared", "-fPIC", "-o", &file]).arg(&own));
            self.module(name, &[own, self.source("lauxlib.c"), example("guest.c")]);
        }
    }

    /// The same plugin as a module.
    fn module(&self, name: &str, sources: &[PathBuf]) {
        let sysroot = Sysroot::ensure(&silent).expect("the sysroot can be built");
        let folder = self.folder.join("confined");
        std::fs::create_dir_all(&folder).expect("the scratch folder is writable");
        let mut link = Link::new(folder.join(name).with_extension("so"));
        for source in sources {
            let object = folder.join(source.file_stem().expect("a name")).with_extension(format!("{name}.o"));
            let mut compiler = sysroot.tools().compiler();
            done(
                compiler
                    .args(["-O0", "-g", "-w", "-c"])
                    .args(self.lua.flags())
                    .arg(source)
                    .arg("-o")
                    .arg(&object),
            );
            link.file(&object).expect("an object");
        }
        let services = std::fs::read_to_string(example("services.txt")).expect("the list of services");
        for service in services.lines() {
            link.gate(service).expect("a prototype");
        }
        link.export(&format!("luaopen_{name}")).expect("a name");
        link.run(&sysroot, &silent).unwrap_or_else(|error| panic!("{error}"));
    }
}

impl Build<'_> {
    /// `examples/c/shared-heap`, with plain libraries and with modules: a program `host` in each folder.
    fn shared_heap(&self) {
        let source = |name: &str| root().join("examples/c/shared-heap").join(name);
        let lua: Vec<&PathBuf> = self.lua.sources.iter().filter(|path| !path.ends_with("lua.c")).collect();
        let include = format!("-I{}", source("").display());
        let library = |name: &str| {
            let mut gcc = self.gcc("plain-heap");
            gcc.args(["-shared", "-fPIC", &include, "-o"])
                .arg(format!("{name}.so"))
                .arg(source(&format!("{name}.c")));
            gcc
        };
        done(library("interpreter").args(&lua).arg("-lm"));
        done(&mut library("text"));
        done(&mut library("shout"));
        done(self.gcc("plain-heap").args(["-DPLAIN", "-o", "host"]).arg(source("host.c")).arg("-ldl"));

        let mut host = self.gcc("shared-heap");
        host.arg("-I").arg(installed().join("include")).args(["-o", "host"]).arg(source("host.c"));
        let libraries = installed().join("lib");
        done(
            host.arg("-L")
                .arg(&libraries)
                .arg("-llockgate")
                .arg(format!("-Wl,-rpath,{}", libraries.display())),
        );
        let sysroot = Sysroot::ensure(&silent).expect("the sysroot can be built");
        let folder = self.folder.join("shared-heap");
        let module = |name: &str, sources: &[PathBuf], joins: &[&str]| {
            let mut link = Link::new(folder.join(name).with_extension("so"));
            link.export_all(true).base(joins.is_empty());
            for base in joins {
                link.join(&folder.join(base)).expect("a module");
            }
            for source in sources {
                let object = folder.join(source.file_stem().expect("a name")).with_extension("o");
                let mut compiler = sysroot.tools().compiler();
                compiler.args(["-O0", "-g", "-w", "-fPIC", "-c", &include]).args(self.lua.flags());
                done(compiler.arg(source).arg("-o").arg(&object));
                link.file(&object).expect("an object");
            }
            link.run(&sysroot, &silent).unwrap_or_else(|error| panic!("{error}"));
        };
        let base: Vec<PathBuf> =
            [source("interpreter.c")].into_iter().chain(lua.into_iter().cloned()).collect();
        module("interpreter", &base, &[]);
        for plugin in ["text", "shout"] {
            module(plugin, &[source(&format!("{plugin}.c"))], &["interpreter.so"]);
        }
    }
}

/// Runs scripts, one a line, in the interpreter of `kind` with its two plugins.
fn scripts(kind: &str, text: &str) -> Output {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let folder = support::shared_folder();
        let lua = Corpus::locate().and_then(|corpus| corpus.library("lua")).expect("the corpus has Lua");
        Build { folder: &folder, lua: &lua }.shared_heap();
        folder
    };
    let folder = BUILT.get_or_init(build).join(kind);
    let mut input = tempfile::tempfile().expect("a scratch file");
    input.write_all(text.as_bytes()).and_then(|()| input.rewind()).expect("the scratch file is writable");
    run(Command::new(folder.join("host")).current_dir(&folder).stdin(input))
}

/// A script that both plugins work on: one allocates what the other frees.
const TEXTS: &str = "local t = require 'text'.new('canal'); require 'shout'.up(t); return t
local text, shout = require 'text', require 'shout'; kept = text.new('lock'); return shout.take(kept) .. ' ' .. tostring(kept)
return pcall(require 'shout'.up, kept)
return pcall(require 'shout'.up, kept)
for i = 1, 20000 do local t = require 'text'.new(('x'):rep(i % 999)); if i % 3 == 0 then require 'shout'.take(t) end end collectgarbage() return 'done'
return kept.nothing
";

#[test]
fn plugins_of_one_domain_share_a_heap() {
    let (plain, confined) = (scripts("plain-heap", TEXTS), scripts("shared-heap", TEXTS));
    assert!(plain.status.success() && confined.status.success(), "{}{}", text(&plain), text(&confined));
    assert_eq!(text(&plain), text(&confined));
    assert!(text(&plain).starts_with("CANAL\nlock (taken)\n"), "{}", text(&plain));
    assert!(text(&plain).contains("\ndone\nerror: "), "{}", text(&plain));
}

#[test]
fn a_crashing_plugin_of_a_shared_domain_ends_its_call() {
    let script =
        "require 'shout'.overrun(require 'text'.new('boat'))\nreturn tostring(require 'text'.new('again'))\n";
    let plain = scripts("plain-heap", script);
    assert!(plain.status.signal().is_some(), "with dlopen it is the end: {plain:?}");
    let confined = scripts("shared-heap", script);
    let output = text(&confined);
    assert!(
        confined.status.success() && output.contains("crash: ") && output.ends_with("again\n"),
        "{output}"
    );
    assert!(output.contains("shout_overrun") && output.contains("shout.c:"), "{output}");
}

/// Runs a script among the plugins of `kind`.
fn lua(kind: &str, script: &str) -> Output {
    let mut program = Command::new(built().join(format!("{kind}-lua")));
    program.env("LUA_CPATH", "./?.so").current_dir(built().join(kind)).arg(example(script));
    run(&mut program)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn good_plugins_behave_as_ever() {
    let (plain, confined) = (lua("plain", "script.lua"), lua("confined", "script.lua"));
    assert!(plain.status.success(), "{}", text(&plain));
    assert!(confined.status.success(), "{}", text(&confined));
    assert_eq!(plain.stdout, confined.stdout);
    assert!(text(&plain).contains("49000"), "the script ran to its end");
}

#[test]
fn a_crashing_plugin_is_an_error_of_pcall() {
    let plain = lua("plain", "crash.lua");
    assert!(plain.status.signal().is_some(), "with dlopen it is the end: {plain:?}");
    let confined = lua("confined", "crash.lua");
    let output = text(&confined);
    assert!(confined.status.success() && output.ends_with("alive\n"), "{output}");
    for (name, what) in [
        ("null_pointer", "write to a null pointer"),
        ("recursion", "stack overflow"),
        ("overrun", "stack overflow"),
        ("wild_state", "not the plugin's to use"),
        ("wild_string", "cannot be read"),
        ("wild_function", "no function of the plugin's"),
        ("wild_index", "no such index"),
        ("empty_stack", "no such index"),
        ("false_results", "not that many results"),
        ("error", "an error of Lua's own, 42"),
    ] {
        let line = output.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        assert!(line.contains("\tfalse\t") && line.contains(what), "{name}: {line}");
    }
}
