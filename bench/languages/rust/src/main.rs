//! Six programs in Rust: `languages NAME ROUNDS` does one of them so often and prints what came out.
use std::collections::{BTreeMap, HashMap};
use std::panic;
use std::process::ExitCode;

/// Numbers that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// serde_json: a document is read and written.
fn json() -> u64 {
    let things: Vec<_> = (0..200)
        .map(|number| {
            serde_json::json!({
                "id": number, "name": format!("thing {}", number * 7), "tags": ["a", "b", true, null],
                "size": { "x": 1.5, "y": f64::from(number) / 3.0 }
            })
        })
        .collect();
    let text = serde_json::to_string(&things).expect("plain values");
    let read: Vec<serde_json::Value> = serde_json::from_str(&text).expect("just written");
    read.iter().map(|thing| thing["name"].as_str().map_or(0, str::len) as u64 + thing["id"].as_u64().unwrap_or(0)).sum()
}

/// regex: lines of a log.
fn patterns() -> u64 {
    let pattern = regex::Regex::new(r"^(\d+)-(\d+)-(\d+) (\w+) \[(info|error)\] took (\d+) ms for (/[a-z]+/\d+)$").expect("a pattern");
    (0..2000_u64)
        .map(|number| {
            let kind = if number % 5 == 0 { "error" } else { "info" };
            let line = format!("2026-11-{} host{} [{kind}] took {} ms for /path/{number}", 10 + number % 20, number % 7, number * 37 % 1000);
            let found = pattern.captures(&line).expect("each line has this form");
            if &found[5] == "error" { found[6].parse::<u64>().unwrap_or(0) + found[7].len() as u64 } else { 0 }
        })
        .sum()
}

/// miniz_oxide: compressed, and back.
fn deflate() -> u64 {
    let mut numbers = Numbers(1);
    let text: Vec<u8> = (0..40_000).map(|_| b"the quick brown fox "[(numbers.next() % 20) as usize]).collect();
    let packed = miniz_oxide::deflate::compress_to_vec(&text, 6);
    let back = miniz_oxide::inflate::decompress_to_vec(&packed).expect("just compressed");
    assert_eq!(back, text);
    packed.len() as u64
}

/// Strings in hash tables and trees.
fn maps() -> u64 {
    let mut numbers = Numbers(2);
    let mut counts: HashMap<String, u64, std::hash::BuildHasherDefault<std::hash::DefaultHasher>> = HashMap::default();
    for _ in 0..8000 {
        *counts.entry(format!("word{}", numbers.next() & 1023)).or_default() += 1;
    }
    let sorted: BTreeMap<_, _> = counts.into_iter().map(|(word, count)| ((count, word), ())).collect();
    sorted.keys().enumerate().map(|(place, (count, word))| place as u64 * count + word.len() as u64).sum()
}

/// Sorts, with a comparison through a pointer.
fn sorts() -> u64 {
    let mut numbers = Numbers(3);
    let mut values: Vec<u64> = (0..20_000).map(|_| numbers.next()).collect();
    let orders: [fn(&u64, &u64) -> std::cmp::Ordering; 3] = [Ord::cmp, |a, b| b.cmp(a), |a, b| (a & 0xffff).cmp(&(b & 0xffff))];
    let mut sum = 0;
    for order in orders {
        values.sort_by(order);
        sum += values[values.len() / 3] & 0xffff;
    }
    values.sort_unstable();
    sum + values[7]
}

/// Panics that are caught, through frames with destructors.
fn panics() -> u64 {
    fn depth(at: u32, number: u64) -> u64 {
        let held = vec![number; 4];
        if at == 0 {
            assert!(number % 8 != 0, "every eighth");
            return held[0];
        }
        depth(at - 1, number) + held[1] % 3
    }
    (0..256).map(|number| panic::catch_unwind(|| depth(6, number)).unwrap_or(1)).sum()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, name, rounds] = &arguments[..] else {
        eprintln!("usage: languages NAME ROUNDS");
        return ExitCode::from(2);
    };
    let program = match &**name {
        "json" => json,
        "patterns" => patterns,
        "deflate" => deflate,
        "maps" => maps,
        "sorts" => sorts,
        "panics" => panics,
        _ => {
            eprintln!("there is no program {name}");
            return ExitCode::from(2);
        }
    };
    panic::set_hook(Box::new(|_| ()));
    let rounds: u64 = rounds.parse().unwrap_or(1);
    let sum = (0..rounds).fold(0_u64, |sum, _| sum.wrapping_mul(31).wrapping_add(program()));
    println!("{sum}");
    ExitCode::SUCCESS
}
