//! Which of the return addresses on a control stack are live, where no frame information says so.
//!
//! Between frames lie stale ones, of calls that returned long ago. But live ones fit together: each was left by a call of the
//! function that the one before returns into, out to the entry point. The chain is the cheapest way from the innermost
//! function to the exit word, if misfits cost something.
use super::backtrace::Entered;

/// A direct call of the very function, or the way out of the entry point.
const FITS: u32 = 0;
/// A call through a pointer, of any function.
const MAY_FIT: u32 = 1;
/// A call of a small function that jumps to this one.
const JUMPS: u32 = 1;
/// A call of another function: possible only if a jump from there led to this one.
const MISFIT: u32 = 4;
/// How far into a function its jumps are looked for, bytes.
const SMALL: usize = 128;

/// What a call calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    /// The function at this image-relative address, or right after the label there.
    Function(u64),
    /// Any function: a call through a pointer.
    Any,
}

const LABEL: u64 = lockgate_abi::code::LABEL.len() as u64;

/// Whether code at `at` is the beginning of the function that starts at `start`.
fn begins(at: u64, start: Option<u64>) -> bool {
    Some(at) == start || at.checked_sub(LABEL) == start
}

/// A return address.
#[derive(Debug)]
struct Link {
    slot: u64,
    called: Called,
    /// Where the function called jumps to, as far as that is easily seen.
    jumps: Vec<u64>,
    /// What it costs from here to the exit word.
    rest: u32,
}

impl Link {
    /// What it costs to believe that this is where the function that starts at `start` returns.
    fn cost(&self, start: Option<u64>) -> u32 {
        match self.called {
            Called::Any => MAY_FIT,
            Called::Function(at) if begins(at, start) => FITS,
            Called::Function(_) if self.jumps.iter().any(|at| begins(*at, start)) => JUMPS,
            Called::Function(_) => MISFIT,
        }
    }
}

/// Targets of the jumps (`jmp rel32`) near the beginning of the function at `at`.
fn jumps(call: &Entered, at: u64) -> Vec<u64> {
    let mut code = [0; SMALL];
    if call.read_code(at, &mut code).is_none() {
        return Vec::new();
    }
    let target = |(index, bytes): (usize, &[u8])| match *bytes {
        [0xe9, a, b, c, d] => {
            let next = at + (index + bytes.len()) as u64;
            Some(next.wrapping_add_signed(i32::from_le_bytes([a, b, c, d]).into()))
        }
        _ => None,
    };
    code.windows(5).enumerate().filter_map(target).collect()
}

/// The return addresses of one call.
pub(super) struct Chain {
    /// By slot.
    links: Vec<Link>,
    entry_point: u64,
    /// Address of the exit word, if the copy of the stack goes up to it.
    exit: Option<u64>,
}

impl Chain {
    pub(super) fn new(call: &Entered) -> Chain {
        let exit = (!call.stack.is_cut()).then_some(call.stack.exit());
        let mut chain = Chain { links: Vec::new(), entry_point: call.entry_address, exit };
        let candidates: Vec<_> = call.stack.control().collect();
        // From the outermost inwards, because each costs what is outside of it.
        for (slot, word) in candidates.into_iter().rev() {
            if let Some(called) = call.called(word) {
                let start = call.in_image(word).and_then(|at| call.start_of(at.saturating_sub(1)));
                let (rest, _) = chain.cheapest(start, slot + 1);
                let jumps = match called {
                    Called::Function(at) => jumps(call, at),
                    Called::Any => Vec::new(),
                };
                chain.links.push(Link { slot, called, jumps, rest });
            }
        }
        chain.links.reverse();
        chain
    }

    /// Where the function that starts at `start` finds its return address, from address `from` on.
    pub(super) fn next(&self, start: Option<u64>, from: u64) -> Option<u64> {
        self.cheapest(start, from).1
    }

    fn cheapest(&self, start: Option<u64>, from: u64) -> (u32, Option<u64>) {
        let out = self.exit.filter(|exit| *exit >= from).map(|exit| {
            let is_entry_point = start == Some(self.entry_point);
            (if is_entry_point { FITS } else { MISFIT }, exit)
        });
        let links = self.links.iter().filter(|link| link.slot >= from);
        let costs = links.map(|link| (link.cost(start).saturating_add(link.rest), link.slot));
        match costs.chain(out).min() {
            Some((cost, slot)) => (cost, Some(slot)),
            // The copy ends here.
            None => (FITS, None),
        }
    }
}
