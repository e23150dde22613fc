//! `throughput MODULE`: parses and verifies a module again and again; prints MiB of text per second, the median run's and
//! the best one's (on a busy machine only the best one says something).

use lockgate_verify::{Module, verify};
use std::time::Instant;

const RUNS: usize = 101;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: throughput MODULE")?;
    let module = Module::parse(&std::fs::read(&path)?)?;
    let report = verify(&module)?;
    let mut seconds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            verify(&module).map(|_| start.elapsed().as_secs_f64())
        })
        .collect::<Result<_, _>>()?;
    seconds.sort_by(f64::total_cmp);
    let megabytes = report.text_bytes as f64 / (1 << 20) as f64;
    let (median, best) = (megabytes / seconds[RUNS / 2], megabytes / seconds[0]);
    println!("{median:.0} MiB/s median, {best:.0} best of {RUNS} runs");
    println!("{megabytes:.2} MiB of text, {} instructions", report.instructions);
    Ok(())
}
