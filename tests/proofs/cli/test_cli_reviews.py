"""What is not as expected, where code is reviewed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Ran, fencepost
from fencepost.proofs.engines.run_engines import result
from fencepost.proofs.sarif import Remark, annotations, remarks
from fencepost.properties.catalogue import Variant, find, protocols
from small_catalogue import small_catalogue

ROOT = Path(__file__).parents[3]


def without_prediction(variant: Variant) -> Variant:
    asks = ("no_id_twice", "disjoint_blocks")
    return replace(variant, expected={}, asks=asks) if variant.name == "by-broker-id" else variant


def verified(folder: Path, monkeypatch: pytest.MonkeyPatch, *, wrong: bool) -> tuple[Ran, dict[str, Any]]:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    file = folder / "found.sarif"
    with small_catalogue(*([without_prediction] if wrong else [])):
        ran = fencepost("verify", "--seed", 7, "--sarif", file)
    return ran, json.loads(file.read_text())


def test_each_at_the_line_that_states_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file of the checkout, with the run in words; and in GitHub's own words too."""
    ran, document = verified(tmp_path, monkeypatch, wrong=True)
    assert ran.code == 1
    [run] = document["runs"]
    errors = [one for one in run["results"] if one["level"] == "error"]
    assert len(errors) == 2
    for one in errors:
        [place] = [where["physicalLocation"] for where in one["locations"]]
        lines = (ROOT / place["artifactLocation"]["uri"]).read_text().splitlines()
        stated = " ".join(lines[place["region"]["startLine"] - 1 :][:3])
        assert "no_id_twice" in stated or "disjoint_blocks" in stated
        assert "and holds was expected" in one["message"]["text"] and "configure(" in one["message"]["text"]
        assert run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"]
    told = [line for line in ran.out.splitlines() if line.startswith("::error file=properties/")]
    assert len(told) == 2


def test_what_is_undecided_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, document = verified(tmp_path, monkeypatch, wrong=False)
    assert ran.code == 0
    assert {one["level"] for one in document["runs"][0]["results"]} == {"warning"}
    assert "::error" not in ran.out


def test_engines_that_disagree_stand_at_their_protocol() -> None:
    """Not at that of the first protocol that was judged."""
    entries = [protocols()["transactions"], protocols()["id-blocks"]]
    [one] = remarks(entries, [], ["id-blocks/kraft no_id_twice: induction says it holds, explore that it does not"])
    assert one.level == "error" and "model/id_blocks/" in one.file and one.line > 1


def test_histories_that_another_protocol_judges_stand_at_that_one() -> None:
    """Those of the whole system are, of which each part is judged in its own words."""
    entry, variant = find("task-counts/shipped")
    assert variant is not None
    undecided = result(entry, variant, "rounds_fence_the_count", "history", "replay", "unknown", 0.0, None, {})
    [one] = remarks([protocols()["end-to-end"]], [undecided], [])
    assert one.level == "warning" and one.says.startswith("task-counts/shipped: ") and "task_counts/" in one.file


def test_nothing_in_a_run_ends_an_annotation() -> None:
    hostile = Remark("error", "a:b,c", "100%\n::error::taken", "x,y:z.py", 3)
    assert annotations([hostile], {}) == []
    [line] = annotations([hostile], {"GITHUB_ACTIONS": "true"})
    assert line == "::error file=x%2Cy%3Az.py,line=3,title=a%3Ab%2Cc::100%25%0A::error::taken"
