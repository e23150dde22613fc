//! Modules are rows of a table: dumps hold them, replicas have them.

use crate::common::{changed_types, installation, modules, server};
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

/// A dump whose modules' owners are missing where it is restored, or were dropped before, has all modules: they go to the role that restores it, never
/// to another one.
#[test]
fn dumps_have_owners_by_name() {
    let database = server().database("owners").unwrap();
    let file = modules().join("types.lg");
    let install = |name: &str| {
        format!("SELECT lockgate.install_module('{name}', pg_read_binary_file('{}'))", file.display())
    };
    let roles = "GRANT EXECUTE ON FUNCTION lockgate.install_module TO PUBLIC;
        CREATE ROLE \"goes First\" SUPERUSER LOGIN; CREATE ROLE goes_later SUPERUSER LOGIN;";
    database.run("postgres", roles).unwrap();
    database.run("owners", "SELECT 1").unwrap();
    database.run("postgres", &install("of_postgres")).unwrap();
    database.run("goes First", &install("of_one")).unwrap();
    database.run("goes_later", &install("of_two")).unwrap();
    database.run("postgres", "DROP ROLE \"goes First\"").unwrap();
    let dump = done(server().client("pg_dump").args(["-d", "owners", "--no-owner"])).unwrap();
    database.run("postgres", "ALTER ROLE goes_later RENAME TO elsewhere; CREATE ROLE \"-\" LOGIN").unwrap();
    database.run("postgres", "CREATE DATABASE restored_owners").unwrap();
    let dumped = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(dumped.path(), dump).unwrap();
    let psql = || {
        let mut psql = server().client("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "restored_owners"]);
        psql
    };
    done(psql().arg("-f").arg(dumped.path())).unwrap();
    let owners = "SELECT string_agg(name || ' ' || owner, ', ' ORDER BY name) FROM lockgate.modules";
    let said = done(psql().arg("-c").arg(owners)).unwrap();
    assert_eq!(said.trim(), "of_one postgres, of_postgres postgres, of_two postgres");
    // Where they are, they stay: a role may have any name.
    let said = database.run("postgres", "SELECT owner FROM lockgate.module WHERE name = 'of_two'").unwrap();
    assert_eq!(said.trim(), "elsewhere");
    let round = "SELECT lockgate.owner_in(lockgate.owner_out(owner))::oid = owner::oid FROM lockgate.module WHERE name = 'of_two'";
    assert_eq!(database.run("postgres", round).unwrap().trim(), "t");
}

/// A schema of that name which is there already, and may be any role's, is not taken over.
#[test]
fn a_schema_that_is_there_is_refused() {
    let server = server();
    let admin = server.existing("postgres");
    admin.run("postgres", "CREATE ROLE squatter LOGIN").unwrap();
    admin.run("postgres", "CREATE DATABASE squatted").unwrap();
    let database = server.existing("squatted");
    database.run("postgres", "GRANT CREATE ON DATABASE squatted TO squatter").unwrap();
    database.run("squatter", "CREATE SCHEMA lockgate").unwrap();
    let said = database.run("postgres", "CREATE EXTENSION lockgate").unwrap_err().to_string();
    assert!(said.contains("schema \"lockgate\" already exists"), "{said}");
    database.run("squatter", "DROP SCHEMA lockgate").unwrap();
    database.run("postgres", "CREATE EXTENSION lockgate").unwrap();
    // It is the superuser's, whoever may make schemas.
    let said = database.run("squatter", "ALTER SCHEMA lockgate RENAME TO hidden").unwrap_err().to_string();
    assert!(said.contains("must be owner of schema lockgate"), "{said}");
    let said = database.run("squatter", "CREATE TABLE lockgate.mine ()").unwrap_err().to_string();
    assert!(said.contains("permission denied for schema lockgate"), "{said}");
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
