//! `slow.txt`: the test programs that `make check` leaves out.
use crate::target::Target;
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slow {
    /// The crate.
    pub package: String,
    /// The test target or suite, `lib` for unit tests; none: all of the crate's in its folder `tests`.
    pub target: Option<String>,
    /// What it takes of two processors, about.
    pub seconds: u32,
    /// Nothing else runs at the same time.
    pub alone: bool,
}

impl Slow {
    /// Whether the line means that target.
    pub fn is_about(&self, target: &Target) -> bool {
        let is_named = self.target.as_ref().map_or(target.is_integration, |own| *own == target.name);
        self.package == target.package && is_named
    }
}

/// The list of the tree at `root`.
///
/// # Errors
/// Names the line that is not of the form that README.md describes.
pub fn slow(root: &Path) -> Result<Vec<Slow>> {
    let path = root.join("tests/lanes/slow.txt");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| parse(line).with_context(|| format!("{}:{number}", path.display()))).collect()
}

fn parse(line: &str) -> Result<Slow> {
    let mut words = line.split_whitespace();
    let package = words.next().context("a crate")?.to_owned();
    let target = words.next().context("a test target, or *")?;
    let seconds = words.next().context("seconds")?.parse().context("seconds")?;
    let alone = words.next();
    ensure!(alone.is_none_or(|word| word == "alone") && words.next().is_none(), "unknown words");
    let target = (target != "*").then(|| target.to_owned());
    Ok(Slow { package, target, seconds, alone: alone.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let slow = parse("a  b 12 alone").expect("a line");
        let expected = Slow { package: "a".into(), target: Some("b".into()), seconds: 12, alone: true };
        assert_eq!(slow, expected);
        let target = |package: &str, name: &str| Target {
            package: package.into(),
            name: name.into(),
            is_integration: name != "lib",
        };
        assert!(slow.is_about(&target("a", "b")));
        assert!(!slow.is_about(&target("a", "c")) && !slow.is_about(&target("b", "b")));
        let all = parse("a * 3").expect("a line");
        assert!(!all.alone && all.is_about(&target("a", "c")));
        assert!(!all.is_about(&target("a", "lib")) && !all.is_about(&target("b", "c")));
        for wrong in ["a", "a b", "a b c", "a b 1 c", "a b 1 alone d"] {
            parse(wrong).expect_err(wrong);
        }
    }
}
