//! What the C library of programs defines: a client's function of the same name would take its place.
use object::{Object as _, ObjectSymbol as _};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Where it is, unless this process says otherwise.
const PLACES: [&str; 4] =
    ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib64/libc.so.6", "/usr/lib/libc.so.6"];

/// Whether the C library has a function or variable of this name. (It has none at all where it is not found: no program is linked there either.)
pub fn defines(name: &str) -> bool {
    static NAMES: OnceLock<BTreeSet<String>> = OnceLock::new();
    NAMES.get_or_init(|| places().iter().find_map(names).unwrap_or_default()).contains(name)
}

/// The one that this process has, if it has it as a file; then the usual ones.
fn places() -> Vec<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let own = maps.lines().filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])));
    let own = own.filter(|path| path.file_name().is_some_and(|name| name == "libc.so.6"));
    own.chain(PLACES.map(PathBuf::from)).collect()
}

fn names(path: &PathBuf) -> Option<BTreeSet<String>> {
    let bytes = lockgate_outside::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_global() && !symbol.is_undefined());
    Some(defined.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::defines;

    #[test]
    fn the_c_library_is_found() {
        for name in ["strlen", "close", "geteuid", "malloc"] {
            assert!(defines(name), "{name}");
        }
        assert!(!defines("inflate"));
    }
}
