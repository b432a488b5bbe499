"""Shrinking: what is printed fails for the reason for which the search failed, and is a program that a machine could
have made."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from fencepost.proofs.testing import engine, failures
from fencepost.proofs.testing.search import Failure, Search
from fencepost.properties.conformance_spec import Agreeing, driven
from fencepost.properties.driving import Program
from fencepost.properties.id_blocks.interface import Call
from fencepost.properties.task_counts import interface
from fencepost.reference_impl.systems.id_blocks import reference

ID_BLOCKS = driven("id-blocks")
CONFIG = {"seed": 0, "brokers": 2, "controllers": 3, "block_size": 2, "max_id": 1_000_001, "prefetch": 0.0,
          "mode": "kraft"}  # fmt: skip
CALLS = tuple(Call(name, *of) for name, *of in (
    ("commit",), ("restart_broker", 0), ("advance", 20), ("restart_broker", 1), ("commit",), ("fail_over",),
))  # fmt: skip


class Falling:
    """Breaks down at a fail-over, in one way after a restart and in another without one."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.system, self.restarts = reference(config), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)

    def restart_broker(self, broker: int) -> None:
        self.restarts += 1
        self.system.restart_broker(broker)

    def fail_over(self) -> None:
        raise ValueError("after a restart") if self.restarts else KeyError("without a restart")


def shrunk(agreeing: Agreeing) -> list[str]:
    """The calls of the program that is printed for a failure."""
    search = Search(agreeing, Falling, "kraft", {}, frozenset(), agreeing.black_box, ())
    failure = search.replay(Program(CONFIG, CALLS))
    assert isinstance(failure, Failure)
    reported = engine._shortest(search, "", [failure])
    assert "ValueError" in reported.first_bad
    return [line.partition(".")[2].partition("  #")[0] for line in reported.program.splitlines()[1:]]


def test_the_reason_stays() -> None:
    """The shorter program without a restart fails as well, and is another finding."""
    assert shrunk(ID_BLOCKS) == ["restart_broker(0)", "fail_over()"]


def test_what_a_program_must_have_stays() -> None:
    """A protocol says which programs mean something."""

    def valid(program: Program) -> bool:
        return Call("commit") in program.calls

    assert shrunk(replace(ID_BLOCKS, valid=valid)) == ["restart_broker(0)", "commit()", "fail_over()"]


def counts(*calls: tuple[Any, ...]) -> Program:
    config = {"workers": 2, "connectors": 1, "max_tasks": 1}
    return Program(config, tuple(interface.Call.within(config, *call) for call in calls))


@pytest.mark.parametrize(
    ("calls", "valid"),
    [
        ([("crash", 0), ("finish",)], False),
        ([("crash", 0), ("restart_worker", 1), ("finish",)], False),
        ([("crash", 0), ("restart_worker", 0), ("finish",)], True),
        ([("crash", 1), ("set_support", 1, "enabled"), ("finish",)], True),
        ([("crash", 0), ("run",)], True),
        ([("finish",), ("crash", 0)], True),
        ([("stall", 0), ("finish",)], True),
    ],
)
def test_workers_come_back_before_the_faults_are_over(calls: list[Any], valid: bool) -> None:
    """A connector whose worker is down for ever need not run, and a program that shows so much shows nothing."""
    assert interface.valid(counts(*calls)) is valid
    assert driven("task-counts").valid is interface.valid


def test_shrinking_is_bounded_by_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed fails all the same, and is not called a shortest program."""
    search = Search(ID_BLOCKS, Falling, "kraft", {}, frozenset(), ID_BLOCKS.black_box, ())
    failure = search.replay(Program(CONFIG, CALLS))
    assert isinstance(failure, Failure)
    monkeypatch.setattr(failures, "MOST_CALLS", 8)
    reported = engine._shortest(search, "", [failure])
    assert reported.left
    assert "perhaps not the shortest" in str(reported)
    assert "ValueError" in reported.first_bad
    assert reported.calls > 2
    monkeypatch.undo()
    assert "perhaps not the shortest" not in str(engine._shortest(search, "", [failure]))


def test_a_program_that_never_rests_is_not_shrunk_next_to_a_shorter_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take most of the time, and seldom end shorter."""
    search = Search(ID_BLOCKS, Falling, "kraft", {}, frozenset(), ID_BLOCKS.black_box, ())
    long, short = (search.replay(Program(CONFIG, calls)) for calls in (CALLS, CALLS[:2] + CALLS[-1:]))
    assert isinstance(long, Failure)
    assert isinstance(short, Failure)
    monkeypatch.setattr(engine, "LONG", 4)
    replayed = list[int]()
    replay = search.replay
    monkeypatch.setattr(
        search, "replay", lambda program, *of: (replayed.append(len(program.calls)), replay(program, *of))[1]
    )
    engine._shortest(search, "", [long, short])
    assert max(replayed) == 3
    replayed.clear()
    engine._shortest(search, "", [long])
    assert max(replayed) == len(CALLS)
