//! How many descriptors the process may have.

use rustix::process::{Resource, getrlimit, setrlimit};

/// As many descriptors as the process may have: how many it will need is for others to say.
pub fn raise_the_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If not, who needs them says how many are missing.
    let _ = setrlimit(Resource::Nofile, limit);
}
