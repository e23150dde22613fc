//! The theorem of docs/returns.md, tried: programs that the verifier accepts run on a model of control stacks, whose adversary
//! rewrites every word below rsp after each step, wants rsp anywhere, takes branches as it likes, resumes and switches contexts where it may. Each `ret`
//! must pop the word that its own `call` pushed, and the report's table must lead from each return site to the word that is next.
mod machine;
mod program;

use lockgate_verify::verify;
use machine::{Machine, RULES, Without};
use program::Program;
use support::Random;

const RUNS: u64 = 12;
const STEPS: u64 = 250;

#[test]
fn each_return_pops_its_own_word() {
    // A verifier without one of its rules is found out by one in hundreds or thousands: where that is tried, there are more.
    let all = std::env::var_os("LOCKGATE_THOROUGH").is_some();
    try_programs(0..if all { 16_000 } else { 4_000 });
}

/// 10^8 steps.
#[test]
#[ignore = "minutes"]
fn each_return_pops_its_own_word_for_long() {
    let steps = try_programs(16_000..220_000);
    assert!(steps >= 100_000_000, "{steps} steps");
}

/// The steps that were taken.
fn try_programs(numbers: std::ops::Range<u64>) -> u64 {
    let programs = numbers.end - numbers.start;
    let (mut accepted, mut refused, mut steps, mut returns, mut switches) = (0, 0, 0, 0, 0);
    let (mut interrupted, mut handed) = (0, 0);
    for number in numbers {
        let mut random = Random(number);
        let program = Program::new(&mut random);
        let Ok(report) = verify(&program.module) else {
            refused += 1;
            continue;
        };
        accepted += 1;
        for run in 0..RUNS {
            let mut machine = Machine::new(&program, &report.frames, number * RUNS + run, Without::Nothing);
            match machine.run(STEPS) {
                Ok(taken) => steps += taken,
                Err(what) => {
                    panic!("program {number}: {what}\n{:?}\n{:?}", program.ops, program.module.states)
                }
            }
            returns += machine.returned;
            switches += machine.switched;
            interrupted += machine.interrupted;
            handed += machine.handed_over;
        }
    }
    println!(
        "{accepted} programs accepted, {refused} refused, {steps} steps, {returns} returns, {switches} switches, \
         {interrupted} interruptions, {handed} calls handed over"
    );
    assert!(accepted > programs / 3 && refused > programs / 10, "{accepted} accepted, {refused} refused");
    assert!(steps > 20 * accepted && returns > accepted, "{steps} steps, {returns} returns");
    assert!(switches > accepted, "{switches} switches");
    assert!(interrupted > accepted && handed > accepted, "{interrupted} interruptions, {handed} handed over");
    steps
}

/// Each of the runtime's rules, and the order of U2, is needed: without it some return goes wrong.
#[test]
fn without_any_of_the_rules_a_return_goes_wrong() {
    for without in RULES {
        let is_broken = |number| {
            let program = Program::new(&mut Random(number));
            verify(&program.module).is_ok_and(|report| {
                (0..RUNS).any(|run| {
                    let seed = number * RUNS + run;
                    Machine::new(&program, &report.frames, seed, without).run(STEPS).is_err()
                })
            })
        };
        let broken = (0..4000).find(|number| is_broken(*number));
        println!("without {without:?}: program {broken:?} goes wrong");
        assert!(broken.is_some(), "{without:?}");
    }
}
