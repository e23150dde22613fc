//! Admission: the word of a binding that proxies look at.
use crate::call::admission_sys::Admissions;
use crate::call::layout::NO_DOMAIN;
use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::Arc;

const SLOT: u32 = 8;

/// `place` of `call/emit.rs`: `mov eax, [r11 + ADMISSION]`. True if a thread that has a place in the domain would enter.
fn enters(word: &AtomicU32) -> bool {
    word.load(Ordering::Relaxed) != NO_DOMAIN
}

/// A domain that ends while a binding of it is reopened, as a library is that is looked up again, and another one made: after the end no
/// call enters by either.
#[test]
fn nobody_enters_by_a_binding_after_the_end_of_its_domain() {
    crate::explore(3, || {
        let admissions = Arc::new(Admissions::default());
        let words = [Arc::new(AtomicU32::new(NO_DOMAIN)), Arc::new(AtomicU32::new(NO_DOMAIN))];
        admissions.admit(&words[0], SLOT);
        let openers = words.clone().map(|word| {
            let admissions = admissions.clone();
            loom::thread::spawn(move || admissions.admit(&word, SLOT))
        });
        admissions.close();
        assert!(!words.iter().any(|word| enters(word)), "right after the end");
        openers.into_iter().for_each(|opener| opener.join().expect("no panic"));
        assert!(!words.iter().any(|word| enters(word)), "later");
        words.iter().for_each(|word| admissions.remove(word));
    });
}

/// `hand_on` of `binding.rs`, and what a thunk and `lockgate_forward` of `call/proxy_asm.rs` read: the proxy, then the successor. Whoever finds
/// the code that hands on finds where to.
#[test]
fn who_is_handed_on_finds_the_successor() {
    const FORWARD: usize = 2;
    crate::explore(3, || {
        let proxy = Arc::new(AtomicUsize::new(1));
        let successor = Arc::new(AtomicUsize::new(0));
        let call = {
            let (proxy, successor) = (proxy.clone(), successor.clone());
            loom::thread::spawn(move || {
                if proxy.load(Ordering::Acquire) == FORWARD {
                    assert_ne!(successor.load(Ordering::Relaxed), 0);
                }
            })
        };
        successor.store(7, Ordering::Release);
        proxy.store(FORWARD, Ordering::Release);
        call.join().expect("no panic");
    });
}
