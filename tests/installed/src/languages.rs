//! Programs in other languages, into which the plugin brings the library. All take the words that the plugin's `host_main` takes.
use crate::{Workshop, done, source};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What starts a host, in the workshop's folder.
pub type Host = fn(&Workshop) -> Command;

/// `None`, and said so by name, where the machine has not what a host is made of.
pub type Maybe = fn() -> Option<Host>;

/// All of them, by name.
pub const LANGUAGES: [(&str, Maybe); 4] = [("Go", go), ("Java", java), ("Node", node), ("Python", python)];

/// Whether a program of this name can be started; says which host is left out if not.
fn is_there(program: &str, host: &str) -> bool {
    support::is_there(program, format_args!("the host in {host}"))
}

/// An object of the plugin's for another program to load.
fn extension(workshop: &Workshop, name: &str, of: &str, includes: &[&Path]) {
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC", "-O1", "-Wall", "-o"]).arg(workshop.at(name)).arg(source(of));
    for include in includes {
        gcc.arg("-I").arg(include);
    }
    done(gcc.arg(workshop.at("plugin.so")).arg(format!("-Wl,-rpath,{}", workshop.at("").display())));
}

/// As the plugin, which a goroutine calls.
pub fn go() -> Option<Host> {
    static THERE: OnceLock<bool> = OnceLock::new();
    let make = || {
        if !is_there("go", "Go") {
            return false;
        }
        let workshop = Workshop::get();
        let folder = workshop.at("go");
        std::fs::create_dir_all(&folder).expect("a scratch folder");
        std::fs::copy(source("host.go"), folder.join("main.go")).expect("a source");
        let mut go = Command::new("go");
        go.args(["build", "-o"]).arg(workshop.at("go-host")).arg("main.go").current_dir(&folder);
        done(go.envs([("CGO_ENABLED", "1"), ("GO111MODULE", "off"), ("GOFLAGS", "")]));
        true
    };
    THERE.get_or_init(make).then_some(|workshop| {
        let mut host = workshop.program("go-host");
        host.arg(workshop.at("plugin.so"));
        host
    })
}

/// As a native method's library.
pub fn java() -> Option<Host> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    fn home() -> &'static Option<PathBuf> {
        HOME.get_or_init(|| {
            if !is_there("javac", "Java") {
                return None;
            }
            let workshop = Workshop::get();
            done(Command::new("javac").arg("-d").arg(workshop.at("java")).arg(source("Host.java")));
            let javac = done(Command::new("sh").args(["-c", "readlink -f $(command -v javac)"]));
            let home = Path::new(javac.trim()).ancestors().nth(2).expect("bin/javac").to_owned();
            let include = home.join("include");
            extension(workshop, "libhost.so", "java.c", &[&include, &include.join("linux")]);
            Some(home)
        })
    }
    home().is_some().then_some(|workshop| {
        let mut java = Command::new(home().as_ref().expect("asked above").join("bin/java"));
        java.arg(format!("-Djava.library.path={}", workshop.at("").display()));
        java.arg("-cp").arg(workshop.at("java")).arg("Host").current_dir(workshop.at(""));
        java
    })
}

/// As an add-on.
pub fn node() -> Option<Host> {
    static THERE: OnceLock<bool> = OnceLock::new();
    let make = || {
        let includes = ["/usr/include/node", "/usr/local/include/node"].map(Path::new);
        let include = includes.into_iter().find(|include| include.join("node_api.h").exists());
        if !is_there("node", "Node") {
            return false;
        }
        let Some(include) = include else {
            support::skipped("the host in Node", "there is no node_api.h");
            return false;
        };
        extension(Workshop::get(), "host.node", "node.c", &[include]);
        true
    };
    THERE.get_or_init(make).then_some(|workshop| {
        let mut node = Command::new("node");
        let script = "process.exit(require('./host.node').run(...process.argv.slice(1)))";
        node.args(["-e", script, "--"]).current_dir(workshop.at(""));
        node
    })
}

/// As an extension module: `faulthandler` and handlers of the module's own come behind the first call.
pub fn python() -> Option<Host> {
    static THERE: OnceLock<bool> = OnceLock::new();
    let make = || {
        if !is_there("python3", "Python") {
            return false;
        }
        let script = "import sysconfig; print(sysconfig.get_path('include'))";
        let include = PathBuf::from(done(Command::new("python3").args(["-c", script])).trim());
        if !include.join("Python.h").exists() {
            support::skipped("the host in Python", "there is no Python.h");
            return false;
        }
        extension(Workshop::get(), "extension.so", "python.c", &[&include]);
        true
    };
    THERE.get_or_init(make).then_some(|workshop| {
        let mut python = Command::new("python3");
        python.arg(source("host.py")).env("PYTHONPATH", workshop.at("")).current_dir(workshop.at(""));
        python
    })
}
