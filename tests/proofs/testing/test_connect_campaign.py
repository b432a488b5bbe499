"""The campaign on real clusters of Connect: it goes on where it was stopped, and tells findings from alarms. Here the
reference stands for a cluster."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import connect_campaign
import driven_connect
import pytest
from driven_connect import COPIED, EMPTY, HIDDEN, LACKS, LOST, OPEN, REMOVED, finding_of
from fencepost.proofs.scope.findings import FINDINGS
from fencepost.proofs.testing.failures import Disagreed, Evidence
from fencepost.proofs.testing.search import Failure
from fencepost.properties.conformance_spec import FalseConjunct
from fencepost.properties.driving import Made, Program
from fencepost.properties.source_offsets.scenarios.cluster import ON_A_CLUSTER as OFFSETS
from fencepost.properties.task_counts.interface import Call
from fencepost.properties.task_counts.scenarios.agreement import ON_A_CLUSTER
from fencepost.reference_impl.defects.task_counts import no_fencing
from fencepost.reference_impl.systems.task_counts import released

Offsets = OFFSETS.call
VERDICTS = Path(__file__).parents[3] / "proofs" / "verdicts"
OF = "task-counts/shipped"


def plain(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in ("held", "release")}


def right(config: Mapping[str, Any]) -> Any:
    return released(plain(config))


def broken(config: Mapping[str, Any]) -> Any:
    return no_fencing(plain(config))


@pytest.fixture
def driving(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has one of these systems driven in place of a cluster."""

    def use(name: str) -> None:
        agreeing = replace(ON_A_CLUSTER, implementation=f"{__name__}:{name}", recorder="")
        monkeypatch.setattr(driven_connect, "on_a_cluster", lambda protocol: agreeing)

    return use


def test_it_goes_on_where_it_was_stopped(driving: Callable[[str], None], tmp_path: Path) -> None:
    """What is in the file is not done again by the same code, and no more programs are driven than asked for."""
    driving("right")
    place = tmp_path / "connect.json"
    assert connect_campaign.run(place, OF, "4.4.0", 6, 9) == 0
    first, second = json.loads(place.read_text())
    assert [(row["seed"], row["programs"], row["failures"], row["found"]) for row in (first, second)] == [
        (1, 5, [], {}), (2, 1, [], {}),
    ]  # fmt: skip
    assert first["operations"] > second["operations"] > 0
    place.write_text(json.dumps([{**first, "seconds": 7_200}, {**second, "code": "of before"}]))
    assert connect_campaign.run(place, OF, "4.4.0", 6, 9) == 0
    kept, anew = json.loads(place.read_text())
    assert (kept["seconds"], anew["code"]) == (7_200, second["code"])
    assert connect_campaign.run(place, OF, "4.4.0", 300, 0) == 0
    page = connect_campaign.page(json.loads(place.read_text()))
    assert f"| {OF} | 4.4.0 | {first['commit']}, {first['date']} | 1 to 2 | 6 |" in page
    assert "| 2.0 | " in page and " | none | 0 | 0 | 0 | 0 |" in page


def test_an_alarm_is_tried_again(driving: Callable[[str], None], tmp_path: Path) -> None:
    """It ends its seed, and the page has the program."""
    driving("broken")
    place = tmp_path / "connect.json"
    assert connect_campaign.run(place, OF, "4.4.0", 2, 9) == 1
    (row,) = json.loads(place.read_text())
    (alarm,) = row["failures"]
    assert (row["programs"], alarm["again"], alarm["tries"]) == (2, 3, 3)
    page = connect_campaign.page([row, {**row, "release": "3.3.2", "failures": [{**alarm, "again": 0}]}])
    assert [line.split(" | ")[-4:-2] for line in page.splitlines() if line.startswith("| task")] == [
        ["0", "1"], ["1", "0"],
    ]  # fmt: skip
    assert "618.7" in alarm["says"] and "618.7" in page
    assert "from fencepost" in page


class Statuses:
    """Of a system, what stands in the status topic."""

    def __init__(self, trace: str) -> None:
        self.trace = trace

    def status(self, connector: int, task: int) -> tuple[str, str]:
        return "FAILED", self.trace


def failing(rule: str, events: Iterable[dict[str, Any]], text: str = "") -> Failure:
    """A program that breaks a promise with the last of these events."""
    common = {"connector": 0, "node": 0, "producer_id": 1, "epoch": 0}
    made = Made(Call("work"), "work(system)", None, tuple({**common, **each} for each in events), None, None, "")
    evidence = Evidence(made, made.events[-1], ())
    disagreed = Disagreed(evidence, (FalseConjunct("promise", rule, text),))
    return Failure(Program({"workers": 3}, (made.call,)), (made,), None, disagreed)  # type: ignore[arg-type]


def started_again(task: int) -> Failure:
    """Task ``task`` polls with the set at 5 when the newest one, at 9, has one task."""
    return failing("618.19", (
        {"kind": "set_written", "set": 5, "count": 2}, {"kind": "set_written", "set": 9, "count": 1},
        {"kind": "producer_opened", "task": task, "instance": 3, "set": 5},
        {"kind": "task_running", "task": task, "instance": 3, "set": 5},
    ))  # fmt: skip


def test_findings_are_told_from_alarms() -> None:
    """A removed task that is started again is one; a task that the newest set has, started from an older one, is not. A
    FAILED task is told by its trace, and records that are lost or repeated by the variant whose model does so."""
    assert {REMOVED, OPEN, EMPTY, HIDDEN, COPIED} < {each.name for each in FINDINGS}
    assert finding_of(started_again(1), Statuses(""), OF) == REMOVED
    assert finding_of(started_again(0), Statuses(""), OF) == ""
    said = (
        "task starting at step 122 (connector c task {}, node 1, instance 4, set 15): not a whole set with this task: "
        "set written at step 81 (producer id 0 epoch 0, node 2, connector c, set 15, count 1, offset 15)"
    )
    recorded = [failing("618.3", [{"kind": "task_starting"}], said.format(task)) for task in (1, 0)]
    assert [finding_of(each, Statuses(""), OF) for each in recorded] == [REMOVED, ""]
    said = "task 0 of connector 0 fails, and nothing went wrong", "task 1 fails, and nothing went wrong"
    failed = [
        failing(rule, [{"kind": "task_failed"}], text) for rule, text in zip(("618.P4", "618.P5"), said, strict=True)
    ]
    traces = "… ConcurrentTransactionsException: …", "… IllegalStateException: …", "… TimeoutException: …"
    of_each = [[finding_of(each, Statuses(trace), OF) for trace in traces] for each in failed]
    assert of_each == [[OPEN, EMPTY, ""]] * 2
    twice, lost = (failing("618.P2", [{"kind": "output_read"}], text) for text in ("the same is at step 3", LOST[0]))
    later, taken = (f"source-offsets/shipped-own-topic-{how}" for how in ("later", "taken"))
    assert [finding_of(twice, Statuses(""), of) for of in (later, taken, "source-offsets/shipped")] == [
        HIDDEN,
        LACKS,
        "",
    ]
    shipped = "source-offsets/shipped"
    assert [finding_of(lost, Statuses(""), of) for of in (later, taken, shipped)] == ["", COPIED, ""]
    asked = [Program({"empty": True}, (Offsets("ask_boundary", 0, commit),)) for commit in (False, True)]
    assert [finding_of(replace(lost, program=each), Statuses(""), shipped) for each in asked] == [EMPTY, ""]


def test_the_page_is_of_the_rows() -> None:
    rows = json.loads((VERDICTS / "connect.json").read_text(encoding="utf-8"))
    assert (VERDICTS / "connect.md").read_text(encoding="utf-8") == connect_campaign.page(rows)
