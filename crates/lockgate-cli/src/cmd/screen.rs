//! A terminal used as a page that is written again and again, and keys read from it.

use super::ends_sys::{Ends, SIGNALS};
use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::fmt::Write as _;
use std::io::{Write, stdin, stdout};
use std::time::Duration;

/// The other page of the terminal, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const END_OF_LINE: &str = "\x1b[K";
const END_OF_PAGE: &str = "\x1b[J";
const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;

/// A key.
#[derive(Debug, PartialEq, Eq)]
pub enum Key {
    /// q, Ctrl-C or Ctrl-D; or a signal, which does the rest when the terminal is as before.
    Quit,
    /// Any other.
    Letter(u8),
}

/// The terminal, until it is dropped: then it is as before.
pub struct Screen {
    before: Termios,
    /// Dropped after all else.
    ends: Ends,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Standard input is no terminal that can be set.
    pub fn enter() -> anyhow::Result<Screen> {
        let ends = Ends::held_back(SIGNALS).context("cannot hold back signals")?;
        let before = tcgetattr(stdin()).context("cannot read the terminal's settings")?;
        let mut now = before.clone();
        now.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(stdin(), OptionalActions::Now, &now).context("cannot set the terminal")?;
        let screen = Screen { before, ends };
        screen.write(ENTER)?;
        Ok(screen)
    }

    /// Writes a page; what does not fit is left out.
    ///
    /// # Errors
    /// The terminal has gone.
    pub fn show(&mut self, page: &str) -> anyhow::Result<()> {
        let size = tcgetwinsize(stdout()).ok().filter(|size| size.ws_row > 0 && size.ws_col > 0);
        let (rows, columns) = size.map_or((24, 80), |size| (size.ws_row.into(), size.ws_col.into()));
        let mut text = HOME.to_owned();
        for (row, line) in page.lines().take(rows).enumerate() {
            let line: String = line.chars().take(columns).collect();
            let _ = write!(text, "{}{line}{END_OF_LINE}", if row > 0 { "\r\n" } else { "" });
        }
        self.write(&(text + END_OF_PAGE))
    }

    /// Waits for a key, or so long.
    ///
    /// # Errors
    /// The terminal has gone.
    pub fn wait(&mut self, time: Duration) -> anyhow::Result<Option<Key>> {
        let keyboard = stdin();
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        let mut ready = [PollFd::new(&keyboard, PollFlags::IN), PollFd::new(&self.ends, PollFlags::IN)];
        match poll(&mut ready, Some(&time)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            result => result.context("cannot wait for keys")?,
        };
        if !ready[1].revents().is_empty() {
            return Ok(Some(Key::Quit));
        }
        // Past the buffer of standard input, in which keys would wait for the next one. Those that come together count together.
        let mut keys = [0; 64];
        let read = rustix::io::read(&keyboard, &mut keys).context("cannot read keys")?;
        Ok(Some(key_of(&keys[..read])))
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        let mut out = stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to the terminal")
    }
}

/// What came together: an end of it all, before anything else, or the last letter.
fn key_of(keys: &[u8]) -> Key {
    let ends = keys.iter().any(|key| matches!(key, b'q' | &CTRL_C | &CTRL_D));
    keys.last().filter(|_| !ends).map_or(Key::Quit, |&key| Key::Letter(key))
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nothing is left to do if that fails.
        let _ = self.write(LEAVE);
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}
