"""What C programs free, these bindings copy and free themselves."""

import keeper_protected as keeper


def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))


assert keeper.keeper_join("lock", "gate") == b"lockgate"
assert bytes(keeper.keeper_bytes(3, 9)) == b"\t\t\t"
assert [(point.x, point.y) for point in keeper.keeper_points(3)] == [(0, 0), (1, -1), (2, -2)]
assert keeper.keeper_explain(5) == (5, b"it went wrong")
assert keeper.keeper_explain(0) == (0, None)
for _ in range(20):
    keeper.keeper_bytes(1 << 20, 1)
before = resident()
for fill in range(200):
    assert keeper.keeper_bytes(1 << 20, fill)[-1] == fill
assert resident() < before + 50_000, resident() - before
keeper.keeper_answer(2)
try:
    keeper.keeper_join("a", "b")
except keeper.Error as error:
    assert error.kind == keeper.Kind.POINTER
else:
    raise AssertionError("a pointer to nowhere was a string")
