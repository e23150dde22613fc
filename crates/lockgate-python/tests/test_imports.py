"""What imports are told of the domain that calls: text and memory come as they do in callbacks."""

import gc
import weakref
from ctypes import POINTER, c_char_p, c_int, c_void_p

import lockgate
import pytest

NOTE = lockgate.CFUNCTYPE(c_int, c_int, c_char_p, POINTER(c_int))


@pytest.fixture(scope="module")
def notes(build):
    return lockgate.Module(build("notes"))


@pytest.fixture(scope="module")
def early(build):
    return lockgate.Module(build("notes", "-g", "-O1", "-DEARLY"))


class Heard:
    """What an import was told."""

    def __init__(self):
        self.all = []

    def __call__(self, number, text, place):
        self.all.append((number, text, place))
        place[0] += 1
        return number + place[0]


def test_text_and_memory_come_with_the_domain(notes):
    heard = Heard()
    with lockgate.Domain(notes, imports={"note": NOTE(heard)}, max_guest_threads=1) as domain:
        assert domain["tell"](4) == 4 + 43 and domain["get"]() == 43
        number, text, place = heard.all[-1]
        assert (number, text) == (4, b"told") and isinstance(place, lockgate.Pointer) and place.domain is domain
        # It is the domain's own in every respect, also when the call is over.
        assert place[0] == 43 and domain["same"](place) == 1
        with pytest.raises(lockgate.BadPointer):
            domain["wild"](1)
        domain.reset()
        assert domain["tell"](4) == 4 + 43 and heard.all[-1][2].domain is domain
        assert domain["start"]() == 0 and heard.all[-1][:2] == (-2, b"own") and heard.all[-1][2].domain is domain


def test_two_domains_with_one_function_are_told_apart(notes):
    heard = Heard()
    imports = {"note": NOTE(heard)}
    with lockgate.CDLL(notes, imports=imports) as first, lockgate.CDLL(notes, imports=imports) as second:
        for library in (first, second, first):
            library.tell(1)
            assert heard.all[-1][2].domain is library.domain
        with pytest.raises(lockgate.ArgumentError, match="this pointer is of domain"):
            second.same(heard.all[-1][2])


def test_domains_of_pools(notes, early):
    for module in (notes, early):
        heard = Heard()
        with lockgate.Pool(module, 2, imports={"note": NOTE(heard)}) as pool:
            for _ in range(3):
                with pool.take() as domain:
                    before = domain["get"]()
                    assert domain["tell"](4) == 4 + before + 1
                    assert heard.all[-1][2].domain is domain
                with pytest.raises(lockgate.Closed):
                    heard.all[-1][2][0]


def test_constructors_call_before_there_is_an_object(early):
    heard = Heard()
    with lockgate.Domain(early, imports={"note": NOTE(heard)}) as domain:
        assert heard.all[0][:2] == (-1, b"early") and domain["answered"]() == -1 + 43
        # What they were given was for that call.
        place = heard.all[0][2]
        assert place.domain is not domain and place.domain.closed
        with pytest.raises(lockgate.Closed):
            place[0]
        assert domain["tell"](1) == 1 + 44 and heard.all[-1][2].domain is domain
        domain.reset()
        assert domain["answered"]() == -1 + 43 and domain["tell"](1) == 1 + 44

    def ends(number, text, place):
        with pytest.raises(lockgate.Busy):
            place.domain.reset()
        place.domain.close()
        return 0

    with pytest.raises(lockgate.Killed):
        lockgate.Domain(early, imports={"note": NOTE(ends)})


def test_what_was_lent_ends_nothing(early):
    """Threads of the module's own end with its handle: an object for one call is none."""
    heard = Heard()
    with lockgate.Domain(early, imports={"note": NOTE(heard)}, max_guest_threads=1) as domain:
        heard.all.clear()
        gc.collect()
        assert domain["start"]() == 0 and domain["answered"]() == -2 + 44


def test_exported_functions_are_told_too(notes):
    registry, heard = lockgate.Registry(), Heard()
    everyone = [lockgate.Allow.everyone()]
    registry.export_host(heard, "note", prototype="int note(int, void *, int *)", allow=everyone)
    with lockgate.Domain(notes, registry=registry, principal=lockgate.Principal.process()) as domain:
        with pytest.raises(TypeError):  # of a prototype it is a pointer to anything
            domain["tell"](4)
        assert heard.all[-1][1].domain is domain and heard.all[-1][1].string() == b"told"
    registry = lockgate.Registry()
    registry.export_host(NOTE(heard), "note", allow=everyone)
    with lockgate.Domain(notes, registry=registry, principal=lockgate.Principal.process()) as domain:
        assert domain["tell"](4) == 4 + 43 and heard.all[-1][1] == b"told" and heard.all[-1][2].domain is domain


def test_after_a_restart_the_new_instance_calls(notes):
    registry, heard = lockgate.Registry(), Heard()
    server = lockgate.Domain(notes, name="server", imports={"note": NOTE(heard)})
    registry.export(server, "tell", of="int tell(int)", allow=[lockgate.Allow.everyone()])
    tell = registry.bind(lockgate.Principal.process(), "tell", rebind=True)
    for _ in range(3):
        assert tell(1) == 1 + 43 and heard.all[-1][2].domain is server and heard.all[-1][2][0] == 43
        assert registry.restart("server") is server
    server.close()


def test_functions_that_keep_no_domain(notes):
    heard = Heard()
    domain = lockgate.Domain(notes, imports={"note": NOTE(heard)})
    domain["tell"](1)
    gone = weakref.ref(domain)
    heard.all.clear()
    del domain
    gc.collect()
    assert gone() is None


def test_addresses_stay_numbers(notes):
    seen = []
    kind = lockgate.CFUNCTYPE(c_int, c_int, c_void_p, c_void_p)
    with lockgate.Domain(notes, imports={"note": kind(lambda *given: seen.append(given) or 1)}) as domain:
        assert domain["tell"](4) == 1
        assert domain.string(seen[0][1]) == b"told" and domain.pointer(seen[0][2], c_int)[0] == 42
