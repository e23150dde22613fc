//! What `make postgres-demo` shows: an ordinary role with a module of its own, a hostile module whose attacks fail, and a table of times.
#![forbid(unsafe_code)]

use anyhow::Context as _;
use lockgate_postgres::{Database, Installation, Server, module, root};
use std::process::{Command, ExitCode};

/// What the ordinary role does with `examples/postgres/geo.c`.
const GOOD: &str = "
CREATE FUNCTION area(polygon) RETURNS double precision LANGUAGE lgc AS 'geo.poly_area' IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION whole_bounds(polygon) RETURNS box LANGUAGE lgc AS 'geo.whole_bounds' IMMUTABLE STRICT PARALLEL SAFE;
SELECT area(polygon '((0,0),(4,0),(4,3),(0,3))'), whole_bounds(polygon '((0.5,0.5),(3.2,1),(2,2.9))');
SELECT count(*), round(sum(area(polygon(12, circle(point(i, i), 1))))::numeric, 3) AS area FROM generate_series(1, 100000) i;
CREATE FUNCTION area(box) RETURNS double precision LANGUAGE lgc AS 'geo.poly_area';";

/// What it does with `examples/postgres/hostile.c`.
const HOSTILE: &str = "
SET statement_timeout = '500ms';
CREATE FUNCTION wild_write(bigint) RETURNS integer LANGUAGE lgc AS 'hostile.wild_write';
CREATE FUNCTION no_end(integer) RETURNS integer LANGUAGE lgc AS 'hostile.no_end';
CREATE FUNCTION recursion(integer) RETURNS integer LANGUAGE lgc AS 'hostile.recursion';
CREATE FUNCTION quit(integer) RETURNS integer LANGUAGE lgc AS 'hostile.quit';
CREATE FUNCTION all_memory(integer) RETURNS integer LANGUAGE lgc AS 'hostile.all_memory';
CREATE FUNCTION steal(integer) RETURNS integer LANGUAGE lgc AS 'hostile.steal';
CREATE FUNCTION stop_server(integer) RETURNS integer LANGUAGE lgc AS 'hostile.stop_server';
CREATE FUNCTION forged_text(integer) RETURNS text LANGUAGE lgc AS 'hostile.forged_text';
SELECT wild_write(8);
SELECT no_end(0);
SELECT recursion(0);
SELECT quit(0);
SELECT all_memory(1);
SELECT steal(0) AS \"-2: nothing was opened\";
SELECT stop_server(0);
SELECT forged_text(0);
SELECT area(polygon '((0,0),(4,0),(4,3),(0,3))') AS \"the server is well\";";

fn main() -> ExitCode {
    match show() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("The demo failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn show() -> anyhow::Result<()> {
    let installation = Installation::new()?;
    let mut server = Server::start(&installation, "")?;
    println!("{} with the extension, on a private server.", installation.version());
    {
        let database = server.database("demo")?;
        let user = database.user();
        // The owner of the database lets the role install modules; a file of the server would take another right.
        database.run("demo", &format!("GRANT EXECUTE ON FUNCTION lockgate.install_module TO {user}"))?;
        database.run(
            "postgres",
            &format!("GRANT EXECUTE ON FUNCTION pg_read_binary_file(text) TO {user}; GRANT pg_read_server_files TO {user}"),
        )?;
        heading(1, &format!("Role {user}, who owns nothing, installs a module and makes functions of it"));
        script(&database, &(install(&installation, "geo")? + GOOD))?;
        heading(2, "A module that means harm");
        script(&database, &(install(&installation, "hostile")? + HOSTILE))?;
        database.check()?;
    }
    server.stop("INT")?.context("the server does not stop")?;
    server.checksums()?;
    println!("pg_amcheck and pg_checksums find nothing wrong.");
    heading(3, "What it costs");
    drop(server);
    let program = std::env::current_exe()?;
    let mut bench = Command::new(program.parent().context("a folder")?.join("lockgate-bench"));
    let done = bench
        .args(["postgres", "--quick"])
        .status()
        .context("cannot start lockgate-bench: `make benches` first")?;
    anyhow::ensure!(done.success(), "lockgate-bench postgres failed");
    Ok(())
}

/// Builds a module of `examples/postgres`; the statement that installs it.
fn install(installation: &Installation, name: &str) -> anyhow::Result<String> {
    let source = root().join("examples/postgres").join(name).with_extension("c");
    let file = module(&source, installation.folder())?;
    println!("$ lockgate cc -g -O2 --for postgres {name}.c -o {name}.lg");
    Ok(format!("SELECT lockgate.install_module('{name}', pg_read_binary_file('{}'));", file.display()))
}

fn heading(number: u32, text: &str) {
    println!("\n{number}. {text}\n");
}

/// Runs statements as the ordinary role, and shows them, and what comes of them.
fn script(database: &Database<'_>, sql: &str) -> anyhow::Result<()> {
    let mut session = database.session(&database.user())?;
    for statement in sql.split_inclusive(';').map(str::trim).filter(|statement| !statement.is_empty()) {
        println!("=> {statement}");
        let said = session.run(statement)?;
        if !said.is_empty() {
            println!("{said}");
        }
    }
    Ok(())
}
