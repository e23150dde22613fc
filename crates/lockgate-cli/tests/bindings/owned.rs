//! A handle that a call leaves in its place has the owner that it had.
use owned_protected::*;

fn main() -> Result<(), Error> {
    let shared = owned_default()?.expect("the library's own");
    let (result, same) = owned_swap(shared, 0)?;
    drop(same.expect("the same"));
    assert_eq!((result, owned_ends()?), (0, 0), "the library's own stays the library's");
    let own = owned_new()?.expect("a new one");
    let (_, own) = owned_swap(own, 0)?;
    let (result, own) = owned_swap(own, 1)?;
    assert_eq!((result, owned_count()?, owned_ends()?), (1, 1, 1));
    drop(own);
    assert_eq!((owned_count()?, owned_ends()?), (0, 2), "the program's stays the program's");
    Ok(())
}
