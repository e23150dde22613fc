//! Draws the pictures of layers in the documents anew (`make layers`).
#![forbid(unsafe_code)]

use std::fs;

fn main() -> std::io::Result<()> {
    for page in hygiene::PICTURES {
        let path = hygiene::root().join(page);
        let text = fs::read_to_string(&path)?;
        fs::write(path, hygiene::with_pictures(&text))?;
    }
    Ok(())
}
