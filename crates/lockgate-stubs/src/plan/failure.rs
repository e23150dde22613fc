//! What names say of results, so that no value stands for a failure that programs would take for an answer.

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

#[cfg(test)]
mod tests {
    use super::{asks, tells};

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
        for name in ["status_t", "LZ4F_errorCode_t", "my_error", "rc_t", "ResultCode"] {
            assert!(tells(name), "{name}");
        }
        for name in ["size_t", "uint32_t", "uLong", "encoder_t", "XML_Size"] {
            assert!(!tells(name), "{name}");
        }
    }
}
