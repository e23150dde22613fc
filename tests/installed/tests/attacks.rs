//! The attack suite (tests/attacks) against the installed library, in a host that is linked with it and in one whose plugin brings it.
use attacks::build::foreign_file;
use attacks::expect::{By, Expect};
use attacks::list::{self, Aim, Argument, Attack};
use installed::{Workshop, run};
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

/// What the program must say.
fn is_held(expect: &Expect, said: &str) -> bool {
    let (kind, text) = said.trim_end().split_once([':', ' ']).unwrap_or((said, ""));
    match expect {
        Expect::Rejected { reason, .. } => kind == "rejected" && text.contains(reason.as_str()),
        // (A report of faults says the reason in its first line.)
        Expect::Fault { reason, .. } => {
            kind == "fault" && reason.as_ref().is_none_or(|reason| text.contains(reason.as_str()))
        }
        Expect::Returns { value } => {
            kind == "returned" && value.is_none_or(|value| text == value.to_string())
        }
        Expect::Refused { reason } => kind == "refused" && text.contains(reason.as_str()),
    }
}

/// A host's name, and its program.
type Host = (&'static str, fn(&Workshop) -> Command);

/// Lets an attack happen in each host; what went wrong.
fn attempt(attack: &Attack) -> Vec<String> {
    let about = &attack.description;
    let prototype = format!("long {}(long, long, long, long, long, long)", about.call.function);
    let Ok(image) = foreign_file(attack, Some(&prototype)).expect("the source is as its name says") else {
        return Vec::new(); // the tools said no
    };
    let workshop = Workshop::get();
    let file = workshop.at(&format!("{}-{}.lg", attack.area, attack.name));
    std::fs::write(&file, image).expect("the folder is writable");
    let hosts: [Host; 2] = [("linked", |workshop| workshop.program("shared")), ("plugin", Workshop::loader)];
    let mut wrong = Vec::new();
    for (host, program) in hosts {
        let mut program = program(workshop);
        program.arg("attack").arg(&file).arg(&about.call.function).arg(about.call.time_limit.to_string());
        let (well, said) = run(program.args(about.call.arguments.iter().map(word)));
        if !well || !is_held(&about.expect, &said) {
            wrong.push(format!(
                "{} in a host that is {host}: expected {}, got {said}",
                attack.title(),
                about.expect
            ));
        }
    }
    let _ = std::fs::remove_file(&file);
    wrong
}

#[test]
fn every_attack_on_the_installed_library_is_held() {
    let attacks = list::read(&list::suite()).expect("the suite");
    // Those of the tools have nothing to do with what is installed; scenarios are about an interface that C has not, or tell the host what to do.
    let concerns = |attack: &&Attack| {
        let of_the_tools =
            matches!(attack.description.expect, Expect::Rejected { by: By::Rewriter | By::Linker, .. });
        attack.description.scenario.is_none() && !of_the_tools && attack.description.build.gates.is_empty()
    };
    let attacks: Vec<_> = attacks.iter().filter(concerns).collect();
    assert!(attacks.len() > 200, "only {} attacks", attacks.len());
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    Workshop::get();
    let work = || {
        while let Some(attack) = attacks.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(feature) = attack.lacks() {
                println!("SKIPPED {}: this processor lacks {feature:?}", attack.title());
                continue;
            }
            wrong.lock().expect("no panic").extend(attempt(attack));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{} not held:\n{}", wrong.len(), wrong.join("\n"));
}
