//! A failed check of the code model is reported with function and source line, as every other fault.

use crate::common::Shop;

/// Function of each case of `programs/traps.c`.
const CASES: [&str; 8] = ["fail", "fail", "fail", "fail", "fail", "fail", "unbounded", "ends_in_a_call"];
/// Argument with which case 6 fails, for there is no such case in the switch.
const BEYOND: usize = 1000;

const FLAGS: [&[&str]; 6] = [
    &["-g", "-O0"],
    &["-g", "-O1"],
    &["-g", "-O2", "-fno-optimize-sibling-calls", "-fno-inline"],
    &["-gdwarf-4", "-O2", "-ffunction-sections"],
    &["-g", "-O3", "-fno-jump-tables"],
    &["-g", "-Os", "--strict-bounds"],
];

fn source() -> String {
    std::fs::read_to_string(Shop::program("traps")).unwrap()
}

/// Line of a case.
fn line(case: usize) -> usize {
    source().lines().position(|line| line.ends_with(&format!("// CASE {case}"))).unwrap() + 1
}

fn module(flags: &[&str]) -> Shop {
    let shop = Shop::new();
    shop.write("traps.c", &source());
    let exports = ["--export", "fail", "--export", "unbounded", "--export", "ends_in_a_call"];
    shop.lockgate("cc").args(["-w", "traps.c", "-o", "traps.lg"]).args(exports).args(flags).run_quietly();
    shop
}

fn argument(case: usize) -> String {
    if CASES[case] == "unbounded" { BEYOND } else { case }.to_string()
}

#[test]
fn reports_name_the_line_of_a_failed_check() {
    for flags in FLAGS {
        let shop = module(flags);
        for (case, function) in CASES.iter().enumerate() {
            if *function == "unbounded" && flags.contains(&"-fno-jump-tables") {
                continue;
            }
            let said = shop.lockgate("call").args(["traps.lg", function, &argument(case)]).fail();
            let place = format!("traps.c:{}", line(case));
            let at = said.lines().find_map(|said| said.split_once("; at ")).map(|at| at.1);
            let is_right =
                at.is_some_and(|at| at.starts_with(&format!("{function}+")) && at.contains(&place));
            assert!(is_right, "{flags:?}, case {case}, not in {function} at {place}:\n{said}");
        }
    }
}
