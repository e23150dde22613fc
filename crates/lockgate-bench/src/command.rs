//! Programs that a benchmark needs done, but does not measure.

pub use lockgate_corpus::done;
