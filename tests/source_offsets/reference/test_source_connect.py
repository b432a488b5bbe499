"""Connect workers whose tasks run with this runtime: who may start is decided there, what they write is as here."""

import pytest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.source_offsets.events import SOURCE_OFFSETS
from fencepost.properties.source_offsets.histories import HISTORY
from fencepost.properties.task_counts.events import TASK_COUNTS
from fencepost.properties.task_counts.histories.properties import HISTORY as OF_CLUSTERS
from fencepost.reference_impl.defects import source_offsets
from fencepost.reference_impl.systems.source_offsets import Parts
from fencepost.reference_impl.systems.source_offsets_workers import connected
from fencepost.reference_impl.systems.task_counts import FreeRun

SOURCE = {"partitions": 4, "records": 100_000, "batch": 2}
ORDER = ("nothing_twice", "in_order", "nothing_skipped", "nothing_passed_over")


def run(seed, pieces=None, events=600, **source):
    """The histories of a cluster and of its source tasks, with all faults of workers."""
    history = FreeRun(
        FreeRun.run_type(events=events, settle_events=300, quiet_end=True),
        FreeRun.config_type.parse({**FreeRun.cluster_defaults, "seed": seed}),
        connected({**SOURCE, **source}, pieces),
    )
    history.play()
    brokers = history.system.env.brokers
    brokers.audit()
    return (seed, history.rows), (seed, brokers.log_of_tasks.rows)


def found(histories, properties, vocabulary, config):
    """The findings on these histories."""
    return properties.check(columns_of(vocabulary, histories), config=config)[0]


@pytest.mark.parametrize("source", [{}, {"separate": False, "filtered": 3}, {"boundary": "connector"}], ids=str)
def test_both_histories_keep_their_promises(source):
    """Workers stall, crash and are rebalanced; of older sets no task commits, and of the source nothing is lost or
    doubled."""
    clusters, sources = zip(*(run(seed, **source) for seed in range(8)), strict=True)
    of_tasks = found(sources, HISTORY, SOURCE_OFFSETS, {"mode": "text-merged-view", **SOURCE, **source})
    assert {name: of_tasks[name].violations for name in ORDER} == dict.fromkeys(ORDER, 0)
    assert of_tasks["nothing_twice"].judged > 200
    for name in ("offsets_with_records", "end_is_the_end", "read_to_the_end", "copied_when_committed"):
        assert not of_tasks[name].violations
    assert of_tasks["read_to_the_end"].judged > 20
    of_clusters = found(clusters, OF_CLUSTERS, TASK_COUNTS, {"mode": "shipped", "quiet_end": True})
    wrong = {name for name, finding in of_clusters.items() if finding.violations}
    assert {name for name in wrong if not OF_CLUSTERS.properties[name].not_promised("shipped")} == set()
    assert of_clusters["no_zombie_commits"].judged > 50


@pytest.mark.parametrize("name", ["reads_uncommitted", "offsets_in_another_transaction"])
def test_a_defect_of_the_runtime_shows_there(name):
    """What is wrong with the runtime is wrong with the cluster."""
    pieces: Parts = source_offsets.find(name).parts
    for seed in range(12):
        sources = [run(seed, pieces)[1]]
        if any(found(sources, HISTORY, SOURCE_OFFSETS, SOURCE)[each].violations for each in ORDER):
            return
    pytest.fail("no history shows it")
