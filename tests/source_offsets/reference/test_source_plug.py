"""The plug as a driver sees it: its example, its operations, what it refuses."""

import pytest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.source_offsets.events import SOURCE_OFFSETS
from fencepost.properties.source_offsets.histories import HISTORY
from fencepost.properties.source_offsets.interface import Resting, at_rest
from fencepost.properties.source_offsets.scenarios.known import Script
from fencepost.reference_impl.defects import source_offsets
from fencepost.reference_impl.systems.source_offsets import reference


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"mode": "later"}, "must be one of text-merged-view, migration-sentinel, migration-race"),
        ({"boundary": "record"}, "must be one of poll, interval, connector"),
        ({"topics": 3}, r"config has unknown keys \['topics'\]"),
    ],
)
def test_a_wrong_configuration_is_refused(config, words):
    """With the key, and what it must be."""
    with pytest.raises(ValueError, match=words):
        reference(config)


def test_an_unknown_defect_is_refused():
    """With those that there are."""
    with pytest.raises(KeyError, match="no broken implementation is called 'x': known are"):
        source_offsets.find("x")


def test_what_is_not_possible_does_nothing():
    """Calls that do not apply say so."""
    system = reference({"tasks": 2, "separate": True})
    system.drain_events()
    assert not system.configure(1, False)  # its offsets are in the topic that it would lose
    assert not system.downgrade(True)
    assert not system.upgrade()
    assert not system.restart(2)
    assert not system.resume(0)
    assert not system.delete_topic()
    assert not system.start_owner()
    assert not system.stall_owner()
    assert not system.resume_owners()
    assert not system.ask_boundary(0, True)
    assert system.drain_events() == []
    with pytest.raises(ValueError, match="must be 1 to tasks=2"):
        system.configure(3, True)
    with pytest.raises(KeyError):
        system.step(99)
    with pytest.raises(ValueError, match="must be one of ok, failed, lost"):
        system.step(0, "later")


def test_a_stalled_task_waits():
    """None of its operations can be let happen, and all goes on when it is resumed."""
    script = Script.of_reference(tasks=2, partitions=2)
    script.until(0, "commit")
    assert script.system.stall(0)
    assert not script.system.stall(0)
    assert {thread[2] for thread in script.system.threads()} == {1}
    assert script.system.resume(0)
    assert {thread[2] for thread in script.system.threads()} == {0, 1}


def test_a_reader_waits_for_an_open_transaction():
    """618.32: it does not begin below what may yet be committed, and goes on by itself when that is decided."""
    script = Script.of_reference(tasks=2, partitions=2)
    script.until(1, "poll")
    script.until(0, "commit")
    script.system.stall(0)
    script.system.restart(1)
    script.go_on(1)
    assert not [thread for thread in script.system.threads() if thread[2] == 1]
    script.system.resume(0)
    script.then(0, "commit")
    assert [thread for thread in script.system.threads() if thread[2] == 1]


def test_a_transaction_that_takes_too_long_is_aborted():
    """After transaction.timeout.ms it is no longer waited for, and its producer is refused."""
    script = Script.of_reference(tasks=1, transaction_timeout_ms=1_000, timeout_check_ms=100)
    script.until(0, "commit")
    script.system.advance(2_000)
    script.go_on(0)
    assert [event.outcome for event in script.kinds("output_marked")] == [0]
    assert script.kinds("instance_failed")[0].error in (47, 90)


def test_a_batch_that_is_dropped_whole():
    """618.28: there is no transaction, `SourceTask.commit` is called, and nothing is lost by it."""
    script = Script.of_reference(batch=1, filtered=1)
    script.go_on(0)
    kinds = [event.kind for event in script.seen()]
    assert kinds.count("filtered") == 3
    assert kinds.count("txn_begun") == 1
    assert kinds.count("commit_called") == 4
    script.audit()
    assert [event.offset for event in script.kinds("audited")] == [4]


def test_what_the_connector_aborts_is_not_polled_again():
    """Its offsets are committed in a transaction of their own."""
    script = Script.of_reference(boundary="connector", own_batches=9, batch=2)
    script.until(0, "poll")
    assert script.system.ask_boundary(0, False)
    script.then(0, "abort")
    script.then(0, "commit")
    script.system.restart(0)
    script.audit()
    assert [event.offset for event in script.kinds("given_up")] == [1, 2]
    assert [event.offset for event in script.kinds("output_read")] == [3, 4]


@pytest.mark.parametrize(("rounds", "broken"), [(2, {"nothing_passed_over", "nothing_skipped"}), (1, set())])
def test_a_copy_comes_behind_a_tombstone(rounds, broken):
    """618.31, as released: the worker's producer still has the copy of an offset when its task has gone to another
    worker, which writes a tombstone; then the copy comes, beside any transaction, and nothing fences it."""
    script = Script.of_reference(rounds=rounds, records=2)
    copy = script.hold(0, "copy")
    script.system.stop(0)
    script.then(0, "stop")
    script.system.restart(0)
    script.then(0, "commit")
    script.release(copy)
    script.system.kill(0)
    script.system.restart(0)
    script.audit()
    columns = columns_of(SOURCE_OFFSETS, [(0, script.system.env.log.rows)])
    found, _ = HISTORY.check(columns, config={**script.config, "mode": "text-merged-view"})
    assert {name for name, finding in found.items() if finding.violations} == broken


@pytest.mark.parametrize("committed", [0, 1])
def test_what_a_connector_at_rest_has_found(committed):
    """Each partition's offset is the one that the instance began with which reads it now."""
    script = Script.of_reference(tasks=2, partitions=2, batch=1)
    for _ in range(committed):
        script.then(0, "commit")
    for task in (0, 1):
        assert script.system.kill(task)
    assert script.system.configure(1, True)
    script.until(0, "poll")
    assert at_rest(script.system, script.seen()) == Resting(frozenset({0}), {0: committed, 1: 0})
