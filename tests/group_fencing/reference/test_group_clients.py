"""These tests check the clients: when group metadata changes, when partitions are revoked, how a producer reacts to a
refusal, and the users' loop."""

import pytest
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import Made
from fencepost.properties.group_fencing.scenarios.known import AFTER_POLLS_MS, AFTER_SESSION_MS, Script
from fencepost.reference_impl.kafka.errors import GroupErrorCode, Verdict, from_group_coordinator

NEW = {"mode": "new-protocol"}
BOTH = pytest.mark.parametrize("mode", ["shipped", "new-protocol"])


def metadata(script, slot=0):
    return script.system.instances[slot].consumer.group_metadata()


def ticks(script, ms):
    """Let messages arrive and time pass while no application takes a step."""
    script.settle(ms)


@BOTH
def test_before_it_has_joined_metadata_name_the_instance_only(mode):
    """A consumer that has not joined has epoch or generation -1, no member id, and its configured instance id."""
    assert metadata(Script.of_reference(mode=mode, static=True), 1) == (-1, -1, 1)
    assert metadata(Script.of_reference(mode=mode), 1) == (-1, -1, -1)


def test_metadata_of_the_classic_protocol_change_in_poll_only():
    script = Script.of_reference(records=9)
    script.until(0, "end_told")
    before = metadata(script)
    script.system.step(1)
    script.go_on(1)
    ticks(script, AFTER_SESSION_MS)
    consumer = script.system.instances[0].consumer
    assert consumer.rejoin_needed
    assert metadata(script) == before
    script.until(0, "joined")
    assert metadata(script).generation > before.generation


def test_metadata_of_the_new_protocol_change_in_the_background():
    script = Script.of_reference(**NEW)
    script.until(0, "consumed")
    before = metadata(script)
    script.until(1, "joined")
    ticks(script, 10_000)
    assert metadata(script).generation == before.generation + 1
    assert metadata(script).member == before.member


@pytest.mark.parametrize("listener", [True, False])
def test_a_fenced_member_of_the_new_protocol_rejoins_under_its_id(listener):
    """A fenced member rejoins at once if it has no listener, and in its next poll if it has one."""
    script = Script.of_reference(**NEW, listener=listener)
    script.until(0, "consumed")
    before = metadata(script)
    assert script.system.expire(0)
    ticks(script, 10_000)
    if listener:
        assert metadata(script) == before
        assert script.system.instances[0].consumer.assignment == (0,)
        script.until(0, "joined")
    assert metadata(script).member == before.member
    assert metadata(script).generation > before.generation


def test_partitions_are_revoked_in_poll_only():
    """KAFKA-20332: Partitions are revoked in poll only, however long the application takes until then."""
    script = Script.of_reference(**NEW, inputs=2, listener=False)
    script.until(0, "consumed")
    script.until(1, "joined")
    ticks(script, AFTER_SESSION_MS)
    assert script.system.instances[0].consumer.assignment == (0, 1)
    script.until(0, "revoked")
    script.until(1, "assigned")
    assert [len(instance.consumer.assignment) for instance in script.system.instances] == [1, 1]


@BOTH
@pytest.mark.parametrize("static", [True, False])
def test_who_does_not_poll_leaves(mode, static):
    """After max.poll.interval.ms a consumer leaves, and its next poll joins again. A classic static member only falls
    silent until its session ends."""
    script = Script.of_reference(mode=mode, static=static, listener=False)
    script.until(0, "consumed")
    before = metadata(script)
    ticks(script, AFTER_POLLS_MS)
    assert script.count(0, "left") == 1
    ticks(script, AFTER_SESSION_MS)
    group = script.system.group_coordinator.group
    assert group.commit_refused(before, (0,), True) != 0 or not group.members
    script.until(0, "joined")
    assert metadata(script).generation > before.generation


@BOTH
def test_who_is_closed_leaves_at_once(mode):
    script = Script.of_reference(mode=mode, records=4)
    script.until(0, "end_told")
    script.system.close(0)
    script.go_on(1)
    assert script.count(1, "assigned") == 1


def test_a_static_member_of_the_new_protocol_is_followed_by_the_next():
    """A closed static member leaves with epoch -2, and its successor needs no rebalance for its partitions."""
    script = Script.of_reference(**NEW, static=True, records=4)
    script.until(0, "end_told")
    script.system.close(0)
    script.system.restart(0)
    script.until(0, "assigned")
    assert script.system.group_coordinator.group.epoch == 1
    assert not script.system.is_over(0)


def test_a_static_member_that_was_killed_is_refused_until_its_session_is_over():
    """UNRELEASED_INSTANCE_ID is fatal to the new protocol's consumer."""
    script = Script.of_reference(**NEW, static=True)
    script.until(0, "consumed")
    script.system.restart(0)
    script.go_on(0)
    assert [e.error for e in script.kinds("instance_failed")] == [111]
    ticks(script, AFTER_SESSION_MS)
    script.system.restart(0)
    script.until(0, "end_told")


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (0, Verdict.FINE), (22, Verdict.ABORTABLE), (25, Verdict.ABORTABLE), (82, Verdict.ABORTABLE),
        (69, Verdict.ABORTABLE), (113, Verdict.ABORTABLE), (120, Verdict.ABORTABLE), (14, Verdict.RETRY),
        (15, Verdict.RETRY), (16, Verdict.RETRY), (51, Verdict.RETRY), (100, Verdict.RETRY), (47, Verdict.FATAL),
        (90, Verdict.FATAL), (85, Verdict.FATAL), (35, Verdict.FATAL),
    ],
)  # fmt: skip
def test_what_a_producer_makes_of_an_answer(error, verdict):
    """TransactionManager.TxnOffsetCommitHandler treats these errors so, and 85 shuts the producer down (447.8)."""
    assert from_group_coordinator(error) is verdict


def test_a_refused_commit_is_aborted_and_read_again():
    script = Script.of_reference(records=2)
    script.taken_over()
    script.system.resume(0)
    script.go_on(0, 1, ms=10_000)
    refused = {e.error for e in script.kinds("offset_refused")}
    assert GroupErrorCode.UNKNOWN_MEMBER_ID in refused
    assert not script.kinds("instance_failed")
    assert script.system.audit() == ([(0, 0), (0, 1)], [2])


@pytest.mark.parametrize("commit_version", [5, 6])
def test_a_commit_is_repeated_until_its_topic_is_known(commit_version):
    script = Script.of_reference(commit_version=commit_version)
    script.until(0, "consumed")
    script.system.hide_topic(True)
    script.go_on(0)
    assert not script.kinds("end_sent", "instance_failed")
    script.system.hide_topic(False)
    script.go_on(0)
    assert script.system.audit() == ([(0, 0)], [1])


@BOTH
def test_a_fetch_waits_for_a_dead_owner_s_transaction(mode):
    """447.10: A fetch waits until the dead owner's transaction times out and the coordinator notices. This is more than
    the one minute of the text, by at most one interval if markers arrive."""
    script = Script.of_reference(mode=mode, transaction_timeout_ms=60_000, session_timeout_ms=10_000)
    script.until(0, "offset_sent")
    script.step()
    script.settle(1_000)
    begun = next(e.time_us for e in script.seen() if e.kind == "offset_taken") // 1_000
    script.system.pause(0)
    script.until(1, "offset_fetched", times=2)
    script.until(1, "consumed")
    waited = script.system.env.now_ms - begun
    assert 60_000 < waited < 60_000 + 10_000 + 1_000
    assert {e.error for e in script.kinds("fetch_held")} == {88}


def test_in_the_draft_nothing_is_waited_for_where_all_clients_are_new():
    """Initialising aborts the dead owner's transaction (447.5), long before its time-out."""
    script = Script.of_reference(mode="draft", session_timeout_ms=10_000)
    script.until(0, "offset_sent")
    script.settle(1_000)
    script.system.pause(0)
    script.until(1, "consumed")
    assert script.system.env.now_ms < 20_000
    assert not script.kinds("fetch_held")


def test_an_application_may_abort_of_its_own_accord():
    script = Script.of_reference(records=2)
    script.until(0, "offset_sent")
    assert script.system.abort(0)
    script.go_on(0)
    assert [e.outcome for e in script.kinds("end_told")] == [0, 1]
    assert script.system.audit() == ([(0, 0), (0, 1)], [2])


def test_old_clients_have_a_producer_for_each_partition():
    """An old client's producer has its partition's transactional id, which the next owner fences before fetching."""
    script = Script.of_reference(old=2, inputs=2, records=2)
    script.until(0, "consumed")
    producers = script.system.instances[0].producers
    assert {partition: producer.txn_id for partition, producer in producers.items()} == {0: 0, 1: 1}
    script.go_on(0, 1, ms=20_000)
    copies, offsets = script.system.audit()
    assert (sorted(copies), offsets) == ([(0, 0), (0, 1), (1, 0), (1, 1)], [2, 2])


def test_an_upgrade_is_rolled_out_instance_by_instance():
    script = Script.of_reference(old=2, inputs=2, records=4)
    script.until(0, "end_told")
    assert script.system.upgrade(0)
    assert not script.system.upgrade(0)
    script.go_on(0, 1, ms=20_000)
    assert script.system.upgrade(1)
    script.go_on(0, 1, ms=20_000)
    copies, offsets = script.system.audit()
    assert (len(copies), len(set(copies)), offsets) == (8, 8, [4, 4])


@pytest.mark.parametrize(("epoch", "broken"), [(2, None), (0, "447.P2")])
def test_who_sent_a_commit_is_known_by_its_epoch(epoch, broken):
    """The instances that have a partition one after another have one producer id there: what the newest owner sends
    again is not taken for the former one's, which is refused."""
    sent = {"kind": "offset_sent", "partition": 0, "offset": 1, "producer_id": 0}
    consumed = {"kind": "consumed", "partition": 0, "offset": 0}
    monitor = driven("group-fencing").monitoring({"mode": "shipped", "group_aware": False}, frozenset())
    events = (
        {**consumed, "client": 1, "generation": 2}, {**consumed, "client": 0, "generation": 3},
        {**sent, "client": 0, "epoch": 2}, {**sent, "client": 1, "epoch": 0},
        {**sent, "kind": "offset_taken", "epoch": epoch},
    )  # fmt: skip
    monitor.watch(Made(driven("group-fencing").call("step", 0), "", None, events, None))
    assert (monitor.found and monitor.found.rule) == broken
