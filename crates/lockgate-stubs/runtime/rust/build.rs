//! Compiles the client in C and links liblockgate with it. Written by `lockgate stubs`, do not edit.
use std::path::PathBuf;
use std::process::Command;

/// How the header was read.
const FLAGS: &[&str] = &[@FLAGS@];

fn main() {
    println!("cargo:rerun-if-changed=client");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    let object = out.join("client.o");
    let archive = out.join("lib@NAME@_client.a");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut compile = Command::new(compiler);
    // As the crate itself. (Not every gcc knows `z`.)
    let level = std::env::var("OPT_LEVEL").expect("cargo says how").replace('z', "s");
    compile.arg(format!("-O{level}")).args(["-g", "-fPIC", "-Iclient"]).args(FLAGS).args(lockgate("--cflags").split_whitespace());
    done(compile.args(["-c", "client/@NAME@_client.c", "-o"]).arg(&object));
    done(Command::new("ar").arg("rcs").arg(&archive).arg(&object));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=@NAME@_client");
    println!("cargo:rustc-link-search=native={}", lockgate("--variable=libdir").trim());
    println!("cargo:rustc-link-lib=static=lockgate");
    for library in ["m", "pthread", "dl"] {
        println!("cargo:rustc-link-lib={library}");
    }
}

/// What pkg-config says of liblockgate.
fn lockgate(question: &str) -> String {
    done(Command::new("pkg-config").args([question, "lockgate"]))
}

/// Runs a command, which must succeed.
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{error}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
