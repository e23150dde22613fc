//! Programs in other languages, into which the plugin brings the library. All take the words that the plugin's `host_main` takes.
use crate::{Workshop, done, run, source};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What starts a host, in the workshop's folder.
pub type Host = fn(&Workshop) -> Command;

/// `None`, and said so by name, where the machine has not what a host is made of.
pub type Maybe = fn() -> Option<Host>;

/// All of them, by name.
pub const LANGUAGES: [(&str, Maybe); 7] = [
    ("Go", go),
    ("Java", java),
    ("Node", node),
    ("Perl", perl),
    ("PHP", php),
    ("Python", python),
    ("Ruby", ruby),
];

/// Whether a program of this name can be started; says which host is left out if not.
fn is_there(program: &str, host: &str) -> bool {
    support::is_there(program, format_args!("the host in {host}"))
}

/// An object of the plugin's for another program to load.
fn extension(workshop: &Workshop, name: &str, of: &str, includes: &[&Path], flags: &str) {
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC", "-O1", "-Wall"]).args(flags.split_whitespace());
    gcc.arg("-o").arg(workshop.at(name)).arg(source(of));
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
            extension(workshop, "libhost.so", "java.c", &[&include, &include.join("linux")], "");
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
        extension(Workshop::get(), "host.node", "node.c", &[include], "");
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
        extension(Workshop::get(), "extension.so", "python.c", &[&include], "");
        true
    };
    THERE.get_or_init(make).then_some(|workshop| {
        let mut python = Command::new("python3");
        python.arg(source("host.py")).env("PYTHONPATH", workshop.at("")).current_dir(workshop.at(""));
        python
    })
}

/// As an extension.
pub fn perl() -> Option<Host> {
    static THERE: OnceLock<bool> = OnceLock::new();
    let make = || {
        if !is_there("perl", "Perl") {
            return false;
        }
        let script = "use Config; print qq($Config{archlibexp}/CORE\n$Config{ccflags})";
        let said = done(Command::new("perl").args(["-e", script]));
        let (include, flags) = said.split_once('\n').expect("two lines");
        if !Path::new(include).join("perl.h").exists() {
            support::skipped("the host in Perl", "there is no perl.h");
            return false;
        }
        extension(Workshop::get(), "perl.so", "perl.c", &[Path::new(include)], flags);
        true
    };
    THERE.get_or_init(make).then_some(|workshop| {
        let mut perl = Command::new("perl");
        perl.arg(source("host.pl")).env("HOSTS", workshop.at("")).current_dir(workshop.at(""));
        perl
    })
}

/// As the plugin, by FFI.
pub fn php() -> Option<Host> {
    static THERE: OnceLock<bool> = OnceLock::new();
    let make = || {
        if !is_there("php", "PHP") {
            return false;
        }
        let has = run(Command::new("php").args(["-r", "exit(class_exists('FFI') ? 0 : 1);"])).0;
        if !has {
            support::skipped("the host in PHP", "PHP has no FFI");
        }
        has
    };
    THERE.get_or_init(make).then_some(|workshop| {
        let mut php = Command::new("php");
        php.args(["-d", "ffi.enable=1"]).arg(source("host.php")).arg(workshop.at("plugin.so"));
        php.current_dir(workshop.at(""));
        php
    })
}

/// As the plugin, by Fiddle.
pub fn ruby() -> Option<Host> {
    static THERE: OnceLock<bool> = OnceLock::new();
    let make = || {
        if !is_there("ruby", "Ruby") {
            return false;
        }
        let has = run(Command::new("ruby").args(["-e", "require 'fiddle'"])).0;
        if !has {
            support::skipped("the host in Ruby", "Ruby has no Fiddle");
        }
        has
    };
    THERE.get_or_init(make).then_some(|workshop| {
        let mut ruby = Command::new("ruby");
        ruby.arg(source("host.rb")).arg(workshop.at("plugin.so")).current_dir(workshop.at(""));
        ruby
    })
}

/// Allocators that programs are run with in place of the C library's, by the Debian package that has each.
pub const ALLOCATORS: [(&str, &str); 2] =
    [("libjemalloc2", "libjemalloc.so.2"), ("libmimalloc2.0", "libmimalloc.so.2.0")];

/// The file of such an allocator; `None`, and said so by name, where there is none.
pub fn allocator(package: &str, name: &str) -> Option<PathBuf> {
    let found =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"].map(|folder| Path::new(folder).join(name));
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        support::skipped(
            format_args!("the hosts with {name}"),
            format_args!("there is no {name} ({package})"),
        );
    }
    found
}
