//! R11, R14 in a server: languages that are loaded after the first call, and install handlers of faults.

mod common;

use common::{installation, modules, server};
use std::path::Path;

/// Whether the machine's PostgreSQL has a language.
fn has(language: &str) -> bool {
    let control = format!("{language}.control");
    let there = [Path::new("/usr/share/postgresql"), installation().folder()]
        .iter()
        .any(|root| found(root, &control, 6));
    if !there {
        support::skipped(
            format_args!("handlers of {language}"),
            "PostgreSQL has no such language here (Debian: postgresql-plperl-NN, postgresql-plpython3-NN)",
        );
    }
    there
}

/// Whether a file of this name lies in a folder, so many levels down.
fn found(folder: &Path, name: &str, levels: u32) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    levels > 0
        && entries.into_iter().any(|entry| {
            entry.file_name() == name || entry.path().is_dir() && found(&entry.path(), name, levels - 1)
        })
}

/// A module's faults are errors that Lockgate reports, whichever language the server has loaded since its first call.
fn after(language: &str, database: &str, statement: &str) {
    if !has(language) {
        return;
    }
    let database = server().database(database).unwrap();
    database.run("postgres", &format!("CREATE EXTENSION {language}")).unwrap();
    database.install("hostile", &modules().join("hostile.lg")).unwrap();
    let functions = "
        CREATE FUNCTION fine(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fine' STRICT;
        CREATE FUNCTION fault(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fault' STRICT;";
    database.run(&database.user(), functions).unwrap();
    let mut session = database.session("postgres").unwrap();
    // Both are bound here: a bind has the handlers looked at, too.
    let fine = session.run("SELECT fine(7), fault(100)").unwrap();
    assert!(!fine.contains("ERROR"), "{fine}");
    let said = session.run(statement).unwrap();
    assert!(!said.contains("ERROR"), "{said}");
    // The division first: any fault has the handlers looked at again.
    for fault in [2, 0, 1, 3, 4, 5, 6, 7, 8] {
        let said = session.run(&format!("SELECT fault({fault})")).unwrap();
        // (The server's own handler says \"floating-point exception\", without a module.)
        assert!(!said.contains("floating-point exception") && !said.contains("server closed"), "{said}");
        assert_eq!(session.run("SELECT fine(7), fault(100)").unwrap(), fine);
    }
    let process = session.run("SELECT pg_backend_pid()").unwrap();
    assert!(Path::new(&format!("/proc/{process}")).exists(), "the session's process lives");
}

#[test]
fn faults_of_modules_after_pl_perl_was_loaded() {
    after("plperl", "perl", "DO $$ my $x = 1; $$ LANGUAGE plperl");
}

#[test]
fn faults_of_modules_after_pl_python_was_loaded() {
    after("plpython3u", "python", "DO $$ x = 1 $$ LANGUAGE plpython3u");
}
