//! R14 where handlers of faults stand around the library, which the process has once or twice: the host's own fault comes to each of them once,
//! and to the one that was there at first in the end.

use crate::common::{Language, done, installed, program, run};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The ways in which a process has the library.
struct Hosts {
    /// Linked with it, with a plugin that is, too.
    linked: PathBuf,
    /// Not linked.
    loader: PathBuf,
    plugin: PathBuf,
    /// With a copy of its own.
    other: PathBuf,
    _folder: tempfile::TempDir,
}

impl Hosts {
    fn new() -> Hosts {
        let source = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
        let folder = tempfile::tempdir().expect("a scratch folder");
        let at = |name: &str| folder.path().join(name);
        program(Language::C99, &source("plugin.c"), &at("plugin.so"), &["-shared", "-fPIC"]);
        program(Language::C99, &source("chain.c"), &at("linked"), &["-Wl,--no-as-needed", "-Wno-pedantic"]);
        let compiled = |from: &str, to: &str, flags: &[&str], archive: bool| {
            let mut compiler = crate::common::compiler(Language::C99);
            compiler.args(["-Wno-pedantic", "-fPIC"]).args(flags).arg(source(from)).arg("-o").arg(at(to));
            if archive {
                compiler.args(["-x", "none"]).arg(installed().join("lib/liblockgate.a"));
            }
            done(compiler.args(["-lm", "-lpthread", "-ldl"]));
        };
        compiled("chain.c", "loader", &[], false);
        compiled("plugin.c", "other.so", &["-shared", "-Wl,--exclude-libs,ALL"], true);
        Hosts {
            linked: at("linked"),
            loader: at("loader"),
            plugin: at("plugin.so"),
            other: at("other.so"),
            _folder: folder,
        }
    }

    /// What is said, and the signal that ends the process.
    fn run(&self, host: &Path, plugins: &[&Path], first: &str, steps: &str) -> (String, Option<i32>) {
        let mut command = Command::new(host);
        command.args([first, steps]).args(plugins).current_dir(crate::common::modules());
        // A signal that goes in circles does so for ever.
        let mut limited = Command::new("timeout");
        limited.args(["-s", "KILL", "60"]).arg(command.get_program()).args(command.get_args());
        let output = run(limited.current_dir(crate::common::modules()));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let signal =
            output.status.signal().or(output.status.code().filter(|&code| code > 128).map(|c| c - 128));
        assert!(output.status.success() || signal.is_some(), "{first} {steps}: {output:?}");
        (said, signal)
    }
}

/// Red where the library hands on what comes to it always to the same handler: that one calls the library, and so on for ever. Red, too,
/// where copies of the library go before each other at every claim, and where handlers do not keep the registers that C functions keep.
#[test]
fn the_hosts_own_fault_comes_to_each_handler_once() {
    let hosts = Hosts::new();
    let claims = format!("ssr{}hh", "ct".repeat(100));
    let (one, two) = (vec![&*hosts.plugin], vec![&*hosts.plugin, &*hosts.other]);
    let ways: [(&Path, &[&Path], &[&str]); 3] = [
        (&hosts.linked, &one, &["shh", "rsdthh", "srdthh", "srtcthh", "sRchh"]),
        (&hosts.loader, &one, &["shh", "rsdthh", "srhh", "srdthh", "srcthh", "sRchh", "srcrhh", "srcrchh"]),
        (
            &hosts.loader,
            &two,
            &[
                "sshh",
                "ssdtdhh",
                "ssctcthh",
                "rssdhh",
                "srshh",
                "srscthh",
                "ssrhh",
                "ssrdthh",
                "ssRcthh",
                "ssrcrcthh",
                &claims,
            ],
        ),
    ];
    for (host, plugins, all) in ways {
        for first in ["none", "jumps", "returns"] {
            for steps in all {
                let (said, signal) = hosts.run(host, plugins, first, steps);
                let own = said.rsplit("domain\n").next().expect("a last part");
                let reporter = if steps.to_lowercase().contains('r') { "reporter\n" } else { "" };
                let wanted = match first {
                    "none" => (reporter.to_owned(), Some(11)),
                    _ => (format!("{reporter}first\non\n").repeat(2), None),
                };
                assert_eq!((own.to_owned(), signal), wanted, "{host:?} {plugins:?} {first} {steps}: {said}");
            }
        }
    }
    // What a program that is linked with the library does past it is noticed at the next call after a fault. Red if only those that are not
    // linked look there.
    for (host, plugins) in [(&hosts.linked, &one), (&hosts.loader, &one)] {
        assert_eq!(hosts.run(host, plugins, "none", "sdpd"), ("domain\n".repeat(2), None), "{host:?}");
    }
    // A handler in front of ours, which calls it with a domain's fault.
    let (said, _) = hosts.run(&hosts.loader, &one, "jumps", "srd");
    assert_eq!(said, "reporter\ndomain\n");
}
