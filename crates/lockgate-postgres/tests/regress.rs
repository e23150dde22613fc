//! SQL with expected answers, as in pg_regress: `postgres/test/sql/NAME.sql`, each in a database of its own, must print
//! `postgres/test/expected/NAME.out`. `LOCKGATE_BLESS=1` writes what is printed there instead; look at the difference before you commit it.

use crate::common::{modules, server, watchdog};
use lockgate_postgres::root;
use std::fs;

/// Runs one file and compares.
fn regress(name: &str) {
    let database = server().database(name).unwrap();
    let folder_of_modules = modules().display();
    let _watchdog = watchdog(name);
    let folder = root().join("postgres/test");
    let mut psql = database.psql("postgres");
    psql.args(["-a", "-v"]).arg(format!("modules={folder_of_modules}"));
    psql.arg("-v").arg(format!("owner={name}")).arg("-v").arg(format!("user={}", database.user()));
    let script = fs::File::open(folder.join("sql").join(name).with_extension("sql")).unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec \"$0\" \"$@\" 2>&1"]).arg(psql.get_program()).args(psql.get_args());
    shell.envs(psql.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(script);
    let output = shell.output().unwrap();
    let printed = portable(&String::from_utf8(output.stdout).unwrap());
    let expected = folder.join("expected").join(name).with_extension("out");
    if std::env::var_os("LOCKGATE_BLESS").is_some() {
        fs::write(expected, printed).unwrap();
        return;
    }
    let wanted = fs::read_to_string(&expected).unwrap();
    for (number, (printed, wanted)) in printed.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(printed, wanted, "{}:{}", expected.display(), number + 1);
    }
    assert_eq!(printed.lines().count(), wanted.lines().count(), "{}: lines", expected.display());
    database.check().unwrap();
}

/// What PostgreSQL says itself, in newer versions and as the expected answers have it, which are of 15.
const SAID: [(&str, &str); 2] = [
    (
        "permission denied to COPY to a file",
        "must be superuser or have privileges of the pg_write_server_files role to COPY to a file",
    ),
    (
        "cannot open relation \"module\"\nDETAIL:  This operation is not supported for composite types.",
        "\"module\" is a composite type",
    ),
];

/// Without what depends on the compiler, numbers in hexadecimal, or on PostgreSQL's version.
fn portable(text: &str) -> String {
    let text = SAID.iter().fold(text.to_owned(), |text, (newer, older)| text.replace(newer, older));
    let mut parts = text.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |done, part| done + "0x…" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

#[test]
fn types() {
    regress("types");
}

#[test]
fn rows_sets_and_aggregates() {
    regress("rows");
}

#[test]
fn queries() {
    regress("queries");
}

#[test]
fn modules_and_their_users() {
    regress("modules");
}

#[test]
fn takeover() {
    regress("takeover");
}

#[test]
fn triggers() {
    regress("triggers");
}

#[test]
fn faults() {
    regress("faults");
}
