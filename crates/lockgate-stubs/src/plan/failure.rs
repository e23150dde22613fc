//! What names say of results, so that no value stands for a failure that programs would take for an answer.
use crate::header::model::CType;

/// The words of a name: between `_`, and where capitals begin.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = '_';
    for c in name.chars() {
        let begins = c == '_' || c.is_ascii_uppercase() && !last.is_ascii_uppercase();
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

/// What is called so is a number of things: 0 is none.
pub(super) fn names_count(name: &str) -> bool {
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
    // What changes a length says how that went.
    const CHANGES: &[&str] =
        &["set", "reset", "init", "put", "change", "adjust", "reserve", "resize", "truncate", "alloc"];
    let words = words(name);
    let counts = words.last().is_some_and(|word| COUNTS.contains(&word.as_str()));
    counts && !words.iter().any(|word| CHANGES.contains(&word.as_str())) && !asks(name)
}

/// A result without a sign is a number of things, by its type or by its function's name.
pub(super) fn counts(result: &CType, function: &str) -> bool {
    let mut types = result.names.iter().chain([&result.spelling]);
    let of_type = types.any(|name| name == "size_t" || names_count(name));
    names_count(function) || of_type && !asks(function) && !tells(function)
}

#[cfg(test)]
mod tests {
    use super::{asks, names_count, tells};

    #[test]
    fn names_that_ask_and_names_that_tell() {
        for name in
            ["sig_valid", "isValid", "is_open", "XML_HasMore", "can_read", "tokenMatches", "verifySignature"]
        {
            assert!(asks(name), "{name}");
        }
        for name in ["island", "history", "scan", "hash", "parse", "checksum", "validity", "canvas_new"] {
            assert!(!asks(name), "{name}");
        }
        for name in ["XML_Size", "ini_count", "getErrorLength", "image_width"] {
            assert!(names_count(name), "{name}");
        }
        for name in ["set_size", "is_length", "check_count", "status", "uLong", "resize_length", "CK_RV"] {
            assert!(!names_count(name), "{name}");
        }
        for name in ["status_t", "LZ4F_errorCode_t", "my_error", "rc_t", "ResultCode"] {
            assert!(tells(name), "{name}");
        }
        for name in ["size_t", "uint32_t", "uLong", "encoder_t", "XML_Size"] {
            assert!(!tells(name), "{name}");
        }
    }
}
