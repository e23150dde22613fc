//! Signals are no part of the models: what waits does so as it is.
use crate::sync::atomic::AtomicU32;
use crate::sync::futex;

pub(crate) fn asleep(word: &AtomicU32, value: u32, left: Option<&futex::Timespec>) {
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, left);
}
