//! What is said of memory that a call, or a structure, gives to the library.
use super::steps::{Value, cast, number, run, text, word, zero};

/// How long data is given.
pub fn how_long(kept: bool, for_call: bool) -> Value {
    word(match (kept, for_call) {
        (true, _) => "LGS_FOR_GOOD",
        (_, true) => "LGS_FOR_CALL",
        _ => "LGS_FOR_HANDLE",
    })
}

/// The data of `object`, with the functions that it comes with.
pub fn data(given: Value, callbacks: &[Value], long: &Value, field: Option<&str>, what: &str) -> Value {
    let code = |function: &Value| cast("lg_code", function.clone());
    let with = match callbacks {
        [] => zero(),
        all => cast("const lg_code[]", Value::List(all.iter().map(code).collect())),
    };
    run(
        "lgs_data",
        [given, with, number(callbacks.len()), long.clone(), field.map_or(zero(), text), text(what)],
    )
}

/// The flags of a buffer that goes in.
pub fn flags(reads: bool, writes: bool) -> String {
    let named = [(reads, "LGS_READS"), (writes, "LGS_WRITES")];
    let set: Vec<&str> = named.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    if set.is_empty() { "0".to_owned() } else { set.join(" | ") }
}
