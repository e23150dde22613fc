//! The `lockgate` program.
fn main() {}
