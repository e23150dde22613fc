//! What the benchmarks are asked for.

/// How to measure.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Few samples: shows that everything works, proves no target.
    pub quick: bool,
    /// Of the families whose metrics are statements or programs, only those whose names begin so.
    pub only: Option<String>,
}

impl Options {
    /// Those of `all` that are asked for, by their metrics' names.
    ///
    /// # Errors
    /// None is.
    pub(crate) fn chosen<'a, T>(
        &self,
        all: &'a [T],
        name: impl Fn(&T) -> &str,
    ) -> anyhow::Result<Vec<&'a T>> {
        let is_wanted = |one: &&T| self.only.as_ref().is_none_or(|only| name(one).starts_with(only.as_str()));
        let chosen: Vec<&T> = all.iter().filter(is_wanted).collect();
        if let (true, Some(only)) = (chosen.is_empty(), &self.only) {
            let names: Vec<&str> = all.iter().map(name).collect();
            anyhow::bail!("no metric begins with '{only}'; there are {}", names.join(", "));
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn what_is_chosen_begins_with_the_prefix() {
        let all = ["a.x", "a.y", "b.x"];
        let chosen = |only: Option<&str>| {
            let options = Options { only: only.map(str::to_owned), ..Options::default() };
            options.chosen(&all, |name| name).map(|chosen| chosen.into_iter().copied().collect::<Vec<_>>())
        };
        assert_eq!(chosen(None).unwrap(), all);
        assert_eq!(chosen(Some("a.")).unwrap(), ["a.x", "a.y"]);
        assert!(chosen(Some("x")).unwrap_err().to_string().contains("a.x, a.y, b.x"));
    }
}
