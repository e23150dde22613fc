//! The table of modules: who keeps whom waiting, and what a superuser may do to it.

use crate::common::{modules, server, watchdog};
use lockgate_postgres::Database;

/// Two modules of the database's owner, and a function of his.
fn database(name: &str) -> Database<'static> {
    let database = server().database(name).unwrap();
    let rights = format!(
        "GRANT pg_read_server_files TO {name}; GRANT EXECUTE ON FUNCTION pg_read_binary_file(text) TO {name}"
    );
    database.run("postgres", &rights).unwrap();
    database.run(name, &["hostile", "types"].map(install).concat()).unwrap();
    database.run(name, &function("owners")).unwrap();
    database
}

fn install(name: &str) -> String {
    let file = modules().join(name).with_extension("lg");
    format!("SELECT lockgate.install_module('{name}', pg_read_binary_file('{}'), true);", file.display())
}

fn function(name: &str) -> String {
    format!("CREATE FUNCTION {name}(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fine' STRICT;")
}

/// A transaction of a role without rights keeps nobody from installing, replacing or dropping a module, whatever it has made.
#[test]
fn who_may_not_change_modules_keeps_nobody_waiting() {
    let database = database("waits");
    let _watchdog = watchdog("waits");
    let mut stranger = database.session(&database.user()).unwrap();
    let mut owner = database.session("waits").unwrap();
    owner.run("SET lock_timeout = '10s'").unwrap();
    let drop = "SELECT lockgate.drop_module('types');".to_owned();
    let changes = [install("hostile"), install("types"), drop];
    // Functions of its own; one of the owner's that it has looked at, as anybody can; all that it may read.
    let validate = "SELECT lockgate.validator('owners'::regproc);".to_owned();
    let read =
        "SELECT * FROM lockgate.modules; SELECT * FROM lockgate.module_functions('hostile');".to_owned();
    for statement in [function("mine"), validate, read] {
        let said = stranger.run(&format!("BEGIN; {statement}")).unwrap();
        assert!(!said.contains("ERROR"), "{said}");
        for change in &changes {
            let said = owner.run(&format!("BEGIN; {change} ROLLBACK;")).unwrap();
            assert_eq!(said, "", "while {statement}: {change}");
        }
        stranger.run("ROLLBACK").unwrap();
    }
}

/// Functions that keep a module keep it from the moment that they are made; other modules can be changed.
#[test]
fn owners_functions_keep_their_module_before_they_are_committed() {
    let database = database("keeps");
    let _watchdog = watchdog("keeps");
    let mut one = database.session("keeps").unwrap();
    let mut two = database.session("keeps").unwrap();
    two.run("SET lock_timeout = '300ms'").unwrap();
    assert_eq!(one.run(&format!("BEGIN; {}", function("more"))).unwrap(), "");
    for change in [install("hostile"), "SELECT lockgate.drop_module('hostile');".to_owned()] {
        let said = two.run(&change).unwrap();
        assert!(said.contains("canceling statement due to lock timeout"), "{change}: {said}");
    }
    assert_eq!(two.run(&install("types")).unwrap(), "");
    one.run("COMMIT").unwrap();
    assert_eq!(two.run("DROP FUNCTION owners(integer)").unwrap(), "");
    let said = two.run("SELECT lockgate.drop_module('hostile')").unwrap();
    assert!(said.contains("function more(integer)"), "{said}");
    assert_eq!(two.run("SELECT more(1)").unwrap(), "2");
}

/// Two that change one module do so one after the other.
#[test]
fn a_module_is_changed_by_one_at_a_time() {
    let database = database("changes");
    let _watchdog = watchdog("changes");
    let mut one = database.session("changes").unwrap();
    let mut two = database.session("changes").unwrap();
    two.run("SET lock_timeout = '300ms'").unwrap();
    assert_eq!(one.run(&format!("BEGIN; {}", install("rows"))).unwrap(), "");
    let said = two.run(&install("rows")).unwrap();
    assert!(said.contains("canceling statement due to lock timeout"), "{said}");
    two.run("RESET lock_timeout").unwrap();
    two.begin(&install("rows")).unwrap();
    one.run("COMMIT").unwrap();
    assert_eq!(two.finish().unwrap(), "");
}

/// A superuser may take constraints and indexes away: what is missing then is an error, and names are found without an index.
#[test]
fn a_table_without_its_constraints_is_an_error_at_worst() {
    let database = database("unconstrained");
    let mut session = database.session("postgres").unwrap();
    let process = session.run("SELECT pg_backend_pid()").unwrap();
    assert_eq!(session.run("SELECT owners(1)").unwrap(), "2");
    let null = |column: &str| {
        format!(
            "ALTER TABLE lockgate.module DROP CONSTRAINT module_check;
            ALTER TABLE lockgate.module ALTER {column} DROP NOT NULL;
            INSERT INTO lockgate.module
                SELECT 'odd', owner, sha256('other'), installed, image FROM lockgate.module WHERE name = 'hostile';
            UPDATE lockgate.module SET {column} = NULL WHERE name = 'odd';"
        )
    };
    let call = "CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS 'odd.fine'";
    let drop = "SELECT lockgate.drop_module('odd')";
    for (column, statement) in [("hash", call), ("image", call), ("owner", call), ("owner", drop)] {
        assert_eq!(session.run(&format!("BEGIN; {}", null(column))).unwrap(), "");
        let said = session.run(statement).unwrap();
        let expected = format!("table lockgate.module is damaged: no {column} in a row");
        assert!(said.contains(&expected), "{column}, {statement}: {said}");
        session.run("ROLLBACK").unwrap();
    }
    let no_key = "ALTER TABLE lockgate.module DROP CONSTRAINT module_pkey";
    for index in [
        "",
        "CREATE INDEX ON lockgate.module (installed)",
        "CREATE INDEX ON lockgate.module (hash)",
        "CREATE INDEX ON lockgate.module (lower(name))",
        "CREATE INDEX ON lockgate.module (name) WHERE name <> 'hostile'",
        "ALTER TABLE lockgate.module ADD PRIMARY KEY (hash)",
        "ALTER TABLE lockgate.module ADD PRIMARY KEY (hash, name)",
    ] {
        assert_eq!(session.run(&format!("BEGIN; {no_key}; {index};")).unwrap(), "", "{index}");
        let said = session.run(&format!("SELECT owners(1); {}", function("f"))).unwrap();
        assert_eq!(said, "2", "{index}");
        session.run("ROLLBACK").unwrap();
    }
    assert_eq!(session.run("SELECT pg_backend_pid()").unwrap(), process);
}

/// Kilobytes that a process has had at most.
fn most_memory(id: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    size.trim_end_matches("kB").trim().parse().unwrap()
}

/// Row types of a role without rights, of which it makes what it likes later: too wide, or of each other without end.
fn grown(nested: u32) -> String {
    let wide = "DO $$ BEGIN FOR i IN 2..65 LOOP EXECUTE format('ALTER TYPE wide ADD ATTRIBUTE a%s int', i); END LOOP; END $$;";
    let nest = |i: u32| {
        let columns: Vec<String> = (2..=64).map(|k| format!("ADD ATTRIBUTE a{k} n{}", i - 1)).collect();
        format!("ALTER TYPE n{i} {};", columns.join(", "))
    };
    wide.to_owned() + &(2..=nested).map(nest).collect::<String>()
}

/// A role without rights keeps no owner from replacing his module: neither by functions, nor by the types that it lets the owner's functions take.
#[test]
fn types_of_others_keep_no_module() {
    let database = database("types_of_others");
    let _watchdog = watchdog("types_of_others");
    let mut stranger = database.session(&database.user()).unwrap();
    let types: String = (2..=5).map(|i| format!("CREATE TYPE n{i} AS (a1 n{});", i - 1)).collect();
    let functions = |name: &str| {
        format!(
            "SET check_function_bodies = off;
            CREATE FUNCTION {name}(wide) RETURNS integer LANGUAGE lgc AS 'hostile.fine';
            CREATE FUNCTION {name}(n5) RETURNS integer LANGUAGE lgc AS 'hostile.fine';
            CREATE FUNCTION {name}(held) RETURNS integer LANGUAGE lgc AS 'hostile.fine';"
        )
    };
    let make = format!(
        "CREATE TYPE wide AS (a1 int); CREATE TYPE n1 AS (a1 int); CREATE TYPE held AS (a1 int); {types} {}",
        functions("strangers")
    );
    assert_eq!(stranger.run(&make).unwrap(), "");
    let owner = |sql: &str| database.run("types_of_others", sql);
    // (Of the owner's functions those alone that a lock does not hold up.)
    owner(&(functions("owners") + "DROP FUNCTION owners(held)")).unwrap();
    assert_eq!(stranger.run(&grown(5)).unwrap(), "");
    // A lock on a type that a stranger's function takes.
    assert_eq!(stranger.run("BEGIN; ALTER TYPE held ADD ATTRIBUTE a2 int;").unwrap(), "");
    let mut session = database.session("types_of_others").unwrap();
    let id = session.run("SELECT pg_backend_pid()").unwrap();
    session.run("SET statement_timeout = '30s'").unwrap();
    assert_eq!(session.run("SELECT owners(1)").unwrap(), "2");
    let before = most_memory(&id);
    assert_eq!(session.run(&install("hostile")).unwrap(), "");
    let grown = most_memory(&id) - before;
    assert!(grown < 100_000, "{grown} kB more");
    assert_eq!(session.run("SELECT owners(1)").unwrap(), "2");
    // An owner's function that fits no more keeps its module as before.
    let said = session.run(&install("hostile").replace("hostile.lg", "types.lg")).unwrap();
    assert!(said.contains("functions do not fit the new one") && said.contains("owners(integer)"), "{said}");
    assert!(!said.contains("owners(n5)") && !said.contains("strangers"), "{said}");
    stranger.run("ROLLBACK").unwrap();
    let said = stranger.run("SELECT strangers(NULL::n5)").unwrap();
    assert!(said.contains("at most 4096 columns in all"), "{said}");
}
