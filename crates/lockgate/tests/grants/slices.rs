//! Typed buffers: bounds, and one copy of everything that is looked at.
use super::{domain, load};
use lockgate::{DomainOptions, GrantError, Pointer, Region, Rights};
use lockgate_abi::PAGE;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn slices_stay_in_their_part() {
    let region = Region::new(PAGE).unwrap();
    let refused = |at, count| {
        let slice = region.slice::<u32>(at, count);
        assert!(matches!(slice, Err(GrantError::Range { .. })), "{at} {count}: {slice:?}");
    };
    for (at, count) in
        [(0, 1025), (4, 1024), (PAGE, 1), (2, 1), (u64::MAX - 3, 1), (0, u64::MAX), (0, 1 << 62)]
    {
        refused(at, count);
    }
    let all = region.slice::<u32>(0, 1024).unwrap();
    let part = region.slice::<u32>(400, 10).unwrap();
    all.write(0, &vec![u32::MAX; 1024]).unwrap();
    part.write(0, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).unwrap();
    for (index, values) in [(10, 1), (9, 2), (0, 11), (u64::MAX, 1), (1 << 62, 1)] {
        let refused = part.write(index, &vec![0; values]);
        assert!(matches!(refused, Err(GrantError::Range { .. })), "{index} {values}");
        assert!(part.copy_in(index..index.saturating_add(values as u64)).is_err());
        assert!(part.copy_into(index, &mut vec![0; values]).is_err());
    }
    assert!(part.get(10).is_err() && part.get(u64::MAX).is_err());
    assert_eq!(part.get(9).unwrap().trust("compared only"), 10);
    assert!(part.copy_in(5..5).unwrap().check(Vec::is_empty).is_some());
    #[expect(clippy::reversed_empty_ranges, reason = "a range as a caller may compute it")]
    let reversed = part.copy_in(7..3).unwrap();
    assert!(reversed.check(Vec::is_empty).is_some());
    let around = all.copy_in(99..111).unwrap().trust("compared only");
    assert_eq!(around, [u32::MAX, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, u32::MAX]);
    assert_eq!((part.len(), part.at(), part.is_empty()), (10, 400, false));
}

#[test]
fn what_a_domain_reads_is_what_the_host_wrote_in_place() {
    let guest = domain("guest");
    let region = Region::new(1 << 20).unwrap();
    let words = region.slice::<i64>(4096, 1000).unwrap();
    let values: Vec<i64> = (0..1000).map(|n| n * n).collect();
    words.write(0, &values).unwrap();
    let grant = guest.grant(&region, Rights::Read).unwrap();
    let first: Pointer<i64> = grant.pointer(words.at()).unwrap();
    for index in [0, 1, 999] {
        assert_eq!(load(&guest, first.add(index)).unwrap(), values[index as usize]);
    }
}

/// A thread in a domain rewrites an index as fast as it can, between a good and a bad value. The host copies once, checks the copy, uses
/// the copy: never the bad one. The same with two looks at the memory, as a control: it does go wrong.
#[test]
fn what_was_checked_is_what_is_used() {
    const GOOD: i64 = 3;
    const BAD: i64 = 1 << 40;
    let source = "void flip(volatile long *p, long a, long b) { for (;;) { *p = a; *p = b; } }";
    let limit = std::time::Duration::from_secs(120);
    let guest = super::Guest::c(source).domain_with(DomainOptions::new().time_limit(limit));
    let region = Region::new(PAGE).unwrap();
    let words = region.slice::<i64>(0, 1).unwrap();
    words.write(0, &[GOOD]).unwrap();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    let flip = guest.bind::<extern "C" fn(Pointer<i64>, i64, i64)>("flip").unwrap();
    let at = grant.pointer(0).unwrap();
    let harmless = |value: &i64| *value == GOOD;
    let mut good = 0;
    let fooled = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| flip.call(at, GOOD, BAD));
        let start = std::time::Instant::now();
        while start.elapsed().as_secs() < 60 && !(good > 1000 && fooled.load(Ordering::Relaxed)) {
            if let Some(used) = words.get(0).unwrap().check(harmless) {
                assert_eq!(used, GOOD, "the value changed after the check");
                good += 1;
            }
            let values = words.copy_in(0..1).unwrap().check(|values| harmless(&values[0]));
            assert!(values.is_none_or(|values| values == [GOOD]));
            // The control: checked at one look, used at the next.
            if words.get(0).unwrap().check(harmless).is_some() {
                let second_look = words.get(0).unwrap().trust("this is the mistake");
                fooled.fetch_or(second_look == BAD, Ordering::Relaxed);
            }
        }
        grant.revoke();
        call.join().unwrap().expect_err("the grant has gone");
    });
    assert!(good > 1000, "the good value was seen {good} times only");
    assert!(fooled.into_inner(), "two looks were never fooled: the test tests nothing");
}

/// Structures of the caller's own.
#[test]
fn structures_are_carried() {
    lockgate::structure! {
        struct Order {
            amount: u64,
            price: u32,
            kind: u32,
        }
    }
    let region = Region::new(PAGE).unwrap();
    let orders = region.slice::<Order>(64, 4).unwrap();
    let order = Order { amount: 5, price: 6, kind: 7 };
    orders.write(3, &[order]).unwrap();
    assert_eq!(orders.get(3).unwrap().check(|o| o.kind < 10), Some(order));
}
