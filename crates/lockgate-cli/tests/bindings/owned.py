"""A handle that a call leaves in its place has the owner and the life that it had; a function belongs to the handle that its call has made."""

import owned_protected as lib
from owned_protected import owned_tick

first, second = owned_tick(lambda n: 1), owned_tick(lambda n: 2)


def dropped(call, *arguments):
    try:
        raise AssertionError(f"a function that was dropped: {call(*arguments)}")
    except lib.Error as error:
        assert error.kind is lib.Kind.CALLBACK, error


def more():
    """Functions that take the places of dropped ones, if those are given again."""
    functions = [owned_tick(lambda n: 3) for _ in range(8)]
    for function in functions:
        lib.owned_take(other, function)
    return functions


# The library's own stays the library's.
shared = lib.owned_default()
result, same = lib.owned_swap(shared, 0)
same.close()
assert (result, lib.owned_ends()) == (0, 0)
# The program's stays the program's, and is ended once; another is its own.
own = lib.owned_new()
result, own = lib.owned_swap(own, 0)
result, own = lib.owned_swap(own, 1)
assert (result, lib.owned_count(), lib.owned_ends()) == (0, 1, 1)

# As long as the handle lives, the library's pointer leads to no other function.
lib.owned_take(own, first)
result, own = lib.owned_swap(own, 0)
del first
other = lib.owned_new()
lib.owned_take(other, second)
dropped(lib.owned_fire, own, 1)
assert lib.owned_fire(other, 1) == 2

# Nor as long as the one does that was made with it, whatever becomes of the one that it was made from.
first = owned_tick(lambda n: 1)
made = lib.owned_new()
part = lib.part_new(made, first)
made.close()
del first
later = more()
dropped(lib.part_fire, part, 1)
part.close()

# Nor is one over of which the library says that it is not.
first, busy = owned_tick(lambda n: 1), lib.owned_new()
lib.owned_take(busy, first)
assert lib.owned_close(busy, 1) == 1
del first
later = more()
dropped(lib.owned_late, 1)
first, busy = owned_tick(lambda n: 1), lib.owned_new()
lib.owned_take(busy, first)
result, swapped = lib.owned_swap(busy, 2)
assert result == 1
swapped.close()
del first
later = more()
dropped(lib.owned_late, 1)

# With two handles a function belongs to both.
first, made, whole = owned_tick(lambda n: 1), lib.owned_new(), lib.owned_new()
part = lib.part_new(whole, None)
lib.owned_both(made, part, first)
made.close()
del first
later = more()
dropped(lib.part_fire, part, 1)
part.close()
whole.close()

# With none, to what the call makes.
first = owned_tick(lambda n: 1)
made = lib.owned_begin(first)
del first
later = more()
dropped(lib.owned_fire, made, 1)
made.close()
for _ in range(1100):
    first = owned_tick(lambda n: n)
    made = lib.owned_begin(first)
    assert lib.owned_fire(made, 4) == 4
    made.close()
    del first
count = lib.owned_count()

# What a call has made that failed has ended.
try:
    raise AssertionError(lib.owned_open(1))
except OSError as error:
    assert error.errno == 11 and lib.owned_count() == count
result, opened = lib.owned_open(0)
opened.close()
own.close()
other.close()
assert lib.owned_count() == 2  # those that are not over
