//! Names of C++ and Rust as their authors wrote them. They come from untrusted files: what is read and what is written is bounded.

use cpp_demangle::{BorrowedSymbol, DemangleNodeType, DemangleOptions, DemangleWrite, ParseOptions};
use std::fmt;

/// Bytes of a mangled name that is looked at: what compilers make of real programs is mostly shorter.
pub const LONGEST_MANGLED: usize = 2048;

/// Bytes that are written at most before a name is given up: substitutions can double it with each letter.
const MOST_WRITTEN: usize = 16 << 10;

/// How deep a name may be nested.
const DEEPEST: u32 = 64;

/// The longest one that is shown whole in a report, bytes.
const LONG: usize = 100;

/// Bytes of a name of rustc's that is looked at: each may refer to the others, and takes stack when it is written.
const LONGEST_OF_RUST: usize = 512;

/// The name of C++, with its parameters, or of Rust that `symbol` stands for, or `None` if it stands for none.
pub fn demangled(symbol: &str) -> Option<String> {
    of_rust(symbol).or_else(|| of_cxx(symbol))
}

/// The same for reports: parameters are left out of what is long, and so are template arguments within others'.
pub fn demangled_short(symbol: &str) -> Option<String> {
    if let Some(name) = of_rust(symbol) {
        return Some(name);
    }
    let whole = of_cxx(symbol)?;
    if whole.len() <= LONG {
        return Some(whole);
    }
    let without = write(symbol, DemangleOptions::new().no_return_type().no_params()).unwrap_or(whole);
    Some(if without.len() <= LONG { without } else { shortened(&without) })
}

/// The name if rustc has mangled it, as far as a report shows it. (C++'s names have no hash at the end, as rustc's old form has.)
fn of_rust(symbol: &str) -> Option<String> {
    let path = rustc_demangle::try_demangle(symbol).ok().filter(|_| symbol.len() <= LONGEST_OF_RUST)?;
    let mut text = Cut(String::new());
    let cut = fmt::write(&mut text, format_args!("{path:#}")).is_err();
    let end = if cut { "…" } else { "" };
    Some(crate::printable(&(text.0 + end)))
}

/// Takes as much as is shown, and then an end.
struct Cut(String);

impl fmt::Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = 2 * LONG - self.0.len();
        let end = (0..=room.min(text.len())).rfind(|&at| text.is_char_boundary(at)).unwrap_or(0);
        self.0.push_str(&text[..end]);
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

fn of_cxx(symbol: &str) -> Option<String> {
    write(symbol, DemangleOptions::new().no_return_type())
}

fn write(symbol: &str, options: DemangleOptions) -> Option<String> {
    if !symbol.starts_with("_Z") || symbol.len() > LONGEST_MANGLED {
        return None;
    }
    let parsing = ParseOptions::default().recursion_limit(DEEPEST);
    let parsed = BorrowedSymbol::new_with_options(symbol.as_bytes(), &parsing).ok()?;
    let mut text = Bounded(String::new());
    parsed.structured_demangle(&mut text, &options.recursion_limit(DEEPEST)).ok()?;
    Some(crate::printable(&text.0))
}

struct Bounded(String);

impl DemangleWrite for Bounded {
    fn push_demangle_node(&mut self, _: DemangleNodeType) {}

    fn pop_demangle_node(&mut self) {}

    fn write_string(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MOST_WRITTEN {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// `name` with what stands in angle brackets within others left out.
fn shortened(name: &str) -> String {
    let mut short = String::new();
    let (mut depth, mut before) = (0_usize, "");
    for (at, c) in name.char_indices() {
        let is_operator = before.ends_with("operator") || before.ends_with("operator<");
        let is_arrow = before.ends_with('-');
        match c {
            '<' if !is_operator => {
                depth += 1;
                if depth == 2 {
                    short.push_str("<…>");
                }
            }
            '>' if !is_operator && !is_arrow && depth > 0 => {
                depth -= 1;
                if depth == 1 {
                    before = &name[..=at];
                    continue;
                }
            }
            _ => (),
        }
        if depth < 2 {
            short.push(c);
        }
        before = &name[..at + c.len_utf8()];
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rust() {
        for (name, expected) in [
            (
                "_ZN4core6option15Option$LT$T$GT$6unwrap17h0123456789abcdefE",
                Some("core::option::Option<T>::unwrap"),
            ),
            ("_RNvNtCs7BliBxkEZsN_4core9panicking9panic_fmt", Some("core::panicking::panic_fmt")),
            ("_R", None),
        ] {
            assert_eq!(demangled(name).as_deref(), expected);
        }
        // Each reference to what was said before doubles the name; what is shown stays short, and comes soon.
        let doubled = format!("_RINvC1a1bT{}EE", (0..60).map(|_| "B7_").collect::<String>());
        let long = format!("_RINvC1a1b{}lE", "R".repeat(490));
        for name in [doubled, long] {
            assert!(
                demangled_short(&name).is_none_or(|name| name.len() <= 2 * LONG + '…'.len_utf8()),
                "{name}"
            );
        }
    }

    #[test]
    fn names() {
        for (symbol, expected) in [
            ("_ZN5space3fooEii", Some("space::foo(int, int)")),
            ("_ZNK3One3twoEv", Some("One::two() const")),
            ("_Z4mainv.cold", Some("main() [clone .cold]")),
            (
                "_ZNSt6vectorIiSaIiEE9push_backEOi",
                Some("std::vector<int, std::allocator<int> >::push_back(int&&)"),
            ),
            ("main", None),
            ("_Z", None),
            ("_Z3fo", None),
            ("_Z3fooijunk", None),
            ("", None),
        ] {
            assert_eq!(demangled(symbol).as_deref(), expected, "{symbol}");
        }
    }

    #[test]
    fn long_names_are_shortened() {
        let name =
            "std::map<std::vector<int, std::allocator<int> >, int, std::less<std::vector<int> > >::operator<";
        assert_eq!(shortened(name), "std::map<std::vector<…>, int, std::less<…> >::operator<");
        assert_eq!(shortened("a<b<c>::operator-><d> >::f"), "a<b<…>::operator-><…> >::f");
        let symbol = "_ZNSt13__future_base17_Async_state_implINSt6thread8_InvokerISt5tupleIJZ4mainEUliiE0_iiEEEEiE6_M_runEv.cold";
        let short = demangled_short(symbol).unwrap();
        assert_eq!(short, "std::__future_base::_Async_state_impl<std::thread::_Invoker<…>, int>::_M_run");
    }

    /// Names that would be gigabytes, and names at random: an answer comes soon, and is no longer than it may be.
    #[test]
    fn hostile_names_cost_little() {
        let mut names = vec![
            format!("_Z1fI{}E", (0..36).map(|_| "1aIS_S_E").collect::<String>()),
            format!("_Z{}", "N".repeat(2000)),
            format!("_Z1f{}i", "P".repeat(2000)),
            format!("_Z1fI{}", "X".repeat(2000)),
            format!("_Z1fIXsr{}", "T_I".repeat(600)),
            format!("_Z1fIX{}", "cv".repeat(900)),
            format!("_Z{}1f", "GTt".repeat(600)),
            format!("_Z1f{}", "DpT_".repeat(500)),
            format!("_Z1f{}", "FvFv".repeat(500)),
            "_Z1fI1aS1_".to_owned() + &(0..300).map(|i| format!("3b{i:02x}IS{i}_S{i}_E")).collect::<String>(),
        ];
        let pieces = [
            "N", "E", "I", "S_", "S0_", "S1_", "T_", "T0_", "1a", "2bc", "X", "J", "sr", "cv", "DT", "Dp",
            "F", "v", "i", "P", "R", "K", "L", "Z", "Ul", "C1", "D0", "St", "Ss", "dl", "cl", "fp_", "il",
            "tl", "on", "sZ", "sz", "ad", "mi", "qu", "Ut_", "_", "B1x",
        ];
        let mut state = 88_172_645_463_325_252_u64;
        for _ in 0..2000 {
            let mut name = "_Z".to_owned();
            while name.len() < 1000 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                name += pieces[(state % pieces.len() as u64) as usize];
            }
            names.push(name);
        }
        for name in names {
            let started = std::time::Instant::now();
            let text = demangled_short(&name).unwrap_or_default();
            assert!(text.len() <= MOST_WRITTEN, "{name}");
            assert!(started.elapsed().as_secs() < 10, "{name}: {:?}", started.elapsed());
        }
    }
}
