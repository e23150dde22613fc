//! The progress bar of long work; nothing where standard error is not a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// Amounts of work below this are over before a bar could be read.
const WORTH_A_BAR: u64 = 1 << 20;

/// Calls `work` with a [`lockgate_toolchain::Progress`] that draws a bar.
pub fn with_bar<T>(work: impl FnOnce(lockgate_toolchain::Progress<'_>) -> T) -> T {
    let bar = ProgressBar::no_length();
    bar.set_style(
        ProgressStyle::with_template("{msg} {wide_bar} {percent}%").expect("the template is constant"),
    );
    let result = work(&|what: &str, done: u64, total: u64| {
        if total >= WORTH_A_BAR {
            bar.set_message(what.to_owned());
            bar.set_length(total);
            bar.set_position(done);
        }
    });
    bar.finish_and_clear();
    result
}
