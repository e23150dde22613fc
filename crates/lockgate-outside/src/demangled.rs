//! Names of C++ as their authors wrote them. They come from files that nobody vouches for: what is read and what is written is bounded.

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

/// The name of C++ that `symbol` stands for, with its parameters, or `None` if it stands for none.
pub fn demangled(symbol: &str) -> Option<String> {
    write(symbol, DemangleOptions::new().no_return_type())
}

/// The same for reports: parameters are left out of what is long, and so are template arguments within others'.
pub fn demangled_short(symbol: &str) -> Option<String> {
    let whole = demangled(symbol)?;
    if whole.len() <= LONG {
        return Some(whole);
    }
    let without = write(symbol, DemangleOptions::new().no_return_type().no_params()).unwrap_or(whole);
    Some(if without.len() <= LONG { without } else { shortened(&without) })
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
            assert!(started.elapsed().as_millis() < 1000, "{name}: {:?}", started.elapsed());
        }
    }
}
