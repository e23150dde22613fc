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
    ("plugin", true),
    ("plugin-opt", true),
    ("as-needed", false),
    ("no-as-needed", false),
    ("push-state", false),
    ("pop-state", false),
    ("no-undefined", false),
    ("no-undefined-version", false),
    ("undefined-version", false),
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
const WITH_VALUE: &[&str] = &[
    "u",
    "undefined",
    "require-defined",
    "defsym",
    "wrap",
    "Map",
    "y",
    "trace-symbol",
    "sort-section",
    "section-start",
    "exclude-libs",
    "dynamic-list",
    "retain-symbols-file",
    "e",
    "entry",
    "init",
    "fini",
    "b",
    "format",
    "m",
];

/// Filters the linker's arguments one at a time, for a value may come with the next `-Wl`.
#[derive(Debug, Default)]
pub(super) struct LdOptions {
    expects: Option<Value>,
}

/// What comes with the next argument.
#[derive(Debug, Clone, Copy)]
enum Value {
    Ignored,
    Passed,
    Library,
    Folder,
    Versions,
}

/// What an argument is to the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    Ignored,
    /// ld should see it.
    Option,
    /// It says where parts lie, or the output, which is not its to say.
    Layout,
    /// An object or archive, to be rewritten like any other.
    File,
    /// `-lNAME`.
    Library(String),
    /// `-LFOLDER`.
    Folder(String),
    /// A version script: it names what is exported.
    Versions(String),
}

impl LdOptions {
    /// What this argument means.
    pub(super) fn meaning(&mut self, argument: &str) -> Meaning {
        match self.expects.take() {
            Some(Value::Ignored) => return Meaning::Ignored,
            Some(Value::Passed) => return Meaning::Option,
            Some(Value::Library) => return Meaning::Library(argument.to_owned()),
            Some(Value::Folder) => return Meaning::Folder(argument.to_owned()),
            Some(Value::Versions) => return Meaning::Versions(argument.to_owned()),
            None => (),
        }
        let Some(name) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else {
            return Meaning::File;
        };
        type Make = fn(String) -> Meaning;
        let short = argument.strip_prefix('-').filter(|name| !name.starts_with('-')).unwrap_or_default();
        let inputs = [
            ("l", "--library", Value::Library, Meaning::Library as Make),
            ("L", "--library-path", Value::Folder, Meaning::Folder as Make),
        ];
        for (letter, word, value, make) in inputs {
            let long = |argument: &'_ str| match argument.strip_prefix(word)? {
                "" => Some(String::new()),
                rest => rest.strip_prefix('=').map(str::to_owned),
            };
            match short.strip_prefix(letter).map(str::to_owned).or_else(|| long(argument)) {
                Some(attached) if attached.is_empty() => {
                    self.expects = Some(value);
                    return Meaning::Ignored;
                }
                Some(attached) => return make(attached),
                None => (),
            }
        }
        let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        if matches!(name, "script" | "default-script" | "dT" | "o" | "output") || short.starts_with('T') {
            return Meaning::Layout;
        }
        if name == "version-script" {
            self.expects = value.is_none().then_some(Value::Versions);
            return value.map_or(Meaning::Ignored, |path| Meaning::Versions(path.to_owned()));
        }
        if let Some((_, takes_value)) = IGNORED.iter().find(|(ignored, _)| *ignored == name) {
            self.expects = (*takes_value && value.is_none()).then_some(Value::Ignored);
            return Meaning::Ignored;
        }
        if WITH_VALUE.contains(&name) && value.is_none() {
            self.expects = Some(Value::Passed);
        }
        Meaning::Option
    }
}

#[cfg(test)]
mod tests {
    use super::{LdOptions, Meaning};

    #[test]
    fn what_ld_sees() {
        for (arguments, expected) in [
            ("-rpath /x --gc-sections", "--gc-sections"),
            ("-rpath=/x -soname libx.so.1 -z now", ""),
            ("--start-group --end-group", "--start-group --end-group"),
            ("-u main --defsym a=b -Map out.map", "-u main --defsym a=b -Map out.map"),
            ("--hash-style=gnu --build-id --whole-archive", "--whole-archive"),
            ("-e start", "-e start"),
            ("h.o -lz --library=m -L. --library-path /x -l :y.a", ""),
        ] {
            let mut options = LdOptions::default();
            let passed: Vec<&str> = arguments
                .split(' ')
                .filter(|argument| options.meaning(argument) == Meaning::Option)
                .collect();
            assert_eq!(passed.join(" "), expected, "{arguments}");
        }
    }

    #[test]
    fn inputs_among_the_linkers_arguments() {
        for (arguments, expected) in [
            ("h.o", Meaning::File),
            ("-lz", Meaning::Library("z".to_owned())),
            ("-l :y.a", Meaning::Library(":y.a".to_owned())),
            ("--library=m", Meaning::Library("m".to_owned())),
            ("-L.", Meaning::Folder(".".to_owned())),
            ("--library-path /x", Meaning::Folder("/x".to_owned())),
            ("-Tscript", Meaning::Layout),
            ("-T", Meaning::Layout),
            ("--script=x", Meaning::Layout),
            ("--output=x", Meaning::Layout),
            ("--trace-symbol=x", Meaning::Option),
            ("--version-script=x", Meaning::Versions("x".to_owned())),
            ("--version-script x", Meaning::Versions("x".to_owned())),
        ] {
            let mut options = LdOptions::default();
            let last = arguments.split(' ').map(|argument| options.meaning(argument)).last();
            assert_eq!(last, Some(expected), "{arguments}");
        }
    }
}
