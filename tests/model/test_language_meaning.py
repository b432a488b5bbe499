"""The table of meanings, line by line, on the plain reading: what every other reading is compared with."""

from collections.abc import Callable

import pytest
from fencepost.model.language import (
    Bool,
    Constant,
    Enumeration,
    Int,
    Map,
    ModelError,
    Nat,
    Option,
    Protocol,
    Seq,
    Sort,
    action,
    append,
    at,
    each,
    latest,
    length,
    limit,
    require,
    when,
)
from fencepost.model.language.tree.terms import MEANING
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import Event, State


class Key(Sort, bound="keys"):
    """A key."""


class Small(Nat, upto="most"):
    """A number within bounds."""


class Colour(Enumeration):
    RED, GREEN = range(2)


class Meanings(Protocol):
    """One action for each line of the table."""

    step: Constant[Nat]
    n: Small
    colour: Colour
    who: Option[Key]
    m: Map[Key, Small]
    by_number: Map[Small, Bool]
    log: Seq[Small, "most"]  # type: ignore[name-defined]  # noqa: F821  a bound's name

    def init(s):
        s.n = 2
        s.m = each(lambda k: 1)

    @action
    def less(s, by: Small):
        s.n = s.n - by

    @action
    def twice(s, j: Key, k: Key):
        s.m[j] = 2
        s.m[k] = 3

    @action
    def swap(s, j: Key, k: Key):
        old = s.m[j]
        s.m[j] = s.m[k]
        s.m[k] = old

    @action
    def all_then_one(s, k: Key):
        s.m = each(lambda _: 0)
        s.m[k] = 3

    @action
    def by_others(s):
        s.m = each(lambda k: when(s.who == k, s.n, s.m[k] + s.step))

    @action
    def read(s, p: Small):
        s.n = when(s.by_number[p + 2], 2, 0)

    @action
    def mark(s, p: Small):
        s.by_number[p] = True

    @action
    def grow(s, x: Small):
        append(s.log, x)

    @action
    def look(s, p: Small):
        s.n = at(s.log, p)

    @action
    def seek(s, upto: Small):
        s.n = latest(s.log, lambda x: x == 1, upto)

    @action
    def seek_all(s):
        s.n = latest(s.log, lambda x: x == 1)

    @action
    def measure(s):
        s.n = length(s.log)

    @action
    def guarded(s):
        require((s.who == None) & (s.colour == Colour.RED))  # noqa: E711
        s.colour = Colour.GREEN


class Unbounded(Protocol):
    """What can do without bounds."""

    i: Int
    flag: Bool

    @action
    def less(s, by: Small):
        limit(0 < s.i)
        s.i = s.i - by


PLAIN = Plain(Meanings.spec, {"step": 1}, {"keys": 2, "most": 3})
WIDE = Plain(Meanings.spec, {"step": 1}, {"keys": 2, "most": 10})


def after(name: str, *parameters: int, plain: Plain = WIDE, **changes: object) -> State | None:
    """The state after one event, from the initial state with some variables changed."""
    names = [n for n, _ in Meanings.spec.actions[name].parameters]
    start = {**PLAIN.initial(), **changes}
    before = repr(start)
    found = plain.step(start, Event(name, dict(zip(names, parameters, strict=True))))
    assert repr(start) == before, "a step changes no state in place"
    return found


def value(variable: str, name: str, *parameters: int, **changes: object) -> object:
    found = after(name, *parameters, **changes)
    assert found is not None
    return found[variable]


def _read_after_assignment() -> None:
    with pytest.raises(ModelError, match="n is read after it was assigned in this action"):

        class Late(Protocol):
            n: Nat

            @action
            def go(s):
                s.n = 1
                s.n = s.n + 1


def _coinciding_keys() -> None:
    assert value("m", "twice", 0, 1) == {(0,): 2, (1,): 3}
    assert value("m", "twice", 1, 1) == {(0,): 1, (1,): 3}


def _below_zero() -> None:
    assert [value("n", "less", by) for by in (1, 2, 3)] == [1, 0, 0]
    found = Plain(Unbounded.spec, {}).step({"i": 0, "flag": False}, Event("less", {"by": 3}))
    assert found == {"i": -3, "flag": False}


def _key_outside() -> None:
    assert value("n", "read", 3, by_number={(1,): True}) == 0
    assert value("n", "read", 0, by_number={(2,): True}) == 2


def _assigned_outside() -> None:
    assert after("mark", 3, plain=PLAIN) is not None
    assert after("mark", 4, plain=PLAIN) is None
    assert after("by_others", plain=PLAIN, m={(0,): 3}) is None
    assert after("twice", 0, 2, plain=PLAIN) is None


def _sequence_outside() -> None:
    assert [value("n", "look", p, log=(3, 1)) for p in range(5)] == [0, 3, 1, 0, 0]


def _full_sequence() -> None:
    assert value("log", "grow", 1, log=(2, 2)) == (2, 2, 1)
    assert after("grow", 1, plain=PLAIN, log=(2, 2)) is not None
    assert after("grow", 1, plain=PLAIN, log=(2, 2, 2)) is None


def _width() -> None:
    found = Plain(Unbounded.spec, {}).step({"i": -(2**70), "flag": False}, Event("less", {"by": 1}))
    assert found == {"i": -(2**70) - 1, "flag": False}


LINES: dict[str, Callable[[], None]] = {
    "reading a variable after assigning it in the same action": _read_after_assignment,
    "several entries of one map assigned in one action": _coinciding_keys,
    "Nat subtraction below zero": _below_zero,
    "reading a map at a key outside its bound": _key_outside,
    "assigning a key or a value outside its range": _assigned_outside,
    "reading a sequence outside 1 … length": _sequence_outside,
    "appending to a full sequence": _full_sequence,
    "integer width": _width,
}


@pytest.mark.parametrize("line", MEANING)
def test_every_line_of_the_table(line: str) -> None:
    """Each line of MEANING says what the plain reading does; a new line needs a test here."""
    LINES[line]()


def test_initial_values() -> None:
    """What init() does not set starts at zero: no entries, no sequence, the first member, none."""
    assert PLAIN.initial() == {
        "n": 2,
        "colour": 0,
        "who": None,
        "m": {(0,): 1, (1,): 1},
        "by_number": {},
        "log": (),
    }


def test_all_updates_read_the_old_state() -> None:
    """Two entries are swapped without a third, and a bulk update reads what it replaces."""
    assert value("m", "swap", 0, 1, m={(0,): 2, (1,): 3}) == {(0,): 3, (1,): 2}
    found = after("by_others", plain=PLAIN, who=1, n=3, m={(0,): 1, (1,): 1})
    assert found is not None and found["m"] == {(0,): 2, (1,): 3}


def test_an_entry_after_a_bulk_update() -> None:
    """The entry wins, and zero entries are not kept."""
    found = after("all_then_one", 1, plain=PLAIN)
    assert found is not None and found["m"] == {(1,): 3}


@pytest.mark.parametrize(
    ("log", "upto", "found"),
    [
        ((), 0, 0),
        ((), 3, 0),
        ((1,), 0, 0),
        ((1,), 1, 1),
        ((1, 2, 1), 2, 1),
        ((1, 2, 1), 3, 3),
        ((1,), 9, 1),
        ((2,), 1, 0),
    ],
)
def test_latest(log: tuple[int, ...], upto: int, found: int) -> None:
    """The highest position within the first `upto` whose entry satisfies the condition, or 0."""
    assert value("n", "seek", upto, log=log) == found
    if upto >= len(log):
        assert value("n", "seek_all", log=log) == found
    assert value("n", "measure", log=log) == len(log)


def test_limits_hold_under_bounds_only() -> None:
    """A limit is no guard of the protocol: without bounds it is not asked."""
    event, low = Event("less", {"by": 1}), {"i": 0, "flag": False}
    bounded = Plain(Unbounded.spec, {}, {"most": 3})
    assert Plain(Unbounded.spec, {}).enabled(low, event)
    assert not bounded.enabled(low, event)
    assert bounded.enabled({"i": 1, "flag": False}, event)


def test_guards() -> None:
    """None equals none only, and no element; the first member of an enumeration is its zero."""
    event = Event("guarded", {})
    assert PLAIN.enabled(PLAIN.initial(), event)
    assert not PLAIN.enabled({**PLAIN.initial(), "who": 0}, event)
    assert not PLAIN.enabled({**PLAIN.initial(), "colour": 1}, event)
