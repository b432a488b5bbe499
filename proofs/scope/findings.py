"""This module lists findings about third-party systems, made by these models and the programs that drive real systems.

Each finding was seen on a running system or in a client library of the version named; what was only deduced from source
is no finding. `fencepost findings --table proofs/verdicts/findings.md` prints the page next to the verdict tables."""

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

CORNERS = "tests/live/kafka/corners/test_corners.py::test_kafka_answers_as_written_down"
STATUS = re.compile(
    r"new|known|false alarm|confirmed by KAFKA-\d+(, fixed in \d+\.\d+(\.\d+)?)?|fixed in \d+\.\d+(\.\d+)?"
)

Means = Literal["live", "classes", "client", "reference", "model"]


@dataclass(frozen=True)
class Finding:
    """A `Finding` is one defect, or one false alarm, in a third-party system. ``where`` is the affected system or a
    part of that system. ``version`` has the settings, or the release of a client. ``breaks`` has the promises and
    mechanisms that the defect breaks, none for a false alarm. ``status`` is new, known elsewhere, confirmed by KAFKA-n,
    fixed in a release, or false alarm. ``program`` is the test, or for a known bug the command, that reproduces the
    defect, and ``also`` others. ``note`` describes how near the public record is. ``variants`` names the variants (protocol/variant) whose
    model has the defect, and in which it breaks one of these promises. ``seen`` and ``not_seen`` are the exact releases
    of Kafka on which the programs ran and saw it or did not. ``means`` is live brokers, Kafka's own classes without a
    cluster, or a client library that misbehaves on a correct broker; for a known bug it is the reference implementation
    or the model alone."""

    name: str
    what: str
    where: str
    version: str
    breaks: tuple[str, ...]
    status: str
    program: str
    note: str = ""
    variants: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    not_seen: tuple[str, ...] = ()
    means: Means = "live"
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not STATUS.fullmatch(self.status):
            raise ValueError(
                f"finding {self.name}: status {self.status!r} is none of {STATUS.pattern}: use one of them"
            )

    @property
    def programs(self) -> tuple[str, ...]:
        return (self.program, *self.also)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _corner(name: str) -> str:
    return f"{CORNERS}[{name}]"


_OFFSETS = "tests/live/kafka/test_live_offsets.py::test_pending_offsets_lose_their_marker"
_DEPOSED = "tests/live/kafka/test_live_deposed.py"
_ZOMBIES = "tests/live/kafka/copying/test_live_zombies_of_groups.py::test_zombie"
_CONNECT = "tests/live/connect/test_connect_classes.py"
LIVE_CONNECT = "tests/live/connect/test_live_"
_LIVENESS = f"{LIVE_CONNECT}liveness.py"
_LEADERLESS = "tests/live/kafka/test_live_coordinator.py::test_a_partition_without_leader_loses_its_marker"

FINDINGS = (
    Finding(
        "acknowledged commit lost", "A partition without a live replica when its marker is due is taken for a deleted one: "
        "the transaction is completed without it. When the partition is back its records are open, and the producer's next "
        "transaction joins them; its abort aborts the record whose commit was acknowledged.",
        "transaction coordinator", "transaction.version 2; before 4.3 the marker waits",
        ("txn.10", "txn.P2", "txn.P4", "txn.P10"), "confirmed by KAFKA-20734", f"{_LEADERLESS}[commit]",
        "found here by killing nodes; the public change (PR 22680, open) speaks of the metadata cache, not of transactions",
        variants=("transaction-partitions/dropped-v2", "transaction-partitions/dropped-v1",
                  "transaction-partitions/dropped-v1-torn"),
        seen=("4.3.1", "4.4.0"), not_seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2"),
    ),
    Finding(
        "aborted record committed", "The same with the outcomes exchanged: the abort marker is skipped, the next transaction "
        "joins, and its commit makes the aborted record visible to read_committed.",
        "transaction coordinator", "transaction.version 2", ("txn.10", "txn.P3"), "confirmed by KAFKA-20734", f"{_LEADERLESS}[abort]",
        "that consequence stands in no public text that was read",
        variants=("transaction-partitions/dropped-v2", "transaction-partitions/dropped-v1"),
        seen=("4.3.1", "4.4.0"), not_seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2"),
    ),
    Finding(
        "acknowledged offset lost", "Where the partition of __consumer_offsets has no live replica when its marker is due, the "
        "transaction is completed without it too: its offset stays pending, is answered UNSTABLE_OFFSET_COMMIT, and the "
        "abort of the producer's next transaction with an offset on that partition drops it.",
        "transaction coordinator", "transaction.version 2; before 4.3 the marker waits",
        ("txn.10", "txn.21", "txn.P2", "txn.P10"), "confirmed by KAFKA-20734", f"{_OFFSETS}[commit]",
        "the records of that transaction are committed; of offsets stands nothing in the public text that was read",
        variants=("transactional-offsets/offsets-marker-dropped",),
        seen=("4.3.1", "4.4.0"), not_seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2"),
    ),
    Finding(
        "aborted offset committed", "An offset whose abort marker was skipped in that way is committed by the producer's next "
        "transaction, with the offset of another group on the same partition of __consumer_offsets.",
        "transaction coordinator", "transaction.version 2", ("txn.10", "txn.21", "txn.P2", "txn.P3"), "confirmed by KAFKA-20734",
        f"{_OFFSETS}[abort]",
        variants=("transactional-offsets/offsets-marker-dropped",),
        seen=("4.3.1", "4.4.0"), not_seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2"),
    ),
    Finding(
        "a deposed coordinator vouches for what was aborted", "Verification is answered from memory, without a look at "
        "who coordinates. A record that comes after the abort marker of its transaction is let in while its leader asks the "
        "deposed coordinator: it opens a transaction that no coordinator knows, the last stable offset stays, and the "
        "producer's next transaction joins it and commits it.",
        "transaction coordinator, clients of v1", "transaction.version 1 and 2",
        ("txn.15", "txn.P3", "txn.P10"), "new", f"{_DEPOSED}::test_it_vouches_for_what_was_aborted[1]",
        "neither that coordinator nor the leader hears the controller meanwhile, and the leader is not fenced",
        variants=("transactions/v1-verified-overlapping",),
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a deposed coordinator refuses the next epoch", "Clients of v2 are safe there, as the marker's epoch refuses the late "
        "record before the question. But the first record of the next transaction is answered INVALID_PRODUCER_EPOCH, as "
        "the coordinator asked does not know the epoch that its successor gave out.",
        "transaction coordinator, clients of v2", "transaction.version 2", ("txn.15", "txn.P8"), "new",
        f"{_DEPOSED}::test_in_v2_it_lets_nothing_in_and_keeps_the_owner_out",
        "the same record is taken when the leader has heard of the successor",
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "half a transaction committed", "A coordinator loads its log to the end and acts on a Prepare record that a replica in "
        "sync does not have yet. COMMIT reaches one partition, the coordinator fails, and that replica takes over: for it "
        "the transaction is open, and when the client begins anew the other partition gets ABORT.",
        "transaction coordinator", "transaction.version 2", ("txn.8", "txn.P2", "txn.P5"), "new",
        "tests/live/kafka/test_live_prepared.py::test_a_prepare_past_the_high_watermark_is_acted_on",
        "two coordinators fail within the time that a replica may lag; min.insync.replicas is 2, no election is unclean, "
        "and EndTxn was never acknowledged: a client that lives and repeats it mends the rest",
        variants=("transaction-partitions/log-uncovered",),
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a deleted offset takes the pending one with it", "OffsetDelete and DeleteGroups succeed while a transaction has an "
        "offset pending there, and its commit, which comes later, commits no offset.",
        "group coordinator", "transaction.version 2", (), "false alarm", _corner("offsets-deleted"),
        "meant so: KAFKA-14505, PR 15221; the operator who deletes decides",
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "late marker decides the next transaction", "In v2 a marker that is not older than the open transaction is taken: a "
        "late copy of one transaction's marker, which carries the bumped epoch, commits the next one while it is open.",
        "partition leader", "transaction.version 2; from 4.2 on not between brokers that both speak KIP-1228",
        ("txn.23", "txn.P3", "txn.P5"), "fixed in 4.2.0", _corner("marker-in-4.0"),
        "KIP-1228, KAFKA-19446",
        variants=("transactions/v2-before-kip-1228",),
        seen=("4.0.0", "4.0.2", "4.1.2"), not_seen=("4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a marker without its transaction version is judged by the old rule", "WriteTxnMarkers before version 2 says nothing "
        "of the transaction version, so that a 4.3.1 leader takes an equal epoch for an open transaction of v2.",
        "partition leader, brokers of mixed versions", "from 4.2 on; before, all markers are judged so", ("txn.24", "txn.P3"), "new", _corner("marker-v2"),
        "follows from KIP-1228's compatibility section; gone when all brokers speak version 2",
        variants=("transactions/versions-unchecked",),
        seen=("4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "rotation lost over a fail-over", "The transaction log does not keep the next producer id: the owner is answered with "
        "a new id at epoch 0, and after a fail-over in Prepare its coordinator goes on with the old id at epoch 32767.",
        "transaction log", "transaction.version 2", ("txn.4", "txn.25", "txn.P8", "txn.P9"),
        "confirmed by KAFKA-20310, fixed in 4.3.0", _corner("last-end-in-4.0"),
        variants=("transaction-log/metadata-4.2", "transactions/v2-rotation-lost"),
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2"), not_seen=("4.3.1", "4.4.0"),
    ),
    Finding(
        "a retry over a fail-over is fenced", "The last producer epoch is not in the transaction log: a lone producer that "
        "repeats its InitProducerId after its coordinator failed over is told PRODUCER_FENCED.",
        "transaction log", "transaction.version 2", ("txn.2", "txn.25", "txn.P8", "txn.P9"), "confirmed by KAFKA-20357",
        _corner("restart-forgets-last-epoch"),
        "the public text (PR 22096, merged) speaks of the retry after a rotation; every retry is hit",
        variants=("transactions/v2-fail-over-forgets", "transaction-log/metadata-4.3", "transaction-log/metadata-4.3-timed-out"),
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a lone producer is told an internal error", "At epoch 32766 the retry of an InitProducerId whose answer was lost is "
        "answered -1.", "transaction coordinator", "transaction.version 2", ("txn.2", "txn.P8"), "new", _corner("last-retry"),
        variants=("transaction-log/metadata-retries", "transactions/v2", "transactions/v2-trunk"),
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a transactional id answers 51 for ever", "A request of v2 where transaction.version is 0 fails while the record for "
        "the transaction log is made, and what was pending is not taken back: no producer can use the id, and an open transaction "
        "outlives its time-out until another coordinator loads the log.",
        "transaction coordinator", "transaction.version 2, lowered to 0", ("txn.5", "txn.18", "txn.P10"), "new", _corner("downgrade-under-open"),
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a refused question stops its producer", "A leader's question stays noted when the coordinator says no: a late copy "
        "of an older record, or a question of a newer epoch, makes the next batch of the open transaction out of order.",
        "partition leader", "transaction.version 2", ("txn.15", "txn.P8"), "new", _corner("v2-question-stops-older"),
        "KAFKA-19690 mended the same for an older epoch's question",
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a fence takes two epochs", "A fence of an open transaction of v2 bumps the epoch, and the abort that follows bumps it "
        "again; from the last epochs on that overflows.", "transaction coordinator", "transaction.version 2", ("txn.4", "txn.18", "txn.P7"),
        "confirmed by KAFKA-19367, fixed in 4.0.1", _corner("fence-v2-in-4.0"),
        variants=("transactions/v2-bumps-past-the-last",),
        seen=("4.0.0",), not_seen=("4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "the second batch is taken first", "A leader that knows nothing of a producer takes any sequence number first, in v2 as "
        "in v1: where the first batch is late or lost, the second one is appended and acknowledged, and the first is refused "
        "when it comes.", "partition leader", "transaction.version 2", ("txn.13",),
        "confirmed by KAFKA-18202", _corner("first-sequence-in-4.0"),
        "found by `agree transactions/v2`; no promise breaks, as a producer that is refused cannot commit",
        seen=("4.0.0", "4.0.2"), not_seen=("4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "who was timed out is given its successor's pair", "Since one epoch is enough for a fence, EndTxn(abort) and "
        "InitProducerId of the producer that was timed out pass for retries, and it goes on with the next epoch.",
        "transaction coordinator", "transaction.version 2", (), "false alarm", _corner("fence-v2-comes-back"),
        "no promise breaks: the fence is acknowledged only with the bump that follows",
        seen=("4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), not_seen=("4.0.0",),
    ),
    Finding(
        "a late EndTxn decides the next transaction", "Below transaction.version 2, and with any client that speaks EndTxn "
        "before version 5, a late copy of one transaction's EndTxn commits or aborts the next.",
        "transaction coordinator; librdkafka 2.16 and kafka-python 3.0 on any broker", "transaction.version 0 or 1, or such a client",
        ("txn.7", "txn.P3", "txn.P5"), "confirmed by KAFKA-17754", _corner("end-v1-late-decides-next"),
        variants=("transactions/v1", "transactions/v1-verified"),
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a late copy stops the next transaction", "Below transaction.version 2 the question about a late copy is refused, and "
        "stays noted with its sequence number: the first batch of the next transaction is out of order.",
        "partition leader", "transaction.version 1", ("txn.15", "txn.P8"), "new",
        "tests/live/kafka/test_live_clients.py::test_a_late_copy_stops_the_next_transaction",
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a client that asks for two phases gets one", "A producer with transaction.two.phase.commit.enable, of which the "
        "documentation says that its transactions never expire, does not ask for that: its request has no such field. The "
        "coordinator aborts its transaction after the default time-out, and its commit is refused.",
        "kafka-clients", "transaction.two.phase.commit.enable", ("939.1", "939.P2"), "new",
        "tests/live/kafka/test_live_two_phase.py::test_a_client_that_asks_for_two_phases_gets_one[asked]",
        "these releases have none of prepareTransaction, completeTransaction and initTransactions(keepPreparedTxn); on "
        "trunk the same setting fails with UNSUPPORTED_VERSION (KAFKA-20738); on 3.9.2 and 4.0.0 it is aborted as well, and "
        "only the exception differs, with which the client hears of it: it is fenced",
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="client",
        also=("tests/live/kafka/test_live_two_phase.py::test_a_client_that_asks_for_two_phases_gets_one[waits]",),
    ),
    Finding(
        "a client fences itself", "After a refused record the client sends InitProducerId with its transaction still open: "
        "Kafka fences that first, and then the epoch that the request names is an old one.",
        "kafka-python", "3.0.12", ("txn.P8",), "new",
        "tests/live/kafka/test_live_clients.py::test_kafka_python_fences_itself",
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="client",
    ),
    Finding(
        "a fenced producer ends its successor's transaction", "InitProducerId that names an epoch long fenced aborts the open "
        "transaction before its epoch is compared, and the rightful owner is fenced.",
        "transaction coordinator", "every transaction.version", ("txn.2", "txn.P8"), "new",
        "tests/live/kafka/test_live_clients.py::test_a_fenced_producer_aborts_the_transaction_of_its_successor",
        "no reader notices; a zombie of kafka-python does it by itself",
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "duplicates older than the last batch are refused after a restart", "A snapshot of a partition's producers keeps one "
        "batch each: what was sent before the last one and is sent again is out of order, and a client that renumbers what "
        "it has in flight writes it a second time.",
        "partition leader", "transaction.version 2", ("txn.14", "txn.P6", "txn.P8"), "confirmed by KAFKA-14034",
        _corner("restart-one-batch"), "the leader's half is seen live; that a client renumbers is in the model alone",
        variants=("idempotence/restarted", "idempotence/restarted-and-refused"),
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "the newest epoch commits for others", "A commit with the member's own epoch is taken for any partition. A member that "
        "was removed and has joined again under its id commits, under its new epoch, the output and the offset of what it "
        "had read before, although another member owns the partition and has processed the same: the input is in the "
        "committed output twice, and the committed offset goes back.",
        "group coordinator, new protocol", "any settings", ("447.21", "447.P1", "447.P2"), "new", _corner("group-rejoined"),
        "by raw requests; under the epoch at which it was given the records it is refused",
        variants=("group-fencing/new-protocol-metadata-at-send",),
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "an epoch outlives what was subscribed to", "A member that subscribes by another pattern loses its partitions as soon as "
        "it has given them up, or joins again with epoch 0 and the other pattern; but where no topic of the pattern has been "
        "found yet its epoch stays, and until its next heartbeat it commits under it what it had read of them. Another member "
        "has read the same meanwhile: the input is in the committed output twice, and the committed offset goes back. Where "
        "topics are named the same happens within a second after an assignment (group.consumer.assignment.interval.ms).",
        "group coordinator, new protocol", "the assignment interval as it is by default", ("447.21", "447.P1", "447.P2"), "new",
        _corner("group-pattern-changed"),
        "by raw requests: an application has to change what it subscribes to, and to poll, between its poll of the records "
        "and its commit",
        variants=("group-fencing/new-protocol-pattern-changed",),
        seen=("4.2.2", "4.3.1", "4.4.0"), not_seen=("4.0.0", "4.0.2", "4.1.2"),
    ),
    Finding(
        "a partition that its member never hears of", "The answer to a heartbeat names the partitions of a member when that "
        "heartbeat has changed them, or says everything of the member. Where a late copy of one changes them, whose answer "
        "is no longer waited for, the member is told its epoch ever after and not the partition, which is not read until "
        "the assignment changes again, or the member has a time-out.",
        "group coordinator, new protocol", "any settings", ("447.P3",), "new", _corner("group-assignment-told-once"),
        "by raw requests: a client that repeats a heartbeat says everything, so that the copy has to come after its repetition; "
        "found by simulated histories of which not all of the input was copied",
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a removed member has its epoch again", "A group that was just assigned is not assigned anew for a second by default. A "
        "member that is removed and joins again within that time is in the epoch in which it was before, and until its next "
        "heartbeat it commits under it what it had read, although another member has the partition by then: also metadata "
        "that were read at the poll are taken. The input is in the committed output twice, and the committed offset goes back.",
        "group coordinator, new protocol", "the assignment interval as it is by default", ("447.21", "447.P1", "447.P2"), "new",
        _corner("group-epoch-again"),
        "by raw requests: the consumer itself leaves and joins again between polls alone, so that it takes an operator who "
        "removes it (LeaveGroup), or an interval longer than the session",
        variants=("group-fencing/new-protocol-epoch-again",),
        seen=("4.3.1", "4.4.0"), not_seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2"),
    ),
    Finding(
        "a consumer joins again behind its application", "A process stands still until its session is over, and goes on. The "
        "consumer of the new protocol, without a rebalance listener, joins again in the background, and groupMetadata(), "
        "called as documented when the offsets are sent, has the new epoch: the transaction that was open all the time is "
        "committed, and all of its batch is in the committed output twice.",
        "Java consumer, new protocol", "of the same release as the broker", ("447.16", "447.21", "447.P1", "447.P2"), "new",
        f"{_ZOMBIES}[java-consumer-stopped-send]",
        "refused with a listener, with metadata read at the poll (see below), and with the classic protocol; librdkafka 2.16 "
        "is refused in both protocols",
        variants=("group-fencing/new-protocol-metadata-at-send", "group-fencing/new-protocol-relaxed-metadata-at-send"),
        seen=("4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="client",
    ),
    Finding(
        "a rebalance behind the application", "Without a rebalance callback librdkafka takes part in rebalances in the background, "
        "and consumer_group_metadata(), called when the offsets are sent, has the generation or epoch after one: another "
        "member joins while a batch is processed, nothing is late, and the part of the batch whose partition has moved is in "
        "the committed output twice.",
        "librdkafka, C interface", "2.16.0, both group protocols", ("447.16", "447.P1", "447.P2"), "new",
        f"{_ZOMBIES}[librdkafka-c-classic-rebalanced-send]",
        "refused with metadata read at the poll; with a callback, which the package for Python always sets, a rebalance waits "
        "for the application's poll",
        variants=("group-fencing/new-protocol-metadata-at-send", "group-fencing/new-protocol-relaxed-metadata-at-send"),
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="client",
    ),
    Finding(
        "who was removed passes for a client without a group", "A consumer that has left its group since the application did not "
        "poll in time, or whose session is over, forgets generation and member id. group_metadata(), called as documented "
        "when the offsets are sent, names neither, the coordinator takes that for a client of before KIP-447, and all of "
        "the batch is in the committed output twice.",
        "kafka-python", "3.0.12", ("447.7", "447.16", "447.P1", "447.P2"), "new",
        f"{_ZOMBIES}[kafka-python-classic-held-send]",
        "refused with metadata read at the poll (see below)",
        variants=("group-fencing/group-id-only",),
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="client",
    ),
    Finding(
        "metadata read after the poll are not those of the poll", "An application reads the group's metadata as soon as poll() "
        "has returned, and keeps them for its send. If it stands still between the two calls, or its member is removed while "
        "poll() waits for records, they are of no group, or of the epoch after: all of the batch is in the committed output "
        "twice. Read before poll() and again after it, and the same, they are those of the records, and are refused.",
        "kafka-python; Java consumer, new protocol; librdkafka, C interface", "3.0.12; of the broker's release; 2.16.0",
        ("447.16", "447.21", "447.P1", "447.P2"), "new", f"{_ZOMBIES}[kafka-python-classic-held-after]",
        "refused of Java's classic consumer, and of librdkafka's with a callback; found under fire, where a member of "
        "kafka-python was removed within poll()",
        variants=("group-fencing/new-protocol-metadata-at-send", "group-fencing/new-protocol-relaxed-metadata-at-send"),
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="client",
    ),
    Finding(
        "an aborted offset is committed by the next transaction", "Offsets that the coordinator refuses are not forgotten when "
        "their transaction is aborted: they are sent again with those of the next one, which commits both. The group's offset "
        "goes back, and records are copied twice, or forward, and they are lost.",
        "kafka-python", "3.0.12", ("447.18", "447.P1", "txn.P2"), "new",
        "tests/live/kafka/copying/test_live_aborted_offsets.py::test_kafka_python_commits_an_aborted_offset",
        "found by the audit of a run under fire",
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="client",
    ),
    Finding(
        "an answer of an earlier generation is taken for the newest", "A poll ends before its OffsetFetch is answered. The answer is "
        "filed by its partitions alone, and taken when the member is given them again, generations later: it goes on from an "
        "offset that others have left behind, as the owner, and all since is in the committed output twice.",
        "kafka-python", "3.0.12", ("447.17", "447.P1"), "new",
        "tests/live/kafka/copying/test_live_stale_offsets.py::test_kafka_python_goes_on_from_an_earlier_generation",
        "found by the audit of a run under fire on a loaded machine",
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="client",
    ),
    Finding(
        "who names no member is not fenced", "A TxnOffsetCommit without generation and member id is taken, whichever member owns the "
        "partition: with a transactional id for each process a zombie commits after the new owner has processed the same "
        "input, which is in the committed output twice.",
        "group coordinator", "both group protocols", ("447.7", "447.16", "447.P1"), "confirmed by KAFKA-9365",
        f"{_ZOMBIES}[librdkafka-classic-held-none]", "left so for clients of before KIP-447",
        variants=("group-fencing/group-id-only",),
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a preparing leader reads uncommitted", "A worker with exactly.once.source.support=preparing leads with a transactional "
        "producer, and reads the config topic with the default isolation level. It goes by a count record whose transaction was "
        "aborted, and lets tasks of workers start that are enabled already; none of these ever sees that record, and after the "
        "last restart of the upgrade the count that fences is the one before.",
        "Connect, config topic", "live clusters, and its classes", ("618.35", "618.50", "618.P1", "618.P3"), "new",
        f"{_CONNECT}::test_a_preparing_leader_reads_uncommitted",
        "on a live cluster a source record is committed twice when all workers are enabled; what the classes show is the "
        "isolation level and the transactions; one text of the proposal has read_committed regardless of the setting",
        variants=("exactly-once-upgrade/two-rolling-upgrades-as-shipped",),
        seen=("3.9.1", "3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="classes",
        also=(f"{LIVE_CONNECT}removed_task.py::test_a_preparing_leader_goes_by_an_aborted_count",),
    ),
    Finding(
        "enabled workers do not catch up with a preparing leader", "A preparing leader has read a record of the config topic whose "
        "transaction was aborted, which enabled workers never read. In a rebalance they find that they are behind it, read to "
        "the end, and join again, some hundred times a second. They start nothing, until another record is committed.",
        "Connect, herder", "live clusters", ("618.P4",), "new",
        f"{LIVE_CONNECT}removed_task.py::test_a_preparing_leader_goes_by_an_aborted_count",
        "it takes the second upgrade, a write of the leader that fails, and a rebalance before the next write",
        seen=("3.9.1", "4.0.0", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a fencing round that is over still answers", "A round that has written its count stays among those under way until the "
        "admin client's thread takes it out. Where a new set is committed in between, a task of that set which asks is "
        "answered by the round of the set before: it starts, and nothing was fenced or counted for its set.",
        "Connect, herder", "its classes", ("618.9", "618.15", "618.51", "618.P1"), "new",
        f"{_CONNECT}::test_a_round_that_is_over_still_answers",
        "the look after the producer is opened does not help: the set is the newest; narrow, as it takes a thread that is not "
        "scheduled for as long as a set takes to be committed",
        variants=("task-counts/core-shipped-lingering-round",),
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="classes",
    ),
    Finding(
        "an own offsets topic hides the worker's offsets", "A connector that has an offset in the worker's topic is given one of "
        "its own (offsets.storage.topic): its tasks find no offset at all, begin anew, and what they had committed is "
        "committed again. The Javadoc promises the worker's offset where its own topic has none.",
        "Connect, source offsets", "live clusters, and its classes", ("618.31", "618.P2"),
        "new", f"{_CONNECT}::test_an_own_offsets_topic_hides_the_workers",
        "a null of the connector's own store is laid over the worker's answer",
        variants=("source-offsets/shipped-own-topic-later",),
        seen=("3.3.2", "3.9.1", "3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), also=(f"{LIVE_CONNECT}offsets_topics.py::test_an_own_offsets_topic_hides_the_workers_live",), means="classes",
    ),
    Finding(
        "the worker's copy comes before the commit", "The second copy of an offset, for the worker's topic, is written when the "
        "record in the connector's own topic is acknowledged, and its transaction may be aborted after that. Where the "
        "connector's own topic is taken away later, its task begins behind records that were never committed: they are lost.",
        "Connect, source offsets", "live clusters, and its classes", ("618.31", "618.P2"), "new",
        f"{_CONNECT}::test_the_workers_copy_comes_before_the_commit",
        variants=("source-offsets/shipped-own-topic-taken",),
        seen=("3.3.2", "3.9.1", "3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), also=(f"{LIVE_CONNECT}offsets_topics.py::test_the_workers_copy_comes_before_the_commit_live",), means="classes",
    ),
    Finding(
        "a removed task is started again", "A connector gets fewer tasks. The worker of a task that is no more was paused past "
        "its session, or the leader is new: the assignor leaves the task with the worker until another rebalance. It starts "
        "the task with its old configuration, the newest generation, and an epoch of its own that comes after the fence: it "
        "commits source records next to the tasks that have them now, and no count covers its producer.",
        "Connect, assignor and herder", "live clusters, and its classes",
        ("618.52", "618.53", "618.P1", "618.P2", "618.P3"), "new", f"{_CONNECT}::test_a_removed_task_is_started_again",
        "nearest: KAFKA-9184 and KAFKA-9841, of tasks that there still are, which fencing was to make harmless; on live "
        "clusters, with a paused worker and the default time-outs, in 2 of 5 tries; one such run is recorded, "
        "task-counts-connect-removed-task, and followed by the model shipped-claims; what repairs it: removed-task.md, by `fencepost findings NAME`",
        variants=("task-counts/core-shipped-claims", "task-counts/core-removed", "source-offsets/shipped-removed-task"),
        seen=("3.3.2", "3.9.1", "3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
        also=tuple(f"{LIVE_CONNECT}removed_task.py::test_a_removed_task_commits{how}" for how in ("", "_under_a_new_leader")),
        means="classes",
    ),
    Finding(
        "a task of a deleted connector runs on", "A connector is deleted while the worker of one of its tasks is paused past "
        "its session. The worker comes back and claims the task, and the assignor revokes only what it assigned last: the "
        "task polls and commits until the next rebalance, for which no member asks. REST knows no such connector.",
        "Connect, assignor and herder", "live clusters", ("618.53",), "new",
        "tests/live/connect/test_connect_driven.py::test_a_task_of_a_deleted_connector_commits",
        "found by comparing what a cluster and the reference implementation come to at rest; a connector that is stopped is "
        "no different: a set without tasks stops none (KafkaConfigBackingStore.processTasksCommitRecord)",
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    ),
    Finding(
        "one thread forwards everything to the leader", "While a request for a round of one connector is not answered, which may "
        "take 90 s, a worker sends the leader no request of any other: their new task configurations wait.",
        "Connect, herder", "live clusters, and its classes", ("618.9",), "new",
        f"{_CONNECT}::test_one_thread_forwards_everything",
        seen=("3.3.2", "3.9.1", "3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
        also=(f"{_LIVENESS}::test_one_thread_forwards_everything_live",), means="classes",
    ),
    Finding(
        "a start that wakes up late shuts out a healthy task", "A start of an older set, whose worker was paused before it "
        "opened its producer, is given an epoch when the newest set polls. It is refused by its second look, but the task "
        "of the newest set fails with its next record, and is not restarted.",
        "Connect, herder", "live clusters", ("618.P4",), "known", f"{_LIVENESS}::test_a_late_start_shuts_out_a_healthy_task",
        "KIP-618 accepts it, as nothing is committed twice; H5 of the catalogue. The second look compares sets, so that H4 is "
        "not in these releases",
        variants=("task-counts/shipped-unattended",),
        seen=("3.3.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a fence of a deposed leader shuts out a healthy task", "A leader is paused while it fences for a set, and another one "
        "fences, counts and lets a newer set start. The first one's request arrives then, and shuts out a task of the newest "
        "set: it fails with its next record, and is not restarted.",
        "Connect, herder", "live clusters", ("618.P4",), "new", f"{_LIVENESS}::test_a_late_fence_shuts_out_a_healthy_task",
        "nothing is committed twice; a late count of such a leader is refused (H12), as the programs next to this one show",
        variants=("task-counts/shipped-late-fence",),
        seen=("3.3.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"),
    ),
    Finding(
        "who waits for a paused leader fails", "A task waits for a round of a leader that is paused. Another one leads soon, but "
        "the request is still out, until it is given up after 30 s (Jetty's idle time-out): the task fails for good.",
        "Connect, herder", "live clusters", ("618.15", "618.P4"), "new", f"{_LIVENESS}::test_who_asks_a_paused_leader_fails",
        "in 3.9.1 the request is not given up, for two minutes at least, and its worker forwards nothing meanwhile",
        variants=("task-counts/shipped-unanswered",),
        seen=("4.0.0", "4.3.1", "4.4.0"), not_seen=("3.3.2", "3.9.1"),
    ),
    Finding(
        "a failed task is reported as running", "A task fails on a worker that is out of its group, fenced by the worker that has "
        "taken it over. FAILED is not written over a status of a later generation. When the first worker joins again, and no "
        "other one claims the task any more, it keeps the task and starts nothing: no worker runs it, and REST says RUNNING, or "
        "UNASSIGNED where the other one has stopped it, until a user restarts it all the same.",
        "Connect, herder; status topic", "live clusters", ("618.P4",), "new", f"{_LIVENESS}::test_a_failed_task_is_reported_as_running",
        "nothing is committed twice; found by a generated program; in public texts that were read stands nothing of it",
        seen=("3.3.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"),
    ),
    Finding(
        "connectors with equal ids fence one another", "Connector b-c of group a and connector c of group a-b have the "
        "transactional id a-b-c-0: each start shuts out the other's task, which fails, and so on with each restart.",
        "Connect, transactional ids", "live clusters", ("618.49",), "new",
        f"{LIVE_CONNECT}rest.py::test_connectors_with_equal_ids_fence_one_another",
        "the form of the ids is KIP-618's; that they may collide stands in no public text that was read",
        seen=("3.3.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a task fences the leader of another cluster", "Task 1 of connector cluster in group connect has the transactional id "
        "connect-cluster-1, with which the leader of group 1 writes its config topic: it fences that leader, whose next "
        "request is answered 500, and is fenced in turn when that leader gets its id back.",
        "Connect, transactional ids", "live clusters", ("618.24", "618.49"), "new",
        f"{LIVE_CONNECT}rest.py::test_a_task_fences_the_leader_of_another_cluster",
        seen=("3.3.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"),
    ),
    Finding(
        "an open transaction holds up every start", "While a transaction is open on the worker's offsets topic, no other "
        "connector of the cluster starts, and no task of it: they read that topic to the end first.",
        "Connect, source offsets", "live clusters", (), "false alarm",
        f"{LIVE_CONNECT}offsets_topics.py::test_an_open_transaction_holds_up_every_start",
        "offsets are read to the end (618.32), which lasts as long as the transaction: at most transaction.timeout.ms",
        seen=("3.3.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a flush of source offsets waits without an end", "Where the time "
        "of a flush is over before its write is waited for, the wait is for 0 ms, which is for ever in Java: "
        "offset.flush.timeout.ms does not bound it. A wait that ends in the millisecond in which 0 ms are left goes on in the "
        "same way. On a live worker the thread that waits is that which commits the offsets of all its source tasks.",
        "Connect, source offsets", "its classes; exactly-once support disabled", ("src.10",), "new",
        f"{_CONNECT}::test_a_flush_of_offsets_waits_without_an_end",
        "it ends with the acknowledgement; KafkaOffsetBackingStore.SetCallbackFuture waits unless less than 0 ms are left",
        seen=("3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"), means="classes",
    ),
    Finding(
        "a start that does not end holds up every worker", "A worker that has to stop a task which is still in its start waits for "
        "it, and the others wait for that worker in the rebalance for the new set: requests of REST that need a herder are not "
        "answered by any of them meanwhile.",
        "Connect, herder", "live clusters", (), "false alarm", f"{_LIVENESS}::test_a_start_holds_up_every_worker",
        "meant so, for task.shutdown.graceful.timeout.ms at most, which is 5 s by default",
        seen=("3.3.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"),
    ),
    Finding(
        "a round fails over an open transaction", "A round that fences a task whose transaction is open fails, since that is "
        "being aborted, and the tasks that have asked fail with it.",
        "Connect, herder; admin client", "live clusters", ("618.12", "618.13", "618.P4"), "confirmed by KAFKA-16570",
        f"{LIVE_CONNECT}old_connect.py::test_a_round_fails_over_an_open_transaction",
        seen=("3.3.2",), not_seen=("3.9.1", "4.0.0", "4.3.1", "4.4.0"),
    ),
    Finding(
        "an abort without records is left for the next batch", "A connector that defines its transactions aborts with a poll that "
        "gives no records. The abort is left for the next batch, and the task fails.",
        "Connect, source tasks", "live clusters", ("618.28", "618.P5"), "confirmed by KAFKA-14799",
        f"{LIVE_CONNECT}old_connect.py::test_an_abort_without_records_is_left_for_the_next_batch",
        seen=("3.3.2",), not_seen=("3.9.1", "4.0.0", "4.3.1", "4.4.0"),
    ),
)  # fmt: skip
