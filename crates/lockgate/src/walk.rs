//! From a call outwards, function by function, as the verifier's table of return sites says (docs/returns.md): exact, because each
//! word of a control stack that such a walk reads was pushed by the call that the table names.
use lockgate_abi::stack;
use lockgate_verify::State;

const WORD: u64 = 8;

/// A function in progress that has called something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Activation {
    /// Where it goes on, an address.
    pub site: u64,
    /// rsp then.
    pub rsp: u64,
    /// Where its return word lies: rsp at its entry.
    pub entry: u64,
}

/// How a walk ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The activation before was the outermost one: its return word is the exit return address.
    Exit,
    /// This word is no return site, or the place that it leads to no part of the stack. The stack is not what verified code leaves:
    /// a forked child's, which is empty, or part of a copy.
    Word(u64),
}

/// What lies behind a return word that belongs to no call: what a signal has interrupted, where its handler's frames end.
pub(crate) type Behind<'a> = &'a dyn Fn(u64) -> Option<Activation>;

/// Activations, innermost first, up to the one whose return word lies at `exit`. (Each lies above the one before, which bounds the walk.)
pub(crate) struct Walk<'a, Read, Sites> {
    /// Where the next one's return site is.
    at: u64,
    exit: u64,
    read: Read,
    sites: Sites,
    behind: Option<Behind<'a>>,
}

impl<'a, Read: Fn(u64) -> Option<u64>, Sites: FnMut(u64) -> Option<State>> Walk<'a, Read, Sites> {
    /// From the word at `at` on, which a call has pushed. `read` has the words of the control stack from there to `exit`; `sites` the
    /// states at return sites.
    #[inline(always)]
    pub fn new(at: u64, exit: u64, read: Read, sites: Sites) -> Walk<'a, Read, Sites> {
        Walk { at, exit, read, sites, behind: None }
    }

    /// The same that goes on behind handlers.
    #[inline(always)]
    pub fn behind(self, behind: Behind<'a>) -> Walk<'a, Read, Sites> {
        Walk { behind: Some(behind), ..self }
    }

    /// # Errors
    /// [`Lost`].
    #[inline(always)]
    pub fn next(&mut self) -> Result<Activation, Lost> {
        // (The word at the exit is the exit return address.)
        if self.at >= self.exit {
            return Err(Lost::Exit);
        }
        if let Some(interrupted) = self.behind.and_then(|behind| behind(self.at))
            && (self.at..=self.exit).contains(&interrupted.entry)
        {
            self.at = interrupted.entry;
            return Ok(interrupted);
        }
        let site = (self.read)(self.at).ok_or(Lost::Word(0))?;
        let rsp = self.at + WORD;
        let state = (self.sites)(site).ok_or(Lost::Word(site))?;
        let entry = entry(state, rsp, self.exit, &self.read).ok_or(Lost::Word(site))?;
        self.at = entry;
        Ok(Activation { site, rsp, entry })
    }
}

/// Where the return word of the function in `state` with stack pointer `rsp` lies, at `exit` or below; `None`: the stack is not what
/// verified code leaves.
#[inline(always)]
pub(crate) fn entry(state: State, rsp: u64, exit: u64, read: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    let entry = match state {
        State::S { o } => rsp + u64::from(o),
        State::C { b, d } => {
            let frame = rsp + u64::from(d);
            let before = if frame < exit { read(frame)? } else { return None };
            // What opened the frame moved rsp down.
            if before < frame {
                return None;
            }
            before.checked_add(u64::from(b))?
        }
    };
    (entry >= rsp && entry <= exit && entry.is_multiple_of(WORD)).then_some(entry)
}

/// The address of the word that a walk ends with which begins at `control`, in a call that was `entered` there: the exit return address, or what
/// the context begins with that the call runs.
#[inline(always)]
pub(crate) fn end_of_walk(control: u64, entered: u64) -> u64 {
    match is_on_own_frames(control, entered) {
        // (Where a call began whose record was lost is unknown.)
        true => entered.wrapping_sub(size_of::<u64>() as u64),
        false => context_base(control),
    }
}

/// Whether `control` lies in the frames of the innermost call itself, which was `entered` there, and not in those of a context. The call
/// gets to other slots by switches alone.
#[inline(always)]
pub(crate) fn is_on_own_frames(control: u64, entered: u64) -> bool {
    control / stack::SLOT == entered / stack::SLOT
}

/// Address of the word that walks over the stack of the context on the slot at `control` end with.
pub(crate) fn context_base(control: u64) -> u64 {
    control - control % stack::SLOT + stack::EXIT_RETURN
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Return sites: multiples of 100 are S(o), others C(b, d).
    fn sites(site: u64) -> Option<State> {
        Some(match site {
            100 => State::S { o: 0 },
            200 => State::S { o: 24 },
            300 => State::C { b: 8, d: 0 },
            301 => State::C { b: 16, d: 32 },
            _ => return None,
        })
    }

    /// A simulated stack, on which calls are made and frames opened as verified code does.
    struct Stack {
        rsp: u64,
        words: BTreeMap<u64, u64>,
        expected: Vec<Activation>,
    }

    impl Stack {
        const EXIT: u64 = 0x10_0000;

        fn new() -> Stack {
            Stack { rsp: Stack::EXIT, words: BTreeMap::from([(Stack::EXIT, 7)]), expected: Vec::new() }
        }

        /// The function that has just been entered comes to where `site` is behind a call, with `room` bytes of a computed frame.
        fn calls(&mut self, site: u64, room: u64) {
            let entry = self.rsp;
            match sites(site) {
                Some(State::S { o }) => self.rsp -= u64::from(o),
                Some(State::C { b, d }) => {
                    let before = entry - u64::from(b);
                    let frame = before - room;
                    self.words.insert(frame, before);
                    self.rsp = frame - u64::from(d);
                }
                None => (),
            }
            self.expected.push(Activation { site, rsp: self.rsp, entry });
            self.rsp -= WORD;
            self.words.insert(self.rsp, site);
        }

        fn walk(&self) -> (Vec<Activation>, Lost) {
            let read = |at: u64| self.words.get(&at).copied();
            let mut walk = Walk::new(self.rsp, Stack::EXIT, read, sites);
            let mut found = Vec::new();
            loop {
                match walk.next() {
                    Ok(activation) => found.push(activation),
                    Err(lost) => return (found, lost),
                }
            }
        }
    }

    #[test]
    fn each_activation_is_found_and_no_other() {
        let mut random = 1_u64;
        for _ in 0..200 {
            let mut stack = Stack::new();
            for _ in 0..50 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let site = [100, 200, 300, 301][(random >> 60) as usize % 4];
                stack.calls(site, (random >> 40) % 9 * 8);
            }
            stack.expected.reverse();
            assert_eq!(stack.walk(), (stack.expected.clone(), Lost::Exit));
        }
    }

    /// Nothing is read above the exit return address, and no walk goes on for ever, whatever the words are.
    #[test]
    fn a_broken_stack_ends_the_walk() {
        let exit = Stack::EXIT;
        for (what, below, expected) in [
            ("no return site", 40, Lost::Word(5)),
            ("a frame that ends above the exit return address", 16, Lost::Word(200)),
            ("a frame word above the exit return address", 24, Lost::Word(301)),
            ("a frame word that leads down", 64, Lost::Word(300)),
            ("a frame word that leads nowhere", 96, Lost::Word(300)),
            ("an empty stack", 1024, Lost::Word(0)),
        ] {
            let mut stack = Stack::new();
            stack.words.extend([(exit - 16, 200), (exit - 24, 301), (exit - 40, 5), (exit - 64, 300)]);
            stack.words.extend([(exit - 56, exit - 64), (exit - 96, 300), (exit - 88, u64::MAX - 7)]);
            stack.rsp = exit - below;
            assert_eq!(stack.walk().1, expected, "{what}");
        }
    }
}
