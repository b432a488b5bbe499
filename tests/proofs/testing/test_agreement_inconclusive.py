"""What a system that is taken to be at rest by its silence breaks once is a violation only if its events break it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost
from fencepost.proofs.cli import agree as command
from fencepost.proofs.testing import AgreementReport, agree
from fencepost.properties.driving import read
from fencepost.properties.task_counts.scenarios.agreement import ON_A_CLUSTER
from fencepost.reference_impl.defects.task_counts import no_fencing
from fencepost.reference_impl.live.connect.stepping import NotAtRest
from fencepost.reference_impl.systems.task_counts import reference

SEED, EXAMPLES = 1, 6
FIRST, SECOND = 2, 3
"""A search makes a cluster before the first example, to see what it has."""


class Early:
    """A cluster that is always called at rest before its tasks poll."""

    def __init__(self, system: Any) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def threads(self) -> Sequence[Any]:
        return [thread for thread in self._system.threads() if thread[1] != "poll"]

    def drain_events(self) -> Sequence[Any]:
        return [event for event in self._system.drain_events() if read(event, "kind") != "task_running"]


class Busy:
    """A cluster that does not come to rest when its second connector is configured."""

    def __init__(self, system: Any) -> None:
        self._system, self._asked = system, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def configure(self, *given: int) -> bool:
        self._asked += 1
        if self._asked > 1:
            raise NotAtRest("Connect 4.4.0 is not at rest after 30 s: 'JoinGroup' of w1")
        return self._system.configure(*given)


def busy(config: Any) -> Busy:
    return Busy(reference(config))


class Numbered:
    """A factory that makes other clusters where ``is_other`` is true of their number, counted from 1."""

    def __init__(self, other: Callable[[Any], Any], is_other: Callable[[int], bool]) -> None:
        self.other, self.is_other, self.made = other, is_other, 0

    def __call__(self, config: Mapping[str, Any]) -> Any:
        self.made += 1
        config = {name: value for name, value in config.items() if name not in ("held", "release")}
        return (self.other if self.is_other(self.made) else reference)(config)


def early(config: Any) -> Early:
    return Early(reference(config))


def driven(other: Callable[[Any], Any], is_other: Callable[[int], bool], **more: Any) -> AgreementReport:
    factory = Numbered(other, is_other)
    return agree(factory, protocol=ON_A_CLUSTER, seed=SEED, max_examples=EXAMPLES, promises_only=True, **more)


def test_what_is_broken_at_rest_once_is_inconclusive() -> None:
    """The other programs are driven as well, and decided."""
    report = driven(early, lambda number: number == SECOND)
    assert (report.verdict, report.failure, report.examples) == ("holds", None, EXAMPLES)
    (undecided,) = report.undecided
    assert undecided.promise.startswith("618.P4: task 0 of connector 0 ")
    assert undecided.again == (0, ON_A_CLUSTER.tries)
    assert "not again: the program was run 3 more times" in str(undecided)
    with pytest.raises(AssertionError):
        exec(undecided.program, {"factory": Numbered(early, lambda _: True)})


def test_what_does_not_come_to_rest_is_inconclusive() -> None:
    """Each time: no promise is broken by that, and the other programs are decided."""
    report = driven(busy, lambda number: number == SECOND)
    assert (report.verdict, report.failure, report.examples) == ("holds", None, EXAMPLES)
    (undecided,) = report.undecided
    assert "raised NotAtRest(" in str(undecided) and "'JoinGroup' of w1" in str(undecided)
    assert undecided.promise == ""
    assert "configure(" in undecided.program
    never = driven(busy, lambda number: number > 1)
    assert (never.verdict, never.inconclusive) == ("unknown", "no program was decided")


def test_what_is_broken_at_rest_and_again_is_a_violation() -> None:
    report = driven(early, lambda number: number == SECOND or number > SECOND + 1)
    assert (report.verdict, report.undecided) == ("violated", ())
    assert report.failure is not None and report.failure.promise.startswith("618.P4: ")


def test_what_events_break_once_is_a_violation() -> None:
    """It needs no rest."""
    reports = (driven(no_fencing, lambda made, n=n: made == n) for n in range(FIRST, FIRST + EXAMPLES))
    report = next(each for each in reports if each.failure is not None)
    assert report.verdict == "violated"
    assert report.failure.again == (0, ON_A_CLUSTER.tries)
    assert not report.undecided


def test_what_is_at_rest_by_itself_is_judged_at_once() -> None:
    """An implementation that does nothing by itself is at rest when it says so."""
    quiet = replace(ON_A_CLUSTER, by_silence=False)
    factory = Numbered(early, lambda number: number == SECOND)
    report = agree(factory, protocol=quiet, seed=SEED, max_examples=EXAMPLES, promises_only=True)
    assert (report.verdict, report.undecided) == ("violated", ())


def test_no_program_is_decided() -> None:
    factory = Numbered(early, lambda number: number == FIRST)
    report = agree(factory, protocol=ON_A_CLUSTER, seed=SEED, max_examples=1, promises_only=True)
    assert (report.verdict, report.inconclusive) == ("unknown", "no program was decided")


def test_an_inconclusive_program_is_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the seed, and exit code 0, as of other inconclusive parts; JSON has it."""
    made = replace(ON_A_CLUSTER, implementation=f"{__name__}:factory")
    monkeypatch.setattr(command, "_on_a_cluster", lambda *_: (made, {"release": "none"}))
    monkeypatch.setitem(globals(), "factory", Numbered(early, lambda number: number == SECOND))
    monkeypatch.setenv("COLUMNS", "400")
    file = tmp_path / "report.json"
    asked = "--connect", "--promise", "all", "--seed", SEED, "--examples", EXAMPLES, "--json", file
    ran = fencepost("agree", "task-counts/shipped", *asked)
    assert ran.code == 0, ran.err
    assert f"seed {SEED}: holds after {EXAMPLES} clusters, 1 of them inconclusive" in ran.out
    assert "inconclusive, as it is broken only if nothing was left to happen:" in ran.out
    assert "configure(" in ran.out
    written = json.loads(file.read_text())
    assert (written["verdict"], written["failure"]) == ("holds", None)
    assert written["undecided"][0]["program"] in ran.out
