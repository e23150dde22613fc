//! `perf record` on a process with a domain: samples have the names of modules' functions.

use crate::common::{Shop, text};

const BUSY: &str = r#"
volatile long sum;
__attribute__((noinline)) void busy(long n) { for (long i = 0; i < n; i++) sum += i; }
int main(void) { busy(200000000); return 0; }
"#;

#[test]
fn samples_have_names() {
    let shop = Shop::new();
    let perf =
        |arguments: &[&str]| shop.command("perf").args(arguments).env("LOCKGATE_PERF_MAP", "1").output();
    // Containers and hardened systems forbid it; the map itself is tested in crates/lockgate/tests/perf_map.rs.
    match perf(&["record", "-e", "cpu-clock:u", "-o", "probe", "true"]) {
        Ok(output) if output.status.success() => {}
        _ => return support::skipped("samples_have_names", "perf is not here, or not allowed"),
    }
    shop.write("busy.c", BUSY);
    shop.lockgate("cc").args(["-O1", "busy.c", "-o", "busy.lg"]).run_quietly();
    let record =
        ["record", "-e", "cpu-clock:u", "-o", "data", env!("CARGO_BIN_EXE_lockgate"), "run", "busy.lg"];
    let output = perf(&record).unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = perf(&["script", "-i", "data", "-F", "pid,ip,sym"]).unwrap();
    let said = text(&output.stdout);
    let pid: u32 = said.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("a sample");
    std::fs::remove_file(format!("/tmp/perf-{pid}.map")).unwrap();
    let (all, busy) =
        (said.lines().count(), said.lines().filter(|line| line.contains("busy [busy.lg]")).count());
    assert!(busy > 10 && busy * 2 > all, "{busy} of {all} samples:\n{said}");
}
