"""These known bugs need conditions that only the reference can create (older clients, the cleaner, outages beyond a
driver). Each violates a history property, and does not without the bug."""

from dataclasses import replace

import pytest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.transactions.scenarios.known import (
    CLIENT_TIMEOUT_MS,
    KNOWN_BUGS,
    TXN_TIMEOUT_MS,
    Script,
    verified_but_held_up,
)
from fencepost.properties.transactions.variants.catalogue import TRANSACTIONS
from fencepost.reference_impl.defects.transactions import REGISTRY
from fencepost.reference_impl.defects.transactions_clients import RenumbersAll, RenumbersRefused
from fencepost.reference_impl.defects.transactions_partitions import NotWaitingForMarker
from fencepost.reference_impl.defects.transactions_together import (
    ChecksByFeature,
    IndexEndsWithTheMap,
    LeaderlessTakenForDeleted,
    LoadsPastTheHighWatermark,
    MarkersAreRecords,
)
from fencepost.reference_impl.kafka.clients.producer import IdempotentProducer, Producer
from fencepost.reference_impl.kafka.log import PRODUCER_EXPIRATION_MS, CompactedLog, marker_key
from fencepost.reference_impl.kafka.messages import COMMIT
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.systems.transactions import (
    Parts,
    build,
    depose,
    elect_unclean,
    expire_producers,
    fail_over_uncovered,
    misdirect,
    raise_version,
)

OLDER_CLIENT = REGISTRY["abort_keeps_epoch"].parts
"""This client is from before KIP-360, and has the same epoch after an abort."""
HELD = properties_of("transactions")


def lose_answers(script, partition):
    """Write what is in flight to a partition, and lose the answers."""
    script.let_in(script.flying("produce", f"partition-{partition}"))
    script.lose("produce_answer")


def _leaderless(coordinator, mode):
    """Let leaders, as in Kafka, rely on the coordinator for whether an older transaction is open (txn.16)."""
    return {"parts": Parts(coordinator=coordinator, leader=NotWaitingForMarker), "mode": mode}


def with_an_id_of_its_own(env, slot):
    """Return a producer whose transactional id, and so producer id, is its slot's own."""
    return Producer(env, slot, slot)


def compacted(script):
    return script.system.leaders[0].log


def second_record_joins(script):
    """KAFKA-14402: A late record arrives when the next transaction has the partition, and the coordinator approves it.

    The client is from before KIP-360, and has the same epoch after an abort. In v2 every end bumps the epoch, whatever
    the client does.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.system.begin(0)
    script.system.send(0, 0)
    next_record = script.hold_next("produce")
    script.release(late)
    script.release(next_record)
    script.settle()
    script.commit(0)
    script.read()


def verified_for_another_transaction(script):
    """KAFKA-14884: The first fix confuses the open verification of one transaction with that of another (ABA).

    The old approval meets the verification of the next transaction's batch, and the aborted batch is written into it.
    The client is from before KIP-360, since a newer one would get a fatal error.
    """
    yes = verified_but_held_up(script)
    script.abort(0)
    script.system.begin(0)
    script.system.send(0, 0)
    question = script.hold_next("check")
    script.release(yes)
    script.release(question)
    script.commit(0)
    script.read()


def retry_at_the_next_coordinator(script):
    """KAFKA-20357: The epoch before the last bump was not in the transaction log.

    A producer whose bump was recorded, and its answer lost, retries at a new coordinator, to which its epoch is
    foreign, and is fenced. On trunk the epoch is recorded, and the retry gets the same answer.
    """
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.lose("produce")
    script.system.abort(0)  # with a record in doubt: the producer wants another epoch (KIP-360)
    bump = script.hold_next("init")
    script.settle()
    script.let_in(bump)
    script.system.log_append()
    script.lose("init_answer")
    script.system.fail_over()
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.commit(0)
    script.read()


def deposed_answers_a_leader(script):
    """A deposed coordinator that does not know it approves a leader's verification of a late record.

    The aborted transaction's record is written after its marker, and the next commit makes it visible. In v2 the marker
    has raised the epoch, so that the approval has no effect.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    depose(script.system)
    script.abort(0)
    script.let_in(late)
    misdirect(script.system, script.flying("check"))
    script.settle()
    script.begin(0, 0)
    script.commit(0)
    script.read()


def deposed_answers_an_owner(script):
    """A deposed coordinator still has the previous transaction, and answers a commit as one that it has done.

    In v1 both transactions have one epoch. The owner gets success, and the new coordinator aborts the transaction at
    its time-out. In v2 the old coordinator does not recognise the request, and the owner fails.
    """
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
    depose(script.system)
    script.begin(0, 0)
    script.system.commit(0)
    end = script.hold_next("end")
    misdirect(script.system, end)
    script.release(end)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


def prepare_that_one_replica_has(script):
    """A new coordinator acts on a Prepare record that only it has, and is lost with that record.

    One of two partitions has its marker, but for the next coordinator the transaction is open, and times out.
    """
    script.start(0)
    script.begin(0, 0, 1)
    script.system.commit(0)
    script.let_in(script.hold_next("end"))
    script.system.restart_client(0)
    fail_over_uncovered(script.system)
    script.let_in(script.flying("marker", "partition-0"))
    script.lose("marker")
    script.system.fail_over(durable=False)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


def marker_from_before_the_upgrade(script):
    """KAFKA-19446: transaction.version is raised to 2 while a marker of a version 1 transaction is in flight.

    A partition that checks the feature refuses the marker, since it does not raise the epoch. The coordinator takes
    that as being replaced, and the transaction never ends. In the correct version the marker has its transaction's
    version.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    marker = script.hold_next("marker")
    script.settle()
    raise_version(script.system)
    script.release(marker)
    script.settle(CLIENT_TIMEOUT_MS)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


def partition_away_at_its_marker(script):
    """KAFKA-20734: While its partition has no leader, the transaction's marker counts as written, and is never sent.

    The first transaction is aborted but open at the partition, and the next commit decides both. In the correct version
    the marker waits for the partition.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.leave(0)
    script.abort(0)
    script.system.come_back(0)
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.commit(0)
    script.read()


def marker_lost_by_an_unclean_election(script):
    """KAFKA-20716: A new leader has the record of an aborted transaction, and not its marker.

    The record is open again, no marker is due, and the next commit decides both. In the correct version a replica with
    the whole log leads (unclean.leader.election.enable is false).
    """
    script.start(0)
    script.begin(0, 0)
    script.abort(0)
    if script.broken:
        elect_unclean(script.system, 0, 1)
    else:
        script.system.change_leader(0)
    script.begin(0, 0)
    script.commit(0)
    script.read()


def fence_that_is_forgotten(script):
    """A marker has informed the partition of a fence, and a day later the partition has forgotten the producer.

    A late record of the fenced instance counts as the beginning of something new, and the next transaction commits it.
    With verification the coordinator, which remembers, refuses it.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.system.restart_client(0)
    script.start(1)
    script.system.advance(PRODUCER_EXPIRATION_MS)
    expire_producers(script.system, 0)
    script.release(late)
    script.begin(1, 0)
    script.commit(1)
    script.read()


def empty_transaction_takes_an_entry(script):
    """librdkafka 3369: A marker that aborts nothing removes another producer's entry from the reader's list."""
    script.start(0, 1)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.abort(0)
    script.begin(1, 0)
    script.abort(1)
    script.read()


def cleaner_stops_within_a_segment(script):
    """KAFKA-13727: The cleaner's map of keys is full before the end of the segment, whose rest is copied unchanged.

    The new index of aborted transactions lacks those of the rest, whose records readers get.
    """
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
    script.begin(0, 0)
    script.abort(0)
    compacted(script).clean(mapped_upto=2)
    script.read()


def marker_with_the_key_of_a_record(script):
    """KAFKA-14055: A record has the same key as commit markers, and the cleaner removes earlier markers for it.

    The next leader finds a transaction without an end, so that neither its records nor later ones are read.
    """
    script.start(0, 1)
    script.begin(0, 0)
    script.commit(0)
    script.begin(1, 0)
    script.commit(1)
    [_, second] = script.kinds("record_acked")
    compacted(script).keys[second.record] = marker_key(COMMIT)
    compacted(script).clean()
    script.system.change_leader(0)
    script.read()


def restarted_leader_refuses(script):
    """KAFKA-14034: A restarted leader remembers one batch of a producer, and refuses the one before.

    Both are in its log, and their answers were lost. If they are sent again under the next epoch, they are written
    twice. If they are given up, the application learns that they may have been written.
    """
    script.start(0)
    script.system.send(0, 0)
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.system.change_leader(0)
    script.settle(CLIENT_TIMEOUT_MS)
    script.send(0, 0)
    script.read()


def another_partition_raises_the_epoch(script):
    """librdkafka 4953: Of two records in flight the first is lost, and the second is rightly out of order.

    If that raises the epoch, another partition's record, which was written and whose answer was lost, is sent again. In
    the correct version the two records are sent again in order.
    """
    script.start(0)
    script.send(0, 1)
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.system.send(0, 1)
    script.lose("produce")
    script.send(0, 1)
    script.settle(CLIENT_TIMEOUT_MS)
    script.read()


OWN_ID = {"producer": with_an_id_of_its_own}
POPS_WRONG = replace(REGISTRY["reader_pops_wrong_entry"].parts, **OWN_ID)
ABA = replace(OLDER_CLIENT, log=REGISTRY["rechecked_by_state"].parts.log)
VERIFIED, V1, V2 = {"mode": "v1-verified"}, {"mode": "v1"}, {"mode": "v2"}
RESTARTED = {"leader_change": "restart"}
CASES = {
    "KAFKA-14402-joins": (
        second_record_joins, {"parts": OLDER_CLIENT, **VERIFIED}, {"parts": OLDER_CLIENT, **V2}, "aborts_unread",
    ),
    "KAFKA-14884-ABA": (
        verified_for_another_transaction, {"parts": ABA, **VERIFIED}, {"parts": OLDER_CLIENT, **VERIFIED},
        "aborts_unread",
    ),
    "deposed-coordinator": (deposed_answers_a_leader, VERIFIED, V2, "aborts_unread"),
    "deposed-coordinator-prompt": (deposed_answers_an_owner, V1, V2, "commits_kept"),
    "uncovered-Prepare": (
        prepare_that_one_replica_has, {"parts": Parts(coordinator=LoadsPastTheHighWatermark)}, {}, "transactions_whole",
    ),
    "KAFKA-19446": (
        marker_from_before_the_upgrade, {"parts": Parts(log=ChecksByFeature), **VERIFIED}, VERIFIED, "none_hanging",
    ),
    "KAFKA-20734": (
        partition_away_at_its_marker, _leaderless(LeaderlessTakenForDeleted, "v2"), _leaderless(Coordinator, "v2"),
        "aborts_unread",
    ),
    "KAFKA-20734-v1": (
        partition_away_at_its_marker, _leaderless(LeaderlessTakenForDeleted, "v1"), _leaderless(Coordinator, "v1"),
        "aborts_unread",
    ),
    "KAFKA-20716": (
        marker_lost_by_an_unclean_election, _leaderless(Coordinator, "v2"), _leaderless(Coordinator, "v2"),
        "aborts_unread",
    ),
    "forgotten-fence": (fence_that_is_forgotten, V1, VERIFIED, "fenced_appends_unread"),
    "librdkafka-3369": (
        empty_transaction_takes_an_entry, {"parts": POPS_WRONG, **V1}, {"parts": Parts(**OWN_ID), **V1},
        "aborts_unread",
    ),
    "KAFKA-13727": (
        cleaner_stops_within_a_segment, {"parts": Parts(log=IndexEndsWithTheMap)}, {"parts": Parts(log=CompactedLog)},
        "aborts_unread",
    ),
    "KAFKA-14034": (
        restarted_leader_refuses, {"parts": Parts(producer=RenumbersRefused), **RESTARTED},
        {"parts": Parts(producer=IdempotentProducer), **RESTARTED}, "read_once",
    ),
    "librdkafka-4953": (
        another_partition_raises_the_epoch, {"parts": Parts(producer=RenumbersAll)},
        {"parts": Parts(producer=IdempotentProducer)}, "read_once",
    ),
}  # fmt: skip
"""Each case has the script, the cluster with the bug, the one without it, and the history property."""


def played(play, broken=True, parts=Parts(), **config):  # noqa: B008
    script = Script(build({**Script.SMALL, **config}, parts), broken, **config)
    play(script)
    return script


def violated(play, broken, **config):
    rows = played(play, broken, **config).system.env.log.rows
    config.pop("parts", None)
    found, _ = HELD.check(columns_of(HELD.vocabulary, [(0, rows)]), config={"mode": "v2", **config, "quiet_end": True})
    return {name for name, finding in found.items() if finding.violations}


@pytest.mark.parametrize("name", CASES)
def test_a_known_bug_violates_its_property(name):
    play, broken, fixed, found = CASES[name]
    assert found in violated(play, True, **broken)
    assert found not in violated(play, False, **fixed)


@pytest.mark.parametrize(("release", "fails"), [("4.3", True), ("trunk", False)])
def test_who_retries_at_the_next_coordinator(release, fails):
    """KAFKA-20357: The producer is fenced although it is alone."""
    script = played(retry_at_the_next_coordinator, mode="v1-verified", release=release)
    assert bool(script.kinds("client_failed")) == fails


@pytest.mark.parametrize(("log", "read"), [(MarkersAreRecords, 0), (CompactedLog, 2)])
def test_what_a_marker_with_the_key_of_a_record_hides(log, read):
    """KAFKA-14055: Neither of two committed records is read."""
    script = played(marker_with_the_key_of_a_record, parts=Parts(log=log, **OWN_ID))
    assert len(script.kinds("record_read")) == read


def test_what_the_reference_has_is_played():
    named = {bug.name for bug in TRANSACTIONS.scenarios if bug.played}
    assert named and named <= {*CASES, *KNOWN_BUGS, "KAFKA-20357"}
