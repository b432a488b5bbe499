"""The campaign that asks cvc5 every proof: what is kept of it, when it is asked again, and its page."""

import json
from pathlib import Path

import pytest
import second_campaign
from fencepost.properties.catalogue import find

SMALL = "id-blocks/zookeeper"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was kept of one variant."""
    file = tmp_path_factory.mktemp("second") / "kept.json"
    assert second_campaign.ask(file, [SMALL], cores=1) == 0
    return file


def test_every_step_is_asked(place: Path) -> None:
    """The row says of which model and which solvers it is."""
    [row] = json.loads(place.read_text())
    assert row["variant"] == SMALL and row["agrees"] == row["steps"] > 10
    assert row["gives_up"] == row["disagrees"] == []
    assert second_campaign.is_of(row, find(SMALL)[1])
    assert row["solvers"].startswith("Z3 ") and "cvc5" in row["solvers"]


def test_it_is_not_asked_twice(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But where the model has changed."""
    before = place.read_text()
    assert second_campaign.ask(place, [SMALL], cores=1) == 0
    assert capsys.readouterr().out == "" and place.read_text() == before
    [row] = json.loads(before)
    assert not second_campaign.is_of({**row, "models": "another"}, find(SMALL)[1])
    assert not second_campaign.is_of({**row, "code": "another"}, find(SMALL)[1])
    place.write_text(json.dumps([{**row, "models": "another"}]))
    second_campaign.ask(place, [SMALL], cores=1)
    assert "1 of 1: id-blocks/zookeeper: agrees on" in capsys.readouterr().out


def test_a_disagreement_is_told_and_fails(place: Path) -> None:
    [row] = json.loads(place.read_text())
    place.write_text(json.dumps([{**row, "agrees": row["steps"] - 1, "disagrees": ["a step: unsat, sat"]}]))
    assert second_campaign.ask(place, [], cores=1) == 1
    page = second_campaign.page(json.loads(place.read_text()))
    assert "has a model against 1" in page and "- a step: unsat, sat" in page
    assert f"{len(second_campaign.proved()) - 1} of {len(second_campaign.proved())} variants" in page
