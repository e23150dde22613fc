//! Whether something accepts connections at an address: it is tried until it does, or until the program that was to listen has ended. The kernel
//! does not report a `listen`.

use crate::server;
use crate::spec::Address;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Between two attempts: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(1);

/// Waits until something accepts at `address`: true, or until the other side of `over` is gone.
pub fn accepts(address: &Address, over: &Receiver<()>) -> bool {
    let mut pause = PAUSES.0;
    while !connects(address) {
        match over.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => pause = (2 * pause).min(PAUSES.1),
            _ => return false,
        }
    }
    true
}

fn connects(address: &Address) -> bool {
    match address {
        // Where no socket listens, one that was given the very port that it connects to is connected to itself.
        Address::Tcp(address) => TcpStream::connect_timeout(address, ATTEMPT)
            .is_ok_and(|stream| !stream.local_addr().is_ok_and(|own| own == *address)),
        // (Where too many wait already, one that is no program's perhaps, it does not wait with them.)
        Address::Unix(path) => server::connect(path).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// A listener that does not accept holds nothing up: the wait can be ended.
    #[test]
    fn a_listener_that_does_not_accept_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut waiting = Vec::new();
        while let Ok(one) = server::connect(&path) {
            waiting.push(one);
        }
        let (over, is_over) = channel();
        drop(over);
        assert!(!accepts(&Address::Unix(path), &is_over));
    }
}
