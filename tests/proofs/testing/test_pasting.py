"""What is pasted asserts what is wrong: all that an event of its kind may say, also where it says nothing."""

from types import SimpleNamespace
from typing import Any

import pytest
from fencepost.proofs.testing.failures import Evidence
from fencepost.proofs.testing.pasting import last_call
from fencepost.properties.driving import Made, Program
from fencepost.properties.transactions.interface import Call

FETCH = Call("fetch_offset", 0, 1, key=1)
COLUMNS = dict.fromkeys(Call.columns, -1) | {"kind": "offset_fetched", "client": 1_000, "partition": 1, "error": 0}


def asserted(event: Any, observed: Any) -> None:
    """Runs what is pasted where this event is wrong, on a system that shows another one."""
    lines = last_call(
        Made(FETCH, "system.fetch_offset(0, 1, key=1)", (0, -1), (event,), None), evidence_of(event), "why"
    )
    system = SimpleNamespace(fetch_offset=lambda *a, **n: (0, -1), drain_events=lambda: [observed])
    exec("\n".join(lines), {"system": system})


def evidence_of(event: Any) -> Evidence:
    return Evidence(Made(FETCH, "", (0, -1), (event,), None), event, ())


@pytest.mark.parametrize("as_mapping", [False, True])
def test_what_an_event_leaves_empty_is_compared(as_mapping: bool) -> None:
    """An offset that is not there is another answer than the offset of a record; a column that no event of the kind
    has is not compared."""

    def event(**changed: Any) -> Any:
        columns = {**COLUMNS, **changed}
        return columns if as_mapping else SimpleNamespace(**columns)

    bad = event()
    with pytest.raises(AssertionError, match="why"):
        asserted(bad, event())
    asserted(bad, event(record=0))
    asserted(bad, event(error=51))
    with pytest.raises(AssertionError, match="why"):
        asserted(bad, event(sequence=7))


def test_event_that_shows_less() -> None:
    """What an implementation does not show is not asked of it."""
    columns = {name: value for name, value in COLUMNS.items() if name != "record"}
    with pytest.raises(AssertionError, match="why"):
        asserted(SimpleNamespace(**columns), SimpleNamespace(**columns))


def test_what_no_other_run_repeats_is_not_compared() -> None:
    """Real brokers give other sequence numbers each time; what is asked for is the same."""
    made = Made(FETCH, "system.fetch_offset(0, 1, key=1)", (0, -1), (SimpleNamespace(**COLUMNS),), None)
    lines = "\n".join(last_call(made, Evidence(made, made.events[0], ()), "why", without={"sequence"}))

    def run(**changed: int) -> None:
        observed = [SimpleNamespace(**{**COLUMNS, **changed})]
        exec(lines, {"system": SimpleNamespace(fetch_offset=lambda *a, **n: (0, -1), drain_events=lambda: observed)})

    run(error=51)
    with pytest.raises(AssertionError, match="why"):
        run(sequence=COLUMNS["sequence"] + 1)


def test_event_that_comes_once_too_often() -> None:
    """One that is right the first time is wrong the second time in the same call."""
    first, second = SimpleNamespace(**COLUMNS), SimpleNamespace(**COLUMNS)
    made = Made(FETCH, "system.fetch_offset(0, 1, key=1)", (0, -1), (first, second), None)
    lines = "\n".join(last_call(made, Evidence(made, second, ()), "why"))
    observed = [first]
    system = SimpleNamespace(fetch_offset=lambda *a, **n: (0, -1), drain_events=lambda: observed)
    exec(lines, {"system": system})
    observed = [first, second]
    with pytest.raises(AssertionError, match="why"):
        exec(lines, {"system": system})


def test_two_events_that_do_not_go_together() -> None:
    """Each is right without the other, so that a program on which one of the two comes does not fail."""
    first, second = (SimpleNamespace(**{**COLUMNS, "record": record}) for record in (1, 0))
    made = Made(FETCH, "system.fetch_offset(0, 1, key=1)", (0, -1), (first, second), None)
    lines = "\n".join(last_call(made, Evidence(made, second, (), other=first), "why"))

    def run(*observed: Any) -> None:
        system = SimpleNamespace(fetch_offset=lambda *a, **n: (0, -1), drain_events=lambda: observed)
        exec(lines, {"system": system})

    run(first)
    run(second)
    with pytest.raises(AssertionError, match="why"):
        run(first, second)


def test_clusters_keep_what_is_asked_for() -> None:
    """A program that asks for the offset of the second key is not tried on a cluster with one, where it must fail."""
    program = Program(
        {"seed": 0, "mode": "v2", "clients": 1, "partitions": 1, "groups": 1, "ids": 1, "keys": 3}, (FETCH,)
    )
    assert {smaller.config["keys"] for smaller in Call.smaller(program)} == {2}
