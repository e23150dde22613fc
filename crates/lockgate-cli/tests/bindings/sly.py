"""What the bindings conclude from a library that is after them, and what they may not lose."""

import ctypes
import gc

from checks import raises
import sly_protected as sly


def lent():
    box = sly.sly_box()
    place, size = sly.sly_buffer(box, 64, bytes(64))
    assert place and size == 64
    raises(sly.Error, sly.sly_buffer, box, 8, bytes(9))
    sly.sly_mode(6)
    error = raises(sly.Error, sly.sly_buffer, box, 1 << 20, bytes(1 << 20))
    assert error.kind == sly.Kind.LENGTH and error.what == "contents", error
    # It goes back with the next call of its handle, to memory that the library does not have.
    assert raises(sly.Error, sly.sly_read, box).kind == sly.Kind.POINTER
    sly.sly_mode(0)


def numbers():
    assert sly.sly_sum([1, 2, 255]) == 258
    raises(OverflowError, sly.sly_sum, [300, 1])
    raises(OverflowError, sly.sly_sum, (-1,))


def results_in_arrays():
    points = (sly.point * 2)((1, 2), (3, 4))
    sly.sly_double(points)
    assert [(point.x, point.y) for point in points] == [(2, 4), (6, 8)]
    raises(TypeError, sly.sly_double, [sly.point(1, 2)])


class Node:
    pass


def crashes():
    """A crash is an exception, whatever Python disposes of in the meantime."""
    thresholds = gc.get_threshold()
    rows = []
    for threshold in (5, 7, 11, 13):
        gc.set_threshold(threshold, 10, 10)
        for number in range(500):
            node = Node()
            node.itself, node.box = node, sly.sly_box()
            del node
            rows.extend([place] for place in range(number % 11))
            raises(sly.Fault, sly.sly_withdraw, 5)
    gc.set_threshold(*thresholds)


def bools():
    assert sly.sly_flag() in (0, 1)
    flag = bytearray(3)
    assert sly.sly_flags(flag) == 1 and flag == b"\1\1\1"


numbers()
results_in_arrays()
bools()
lent()
crashes()
