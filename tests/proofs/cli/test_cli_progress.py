"""Progress: a bar with an estimate on a terminal, nothing elsewhere, and figures that come to what there was to do."""

import io
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.cli.explore import expected_states
from fencepost.proofs.cli.shared import progress
from fencepost.proofs.cli.shared.progress import TimeLeft, spinner, time_in_words
from fencepost.proofs.engines.induction import number_of_obligations, prove
from fencepost.proofs.necessity.search import number_of_verdicts
from fencepost.proofs.scale.jobs import Jobs
from fencepost.properties.catalogue import find
from rich.console import Console
from rich.progress import Task


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal of 100 columns is sent."""
    sent = io.StringIO()
    terminal = Console(file=sent, force_terminal=True, width=100, highlight=False, soft_wrap=True)
    monkeypatch.setattr(progress, "console", terminal)
    return sent


def test_a_terminal_displays_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Label, steps done and in all."""
    sent = on_a_terminal(monkeypatch)
    with spinner("proving", 4) as bar:
        bar.advance()
        bar.show(f"proving {'one ' * 20}more")
        bar.advance(2)
    assert "…" in sent.getvalue() and "one more" in sent.getvalue()
    assert "3 of 4" in sent.getvalue()


def test_elsewhere_nothing_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and pipes get verdicts alone."""
    for name in ("console", "errors"):
        monkeypatch.setattr(progress, name, Console(file=io.StringIO()))
    with spinner("proving", 4) as bar:
        bar.advance()
    assert progress.console.file.getvalue() == progress.errors.file.getvalue() == ""  # type: ignore[attr-defined]


def test_the_estimate_is_of_what_is_left() -> None:
    """From the time that the steps so far took; none where their number is not known."""
    clock = iter(range(1000))

    def task(total: float | None) -> Task:
        made = Task(1, "proving", total, 0, _get_time=lambda: 0.0)  # type: ignore[arg-type]
        return made

    known = task(10)
    known.start_time = 0.0
    for done in range(1, 5):
        known.completed = done
        known._progress.append(_sample(float(next(clock)), 1))
    assert TimeLeft().render(known).plain == "4 of 10, about 6 s left"
    assert TimeLeft().render(task(None)).plain == ""


def _sample(timestamp: float, completed: float) -> Any:
    from rich.progress import ProgressSample

    return ProgressSample(timestamp, completed)


@pytest.mark.parametrize(("seconds", "words"), [(7.4, "7 s"), (180, "3 min"), (7200, "2 h")])
def test_times_in_words(seconds: float, words: str) -> None:
    assert time_in_words(seconds) == words


def test_states_are_expected_once_new_ones_become_fewer() -> None:
    """Nothing is said of a search that still grows; after that at most rather too much."""
    assert expected_states(1, [1]) is None
    assert expected_states(100, [10, 20, 30, 40]) is None
    assert expected_states(1000, [800, 400, 200, 100]) == 1100
    assert expected_states(1000, [400, 100, 10, 0]) is None


def test_as_many_obligations_as_are_expected_or_a_few_more() -> None:
    """Antecedents of step properties are asked of one action after another."""
    variant = find("id-blocks/kraft")[1]
    assert variant is not None
    decided = len(prove(variant.spec, variant.promised).obligations)
    expected = number_of_obligations(variant.spec, variant.promised)
    assert expected <= decided <= expected + len(variant.spec.actions)


def test_as_many_verdicts_of_necessity_as_are_expected() -> None:
    entry = find("id-blocks")[0]
    assert 0 < number_of_verdicts(entry, "730.10") < number_of_verdicts(entry)


@pytest.mark.parametrize("cores", [1, 2])
def test_jobs_say_when_they_are_done(cores: int) -> None:
    """In processes of their own, or here when the result is asked for; once each."""
    done: list[int] = []
    with Jobs(3, cores, done=lambda: done.append(1)) as jobs:
        asked = [jobs.hand_in(Path, name) for name in "abc"]
        assert [ask() for ask in (*asked, *asked)] == [Path("a"), Path("b"), Path("c")] * 2
    assert len(done) == 3
