//! Names that are words of Rust's have `_` behind them.
use words_protected::*;

fn main() -> Result<(), Error> {
    assert_eq!(def(1)?, 2);
    assert_eq!(class(&[1, 2, 9])?, 9);
    assert_eq!(None_(1)?, 3);
    assert_eq!(print("four")?, 4);
    assert_eq!(type_(1)?, 7);
    assert_eq!(self_(1)?, 8);
    assert_eq!((place(5)?, twice(5)?, last(&[6, 7])?), (6, 10, 7));
    assert_eq!(sixth(&[1, 2, 3, 4, 5, 7])?, 7);
    assert!(sixth(&[1, 2, 3, 4, 5]).is_err());
    assert_eq!(fn_(Lambda::yield_)?, 1);
    assert_eq!(measure(value, what)?, 30);
    let given = text_of(5)?;
    assert_eq!((given.from, given.type_), (5, 6));
    del(memory_new()?.expect("memory"))?;
    drop(memory_new()?);
    let mut filled = [0; 3];
    assert_eq!((size_taken(1000, &[1, 2, 3])?, size_filled(1000, &mut filled)?, filled), (3, 3, *b"aaa"));
    assert_eq!(locals(1, 2, 3, 4, 5, 6)?, 123_456);
    assert_eq!(results()?, (9, 1, 2, 3, Lambda::mro));
    assert_eq!((size_of_(1)?, Place_(1)?), (11, 12));
    assert_eq!(hidden_of(5)?.1.__first, 5);
    assert_eq!(under_of(Under::__Two)?, 4);
    Ok(())
}
