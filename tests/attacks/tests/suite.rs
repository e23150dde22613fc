//! Every attack is held, and what is not held is noticed.
use attacks::list;
use attacks::suite::{self, Row};
use std::path::Path;

/// The program that runs single attacks.
const RUNNER: &str = env!("CARGO_BIN_EXE_attacks");

fn run(attacks: &[list::Attack]) -> Vec<Row> {
    suite::run(attacks, Path::new(RUNNER), 2, |_| ()).unwrap()
}

#[test]
fn every_attack_is_held() {
    let rows = run(&list::read(&list::suite()).unwrap());
    for row in rows.iter().filter(|row| row.skipped.is_some()) {
        support::skipped(format_args!("{}/{}", row.area, row.attack), &row.why);
    }
    let broken: Vec<_> = rows.iter().filter(|row| !row.held).collect();
    assert!(broken.is_empty(), "{} of {} attacks are not held: {broken:#?}", broken.len(), rows.len());
}

/// A runner that cannot fail proves nothing: each control is an attack whose protection is absent, or whose expectation is wrong.
#[test]
fn every_control_is_noticed() {
    let controls = list::read(&list::controls()).unwrap();
    assert!(controls.len() >= 12, "only {} controls", controls.len());
    for (row, control) in run(&controls).iter().zip(&controls) {
        let noticed = control.description.noticed.as_deref().unwrap();
        assert!(!row.held && row.why.contains(noticed), "not noticed, {noticed:?}: {row:#?}");
    }
    assert!(lockgate_evidence::rudeness_is_noticed());
}
