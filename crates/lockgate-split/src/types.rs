//! Options that decide what a type is. gcc compiles each source with its own, the stubs are made from its declarations at the link: the
//! declarations have to be read, and the stubs compiled, with the options that the source was compiled with.

/// Options that make other types, and those that take that back. Of a pair the last option of a command line counts.
struct Pair {
    makes: &'static [&'static str],
    undoes: &'static [&'static str],
}

/// With these, `lockgate.h` or what the C libraries declare is something else than it was when they were compiled.
const OTHER_ABI: [Pair; 9] = [
    Pair { makes: &["-fshort-enums"], undoes: &["-fno-short-enums"] },
    Pair { makes: &["-fshort-wchar"], undoes: &["-fno-short-wchar"] },
    Pair { makes: &["-fpack-struct", "-fpack-struct="], undoes: &["-fno-pack-struct"] },
    Pair { makes: &["-fsso-struct=big-endian"], undoes: &["-fsso-struct="] },
    Pair { makes: &["-fpcc-struct-return"], undoes: &["-freg-struct-return"] },
    Pair {
        makes: &["-funsigned-bitfields", "-fno-signed-bitfields"],
        undoes: &["-fsigned-bitfields", "-fno-unsigned-bitfields"],
    },
    Pair { makes: &["-mms-bitfields"], undoes: &["-mno-ms-bitfields"] },
    Pair { makes: &["-mabi=ms"], undoes: &["-mabi=sysv"] },
    Pair { makes: &["-mlong-double-64", "-mlong-double-128"], undoes: &["-mlong-double-80"] },
];

/// Those that libclang has as well, and that change nothing which others were compiled with.
const READ: [Pair; 2] = [
    Pair {
        makes: &["-funsigned-char", "-fno-signed-char"],
        undoes: &["-fsigned-char", "-fno-unsigned-char"],
    },
    Pair { makes: &["-fms-extensions"], undoes: &["-fno-ms-extensions"] },
];

impl Pair {
    /// The option that makes other types, if none behind it takes that back.
    fn made<'o>(&self, options: &'o [String]) -> Option<&'o str> {
        let of_both = |option: &&String| matches(self.makes, option) || matches(self.undoes, option);
        options.iter().rfind(of_both).map(String::as_str).filter(|option| matches(self.makes, option))
    }
}

/// Whether it is one of `names`; one that ends in `=` stands for all values.
fn matches(names: &[&str], option: &str) -> bool {
    names.iter().any(|name| option == *name || (name.ends_with('=') && option.starts_with(name)))
}

/// The first option with which no annotated source can be compiled.
pub fn refused(options: &[String]) -> Option<&str> {
    OTHER_ABI.iter().find_map(|pair| pair.made(options))
}

/// What a source's declarations are to be read with, and the stubs for them compiled: equal for sources whose types are equal.
pub fn of(options: &[String]) -> Vec<String> {
    READ.iter().filter(|pair| pair.made(options).is_some()).map(|pair| pair.makes[0].to_owned()).collect()
}

/// Whether the option decides what a type is.
pub fn decides(option: &str) -> bool {
    let mut all = OTHER_ABI.iter().chain(&READ);
    all.any(|pair| matches(pair.makes, option) || matches(pair.undoes, option))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_last_option_of_a_pair_counts() {
        for (line, option) in [
            ("-O2 -fno-pack-struct -fpack-struct=8 -g", Some("-fpack-struct=8")),
            ("-fpack-struct -fno-pack-struct", None),
            ("-fsso-struct=big-endian -fsso-struct=native", None),
            ("-fsso-struct=little-endian -fsso-struct=big-endian", Some("-fsso-struct=big-endian")),
            ("-mlong-double-64 -mlong-double-80 -mabi=sysv", None),
            ("-fno-signed-bitfields", Some("-fno-signed-bitfields")),
        ] {
            assert_eq!(refused(&split(line)), option, "{line}");
        }
        for (line, read) in [
            ("-fno-signed-char -O2", &["-funsigned-char"][..]),
            ("-funsigned-char -fsigned-char", &[]),
            ("-fms-extensions -fsigned-char -funsigned-char", &["-funsigned-char", "-fms-extensions"]),
        ] {
            assert_eq!(of(&split(line)), read, "{line}");
        }
    }
}
