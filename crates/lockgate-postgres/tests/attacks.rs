//! The attack suite (tests/attacks), let loose on a server by a role without rights: every module of it is installed; those that are accepted are
//! called; after each the same session, which has PL/Perl and PL/Python loaded where the machine has them, answers, and at the end no page of the
//! server's data is damaged.

use crate::common::installation;
use attacks::build::foreign_file;
use attacks::expect::{By, Expect};
use attacks::list::{self, Aim, Argument, Attack, Source};
use lockgate_postgres::{Database, Server, Session};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the functions of the suite take: words.
const WORDS: usize = 6;

/// An attacker: a session, and what it knows of its server process.
struct Attacker<'a> {
    session: Session,
    process: String,
    /// Loads languages that have handlers of their own behind the session's first call: Perl, and Python with its `faulthandler`; nothing if there
    /// are none.
    load: &'a str,
    aims: BTreeMap<&'static str, u64>,
}

impl<'a> Attacker<'a> {
    fn new(database: &Database<'_>, load: &'a str) -> Attacker<'a> {
        let mut session = database.session(&database.user()).unwrap();
        let process = session.run("SELECT pg_backend_pid()").unwrap();
        // More than an attacker would know: where the server process has its heap, and its code.
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
        let start = |what: &str| {
            let line = maps.lines().find(|line| line.contains(what)).unwrap();
            u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()
        };
        let aims = BTreeMap::from([("data", start("[heap]")), ("code", start(" r-xp "))]);
        Attacker { session, process, load, aims }
    }

    /// The word that an argument stands for here.
    fn word(&self, argument: Option<&Argument>) -> i64 {
        match argument {
            None => 0,
            Some(Argument::Number(number)) => *number,
            Some(Argument::Aim(Aim::Code)) => self.aims["code"] as i64,
            // Memory in the lower half of an address that modules have, and the server's upper half.
            Some(Argument::Aim(Aim::Lucky | Aim::Own)) => {
                (self.aims["data"] & !0xffff_ffff | 0x4000_0000) as i64
            }
            Some(Argument::Aim(_)) => self.aims["data"] as i64 + 4096,
        }
    }

    /// Installs the attack's module, calls it, and removes it; what the server says to each. `None`: no module comes of it.
    fn attempt(&mut self, attack: &Attack, folder: &Path) -> Option<String> {
        let about = &attack.description;
        let name = format!("{}-{}", attack.area, attack.name);
        let function = &about.call.function;
        let prototype = format!("int64_t {function}({})", ["int64_t"; WORDS].join(", "));
        // (Scenarios have functions of other types: they are installed, not called.)
        let is_called = about.scenario.is_none();
        let image = foreign_file(attack, is_called.then_some(prototype.as_str())).unwrap().ok()?;
        let file = folder.join(&name);
        fs::write(&file, image).unwrap();
        let install =
            format!("SELECT lockgate.install_module('{name}', pg_read_binary_file('{}'));", file.display());
        let mut said = self.session.run(&install).unwrap();
        fs::remove_file(&file).unwrap();
        if said.is_empty() && is_called {
            let words: Vec<String> =
                (0..WORDS).map(|i| format!("'{}'", self.word(about.call.arguments.get(i)))).collect();
            let calls = format!(
                "CREATE FUNCTION pg_temp.attack({}) RETURNS bigint LANGUAGE lgc AS '{name}.{function}' STRICT;
                SET statement_timeout = {}; SELECT pg_temp.attack({}); RESET statement_timeout;",
                ["bigint"; WORDS].join(", "),
                about.call.time_limit,
                words.join(", ")
            );
            said += &self.session.run(&calls).unwrap();
        }
        let loaded = self.session.run(self.load).unwrap();
        assert!(!loaded.contains("ERROR"), "{loaded}");
        let goodbye = format!("DISCARD ALL; SELECT lockgate.drop_module('{name}');");
        self.session.run(&goodbye).unwrap();
        let answer =
            self.session.run("SELECT pg_backend_pid(), sum(i) FROM generate_series(1, 10) i").unwrap();
        assert_eq!(answer, format!("{}|55", self.process), "{}: {said}", attack.title());
        Some(said)
    }
}

/// What is wrong with how it ended here.
fn wrong(attack: &Attack, said: &str) -> Option<String> {
    let about = &attack.description;
    let failed = said.contains("ERROR:");
    let aimed = about.call.arguments.iter().any(|argument| matches!(argument, Argument::Aim(_)));
    // Modules that are written byte by byte have no prototypes.
    let unknown = attack.source == Some(Source::File) && said.contains("does not say what types attack has");
    let is_right = match &about.expect {
        Expect::Rejected { by: By::Loader | By::Verifier, reason, .. } => {
            said.contains("is refused") && said.contains(reason)
        }
        Expect::Rejected { .. } => failed,
        // By functions of the library that the server does not call.
        Expect::Refused { .. } => true,
        _ if about.scenario.is_some() => said.is_empty() || said.contains("which the server does not offer"),
        _ if unknown => true,
        Expect::Fault { .. } if aimed => true,
        Expect::Fault { reason, .. } => failed && reason.as_ref().is_none_or(|reason| said.contains(reason)),
        Expect::Returns { value: Some(value) } if !aimed => said == value.to_string(),
        Expect::Returns { .. } => !failed || aimed,
    };
    (!is_right).then(|| format!("{}: expected {}: {said}", attack.title(), about.expect))
}

#[test]
fn the_attack_suite_harms_no_server() {
    let mut server = Server::start(installation(), "").unwrap();
    let folder = tempfile::Builder::new().prefix("attacks-").tempdir_in(installation().folder()).unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    {
        let database = server.database("attacked").unwrap();
        let rights = "GRANT EXECUTE ON FUNCTION lockgate.install_module, lockgate.drop_module, pg_read_binary_file(text) TO attacked_user;
            GRANT pg_read_server_files TO attacked_user;";
        database.run("postgres", rights).unwrap();
        let mut load = "SELECT;".to_owned();
        if crate::handlers::has("plperl") {
            database.run("postgres", "CREATE EXTENSION plperl").unwrap();
            load += "DO $$ my $x = 1; $$ LANGUAGE plperl;";
        }
        if crate::handlers::has("plpython3u") {
            // (Who may not use the language may call what is written in it.)
            let python = "CREATE EXTENSION plpython3u;
                CREATE FUNCTION load_python() RETURNS boolean LANGUAGE plpython3u SECURITY DEFINER
                AS 'import faulthandler; faulthandler.enable(); return faulthandler.is_enabled()';";
            database.run("postgres", python).unwrap();
            load += "DO $$ BEGIN ASSERT load_python(); END $$;";
        }
        let attacks = list::read(&list::suite()).unwrap();
        let part = support::Part::one_in(3, "attacks on a server");
        let next = AtomicUsize::new(0);
        let ends = Mutex::new((0, Vec::new()));
        let work = || {
            let mut attacker = Attacker::new(&database, &load);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(attack) = attacks.get(number) else { break };
                if attack.source.is_none() || !part.has(number) {
                    continue;
                }
                if let Some(said) = attacker.attempt(attack, folder.path()) {
                    let mut ends = ends.lock().unwrap();
                    ends.0 += 1;
                    ends.1.extend(wrong(attack, &said));
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(work);
            }
        });
        let (tried, wrong) = ends.into_inner().unwrap();
        assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
        let least = if support::thorough() { 350 } else { 100 };
        assert!(tried > least, "only {tried} modules came of the suite");
        database.check().unwrap();
    }
    server.stop("INT").unwrap().expect("it stops");
    server.checksums().unwrap();
    let log = server.log();
    assert!(!log.contains("was terminated by signal"), "{log}");
}
