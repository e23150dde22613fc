//! A shadow stack: what calls have pushed, kept where no program can change it.

/// Return words that are still to be popped, the oldest first, and what became of others.
#[derive(Debug, Default)]
pub struct Shadow {
    live: Vec<(u64, u64)>,
}

/// What the processor did that docs/returns.md says it never does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A call has not pushed the address behind it at rsp − 8.
    Call,
    /// A return has popped a word from elsewhere, or another word, than its own call has pushed.
    Return,
    /// The call into the domain has ended with a word that is not its own.
    Exit,
    /// *resume* has come back elsewhere than with rsp = E of the lowest live activation at or above the address given.
    Resume,
}

/// Where control goes on.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Address of the next instruction.
    pub rip: u64,
    /// Stack pointer.
    pub rsp: u64,
}

impl Shadow {
    /// A call, before which rsp was `rsp` and behind which lies `behind`; `pushed` is at rsp afterwards.
    ///
    /// # Errors
    /// It was none.
    pub fn call(&mut self, rsp: u64, behind: u64, now: Now, pushed: u64) -> Result<(), Broken> {
        self.live.push((now.rsp, pushed));
        let is_call = now.rsp == rsp.wrapping_sub(8) && pushed == behind;
        if is_call { Ok(()) } else { Err(Broken::Call) }
    }

    /// A return by the word at `rsp`. `exit` is where the exit return address of a call into the domain lies: the only word that was not
    /// pushed by a call of the module's.
    ///
    /// # Errors
    /// It popped another word than its own call pushed.
    pub fn ret(&mut self, rsp: u64, now: Now, exit: u64) -> Result<(), Broken> {
        let right = match self.live.pop() {
            Some(own) => own == (rsp, now.rip),
            None => return if rsp == exit { Ok(()) } else { Err(Broken::Exit) },
        };
        if right && now.rsp == rsp.wrapping_add(8) { Ok(()) } else { Err(Broken::Return) }
    }

    /// Control has come back by *resume*, for which the module has given `address`; calls that it has left are over. `exit` as for [`Shadow::ret`].
    ///
    /// # Errors
    /// It has come back elsewhere.
    pub fn resumed(&mut self, address: u64, now: Now, exit: u64) -> Result<(), Broken> {
        let wanted = self.live.iter().rev().map(|&(at, _)| at).find(|&at| at >= address).unwrap_or(exit);
        self.live.retain(|&(at, _)| at >= wanted);
        if now.rsp == wanted { Ok(()) } else { Err(Broken::Resume) }
    }

    /// Calls that are still to return.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.live.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXIT: u64 = 0x1000;
    const BEHIND: u64 = 0x4005;

    fn now(rip: u64, rsp: u64) -> Now {
        Now { rip, rsp }
    }

    /// Two calls in progress.
    fn called() -> Shadow {
        let mut shadow = Shadow::default();
        shadow.call(0x0f00, BEHIND, now(0x5000, 0x0ef8), BEHIND).unwrap();
        shadow.call(0x0e00, 0x5005, now(0x6000, 0x0df8), 0x5005).unwrap();
        shadow
    }

    #[test]
    fn calls_return_to_where_they_came_from() {
        let mut shadow = called();
        shadow.ret(0x0df8, now(0x5005, 0x0e00), EXIT).unwrap();
        shadow.ret(0x0ef8, now(BEHIND, 0x0f00), EXIT).unwrap();
        shadow.ret(EXIT, now(0x9999, EXIT + 8), EXIT).unwrap();
        assert_eq!(shadow.depth(), 0);
    }

    #[test]
    fn wrong_returns_are_noticed() {
        assert_eq!(called().ret(0x0df8, now(0x5006, 0x0e00), EXIT), Err(Broken::Return), "another word");
        assert_eq!(called().ret(0x0ef8, now(BEHIND, 0x0f00), EXIT), Err(Broken::Return), "the caller's word");
        assert_eq!(called().ret(0x0df0, now(0x5005, 0x0df8), EXIT), Err(Broken::Return), "from below");
        assert_eq!(called().ret(0x0df8, now(0x5005, 0x0e08), EXIT), Err(Broken::Return), "two words");
        assert_eq!(Shadow::default().ret(EXIT - 8, now(1, EXIT), EXIT), Err(Broken::Exit));
        let no_call = Shadow::default().call(0x0f00, BEHIND, now(0x5000, 0x0ef8), BEHIND + 1);
        assert_eq!(no_call, Err(Broken::Call));
    }

    #[test]
    fn resume_leads_to_the_lowest_live_activation() {
        let mut shadow = called();
        shadow.resumed(0x0e00, now(0x7000, 0x0ef8), EXIT).unwrap();
        shadow.ret(0x0ef8, now(BEHIND, 0x0f00), EXIT).unwrap();
        called().resumed(0x0f00, now(0x7000, EXIT), EXIT).unwrap();
        assert_eq!(called().resumed(0x0e00, now(0x7000, 0x0df8), EXIT), Err(Broken::Resume), "below");
        assert_eq!(called().resumed(0x0d00, now(0x7000, 0x0ef8), EXIT), Err(Broken::Resume), "too far");
        assert_eq!(called().resumed(0x0d00, now(0x7000, 0x0df0), EXIT), Err(Broken::Resume), "a word off");
    }
}
