"""A value that the API says in C is what C says it is."""

import math

import numbers_protected
from numbers_protected import BELOW, ENDLESS, HALF, NARROW, NOTHING, state

assert (ENDLESS, BELOW, HALF, NARROW) == (math.inf, -math.inf, 0.5, b"narrow") and math.isnan(NOTHING)
for name in ("WIDE", "ZEROS", "BROAD"):
    assert not hasattr(numbers_protected, name), name
functions = """
    of_a_name of_an_enumerator in_octal of_operators with_a_cast
    a_character of_a_size without_a_sign the_largest a_byte
    the_least a_state a_half no_number by_default
    a_text
"""
for name in functions.split():
    function = getattr(numbers_protected, name)
    try:
        raise AssertionError(f"{name} gave {function(0)}")
    except OSError as error:
        assert error.errno == 5
    assert function(1) in (1, state.WELL, b"text"), name
