"""Runs as ITF traces: out and in again, and what is told of one that is no run."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.pages import stories
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.results import Trace
from fencepost.proofs.traces.itf import ItfError, Misfit, document_of, follow, read_itf, to_itf
from fencepost.properties.catalogue import bounds_of, find

LOG = "kip618-yardstick/yardstick"  # has a sequence, sorts, options and enumerations
TRANSACTIONS = "transactions/v1-verified"
PARTS = "end-to-end/detailed"  # its constants are those of its parts


def run(name: str, prop: str) -> tuple[Any, dict[str, int], Trace]:
    _, variant = find(name)
    assert variant is not None
    bounds, asked = bounds_of(variant, "smoke"), variant.asked[prop]
    return variant.spec, bounds, explore(variant.spec, {prop: asked}, bounds, stop_when_violated=True).traces[prop]


RUNS = [(LOG, "a_second_count"), (TRANSACTIONS, "nothing_committed_unasked"), (PARTS, "zombie_writes")]


@pytest.mark.parametrize(("name", "prop"), RUNS)
@pytest.mark.parametrize("steps_given", [True, False])
def test_a_run_comes_back(name: str, prop: str, steps_given: bool) -> None:
    """Also where the trace does not say which steps were taken."""
    spec, bounds, trace = run(name, prop)
    document = to_itf(spec, bounds, trace)
    if not steps_given:
        for state in document["states"]:
            del state["#meta"]
    back = follow(spec, bounds, read_itf(spec, document_of(json.dumps(document))))
    assert isinstance(back, Trace)
    assert back.states == trace.states
    assert not steps_given or back.events == trace.events


def test_ghosts_need_not_be_there() -> None:
    """No rule reads them; they are computed."""
    spec, bounds, trace = run(TRANSACTIONS, "nothing_committed_unasked")
    document = to_itf(spec, bounds, trace)
    assert spec.ghosts
    for state in document["states"]:
        for ghost in spec.ghosts:
            del state[ghost]
    back = follow(spec, bounds, read_itf(spec, document_of(json.dumps(document))))
    assert isinstance(back, Trace) and back.states == trace.states


def test_a_step_left_out_is_reported_with_what_is_false_there() -> None:
    spec, bounds, trace = run(LOG, "a_second_count")
    document = to_itf(spec, bounds, trace)
    del document["states"][3]
    misfit = follow(spec, bounds, read_itf(spec, document_of(json.dumps(document))))
    assert isinstance(misfit, Misfit) and misfit.place == 3
    assert len(misfit.why) > 1


def test_another_beginning_is_reported() -> None:
    spec, bounds, trace = run(LOG, "a_second_count")
    document = to_itf(spec, bounds, trace)
    del document["states"][0]
    misfit = follow(spec, bounds, read_itf(spec, document_of(json.dumps(document))))
    assert isinstance(misfit, Misfit) and misfit.place == 0 and misfit.why[0].startswith("it is no initial state")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"states": []}', '{"states": [3]}', '{"states": [{"log": {}}]}'])
def test_what_is_no_trace_is_refused(text: str) -> None:
    spec, _, _ = run(LOG, "a_second_count")
    with pytest.raises(ItfError):
        read_itf(spec, document_of(text))


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (" \n", "it is empty"),
        ('{"states": [{"a": 1},', "line 1, column 22: the JSON is cut off here"),
        ('{"states": [{"a": "x', "line 1, column 19: the JSON is cut off here"),
        ('{"states": [\n{"a": nothing}]}', "line 2, column 7: it is no JSON from here on"),
        ('{"a": 1}\n{"a": 2}\n', "line 2, column 1: something follows, and an ITF trace is one JSON object"),
        ('{"states": ' + "9" * 5000 + "}", "it is no JSON that can be read"),
    ],
)
def test_what_could_not_be_read_is_reported_with_its_place(text: str, reported: str) -> None:
    with pytest.raises(ItfError) as refused:
        document_of(text)
    assert str(refused.value).startswith(reported)


def test_a_value_of_another_type_is_refused() -> None:
    spec, bounds, trace = run(LOG, "a_second_count")
    for name in spec.types:
        document = to_itf(spec, bounds, trace)
        document["states"][0][name] = {"#set": [1]}
        with pytest.raises(ItfError, match=f"state 0, {name}"):
            read_itf(spec, document_of(json.dumps(document)))


@pytest.mark.parametrize("strange", ["x_OF_WORKER", "_OF_WORKER", "0_OF_BROKER", "-1_OF_WORKER"])
def test_a_member_of_no_such_sort_is_refused(strange: str) -> None:
    spec, bounds, trace = run(LOG, "a_second_count")
    document = to_itf(spec, bounds, trace)
    document["states"][0]["owner"] = {"tag": "Some", "value": strange}
    with pytest.raises(ItfError, match="state 0, owner"):
        read_itf(spec, document_of(json.dumps(document)))


@pytest.mark.parametrize("strange", [[1], [[1, 2, 3]], [{"#tup": []}], [[{"#tuple": []}, 0]], [[{"#tup": 3}, 0]], 7])
def test_a_map_that_is_none_is_refused(strange: object) -> None:
    """Of one key, and of several."""
    spec, bounds, trace = run(LOG, "a_second_count")
    for name in ("read", "stage"):
        document = to_itf(spec, bounds, trace)
        document["states"][0][name] = {"#map": strange}
        with pytest.raises(ItfError, match=f"state 0, {name}"):
            read_itf(spec, document_of(json.dumps(document)))


@pytest.mark.parametrize("strange", [{"#bigint": "many"}, {"#bigint": "9" * 5000}, {"#bigint": None}, 1.5, True])
def test_a_number_that_is_none_is_refused(strange: object) -> None:
    spec, bounds, trace = run(TRANSACTIONS, "nothing_committed_unasked")
    document = to_itf(spec, bounds, trace)
    document["states"][0]["epoch"] = strange
    with pytest.raises(ItfError, match="state 0, epoch"):
        read_itf(spec, document_of(json.dumps(document)))


def test_a_run_of_parts_by_the_command_line(tmp_path: Path) -> None:
    """Whose constants are those of its parts."""
    file = tmp_path / "run.itf.json"
    assert fencepost("show", PARTS, "zombie writes", "--itf", file).code == 0
    ran = fencepost("validate", PARTS, file)
    assert ran.code == 0 and "a run of the model of 19 steps" in ran.out, ran.err


def test_a_promise_that_is_not_judged_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the run breaks none of the others."""
    file = tmp_path / "run.itf.json"
    spec, bounds, trace = run(LOG, "a_second_count")
    file.write_text(json.dumps(to_itf(spec, bounds, trace)))
    judged = stories.standing_of
    first: list[str] = []

    def all_but_the_first(plain: Any, one: Any, found: Trace) -> Any:
        first.append(one.name)
        return None if one.name == first[0] else judged(plain, one, found)

    monkeypatch.setattr(stories, "standing_of", all_but_the_first)
    ran = fencepost("validate", LOG, file)
    assert (ran.code, "it breaks none of 1 promises" in ran.out) == (1, True), ran.out
    assert f"not judged: {name_in_words(first[0])}" in ran.out


def test_by_the_command_line(tmp_path: Path) -> None:
    """What `show` writes is a run that breaks what it was asked for; changed, it is none; and junk is bad input."""
    file = tmp_path / "run.itf.json"
    assert fencepost("show", TRANSACTIONS, "nothing committed unasked", "--itf", file).code == 0
    ran = fencepost("validate", TRANSACTIONS, file, "--html", tmp_path / "run.html")
    assert ran.code == 1 and "nothing committed unasked [txn.P3]" in ran.out
    assert (tmp_path / "run.html").exists()
    document = json.loads(file.read_text())
    del document["states"][-2]
    file.write_text(json.dumps(document))
    ran = fencepost("validate", TRANSACTIONS, file)
    assert ran.code == 1 and "does not follow" in ran.out
    file.write_text("nothing")
    ran = fencepost("validate", TRANSACTIONS, file)
    assert ran.code == 2 and "line 1, column 1: it is no JSON from here on" in ran.err
    assert fencepost("show", LOG, "a second count", "--itf", file).code == 0
    ran = fencepost("validate", LOG, file)
    assert ran.code == 0 and "it breaks none of 2 promises" in ran.out
    assert "loop" not in ran.out
    file.write_text("\N{BYTE ORDER MARK}" + json.dumps(json.loads(file.read_text()) | {"loop": 1}), encoding="utf-8")
    ran = fencepost("validate", LOG, file)
    assert ran.code == 0 and "not followed: that it goes on for ever, as its `loop` 1 says" in ran.out
