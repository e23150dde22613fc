"""The program in Python of tests/differ.rs."""

import ctypes
import struct
import sys

import df_protected as df


def show(value):
    sys.stdout.write(f" {value}")


def show_float(value):
    show("nan" if value != value else struct.pack(">d", value).hex())


def show_text(text):
    show("null" if text is None else f'"{bytes(text).hex()}"')


def show_error(error):
    show(f"E {error.kind.name.title()}")


def show_box(box):
    show("null" if box is None else "box")


def show_place(place):
    show("null" if place is None else place)


def all_of(got):
    """One structure or none, where a header says one; else a list."""
    return [] if got is None else got if isinstance(got, list) else [got]


def opened(function):
    try:
        box = function()
        show_box(box)
        return box
    except df.Error as error:
        show_error(error)
        return None


def close(box, function):
    if box is None:
        return
    try:
        show(function(box))
    except df.Error as error:
        show_error(error)


def a_text(n):
    return ["", "text", "\u00e4", "a somewhat longer text, and no end of it"][n % 4]


def run(seed, calls):
    for n in range(int(sys.argv[1])):
        for place, call in enumerate(calls):
            df.df_seed((seed * 1000003 + n * 1009 + place) % 2**64)
            sys.stdout.write(f"{seed} {place} {n}")
            call(n)
            sys.stdout.write(" .\n")
