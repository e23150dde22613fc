//! R11, R12, R14 against what is installed: handlers that come after the first call, by each function that installs them.
use installed::{Workshop, done, is_there, source};
use std::process::Command;

/// Where the library is linked with, it stands in for libc's functions: handlers are right at once.
#[test]
fn handlers_of_a_program_that_is_linked_with_the_library() {
    done(Workshop::get().program("shared").args(["linked", "guest.lg"]));
}

#[test]
fn handlers_of_a_program_that_is_linked_with_the_archive() {
    done(Workshop::get().program("static").args(["linked", "guest.lg"]));
}

/// Where it came by `dlopen`, they are right behind a bind, a reset, a domain of a pool, a fault, and where it is asked for.
#[test]
fn handlers_of_a_program_whose_plugin_brings_the_library() {
    done(Workshop::get().loader().args(["late", "guest.lg"]));
}

/// As the same plugin, which a goroutine calls.
#[test]
fn handlers_of_a_go_program() {
    if !is_there("go", "Go") {
        return;
    }
    let workshop = Workshop::get();
    let folder = workshop.at("go");
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    std::fs::copy(source("host.go"), folder.join("main.go")).expect("a source");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(workshop.at("go-host")).arg("main.go").current_dir(&folder);
    done(go.envs([("CGO_ENABLED", "1"), ("GO111MODULE", "off"), ("GOFLAGS", "")]));
    done(workshop.program("go-host").arg(workshop.at("plugin.so")).args(["foreign", "guest.lg"]));
}

#[test]
fn handlers_of_a_java_program() {
    if !is_there("javac", "Java") {
        return;
    }
    let workshop = Workshop::get();
    done(Command::new("javac").arg("-d").arg(workshop.at("java")).arg(source("Host.java")));
    let javac = done(Command::new("sh").args(["-c", "readlink -f $(command -v javac)"]));
    let home = std::path::Path::new(javac.trim()).ancestors().nth(2).expect("bin/javac").to_owned();
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(workshop.at("libhost.so")).arg(source("java.c"));
    gcc.arg("-I").arg(home.join("include")).arg("-I").arg(home.join("include/linux"));
    done(gcc.arg(workshop.at("plugin.so")).arg(format!("-Wl,-rpath,{}", workshop.at("").display())));
    let mut java = Command::new(home.join("bin/java"));
    java.arg(format!("-Djava.library.path={}", workshop.at("").display()))
        .arg("-cp")
        .arg(workshop.at("java"));
    done(java.args(["Host", "guest.lg"]).current_dir(workshop.at("")));
}

#[test]
fn handlers_of_a_node_program() {
    let header = ["/usr/include/node/node_api.h", "/usr/local/include/node/node_api.h"]
        .into_iter()
        .find(|header| std::path::Path::new(header).exists());
    let (true, Some(header)) = (is_there("node", "Node"), header) else {
        return support::skipped("the host in Node", "there is no node_api.h");
    };
    let workshop = Workshop::get();
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(workshop.at("host.node")).arg(source("node.c"));
    gcc.arg("-I").arg(std::path::Path::new(header).parent().expect("a folder"));
    done(gcc.arg(workshop.at("plugin.so")).arg(format!("-Wl,-rpath,{}", workshop.at("").display())));
    let mut node = Command::new("node");
    let script = "process.exit(require('./host.node').run('guest.lg'))";
    done(node.args(["-e", script]).current_dir(workshop.at("")));
}
