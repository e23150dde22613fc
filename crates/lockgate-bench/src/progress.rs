//! A progress bar on standard error, where that is a terminal; silence elsewhere.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `steps` steps under `title`.
pub fn bar(title: &str, steps: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{prefix:>10} [{bar:40}] {pos}/{len} {elapsed} (left {eta}) {wide_msg}")
            .expect("a constant template")
            .progress_chars("=> ");
    ProgressBar::new(steps).with_style(style).with_prefix(title.to_owned())
}
