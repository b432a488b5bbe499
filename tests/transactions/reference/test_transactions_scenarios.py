"""Known bugs that take what only the reference can be made to do (older clients, the cleaner, outages that no driver
brings about): each violates a property of histories, and does not without the bug."""

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
"""One from before KIP-360, which stays in its epoch after an abort."""
HELD = properties_of("transactions")


def lose_answers(script, partition):
    """What is in flight to a partition is written, and the answers are lost."""
    script.let_in(script.flying("produce", f"partition-{partition}"))
    script.lose("produce_answer")


def _leaderless(coordinator, mode):
    """Leaders are as Kafka's: they leave it to the coordinator whether an older transaction is still open (txn.16)."""
    return {"parts": Parts(coordinator=coordinator, leader=NotWaitingForMarker), "mode": mode}


def with_an_id_of_its_own(env, slot):
    """A producer whose transactional id, and so producer id, is its slot's own."""
    return Producer(env, slot, slot)


def compacted(script):
    """The log of partition 0."""
    return script.system.leaders[0].log


def second_record_joins(script):
    """KAFKA-14402: the late record comes when the next transaction has the partition: the coordinator says yes.

    The client is one from before KIP-360, which stays in its epoch after an abort; v2 bumps the epoch at every end,
    whatever the client does.
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
    """KAFKA-14884, its first fix: "some question is open" is not "this question is open" (ABA).

    The old yes meets the question of the next transaction's batch: the aborted batch is written into it. The client
    is one from before KIP-360, which stays in its epoch after an abort; a newer one would get a fatal error instead.
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
    """KAFKA-20357: the epoch before the last bump was not in the transaction log.

    A producer whose bump was recorded, and its answer lost, asks again, and meets a coordinator that has taken over:
    its epoch looks like that of a stranger, and it is fenced. Recorded (trunk), it is known, and answered as before.
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
    """A coordinator that was replaced, and does not know it, still says yes to a leader that asks about a late record.

    The record of the aborted transaction is written behind its marker, and the next commit shows it. In v2 the marker
    has raised the epoch: the answer to the leader does not help.
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
    """A coordinator that was replaced still has the transaction before: it answers a commit as one it has done.

    In v1 both have one epoch. The owner hears that its transaction is committed, and the new coordinator aborts it
    when its time is up. In v2 the request is one that the old coordinator cannot place, and the owner fails.
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
    """A coordinator that takes over acts on a Prepare record that only it has, and is lost with that record.

    One of two partitions has got its marker; for the next coordinator the transaction is open, and its time is up.
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
    """KAFKA-19446: transaction.version is raised to 2 while a marker of a transaction of version 1 is under way.

    A partition that goes by the feature refuses it, since it does not raise the epoch; the coordinator takes that for
    being overtaken, and the transaction never ends. Correct: the marker says of which version it is.
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
    """KAFKA-20734: while its partition has no leader, the transaction's marker counts as written, and is never sent.

    The first transaction is aborted, and stays open at the partition; the commit of the next decides both.  Correct:
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
    """KAFKA-20716: a replica leads that has the record of an aborted transaction, and not its marker.

    The record is open again, and no marker is due: the commit of the next transaction decides both.  Correct: a replica
    that has the whole log leads (unclean.leader.election.enable is false).
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
    """A marker has brought the partition news of a fence, and a day later the partition has forgotten the producer.

    What the fenced instance sent comes so late that it is taken for the beginning of something new. Its record is part
    of the next transaction, and committed with it. With verification the coordinator is asked, and it remembers.
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
    """librdkafka 3369: a marker that aborts nothing takes the entry of another producer out of the reader's list."""
    script.start(0, 1)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.abort(0)
    script.begin(1, 0)
    script.abort(1)
    script.read()


def cleaner_stops_within_a_segment(script):
    """KAFKA-13727: the cleaner's map of keys is full before the segment is at its end; the rest is copied as it is.

    But the index of aborted transactions is written anew, without those of the rest: readers get their records.
    """
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
    script.begin(0, 0)
    script.abort(0)
    compacted(script).clean(mapped_upto=2)
    script.read()


def marker_with_the_key_of_a_record(script):
    """KAFKA-14055: a record happens to have the key that commit markers have, and the cleaner takes those before it.

    The next leader finds a transaction without an end: nothing behind it is read, and nothing of it.
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
    """KAFKA-14034: a leader that was restarted remembers one batch of a producer, and refuses the one before.

    Both are in its log, and their answers were lost. Sent again under the next epoch, they are written once more;
    given up, the application hears that they may have been.
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
    """librdkafka 4953: of two records in flight the first is lost, and the second is out of order, as it has to be.

    Taken for a reason to raise the epoch, it has the record of another partition sent again, which was written and
    whose answer was lost. Correct: the two are sent again, in their order.
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
"""By name: the script, the cluster with the bug, the one without it, and the property of histories."""


def played(play, broken=True, parts=Parts(), **config):  # noqa: B008
    """A script that was played with a cluster of these parts."""
    script = Script(build({**Script.SMALL, **config}, parts), broken, **config)
    play(script)
    return script


def violated(play, broken, **config):
    """The properties that the events of a script violate."""
    rows = played(play, broken, **config).system.env.log.rows
    config.pop("parts", None)
    found, _ = HELD.check(columns_of(HELD.vocabulary, [(0, rows)]), config={"mode": "v2", **config, "quiet_end": True})
    return {name for name, finding in found.items() if finding.violations}


@pytest.mark.parametrize("name", CASES)
def test_a_known_bug_violates_its_property(name):
    """And does not without the bug."""
    play, broken, fixed, found = CASES[name]
    assert found in violated(play, True, **broken)
    assert found not in violated(play, False, **fixed)


@pytest.mark.parametrize(("release", "fails"), [("4.3", True), ("trunk", False)])
def test_who_retries_at_the_next_coordinator(release, fails):
    """KAFKA-20357: the producer, which is alone, is fenced."""
    script = played(retry_at_the_next_coordinator, mode="v1-verified", release=release)
    assert bool(script.kinds("client_failed")) == fails


@pytest.mark.parametrize(("log", "read"), [(MarkersAreRecords, 0), (CompactedLog, 2)])
def test_what_a_marker_with_the_key_of_a_record_hides(log, read):
    """KAFKA-14055: of two committed records none is read."""
    script = played(marker_with_the_key_of_a_record, parts=Parts(log=log, **OWN_ID))
    assert len(script.kinds("record_read")) == read


def test_what_the_reference_has_is_played():
    """Each known bug of the catalogue that the reference has is a scenario, here or on the interface."""
    named = {bug.name for bug in TRANSACTIONS.scenarios if bug.played}
    assert named and named <= {*CASES, *KNOWN_BUGS, "KAFKA-20357"}
