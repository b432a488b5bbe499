"""The first violation of a property in a history, as a page: the events that it is about, and where it is broken."""

import re
from pathlib import Path

import pytest
from command_line import fencepost
from fencepost.proofs.pages.histories import MOST, page_of_violation
from fencepost.proofs.pages.stories import Story
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.traces import conformance_of
from fencepost.properties.history import HistoryDirectory, HistoryError
from fencepost.properties.history.location import Location


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> HistoryDirectory:
    """Histories of transactions in which partitions take what an older epoch sends."""
    place = tmp_path_factory.mktemp("broken") / "made"
    defect = ("--config", "broken=older_epoch_accepted")
    assert fencepost("generate", "transactions/v2", place, "--histories", 150, *defect).code == 0
    return HistoryDirectory.open(Location.of(place))


@pytest.fixture(scope="module")
def stories(broken: HistoryDirectory) -> dict[str, Story]:
    """By property, its page."""
    kernel = conformance_of(broken.manifest)
    report = replay(broken.location, further={"conformance": kernel}, cores=1)
    assert {"partition_epochs_never_fall", "completed_after_markers", "conformance"} <= set(report.violations)
    return {
        name: page_of_violation(broken, found["first"], kernel if name == "conformance" else None)
        for name, found in report.violations.items()
    }


def test_the_violation_is_the_last_event(stories: dict[str, Story]) -> None:
    """In its lane, with the words of the report, and no more events than a page shows."""
    for story in stories.values():
        at = int(story.verdict.removeprefix("violated at step "))
        assert story.broken_at == len(story.steps) <= MOST
        assert story.steps[-1].says.startswith(f"Step {at}, ")
        assert f"at step {at} " in story.about[0]
        assert len(story.states) == len(story.steps) + 1
        places = [place for step in story.steps for place in (step.lane, *step.reaches)]
        assert set(places) == set(range(len(story.lanes))), "no lane is empty"


def test_what_explains_it_is_there(stories: dict[str, Story]) -> None:
    """And marked; events come in the order of the history."""
    story = stories["partition_epochs_never_fall"]
    [explaining] = [step for step in story.steps if "It explains the violation." in step.says]
    [reported] = re.findall(r"event at step (\d+)", " ".join(story.about))
    assert explaining.says.startswith(f"Step {reported}, ")
    steps = [int(re.match(r"Step (\d+)", step.says)[1]) for step in story.steps]  # type: ignore[index]
    assert steps == sorted(steps)


def test_events_of_others_are_left_out(broken: HistoryDirectory, stories: dict[str, Story]) -> None:
    """Those shown name the producer id of the violation, or of what explains it, or another thing of theirs."""
    story = stories["completed_after_markers"]
    [ours] = set(re.findall(r"producer id (\d+)", story.steps[-1].words))
    ids = {found for step in story.steps for found in re.findall(r"producer id (\d+)", step.words)}
    assert ours in ids
    events, about = (int(n) for n in re.findall(r"(\d+) (?:events of the history|are about it)", story.about[1]))
    assert about < events


def test_the_model_says_what_is_false(stories: dict[str, Story]) -> None:
    """With the rule, and the steps that it would allow instead."""
    story = stories["conformance"]
    assert "append needs" in " ".join(story.about) and "txn." in " ".join(story.about)


def test_there_is_no_such_history(broken: HistoryDirectory) -> None:
    report = replay(broken.location, cores=1)
    first = next(iter(report.violations.values()))["first"]
    with pytest.raises(HistoryError, match="there is no history 999"):
        page_of_violation(broken, type(first)(999, 0, first.property, ""))


def test_from_the_command_line(broken: HistoryDirectory, tmp_path: Path) -> None:
    """A page of all violations; none is written where nothing is violated."""
    page = tmp_path / "page.html"
    ran = fencepost("replay", broken.location.uri.removeprefix("file://"), "--html", page)
    assert ran.code == 1
    assert "violated at step" in page.read_text(encoding="utf-8")
    assert page.stat().st_size < 300_000
    made, none = tmp_path / "made", tmp_path / "none.html"
    assert fencepost("generate", "id-blocks/kraft", made, "--histories", 5).code == 0
    ran = fencepost("replay", made, "--html", none)
    assert ran.code == 0 and "is not written" in ran.err and not none.exists()
