//! Arenas: what domains have of them, what they cannot change, and when it ends; and memory that is lent for a call.
use super::{domain, faulted, load, store};
use lockgate::{Arena, Block, CallError, Grant, GrantError, Pointer, Region, Rights, SharedSlice};
use lockgate_abi::PAGE;
use std::sync::atomic::{AtomicBool, Ordering};

fn words(block: &Block) -> SharedSlice<i64> {
    block.slice().unwrap()
}

/// The word at the beginning of a block, as the host has it.
fn word(block: &Block) -> i64 {
    words(block).get(0).unwrap().check(|_| true).unwrap()
}

#[test]
fn each_domain_has_its_right_at_one_offset() {
    let (reader, writer) = (domain("reader"), domain("writer"));
    let arena = Arena::new(3 * PAGE).unwrap();
    arena.open(&reader, Rights::Read).unwrap();
    arena.open(&writer, Rights::ReadWrite).unwrap();
    let block = arena.alloc(100).unwrap();
    let (read, written) = (block.pointer::<i64>(&reader).unwrap(), block.pointer::<i64>(&writer).unwrap());
    assert_eq!(read.offset(), written.offset());
    store(&writer, written, 7).unwrap();
    assert_eq!((load(&reader, read).unwrap(), word(&block)), (7, 7));
    faulted(store(&reader, read, 8), read);
    // A pointer that the one has stored leads the other to the same place.
    let second = arena.alloc(8).unwrap();
    store(&writer, second.pointer(&writer).unwrap(), written.address() as i64).unwrap();
    let follow = reader.bind::<extern "C" fn(Pointer<i64>) -> Pointer<i64>>("follow").unwrap();
    let found = follow.call(second.pointer(&reader).unwrap()).unwrap();
    assert_eq!(found.offset(), read.offset());
    assert_eq!(load(&reader, found).unwrap(), 7);
}

/// A domain fills the whole arena with nonsense, again and again, while the host allocates and frees in it: every block is where it should be, no two
/// overlap, and all is free in the end. Red if any of the allocator's data lay there.
#[test]
fn nothing_that_a_domain_writes_moves_a_block() {
    let guest = domain("vandal");
    let arena = Arena::new(16 * PAGE).unwrap();
    arena.open(&guest, Rights::ReadWrite).unwrap();
    let base = guest.base() + arena.region().offset();
    let fill = guest.bind::<extern "C" fn(Pointer<i64>, i64) -> i64>("store").unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut seed = 1_i64;
            while !ended.load(Ordering::Relaxed) {
                for at in (0..16 * PAGE).step_by(8) {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    fill.call(Pointer::from_address(base + at), seed).unwrap();
                }
            }
        });
        for round in 0..200_u64 {
            let blocks: Vec<Block> = (1..20).map(|n| arena.alloc(n * 37 + round).unwrap()).collect();
            let mut places: Vec<_> = blocks.iter().map(|block| (block.at(), block.size())).collect();
            places.sort_unstable();
            assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{places:?}");
            assert!(places.iter().all(|(at, size)| at + size <= 16 * PAGE && at.is_multiple_of(64)));
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert_eq!(arena.free().unwrap(), 16 * PAGE);
    assert_eq!(arena.alloc(16 * PAGE).unwrap().at(), 0, "one piece again");
}

/// What the host has checked is what it uses, while a domain's thread changes the block all the time.
#[test]
fn the_host_reads_by_copy() {
    let guest = domain("counter");
    let arena = Arena::new(PAGE).unwrap();
    arena.open(&guest, Rights::ReadWrite).unwrap();
    let block = arena.alloc(8).unwrap();
    let at = block.pointer::<i64>(&guest).unwrap();
    let count = guest.bind::<extern "C" fn(Pointer<i64>)>("count").unwrap();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| count.call(at));
        let start = word(&block);
        while word(&block) == start {
            std::hint::spin_loop();
        }
        for _ in 0..10_000 {
            let mut seen = None;
            let copy = words(&block).get(0).unwrap().check(|value| {
                seen = Some(*value);
                value % 2 == 0
            });
            assert!(copy.is_none() || copy == seen);
        }
        // Complete when it returns, in the midst of the call.
        arena.shut(&guest).unwrap();
        let last = word(&block);
        assert!((0..1000).all(|_| word(&block) == last), "a write after the arena was shut");
        faulted(call.join().unwrap(), at);
    });
}

/// A callee keeps a pointer: it is good until the arena is closed, whatever becomes of the block, and never after.
#[test]
fn a_kept_pointer_ends_with_the_arena() {
    let guest = domain("keeper");
    let arena = Arena::new(PAGE).unwrap();
    arena.open(&guest, Rights::ReadWrite).unwrap();
    let block = arena.alloc(8).unwrap();
    let kept = block.pointer::<i64>(&guest).unwrap();
    drop(block);
    store(&guest, kept, 5).unwrap();
    let next = arena.alloc(8).unwrap();
    assert_eq!(next.pointer::<i64>(&guest).unwrap(), kept);
    assert_eq!(load(&guest, kept).unwrap(), 5);
    arena.close();
    faulted(load(&guest, kept), kept);
    assert!(matches!(arena.alloc(8), Err(GrantError::Closed)));
    assert!(matches!(arena.open(&guest, Rights::Read), Err(GrantError::Closed)));
    assert!(matches!(next.pointer::<i64>(&guest), Err(GrantError::Closed)));
    drop(next);
    // And one that is dropped is closed, with blocks that live on.
    let arena = Arena::new(PAGE).unwrap();
    arena.open(&guest, Rights::Read).unwrap();
    let block = arena.alloc(8).unwrap();
    let kept = block.pointer::<i64>(&guest).unwrap();
    drop(arena);
    faulted(load(&guest, kept), kept);
}

/// A domain that was reset has the arena no more, nor has one that came to its place; and the arena goes on with the others.
#[test]
fn a_reset_and_a_restart_take_it_away() {
    let (mut guest, other) = (domain("reset"), domain("other"));
    let arena = Arena::new(PAGE).unwrap();
    arena.open(&guest, Rights::Read).unwrap();
    arena.open(&other, Rights::Read).unwrap();
    let block = arena.alloc(8).unwrap();
    let at = block.pointer::<i64>(&guest).unwrap();
    assert_eq!(load(&guest, at).unwrap(), 0);
    guest.reset().unwrap();
    assert!(matches!(
        block.pointer::<i64>(&guest),
        Err(GrantError::Revoked { .. } | GrantError::NotOpen { .. })
    ));
    faulted(load(&guest, at), at);
    assert!(matches!(arena.shut(&guest), Err(GrantError::NotOpen { .. })));
    arena.open(&guest, Rights::Read).unwrap();
    assert_eq!(load(&guest, block.pointer(&guest).unwrap()).unwrap(), 0);
    // Another domain at the same place is another one.
    let base = guest.base();
    drop(guest);
    for _ in 0..8 {
        let next = domain("next");
        assert!(
            matches!(block.pointer::<i64>(&next), Err(GrantError::NotOpen { .. })),
            "{}",
            next.base() == base
        );
    }
    assert_eq!(load(&other, block.pointer(&other).unwrap()).unwrap(), 0);
}

#[test]
fn blocks_of_before_a_reset_are_none() {
    let guest = domain("guest");
    let arena = Arena::new(PAGE).unwrap();
    arena.open(&guest, Rights::Read).unwrap();
    let old = arena.alloc(8).unwrap();
    arena.reset().unwrap();
    let new = arena.alloc(8).unwrap();
    assert_eq!(old.at(), new.at());
    assert!(matches!(old.pointer::<u8>(&guest), Err(GrantError::Block { .. })));
    assert!(matches!(old.slice::<u8>(), Err(GrantError::Block { .. })));
    drop(old);
    assert!(new.pointer::<u8>(&guest).is_ok(), "the old one's end is not the new one's");
    assert_eq!(arena.free().unwrap(), PAGE - 64);
}

#[test]
fn sizes_that_no_block_has() {
    let arena = Arena::new(4 * PAGE).unwrap();
    for size in [4 * PAGE + 1, 1 << 31, 1 << 32, 1 << 38, 1 << 63, u64::MAX - 62, u64::MAX] {
        assert!(
            matches!(arena.alloc(size), Err(GrantError::Full { free, .. }) if free == 4 * PAGE),
            "{size:#x}"
        );
    }
    assert!(matches!(arena.alloc(0), Err(GrantError::Empty)));
    for alignment in [0, 3, 48, 2 * PAGE, 1 << 63, u64::MAX] {
        assert!(matches!(arena.alloc_aligned(8, alignment), Err(GrantError::Alignment(_))), "{alignment}");
    }
    let blocks: Vec<Block> = (0..4 * PAGE / 64).map(|_| arena.alloc(64).unwrap()).collect();
    assert!(matches!(arena.alloc(1), Err(GrantError::Full { free: 0, .. })));
    drop(blocks);
    // By place, without an owner: foreign, twice, in the middle, beyond.
    let at = arena.alloc_at(200, 256).unwrap();
    for wrong in [at + 1, at + 64, at + PAGE, 4 * PAGE, u64::MAX, u64::MAX - 63] {
        assert!(matches!(arena.free_at(wrong), Err(GrantError::Block { .. })), "{wrong:#x}");
    }
    arena.free_at(at).unwrap();
    assert!(matches!(arena.free_at(at), Err(GrantError::Block { .. })));
}

/// What the address alone leads to.
#[test]
fn an_address_leads_to_its_block_only() {
    let guest = domain("guest");
    let (arena, other) = (Arena::new(PAGE).unwrap(), Arena::new(PAGE).unwrap());
    arena.open(&guest, Rights::Read).unwrap();
    let (block, foreign) = (arena.alloc(100).unwrap(), other.alloc(100).unwrap());
    let at = block.host_address();
    let find = |at: *const u8, size| guest.arena_pointer(at, size, Rights::Read);
    assert_eq!(find(at, 100).unwrap(), block.pointer(&guest).unwrap());
    assert_eq!(
        find(at.wrapping_add(99), 1).unwrap().offset(),
        block.pointer::<u8>(&guest).unwrap().offset() + 99
    );
    assert!(matches!(find(at, 101), Err(GrantError::Range { .. })));
    assert!(matches!(find(at, u64::MAX), Err(GrantError::Range { .. })));
    assert!(matches!(find(at.wrapping_add(100), 1), Err(GrantError::Block { .. })));
    let own = [0_u8; 8];
    assert!(matches!(find(own.as_ptr(), 1), Err(GrantError::NotArena { .. })));
    // (Another test's arena may lie there.)
    assert!(find(at.wrapping_sub(1), 1).is_err());
    assert!(matches!(find(foreign.host_address(), 1), Err(GrantError::NotOpen { .. })));
    assert!(matches!(guest.arena_pointer(at, 1, Rights::ReadWrite), Err(GrantError::Upgrade { .. })));
    drop(block);
    assert!(matches!(find(at, 1), Err(GrantError::Block { .. })));
    arena.close();
    assert!(find(at, 1).is_err());
}

/// Several threads of the host at once: no byte is two threads', and all comes back.
#[test]
fn threads_of_the_host_share_an_arena() {
    let arena = Arena::new(64 * PAGE).unwrap();
    std::thread::scope(|scope| {
        for thread in 1..=4_u8 {
            let arena = &arena;
            scope.spawn(move || {
                for round in 0..5_000_u64 {
                    let block = arena.alloc(1 + round * 7 % 300).unwrap();
                    let bytes = block.slice::<u8>().unwrap();
                    bytes.write(0, &vec![thread; bytes.len() as usize]).unwrap();
                    let copy = bytes
                        .copy_in(0..bytes.len())
                        .unwrap()
                        .check(|copy| copy.iter().all(|byte| *byte == thread));
                    assert!(copy.is_some(), "another thread has this block, too");
                }
            });
        }
    });
    assert_eq!(arena.free().unwrap(), 64 * PAGE);
}

fn lent_pointer(lent: &Grant) -> Pointer<i64> {
    lent.pointer(0).unwrap()
}

/// Lent memory is the domain's for the call, however that ends, and so is what was passed on from there.
#[test]
fn lent_memory_ends_with_the_call() {
    let (guest, other) = (domain("borrower"), domain("second"));
    let region = Region::new(PAGE).unwrap();
    let (mut at, mut there) = (None, None);
    let answer = guest.lend(&region, Rights::Read, |lent| {
        at = Some(lent_pointer(lent));
        let onward = lent.pass_on(&other, Rights::Read).unwrap();
        there = Some(lent_pointer(&onward));
        assert_eq!(load(&other, lent_pointer(&onward)).unwrap(), 0);
        std::mem::forget(onward);
        load(&guest, lent_pointer(lent))
    });
    assert_eq!(answer.unwrap().unwrap(), 0);
    let (at, there) = (at.unwrap(), there.unwrap());
    faulted(load(&guest, at), at);
    faulted(load(&other, there), there);
    // A fault.
    let failed = guest.lend(&region, Rights::Read, |lent| store(&guest, lent_pointer(lent), 1)).unwrap();
    faulted(failed, at);
    faulted(load(&guest, at), at);
    // A panic of the host's.
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        guest.lend(&region, Rights::Read, |_| std::panic::resume_unwind(Box::new(())))
    }));
    assert!(panicked.is_err());
    faulted(load(&guest, at), at);
}

/// A kill in the midst.
#[test]
fn lent_memory_ends_with_a_kill() {
    let guest = domain("killed");
    let region = Region::new(PAGE).unwrap();
    let count = guest.bind::<extern "C" fn(Pointer<i64>)>("count").unwrap();
    let killed: Result<(), CallError> = std::thread::scope(|scope| {
        let call = scope
            .spawn(|| guest.lend(&region, Rights::ReadWrite, |lent| count.call(lent_pointer(lent))).unwrap());
        while super::host_sys::word(&region, 0) < 10 {
            std::hint::spin_loop();
        }
        guest.kill();
        call.join().unwrap()
    });
    assert!(killed.is_err());
    let last = super::host_sys::word(&region, 0);
    assert!((0..1000).all(|_| super::host_sys::word(&region, 0) == last));
    let next = domain("next");
    assert_eq!(
        next.lend(&region, Rights::Read, |lent| load(&next, lent_pointer(lent))).unwrap().unwrap(),
        last
    );
}

/// The limit of time in the midst.
#[test]
fn lent_memory_ends_with_a_time_limit() {
    let options =
        lockgate::DomainOptions::new().name("slow").time_limit(std::time::Duration::from_millis(20));
    let guest = crate::common::started(&super::module(), options);
    let region = Region::new(PAGE).unwrap();
    let count = guest.bind::<extern "C" fn(Pointer<i64>)>("count").unwrap();
    let mut at = None;
    let ended = guest.lend(&region, Rights::ReadWrite, |lent| {
        at = Some(lent_pointer(lent));
        count.call(lent_pointer(lent))
    });
    let error = ended.unwrap().unwrap_err();
    assert_eq!(error.fault().map(lockgate::Fault::kind), Some(lockgate::FaultKind::TimeOut), "{error}");
    let at = at.unwrap();
    faulted(crate::common::in_time(|| load(&guest, at)), at);
}
