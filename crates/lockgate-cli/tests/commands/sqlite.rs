//! The real SQLite as a whole program in a domain, with its database in a file.
use crate::commands::shop::{build, lockgate};
use lockgate_corpus::Corpus;
use std::path::Path;

/// Queries that read, write, sort, roll back, check and compact; one line per result row.
const QUERIES: &[(&str, &str)] = &[
    ("create table t (a integer primary key, b text)", ""),
    (
        "begin; insert into t with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000) \
      select x, hex(x * x) from c; commit",
        "",
    ),
    ("select count(*), sum(length(b)) from t", "5000|70762"),
    ("begin; delete from t; rollback; select count(*) from t", "5000"),
    ("create index i on t (b); delete from t where a % 3 = 0; vacuum; select count(*) from t", "3334"),
    ("pragma integrity_check", "ok"),
    // Write-ahead logging shares memory through a mapped file.
    ("pragma journal_mode = wal; insert into t values (10000, 'logged')", "wal"),
    ("pragma journal_mode; select b from t where a = 10000; pragma wal_checkpoint", "wal\nlogged\n0|0|0"),
    (
        "pragma mmap_size = 1000000; update t set b = b || '!'; select count(*) from t where b like '%!'",
        "1000000\n3335",
    ),
    ("pragma journal_mode = delete; pragma integrity_check", "delete\nok"),
];

#[test]
fn a_database_in_a_file_survives_the_domain() {
    let corpus = Corpus::locate().expect("the corpus is fetched");
    let sqlite = corpus.library("sqlite").expect("SQLite is in the corpus");
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("shell.lg");
    let shell = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/queries.c");
    let mut arguments = sqlite.flags();
    arguments
        .extend(sqlite.sources.iter().map(|source| source.to_str().expect("a path in UTF-8").to_owned()));
    // (Behind the -O1 of other modules: only behaviour counts.)
    arguments.push("-O0".to_owned());
    build(&shell, &module, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let data = tempfile::tempdir().unwrap();
    let granted = format!("/data={}", data.path().display());
    let module = module.to_str().unwrap();
    // A new domain for each: what one leaves in the file the next one finds.
    for (query, rows) in QUERIES {
        let ran = lockgate(&["run", "--dir", &granted, module, "/data/test.db", query]);
        ran.gives(0, &rows.lines().map(|row| format!("{row}\n")).collect::<String>());
        assert_eq!(ran.err, "", "SQLite needs no system call that does not exist");
    }
    let names: Vec<_> =
        std::fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["test.db"], "journals are gone");
}
