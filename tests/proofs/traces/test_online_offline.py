"""A run of which everything is shown gets one verdict, whether it is followed while it is driven or as a history.

Where the two differ, the difference is named here: a driver knows more than the events say, and what follows runs of
task counts looks at one connector.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fencepost.proofs.testing.engine import reach
from fencepost.proofs.testing.search import Search
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import Run, read
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.vocabulary import VOCABULARIES
from fencepost.properties.registry import folder

EXAMPLES = {"kraft": 25}
"""By variant, 5 where nothing is said: in many runs of KRaft the length of blocks changes (`NO_HISTORY`)."""
UNREPORTED = "a history does not show when a record sets out for the transaction log"
ONLY_DRIVEN = {
    "backoff_never_over": "a driver knows the time, and by when a back-off has to end",
    "completes_at_first_marker": "the driven model keeps which markers were acknowledged, and the histories' does not",
    "epoch_before_pending": UNREPORTED,
    "open_ids_expire": UNREPORTED,
    "time_out_keeps_epoch": "what a coordinator logs of its own accord may have been asked for by an earlier EndTxn",
}
"""Defects with which a driven run may disagree where its history fits, and why."""
NO_HISTORY = {"set_block_size"}
"""Calls that only a driver makes: the config of a history says one length of blocks, which holds for all of it."""
CASES = (
    (
        "id-blocks",
        "kraft",
        ("answers_before_commit", "backoff_ignored", "duplicate_answer_taken", "backoff_never_over"),
    ),
    ("id-blocks", "zookeeper", ()),
    ("id-blocks", "bridge", ("answers_before_commit", "snapshot_omits_next_id")),
    ("task-counts", "shipped", ("does_not_ask", "plain_leader_producer")),
    ("task-counts", "A", ("no_check_before", "fenced_task_goes_on", "order_inverted")),
    ("task-counts", "M", ("check_after_before_producer",)),
    ("task-counts", "B", ("no_count_when_nothing_to_fence", "order_inverted")),
    ("transactions", "v2", ("completes_at_first_marker", "epoch_before_pending", "open_ids_expire")),
    ("transactions", "v1", ("time_out_keeps_epoch",)),
    ("transactions", "v1-verified", ("open_ids_expire",)),
)


class _Silent:
    """A monitor that finds nothing, so that the model alone ends a run."""

    only = found = None
    predicted = ()

    def watch(self, made: Any, messages: Any) -> None:
        pass


class _Runs(Search):
    """A search that keeps its runs and goes on after failures."""

    def __init__(self, *given: Any) -> None:
        self.runs: list[Run] = []
        super().__init__(*given)

    def account(self) -> None:
        if self.under_way is not None and any(made.events for made in self.under_way.made):
            self.runs.append(self.under_way)
        self.under_way = None

    def _is_enough(self) -> bool:
        return False


def _runs(protocol: str, variant: str, implementation: str) -> Iterator[tuple[Run, int | None]]:
    """Runs that the model followed to their end, or to where it disagreed: with which event, if with one."""
    agreeing = replace(driven(protocol), monitor=lambda config, expecting: _Silent())
    every = frozenset(VOCABULARIES[protocol].codes)
    search = _Runs(agreeing, reach(implementation)[0], variant, {}, frozenset(), every, ())
    search.search(1, EXAMPLES.get(variant, 5), agreeing.steps, None)
    failed = {id(failure.made[-1]): failure.disagreed.evidence.event for failure in search.failures}
    for run in search.runs:
        if any(tracker.beyond for tracker in run.watcher.trackers):  # type: ignore[attr-defined]
            continue
        events = [event for made in run.made for event in made.events]
        observed = failed.get(id(run.made[-1])) if run.over else None
        if run.over and not any(event is observed for event in events):
            continue  # it disagreed with the result of a call, or with what did not happen
        if any(made.call.name in NO_HISTORY for made in run.made):
            continue
        yield run, next((place for place, event in enumerate(events) if event is observed), None)


def _history(protocol: str, run: Run) -> dict[str, np.ndarray]:
    """The events of a run, as a history that was recorded."""
    vocabulary = VOCABULARIES[protocol]
    events = [event for made in run.made for event in made.events]
    rows = [
        (
            step,
            0,
            int(vocabulary.codes[read(event, "kind")]),
            *(read(event, c.name, c.absent) for c in vocabulary.columns),
        )
        for step, event in enumerate(events)
    ]
    columns = columns_of(vocabulary, [(0, rows)])
    if "connector" in columns:
        return _of_first_connector(columns)
    return columns


def _of_first_connector(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What follows driven runs of task counts lets other connectors pass by.  Steps stay as they are."""
    kept = columns["connector"] <= 0
    return {name: column[kept] for name, column in columns.items()}


@pytest.mark.parametrize(
    ("protocol", "variant", "defects"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_one_verdict(protocol: str, variant: str, defects: tuple[str, ...]) -> None:
    """The reference fits both ways; what a history shows to be wrong, the driven run stops at, at the same event."""
    module, seen = f"fencepost.reference_impl.defects.{folder(protocol)}", 0
    for implementation in (driven(protocol).reference, *(f"{module}:{defect}" for defect in defects)):
        defect = implementation.rpartition(":")[2]
        wrong = 0
        for run, stop in _runs(protocol, variant, implementation):
            columns = _history(protocol, run)
            found = conformance_kernel(variant, run.config, protocol).misfits(columns)
            step = int(columns["step"][found[0].row]) if found else None
            wrong += stop is not None or step is not None
            if defect in ONLY_DRIVEN and step is None:
                continue
            assert step == stop, (defect, run.config, found)
        assert wrong == 0 or defect != "reference"
        seen += wrong
    assert seen or not defects
