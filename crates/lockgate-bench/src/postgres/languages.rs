//! Languages beside each other.

use crate::{Metric, Options, progress};
use anyhow::ensure;
use lockgate_postgres::{Database, Session};
use std::time::Instant;

/// A function of one language, which is called once for each row of a statement.
struct Peer {
    /// The metric's name, behind `postgres.`.
    name: &'static str,
    /// The statement, with `$N` for the number of rows.
    sql: &'static str,
    /// Rows of a sample in a full run; a tenth of them in a quick one.
    rows: u32,
    /// What makes language and function, if `bench/postgres/functions.sql` has not.
    make: Option<(&'static str, &'static str)>,
}

/// The check digit of a card's number (Luhn 1954): a loop over its digits, as functions of arithmetic are.
macro_rules! check_digits {
    ($schema:literal) => {
        concat!(
            "SELECT sum(",
            $schema,
            ".check_digit(4000000000000000 + i)) FROM (SELECT i FROM numbers LIMIT $N) few"
        )
    };
}

/// A call, and next to nothing else.
macro_rules! increments {
    ($function:literal) => {
        concat!("SELECT sum(", $function, "(i)) FROM (SELECT i FROM numbers LIMIT $N) few")
    };
}

/// In the order of the table.
const PEERS: &[Peer] = &[
    Peer { name: "arithmetic.c", sql: check_digits!("c"), rows: 1_000_000, make: None },
    Peer { name: "arithmetic.lgc", sql: check_digits!("lgc"), rows: 1_000_000, make: None },
    Peer { name: "arithmetic.plpgsql", sql: check_digits!("plpgsql"), rows: 200_000, make: None },
    Peer {
        name: "arithmetic.plperl",
        sql: check_digits!("plperl"),
        rows: 200_000,
        make: Some((
            "CREATE EXTENSION plperl",
            "CREATE SCHEMA plperl; CREATE FUNCTION plperl.check_digit(bigint) RETURNS integer IMMUTABLE STRICT LANGUAGE plperl AS $$
                my ($x, $sum, $twice) = ($_[0], 0, 1);
                while ($x > 0) {
                    my $digit = $x % 10;
                    if ($twice) { $digit *= 2; $digit -= 9 if $digit > 9; }
                    $sum += $digit; $twice = !$twice; $x = int($x / 10);
                }
                return (10 - $sum % 10) % 10;
            $$",
        )),
    },
    Peer {
        name: "arithmetic.plpython3",
        sql: check_digits!("plpython3"),
        rows: 200_000,
        make: Some((
            "CREATE EXTENSION plpython3u",
            "CREATE SCHEMA plpython3; CREATE FUNCTION plpython3.check_digit(y bigint) RETURNS integer IMMUTABLE STRICT LANGUAGE plpython3u AS $$
x, sum, twice = y, 0, True
while x > 0:
    digit = x % 10
    if twice:
        digit *= 2
        if digit > 9:
            digit -= 9
    sum += digit
    twice = not twice
    x //= 10
return (10 - sum % 10) % 10
$$",
        )),
    },
    Peer { name: "call.c", sql: increments!("c.increment"), rows: 1_000_000, make: None },
    Peer { name: "call.lgc", sql: increments!("lgc.increment"), rows: 1_000_000, make: None },
    Peer { name: "call.pipe", sql: increments!("pipe.increment"), rows: 100_000, make: None },
    Peer {
        name: "call.pipe_same_cpu",
        sql: increments!("pipe.increment_same_cpu"),
        rows: 100_000,
        make: None,
    },
];

/// One that is there.
struct Side<'a> {
    peer: &'a Peer,
    session: Session,
    rows: u32,
    samples: Vec<f64>,
}

impl Side<'_> {
    /// Nanoseconds for each row.
    fn sample(&mut self) -> anyhow::Result<f64> {
        let sql = self.peer.sql.replace("$N", &self.rows.to_string());
        let begun = Instant::now();
        let answer = self.session.run(&sql)?;
        let seconds = begun.elapsed().as_secs_f64();
        ensure!(answer.parse::<i64>().is_ok(), "{}: {answer}", self.peer.name);
        Ok(seconds * 1e9 / f64::from(self.rows))
    }
}

/// Nanoseconds on the wall for each row, executor included, in turns; and lgc against PL/pgSQL, and against the faster of both pipes.
pub fn measure(
    database: &Database<'_>,
    options: &Options,
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<Metric>> {
    let mut sides = Vec::new();
    for peer in PEERS {
        if let Some((language, function)) = peer.make {
            if database.run("postgres", language).is_err() {
                notes.push(format!("postgres.{}: not on this machine", peer.name));
                continue;
            }
            database.run("postgres", function)?;
        }
        let rows = if options.quick { peer.rows / 10 } else { peer.rows };
        sides.push(Side { peer, session: database.session("postgres")?, rows, samples: Vec::new() });
    }
    let rounds = super::rounds(options);
    let bar = progress::bar("languages", ((rounds + 1) * sides.len()) as u64);
    for round in 0..=rounds {
        for side in &mut sides {
            let sample = side.sample()?;
            // The first round warms up.
            if round > 0 {
                side.samples.push(sample);
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let samples = |name: &str| sides.iter().find(|side| side.peer.name == name).map(|side| &side.samples);
    let mut ratios = Vec::new();
    for (ratio, own, others) in [
        ("postgres.vs_plpgsql", "arithmetic.lgc", &["arithmetic.plpgsql"][..]),
        ("postgres.vs_pipe", "call.lgc", &["call.pipe", "call.pipe_same_cpu"]),
    ] {
        let Some(own) = samples(own) else { continue };
        let others: Vec<_> = others.iter().filter_map(|other| samples(other)).collect();
        let best = |round: usize| others.iter().map(|samples| samples[round]).fold(f64::INFINITY, f64::min);
        let values = (0..rounds).map(|round| best(round) / own[round]).collect();
        ratios.push(Metric::new(ratio, "ratio", values));
    }
    let times = sides
        .iter()
        .map(|side| Metric::new(format!("postgres.{}", side.peer.name), "ns", side.samples.clone()));
    Ok(times.chain(ratios).collect())
}
