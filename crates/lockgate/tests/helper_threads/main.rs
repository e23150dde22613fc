//! Threads that Lockgate starts get none of the process's signals: a host's handler would look in vain there for the call that it
//! is to interrupt.
#[path = "../common/mod.rs"]
mod common;

mod create_sys;

use common::Guest;
use lockgate::{Domain, DomainOptions, Workers};
use std::time::Duration;

const SOURCE: &str = "#include <pthread.h>
static void *nothing(void *argument) { return argument; }
int start(int x) {
    pthread_t thread;
    return pthread_create(&thread, 0, nothing, 0) || pthread_join(thread, 0) ? -1 : x;
}";

/// Red if one of them is started with the host's signals as they are, and blocks them itself: until then they may go there.
#[test]
fn threads_of_ours_hear_no_signals() {
    let (started, blocked_afterwards) = create_sys::started_by(|| {
        // libc's own affairs are settled by a thread, time limits have a watcher.
        let options = DomainOptions::new().time_limit(Duration::from_secs(60)).max_guest_threads(1);
        let domain = Domain::new(&Guest::c(SOURCE).module(), options).unwrap();
        assert_eq!(domain.bind::<extern "C" fn(i32) -> i32>("start").unwrap().call(5).unwrap(), 5);
        Workers::new(2, 4).unwrap();
    });
    assert_eq!(started, [true; 6], "libc's, the watcher, the module's, two workers and their clock");
    assert_eq!(blocked_afterwards, 0);
}
