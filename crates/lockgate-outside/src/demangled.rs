//! Names of C++ and Rust as their authors wrote them. They come from untrusted files: what is read and what is written is bounded.

use cpp_demangle::{BorrowedSymbol, DemangleNodeType, DemangleOptions, DemangleWrite, ParseOptions};
use std::fmt;

/// Bytes of a mangled name that is looked at: what compilers make of real programs is mostly shorter.
pub const LONGEST_MANGLED: usize = 2048;

/// Bytes that are written at most before a name is given up: substitutions can double it with each letter.
const MOST_WRITTEN: usize = 16 << 10;

/// How deep a name may be nested, where there is room for it.
const DEEPEST: usize = 64;

/// Stack that a level of a name of C++ takes at most, and what it takes besides, bytes: measured, and doubled.
const LEVEL: usize = 12 << 10;
const BESIDES: usize = 24 << 10;

/// Stack that a byte of a name of Rust takes at most: each may be a level.
const LEVEL_OF_RUST: usize = 512;

/// Room for all that is looked at: `room` of a thread that has a stack of a mebibyte or more.
pub const ROOM: usize = 1 << 20;

/// The longest one that is shown whole in a report, bytes.
const LONG: usize = 100;

/// Bytes of a name of rustc's that is looked at: each may refer to the others, and takes stack when it is written.
const LONGEST_OF_RUST: usize = 512;

/// The name of C++, with its parameters, or of Rust that `symbol` stands for, or `None` if it stands for none. It takes no more than `room`
/// bytes of the calling thread's stack ([`ROOM`] does for all): a name that may want more stands for none.
pub fn demangled(symbol: &str, room: usize) -> Option<String> {
    of_rust(symbol, room).or_else(|| of_cxx(symbol, room))
}

/// The same for reports: parameters are left out of what is long, and so are template arguments within others'.
pub fn demangled_short(symbol: &str, room: usize) -> Option<String> {
    if let Some(name) = of_rust(symbol, room) {
        return Some(name);
    }
    let whole = of_cxx(symbol, room)?;
    if whole.len() <= LONG {
        return Some(whole);
    }
    let without = write(symbol, DemangleOptions::new().no_return_type().no_params(), room).unwrap_or(whole);
    Some(if without.len() <= LONG { without } else { shortened(&without) })
}

/// The name if rustc has mangled it, as far as a report shows it. (C++'s names have no hash at the end, as rustc's old form has.)
fn of_rust(symbol: &str, room: usize) -> Option<String> {
    let longest = (room.saturating_sub(BESIDES) / LEVEL_OF_RUST).min(LONGEST_OF_RUST);
    if symbol.len() > longest {
        return None;
    }
    let path = rustc_demangle::try_demangle(symbol).ok()?;
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

fn of_cxx(symbol: &str, room: usize) -> Option<String> {
    write(symbol, DemangleOptions::new().no_return_type(), room)
}

fn write(symbol: &str, options: DemangleOptions, room: usize) -> Option<String> {
    let deepest = (room.saturating_sub(BESIDES) / LEVEL).min(DEEPEST) as u32;
    if deepest == 0 || !symbol.starts_with("_Z") || symbol.len() > LONGEST_MANGLED {
        return None;
    }
    let parsing = ParseOptions::default().recursion_limit(deepest);
    let parsed = BorrowedSymbol::new_with_options(symbol.as_bytes(), &parsing).ok()?;
    let mut text = Bounded(String::new());
    parsed.structured_demangle(&mut text, &options.recursion_limit(deepest)).ok()?;
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
            assert_eq!(demangled(name, ROOM).as_deref(), expected);
        }
        // Each reference to what was said before doubles the name; what is shown stays short, and comes soon.
        let doubled = format!("_RINvC1a1bT{}EE", (0..60).map(|_| "B7_").collect::<String>());
        let long = format!("_RINvC1a1b{}lE", "R".repeat(490));
        for name in [doubled, long] {
            assert!(
                demangled_short(&name, ROOM).is_none_or(|name| name.len() <= 2 * LONG + '…'.len_utf8()),
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
            assert_eq!(demangled(symbol, ROOM).as_deref(), expected, "{symbol}");
        }
    }

    #[test]
    fn long_names_are_shortened() {
        let name =
            "std::map<std::vector<int, std::allocator<int> >, int, std::less<std::vector<int> > >::operator<";
        assert_eq!(shortened(name), "std::map<std::vector<…>, int, std::less<…> >::operator<");
        assert_eq!(shortened("a<b<c>::operator-><d> >::f"), "a<b<…>::operator-><…> >::f");
        let symbol = "_ZNSt13__future_base17_Async_state_implINSt6thread8_InvokerISt5tupleIJZ4mainEUliiE0_iiEEEEiE6_M_runEv.cold";
        let short = demangled_short(symbol, ROOM).unwrap();
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
            let text = demangled_short(&name, ROOM).unwrap_or_default();
            assert!(text.len() <= MOST_WRITTEN, "{name}");
            assert!(started.elapsed().as_secs() < 10, "{name}: {:?}", started.elapsed());
        }
    }

    /// On a stack that has little more than the room for it, each name is read or given up. (Red by a crash of the whole program.)
    #[test]
    fn no_name_takes_more_stack_than_it_may() {
        const OWN: usize = 16 << 10;
        let nested = |before: &str, level: &str, levels: usize, after: &str| {
            format!("{before}{}{after}", level.repeat(levels))
        };
        let names: Vec<String> = [5, 10, 20, 30, 40, 60, 100, 240, 480]
            .into_iter()
            .flat_map(|levels| {
                [
                    nested("_Z1fILi1EEDTcl", "ng", levels, "Li1EEEv"),
                    nested("_Z1fILi1EEDTcl", "nt", levels, "Li1EEEv"),
                    nested("_Z1fIXcl", "plLi1E", levels, "Li1EEEvv"),
                    nested("_Z1fI", "1aI", levels, &format!("i{}Evv", "E".repeat(levels))),
                    nested("_Z1f", "P", levels, "i"),
                    nested("_Z1f", "FvP", levels, &format!("i{}", "E".repeat(levels))),
                    nested("_Z", "Z1fvE", levels, "1g"),
                    nested("_ZN", "1a", levels, "E"),
                    nested("_Z1fIJ", "J", levels, "i"),
                    nested("_Z1fDTdt", "dt", levels, "fp_1aE"),
                    nested("_Z1fDTsr", "N1aI", levels, "i"),
                    nested("_Z1f", "DpA1_", levels, "i"),
                    nested("_RINvC1a1b", "R", levels, "lE"),
                    nested("_RINvC1a1b", "T", levels, &format!("l{}E", "E".repeat(levels))),
                    nested("_R", "Nv", levels, &format!("C1a{}", "1b".repeat(levels))),
                    nested("_RINvC1a1b", "FE", levels, "lE"),
                ]
            })
            .collect();
        let mut read = 0;
        for room in [0, 16, 32, 64, 128, 256, 512, 1024].map(|kibibytes: usize| kibibytes << 10) {
            let names = names.clone();
            let all = move || names.iter().filter(|name| demangled_short(name, room).is_some()).count();
            let thread = std::thread::Builder::new().stack_size(OWN + room).spawn(all).unwrap();
            let now = thread.join().unwrap();
            assert!(now >= read, "more room, fewer names: {now} at {room}");
            read = now;
        }
        assert!(read > names.len() / 4, "{read} of {}", names.len());
    }
}
