//! Handles: numbers by which domains name objects of others (docs/handles.md).
use crate::common::host_sys::in_child_of;
use crate::common::{Guest, in_child};
use lockgate::handle::{MAX_DEPTH, MAX_HANDLES, MAX_HANDLES_FROM, MAX_OBJECTS};
use lockgate::{
    Domain, DomainOptions, Handle, HandleError, HandleGone, HandleRights, HostFunction, Module, ObjectInUse,
};
use std::sync::{Arc, Barrier, LazyLock};

const SOURCE: &str = r#"
#include <stdlib.h>
long session_read(long handle);
struct session { long value; };
struct session *open_session(long value) { struct session *s = malloc(sizeof *s); s->value = value; return s; }
long read_session(struct session *s) { return s->value; }
void close_session(struct session *s) { s->value = -1; free(s); }
long ask(long handle) { return session_read(handle); }
int crash(void) { return *(volatile int *)0x8000; }
"#;

/// Types of the owner's objects.
const SESSION: u16 = 1;
const CURSOR: u16 = 2;

const USE: HandleRights = HandleRights::USE;
const WRITE: HandleRights = HandleRights::of_owner(1);

fn all() -> HandleRights {
    USE | HandleRights::PASS_ON | WRITE
}

fn module() -> Arc<Module> {
    static MODULE: LazyLock<Arc<Module>> =
        LazyLock::new(|| Guest::c(SOURCE).gate("long session_read(long)").module());
    MODULE.clone()
}

fn domain(name: &str) -> Domain {
    Domain::new(&module(), DomainOptions::new().name(name)).unwrap()
}

fn three() -> [Domain; 3] {
    ["owner", "client", "other"].map(domain)
}

fn session(owner: &Domain, holder: &Domain, handle: Handle) -> Result<ObjectInUse, HandleError> {
    owner.resolve_handle(holder, handle, SESSION, USE)
}

#[track_caller]
fn is_unknown<T: std::fmt::Debug>(result: Result<T, HandleError>) {
    assert!(matches!(result, Err(HandleError::Unknown { .. })), "{result:?}");
}

#[track_caller]
fn is_gone<T: std::fmt::Debug>(result: Result<T, HandleError>, why: HandleGone) {
    assert!(matches!(&result, Err(HandleError::Gone { why: is, .. }) if *is == why), "{result:?}");
}

#[test]
fn a_module_reads_another_ones_object_by_a_handle_that_its_host_resolves() {
    let owner = Arc::new(domain("owner"));
    let served = owner.clone();
    let read = HostFunction::new(move |client: &Domain, number: i64| {
        match session(&served, client, Handle::from_number(number as u64)) {
            Ok(in_use) => {
                let read = served.bind::<extern "C" fn(u64) -> i64>("read_session").unwrap();
                read.call(in_use.object()).unwrap()
            }
            Err(_) => -1,
        }
    });
    let client =
        Domain::new(&module(), DomainOptions::new().name("client").gate("session_read", read)).unwrap();
    let object = owner.bind::<extern "C" fn(i64) -> u64>("open_session").unwrap().call(42).unwrap();
    let handle = owner.give_handle(&client, SESSION, object, USE).unwrap();
    let ask = client.bind::<extern "C" fn(u64) -> i64>("ask").unwrap();
    assert_eq!(ask.call(handle.number()).unwrap(), 42);
    for forged in [0, object, handle.number() ^ 1, handle.number() ^ 1 << 20, handle.number() + (1 << 32)] {
        assert_eq!(ask.call(forged).unwrap(), -1, "{forged:#x}");
    }
    assert_eq!(owner.take_released(), []);
    client.release_handle(handle).unwrap();
    assert_eq!(ask.call(handle.number()).unwrap(), -1);
    assert_eq!(owner.take_released(), [(SESSION, object)]);
    owner.bind::<extern "C" fn(u64)>("close_session").unwrap().call(object).unwrap();
}

#[test]
fn an_object_is_released_once_when_its_last_holder_has_gone() {
    let [owner, client, other] = three();
    let one = owner.give_handle(&client, SESSION, 7, all()).unwrap();
    let two = client.pass_handle_on(one, &other, USE).unwrap();
    assert_eq!((client.held_handles(), other.held_handles()), (1, 1));
    client.release_handle(one).unwrap();
    assert_eq!(session(&owner, &other, two).unwrap().object(), 7);
    assert_eq!(owner.take_released(), []);
    other.release_handle(two).unwrap();
    is_gone(other.release_handle(two), HandleGone::Released);
    // Given once more before the owner has asked: it is in use.
    let again = owner.give_handle(&client, SESSION, 7, USE).unwrap();
    assert_eq!(owner.take_released(), []);
    client.release_handle(again).unwrap();
    assert_eq!(owner.take_released(), [(SESSION, 7)]);
    assert_eq!(owner.take_released(), []);
    assert_eq!((client.held_handles(), other.held_handles()), (0, 0));
}

#[test]
fn numbers_of_others_and_old_ones_name_nothing() {
    let [owner, client, other] = three();
    let handle = owner.give_handle(&client, SESSION, 7, all()).unwrap();
    is_unknown(session(&owner, &other, handle));
    is_unknown(client.pass_handle_on(Handle::from_number(handle.number() + 1), &other, USE));
    is_unknown(other.release_handle(handle));
    is_unknown(owner.revoke_handle(&other, handle));
    client.release_handle(handle).unwrap();
    let next = owner.give_handle(&client, SESSION, 8, all()).unwrap();
    assert_ne!(handle, next);
    is_unknown(session(&owner, &client, handle));
    is_unknown(client.release_handle(handle));
    assert_eq!(session(&owner, &client, next).unwrap().object(), 8);
}

#[test]
fn a_handle_is_good_for_its_owner_and_its_type() {
    let [owner, client, other] = three();
    let handle = owner.give_handle(&client, SESSION, 7, all()).unwrap();
    let elsewhere = session(&other, &client, handle);
    assert!(matches!(elsewhere, Err(HandleError::NotOwner { .. })), "{elsewhere:?}");
    let cursor = owner.resolve_handle(&client, handle, CURSOR, USE);
    assert!(matches!(cursor, Err(HandleError::Type { is: SESSION, asked: CURSOR, .. })), "{cursor:?}");
    // A number that says the type that was asked for.
    let forged = Handle::from_number(handle.number() ^ u64::from(SESSION ^ CURSOR) << 20);
    is_unknown(owner.resolve_handle(&client, forged, CURSOR, USE));
    let large = owner.give_handle(&client, Handle::MAX_TYPE + 1, 7, USE);
    assert!(matches!(large, Err(HandleError::NoType { .. })), "{large:?}");
    assert!(owner.give_handle(&client, Handle::MAX_TYPE, 7, USE).is_ok());
}

#[test]
fn rights_only_shrink() {
    let [owner, client, other] = three();
    let lacks = |result: Result<Handle, HandleError>, bits| {
        assert!(matches!(result, Err(HandleError::Rights { missing, .. }) if missing == bits), "{result:?}");
    };
    let handle = owner.give_handle(&client, SESSION, 7, USE | HandleRights::PASS_ON).unwrap();
    lacks(client.pass_handle_on(handle, &other, USE | WRITE), 1 << 16);
    let writes = owner.resolve_handle(&client, handle, SESSION, WRITE);
    assert!(matches!(writes, Err(HandleError::Rights { missing: 0x1_0000, .. })), "{writes:?}");
    let onward = client.pass_handle_on(handle, &other, USE).unwrap();
    lacks(other.pass_handle_on(onward, &client, USE), 2);
    let carried = client.pass_handle_on(handle, &other, HandleRights::PASS_ON).unwrap();
    let used = owner.resolve_handle(&other, carried, SESSION, HandleRights::of_owner(0));
    assert!(matches!(used, Err(HandleError::Rights { missing: 1, .. })), "{used:?}");
    assert_eq!(session(&owner, &other, onward).unwrap().rights(), USE);
}

#[test]
fn who_has_given_a_handle_revokes_it_and_all_that_came_of_it() {
    let [owner, client, other] = three();
    let fourth = domain("fourth");
    let one = owner.give_handle(&client, SESSION, 7, all()).unwrap();
    let two = client.pass_handle_on(one, &other, all()).unwrap();
    let three = other.pass_handle_on(two, &fourth, USE).unwrap();
    for (who, whose, handle) in [(&other, &client, one), (&fourth, &other, two), (&client, &client, one)] {
        let refused = who.revoke_handle(whose, handle);
        assert!(matches!(refused, Err(HandleError::NotGiver { .. })), "{refused:?}");
    }
    client.revoke_handle(&other, two).unwrap();
    is_gone(session(&owner, &other, two), HandleGone::Revoked);
    is_gone(session(&owner, &fourth, three), HandleGone::Revoked);
    assert_eq!(session(&owner, &client, one).unwrap().object(), 7);
    // A giver's giver revokes, too, also when the giver is gone.
    let two = client.pass_handle_on(one, &other, all()).unwrap();
    let three = other.pass_handle_on(two, &fourth, USE).unwrap();
    other.release_handle(two).unwrap();
    client.revoke_handle(&fourth, three).unwrap();
    is_gone(session(&owner, &fourth, three), HandleGone::Revoked);
    owner.revoke_handle(&client, one).unwrap();
    assert_eq!(owner.take_released(), [(SESSION, 7)]);
}

#[test]
fn an_object_that_is_revoked_in_a_use_is_released_after_it() {
    let [owner, client, _] = three();
    let handle = owner.give_handle(&client, SESSION, 7, USE).unwrap();
    let (begun, revoked) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let in_use = session(&owner, &client, handle).unwrap();
            begun.wait();
            revoked.wait();
            assert_eq!(owner.take_released(), []);
            drop(in_use);
            assert_eq!(owner.take_released(), [(SESSION, 7)]);
        });
        begun.wait();
        owner.revoke_handle(&client, handle).unwrap();
        is_gone(session(&owner, &client, handle), HandleGone::Revoked);
        revoked.wait();
    });
}

#[test]
fn a_handle_dies_with_its_owner_and_a_share_with_its_holder() {
    let [owner, client, other] = three();
    let one = owner.give_handle(&client, SESSION, 7, all()).unwrap();
    let two = client.pass_handle_on(one, &other, USE).unwrap();
    let mut client = client;
    client.reset().unwrap();
    is_unknown(session(&owner, &client, one));
    assert_eq!(session(&owner, &other, two).unwrap().object(), 7);
    let in_use = session(&owner, &other, two).unwrap();
    let mut owner = owner;
    owner.reset().unwrap();
    is_gone(session(&owner, &other, two), HandleGone::OwnerEnded);
    assert_eq!((owner.take_released(), other.held_handles()), (vec![], 0));
    // A use of the owner's life before does not count for an object of the same number.
    let again = owner.give_handle(&other, SESSION, 7, USE).unwrap();
    let newer = session(&owner, &other, again).unwrap();
    drop(in_use);
    other.release_handle(again).unwrap();
    assert_eq!(owner.take_released(), []);
    drop(newer);
    assert_eq!(owner.take_released(), [(SESSION, 7)]);
}

#[test]
fn a_killed_domain_gives_and_gets_nothing() {
    let [owner, client, other] = three();
    let handle = owner.give_handle(&client, SESSION, 7, all()).unwrap();
    let back = client.give_handle(&owner, SESSION, 9, all()).unwrap();
    owner.kill();
    let refused = |result: Result<(), HandleError>| {
        assert!(matches!(&result, Err(HandleError::Ended { domain }) if domain == "owner"), "{result:?}");
    };
    refused(session(&owner, &client, handle).map(drop));
    refused(session(&client, &owner, back).map(drop));
    refused(owner.give_handle(&other, SESSION, 7, USE).map(drop));
    refused(other.give_handle(&owner, SESSION, 7, USE).map(drop));
    refused(client.pass_handle_on(handle, &owner, USE).map(drop));
    refused(owner.pass_handle_on(back, &other, USE).map(drop));
    drop(owner);
    assert!(lockgate::until_reclaimed(std::time::Duration::from_secs(60)));
    assert_eq!(client.held_handles(), 0);
    assert_eq!(client.take_released(), [(SESSION, 9)]);
}

#[test]
fn a_full_table_refuses_and_has_room_for_other_givers() {
    let [owner, client, other] = three();
    let given: Vec<_> = (0..MAX_HANDLES_FROM as u64)
        .map(|object| owner.give_handle(&client, SESSION, object, all()).unwrap())
        .collect();
    let full = owner.give_handle(&client, SESSION, u64::MAX, USE);
    assert!(matches!(full, Err(HandleError::TooMany { .. })), "{full:?}");
    let others = other.give_handle(&client, SESSION, 1, USE).unwrap();
    client.release_handle(given[0]).unwrap();
    owner.give_handle(&client, SESSION, u64::MAX, USE).unwrap();
    client.release_handle(others).unwrap();
    let givers: Vec<_> = (1..MAX_HANDLES / MAX_HANDLES_FROM).map(|_| domain("giver")).collect();
    for giver in &givers {
        for object in 0..MAX_HANDLES_FROM as u64 {
            giver.give_handle(&client, SESSION, object, USE).unwrap();
        }
    }
    let full = other.give_handle(&client, SESSION, 1, USE);
    assert!(matches!(full, Err(HandleError::TooMany { .. })), "{full:?}");
}

#[test]
fn objects_that_their_owner_does_not_take_are_bounded() {
    let [owner, client, other] = three();
    for object in 0..MAX_OBJECTS as u64 {
        let handle = owner.give_handle(&client, SESSION, object, USE).unwrap();
        client.release_handle(handle).unwrap();
    }
    let full = owner.give_handle(&client, SESSION, u64::MAX, USE);
    assert!(matches!(full, Err(HandleError::TooManyObjects { .. })), "{full:?}");
    assert!(other.give_handle(&client, SESSION, 1, USE).is_ok());
    assert_eq!(owner.take_released().len(), MAX_OBJECTS);
    assert!(owner.give_handle(&client, SESSION, u64::MAX, USE).is_ok());
}

#[test]
fn a_chain_of_givers_is_bounded() {
    let [owner, client, other] = three();
    let mut handle = owner.give_handle(&client, SESSION, 7, all()).unwrap();
    let turns = [(&client, &other), (&other, &client)];
    for (giver, to) in turns.into_iter().cycle().take(MAX_DEPTH as usize - 1) {
        handle = giver.pass_handle_on(handle, to, all()).unwrap();
    }
    let deep = other.pass_handle_on(handle, &client, all());
    assert!(matches!(deep, Err(HandleError::TooDeep { .. })), "{deep:?}");
}

#[test]
fn a_hundred_thousand_handles_leave_nothing_and_no_number_comes_twice() {
    let [owner, client, _] = three();
    let mut last = owner.give_handle(&client, SESSION, 0, USE).unwrap();
    client.release_handle(last).unwrap();
    for object in 0..100_000 {
        let handle = owner.give_handle(&client, SESSION, object, USE).unwrap();
        assert_eq!(handle.number() as u32, last.number() as u32, "the one place is used again");
        assert!(handle > last, "a generation comes once");
        last = handle;
        client.release_handle(handle).unwrap();
        assert_eq!(owner.take_released(), [(SESSION, object)]);
    }
    assert_eq!(client.held_handles(), 0);
}

#[test]
fn a_forked_child_has_no_handle_of_its_parent() {
    let output = in_child("handles::child_without_handles");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by a_forked_child_has_no_handle_of_its_parent"]
fn child_without_handles() {
    let [owner, client, _] = three();
    let handle = owner.give_handle(&client, SESSION, 7, USE).unwrap();
    in_child_of(false, || {
        let inherited = session(&owner, &client, handle);
        if !matches!(&inherited, Err(HandleError::Forked { domain }) if domain == "owner") {
            return Err(format!("{inherited:?}"));
        }
        let own = domain("the child's own");
        let given = own.give_handle(&client, SESSION, 7, USE);
        if !matches!(&given, Err(HandleError::Forked { domain }) if domain == "client") {
            return Err(format!("{given:?}"));
        }
        let (guest, number) = (domain("guest"), handle.number());
        let made = own.give_handle(&guest, SESSION, 8, USE).map_err(|error| error.to_string())?;
        let object = session(&own, &guest, made).map_err(|error| error.to_string())?.object();
        (object == 8 && made.number() == number)
            .then_some(())
            .ok_or("the table has something in it".to_owned())
    })
    .unwrap();
    assert_eq!(session(&owner, &client, handle).unwrap().object(), 7);
}
