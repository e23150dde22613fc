//! The attack suite (tests/attacks) against the installed library, in a host that is linked with it and in those whose plugin brings it, in C and in
//! other languages: each attack as its scenario says, and it must end as its `attack.toml` says.
use attacks::build::foreign_file;
use attacks::expect::{By, Ending, Expect};
use attacks::list::{self, Aim, Argument, Attack};
use attacks::scenarios::granted::leave_links;
use installed::languages::LANGUAGES;
use installed::{Workshop, languages, run};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The argument as the host's program has it.
fn word(argument: &Argument) -> String {
    match argument {
        Argument::Number(number) => number.to_string(),
        Argument::Aim(aim) => match aim {
            Aim::Secret => "secret",
            Aim::Lucky => "lucky",
            Aim::Unlucky => "unlucky",
            Aim::Code => "code",
            Aim::Neighbour => "neighbour",
            Aim::Own => "own",
            Aim::Window => "window",
        }
        .to_owned(),
    }
}

/// The rule of the verifier's that a message names: `V2: …`.
fn rule(text: &str) -> Option<String> {
    let named = |word: &&str| {
        word.len() > 1 && word.starts_with('V') && word[1..].bytes().all(|b| b.is_ascii_digit())
    };
    text.split_whitespace().filter_map(|word| word.strip_suffix(':')).find(named).map(str::to_owned)
}

/// How it ended, as the program says it (`hosts/attack.c`).
fn ending(said: &str) -> Option<Ending> {
    let (kind, rest) = said.split_once('\n')?;
    let text = rest.trim_end();
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Some(match kind {
        // A host in C is told in the message alone who it was, and by which rule.
        "rejected" if text.contains("is not a module") => {
            Ending::Rejected { by: By::Loader, rule: Some("V0".to_owned()), reason: text.to_owned() }
        }
        "rejected" => Ending::Rejected { by: By::Verifier, rule: rule(text), reason: text.to_owned() },
        "refused" => Ending::Refused(text.to_owned()),
        "returned" => Ending::Returned(text.parse().ok()?),
        "fault" => {
            let mut lines = rest.splitn(4, '\n');
            let (kind, access, function) = (lines.next()?, lines.next()?, lines.next()?);
            let reason = lines.next()?.lines().next().unwrap_or_default().to_owned();
            Ending::Fault { kind: kind.to_owned(), reason, access: known(access), function: known(function) }
        }
        _ => return None,
    })
}

/// The folders that scenarios grant (`granted.rs` of tests/attacks): `granted`, with links to all that is near, and `fixed`, for reading; beside
/// them `outside`.
struct Folders(tempfile::TempDir);

impl Folders {
    fn new() -> std::io::Result<Folders> {
        let folders = tempfile::tempdir()?;
        for name in ["granted", "fixed", "outside"] {
            fs::create_dir(folders.path().join(name))?;
            fs::write(folders.path().join(name).join("secret.txt"), Folders::holds(name))?;
        }
        leave_links(&folders.path().join("granted"), &folders.path().join("outside"))?;
        Ok(Folders(folders))
    }

    fn holds(name: &str) -> &str {
        if name == "fixed" { "granted" } else { name }
    }

    /// What has changed that must not.
    fn harm(&self) -> Option<String> {
        let changed = |name: &&&str| {
            let folder = self.0.path().join(name);
            let count = fs::read_dir(&folder).map_or(0, Iterator::count);
            let text = fs::read_to_string(folder.join("secret.txt")).unwrap_or_default();
            count != 1 || text != Folders::holds(name)
        };
        ["fixed", "outside"].iter().find(changed).map(|name| format!("the folder {name:?} has changed"))
    }
}

/// A host's name, and its program.
type Host = (&'static str, languages::Host);

const HOSTS: [Host; 2] = [("linked", |workshop| workshop.program("shared")), ("plugin", Workshop::loader)];

/// Those in other languages that this machine has.
fn foreign() -> Vec<Host> {
    LANGUAGES.iter().filter_map(|(name, host)| Some((*name, host()?))).collect()
}

/// Lets an attack happen in each of these hosts; what went wrong.
fn attempt(attack: &Attack, hosts: &[Host]) -> Vec<String> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let about = &attack.description;
    let prototype = format!("long {}(long, long, long, long, long, long)", about.call.function);
    // Scenarios call functions of other types, or leave it to the module what they are.
    let noted = about.scenario.is_none().then_some(prototype.as_str());
    let workshop = Workshop::get();
    let file = match &attack.source {
        None => workshop.at("guest.lg"),
        Some(_) => match foreign_file(attack, noted).expect("the source is as its name says") {
            Ok(image) => {
                // (Other tests try the same attack meanwhile.)
                let number = NEXT.fetch_add(1, Ordering::Relaxed);
                let file = workshop.at(&format!("{}-{}-{number}.lg", attack.area, attack.name));
                fs::write(&file, image).expect("the folder is writable");
                file
            }
            // Nothing came of it that could be installed. Whether that is as it should be is another question.
            Err(ending) => {
                let wrong = about.expect.contradicts(&ending);
                return wrong
                    .map(|wrong| format!("{}, by the tools: {wrong}", attack.title()))
                    .into_iter()
                    .collect();
            }
        },
    };
    if matches!(about.expect, Expect::Rejected { by: By::Rewriter | By::Linker, .. }) {
        return vec![format!("{}: expected {}, but a module came of it", attack.title(), about.expect)];
    }
    let wrong = hosts.iter().filter_map(|(host, program)| {
        let wrong = in_host(attack, &file, program(workshop))?;
        Some(format!("{} in a host that is {host}: {wrong}", attack.title()))
    });
    let wrong = wrong.collect();
    if attack.source.is_some() {
        let _ = fs::remove_file(&file);
    }
    wrong
}

/// Lets it happen in one; what is wrong.
fn in_host(attack: &Attack, file: &Path, mut program: Command) -> Option<String> {
    let about = &attack.description;
    let folders = Folders::new().expect("a scratch folder");
    program.arg("attack").arg(folders.0.path()).arg(about.scenario.as_deref().unwrap_or("-")).arg(file);
    // (What is not about time may take long where other tests have the processor.)
    let limit = if about.call.time_limit < 10_000 { about.call.time_limit } else { 60_000 };
    program.arg(&about.call.function).arg(limit.to_string());
    let (well, said) = run(program.args(about.call.arguments.iter().map(word)));
    match ending(&said).filter(|_| well) {
        Some(ending) => about.expect.contradicts(&ending),
        None => Some(format!("expected: {}; got: {said}", about.expect)),
    }
    .or_else(|| folders.harm())
}

/// Lets all happen, several at once; what went wrong with each, in no order. Each in those of the hosts for whose numbers, and its own, `is_in`.
fn attempt_all<'a>(
    attacks: &'a [Attack],
    hosts: &[Host],
    is_in: impl Fn(usize, usize) -> bool + Sync,
) -> Vec<(&'a Attack, Vec<String>)> {
    let (next, ends) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    Workshop::get();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(attack) = attacks.get(number) else { break };
            let hosts: Vec<Host> =
                (0..hosts.len()).filter(|host| is_in(number, *host)).map(|host| hosts[host]).collect();
            if hosts.is_empty() {
                continue;
            }
            if let Some(feature) = attack.lacks() {
                support::skipped(attack.title(), format_args!("this processor lacks {feature:?}"));
                continue;
            }
            let wrong = attempt(attack, &hosts);
            ends.lock().expect("no panic").push((attack, wrong));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    ends.into_inner().expect("no panic")
}

/// Lets a part of the suite happen in each host, another one in each; all of it is in the suite's own test.
fn hold(hosts: &[Host], one_in: usize, what: &str) {
    let attacks = list::read(&list::suite()).expect("the suite");
    let part = support::Part::one_in(one_in, what);
    let ends = attempt_all(&attacks, hosts, |number, host| part.has(number + host));
    println!("{what}: {} attacks, {} hosts", ends.len(), hosts.len());
    let wrong: Vec<_> = ends.into_iter().flat_map(|(_, wrong)| wrong).collect();
    assert!(wrong.is_empty(), "{} not held:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_attack_on_the_installed_library_is_held() {
    hold(&HOSTS, 4, "attacks in two hosts");
}

/// The same in other languages, which have handlers of their own, and threads.
#[test]
fn every_attack_in_other_languages_is_held() {
    hold(&foreign(), 24, "attacks in hosts in other languages");
}

/// What is watched in the process of a test alone (tests/attacks): languages write code as they run.
const NOT_WATCHED: &str = "executable";

/// A host that notices nothing proves nothing: each control is an attack with a wrong expectation, or a step that only one would take who
/// has got out.
#[test]
fn every_control_is_noticed_in_the_hosts() {
    let mut controls = list::read(&list::controls()).expect("the controls");
    controls.retain(|control| control.name != NOT_WATCHED);
    assert!(controls.len() > 20, "only {} controls", controls.len());
    // In the languages' hosts one in each run, which says that they hear of it.
    let part = support::Part::one_in(controls.len(), "controls in hosts in other languages");
    let hosts = [&HOSTS[..], &foreign()].concat();
    let is_in = |number, host| host < HOSTS.len() || part.has(number);
    for (control, wrong) in attempt_all(&controls, &hosts, is_in) {
        let number = controls.iter().position(|other| other.title() == control.title()).expect("it is there");
        let expected = (0..hosts.len()).filter(|host| is_in(number, *host)).count();
        // What a host says of harm is its own; what it says of endings is the suite's.
        let noticed = control.description.noticed.as_deref().filter(|_| control.area == "verdicts");
        let is_noticed = |wrong: &String| noticed.is_none_or(|noticed| wrong.contains(noticed));
        let title = control.title();
        assert!(wrong.len() == expected && wrong.iter().all(is_noticed), "{title}: {wrong:#?}");
    }
}
