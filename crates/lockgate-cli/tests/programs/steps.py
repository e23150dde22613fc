# For tests/gdb.rs: goes through a call of measure() instruction by instruction. At each, the frames must lead from the
# module's function over measure() to the runtime.
import gdb


def names():
    found = []
    frame = gdb.newest_frame()
    while frame is not None and (not found or found[-1] is not None):
        found.append(frame.name())
        frame = frame.older()
    return found


gdb.execute("break lockgate_invoke")
gdb.execute("run")
gdb.execute("set language c")
gdb.execute("delete")
gdb.execute("tbreak *measure")
gdb.execute("continue")
steps = 0
# The proxy has no symbol.
while gdb.newest_frame().name() is not None:
    frames = names()
    if frames[-2:] != ["measure", None]:
        print("LOST", frames, gdb.execute("x/i $pc", to_string=True))
    gdb.execute("stepi", to_string=True)
    steps += 1
print("STEPS", steps)
