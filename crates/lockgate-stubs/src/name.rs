//! Names: of libraries and domains, which become words of C, files and variables of the environment, and of what clients declare, where
//! each language and each client's own text has words of its own.

/// Longest name of a library or a domain.
const LONGEST: usize = 64;

/// Variables that mean something else to Lockgate: `LOCKGATE_` and one of these.
const VARIABLES: [&str; 13] = [
    "BUILD",
    "CACHE",
    "CALL_GRAPH",
    "GCC",
    "LIBRARY",
    "MEASURE",
    "MUSL",
    "PERF_MAP",
    "PYTHON",
    "SPLIT",
    "STUBS",
    "TEST",
    "VERSION",
];

/// The variable of the environment that says where the module of the library or domain `name` is.
pub fn variable(name: &str) -> String {
    format!("LOCKGATE_{}", word(name).to_uppercase())
}

/// Whether `name` can be the name of a library or a domain.
///
/// # Errors
/// Why not.
pub fn check(name: &str) -> Result<(), String> {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let shown = lockgate_outside::printable(name);
    if !first || !plain || name.len() > LONGEST {
        return Err(format!(
            "{shown:?} cannot be the name of a domain: it has a letter and then letters, digits, - and _, at most {LONGEST}"
        ));
    }
    let variable = variable(name);
    let word = &variable["LOCKGATE_".len()..];
    // (The client of `x` itself is found by the variable of `x_client`.)
    if VARIABLES.contains(&word) || word.ends_with("_CLIENT") {
        return Err(format!(
            "{shown:?} cannot be the name of a domain: the variable {variable} of the environment, which says where its module is, means \
             something else to Lockgate; give it another name"
        ));
    }
    Ok(())
}

/// Whether a name of the header's means something in every client: those in C begin all of theirs like this.
pub fn is_ours(name: &str) -> bool {
    // (`lockgate` is a namespace in C++.)
    ["lgs", "lockgate"].contains(&name)
        || ["lg_", "lgs_", "LG_", "LGS_", "lockgate_"].iter().any(|start| name.starts_with(start))
}

/// Whether a stub's own text uses `name`, as what C's headers declare: no parameter can have it.
pub fn is_called(name: &str) -> bool {
    const CALLED: [&str; 20] = [
        "abort",
        "bool",
        "errno",
        "free",
        "int64_t",
        "intptr_t",
        "jmp_buf",
        "longjmp",
        "memcpy",
        "memset",
        "offsetof",
        "ptrdiff_t",
        "size_t",
        "ssize_t",
        "strlen",
        "uint32_t",
        "uint64_t",
        "uintptr_t",
        "va_list",
        "va_start",
    ];
    CALLED.contains(&name)
}

/// A word of C made of `text`.
pub fn word(text: &str) -> String {
    let plain = text.strip_prefix("struct ").or_else(|| text.strip_prefix("union ")).unwrap_or(text);
    plain.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_reading() {
        for good in ["zlib", "a-b", "Z", "parser2", "measured", "client"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let long = "x".repeat(LONGEST + 1);
        for bad in [
            "", "2d", "_x", "a b", "a.b", "a\"b", "é", "measure", "Measure", "perf-map", "perf_map", "cache",
            "library", "musl", "gcc", "z_client", "z-Client", &long,
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        assert_eq!(variable("a-b"), variable("A_B"));
    }
}
