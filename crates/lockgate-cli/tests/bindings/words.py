"""Names that are words of Python's, or of the module's own, have _ behind them."""

from words_protected import (
    Error_,
    Kind_,
    None_,
    class_,
    ctypes_,
    def_,
    del_,
    fn,
    isinstance_,
    lambda_,
    len_,
    letter,
    measure,
    memory,
    memory_new,
    print_,
    self,
    text,
    text_of,
    type_,
    value,
    what,
)

assert def_(in_=1) == 2
# A character is text of one byte, or its number; what is wrong is said.
assert letter("a") == letter(b"a") == letter(97) == 97
for wrong, error in ("ab", ValueError), ("", ValueError), ("ä", ValueError), (300, OverflowError), (None, TypeError):
    try:
        letter(wrong)
    except error as raised:
        assert str(raised).startswith("c: "), raised
    else:
        raise AssertionError(wrong)
assert None_(1) == 3
assert class_([1, 2, 9]) == 9
assert ctypes_(1) == 4
assert print_("four") == 4
assert len_(1) == 5
assert isinstance_(1) == 6
assert type_(1) == 7
assert self(1) == 8
assert fn(lambda_.yield_) == 1 and fn(lambda_.mro_) == 0
assert Error_(1) == 9
assert Kind_(1) == 10
assert measure(value=value, what=what) == 30
given = text_of(5)
assert (given.from_, given.type, given.None_) == (5, 6, 7)
with memory_new() as handle:
    assert handle is not None
del_(memory_new())
