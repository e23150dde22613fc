//! Functions that are taken from a domain while a thread inside calls them.
use super::gate_tables_sys::{Gate, GateTables};
use super::thread_sys::ThreadState;
use crate::host_function::HostFunction;
use loom::sync::atomic::{Ordering, fence};
use std::sync::Arc;

/// The number that the domain's tables have the function under.
const SLOT: u16 = 0;

/// A call of the domain that calls the function once, as the assembly does it: what proxies do to `top`, `lockgate_gate_import` of
/// `call/gate_asm.rs`, which finds the entry and makes a record of it, and the way back.
fn call(thread: &ThreadState, tables: &GateTables) {
    thread.enter();
    fence(Ordering::SeqCst); // the other side's `barrier`
    let entry = tables.import(SLOT);
    thread.show(entry);
    fence(Ordering::SeqCst); // likewise
    HostFunction::run(entry);
    thread.enter();
    fence(Ordering::SeqCst); // likewise
    thread.leave();
}

fn tables() -> GateTables {
    // (The runtime's gates read the table themselves.)
    GateTables::new(None, 1, true, 0)
}

/// A function that is replaced is let go of when no thread can hold its entry, and not before; and then for certain.
#[test]
fn functions_live_as_long_as_a_thread_may_hold_them() {
    crate::explore(3, || {
        let tables = Arc::new(tables());
        let (old, new) = (HostFunction::new(), HostFunction::new());
        let (old_lives, new_lives) = (old.liveness(), new.liveness());
        tables.set_import(SLOT, old.gate());
        let caller = {
            let tables = tables.clone();
            loom::thread::spawn(move || call(&ThreadState::attached(1), &tables))
        };
        tables.set_import(SLOT, new.gate());
        // Twice, as the watcher would: the second look finishes what the first one began.
        let early = tables.release(0) || tables.release(0);
        assert_eq!(early, !old_lives.get());
        caller.join().expect("no panic");
        assert!(early || tables.release(0) || tables.release(0), "nobody is inside any more");
        assert!(!old_lives.get() && new_lives.get());
    });
}

/// What the host links is what an import leads to then, whatever a first call finds, or a restart or a revocation puts in place of what was
/// there before, at the same time.
#[test]
fn what_the_host_links_stays() {
    type Other = fn(&GateTables, &Gate, &Gate);
    let first_call: Other = |tables, _, new| {
        tables.answer_import(SLOT, new.clone());
    };
    let replacement: Other = |tables, old, new| tables.replace_import(SLOT, &old.entry, new.clone());
    for (is_linked, other) in [(false, first_call), (true, replacement)] {
        crate::explore(3, move || {
            let tables = Arc::new(tables());
            let functions = [(); 3].map(|()| HostFunction::new());
            let [old_lives, linked_lives, new_lives] = functions.each_ref().map(HostFunction::liveness);
            let [old, linked, new] = functions.map(HostFunction::gate);
            if is_linked {
                tables.set_import(SLOT, old.clone());
            }
            let host = {
                let tables = tables.clone();
                loom::thread::spawn(move || tables.set_import(SLOT, linked))
            };
            other(&tables, &old, &new);
            host.join().expect("no panic");
            drop((old, new));
            assert!(tables.release(0) || tables.release(0), "nobody is inside");
            assert!(linked_lives.get() && !new_lives.get() && !old_lives.get());
        });
    }
}
