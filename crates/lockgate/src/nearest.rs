//! "Did you mean": the name that a user may have meant.
//!
//! Both sides of the comparison may be a module's choice, thousands of names of any length: only short names are compared, and not
//! many. The caller holds no lock that others need.

/// Longest name that a user may have mistyped, bytes.
const LONGEST: usize = 64;

/// Names of about the right length that are compared.
const MOST: usize = 1000;

/// Whether `candidate` is worth a comparison with `name`: few letters more or less.
pub(crate) fn is_worth_it(name: &str, candidate: &str) -> bool {
    !candidate.is_empty() && name.len() <= LONGEST && name.len().abs_diff(candidate.len()) <= few(name)
}

/// Letters that may differ.
fn few(name: &str) -> usize {
    name.len() / 3 + 1
}

/// The candidate that differs from `name` in the fewest letters, if in few.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let candidates = candidates.filter(|candidate| is_worth_it(name, candidate)).take(MOST);
    let (near, best) = candidates.map(|candidate| (distance(name, candidate), candidate)).min()?;
    (near <= few(name)).then(|| best.to_owned())
}

/// How many letters are to be changed, added or removed.
fn distance(name: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in name.bytes().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in other.bytes().enumerate() {
            let change = corner + usize::from(a != b);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn what_differs_in_few_letters_is_found() {
        let known = ["count", "amount", "county", "crash"];
        assert_eq!(nearest("coumt", known.into_iter()).as_deref(), Some("count"));
        assert_eq!(nearest("", ["a"].into_iter()).as_deref(), Some("a"));
        assert_eq!(nearest("nothing", known.into_iter()), None);
        assert_eq!(nearest("count", std::iter::empty()), None);
    }

    /// Ten seconds are thousands of times what it takes; what it took without limits was minutes.
    #[test]
    fn hostile_names_cost_next_to_nothing() {
        let long = "a".repeat(1 << 20);
        let many: Vec<String> = (0..100_000).map(|n| format!("{n:064}")).collect();
        let start = Instant::now();
        assert_eq!(nearest(&long, [long.as_str(), &long[1..]].into_iter()), None);
        assert_eq!(nearest(&"b".repeat(LONGEST), [long.as_str()].into_iter()), None);
        nearest(&"0".repeat(LONGEST), many.iter().map(String::as_str));
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}
