//! Modules are rows of a table: dumps hold them, replicas have them.

mod common;

use common::{changed_types, installation, modules, server};
use lockgate_postgres::{Server, Session, done};
use std::time::{Duration, Instant};

const FUNCTIONS: &str = "
    CREATE FUNCTION fine(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fine' STRICT IMMUTABLE;
    CREATE FUNCTION ticks() RETURNS integer LANGUAGE lgc AS 'types.counted';
    CREATE TABLE kept AS SELECT fine(41) AS i; CREATE INDEX ON kept (fine(i));";

/// Anybody can have states in a table: he is not to keep others from dumping the database.
const STATES: &str = "
    CREATE FUNCTION deviation_step(lockgate.state, double precision) RETURNS lockgate.state LANGUAGE lgc AS 'rows.deviation_step';
    CREATE AGGREGATE raw(double precision) (SFUNC = deviation_step, STYPE = lockgate.state);
    CREATE TABLE states AS SELECT raw(8) AS state UNION ALL SELECT NULL;";

/// What pg_dump writes restores: functions come before the modules that they need. The database's owner can do both; no superuser is needed.
#[test]
fn dumps_hold_modules() {
    let database = server().database("dumped").unwrap();
    for name in ["hostile", "types", "rows"] {
        database.install(name, &modules().join(name).with_extension("lg")).unwrap();
    }
    database.run("dumped", FUNCTIONS).unwrap();
    database.run("dumped", STATES).unwrap();
    for role in ["postgres", "dumped"] {
        let client = |program: &str| {
            let mut command = database.server().client(program);
            command.env("PGUSER", role);
            command
        };
        let dump = done(client("pg_dump").args(["-d", "dumped"])).unwrap();
        let create = format!("CREATE DATABASE restored_by_{role} OWNER {role}");
        database.run("postgres", &create).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), dump).unwrap();
        let into = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &format!("restored_by_{role}")];
        done(client("psql").args(into).arg("-f").arg(file.path())).unwrap();
        let ask =
            "SELECT fine(i), (SELECT string_agg(name, ' ' ORDER BY name) FROM lockgate.modules) FROM kept";
        let answer = done(client("psql").args(into).arg("-c").arg(ask)).unwrap();
        assert_eq!(answer.trim(), "43|hostile rows types", "{role}");
        let ask = "SELECT state IS NULL, state FROM states ORDER BY 1";
        let answer = done(client("psql").args(into).arg("-c").arg(ask)).unwrap();
        assert_eq!(answer.trim(), "f|(state)\nt|", "{role}");
    }
}

/// Asks until the answer is `wanted`.
fn wait_for(session: &mut Session, ask: &str, wanted: &str) {
    let begun = Instant::now();
    loop {
        let said = session.run(ask).unwrap();
        if said == wanted {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "{ask}: {said}");
    }
}

/// A standby calls modules, and hears of new ones in the middle of a session.
#[test]
fn standbys_call_modules() {
    let database = server().database("copied").unwrap();
    for name in ["hostile", "types"] {
        database.install(name, &modules().join(name).with_extension("lg")).unwrap();
    }
    database.run("copied", FUNCTIONS).unwrap();
    let standby = Server::standby(installation(), server()).unwrap();
    let database = server().existing("copied");
    let copy = standby.existing("copied");
    let mut session = copy.session("copied").unwrap();
    assert_eq!(session.run("SELECT fine(i), ticks() FROM kept").unwrap(), "43|0");
    let said = session.run("SELECT lockgate.drop_module('types')").unwrap();
    assert!(said.contains("cannot execute lockgate.drop_module() in a read-only transaction"), "{said}");
    database.install("types", changed_types()).unwrap();
    wait_for(&mut session, "SELECT ticks()", "1000");
}

/// So does a subscriber of logical replication, where the server itself writes the table.
#[test]
fn subscribers_call_modules() {
    let server = Server::start(installation(), "wal_level = logical\n").unwrap();
    let publisher = server.database("publisher").unwrap();
    let subscriber = server.database("subscriber").unwrap();
    publisher.run("postgres", "CREATE PUBLICATION modules FOR TABLE lockgate.module").unwrap();
    publisher.run("postgres", "SELECT pg_create_logical_replication_slot('modules', 'pgoutput')").unwrap();
    let subscribe = format!(
        "CREATE SUBSCRIPTION modules CONNECTION 'host={} dbname=publisher user=postgres' PUBLICATION modules
            WITH (create_slot = false, copy_data = false)",
        server.socket().display()
    );
    subscriber.run("postgres", &subscribe).unwrap();
    publisher.install("types", &modules().join("types.lg")).unwrap();
    let mut session = subscriber.session("subscriber").unwrap();
    wait_for(&mut session, "SELECT count(*) FROM lockgate.modules", "1");
    session.run("CREATE FUNCTION ticks() RETURNS integer LANGUAGE lgc AS 'types.counted'").unwrap();
    assert_eq!(session.run("SELECT ticks()").unwrap(), "0");
    publisher.install("types", changed_types()).unwrap();
    wait_for(&mut session, "SELECT ticks()", "1000");
    subscriber.run("postgres", "ALTER SUBSCRIPTION modules DISABLE").unwrap();
}
