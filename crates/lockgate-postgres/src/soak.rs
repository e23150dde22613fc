//! Many sessions at once that do everything for a while: good calls, crashes, endless functions, cancels, ends of sessions.

use crate::{Database, Held, Installation, Server, Session, module, source};
use anyhow::{Context as _, ensure};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a run has done and found.
#[derive(Debug, Default)]
pub struct Soak {
    /// Rounds of good calls and of hostile ones.
    pub rounds: u64,
    /// Statements that were cancelled.
    pub cancels: u64,
    /// Sessions that were ended, and made anew.
    pub ended: u64,
    /// Answers that were not what they should be, each with what was asked.
    pub wrong: Vec<String>,
    /// Lines of the server's log about processes of its that crashed.
    pub crashes: Vec<String>,
    /// What the session that has grown most holds more at the end than after three tenths of the time.
    pub growth: Held,
}

/// Sessions at a time; the last two of them are ended now and then.
const SESSIONS: usize = 8;
const MORTAL: usize = 2;
const CANCELLED: &str = "canceling statement due to user request";
/// How long a process must not have changed to be at rest, and how long that may take.
const QUIET: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(60);
/// What marks statements that may be cancelled or have their session ended.
const ENDLESS: &str = "/* endless */";

const FUNCTIONS: &str = "
CREATE FUNCTION fine(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fine' STRICT;
CREATE FUNCTION fault(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fault' STRICT;
CREATE FUNCTION misuse(integer) RETURNS integer LANGUAGE lgc AS 'hostile.misuse' STRICT;
CREATE FUNCTION reach(integer) RETURNS integer LANGUAGE lgc AS 'hostile.reach' STRICT;
CREATE FUNCTION scribble(integer) RETURNS integer LANGUAGE lgc AS 'hostile.scribble' STRICT;
CREATE FUNCTION unmap(text) RETURNS integer LANGUAGE lgc AS 'hostile.unmap' STRICT;
CREATE FUNCTION forever(integer) RETURNS integer LANGUAGE lgc AS 'hostile.forever' STRICT;
CREATE FUNCTION failed(statement text) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 0;
EXCEPTION WHEN OTHERS THEN
    RETURN 1;
END $$;
CREATE TABLE done (session integer, i integer PRIMARY KEY, text text);
CREATE SEQUENCE numbers;";

/// What sessions do, in turns that differ between them, with the end of what they must say. `$S` is the session's number, `$R` the round's.
const WORK: &[(&str, &str)] = &[
    ("SELECT sum(fine(i)) FROM generate_series(1, 2000) i", "2003000"),
    ("SELECT sum(failed(format('SELECT fault(%s)', i))) FROM generate_series(0, 15) i; SELECT fine($R % 1000) - $R % 1000", "1"),
    ("SELECT sum(failed(format('SELECT misuse(%s)', i))) FROM generate_series(0, 13) i; SELECT fine(1)", "2"),
    ("SELECT count(reach(i)) FROM generate_series(0, 10) i; SELECT fine(2)", "3"),
    ("SELECT fault($R % 8); SELECT fine(3)", "4"),
    ("SELECT failed('SELECT scribble($R)'), fine(4)", "1|5"),
    ("SELECT unmap(repeat('x', 10 + $R % 20000)), fine(5)", "0|6"),
    (
        "BEGIN; INSERT INTO done VALUES ($S, nextval('numbers'), repeat('x', fine(3000))); SAVEPOINT before; SELECT fault(1); ROLLBACK TO before; COMMIT;
         SELECT fine(6)",
        "7",
    ),
    (
        "BEGIN; INSERT INTO done VALUES ($S, nextval('numbers'), 'never'); SELECT fault(0); COMMIT; SELECT count(*) FROM done WHERE text = 'never'",
        "0",
    ),
    ("SET statement_timeout = 20; SELECT forever($R % 6); RESET statement_timeout; SELECT fine(7)", "8"),
    ("SELECT forever($R % 6) /* endless */; SELECT fine(8)", "9"),
    ("DISCARD ALL; SELECT fine(9)", "10"),
];

/// Lasts this long, on a server of its own; fails if a page or an index is damaged afterwards.
///
/// # Errors
/// The server cannot be reached any more; `pg_amcheck` or `pg_checksums` find something.
pub fn soak(installation: &Installation, lasting: Duration) -> anyhow::Result<Soak> {
    let mut server = Server::start(installation, "")?;
    let found = {
        let database = server.database("soak")?;
        database.install("hostile", &module(&source("hostile"), installation.folder())?)?;
        database.run(&database.user(), FUNCTIONS)?;
        let crowd = Crowd::default();
        let (database, crowd) = (&database, &crowd);
        let lived = std::thread::scope(|scope| -> anyhow::Result<()> {
            let live = |number| scope.spawn(move || live(database, number, lasting, crowd));
            let sessions: Vec<_> = (0..SESSIONS).map(live).collect();
            let disturber = scope.spawn(|| disturb(database, crowd));
            let ends: Vec<_> = sessions.into_iter().map(|session| session.join()).collect();
            crowd.over.store(true, Ordering::Relaxed);
            let disturbed = disturber.join();
            for end in ends.into_iter().chain([disturbed]) {
                end.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(())
        });
        lived.with_context(|| format!("the server's log: {}", server.log()))?;
        database.check()?;
        std::mem::take(&mut *lock(&crowd.found))
    };
    server.stop("INT")?.context("the server does not stop")?;
    server.checksums()?;
    let is_crash = |line: &&str| line.contains("was terminated by signal") || line.contains("PANIC");
    let crashes = server.log().lines().filter(is_crash).map(str::to_owned).collect();
    Ok(Soak { crashes, ..found })
}

/// What the sessions share.
#[derive(Default)]
struct Crowd {
    found: Mutex<Soak>,
    /// Processes of sessions that may be ended.
    mortal: Mutex<Vec<String>>,
    over: AtomicBool,
}

/// One session after the other, until the time is over.
fn live(database: &Database<'_>, number: usize, lasting: Duration, crowd: &Crowd) -> anyhow::Result<()> {
    let is_mortal = number >= SESSIONS - MORTAL;
    let connect = || -> anyhow::Result<(Session, String)> {
        let mut session = database.session(&database.user())?;
        let process = session.run("SELECT pg_backend_pid()")?;
        if is_mortal {
            lock(&crowd.mortal).push(process.clone());
        }
        Ok((session, process))
    };
    let (mut session, mut process) = connect()?;
    // Each begins at another place of the list.
    let mut round = number as u64;
    let mut own = Soak::default();
    let mut before: Option<Held> = None;
    let begun = Instant::now();
    while begun.elapsed() < lasting {
        let (sql, end) = WORK[(round % WORK.len() as u64) as usize];
        let sql = sql.replace("$S", &number.to_string()).replace("$R", &round.to_string());
        match session.run(&sql) {
            Ok(said) => {
                own.cancels += u64::from(said.contains(CANCELLED));
                let last = said.lines().last().unwrap_or_default();
                // A cancel may come after its statement has ended by the one before.
                if last != end && !last.contains(CANCELLED) && own.wrong.len() < 10 {
                    own.wrong.push(format!("{sql}: {said}"));
                }
            }
            Err(error) => {
                let told = format!("{error:#}");
                // (One that was ended between two statements may find the connection closed. Processes that crash are counted in the end.)
                let was_ended = ["due to administrator command", "server closed the connection"]
                    .iter()
                    .any(|how| told.contains(how));
                ensure!(is_mortal && was_ended, "{sql}: {told}");
                own.ended += 1;
                (session, process) = connect()?;
            }
        }
        round += 1;
        let is_warm = begun.elapsed() > lasting * 3 / 10;
        if !is_mortal && is_warm && before.is_none() {
            before = Some(rest(&mut session, &process)?);
        }
    }
    if let Some(before) = before {
        own.growth = rest(&mut session, &process)?.since(before);
    }
    let mut found = lock(&crowd.found);
    found.rounds += round - number as u64;
    found.cancels += own.cancels;
    found.ended += own.ended;
    found.wrong.append(&mut own.wrong);
    found.growth = found.growth.most(own.growth);
    Ok(())
}

/// What a server process holds: memory without the server's shared buffers, and no files of tables, which are opened and closed as they
/// are needed.
fn held_by(process: &str) -> anyhow::Result<Held> {
    let is_of_tables = |path: &Path| path.components().any(|part| part.as_os_str() == "data");
    Held::of(process, "RssAnon", |path| !is_of_tables(path))
}

/// What the session's process holds when it does nothing: when that has not changed for a while, because the memory of domains that were given up goes a
/// little later.
fn rest(session: &mut Session, process: &str) -> anyhow::Result<Held> {
    session.run("DISCARD ALL")?;
    let begun = Instant::now();
    let (mut held, mut since) = (held_by(process)?, begun);
    while since.elapsed() < QUIET && begun.elapsed() < TIMEOUT {
        std::thread::sleep(QUIET / 20);
        let now = held_by(process)?;
        if now != held {
            (held, since) = (now, Instant::now());
        }
    }
    Ok(held)
}

/// Cancels endless statements, or, now and then, ends their sessions if these are mortal, until it is over.
fn disturb(database: &Database<'_>, crowd: &Crowd) -> anyhow::Result<()> {
    let mut session = database.session("postgres")?;
    let mut times = 0_u64;
    while !crowd.over.load(Ordering::Relaxed) {
        // (A pause, so that it leaves the others some of the processor.)
        let running = session.run(&format!(
            "SELECT pg_sleep(0.02); SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%{ENDLESS}%' AND pid <> pg_backend_pid()"
        ))?;
        for process in running.lines().filter(|line| !line.is_empty()) {
            times += 1;
            let ends = times.is_multiple_of(5) && lock(&crowd.mortal).iter().any(|mortal| mortal == process);
            let how = if ends { "terminate" } else { "cancel" };
            session.run(&format!("SELECT pg_{how}_backend({process})"))?;
        }
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
