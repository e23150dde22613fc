//! What names say of results, so that no value stands for a failure that programs would take for an answer.
/// The words of a name: between `_`, and where capitals begin (`TIFFIsTiled`: the last of several, before a small letter, begins the next word).
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = '_';
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        let inner = last.is_ascii_uppercase() && !rest.peek().is_some_and(char::is_ascii_lowercase);
        let begins = c == '_' || c.is_ascii_uppercase() && !inner;
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c != '_'
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
        last = c;
    }
    words
}

/// A function of this name answers yes or no, it seems.
pub(super) fn asks(name: &str) -> bool {
    const QUESTIONS: &[&str] = &[
        "is",
        "has",
        "have",
        "can",
        "may",
        "valid",
        "validate",
        "verify",
        "verified",
        "check",
        "equal",
        "equals",
        "match",
        "matches",
        "contains",
        "exists",
        "allowed",
        "permitted",
        "trusted",
        "authorized",
        "authorised",
        "authenticate",
        "authenticated",
        "enabled",
    ];
    words(name).iter().any(|word| QUESTIONS.contains(&word.as_str()))
}

/// A type of this name says how a call went, it seems.
pub(super) fn tells(name: &str) -> bool {
    const HOW: &[&str] =
        &["err", "error", "errno", "status", "result", "ret", "rc", "code", "retcode", "errcode"];
    words(name).iter().any(|word| HOW.contains(&word.as_str()))
}

/// A function of this name says how many there are of something, and does nothing else: 0 is none.
pub(super) fn counts(name: &str) -> bool {
    const COUNTS: &[&str] = &[
        "count",
        "counts",
        "size",
        "length",
        "len",
        "width",
        "height",
        "total",
        "capacity",
        "available",
        "remaining",
    ];
    // These say so at any place: `num_items`, `sizeof_context`.
    const NUMBERS: &[&str] = &["num", "sizeof"];
    // What does something says how that went, whatever it is called beside it (`set_size`, `parse_count`), and
    // 0 is success to many: of what a verb of these stands in, its author says what a failure is.
    const DOES: &[&str] = &[
        "abort",
        "accept",
        "acquire",
        "add",
        "adjust",
        "advance",
        "alloc",
        "allocate",
        "append",
        "apply",
        "assign",
        "attach",
        "begin",
        "bind",
        "build",
        "calloc",
        "cancel",
        "change",
        "clean",
        "cleanup",
        "clear",
        "close",
        "commit",
        "compress",
        "compute",
        "configure",
        "connect",
        "consume",
        "convert",
        "copy",
        "create",
        "decode",
        "decompress",
        "decrease",
        "decrypt",
        "del",
        "delete",
        "destroy",
        "detach",
        "disable",
        "discard",
        "do",
        "drain",
        "drop",
        "dup",
        "emit",
        "enable",
        "encode",
        "encrypt",
        "end",
        "ensure",
        "erase",
        "execute",
        "expand",
        "extend",
        "fetch",
        "fill",
        "final",
        "finalize",
        "finish",
        "flush",
        "free",
        "grow",
        "increase",
        "inflate",
        "deflate",
        "init",
        "initialise",
        "initialize",
        "insert",
        "limit",
        "load",
        "lock",
        "make",
        "malloc",
        "map",
        "merge",
        "modify",
        "move",
        "new",
        "open",
        "parse",
        "pop",
        "prepare",
        "process",
        "push",
        "put",
        "read",
        "realloc",
        "receive",
        "recv",
        "reduce",
        "ref",
        "refresh",
        "register",
        "release",
        "reload",
        "remove",
        "replace",
        "request",
        "reserve",
        "reset",
        "resize",
        "restore",
        "run",
        "save",
        "seek",
        "send",
        "set",
        "setup",
        "shrink",
        "shutdown",
        "skip",
        "start",
        "stop",
        "store",
        "submit",
        "swap",
        "sync",
        "take",
        "transform",
        "trim",
        "truncate",
        "try",
        "unlock",
        "unref",
        "update",
        "use",
        "wait",
        "write",
    ];
    // None of these is what a program hopes for.
    const BAD: &[&str] =
        &["err", "error", "errors", "failure", "failures", "failed", "fault", "faults", "warnings"];
    const TALLIES: &[&str] = &["count", "counts", "total", "num"];
    let words = words(name);
    let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let counts = words.last().is_some_and(|word| COUNTS.contains(&word.as_str())) || any(NUMBERS);
    let other = any(DOES) || any(BAD) && any(TALLIES) || asks(name);
    counts && !other
}

#[cfg(test)]
mod tests {
    use super::{asks, counts, tells};

    #[test]
    fn names_that_ask_and_names_that_tell() {
        for name in [
            "sig_valid",
            "isValid",
            "is_open",
            "XML_HasMore",
            "can_read",
            "tokenMatches",
            "verifySignature",
            "TIFFIsTiled",
        ] {
            assert!(asks(name), "{name}");
        }
        for name in
            ["island", "history", "scan", "hash", "parse", "checksum", "validity", "canvas_new", "ISBNText"]
        {
            assert!(!asks(name), "{name}");
        }
        for name in [
            "ini_count",
            "getErrorLength",
            "image_width",
            "num_items",
            "itemCount",
            "ZSTD_sizeof_CCtx",
            "CStreamInSize",
        ] {
            assert!(counts(name), "{name}");
        }
        for name in [
            "set_size",
            "x_setSize",
            "setsize",
            "x_reset",
            "x_decompress",
            "is_length",
            "check_count",
            "status",
            "uLong",
            "resize_length",
            "CK_RV",
            "ZSTD_CCtx_setParameter",
            "ZSTD_CCtx_setPledgedSrcSize",
            "ZSTD_freeCCtx",
            "ZSTD_initCStream",
            "error_count",
            "parse_num",
            "tryGetSize",
        ] {
            assert!(!counts(name), "{name}");
        }
        for name in ["status_t", "LZ4F_errorCode_t", "my_error", "rc_t", "ResultCode"] {
            assert!(tells(name), "{name}");
        }
        for name in ["size_t", "uint32_t", "uLong", "encoder_t", "XML_Size"] {
            assert!(!tells(name), "{name}");
        }
    }
}
