//! What a session takes of the server's: descriptors, memory, time. PostgreSQL keeps books of its descriptors, and a commit that gets none is a PANIC.

mod common;

use common::{built, installation, patience, server};
use lockgate_postgres::{Database, Server, Session};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const GREEDY: &str = r#"
    #include <lockgate_pg.h>
    int32_t ask_often(int32_t times) {
        for (int32_t i = 0; i < times; i++)
            lg_pg_query("SELECT 1", NULL, 0);
        return times;
    }
    int32_t ask_with(int32_t times) {
        static char zeros[1 << 20];
        lg_pg_text parameter = {zeros, sizeof zeros};
        for (size_t i = 0; i < sizeof zeros; i++)
            zeros[i] = '0';
        for (int32_t i = 0; i < times; i++)
            lg_pg_query("SELECT $1", &parameter, 1);
        return times;
    }
    int32_t tell_often(int32_t times) {
        for (int32_t i = 0; i < times; i++)
            lg_pg_report(0, "nobody hears it");
        return times;
    }
    int32_t ask_for(int32_t rows) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT repeat('x', 1000) || i FROM generate_series(1, %d) i", rows);
        return lg_pg_query(sql, NULL, 0);
    }
    lg_pg_state *count_step(lg_pg_state *state, int32_t value) {
        int64_t *count = state ? (int64_t *)state : lg_pg_state_alloc(8);
        *count += value;
        return (lg_pg_state *)count;
    }
    lg_pg_state *count_both(lg_pg_state *one, lg_pg_state *other) {
        return one ? one : other;
    }
    int32_t spin(int32_t times) {
        for (volatile int32_t left = times; left > 0; left--)
            ;
        return times;
    }
    int64_t count_result(lg_pg_state *state) { return state ? *(int64_t *)state : -1; }
"#;

const FUNCTIONS: &str = "
    CREATE FUNCTION ask_often(integer) RETURNS integer LANGUAGE lgc AS 'greedy.ask_often' STRICT;
    CREATE FUNCTION ask_with(integer) RETURNS integer LANGUAGE lgc AS 'greedy.ask_with' STRICT;
    CREATE FUNCTION tell_often(integer) RETURNS integer LANGUAGE lgc AS 'greedy.tell_often' STRICT;
    CREATE FUNCTION ask_for(integer) RETURNS integer LANGUAGE lgc AS 'greedy.ask_for' STRICT;
    CREATE FUNCTION spin(integer) RETURNS integer LANGUAGE lgc AS 'greedy.spin' PARALLEL SAFE;
    CREATE FUNCTION count_step(lockgate.state, integer) RETURNS lockgate.state LANGUAGE lgc AS 'greedy.count_step' PARALLEL SAFE;
    CREATE FUNCTION count_both(lockgate.state, lockgate.state) RETURNS lockgate.state LANGUAGE lgc AS 'greedy.count_both' PARALLEL SAFE;
    CREATE FUNCTION count_result(lockgate.state) RETURNS bigint LANGUAGE lgc AS 'greedy.count_result' PARALLEL SAFE;
    CREATE AGGREGATE counted(integer) (SFUNC = count_step, STYPE = lockgate.state, FINALFUNC = count_result);
    CREATE AGGREGATE raw(integer) (SFUNC = count_step, STYPE = lockgate.state);
    CREATE AGGREGATE in_parts(integer) (SFUNC = count_step, STYPE = lockgate.state, FINALFUNC = count_result, COMBINEFUNC = count_both, PARALLEL = SAFE);";

fn greedy() -> &'static PathBuf {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| built("greedy", GREEDY))
}

/// A database with the module and its functions.
fn database<'s>(server: &'s Server<'s>, name: &str) -> Database<'s> {
    let database = server.database(name).unwrap();
    database.install("greedy", greedy()).unwrap();
    database.run(&database.user(), FUNCTIONS).unwrap();
    database
}

/// A session of the ordinary role, and the number of its server process.
fn session(database: &Database<'_>) -> (Session, String) {
    let mut session = database.session(&database.user()).unwrap();
    let id = session.run("SELECT pg_backend_pid()").unwrap();
    (session, id)
}

/// Open descriptors of a process.
fn descriptors(id: &str) -> usize {
    std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count()
}

/// The most memory that a process has had, kilobytes.
fn most_memory(id: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    size.trim_end_matches("kB").trim().parse().unwrap()
}

/// Cursors with aggregates have memory in a domain each, but no descriptor; and there is an end to them.
#[test]
fn cursors_take_no_descriptors() {
    let database = database(server(), "cursors");
    let (mut session, id) = session(&database);
    let open = |from: u32, to: u32| {
        format!(
            "DO $$ DECLARE c refcursor; n bigint; BEGIN FOR i IN {from}..{to} LOOP
                c := 'c' || i; OPEN c FOR SELECT counted(x) OVER (ORDER BY x) FROM generate_series(1, 3) x; FETCH c INTO n;
            END LOOP; END $$"
        )
    };
    assert_eq!(session.run(&format!("BEGIN; {};", open(1, 1))).unwrap(), "");
    let before = descriptors(&id);
    assert_eq!(session.run(&open(2, 50)).unwrap(), "");
    assert_eq!(descriptors(&id), before);
    let said = session.run(&open(51, 100)).unwrap();
    assert!(
        said.contains("one more aggregate over lockgate.state, or larger arguments, are more than"),
        "{said}"
    );
    assert!(
        said.contains("domain greedy has 64 grants already") && said.contains("HINT:  Cursors"),
        "{said}"
    );
    session.run("ROLLBACK").unwrap();
    assert_eq!(session.run("SELECT counted(x) FROM generate_series(1, 3) x").unwrap(), "6");
}

/// PostgreSQL knows of the descriptors of modules: they never leave it without, however many modules a session calls, and none of the calls fails.
#[test]
fn descriptors_of_modules_are_in_the_servers_books() {
    let server = Server::start(installation(), "max_files_per_process = 100\n").unwrap();
    let database = database(&server, "books");
    let many = format!(
        "SELECT lockgate.install_module('m' || i, pg_read_binary_file('{}') || int4send(i)) FROM generate_series(1, 90) i",
        greedy().display()
    );
    database.run("postgres", &many).unwrap();
    let (mut session, id) = session(&database);
    let functions = "DO $$ BEGIN FOR i IN 1..90 LOOP EXECUTE format(
        'CREATE FUNCTION f%s(integer) RETURNS integer LANGUAGE lgc AS ''m%s.tell_often'' STRICT', i, i); END LOOP; END $$";
    assert_eq!(session.run(functions).unwrap(), "");
    let call = "DO $$ DECLARE n integer; BEGIN FOR i IN 1..90 LOOP EXECUTE format('SELECT f%s(1)', i) INTO n; ASSERT n = 1; END LOOP; END $$";
    for _ in 0..2 {
        assert_eq!(session.run(call).unwrap(), "");
        let files = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().flatten();
        let files = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        let count = files.filter(|file| file.to_string_lossy().contains("lockgate-module")).count();
        assert!((1..=33).contains(&count), "{count} modules have files open");
    }
    // Domains whose aggregates are under way stay: there are not more of them than there can be.
    let hold = "BEGIN; DO $$ DECLARE c refcursor; n text; BEGIN FOR i IN 1..90 LOOP
            EXECUTE format('CREATE FUNCTION s%s(lockgate.state, integer) RETURNS lockgate.state LANGUAGE lgc AS ''m%s.count_step''', i, i);
            EXECUTE format('CREATE AGGREGATE a%s(integer) (SFUNC = s%s, STYPE = lockgate.state)', i, i);
            c := 'c' || i; OPEN c FOR EXECUTE format('SELECT a%s(x) OVER (ORDER BY x) FROM generate_series(1, 3) x', i); FETCH c INTO n;
        END LOOP; END $$";
    let said = session.run(hold).unwrap();
    assert!(said.contains("too many files are open in this session for one more module"), "{said}");
    assert_eq!(session.run("ROLLBACK; SELECT f1(1);").unwrap(), "1");
}

/// A session has so many domains, no more, and gives up those that it does not use.
#[test]
fn domains_of_a_session_are_counted() {
    let database = database(server(), "domains");
    let (mut session, id) = session(&database);
    let many = format!(
        "SELECT lockgate.install_module('m' || i, pg_read_binary_file('{}')) FROM generate_series(1, 200) i",
        greedy().display()
    );
    database.run("postgres", &many).unwrap();
    let functions = "DO $$ BEGIN FOR i IN 1..200 LOOP EXECUTE format(
        'CREATE FUNCTION f%s(integer) RETURNS integer LANGUAGE lgc AS ''m%s.tell_often'' STRICT', i, i); END LOOP; END $$";
    assert_eq!(session.run(functions).unwrap(), "");
    let mappings = |id: &str| std::fs::read_to_string(format!("/proc/{id}/maps")).unwrap().lines().count();
    let call = |first: u32, last: u32| {
        format!(
            "DO $$ DECLARE n integer; BEGIN FOR i IN {first}..{last} LOOP EXECUTE format('SELECT f%s(1)', i) INTO n; ASSERT n = 1; END LOOP; END $$"
        )
    };
    assert_eq!(session.run(&call(1, 64)).unwrap(), "");
    let begun = Instant::now();
    let full = mappings(&id);
    assert_eq!(session.run(&call(1, 200)).unwrap(), "");
    // (What is behind a domain goes a little later than the domain.)
    while mappings(&id) > full + full / 4 {
        assert!(begun.elapsed() < Duration::from_secs(120), "{full} mappings, then {}", mappings(&id));
    }
}

/// What the server allocates for a function's queries, parameters and messages goes with each of them.
#[test]
fn queries_and_messages_leave_nothing_behind() {
    let database = database(server(), "gates");
    let _patience = patience("gates");
    for call in ["ask_often(3000)", "tell_often(30000)", "ask_with(200)"] {
        let (mut session, id) = session(&database);
        let once = format!("SELECT {}(1)", call.split('(').next().unwrap());
        assert_eq!(session.run(&once).unwrap(), "1");
        let before = most_memory(&id);
        let said = session.run(&format!("SELECT {call}")).unwrap();
        assert!(call.contains(&said), "{call}: {said}");
        let grown = most_memory(&id) - before;
        assert!(grown < 40_000, "{call}: {grown} kB more");
    }
}

/// Rows of queries count against the limit of the domain's memory.
#[test]
fn rows_of_queries_have_a_limit() {
    let database = database(server(), "limits");
    let (mut session, id) = session(&database);
    assert_eq!(session.run("SELECT ask_for(1000)").unwrap(), "1000");
    let before = most_memory(&id);
    let said = session.run("SELECT ask_for(1000000)").unwrap();
    assert!(said.contains("lg_pg_query: rows of more than 64 MB are beyond lockgate.memory_limit"), "{said}");
    let grown = most_memory(&id) - before;
    assert!(grown < 200_000, "{grown} kB more");
    assert_eq!(session.run("SELECT ask_for(1000)").unwrap(), "1000");
}

/// A state is an address in one process: what cannot be added up is refused, not added up wrongly.
#[test]
fn states_are_not_combined() {
    let database = database(server(), "parts");
    let (mut session, _) = session(&database);
    let settings =
        "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
        SET max_parallel_workers_per_gather = 2;
        CREATE TABLE numbers AS SELECT 1 AS i FROM generate_series(1, 50000); ANALYZE numbers;";
    session.run(settings).unwrap();
    let plan = session.run("EXPLAIN SELECT in_parts(i) FROM numbers").unwrap();
    assert!(plan.contains("Partial Aggregate"), "{plan}");
    let said = session.run("SELECT in_parts(i) FROM numbers").unwrap();
    assert!(said.contains("aggregates over lockgate.state cannot be computed in parts"), "{said}");
    assert_eq!(session.run("SELECT counted(i) FROM numbers").unwrap(), "50000");
    assert_eq!(
        session.run("SET max_parallel_workers_per_gather = 0; SELECT in_parts(i) FROM numbers;").unwrap(),
        "50000"
    );
}

/// Limits that change while a cursor keeps a domain hold from then on, or there is an error: no call is made with others.
#[test]
fn limits_that_change_under_a_cursor_are_not_passed_over() {
    let database = database(server(), "changed_limits");
    let mut session = database.session("postgres").unwrap();
    let cursor = "BEGIN; DECLARE c CURSOR FOR SELECT counted(x) OVER (ORDER BY x) FROM generate_series(1, 3) x; FETCH 1 FROM c;";
    for change in ["lockgate.memory_limit = '8MB'", "lockgate.cpu_limit = '1s'"] {
        assert_eq!(session.run(cursor).unwrap(), "1");
        session.run(&format!("SET LOCAL {change}; SAVEPOINT s;")).unwrap();
        for call in ["SELECT tell_often(1)", "SELECT counted(1)"] {
            let said = session.run(call).unwrap();
            let expected = "limits have been changed while module greedy has aggregates";
            assert!(said.contains(expected), "{change}, {call}: {said}");
            session.run("ROLLBACK TO s").unwrap();
        }
        assert_eq!(session.run("CLOSE c; SELECT tell_often(1); COMMIT;").unwrap(), "1");
    }
    assert_eq!(session.run(cursor).unwrap(), "1");
    let there_and_back =
        "SET LOCAL lockgate.memory_limit = '8MB'; SET LOCAL lockgate.memory_limit TO DEFAULT;";
    session.run(there_and_back).unwrap();
    assert_eq!(session.run("FETCH 1 FROM c; SELECT tell_often(1); COMMIT;").unwrap(), "3\n1");
}

/// A limit of processor time holds for the transaction, not for each process that works at it: there is one.
#[test]
fn processor_time_is_not_multiplied_by_workers() {
    let database = database(server(), "workers");
    let _patience = patience("workers");
    let mut session = database.session("postgres").unwrap();
    let settings =
        "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
        SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off;
        CREATE TABLE numbers AS SELECT i FROM generate_series(1, 1000) i; ANALYZE numbers;
        PREPARE p AS SELECT count(spin(i * 0 + 20000)) FROM numbers;";
    session.run(settings).unwrap();
    assert_eq!(session.run("EXECUTE p").unwrap(), "1000");
    let plan = session.run("EXPLAIN EXECUTE p").unwrap();
    assert!(plan.contains("Workers Planned: 2"), "{plan}");
    let said = session.run("BEGIN; SET LOCAL lockgate.cpu_limit = '500ms'; EXPLAIN EXECUTE p;").unwrap();
    assert!(said.contains("Seq Scan") && !said.contains("Workers"), "{said}");
    // (Each alone takes a small part of the limit.)
    let statements =
        "DO $$ BEGIN FOR n IN 1..200 LOOP PERFORM count(spin(i * 0 + 20000)) FROM numbers; END LOOP; END $$";
    let said = session.run(statements).unwrap();
    assert!(said.contains("processor time"), "{said}");
    session.run("ROLLBACK").unwrap();
    let plan = session.run("EXPLAIN EXECUTE p").unwrap();
    assert!(plan.contains("Workers Planned: 2"), "{plan}");
}
