"""What a call costs from Python: `calls.py LIBRARY MODULE ROUNDS CALLS` prints nanoseconds of one call, sample by sample, as JSON.

All sides are called by the same loop with the same argument, in turns that change their order round by round, after a tenth as
many rounds that do not count.
"""

import ctypes
import itertools
import json
import sys
import time

import lockgate


def sides(library: str, module: str) -> dict:
    """Functions to call, by name. ctypes' own let go of the GIL as CDLL, and keep it as PyDLL; so do ours."""
    found = {
        "python.ctypes": ctypes.CDLL(library),
        "python.call": lockgate.CDLL(module),
        "python.ctypes_pydll": ctypes.PyDLL(library),
        "python.call_pydll": lockgate.PyDLL(module),
    }
    functions = {}
    for name, loaded in found.items():
        function = functions[name] = loaded.null_call
        function.argtypes, function.restype = [ctypes.c_int], ctypes.c_int
        assert function(-7) == -7
    functions["python.function"] = lambda x: x
    return functions


def sample(function, calls: int) -> float:
    """Nanoseconds of one call: the mean of `calls`."""
    start = time.perf_counter_ns()
    for _ in itertools.repeat(None, calls):
        function(1)
    return (time.perf_counter_ns() - start) / calls


def main(library: str, module: str, rounds: int, calls: int) -> None:
    functions = list(sides(library, module).items())
    samples = {name: [] for name, _ in functions}
    warm_up = -(-rounds // 10)
    for turn in range(warm_up + rounds):
        first = turn % len(functions)
        for name, function in functions[first:] + functions[:first]:
            taken = sample(function, calls)
            if turn >= warm_up:
                samples[name].append(taken)
    version = ".".join(map(str, sys.version_info[:3]))
    json.dump({"python": version, "optimised": lockgate._native.OPTIMISED, "samples": samples}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
