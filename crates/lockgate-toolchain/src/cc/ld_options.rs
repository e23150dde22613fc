//! Options for the linker inside a compiler's command line (`-Wl,…`, `-Xlinker …`).

/// Options that make no sense for a module (it is static, has no soname, no run path, one hash style): ignored, because
/// build systems pass them without asking. The flag says whether a value follows as an argument of its own.
const IGNORED: &[(&str, bool)] = &[
    ("soname", true),
    ("h", true),
    ("rpath", true),
    ("rpath-link", true),
    ("dynamic-linker", true),
    ("z", true),
    ("version-script", true),
    ("plugin", true),
    ("plugin-opt", true),
    ("as-needed", false),
    ("no-as-needed", false),
    ("push-state", false),
    ("pop-state", false),
    ("no-undefined", false),
    ("enable-new-dtags", false),
    ("disable-new-dtags", false),
    ("export-dynamic", false),
    ("E", false),
    ("Bstatic", false),
    ("Bdynamic", false),
    ("Bsymbolic", false),
    ("Bsymbolic-functions", false),
    ("hash-style", false),
    ("build-id", false),
    ("O1", false),
    ("O2", false),
    ("pie", false),
    ("no-pie", false),
    ("static", false),
];

/// Options that are passed to ld with a value that may follow as an argument of its own.
const WITH_VALUE: &[&str] = &["u", "undefined", "defsym", "wrap", "Map", "y", "trace-symbol", "sort-section"];

/// Filters the linker's arguments one at a time, for a value may come with the next `-Wl`.
#[derive(Debug, Default)]
pub(super) struct LdOptions {
    expects: Option<Value>,
}

#[derive(Debug, Clone, Copy)]
enum Value {
    Ignored,
    Passed,
}

impl LdOptions {
    /// Whether ld should see this argument.
    pub(super) fn passes(&mut self, argument: &str) -> bool {
        match self.expects.take() {
            Some(Value::Ignored) => return false,
            Some(Value::Passed) => return true,
            None => (),
        }
        let Some(name) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else {
            return true;
        };
        let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        if let Some((_, takes_value)) = IGNORED.iter().find(|(ignored, _)| *ignored == name) {
            self.expects = (*takes_value && value.is_none()).then_some(Value::Ignored);
            return false;
        }
        if WITH_VALUE.contains(&name) && value.is_none() {
            self.expects = Some(Value::Passed);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::LdOptions;

    #[test]
    fn what_ld_sees() {
        for (arguments, expected) in [
            ("-rpath /x --gc-sections", "--gc-sections"),
            ("-rpath=/x -soname libx.so.1 -z now", ""),
            ("--start-group --end-group", "--start-group --end-group"),
            ("-u main --defsym a=b -Map out.map", "-u main --defsym a=b -Map out.map"),
            ("--hash-style=gnu --build-id --whole-archive", "--whole-archive"),
        ] {
            let mut options = LdOptions::default();
            let passed: Vec<&str> =
                arguments.split(' ').filter(|argument| options.passes(argument)).collect();
            assert_eq!(passed.join(" "), expected, "{arguments}");
        }
    }
}
