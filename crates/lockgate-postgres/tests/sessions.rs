//! What psql alone cannot show: cancels, terminations, shutdowns, several sessions at once, parallel workers, preloaded libraries.

use crate::common::{built, changed_types, installation, modules, server, watchdog};
use lockgate_postgres::{Database, Server, Session, done};
use std::time::{Duration, Instant};

/// A database with the hostile module and its functions.
fn hostile(server: &'static Server<'static>, name: &str) -> Database<'static> {
    let database = server.database(name).unwrap();
    database.install("hostile", &modules().join("hostile.lg")).unwrap();
    database.install("types", &modules().join("types.lg")).unwrap();
    let functions = "
        CREATE FUNCTION fine(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fine' STRICT PARALLEL SAFE;
        CREATE FUNCTION fault(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fault' STRICT PARALLEL SAFE;
        CREATE FUNCTION forever(integer) RETURNS integer LANGUAGE lgc AS 'hostile.forever' STRICT PARALLEL SAFE;
        CREATE FUNCTION tick() RETURNS void LANGUAGE lgc AS 'types.count';
        CREATE FUNCTION ticks() RETURNS integer LANGUAGE lgc AS 'types.counted';";
    database.run(&database.user(), functions).unwrap();
    database
}

/// A session of the ordinary role, and the number of its server process.
fn session(database: &Database<'_>) -> (Session, String) {
    let mut session = database.session(&database.user()).unwrap();
    let id = session.run("SELECT pg_backend_pid()").unwrap();
    (session, id)
}

/// Waits until the process with this number runs a statement that has `text` in it.
fn wait_for(database: &Database<'_>, id: &str, text: &str) {
    let begun = Instant::now();
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = {id} AND state = 'active' AND query LIKE '%{text}%'"
    );
    while database.run("postgres", &sql).unwrap().trim() != "1" {
        assert!(begun.elapsed() < Duration::from_secs(300), "{id} does not begin {text}");
    }
}

/// Statements without end: in a module's code, in what it calls of the server and of the kernel, in a query, while a domain starts, among rows.
const ENDLESS: [&str; 9] = [
    "SELECT forever(0)",
    "SELECT forever(1)",
    "SELECT forever(2)",
    "SELECT forever(3)",
    "SELECT forever(4)",
    "SELECT ask('SELECT pg_sleep(1000)')",
    "SELECT ask('SELECT ask(''SELECT forever(0)'')')",
    "SELECT never_starts()",
    "SELECT * FROM bad_rows(6)",
];

/// As [`hostile`], with what [`ENDLESS`] needs.
fn endless(name: &str) -> Database<'static> {
    let database = hostile(server(), name);
    database.install("queries", &modules().join("queries.lg")).unwrap();
    database.install("rows", &modules().join("rows.lg")).unwrap();
    let source = std::fs::read_to_string(lockgate_postgres::source("intruder")).unwrap();
    let module = built(&format!("endless_{name}"), &format!("#define INTRUSION 9\n{source}"));
    database.install("endless", &module).unwrap();
    let functions = "
        CREATE FUNCTION ask(text) RETURNS text LANGUAGE lgc AS 'queries.ask' STRICT;
        CREATE FUNCTION never_starts() RETURNS integer LANGUAGE lgc AS 'endless.what';
        CREATE FUNCTION bad_rows(integer) RETURNS TABLE (at integer, word text) LANGUAGE lgc AS 'rows.bad_rows' STRICT;";
    database.run(&database.user(), functions).unwrap();
    database
}

/// Whatever a function is at, it ends when it is cancelled, and the session goes on. Red without `interrupts.c`.
#[test]
fn pg_cancel_backend_ends_functions() {
    let database = endless("cancels");
    let _watchdog = watchdog("cancels");
    let (mut session, id) = session(&database);
    for (number, statement) in ENDLESS.into_iter().enumerate() {
        session.begin(&format!("{statement} /* number {number} */")).unwrap();
        wait_for(&database, &id, &format!("number {number}"));
        database.run("postgres", &format!("SELECT pg_cancel_backend({id})")).unwrap();
        let said = session.finish().unwrap();
        assert!(said.starts_with("ERROR:  canceling statement due to user request"), "{statement}: {said}");
        assert_eq!(session.run("SELECT fine(1)").unwrap(), "2");
    }
}

#[test]
fn pg_terminate_backend_ends_sessions() {
    let database = endless("terminations");
    let _watchdog = watchdog("terminations");
    for (number, statement) in ENDLESS.into_iter().enumerate() {
        let (mut session, id) = session(&database);
        session.begin(&format!("{statement} /* number {number} */")).unwrap();
        wait_for(&database, &id, &format!("number {number}"));
        database.run("postgres", &format!("SELECT pg_terminate_backend({id})")).unwrap();
        let end = session.finish().unwrap_err().to_string();
        assert!(end.contains("terminating connection due to administrator command"), "{statement}: {end}");
    }
    database.check().unwrap();
}

/// A function that loops is in nobody's way when the server stops, and leaves nothing behind.
#[test]
fn shutdowns_end_functions() {
    let mut server = Server::start(installation(), "").unwrap();
    let set_up = |server: &Server<'_>| {
        let database = server.database("shutdowns").unwrap();
        database.install("hostile", &modules().join("hostile.lg")).unwrap();
        let function = "CREATE FUNCTION forever(integer) RETURNS integer LANGUAGE lgc AS 'hostile.forever'";
        database.run(&database.user(), function).unwrap();
    };
    set_up(&server);
    for signal in ["INT", "QUIT"] {
        let mut psql = server.client("psql");
        psql.args(["-X", "-q", "-d", "shutdowns", "-c", "SELECT forever(0)"]);
        let mut looping = psql.stderr(std::process::Stdio::null()).spawn().unwrap();
        let ask = || {
            let sql = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT forever%' AND state = 'active'";
            let mut psql = server.client("psql");
            done(psql.args(["-X", "-A", "-t", "-d", "shutdowns", "-c", sql])).unwrap()
        };
        while ask().trim() != "1" {}
        let took =
            server.stop(signal).unwrap().unwrap_or_else(|| panic!("{signal}: the server does not stop"));
        assert!(took < Duration::from_secs(120), "{signal}: {took:?}");
        assert!(!looping.wait().unwrap().success());
        if signal == "INT" {
            server.checksums().unwrap();
        }
        server.start_again().unwrap();
    }
    assert_eq!(server.stop("INT").unwrap().map(|took| took < Duration::from_secs(120)), Some(true));
    server.checksums().unwrap();
}

/// Sessions of one role are strangers, too; what one replaces the others notice.
#[test]
fn sessions_have_domains_of_their_own() {
    let database = hostile(server(), "neighbours");
    let (mut one, _) = session(&database);
    let (mut two, _) = session(&database);
    assert_eq!(one.run("SELECT tick(); SELECT ticks();").unwrap(), "\n1");
    assert_eq!(two.run("SELECT ticks()").unwrap(), "0");
    // The same bytes again: nothing changes for those who use them.
    database.install("types", &modules().join("types.lg")).unwrap();
    assert_eq!(one.run("SELECT ticks()").unwrap(), "1");
    // Other bytes with the same functions: the next statement uses them.
    database.install("types", changed_types()).unwrap();
    assert_eq!(one.run("SELECT ticks()").unwrap(), "1000");
    assert_eq!(
        two.run("BEGIN; SELECT ticks(); PREPARE p AS SELECT ticks(); COMMIT; EXECUTE p;").unwrap(),
        "1000\n1000"
    );
}

/// A statement that runs while its module is replaced goes on with the one that it began with: neither rows nor states are two modules'.
#[test]
fn a_statement_has_one_module() {
    let database = hostile(server(), "replaced");
    database.install("rows", &modules().join("rows.lg")).unwrap();
    let functions = "
        CREATE TABLE touched (i integer);
        CREATE FUNCTION wait(i integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
            IF i = 3 THEN PERFORM pg_advisory_lock(7); PERFORM pg_advisory_unlock(7); END IF;
            EXECUTE 'LOCK TABLE touched IN ACCESS SHARE MODE'; -- where a session hears of changes
            RETURN i;
        END $$;
        CREATE FUNCTION deviation_step(lockgate.state, double precision) RETURNS lockgate.state LANGUAGE lgc AS 'rows.deviation_step';
        CREATE FUNCTION deviation_result(lockgate.state) RETURNS double precision LANGUAGE lgc AS 'rows.deviation_result';
        CREATE AGGREGATE deviation(double precision) (SFUNC = deviation_step, STYPE = lockgate.state, FINALFUNC = deviation_result);";
    database.run(&database.user(), functions).unwrap();
    let (mut one, id) = session(&database);
    let mut keeper = database.session("postgres").unwrap();
    let waits =
        format!("SELECT count(*) FROM pg_locks WHERE pid = {id} AND locktype = 'advisory' AND NOT granted");
    let mut replace_during = |one: &mut Session, statement: &str, sql: &str| {
        keeper.run("SELECT pg_advisory_lock(7)").unwrap();
        one.begin(statement).unwrap();
        let begun = Instant::now();
        while keeper.run(&waits).unwrap() != "1" {
            assert!(begun.elapsed() < Duration::from_secs(300), "{statement} does not wait");
        }
        assert_eq!(keeper.run(sql).unwrap(), "");
        keeper.run("SELECT pg_advisory_unlock(7)").unwrap();
        one.finish().unwrap()
    };
    let install = |name: &str, file: &std::path::Path, more: &str| {
        format!(
            "SELECT lockgate.install_module('{name}', pg_read_binary_file('{}'){more}, true)",
            file.display()
        )
    };
    let change = install("types", changed_types(), "");
    let statement = "SELECT string_agg(ticks() || '', ' ') FROM generate_series(1, 5) i WHERE wait(i) > 0";
    assert_eq!(replace_during(&mut one, statement, &change), "0 0 0 0 0");
    assert_eq!(one.run("SELECT ticks()").unwrap(), "1000");
    let change = install("rows", &modules().join("rows.lg"), " || '\\x00'");
    let statement =
        "SELECT round(deviation(wait(i))::numeric, 6), round(stddev(i), 6) FROM generate_series(1, 5) i";
    assert_eq!(replace_during(&mut one, statement, &change), "1.581139|1.581139");
    // A cursor keeps its states' domain; others of the session, too, until it is closed.
    let cursor = "BEGIN; DECLARE c CURSOR FOR SELECT round(deviation(i) OVER (ORDER BY i)::numeric, 3) FROM generate_series(1, 3) i; FETCH 1 FROM c;";
    one.run(cursor).unwrap();
    let change = install("rows", &modules().join("rows.lg"), " || '\\x0000'");
    assert_eq!(keeper.run(&change).unwrap(), "");
    assert_eq!(one.run("FETCH 2 FROM c").unwrap(), "0.707\n1.000");
    one.run("COMMIT").unwrap();
}

/// Settings of an administrator cannot be set before the library is there to say so.
#[test]
fn limits_cannot_be_set_beforehand() {
    let database = hostile(server(), "beforehand");
    let (mut session, _) = session(&database);
    session.run("SET lockgate.memory_limit = '2GB'").unwrap();
    let said = session.run("SELECT fine(1)").unwrap();
    assert!(said.contains("permission denied") && said.ends_with('2'), "{said}");
    assert_eq!(session.run("SHOW lockgate.memory_limit").unwrap(), "64MB");
}

/// A domain may start in the middle of a call of another one: what its constructors ask for is nothing of that call's.
#[test]
fn constructors_get_nothing_of_calls_in_progress() {
    let database = hostile(server(), "intruders");
    database.install("queries", &modules().join("queries.lg")).unwrap();
    let ask = "CREATE FUNCTION ask(text) RETURNS text LANGUAGE lgc AS 'queries.ask' STRICT;";
    database.run(&database.user(), ask).unwrap();
    let source = std::fs::read_to_string(lockgate_postgres::source("intruder")).unwrap();
    let nothing = "asks for arguments outside of a call";
    let expected = [
        nothing,
        nothing,
        nothing,
        nothing,
        nothing,
        nothing,
        nothing,
        "ERROR:  raised by a constructor",
        "module intruder8 does not start: the module called abort",
        "canceling statement due to statement timeout",
        "NOTICE:  said by a constructor",
    ];
    let (mut session, _) = session(&database);
    for (number, expected) in expected.into_iter().enumerate() {
        let name = format!("intruder{number}");
        database.install(&name, &built(&name, &format!("#define INTRUSION {number}\n{source}"))).unwrap();
        let make = format!("CREATE FUNCTION {name}() RETURNS integer LANGUAGE lgc AS '{name}.what';");
        assert_eq!(session.run(&make).unwrap(), "");
        session.run("SET statement_timeout = 1000").unwrap();
        let said = session.run(&format!("SELECT ask('SELECT {name}()') AS answer")).unwrap();
        session.run("RESET statement_timeout").unwrap();
        assert!(said.contains(expected), "{number}: {said}");
        assert_eq!(session.run("SELECT ask('SELECT 1')").unwrap(), "1", "{number}");
    }
}

#[test]
fn parallel_workers_call_functions_and_fail_as_leaders_do() {
    let database = hostile(server(), "parallel");
    let (mut session, id) = session(&database);
    let settings =
        "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
        SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off;
        CREATE TABLE numbers AS SELECT generate_series(1, 50000) AS i; ANALYZE numbers;";
    session.run(settings).unwrap();
    let plan = session.run("EXPLAIN SELECT sum(fine(i)) FROM numbers").unwrap();
    assert!(plan.contains("Workers Planned: 2"), "{plan}");
    assert_eq!(session.run("SELECT sum(fine(i)) FROM numbers").unwrap(), "1250075000");
    let failed =
        session.run("SELECT sum(fault(CASE WHEN i = 40000 THEN 1 ELSE 100 END)) FROM numbers").unwrap();
    assert!(failed.contains("write to a null pointer") && failed.contains("parallel worker"), "{failed}");
    // An aggregate whose state is a value: parts of it come together.
    let aggregate = "CREATE FUNCTION plus(bigint, bigint) RETURNS bigint LANGUAGE lgc AS 'types.plus' STRICT PARALLEL SAFE;
        CREATE AGGREGATE plus(bigint) (SFUNC = plus, STYPE = bigint, COMBINEFUNC = plus, INITCOND = 0, PARALLEL = SAFE);";
    session.run(aggregate).unwrap();
    let plan = session.run("EXPLAIN SELECT plus(i) FROM numbers").unwrap();
    assert!(plan.contains("Partial Aggregate"), "{plan}");
    assert_eq!(session.run("SELECT plus(i) FROM numbers").unwrap(), "1250025000");
    session.begin("SELECT sum(forever(CASE WHEN i > 100 THEN 0 ELSE 7 END)) FROM numbers").unwrap();
    wait_for(&database, &id, "forever");
    database.run("postgres", &format!("SELECT pg_cancel_backend({id})")).unwrap();
    assert!(session.finish().unwrap().contains("canceling statement due to user request"));
    assert_eq!(session.run("SELECT sum(fine(i)) FROM numbers").unwrap(), "1250075000");
}

/// The library may be loaded before the server forks: it does nothing until the first call, but that AS may have two strings from the start.
#[test]
fn the_library_can_be_preloaded() {
    let server = Server::start(installation(), "shared_preload_libraries = 'lockgate'\n").unwrap();
    let database = server.database("preloaded").unwrap();
    database.install("hostile", &modules().join("hostile.lg")).unwrap();
    let functions = "
        CREATE FUNCTION fine(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fine' STRICT;
        CREATE FUNCTION forever(integer) RETURNS integer LANGUAGE lgc AS 'hostile', 'forever' STRICT;";
    database.run(&database.user(), functions).unwrap();
    for _ in 0..3 {
        let mut session = database.session(&database.user()).unwrap();
        assert_eq!(session.run("SELECT fine(1)").unwrap(), "2");
        let said = session.run("SET statement_timeout = 500; SELECT forever(0); SELECT fine(2);").unwrap();
        assert_eq!(said, "ERROR:  canceling statement due to statement timeout\n3");
    }
}

/// Lines and kilobytes of a server process's memory.
fn memory(id: &str) -> (usize, usize) {
    let maps = std::fs::read_to_string(format!("/proc/{id}/maps")).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (maps.lines().count(), size.trim_end_matches("kB").trim().parse().unwrap())
}

/// Every call that fails gives a domain up, and what was made for the call. (What is behind a domain goes a little later than the domain.)
#[test]
fn faults_leave_nothing_behind() {
    let database = endless("leftovers");
    let (mut session, id) = session(&database);
    let memory_of_a_module =
        "CREATE FUNCTION remember(text) RETURNS void LANGUAGE lgc AS 'hostile.remember' STRICT;
        CREATE FUNCTION recall() RETURNS text LANGUAGE lgc AS 'hostile.recall';";
    session.run(memory_of_a_module).unwrap();
    assert_eq!(session.run("SELECT remember('before'); SELECT recall();").unwrap(), "\nbefore");
    assert!(session.run("SELECT fault(1)").unwrap().starts_with("ERROR:"));
    assert_eq!(session.run("SELECT recall()").unwrap(), "");
    let faults = "DO $$ BEGIN FOR i IN 1..150 LOOP
            BEGIN PERFORM fault(1); EXCEPTION WHEN OTHERS THEN NULL; END;
            BEGIN PERFORM ask('SELECT fault(0)'); EXCEPTION WHEN OTHERS THEN NULL; END;
            BEGIN PERFORM * FROM bad_rows(5); EXCEPTION WHEN OTHERS THEN NULL; END;
        END LOOP; END $$";
    let mut settle = |most: (usize, usize)| {
        assert_eq!(session.run(faults).unwrap(), "");
        let begun = Instant::now();
        loop {
            assert_eq!(session.run("SELECT fine(1)").unwrap(), "2");
            let now = memory(&id);
            if now.0 <= most.0 && now.1 <= most.1 {
                return now;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{most:?} mappings and kB, then {now:?}");
        }
    };
    let (lines, size) = settle((usize::MAX, usize::MAX));
    for _ in 0..4 {
        settle((lines + 50, size + 2048));
    }
}

/// Eight sessions that do everything at once, for a while; then every page is right, and none of them has grown.
#[test]
fn sessions_survive_each_other() {
    let database = hostile(server(), "crowd");
    let rounds = "DO $$ BEGIN FOR i IN 0..15 LOOP
            BEGIN PERFORM fault(i); EXCEPTION WHEN OTHERS THEN NULL; END;
            INSERT INTO done VALUES (fine(i));
        END LOOP; END $$;
        SET statement_timeout = 20; SELECT forever(1); RESET statement_timeout; DISCARD ALL;";
    database.run(&database.user(), "CREATE TABLE done (i integer)").unwrap();
    let mut sessions: Vec<(Session, String)> = (0..8).map(|_| session(&database)).collect();
    for _ in 0..5 {
        for (session, _) in &mut sessions {
            session.begin(rounds).unwrap();
        }
        for (session, _) in &mut sessions {
            let said = session.finish().unwrap();
            // The server forgets that a statement's time is what ended it if the time was over while the statement was still being parsed:
            // it starts the time anew then. On a busy machine 20 ms are over that soon.
            let reason =
                said.strip_prefix("ERROR:  canceling statement due to ").unwrap_or_else(|| panic!("{said}"));
            assert!(["statement timeout", "user request"].contains(&reason), "{said}");
        }
    }
    assert_eq!(database.run("postgres", "SELECT count(*), sum(i) FROM done").unwrap().trim(), "640|5440");
    database.check().unwrap();
}

/// Each statement has the module that the table has when it begins: also where one message has several, and what a transaction has installed goes with it.
#[test]
fn rolled_back_modules_do_not_run_on() {
    let database = hostile(server(), "rolled_back");
    let mut session = database.session("postgres").unwrap();
    let install = |file: &std::path::Path| {
        format!("SELECT lockgate.install_module('types', pg_read_binary_file('{}'), true)", file.display())
    };
    let new = install(changed_types());
    // One message to the server, whose results psql prints one by one.
    let message = format!(
        "SELECT ticks() \\; BEGIN \\; {new} \\; SELECT ticks() \\; ROLLBACK \\; SELECT ticks() \\; SELECT ticks() || ' again'"
    );
    assert_eq!(session.run(&message).unwrap(), "0\n\n1000\n0\n0 again");
    assert_eq!(session.run("SELECT ticks()").unwrap(), "0");
    // Within one statement, that has called nothing before.
    let block = format!(
        "DO $$ DECLARE inside integer; BEGIN
            BEGIN PERFORM {}; inside := ticks(); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END;
            RAISE EXCEPTION '% then %', inside, ticks();
        END $$",
        new.trim_start_matches("SELECT ")
    );
    let mut session = database.session("postgres").unwrap();
    let said = session.run(&block).unwrap();
    assert!(said.contains("1000 then 0"), "{said}");
    assert_eq!(session.run("SELECT ticks()").unwrap(), "0");
    // What is committed is used by the next statement of the message.
    let message = format!("SELECT ticks() \\; {new} \\; SELECT ticks()");
    assert_eq!(session.run(&message).unwrap(), "0\n\n1000");
}
