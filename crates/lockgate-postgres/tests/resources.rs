//! What a session takes of the server's: descriptors, memory, time. PostgreSQL keeps books of its descriptors, and a commit that gets none is a PANIC.

use crate::common::{built, installation, server, watchdog};
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
    // Many spans of the same bytes: what comes of them is larger than what the domain has.
    static char big[1 << 20];
    static lg_pg_text spans[1000];
    static lg_pg_texts filled(size_t size) {
        for (size_t i = 0; i < sizeof big; i++)
            big[i] = 'a';
        for (int i = 0; i < 1000; i++)
            spans[i] = (lg_pg_text){big, size};
        return (lg_pg_texts){spans, 1000};
    }
    lg_pg_texts many(int32_t size) { return filled(size); }
    struct four { lg_pg_row row; lg_pg_texts texts[4]; };
    static struct four four;
    const lg_pg_row *four_of(int32_t size) {
        for (int i = 0; i < 4; i++)
            four.texts[i] = filled(size);
        return &four.row;
    }
    void emit_four(int32_t size, int32_t times) {
        four_of(size);
        for (int32_t i = 0; i < times; i++)
            lg_pg_emit(&four, sizeof four);
    }
    int32_t parameters(int32_t size, int32_t count) {
        filled(size);
        return lg_pg_query("SELECT 1", spans, count);
    }
    lg_pg_text same(lg_pg_text text) { return text; }
    int32_t size_of(lg_pg_text text) { return text.size; }
    int32_t parse(int32_t x) {
        if (x % 5 == 0)
            lg_pg_error("22023", "no multiples of five: %d", x);
        return x;
    }
    int32_t crash(int32_t x) { return x % 5 ? x : *(volatile int32_t *)0; }
    int32_t calls(int32_t more) { static int32_t calls; return calls += more; }
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
    CREATE TYPE four AS (a text[], b text[], c text[], d text[]);
    CREATE FUNCTION many(integer) RETURNS text[] LANGUAGE lgc AS 'greedy.many';
    CREATE FUNCTION four_of(integer) RETURNS four LANGUAGE lgc AS 'greedy.four_of';
    CREATE FUNCTION emit_four(integer, integer) RETURNS SETOF four LANGUAGE lgc AS 'greedy.emit_four';
    CREATE FUNCTION parameters(integer, integer) RETURNS integer LANGUAGE lgc AS 'greedy.parameters';
    CREATE FUNCTION size_of(text) RETURNS integer LANGUAGE lgc AS 'greedy.size_of';
    CREATE FUNCTION same(text) RETURNS text LANGUAGE lgc AS 'greedy.same';
    CREATE FUNCTION parse(integer) RETURNS integer LANGUAGE lgc AS 'greedy.parse';
    CREATE FUNCTION calls(integer) RETURNS integer LANGUAGE lgc AS 'greedy.calls';
    CREATE FUNCTION crash(integer) RETURNS integer LANGUAGE lgc AS 'greedy.crash';
    CREATE FUNCTION safe(name text, x integer) RETURNS integer LANGUAGE plpgsql AS $$ DECLARE n integer; BEGIN
        EXECUTE format('SELECT %I($1)', name) INTO n USING x;
        RETURN n;
    EXCEPTION WHEN OTHERS THEN RETURN 0; END $$;
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
    let _watchdog = watchdog("gates");
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

/// The state of a cursor's aggregate is in the domain of the role that began it: another role's fetch is an error that says so, for which no domain is
/// given up.
#[test]
fn a_cursor_goes_on_for_the_role_that_began_it() {
    let database = database(server(), "cursor_roles");
    let mut session = database.session("postgres").unwrap();
    let (user, owner) = (database.user(), "cursor_roles");
    for role in [&user, owner] {
        let said = session.run(&format!("SET ROLE {role}; SELECT calls(1);")).unwrap();
        assert_eq!(said, "1", "{role}");
    }
    let cursor = format!(
        "BEGIN; SET LOCAL ROLE {user};
        DECLARE c CURSOR FOR SELECT counted(x) OVER (ORDER BY x) FROM generate_series(1, 3) x; FETCH 1 FROM c;"
    );
    assert_eq!(session.run(&cursor).unwrap(), "1");
    let said = session.run(&format!("SET LOCAL ROLE {owner}; FETCH 1 FROM c;")).unwrap();
    let expected = format!("was begun for role {user} and cannot go on for role {owner}");
    assert!(said.contains(&expected) && said.contains("HINT:  Fetch from a cursor as the role"), "{said}");
    session.run("ROLLBACK").unwrap();
    for role in [&user, owner] {
        let said = session.run(&format!("SET ROLE {role}; SELECT calls(1);")).unwrap();
        assert_eq!(said, "2", "{role}");
    }
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

/// A CPU time limit holds for the transaction, not for each process that works at it: there is one.
#[test]
fn processor_time_is_not_multiplied_by_workers() {
    let database = database(server(), "workers");
    let _watchdog = watchdog("workers");
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
    assert!(said.contains("CPU time"), "{said}");
    session.run("ROLLBACK").unwrap();
    let plan = session.run("EXPLAIN EXECUTE p").unwrap();
    assert!(plan.contains("Workers Planned: 2"), "{plan}");
}

/// A value is taken as large as the server allows it, though all arguments of a process have no more room than that.
#[test]
fn values_of_a_gigabyte_are_taken() {
    let database = database(server(), "gigabyte");
    let _watchdog = watchdog("gigabyte");
    let (mut session, _) = session(&database);
    for size in [600_000_000, 1_000_000_000, 1 << 29] {
        assert_eq!(session.run(&format!("SELECT size_of(repeat('x', {size}))")).unwrap(), size.to_string());
    }
}

/// What the server copies out of a domain is bounded as the domain's memory is, though the domain may say the same bytes a thousand times.
#[test]
fn what_functions_return_has_a_limit() {
    let database = database(server(), "returned");
    let _watchdog = watchdog("returned");
    let (mut session, id) = session(&database);
    let fits = "SELECT cardinality(many(30000)), cardinality((four_of(8000)).d), parameters(100000, 100);";
    assert_eq!(session.run(fits).unwrap(), "1000|1000|1");
    // (Rows of a set leave memory as they come: all together may be larger.)
    assert_eq!(session.run("SELECT count(*), sum(length(a[1])) FROM emit_four(8000, 5)").unwrap(), "5|40000");
    // A result may point into arguments, whatever their size.
    assert_eq!(session.run("SELECT length(same(repeat('x', 100000000)))").unwrap(), "100000000");
    let (mut session, id_of_other) = self::session(&database);
    drop(id);
    session.run("SELECT parse(1)").unwrap();
    let before = most_memory(&id_of_other);
    for call in [
        "many(1000000)",
        "four_of(20000)",
        "four_of(1000000)",
        "emit_four(1000000, 1)",
        "parameters(1000000, 100)",
    ] {
        let said = session.run(&format!("SELECT {call}")).unwrap();
        assert!(
            said.contains("is larger than lockgate.memory_limit, 64 MB, and its arguments"),
            "{call}: {said}"
        );
    }
    let grown = most_memory(&id_of_other) - before;
    assert!(grown < 300_000, "{grown} kB more");
}

/// An error that a module raises, and a caller catches, leaves the module's states as they are; a crash loses them, and says so.
#[test]
fn errors_that_are_caught_keep_states() {
    let database = database(server(), "kept_states");
    let (mut session, _) = session(&database);
    let sum = |name: &str| format!("SELECT counted(safe('{name}', i)) FROM generate_series(1, 12) i");
    assert_eq!(session.run(&sum("parse")).unwrap(), "63");
    let said = session.run(&sum("crash")).unwrap();
    assert!(
        said.contains("the states of this aggregate are lost: module greedy crashed meanwhile"),
        "{said}"
    );
    // A cursor, and a savepoint in which a function fails.
    let cursor = "BEGIN; DECLARE c CURSOR FOR SELECT counted(x) OVER (ORDER BY x) FROM generate_series(1, 3) x; FETCH 1 FROM c; SAVEPOINT s;";
    assert_eq!(session.run(cursor).unwrap(), "1");
    assert!(session.run("SELECT parse(5)").unwrap().contains("no multiples of five: 5"));
    assert_eq!(session.run("ROLLBACK TO s; FETCH 1 FROM c; COMMIT;").unwrap(), "3");
}

/// What the server does with results counts as the module's time, and it can be cancelled meanwhile.
#[test]
fn taking_results_is_inside_the_limits() {
    let database = database(server(), "taking");
    let _watchdog = watchdog("taking");
    let mut session = database.session("postgres").unwrap();
    // Each call computes next to nothing, and returns as much as it may.
    let prepare = "SET lockgate.memory_limit = '1GB'; SELECT parse(1);";
    assert_eq!(session.run(prepare).unwrap(), "1");
    let many = |what: &str| {
        format!(
            "BEGIN; SET LOCAL lockgate.cpu_limit = '400ms'; SELECT count(x) FROM (SELECT {what} AS x FROM generate_series(1, 200) i OFFSET 0) s; COMMIT;"
        )
    };
    for what in ["many(i * 0 + 300000)", "four_of(i * 0 + 80000)", "parameters(i * 0 + 1000000, 100)"] {
        let said = session.run(&many(what)).unwrap();
        let expected = "module greedy has used up its CPU time limit in this transaction";
        assert!(said.contains(expected), "{what}: {said}");
    }
    session.run("SET statement_timeout = '300ms'").unwrap();
    for what in ["many(i * 0 + 1000000)", "parameters(i * 0 + 1000000, 100)"] {
        let begun = Instant::now();
        let said = session.run(&format!("SELECT count({what}) FROM generate_series(1, 2000) i")).unwrap();
        assert!(said.contains("statement timeout"), "{what}: {said}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}: {:?}", begun.elapsed());
    }
}

/// Indexes call functions while they hold locks of the server's: such calls end, too, and make no queries, which may wait for these locks.
#[test]
fn functions_of_indexes_can_be_stopped() {
    const RANGES: &str = r#"
        #include <lockgate_pg.h>
        double distance(double a, double b) {
            if (a > 776 && a < 780)
                for (volatile int x = 0;; x++)
                    ;
            if (a > 886 && a < 890)
                lg_pg_query("INSERT INTO ranges SELECT r FROM ranges LIMIT 1", NULL, 0);
            return a - b;
        }
    "#;
    let database = server().database("ranges").unwrap();
    let _watchdog = watchdog("ranges");
    database.install("ranges", &built("ranges", RANGES)).unwrap();
    let (mut session, id) = session(&database);
    let prepare = "CREATE FUNCTION distance(double precision, double precision) RETURNS double precision LANGUAGE lgc AS 'ranges.distance' IMMUTABLE STRICT;
        CREATE TYPE range AS RANGE (SUBTYPE = double precision, SUBTYPE_DIFF = distance);
        CREATE TABLE ranges (r range); CREATE INDEX ON ranges USING gist (r);
        INSERT INTO ranges SELECT range(i, i + 1) FROM generate_series(1, 700) i;";
    assert_eq!(session.run(prepare).unwrap(), "");
    session.run("SET statement_timeout = '300ms'").unwrap();
    let said = session.run("INSERT INTO ranges VALUES (range(777, 778))").unwrap();
    assert!(said.contains("canceling statement: function distance of module ranges was stopped"), "{said}");
    session.run("RESET statement_timeout").unwrap();
    let said = session.run("INSERT INTO ranges VALUES (range(888, 889))").unwrap();
    assert!(said.contains("lg_pg_query: the server calls this function while it holds locks"), "{said}");
    assert_eq!(
        session.run("INSERT INTO ranges VALUES (range(10, 11)); SELECT count(*) FROM ranges;").unwrap(),
        "701"
    );
    // So does a session that is ended.
    session.begin("INSERT INTO ranges VALUES (range(777, 778))").unwrap();
    let is_active = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = {id} AND query LIKE 'INSERT%' AND state = 'active'"
    );
    while database.run("postgres", &is_active).unwrap().trim() != "1" {}
    database.run("postgres", &format!("SELECT pg_terminate_backend({id})")).unwrap();
    let said = session.finish().unwrap_or_default();
    assert!(said.is_empty() || said.contains("function distance of module ranges was stopped"), "{said}");
    assert!(session.run("SELECT 1").is_err());
    database.check().unwrap();
}
