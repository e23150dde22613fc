//! The verdicts of `tests/cases/*.txt`: see the README there.

use crate::support::{Placement, module};
use lockgate_verify::{Functions, Module, Report, State, verify};

/// One line of a case file.
struct Case {
    place: String,
    /// The rule that it must break; `None`: it must be accepted.
    rule: Option<&'static str>,
    placement: Placement,
    code: Vec<u8>,
    /// What its note says of rsp.
    states: Vec<(u64, State)>,
    /// What its report must show (`report` lines).
    report: Option<String>,
    /// Image address of a function, and what must be said of it (`function` lines).
    function: Option<(u64, String)>,
}

const RULES: [&str; 6] = ["V0", "V1", "V2", "V3", "V4", "V5"];

fn cases(name: &str, text: &str) -> Vec<Case> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let case = |(number, line): (usize, &str)| {
        let place = format!("{name}:{number}: {line}");
        let words: Vec<_> = line.split('|').next().unwrap().split_ascii_whitespace().collect();
        let (verdict, last) = match words[0].strip_suffix("-last") {
            Some(verdict) => (verdict, Placement::Last),
            None => (words[0], Placement::Followed),
        };
        let rule =
            (verdict == "reject").then(|| RULES.into_iter().find(|rule| *rule == words[1]).expect(&place));
        assert!(["accept", "reject", "report", "function"].contains(&verdict), "{place}");
        let report = (verdict == "report").then(|| words[1].to_owned());
        let at = words.iter().find_map(|word| word.strip_prefix('*')).unwrap_or("0");
        let at = 0x1000 + u64::from_str_radix(at, 16).expect(&place);
        let function = (verdict == "function").then(|| (at, words[1].to_owned()));
        let code = crate::support::bytes(words.last().unwrap());
        let states = words.iter().filter_map(|word| word.strip_prefix('@')).map(|note| state(note, &place));
        let states = states.collect();
        Case { place, rule, placement: last, code, states, report, function }
    };
    lines.map(case).collect()
}

/// `4=S8` or `4=C8,0`: the offset from the case's first byte, hexadecimal, and the state there.
fn state(note: &str, place: &str) -> (u64, State) {
    let (offset, state) = note.split_once('=').expect(place);
    let address = 0x1000 + i64::from_str_radix(offset, 16).expect(place);
    let number = |text: &str| text.parse::<u32>().expect(place);
    let state = match (state.strip_prefix('S'), state.strip_prefix('C').and_then(|c| c.split_once(','))) {
        (Some(o), _) => State::S { o: number(o) },
        (_, Some((b, d))) => State::C { b: number(b), d: number(d) },
        _ => panic!("{place}"),
    };
    (address as u64, state)
}

impl Case {
    fn module(&self) -> Module {
        Module { states: self.states.clone(), ..module(&self.code, self.placement) }
    }
}

macro_rules! files {
    ($($name:literal),*) => { [$(($name, include_str!(concat!("cases/", $name)))),*] };
}

const FILES: [(&str, &str); 7] = files!(
    "v1-encoding.txt",
    "v2-memory.txt",
    "v3-rsp.txt",
    "v4-labels.txt",
    "v5-units.txt",
    "v6-report.txt",
    "v6-functions.txt"
);

#[test]
fn every_case_has_its_verdict() {
    let mut wrong = Vec::new();
    for case in FILES.iter().flat_map(|(name, text)| cases(name, text)) {
        let module = case.module();
        let verdict = verify(&module);
        let found = match (&verdict, &case.function) {
            (Ok(_), Some((at, _))) => {
                Functions::of(&module).report(*at).map_or("?".to_owned(), |report| summary(&report, true))
            }
            (verdict, _) => match verdict {
                Ok(report) => {
                    case.report.as_ref().map(|_| summary(report, false)).unwrap_or("accept".to_owned())
                }
                Err(rejection) => rejection.rule.to_owned(),
            },
        };
        let wanted = case.function.as_ref().map(|(_, wanted)| wanted.clone()).or(case.report.clone());
        let wanted = wanted.unwrap_or(case.rule.unwrap_or("accept").to_owned());
        if found != wanted {
            wrong.push(format!("{}\n    found {found}: {verdict:?}", case.place));
        }
    }
    assert!(wrong.is_empty(), "{} wrong verdicts:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_reject_case_is_a_minimal_change_of_the_accepted_one_above_it() {
    let mut rejects = 0;
    for (name, text) in FILES {
        let mut accepted: Option<Case> = None;
        for case in cases(name, text) {
            if case.rule.is_none() {
                accepted = Some(case);
                continue;
            }
            rejects += 1;
            let accepted =
                &accepted.as_ref().unwrap_or_else(|| panic!("{}: no accepted case above", case.place)).code;
            let distance = distance(accepted, &case.code);
            // A few bytes, or one instruction of several.
            let minimal = distance <= 4 || distance <= 11 && distance < accepted.len().max(case.code.len());
            assert!(minimal, "{} edits: {}", distance, case.place);
        }
    }
    assert!(rejects >= 400, "{rejects} reject cases");
}

#[test]
fn the_seed_cases_have_their_verdicts() {
    for line in include_str!("cases/seed.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<_> = line.split('|').map(str::trim).collect();
        let verdict = verify(&module(&crate::support::bytes(fields[1]), Placement::Followed));
        assert_eq!(verdict.is_ok(), fields[0] == "ACCEPT", "{line}: {verdict:?}");
    }
}

#[test]
fn a_rejection_names_rule_address_bytes_and_instruction() {
    let rejection = verify(&module(&crate::support::bytes("9050"), Placement::Followed)).unwrap_err();
    assert_eq!((rejection.rule, rejection.address), ("V1", 0x1001));
    assert_eq!((rejection.bytes.as_str(), rejection.instruction.as_str()), ("50", "push %rax"));
    assert!(rejection.to_string().starts_with("V1: "), "{rejection}");
    let json = serde_json::to_value(&*rejection).unwrap();
    assert_eq!(json["rule"], "V1");
    assert_eq!(json["address"], 0x1001);
    // No instruction at all.
    let rejection = verify(&module(&crate::support::bytes("9006"), Placement::Followed)).unwrap_err();
    assert!(rejection.bytes.starts_with("06") && rejection.instruction == "(bad)", "{rejection}");
    // A branch to the byte behind it, which is in the middle of an instruction.
    let rejection =
        verify(&module(&crate::support::bytes("eb01b890909090"), Placement::Followed)).unwrap_err();
    let text = "V1: its target 0x1003 is not the start of a unit at 0x1000: eb01 jmp short 0x1003";
    assert!(rejection.to_string().starts_with(&text[..text.len() - 20]), "{rejection}");
}

/// The report's usage that hold, joined by commas; "-" if none does. Whether a whole module names vector registers is not asked.
fn summary(report: &Report, of_function: bool) -> String {
    let usage = [
        (report.x87, "x87"),
        (report.x87_environment, "environment"),
        (report.mxcsr_read, "mxcsr-read"),
        (report.mxcsr_write, "mxcsr-write"),
        (report.evex, "evex"),
        (report.mask, "mask"),
        (report.vector && of_function, "vector"),
        (report.ymm, "ymm"),
        (report.cpuid, "cpuid"),
    ];
    let mut names: Vec<_> =
        usage.iter().filter(|(holds, _)| *holds).map(|(_, name)| (*name).to_owned()).collect();
    names.extend((0..16).filter(|i| report.callee_saved_written >> i & 1 != 0).map(|i| format!("r{i}")));
    names.extend(report.gates.iter().map(|slot| format!("gate{slot}")));
    names.extend(report.needs.iter().map(|name| (*name).to_owned()));
    if names.is_empty() { "-".to_owned() } else { names.join(",") }
}

/// Levenshtein distance.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let best = (row[j] + 1).min(row[j + 1] + 1).min(diagonal + usize::from(x != y));
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}
