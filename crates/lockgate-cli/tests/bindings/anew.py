"""A domain is begun anew while the program is in a callback of the old one."""

import threading

import anew_protected as anew
from checks import raises


def end():
    crash = raises(anew.Fault, anew.anew_crash, 1)
    assert "anew.c:" in str(crash), crash
    assert anew.anew_sum([1, 2]) == 3


def event(n):
    other = threading.Thread(target=end)
    other.start()
    other.join()
    inner = raises(anew.Fault, anew.anew_sum, [1])
    assert str(inner).endswith("which this call is made from"), inner
    return n


outer = raises(anew.Fault, anew.anew_each, 1, event)
assert str(outer).endswith("that called this function"), outer
assert anew.anew_sum([4, 5]) == 9

# The places of functions are free when the domain has ended in which they were passed with a handle.
for _ in range(5):
    things, functions = [anew.anew_new(1) for _ in range(256)], [anew.anew_plain(lambda n: n) for _ in range(256)]
    for thing, function in zip(things, functions):
        anew.anew_take(thing, function)
    end()
    del things, thing, functions, function
