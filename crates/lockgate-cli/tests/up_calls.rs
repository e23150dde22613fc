//! Calls between programs of `lockgate up`: what the file says may be called is, while the other program runs, and nothing else.

use crate::common::text;
use crate::up::Site;
use lockgate::syscall::Grants;
use lockgate::{
    CallError, Domain, DomainOptions, Export, HostFunction, Module, Principal, Rebind, Request, Version,
};
use lockgate_programs::{Exported, Imported, Programs, Quiet, Spec};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

/// `tests/programs/calls.c` as a module, built once.
static CALLS: LazyLock<PathBuf> = LazyLock::new(|| {
    let module = support::shared_folder().join("calls.lg");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/calls.c");
    let exports =
        ["bump", "count", "crash", "leave", "back", "stay", "late"].map(|name| format!("long {name}(long)"));
    let mut cc = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    cc.args(["cc", "-w", "-g", "-O1", "-o"]).args([&module, &source]).args(["--gate", "long theirs(long)"]);
    for export in &exports {
        cc.args(["--export", export]);
    }
    let built = cc.args(["--export", "double other(double)"]).output().unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    module
});

/// Of programs, each with its arguments and what else stands below it.
fn site(programs: &[(&str, &str, &str)]) -> Site {
    let table = |(name, arguments, more): &(&str, &str, &str)| {
        format!("[programs.{name}]\nmodule = 'calls.lg'\narguments = [{arguments}]\n{more}\n")
    };
    let site = Site::of(&programs.iter().map(table).collect::<String>());
    fs::copy(&*CALLS, site.path("calls.lg")).unwrap();
    site
}

const STORE: (&str, &str, &str) = ("store", "'serves'", "exports = { bump = 'bump' }");

#[test]
fn a_program_calls_another_that_runs() {
    let client = "depends_on = ['store']\nimports = { theirs = 'store.bump' }";
    let site = site(&[
        STORE,
        ("one", "'calls', '2000'", client),
        ("two", "'calls', '2000'", client),
        ("late", "'tells'", client),
    ]);
    let mut up = site.up();
    up.until_all(&["one   | called", "two   | called", "late  | served"]);
    let ps = site.ask_of_all("ps", &["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&ps.stdout).unwrap();
    let processes = json["processes"].as_array().unwrap();
    let own = processes.iter().find(|process| process["pid"] == up.id()).expect("it is shown");
    let export = &own["exports"][0];
    assert_eq!(
        (export["name"].as_str(), export["server"].as_str()),
        (Some("store.bump"), Some("domain store"))
    );
    let clients = export["bindings"].as_array().unwrap();
    assert!(clients.iter().any(|binding| binding["client"] == "domain late as domain late"), "{clients:?}");
    up.term();
    let said = up.ends(0);
    assert!(!said.iter().any(|line| line.ends_with("wrong")), "{said:#?}");
}

/// Meanwhile calls fail as the file says; then they reach the new run.
#[test]
fn calls_outlast_a_restart_of_the_server() {
    let client = "depends_on = ['store']\nimports = { theirs = 'store.bump' }";
    let site = site(&[STORE, ("client", "'tells'", client)]);
    let mut up = site.up();
    for _ in 0..3 {
        up.until("client | served");
        assert!(site.ask("stop", &["store"]).status.success());
        up.until("client | refused");
        assert!(site.ask("restart", &["store"]).status.success());
    }
    up.until("client | served").term();
    let said = up.ends(0);
    assert!(!said.iter().any(|line| line.ends_with("wrong")), "{said:#?}");
}

/// What others can call is still there when a program has ended, but nothing of what that had open. Red if its sockets end with its domain.
#[test]
fn a_program_that_is_called_listens_again() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let more = format!(
        "exports = {{ bump = 'bump' }}\nlisten = ['127.0.0.1:{port}']\nrestart = 'always'\nrestart_delay = '1ms'\nrestart_delay_max = '1ms'"
    );
    let client = ("client", "'tells'", "depends_on = ['store']\nimports = { theirs = 'store.bump' }");
    let site = site(&[("store", &format!("'listens', '{port}'"), &more), client]);
    let mut up = site.up();
    for _ in 0..20 {
        up.until("listens");
    }
    up.term();
    let (_, said) = up.wait();
    assert!(!said.iter().any(|line| line.ends_with("cannot listen")), "{said:#?}");
}

/// A call that crashes, or ends, in the other program: that is the call's end.
#[test]
fn a_visitors_crash_is_its_own() {
    let store = "exports = { crash = 'crash', leave = 'leave', bump = 'bump' }";
    let client = |import: &str| format!("depends_on = ['store']\nimports = {{ theirs = {import} }}");
    let site = site(&[
        ("store", "'serves'", store),
        ("crash", "'once', '1'", &client("{ from = 'store.crash', on_failure = -7 }")),
        ("leave", "'once', '3'", &client("'store.leave'")),
        (
            "calls",
            "'calls', '10'",
            &(client("'store.bump'").replace("['store']", "['store', 'crash', 'leave']")),
        ),
        ("ends", "'once', '1'", &client("{ from = 'store.crash', on_failure = 'end' }")),
    ]);
    let mut up = site.up();
    up.until_all(&["crash | -7", "leave | -1", "calls | called"]);
    let is_the_end = |line: &String| line.contains("lockgate: ends:") && line.contains("store");
    while !up.said().iter().any(is_the_end) {
        up.until("");
    }
    up.term();
    up.wait();
}

/// A client that does not wait longer goes on, and so does what it has called, which ends in the server's time. Red if it is stopped: then the
/// server never says that it has worked.
#[test]
fn a_call_goes_on_without_its_caller() {
    let store = "exports = { late = 'late', stay = 'stay', bump = 'bump' }\ndetached_limit = '20s'";
    let client = |import: &str| format!("depends_on = ['store']\nimports = {{ theirs = {import} }}");
    let detached =
        client("{ from = 'store.late', on_failure = -7, time_limit = '20ms', on_expiry = 'detach' }");
    let stopped = client("{ from = 'store.stay', on_failure = -8, time_limit = '20ms' }");
    let site = site(&[
        ("store", "'serves'", store),
        ("detached", "'once', '200'", &detached),
        ("stopped", "'once', '0'", &stopped),
        ("calls", "'calls', '100'", &client("'store.bump'").replace("['store']", "['store', 'detached']")),
    ]);
    let mut up = site.up();
    up.until_all(&["detached | -7", "stopped  | -8", "store    | has worked", "calls    | called"]);
    up.term();
    up.ends(0);
}

/// A program that is asked to end does so in its time, and so does `lockgate up`, whatever the program that it has called does; that one goes on.
/// Red if what a killed program has called may go on for as long as it likes: then nothing here ends.
#[test]
fn a_program_ends_whatever_it_has_called() {
    let store = ("store", "'serves'", "exports = { bump = 'bump', stay = 'stay' }");
    let late = ("late", "'tells'", "depends_on = ['store']\nimports = { theirs = 'store.bump' }");
    let client = "depends_on = ['store']\nimports = { theirs = 'store.stay' }\nstop_timeout = '50ms'";
    std::thread::scope(|scope| {
        for how in ["0", "1", "2", "3"] {
            scope.spawn(move || {
                let site = site(&[store, ("client", &format!("'visits', '{how}'"), client), late]);
                let mut up = site.up();
                up.until("store  | stays");
                assert!(site.ask("stop", &["client"]).status.success());
                assert!(site.ask("restart", &["late"]).status.success());
                up.until("late   | served");
                assert!(site.ask("restart", &["client"]).status.success());
                up.until("store  | stays").term();
                let said = up.ends(137);
                assert!(
                    !said.iter().any(|line| line.ends_with("back") || line.ends_with("wrong")),
                    "{said:#?}"
                );
            });
        }
    });
}

#[test]
fn a_program_that_keeps_its_turn_is_waited_for_only_so_long() {
    let store = "exports = { count = 'count' }\nturn_timeout = '20ms'";
    let import = "depends_on = ['store']\nimports = { theirs = { from = 'store.count', on_failure = 77 } }";
    // (A call that comes while the program sleeps, before it keeps its turn, goes through: the client calls until one does not.)
    let site = site(&[("store", "'never'", store), ("client", "'until', '77'", import)]);
    let mut up = site.up();
    up.until("client | 77").term();
    up.ends(0);
}

/// Two that call each other: a call that would come back into a program in its own turn is refused. So may be one of two that wait for each other,
/// hence `other` calls until it is answered.
#[test]
fn two_programs_call_each_other() {
    let site = site(&[
        ("one", "'serves'", "exports = { bump = 'bump', back = 'back' }\nimports = { theirs = 'two.back' }"),
        ("two", "'serves'", "exports = { back = 'back' }\nimports = { theirs = 'one.bump' }"),
        ("client", "'once', '5'", "depends_on = ['one', 'two']\nimports = { theirs = 'one.back' }"),
        ("other", "'until', '1'", "depends_on = ['one', 'two']\nimports = { theirs = 'two.back' }"),
    ]);
    let mut up = site.up();
    up.until_all(&["client | -1", "other  | 1"]).term();
    up.ends(0);
}

/// A host binds what its programs export, before they run and while they do.
#[test]
fn the_host_calls_programs_that_run() {
    let mut programs = Programs::new();
    programs
        .add(spec("store", ["serves", ""]).export(Exported::new("bump")).export(Exported::new("count")))
        .unwrap();
    programs
        .add(
            spec("client", ["calls", "500"])
                .depends_on(["store"])
                .import(Imported::new("theirs", "store", "bump")),
        )
        .unwrap();
    let (handle, registry) = (programs.handle(), programs.registry());
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| programs.run(&Quiet).unwrap());
        let request = |name: &str| Request::newest(name).rebind(Rebind::Yes).wait(Duration::from_secs(60));
        let bind = |name: &str| {
            registry.bind::<extern "C" fn(i64) -> i64>(&Principal::process(), &request(name)).unwrap()
        };
        let (bump, count) = (bind("store.bump"), bind("store.count"));
        assert!(
            registry.bind::<extern "C" fn(i64) -> i64>(&Principal::nobody(), &request("store.bump")).is_err()
        );
        let served = || loop {
            match bump.call(3) {
                Ok(answer) => break answer,
                Err(CallError::NotBegun(_)) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(served(), 3);
        assert!(count.call(0).unwrap() > 0);
        handle.restart(vec!["store".to_owned()]).unwrap();
        assert_eq!(bump.call(4).unwrap(), 4, "it is ready: it takes calls");
        handle.close();
        runs.join().unwrap();
        assert!(matches!(bump.call(4).unwrap_err(), CallError::Revoked(_)));
    });
}

/// A program of the module that serves, or of one that calls.
fn spec(name: &str, arguments: [&str; 2]) -> Spec {
    let module = Module::open(&*CALLS).unwrap();
    let options = DomainOptions::new().arguments(["calls"].into_iter().chain(arguments));
    Spec::new(name, &module, options, Grants::default())
}

/// What the programs of these are refused for.
fn refused(specs: impl IntoIterator<Item = Spec>) -> String {
    let mut programs = Programs::new();
    specs.into_iter().for_each(|spec| programs.add(spec).unwrap());
    programs.check().unwrap_err().to_string()
}

/// An export that cannot be made takes those before it along: nobody finds half of a program.
#[test]
fn a_program_exports_all_or_nothing() {
    let mut programs = Programs::new();
    let store = spec("store", ["serves", ""]).export(Exported::new("bump")).export(Exported::new("count"));
    programs.add(store).unwrap();
    let registry = programs.registry();
    // The host has the second name already.
    let taken = Export::new("store.count", Version::new(1, 0));
    registry.export_host(HostFunction::new(|_: &Domain| {}), taken).unwrap();
    let ends = programs.run(&Quiet).unwrap();
    assert_eq!(ends.exit_status(), 125);
    let end = ends.programs()[0].end.as_ref().unwrap().to_string();
    assert!(end.contains("export count of store"), "{end}");
    assert_eq!(registry.names(), [("store.count".to_owned(), Version::new(1, 0))]);
}

/// Export c of program a.b would be export b.c of program a.
#[test]
fn names_of_exports_have_no_dots() {
    let error = refused([
        spec("a", ["serves", ""]).export(Exported::new("b.c").of("bump")),
        spec("a.b", ["serves", ""]).export(Exported::new("c").of("count")),
    ]);
    assert_eq!(error, "export b.c of a: the name of an export has no dots");
}

/// Who may import one version, may, whoever else has another.
#[test]
fn each_version_has_its_own_clients() {
    let bump = |major| Exported::new("bump").version(Version::new(major, 0));
    let specs = |version: Version| {
        let store =
            spec("store", ["serves", ""]).export(bump(1).to(["other"])).export(bump(2).to(["client"]));
        let import = Imported::new("theirs", "store", "bump").version(version);
        [store, spec("client", ["once", "1"]).import(import), spec("other", ["once", "1"])]
    };
    let mut programs = Programs::new();
    specs(Version::new(2, 0)).into_iter().for_each(|spec| programs.add(spec).unwrap());
    programs.check().unwrap();
    let error = refused(specs(Version::new(1, 0)));
    assert!(error.starts_with("import theirs of client: "), "{error}");
}

/// The program that cannot be made is named, and not the one that imports from it.
#[test]
fn a_program_that_cannot_be_made_is_the_one_that_is_named() {
    let module = Module::open(&*CALLS).unwrap();
    let options = DomainOptions::new().memory_limit(1);
    let store = Spec::new("store", &module, options, Grants::default()).export(Exported::new("bump"));
    let import = Imported::new("theirs", "store", "bump");
    let error = refused([spec("client", ["once", "1"]).import(import), store]);
    assert!(error.starts_with("store: "), "{error}");
}

/// What is imported and exported fits together, or nothing starts; each mistake has its line.
#[test]
fn mistakes_are_told_with_their_lines() {
    let cases = [
        ("exports = 3", 4, "exports: an integer instead of a table"),
        ("exports = { 'a b' = 'bump' }", 4, "\"a b\" is no name"),
        ("exports = { x = 3 }", 4, "a function's name, its prototype, or a table"),
        ("exports = { nothing = 'bumb' }", 4, "bump"),
        ("exports = { x = 'long bump(long, long)' }", 4, "bump"),
        ("exports = { x = { functio = 'bump' } }", 4, "did you mean function?"),
        ("exports = { x = { function = 'bump', version = 'one' } }", 4, "a version is MAJOR.MINOR"),
        ("exports = { x = { function = 'bump', policy = 'trust' } }", 4, "it must be mutual-trust"),
        ("exports = { x = { function = 'bump', serialize = 1 } }", 4, "instead of true or false"),
        ("exports = { x = { function = 'bump', to = ['z'] } }", 4, "no program is called z"),
        ("imports = []", 4, "imports: an array instead of a table"),
        ("imports = { theirs = 'bump' }", 4, "PROGRAM.EXPORT"),
        ("imports = { theirs = { version = '1.0' } }", 4, "has no from"),
        ("imports = { theirs = 'stor.bump' }", 4, "no program is called stor; one is called store"),
        ("imports = { theirs = 'store.bumb' }", 4, "store does not export bumb; did you mean bump?"),
        ("imports = { thiers = 'store.bump' }", 4, "theirs"),
        ("imports = { theirs = 'store.private' }", 4, "exports private to others only"),
        ("imports = { theirs = 'store.other' }", 4, "store.other"),
        ("imports = { theirs = { from = 'store.bump', version = '2.0' } }", 4, "version 1.0"),
        (
            "imports = { theirs = { from = 'store.bump', on_failure = 'x' } }",
            4,
            "on_failure must be a number",
        ),
        ("turn_timeout = 'x'", 4, "turn_timeout"),
    ];
    let store =
        "exports = { bump = 'bump', other = 'other', private = { function = 'bump', to = ['store'] } }";
    for (line, number, expected) in cases {
        let site = site(&[("client", "'once'", line), ("store", "'serves'", store)]);
        let (status, _, err) = site.ended();
        assert_eq!(status, 125, "{line}: {err}");
        assert!(err.contains(&format!("lockgate.toml:{number}:")) && err.contains(expected), "{line}: {err}");
    }
}
