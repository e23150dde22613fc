//! Counts the findings anew in the page about them (`make findings`).
#![forbid(unsafe_code)]

use hygiene::findings;
use std::fs;

fn main() -> std::io::Result<()> {
    let path = hygiene::root().join(findings::PAGE);
    let text = fs::read_to_string(&path)?;
    fs::write(path, findings::with_counts(&text, &findings::findings()))
}
