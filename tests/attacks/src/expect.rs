//! How an attack has to end, and how it ended.
use serde::{Deserialize, Serialize};
use std::fmt;

/// `[expect.…]` of `attack.toml`. Texts are parts of what the project says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Expect {
    /// No module comes of it.
    Rejected {
        /// Who says no.
        by: By,
        /// The verifier's rule.
        rule: Option<String>,
        /// Part of the reason.
        reason: String,
    },
    /// The call ends with a report of a fault.
    Fault {
        /// Kind, as in JSON reports: `segv`, `ill`, `stack_overflow` …; any if there is none: where a truncated address of the
        /// host leads to is chance.
        kind: Option<String>,
        /// Part of the reason.
        reason: Option<String>,
        /// `read`, `write` or `execute`.
        access: Option<String>,
        /// Function that the report names.
        function: Option<String>,
    },
    /// The call returns: what the module did, it did to itself.
    Returns {
        /// The value; any if there is none.
        value: Option<i64>,
    },
    /// The host is told no by a function of the library.
    Refused {
        /// Part of the reason.
        reason: String,
    },
}

/// Who refuses a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The rewriter.
    Rewriter,
    /// The linker, before there is a module.
    Linker,
    /// The parse of the module file.
    Loader,
    /// The verifier.
    Verifier,
}

/// How an attack ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// No module came of it.
    Rejected {
        /// Who said no.
        by: By,
        /// The verifier's rule.
        rule: Option<String>,
        /// In full.
        reason: String,
    },
    /// The call ended with a report of a fault.
    Fault {
        /// Kind, as in JSON reports.
        kind: String,
        /// In full.
        reason: String,
        /// What was wanted of memory, if anything.
        access: Option<String>,
        /// Function that the report names, if any.
        function: Option<String>,
    },
    /// The call returned.
    Returned(i64),
    /// The library said no.
    Refused(String),
}

impl Expect {
    /// Why `ending` is another one than expected; `None` if it is not.
    pub fn contradicts(&self, ending: &Ending) -> Option<String> {
        let same = |wanted: &Option<String>, got: &Option<String>| wanted.is_none() || wanted == got;
        let fits = match (self, ending) {
            (
                Expect::Rejected { by, rule, reason },
                Ending::Rejected { by: who, rule: broken, reason: why },
            ) => by == who && same(rule, broken) && why.contains(reason),
            (
                Expect::Fault { kind, reason, access, function },
                Ending::Fault { kind: what, reason: why, access: wanted, function: place },
            ) => {
                let says = |reason: &String| why.contains(reason);
                kind.as_ref().is_none_or(|kind| kind == what)
                    && reason.as_ref().is_none_or(says)
                    && same(access, wanted)
                    && same(function, place)
            }
            (Expect::Returns { value }, Ending::Returned(got)) => value.is_none_or(|value| value == *got),
            (Expect::Refused { reason }, Ending::Refused(why)) => why.contains(reason),
            _ => false,
        };
        (!fits).then(|| format!("expected: {self}; got: {ending}"))
    }

    /// In a word or two.
    pub fn verdict(&self) -> String {
        match self {
            Expect::Rejected { by, rule, .. } => rejected(*by, rule.as_deref()),
            Expect::Fault { kind, .. } => format!("fault {}", kind.as_deref().unwrap_or("of any kind")),
            Expect::Returns { .. } => "returns".to_owned(),
            Expect::Refused { .. } => "refused".to_owned(),
        }
    }
}

impl Ending {
    /// In a word or two, as [`Expect::verdict`].
    pub fn verdict(&self) -> String {
        match self {
            Ending::Rejected { by, rule, .. } => rejected(*by, rule.as_deref()),
            Ending::Fault { kind, .. } => format!("fault {kind}"),
            Ending::Returned(_) => "returns".to_owned(),
            Ending::Refused(_) => "refused".to_owned(),
        }
    }
}

fn rejected(by: By, rule: Option<&str>) -> String {
    format!("rejected {}", rule.map_or(format!("by {by}"), str::to_owned))
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            By::Rewriter => "rewriter",
            By::Linker => "linker",
            By::Loader => "loader",
            By::Verifier => "verifier",
        })
    }
}

/// What is there of some named texts.
fn details<const N: usize>(f: &mut fmt::Formatter<'_>, parts: [(&str, &Option<String>); N]) -> fmt::Result {
    let there = parts.into_iter().filter_map(|(what, text)| Some((what, text.as_ref()?)));
    there.into_iter().try_for_each(|(what, text)| write!(f, ", {what}{text}"))
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verdict())?;
        match self {
            Expect::Rejected { reason, .. } | Expect::Refused { reason } => write!(f, ": {reason:?}"),
            Expect::Fault { reason, access, function, .. } => {
                details(f, [("", reason), ("access ", access), ("in ", function)])
            }
            Expect::Returns { value: Some(value) } => write!(f, " {value}"),
            Expect::Returns { value: None } => Ok(()),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verdict())?;
        match self {
            Ending::Rejected { by, reason, .. } => write!(f, " by the {by}: {reason}"),
            Ending::Fault { reason, access, function, .. } => {
                write!(f, ": {reason}")?;
                details(f, [("access ", access), ("in ", function)])
            }
            Ending::Returned(value) => write!(f, " {value}"),
            Ending::Refused(reason) => write!(f, ": {reason}"),
        }
    }
}
