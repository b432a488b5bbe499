"""Runs of the models of member epochs are checked as histories, except for the one promise that they may break because
the models allow what Kafka excludes."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from fencepost.proofs.scale.from_model.emission import kernels_of
from fencepost.proofs.scale.from_model.runs import run
from fencepost.proofs.scale.from_model.simulator import emitted_of, kernels_for, runs_of
from fencepost.proofs.scale.from_model.steps import steps_of
from fencepost.properties.catalogue import find
from fencepost.properties.group_fencing.events import GROUP_FENCING, Kind
from fencepost.properties.history.properties_of import properties_of
from model_histories import STEPS, runs

MARKED, RUNS, BOUNDS = "newest_owner_commits", 20_000, {"members": 3, "epochs": 12}
Columns = dict[str, np.ndarray]


def older_owners(columns: Columns, name: str) -> set[int]:
    """Return the histories in which an older owner's offset is accepted."""
    history = properties_of("group-fencing")
    view = history.view_of(columns, {"mode": name})
    return set(columns["history"][history.properties[MARKED].kernel(view).at].tolist())


def given_in_an_older_epoch(columns: Columns) -> set[int]:
    """Return the histories in which a member gets a partition in an epoch older than the newest in which another member
    has consumed from it, and has an offset accepted before it consumes in an epoch that is not older."""
    newest, behind, found = defaultdict[int, tuple[int, int]](lambda: (-1, -1)), set[tuple[int, int]](), set[int]()
    names = ("history", "kind", "member", "client", "generation", "outcome")
    for history, kind, member, client, epoch, outcome in zip(*(columns[n].tolist() for n in names), strict=True):
        if kind == Kind.partition_given and outcome == 1:
            behind.discard((history, member))
            if epoch < newest[history][0] and member != newest[history][1]:
                behind.add((history, member))
        elif kind == Kind.consumed and epoch >= newest[history][0]:
            newest[history] = (epoch, client) if epoch > newest[history][0] else newest[history]
            behind.discard((history, client))
        elif kind == Kind.offset_taken and (history, member) in behind:
            found.add(history)
    return found


@pytest.mark.parametrize("name", ["new-protocol", "new-protocol-relaxed", "new-protocol-listener-metadata-at-send"])
def test_an_older_owner_commits_where_its_epoch_stays_as_it_is_given_a_partition(name: str) -> None:
    """No such run is left if a member gets partitions in the newest epoch only, as in Kafka."""
    manifest, made = runs(f"group-fencing/{name}", RUNS, **BOUNDS)
    mode = str(manifest.config["mode"])
    assert MARKED in manifest.config["undecidable"]
    found = older_owners(made.columns, mode)
    assert found == given_in_an_older_epoch(made.columns)
    assert len(found) > 5
    entry, variant = find(f"group-fencing/{name}")
    assert variant is not None
    emitting = emitted_of(entry, variant)
    as_kafka = replace(emitting, only={**emitting.only, "assign": lambda s, p: s.epoch[p.m] == s.newest})
    steps = steps_of(kernels_for(manifest.config).ground, as_kafka, GROUP_FENCING)
    narrower = run(kernels_of(kernels_for(manifest.config).ground, steps), GROUP_FENCING, 1, 0, RUNS, STEPS)
    taken = [np.count_nonzero(columns["kind"] == Kind.offset_taken) for columns in (made.columns, narrower.columns)]
    assert taken[1] > taken[0] / 2
    assert older_owners(narrower.columns, mode) == set()


def test_one_such_run() -> None:
    """In the first such run member 0 consumes in epoch 2 and is removed, and member 1 gets the partition in epoch 1,
    where Kafka would have moved it to the epoch of the newest assignment, at least 2."""
    manifest, _ = runs("group-fencing/new-protocol", 1)
    columns = runs_of(1, 14_995, 1, manifest.config).columns
    reported = ("partition_given", "consumed", "member_removed", "offset_taken")
    rows = [
        (Kind(kind).name, max(member, client), epoch)
        for kind, member, client, epoch in zip(
            *(columns[name].tolist() for name in ("kind", "member", "client", "generation")), strict=True
        )
        if Kind(kind).name in reported
    ]
    assert rows[:6] == [
        ("partition_given", 0, 2), ("consumed", 0, 2), ("member_removed", 0, 3),
        ("partition_given", 1, 1), ("consumed", 1, 1), ("offset_taken", 1, 1),
    ]  # fmt: skip
    assert older_owners(columns, "new-protocol") == {14_995}
