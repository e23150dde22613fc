//! The lists of mutants, read and checked against the tree.
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::Path;

/// The lists, in this folder.
const LISTS: [&str; 19] = [
    "runtime.txt",
    "verifier.txt",
    "grants.txt",
    "registry.txt",
    "limits.txt",
    "sockets.txt",
    "servers.txt",
    "programs.txt",
    "models.txt",
    "policies.txt",
    "dlopen.txt",
    "joining.txt",
    "debug.txt",
    "stubs.txt",
    "split.txt",
    "toolchain.txt",
    "capi.txt",
    "postgres.txt",
    "rewriter.txt",
];

/// A program of tests: `cargo test -p package --test target`, or `--lib` if the target is `lib`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suite {
    /// The crate.
    pub package: String,
    /// The test target.
    pub target: String,
}

/// One way to take a protection away.
#[derive(Debug, Clone)]
pub struct Mutation {
    /// File, from the root of the repository.
    pub file: String,
    /// Text that occurs once in the file; the search for `find` starts behind it. Empty: at the file's start.
    pub after: String,
    /// The text that is replaced: the first one behind `after`, the only one if `after` is empty.
    pub find: String,
    /// What replaces it.
    pub with: String,
}

/// What an entry claims.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// The test is red with this change.
    Red(Mutation),
    /// There is nothing to take away: the rule holds by the shape of the code, as the reason says.
    Structure,
    /// The change alone lets nothing through, for this reason; only its text is checked.
    Redundant(Mutation),
}

/// One block of a list.
#[derive(Debug, Clone)]
pub struct Entry {
    /// `runtime.txt:12`.
    pub place: String,
    /// Rule of docs/rules.md.
    pub rule: String,
    /// What is claimed.
    pub verdict: Verdict,
    /// The test that holds the rule.
    pub suite: Suite,
    /// Its full name in the suite.
    pub test: String,
    /// What the change would let happen, or why there is none.
    pub why: String,
}

/// All entries of the lists, in order, for the tree at `root`.
///
/// # Errors
/// Names the block that is not of the form that README.md describes.
pub fn entries(root: &Path) -> Result<Vec<Entry>> {
    let mut all = Vec::new();
    for name in LISTS {
        let path = root.join("tests/mutants").join(name);
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut above = BTreeMap::new();
        for (place, block) in blocks(name, &text) {
            all.push(entry(&place, &block, &mut above).with_context(|| place.clone())?);
        }
    }
    Ok(all)
}

/// Blocks of lines that empty lines separate, without comments, each with its place.
fn blocks<'t>(name: &str, text: &'t str) -> Vec<(String, Vec<&'t str>)> {
    let mut blocks: Vec<(String, Vec<&str>)> = Vec::new();
    let mut open = false;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#')) {
        match (line.trim().is_empty(), open) {
            (true, _) => open = false,
            (false, true) => blocks.last_mut().expect("a block is open").1.push(line),
            (false, false) => {
                blocks.push((format!("{name}:{number}"), vec![line]));
                open = true;
            }
        }
    }
    blocks
}

/// `above`: rule, file and test of the block above, which this one takes over if it does not say them.
fn entry<'t>(place: &str, block: &[&'t str], above: &mut BTreeMap<&'t str, &'t str>) -> Result<Entry> {
    const KEYS: [&str; 9] =
        ["rule", "file", "test", "after", "find", "with", "why", "structure", "redundant"];
    let mut fields = BTreeMap::new();
    for line in block {
        let (key, value) = line.split_once(':').with_context(|| format!("no key in '{line}'"))?;
        ensure!(KEYS.contains(&key), "unknown key '{key}'");
        ensure!(fields.insert(key, value.trim()).is_none(), "two lines say '{key}'");
    }
    for key in ["rule", "file", "test"] {
        match fields.get(key) {
            Some(&value) => drop(above.insert(key, value)),
            None => drop(above.get(key).map(|&value| fields.insert(key, value))),
        }
    }
    let field = |key: &str| fields.get(key).copied();
    let need = |key: &str| field(key).with_context(|| format!("no '{key}:'"));
    let text = |key: &str| need(key).map(str::to_owned);
    let mutation = || -> Result<Mutation> {
        let after = field("after").unwrap_or_default().to_owned();
        let mutation = Mutation { file: text("file")?, after, find: text("find")?, with: text("with")? };
        ensure!(!mutation.find.is_empty() && mutation.find != mutation.with, "it changes nothing");
        Ok(mutation)
    };
    let (verdict, why) = match (field("structure"), field("redundant")) {
        (None, None) => (Verdict::Red(mutation()?), text("why")?),
        (Some(reason), None) if field("find").is_none() => (Verdict::Structure, reason.to_owned()),
        (None, Some(reason)) => (Verdict::Redundant(mutation()?), reason.to_owned()),
        _ => bail!("'structure:' stands without 'find:' and 'redundant:'"),
    };
    let words: Vec<_> = need("test")?.split_whitespace().collect();
    let [package, target, test] = words[..] else { bail!("'test:' is not package, target and name") };
    Ok(Entry {
        place: place.to_owned(),
        rule: text("rule")?,
        verdict,
        suite: Suite { package: package.to_owned(), target: target.to_owned() },
        test: test.to_owned(),
        why,
    })
}

impl Entry {
    /// Whether `name` is its rule (`R14`), its list (`runtime.txt`) or its place (`runtime.txt:12`).
    pub fn is_called(&self, name: &str) -> bool {
        let list = self.place.split(':').next().unwrap_or_default();
        [&self.rule, &self.place, list].contains(&name)
    }

    /// The change of the entry, unless its rule holds by structure.
    pub fn mutation(&self) -> Option<&Mutation> {
        match &self.verdict {
            Verdict::Red(mutation) | Verdict::Redundant(mutation) => Some(mutation),
            Verdict::Structure => None,
        }
    }
}

impl Mutation {
    /// Makes the change in the text of its file.
    ///
    /// # Errors
    /// The text to replace, or the one before it, is not there or is there more than once.
    pub fn apply(&self, text: &str) -> Result<String> {
        let start = match self.after.as_str() {
            "" => {
                ensure!(text.matches(&self.find).count() <= 1, self.not_once(&self.find, text));
                0
            }
            after => {
                ensure!(text.matches(after).count() == 1, self.not_once(after, text));
                text.find(after).unwrap_or_default() + after.len()
            }
        };
        let at = text[start..].find(&self.find).with_context(|| self.not_once(&self.find, text))? + start;
        Ok([&text[..at], &self.with, &text[at + self.find.len()..]].concat())
    }

    fn not_once(&self, what: &str, text: &str) -> String {
        format!("'{what}' occurs {} times in {}, not once", text.matches(what).count(), self.file)
    }
}

/// The changes of `entries` that cannot be made in the tree at `root`, and why.
pub fn impossible<'a>(root: &Path, entries: impl IntoIterator<Item = &'a Entry>) -> Vec<String> {
    let error = |entry: &Entry| {
        let mutation = entry.mutation()?;
        let text = std::fs::read_to_string(root.join(&mutation.file)).unwrap_or_default();
        Some(format!("tests/mutants/{}: {}", entry.place, mutation.apply(&text).err()?))
    };
    entries.into_iter().filter_map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red where a line's number is also the beginning of others'.
    #[test]
    fn an_entry_is_chosen_by_its_rule_its_list_or_its_place_alone() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository's root");
        let all = entries(root).expect("well-formed lists");
        let entry = all.iter().find(|entry| entry.place.len() > "models.txt:9".len()).expect("a later line");
        let (list, line) = entry.place.split_once(':').expect("a list and a line");
        for name in [&entry.rule, &entry.place, list] {
            assert!(entry.is_called(name), "{name}");
        }
        for name in ["", &entry.rule[..1], &format!("{list}:{}", &line[..line.len() - 1])] {
            assert!(!entry.is_called(name), "{name}");
        }
    }
}
