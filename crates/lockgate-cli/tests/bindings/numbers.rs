//! A value that the API says in C is what C says it is.
use numbers_protected::*;

fn main() -> Result<(), Error> {
    assert_eq!((ENDLESS, BELOW, HALF, NARROW), (f64::INFINITY, f64::NEG_INFINITY, 0.5, c"narrow"));
    assert!(NOTHING.is_nan());
    macro_rules! fail {
        ($($name:ident)*) => {$(
            let kind = $name(0).err().map(|error| error.kind);
            assert_eq!(kind, Some(ErrorKind::Os(5)), stringify!($name));
            $name(1)?;
        )*};
    }
    fail!(
        of_a_name of_an_enumerator in_octal of_operators with_a_cast
        a_character of_a_size without_a_sign the_largest a_byte
        the_least a_state a_half no_number by_default
        a_text
    );
    Ok(())
}
