"""A Python program with an extension module in C that brings the library; Python's own handlers of faults come behind the first call."""

import faulthandler
import os
import signal
import sys

import extension

null = open(os.devnull, "w")


def late():
    faulthandler.enable(file=null)
    for number in (signal.SIGTRAP, signal.SIGUSR1):
        faulthandler.register(number, file=null)
    signal.signal(signal.SIGTERM, lambda *_: None)


status = extension.run(sys.argv[1:], late)
if not faulthandler.is_enabled():
    sys.exit("faulthandler is off")
sys.exit(status)
