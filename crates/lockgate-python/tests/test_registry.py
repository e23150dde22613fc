"""Functions by name: who may bind what, and what becomes of it."""

import ctypes
import os
import threading
from ctypes import POINTER, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64

import lockgate
import pytest
from conftest import During, times
from lockgate import Allow, Principal, Registry, Token

EVERYONE = [Allow.everyone()]
NOBODY = Principal.nobody()


@pytest.fixture
def registry(values_module):
    """A registry in which the domain "values" exports, to everyone."""
    registry = Registry()
    with lockgate.Domain(values_module, name="values") as domain:
        registry.export(domain, "v.count", of="count", allow=EVERYONE)
        registry.export(domain, "v.sum", (2, 3), of="sum", allow=EVERYONE, policy="integrity+counted")
        yield registry


@pytest.fixture
def imports_module(build):
    return lockgate.Module(build("imports"))


def until(condition):
    """Waits for another thread to have got that far."""
    while not condition():
        os.sched_yield()


class Elsewhere(threading.Thread):
    """A call on another thread: `ended()` is its result, or what it raised."""

    def __init__(self, function):
        super().__init__()
        self.function, self.outcome = function, None
        self.start()

    def run(self):
        try:
            self.outcome = self.function()
        except BaseException as error:
            self.outcome = error

    def ended(self):
        self.join()
        return self.outcome


def test_a_bound_function_is_a_function(registry):
    assert registry.names() == [("v.count", (1, 0)), ("v.sum", (2, 3))]
    count = registry.bind(NOBODY, "v.count")
    assert isinstance(count, lockgate.Function) and [count(), count()] == [1, 2]
    assert count.domain.name == "values" and count.argtypes == []
    total = registry.bind(NOBODY, "v.sum", (2, 1))
    assert total((c_int64 * 3)(1, 2, 3), 3) == 6
    assert total.submit(lockgate.Workers(1), (c_int64 * 2)(4, 5), 2).wait() == 9
    assert "counted" in total.enforced
    total.policy = lockgate.Policy.MUTUAL_TRUST
    assert total((c_int64 * 1)(7), 1) == 7 and "integrity" in total.enforced
    typed = registry.bind(NOBODY, "v.sum", argtypes=[POINTER(c_int64), c_size_t], restype=c_int64)
    with pytest.raises(lockgate.ArgumentError, match="expected c_long"):
        typed((c_double * 1)(1), 1)
    typed.restype = c_uint64
    with pytest.raises(lockgate.Mismatch):
        typed((c_int64 * 1)(1), 1)
    with pytest.raises(lockgate.ArgumentError, match="takes 2 arguments"):
        total(1)


def test_what_is_asked_for_is_checked(registry, hostile_module):
    domain = registry.bind(NOBODY, "v.count").domain
    attacks = [
        (lambda: registry.bind(NOBODY, "v.cuont"), lockgate.UnknownName, 'did you mean "v.count"'),
        (lambda: registry.bind(NOBODY, "v.cuont"), LookupError, "nothing is exported"),
        (lambda: registry.bind(NOBODY, "v.sum", (1, 0)), lockgate.VersionError, "2.3"),
        (lambda: registry.bind(NOBODY, "v.sum", (2, 4)), lockgate.VersionError, "2.3"),
        (lambda: registry.bind(NOBODY, "v.sum", argtypes=[c_int64]), lockgate.Mismatch, "v.sum"),
        (lambda: registry.bind(NOBODY, "v.count", argtypes=[], restype=c_double), lockgate.SignatureError, "result"),
        (lambda: registry.bind(NOBODY, "v.count", restype=c_int), lockgate.OptionError, "argtypes"),
        (lambda: registry.bind(NOBODY, "v.count", policy="trust"), lockgate.OptionError, "no policy"),
        (lambda: registry.bind(NOBODY, "v.count", wait=-1), ValueError, "seconds"),
        (lambda: registry.bind(NOBODY, "v.count", (1, 70000)), OverflowError, "out of range"),
        (lambda: registry.bind(NOBODY, "v.count", "1.0"), TypeError, "tuple"),
        (lambda: registry.bind("nobody", "v.count"), TypeError, "Principal"),
        (lambda: registry.export(domain, "v.count", (1, 7), of="count"), lockgate.Taken, "1.0 already"),
        (lambda: registry.export(domain, "v.other", of="cuont"), lockgate.SymbolError, "count"),
        (lambda: registry.export(domain, "v.other", of="double count(int)"), lockgate.SignatureError, "result"),
        (lambda: registry.export(domain, "v.other", of="count", allow=["everyone"]), TypeError, "Allow"),
        (lambda: registry.export_host(len, "h.len"), lockgate.OptionError, "prototype"),
        (lambda: registry.unexport("v.cuont"), lockgate.UnknownName, "v.count"),
        (lambda: registry.revoke("nothing"), lockgate.UnknownName, "nothing"),
        (lambda: registry.remove("valuse"), lockgate.UnknownDomain, "valuse"),
        (lambda: registry.restart("valuse"), lockgate.UnknownDomain, "valuse"),
        (lambda: registry.limit_restarts("valuse", 1, 1), lockgate.UnknownDomain, "valuse"),
        (lambda: registry.link(domain, "puts", NOBODY, "v.count"), lockgate.UnknownImport, "puts"),
        (lambda: lockgate.Domain(hostile_module, registry=registry), lockgate.OptionError, "principal"),
        (lambda: lockgate.Domain(hostile_module, registry=1, principal=NOBODY), TypeError, "Registry"),
        (lambda: Token(b"short"), ValueError, "16 bytes, not 5"),
        (lambda: Principal.user(-1), OverflowError, "out of range"),
    ]  # fmt: skip
    for number, (attack, kind, message) in enumerate(attacks):
        with pytest.raises(kind, match=message):
            attack()
            pytest.fail(f"attack {number} did not raise")
    with lockgate.Domain(hostile_module, name="values") as other:
        with pytest.raises(lockgate.DomainTaken, match="values"):
            registry.export(other, "h.fine", of="fine", allow=EVERYONE)
    # Nothing of that had an effect.
    assert registry.names() == [("v.count", (1, 0)), ("v.sum", (2, 3))]


def test_only_who_is_allowed_may_bind(values_module):
    registry, token = Registry(), Token()
    principals = {
        "user": Principal.user(5),
        "group": NOBODY.in_group(1, 6),
        "domain": Principal.domain("five"),
        "token": NOBODY.with_token(Token(), token),
    }
    with lockgate.Domain(values_module) as domain:
        allowed = {
            "user": [Allow.user(5)],
            "group": [Allow.group(6)],
            "domain": [Allow.domain("five")],
            "token": [Allow.token(Token(bytes(token)))],
        }
        for name, allow in allowed.items():
            registry.export(domain, name, of="count", allow=allow)
            for who, principal in principals.items():
                if who == name:
                    assert registry.bind(principal, name)() > 0
                    continue
                with pytest.raises(lockgate.Forbidden, match=f"may not bind {name}") as caught:
                    registry.bind(principal, name)
                assert isinstance(caught.value, PermissionError)
        registry.export(domain, "mine", of="count", allow=[Allow.user(os.geteuid())])
        assert registry.bind(Principal.process(), "mine")() > 0
        registry.export(domain, "closed", of="count")
        with pytest.raises(lockgate.Forbidden):
            registry.bind(Principal.process(), "closed")
    assert token == Token(bytes(token)) and token != Token() and Allow.user(1) != Allow.group(1)
    assert bytes(token).hex() not in repr(token) + repr(principals["token"]) + repr(allowed)


def test_a_client_waits_for_its_server(values_module):
    registry = Registry()
    with pytest.raises(lockgate.Late, match="within 60 ms") as caught:
        registry.bind(NOBODY, "late", wait=0.06)
    assert isinstance(caught.value, TimeoutError)
    waiting = Elsewhere(lambda: registry.bind(NOBODY, "late", wait=600)())
    with lockgate.Domain(values_module) as domain:
        registry.export(domain, "late", of="count", allow=EVERYONE)
        assert waiting.ended() == 1


def test_unexported_names_are_gone_and_what_is_bound_stays(registry):
    count = registry.bind(NOBODY, "v.count")
    registry.unexport("v.count")
    with pytest.raises(lockgate.UnknownName):
        registry.bind(NOBODY, "v.count")
    assert count() == 1


def test_revoked_functions_raise(registry):
    count, total = registry.bind(NOBODY, "v.count", rebind=True), registry.bind(NOBODY, "v.sum")
    registry.revoke("v.count")
    with pytest.raises(lockgate.Revoked, match="count was revoked") as caught:
        count()
    assert isinstance(caught.value, lockgate.Killed)
    assert total((c_int64 * 1)(3), 1) == 3


@pytest.mark.parametrize("stop", [False, True])
def test_a_call_in_progress_finishes_or_stops(hostile_module, stop):
    registry = Registry()
    with lockgate.Domain(hostile_module, name="busy") as domain:
        region = lockgate.Region(4096)
        flags = memoryview(region).cast("i")
        domain.grant(region)
        registry.export(domain, "wait", of="meet", allow=EVERYONE)
        wait = registry.bind(NOBODY, "wait")
        call = Elsewhere(lambda: wait(region))
        until(lambda: flags[0] == 1)
        registry.revoke("wait", stop=stop)
        if stop:
            assert isinstance(call.ended(), lockgate.Revoked)
        flags[1] = 1
        if not stop:
            assert call.ended() is None
        with pytest.raises(lockgate.Revoked):
            wait(region)
        assert domain["fine"]() == 42


def test_a_restart_rebinds_who_asked_for_it(registry):
    rebound = registry.bind(NOBODY, "v.count", rebind=True)
    total = registry.bind(NOBODY, "v.sum", rebind=True)
    stale = registry.bind(NOBODY, "v.count")
    domain = stale.domain
    plain, base, numbers = domain["count"], domain.base, (c_int64 * 3)(1, 2, 3)
    assert (rebound(), stale(), plain(), total(numbers, 3)) == (1, 2, 3, 6)
    assert registry.restart("values") is domain and domain.base != base
    assert rebound() == 1
    with pytest.raises(lockgate.Restarted, match="was restarted") as caught:
        stale()
    assert isinstance(caught.value, lockgate.Killed) and caught.value.domain == "values"
    # What is passed by reference goes to the new instance, and the domain's own functions, too.
    assert (plain(), total(numbers, 3), registry.bind(NOBODY, "v.count")()) == (2, 6, 3)


def test_arguments_are_for_the_instance_that_they_were_made_for(hostile_module):
    """A rebound function leads to the new instance, where the place of a callback may be another one's."""
    registry, unary, others = Registry(), lockgate.CFUNCTYPE(c_int, c_int), []
    with lockgate.Domain(hostile_module, name="server") as domain:
        registry.export(domain, "call", allow=EVERYONE)
        call = registry.bind(NOBODY, "call", rebind=True)
        assert call(unary(lambda x: x + 1), 1) == 2

        def restart():
            registry.restart("server")
            others.append(unary(lambda x: 666))
            others[-1].address(domain)

        with pytest.raises(lockgate.Restarted):
            call(unary(lambda x: x + 1), During(1, restart))
        with pytest.raises((lockgate.Restarted, lockgate.Killed)):
            domain["call"](unary(lambda x: x + 1), During(1, restart))
        assert call(unary(lambda x: x + 1), 1) == 2


def test_restarts_are_limited(registry):
    registry.limit_restarts("values", 1, 3600)
    registry.restart("values")
    with pytest.raises(lockgate.TooOften, match="restarted 1 times"):
        registry.restart("values")
    assert registry.bind(NOBODY, "v.count")() == 1


def test_a_restart_ends_calls_in_progress(hostile_module):
    registry = Registry()
    with lockgate.Domain(hostile_module, name="stuck") as domain:
        registry.export(domain, "loop", allow=EVERYONE)
        registry.export(domain, "fine", allow=EVERYONE)
        fine, loop = (registry.bind(NOBODY, name, rebind=True) for name in ("fine", "loop"))
        call = Elsewhere(loop)
        until(lambda: domain.threads_inside == 1)
        registry.restart("stuck")
        assert isinstance(call.ended(), lockgate.Killed) and fine() == 42


def test_a_removed_domain_is_closed(registry):
    count = registry.bind(NOBODY, "v.count", rebind=True)
    registry.remove("values")
    assert count.domain.closed and registry.names() == []
    with pytest.raises(lockgate.Killed):
        count()


def test_imports_are_found_at_their_first_call(build, imports_module):
    registry = Registry()
    me = Principal.domain("client")
    with (
        lockgate.Domain(build("server"), name="server") as server,
        lockgate.CDLL(imports_module, name="client", registry=registry, principal=me) as client,
    ):
        with pytest.raises(lockgate.Unresolved, match="host_add") as caught:
            client.add_three(1, 2, 3)
        assert isinstance(caught.value.__cause__, lockgate.UnknownName) and caught.value.domain == "client"
        registry.export(server, "host_add", allow=[Allow.domain("another")])
        with pytest.raises(lockgate.Unresolved) as caught:
            client.add_three(1, 2, 3)
        assert isinstance(caught.value.__cause__, lockgate.Forbidden)
        registry.unexport("host_add")
        registry.export(server, "host_add", allow=[Allow.domain("client")])
        assert client.add_three(1, 2, 3) == 10203
        registry.revoke("host_add")
        # What a domain gets for a call that failed, unless `on_failure` says otherwise.
        assert client.add_three(1, 2, 3) == -1
        registry.export_host(lambda a, b: a * b, "host_add", prototype="long host_add(long, long)", allow=EVERYONE)
        with pytest.raises(lockgate.HostFunction):
            registry.bind(NOBODY, "host_add")
        registry.link(client.domain, "host_add", me)
        assert client.add_three(2, 3, 4) == 24


def test_a_domain_does_not_keep_its_registry(imports_module):
    with lockgate.CDLL(imports_module, registry=Registry(), principal=NOBODY) as client:
        with pytest.raises(lockgate.Unresolved) as caught:
            client.add_three(1, 2, 3)
        assert isinstance(caught.value.__cause__, lockgate.RegistryGone)


def test_imports_are_linked_and_rebound(build, imports_module):
    registry = Registry()
    with lockgate.Domain(build("server"), name="server") as server, lockgate.CDLL(imports_module) as client:
        registry.export(server, "add", (1, 5), of="host_add", allow=EVERYONE)
        registry.export(server, "bad", of="broken", allow=EVERYONE)
        registry.link(client.domain, "host_add", NOBODY, "add", (1, 2), rebind=True)
        assert client.add_three(1, 2, 3) == 10203
        registry.restart("server")
        assert client.add_three(1, 2, 3) == 10203
        registry.link(client.domain, "host_add", NOBODY, "bad", on_failure=7)
        assert client.add_three(1, 2, 3) == 7
        registry.link(client.domain, "host_add", NOBODY, "bad", on_failure=None)
        with pytest.raises(lockgate.Fault, match="domain server .* null pointer"):
            client.add_three(1, 2, 3)
        registry.export_host(lockgate.CFUNCTYPE(c_int32)(lambda: 1), "other", allow=EVERYONE)
        with pytest.raises(lockgate.Mismatch, match="other"):
            registry.link(client.domain, "host_add", NOBODY, "other")


def test_exceptions_of_exported_functions_come_out(imports_module):
    registry = Registry()

    def refuse(a, b):
        raise KeyError("no sums today")

    kind = lockgate.CFUNCTYPE(c_int64, c_int64, c_int64)
    registry.export_host(kind(refuse), "host_add", allow=EVERYONE)
    with lockgate.CDLL(imports_module, registry=registry, principal=NOBODY) as client:
        with pytest.raises(KeyError, match="no sums today"):
            client.add_three(1, 2, 3)


def test_the_process_has_one(values_module):
    assert Registry.process() is Registry.process()
    with lockgate.Domain(values_module, name="of the process") as domain:
        Registry.process().export(domain, "test.count", of="count", allow=EVERYONE)
        assert Registry.process().bind(Principal.process(), "test.count")() == 1
        with pytest.raises(lockgate.UnknownName):
            Registry().bind(Principal.process(), "test.count")
        Registry.process().remove("of the process")


def test_a_restart_is_what_ends_calls_of_callbacks(hostile_module):
    """Not that their callbacks are gone, which comes with it."""
    registry, stop, ended = Registry(), threading.Event(), set()
    domain = lockgate.Domain(hostile_module, name="often")
    registry.export(domain, "often", of="call_often", allow=[Allow.everyone()])
    registry.limit_restarts("often", 1 << 20, 1)
    call = registry.bind(Principal.process(), "often", rebind=True)
    callback = lockgate.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda number: number)

    def work():
        while not stop.is_set():
            try:
                call(callback, 20)
            except lockgate.Error as error:
                ended.add((type(error), str(error)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        registry.restart("often")
    stop.set()
    for thread in threads:
        thread.join()
    domain.close()
    assert ended and all(issubclass(kind, lockgate.Killed) for kind, _ in ended), ended


def test_no_call_enters_another_instance_than_its_arguments_are_for(build):
    """Where calls begin while the domain is restarted: between the making of the arguments and the entry, the interpreter goes on."""
    registry, stop, raised, answers, count = Registry(), threading.Event(), set(), set(), iter(range(1, 1 << 20))
    answered = [0] * 4
    unary = lockgate.CFUNCTYPE(c_int, c_int)
    domain = lockgate.Domain(build("instances"), name="instances", imports={"host_number": lambda: next(count)})
    for name in ("which", "first", "call"):
        registry.export(domain, name, allow=EVERYONE)
    registry.limit_restarts("instances", 1 << 20, 1)

    def work(number):
        which, first, call = (registry.bind(NOBODY, name, rebind=True) for name in ("which", "first", "call"))
        callback = unary(lambda _: 100 + number)
        while not stop.is_set():
            try:
                expected = which() if number % 2 else -1
                answers.add((number, call(callback, expected)))
                answers.add((number, first(b"\x07", expected)))
                answered[number] += 1
            except lockgate.Error as error:
                raised.add((type(error), str(error)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(times(300, 60)):
        before = sum(answered)
        registry.restart("instances")
        # (Threads that are at it, in various places.)
        until(lambda: sum(answered) >= before + 20)
    stop.set()
    for thread in threads:
        thread.join()
    domain.close()
    assert all(answer in (7, 100 + number) for number, answer in answers), answers
    assert raised and all(issubclass(kind, lockgate.Killed) for kind, _ in raised), raised


def test_pointers_are_for_the_instance_that_they_were_made_for(registry):
    total = registry.bind(NOBODY, "v.sum", rebind=True)
    domain = total.domain
    old = domain.place((c_int64 * 2)(1, 2))
    assert total(old, 2) == 3 and old[1] == 2
    registry.restart("values")
    new = domain.place((c_int64 * 2)(3, 4))
    for use in (
        lambda: total(old, 2), lambda: total(old.cast(None), 2), lambda: total(old + 0, 2), lambda: old[0],
        lambda: old.read(1), lambda: old.write(b"x"), lambda: old.contents, lambda: old.string(), old.free,
    ):  # fmt: skip
        with pytest.raises(lockgate.Restarted, match="make pointers and arguments again") as caught:
            use()
        assert caught.value.domain == "values"
    assert total(new, 2) == 7 and new != old
    with pytest.raises(lockgate.Restarted, match="rebinds$"):
        stale = registry.bind(NOBODY, "v.count")
        registry.restart("values")
        stale()
