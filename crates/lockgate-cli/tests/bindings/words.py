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
    hidden,
    hidden_of,
    hidden_sum,
    inner_of,
    isinstance_,
    lambda_,
    len_,
    letter,
    locals_,
    measure,
    memory,
    memory_new,
    print_,
    results,
    self,
    size_filled,
    size_taken,
    text,
    text_of,
    type_,
    under,
    under_of,
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
# Underscores that a name begins with stand at its end.
assert hidden_sum(hidden(first__=4, second_=2)) == 42
record = hidden(name="a name")
record.first__ = 1
assert hidden_sum(record) == 10
assert hidden_of(5)[1] == hidden(first__=5, name=b"a name", second_=6)
assert inner_of()[1].inner.number__ == 7
assert under_of(under.One_) == 2 and under_of(under.Two__) == 4
# What is no field is refused, and not forgotten.
try:
    record.second = 1
except AttributeError as raised:
    assert str(raised) == "hidden has no field second", raised
else:
    raise AssertionError(record)
# A length is the buffer's, whatever other parameters are called.
filled = bytearray(3)
assert size_taken(1000, [1, 2, 3]) == 3 and size_filled(1000, filled) == 3 and filled == b"aaa"
assert locals_(1, 2, 3, 4, 5, 6) == 123456
assert results() == (9, 1, 2, 3, lambda_.mro_)
