//! How many arguments typed functions have: up to twelve.

/// Calls a macro with the names of types and values, for each number of arguments.
macro_rules! arities {
    ($arity:ident) => {
        $arity!();
        $arity!(A a);
        $arity!(A a B b);
        $arity!(A a B b C c);
        $arity!(A a B b C c D d);
        $arity!(A a B b C c D d E e);
        $arity!(A a B b C c D d E e G g);
        $arity!(A a B b C c D d E e G g H h);
        $arity!(A a B b C c D d E e G g H h I i);
        $arity!(A a B b C c D d E e G g H h I i J j);
        $arity!(A a B b C c D d E e G g H h I i J j K k);
        $arity!(A a B b C c D d E e G g H h I i J j K k L l);
        $arity!(A a B b C c D d E e G g H h I i J j K k L l M m);
    };
}

pub(crate) use arities;
