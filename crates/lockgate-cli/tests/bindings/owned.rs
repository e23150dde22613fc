//! A handle that a call leaves in its place has the owner and the life that it had; a function belongs to the lives of the handles that it was passed with.
use owned_protected::*;

fn main() -> Result<(), Error> {
    let shared = owned_default()?.expect("the library's own");
    let (result, same) = owned_swap(shared, 0)?;
    drop(same.expect("the same"));
    assert_eq!((result, owned_ends()?), (0, 0), "the library's own stays the library's");
    let own = owned_new()?.expect("a new one");
    let (_, own) = owned_swap(own, 0)?;
    let (result, own) = owned_swap(own, 1)?;
    assert_eq!((result, owned_count()?, owned_ends()?), (0, 1, 1));
    drop(own);
    assert_eq!((owned_count()?, owned_ends()?), (0, 2), "the program's stays the program's");
    let error = owned_open(1).map(drop).unwrap_err();
    assert_eq!((error.kind, owned_count()?), (ErrorKind::Os(11), 0), "what a call has made that failed has ended");
    assert!(owned_open(0)?.1.is_some());
    functions_of_lives()
}

fn dropped<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert_eq!(result.expect_err("a function that was dropped").kind, ErrorKind::Callback);
}

/// As long as a handle lives that a function was passed with, the library's pointer leads to no other function; then its place is another's.
fn functions_of_lives() -> Result<(), Error> {
    let tick = |answer| OwnedTick::new(move |_| answer);
    let new = || owned_new().map(|own| own.expect("a new one"));
    // The library's own lives for good.
    let (shared, other) = (owned_default()?.expect("the library's own"), new()?);
    let first = tick(1)?;
    owned_take(&shared, &first)?;
    drop(first);
    let second = tick(2)?;
    owned_take(&other, &second)?;
    dropped(owned_fire(&shared, 1));
    assert_eq!(owned_fire(&other, 1), Ok(2));
    // One that a call leaves in its place has the life that it had.
    let (own, first) = (new()?, tick(1)?);
    owned_take(&own, &first)?;
    let (_, own) = owned_swap(own, 0)?;
    let own = own.expect("the same");
    drop(first);
    let third = tick(3)?;
    owned_take(&other, &third)?;
    dropped(owned_fire(&own, 1));
    drop(own);
    // One that a call has made has the functions that the call took, whatever becomes of the handle that it was made from.
    let (made, first) = (new()?, tick(1)?);
    let part = part_new(&made, &first)?.expect("a part");
    drop((made, first));
    let fourth = tick(4)?;
    owned_take(&other, &fourth)?;
    dropped(part_fire(&part, 1));
    drop(part);
    // Nor is one over of which the library says that it is not.
    let (own, first) = (new()?, tick(1)?);
    owned_take(&own, &first)?;
    assert_eq!(owned_close(own, 1), Ok(1));
    drop(first);
    let fifth = tick(5)?;
    owned_take(&other, &fifth)?;
    dropped(owned_late(1));
    let (own, first) = (new()?, tick(1)?);
    owned_take(&own, &first)?;
    let (result, own) = owned_swap(own, 2)?;
    assert!(result == 1 && own.is_some());
    drop((own, first));
    let sixth = tick(6)?;
    owned_take(&other, &sixth)?;
    dropped(owned_late(1));
    // With two handles it belongs to both.
    let (own, whole, first) = (new()?, new()?, tick(1)?);
    let part = part_new(&whole, None)?.expect("a part");
    owned_both(&own, &part, &first)?;
    drop((own, first));
    let seventh = tick(7)?;
    owned_take(&other, &seventh)?;
    dropped(part_fire(&part, 1));
    // With none, to what the call makes.
    let first = tick(1)?;
    let own = owned_begin(&first)?.expect("a new one");
    drop(first);
    let eighth = tick(8)?;
    owned_take(&other, &eighth)?;
    dropped(owned_fire(&own, 1));
    for _ in 0..300 {
        let first = tick(1)?;
        let own = owned_begin(&first)?.expect("a new one");
        assert_eq!(owned_fire(&own, 1), Ok(1));
    }
    // One after another, beside one that stays.
    for _ in 0..300 {
        let (own, first, second) = (new()?, tick(1)?, tick(2)?);
        (0..40).try_for_each(|_| owned_take(&own, &first).map(drop))?;
        let (_, own) = owned_swap(own, 1)?;
        let own = own.expect("another");
        owned_take(&own, &second)?;
        let part = part_new(&own, &first)?.expect("a part");
        drop(part);
        assert_eq!(owned_close(own, 0), Ok(0));
    }
    // The place of one function, with ever new handles.
    (0..1000).try_for_each(|_| owned_take(&new()?, &fifth).map(drop))?;
    assert_eq!(owned_fire(&other, 1), Ok(8));
    Ok(())
}
