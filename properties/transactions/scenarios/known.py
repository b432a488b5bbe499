"""This module has known bugs of transactions as scenarios, and a history of everything.

    script.start(0)                          # initTransactions of slot 0
    script.begin(0, 0)                       # a transaction with a record to partition 0, all answered
    script.system.commit(0)
    late = script.hold("end")                # EndTxn is on its way, and stays there
    script.settle(31_000)                    # the client times out and asks again: that copy arrives
    script.release(late)

Where the bug is an older protocol as it was (v1, v1-verified), the newer one is without it.
"""

from types import MappingProxyType

from fencepost.properties import machine
from fencepost.properties.machine import KnownBugs

PATIENCE_MS = 500  # back-offs are 100 ms: five of them settle everything that can settle
CLIENT_TIMEOUT_MS = 31_000  # longer than a client waits for an answer
TXN_TIMEOUT_MS = 75_000  # longer than transaction.timeout.ms and one interval of looking for it
EXPIRY_MS = 8 * 24 * 3600 * 1000  # longer than transactional.id.expiration.ms


class Script(machine.Messages):
    """A `Script` carries out what clients do, to its end."""

    PROTOCOL = "transactions"
    SMALL = MappingProxyType({"seed": 0, "clients": 2, "partitions": 2})

    def otherwise(self) -> bool:
        """Let the next append to the transaction log succeed; return whether there was one."""
        return bool(self.system.log_append())

    def settle(self, ms: int = PATIENCE_MS) -> None:
        super().settle(ms)

    def start(self, *slots: int) -> None:
        for slot in slots:
            self.system.init(slot)
            self.settle()

    def opened(self, partition: int = 0) -> None:
        """Give slot 0 the id, and a transaction with a record in the partition."""
        self.start(0)
        self.begin(0, partition)

    def begin(self, slot: int, *partitions: int) -> None:
        """Begin a transaction with a record to each partition, all answered."""
        self.system.begin(slot)
        self.send(slot, *partitions)

    def send(self, slot: int, *partitions: int) -> None:
        for partition in partitions:
            self.system.send(slot, partition)
            self.settle()

    def commit(self, slot: int) -> None:
        self.system.commit(slot)
        self.settle()

    def abort(self, slot: int) -> None:
        self.system.abort(slot)
        self.settle()

    def committed(self, slot: int, *partitions: int) -> None:
        """Carry out a transaction with a record to each partition, to its end."""
        self.begin(slot, *partitions)
        self.commit(slot)

    def read(self, reader: int = 0) -> list[int]:
        """Return the records that a read_committed reader gets next, from every partition in turn."""
        partitions = range(self.config["partitions"])
        return [record for partition in partitions for _, record in self.system.read(reader, partition)]

    def at_the_last_epoch(self) -> None:
        """Give slot 0 an open transaction under the largest epoch that is ever handed out."""
        self.start(0)
        for _ in range(self.config.get("max_epoch", 32767) - 1):
            self.committed(0, 0)
        self.begin(0, 0)


KNOWN_BUGS = KnownBugs(Script.on, **Script.SMALL, mode="v2", groups=1, ids=1, keys=1)


@KNOWN_BUGS.bug("KAFKA-17754", {"mode": "v1"}, {"mode": "v2"})
@KNOWN_BUGS.bug("KAFKA-17754-verified", {"mode": "v1-verified"}, {"mode": "v2"})
def late_end_decides_the_next_transaction(script: Script) -> None:
    """KAFKA-17754: before KIP-890 part 2 nothing in a request distinguishes the transactions of one producer.
    EndTxn(commit) of the first is repeated after a time-out; its first copy commits the second one's record. The second
    transaction is then aborted, but its record stays visible."""
    script.opened()
    script.system.commit(0)
    late = script.hold_next("end")
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.release(late)
    script.read()
    script.abort(0)
    script.read()


@KNOWN_BUGS.bug("KAFKA-14402", {"mode": "v1"}, {"mode": "v1-verified"})
def late_batch_hangs(script: Script) -> None:
    """KAFKA-14402: a batch that arrives after its transaction's abort opens one that no client will ever end. v1 writes
    it, so that the last stable offset stops. v1-verified asks the coordinator, and refuses it."""
    script.opened(1)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.release(late)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


@KNOWN_BUGS.bug("KAFKA-14402-second", {"mode": "v1"}, {"mode": "v1-verified"})
def second_record_hangs(script: Script) -> None:
    """KAFKA-14402 with a second record of a transaction: it arrives after the abort, and opens a transaction again.
    While its transaction was open the coordinator would not have been asked about it; now v1-verified asks, and refuses
    it."""
    script.opened()
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.release(late)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


@KNOWN_BUGS.bug("KAFKA-14884", defect="not_rechecked", mode="v1-verified")
def verified_before_the_abort(script: Script) -> None:
    """KAFKA-14884: the abort's marker arrives between the coordinator's yes and the append, and the append must check
    again. The yes from before the marker arrives late: if the batch is written because of it, the batch hangs as in
    KAFKA-14402."""
    yes = verified_but_held_up(script)
    script.abort(0)
    script.release(yes)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


@KNOWN_BUGS.bug("KAFKA-6119", defect="time_out_keeps_epoch", mode="v1")
def time_out_without_a_fence(script: Script) -> None:
    """KAFKA-6119: a transaction that took too long was aborted, but its producer could still write. Records that it
    writes afterwards belong to no transaction, until the next instance's commit makes them visible."""
    script.opened()
    script.settle(TXN_TIMEOUT_MS)
    script.send(0, 0)
    script.start(1)
    script.committed(1, 0)
    script.read()


@KNOWN_BUGS.bug("KAFKA-5231", defect="fence_markers_keep_epoch", mode="v1")
def markers_without_the_fence(script: Script) -> None:
    """KAFKA-5231: InitProducerId aborts the open transaction with markers of the old epoch. So the partition does not
    know of the fence: the fenced producer writes, and the next commit makes its record visible."""
    script.opened()
    script.start(1)
    script.send(0, 0)
    script.committed(1, 0)
    script.read()


@KNOWN_BUGS.bug("KAFKA-18575", defect="open_in_any_epoch")
def first_write_meets_the_old_marker(script: Script) -> None:
    """KAFKA-18575: the leader takes the old transaction, which has not ended there yet, for the new one. The record is
    written without the coordinator knowing, and neither transaction ever ends. The correct answer is 51, ask again."""
    script.opened()
    script.system.commit(0)
    marker = script.hold_next("marker")
    script.settle()
    script.begin(0, 0)
    script.release(marker)
    script.commit(0)
    script.read()


@KNOWN_BUGS.bug("KAFKA-18464", defect="epoch_before_pending")
def empty_abort_right_after_a_commit(script: Script) -> None:
    """KAFKA-18464: the coordinator checked the epoch before it checked whether a transition was pending. The completion
    of the first transaction is pending, so the pair just handed out looks like a wrong one: a producer that did nothing
    wrong is fenced. The correct answer is CONCURRENT_TRANSACTIONS, ask again."""
    script.opened()
    script.system.commit(0)
    marker = script.hold_next("marker")
    script.settle()
    script.system.begin(0)
    script.system.send(0, 1)
    script.lose("produce")
    script.system.abort(0)
    script.settle()
    script.release(marker)


@KNOWN_BUGS.bug("KAFKA-19367", defect="double_bump", max_epoch=3)
def fence_and_abort_bump_twice(script: Script) -> None:
    """KAFKA-19367: the fence takes the reserved last epoch, and the abort bumps once more: int16 overflows. No
    partition takes a marker of a negative epoch, so the transaction never ends."""
    script.at_the_last_epoch()
    script.settle(TXN_TIMEOUT_MS)
    script.settle(CLIENT_TIMEOUT_MS)
    script.read()


@KNOWN_BUGS.bug("KAFKA-20090", defect="no_rotation_after_time_out", max_epoch=3)
def time_out_at_the_last_epoch(script: Script) -> None:
    """KAFKA-20090: a time-out at the last epoch brought no new producer id. The producer's own abort comes late, passes
    for a retry, and is answered with the reserved epoch."""
    script.at_the_last_epoch()
    script.settle(TXN_TIMEOUT_MS)
    script.abort(0)
    script.committed(0, 0)
    script.read()


@KNOWN_BUGS.bug("KAFKA-19999", defect="marker_retry_refused")
def marker_is_sent_again(script: Script) -> None:
    """KAFKA-19999: the answer to a v2 marker is lost; sent again, the marker does not raise the epoch any more. The
    partition refuses it for that, so that the transaction stays in PrepareCommit for ever."""
    script.opened()
    script.system.commit(0)
    script.hold_next("marker_answer")
    script.lose("marker_answer")
    script.settle(CLIENT_TIMEOUT_MS)
    script.committed(0, 0)
    script.read()


@KNOWN_BUGS.bug("KAFKA-18019", defect="invalid_mapping_recoverable")
def back_after_expiry(script: Script) -> None:
    """KAFKA-18019: when the transactional id has expired, the coordinator no longer remembers that the first producer
    was fenced. That producer gets INVALID_PRODUCER_ID_MAPPING, initialises again with its old pair, and writes once
    more."""
    script.opened()
    script.commit(0)
    script.start(1)
    script.committed(1, 0)
    script.system.advance(EXPIRY_MS)
    script.settle()
    for _ in range(2):
        script.committed(0, 0)
        script.abort(0)
    script.read()


@KNOWN_BUGS.bug("Redpanda-5026", defect="window_outlives_epoch")
def duplicate_of_an_aborted_batch(script: Script) -> None:
    """Redpanda 5026: batches of an aborted transaction were still used to answer duplicates. The next transaction's
    batch has the same sequence number: it is acknowledged and committed, and is in no log."""
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce_answer")
    script.abort(0)
    script.committed(0, 0)
    script.read()


@KNOWN_BUGS.bug("KAFKA-20310", defect="reload_forgets_rotation", max_epoch=3)
def fail_over_while_the_id_changes(script: Script) -> None:
    """KAFKA-20310: the next producer id was not in the transaction log. The epochs are used up, and a coordinator takes
    over between Prepare and Complete: it goes on in the epoch that is reserved, and does not know the producer, which
    was given the next id."""
    script.at_the_last_epoch()
    script.system.commit(0)
    script.hold_next("marker")
    script.lose("marker")
    script.system.fail_over()
    script.settle()
    script.committed(0, 0)
    script.read()


@KNOWN_BUGS.bug("late-marker-v1", {"mode": "v1"}, {"mode": "v2"})
@KNOWN_BUGS.bug("KIP-1228", defect="equal_epoch_marker_accepted")
def committed_by_a_late_copy(script: Script) -> None:
    """The marker of a commit arrives twice, the second time when the next transaction has a record at the partition.

    That transaction is aborted by its owner. In v1 nothing distinguishes the two transactions (one of the reasons for
    KIP-890); in v2 the next one has a newer epoch than the marker. Before KIP-1228 a marker only had to be of an epoch
    that is not older than the partition's, and in v2 that is the one in which the next transaction writes.
    """
    script.opened()
    script.system.commit(0)
    script.hold_next("marker")
    late = script.copy("marker")
    script.settle()
    script.begin(0, 0)
    script.release(late)
    script.read()
    script.abort(0)
    script.read()


@KNOWN_BUGS.bug("Redpanda-3036", defect="stable_offset_inclusive")
def bound_that_is_included(script: Script) -> None:
    """Redpanda 3036: the last stable offset, which is the first one *not* to be read, was used as the last one
    to read."""
    script.opened()
    script.read()
    script.abort(0)
    script.read()


@KNOWN_BUGS.bug("AutoMQ-754", defect="aborted_list_cut_short")
def list_that_is_cut_short(script: Script) -> None:
    """AutoMQ 754: the list of aborted transactions in a fetch answer ends too early. Of two aborted transactions the
    reader gets only the first, and so returns the record of the second."""
    script.start(0)
    for _ in range(2):
        script.begin(0, 0)
        script.abort(0)
    script.read()


@KNOWN_BUGS.bug("KAFKA-9346", defect="pending_offsets_visible")
def offset_before_it_is_decided(script: Script) -> None:
    """KAFKA-9346: the next owner of a partition asks for the group's offset while a commit of another member is
    pending. It gets the offset before, which the pending commit is about to change, and reads again what was processed.
    """
    offsets = script.config["partitions"]  # the group's partition is the one behind the data
    script.start(0)
    script.committed(0, offsets)
    script.begin(0, offsets)
    script.system.fetch_offset(0, offsets)
    script.commit(0)
    script.system.fetch_offset(0, offsets)


def verified_but_held_up(script: Script) -> list[int]:
    """Open a transaction in slot 0 whose batch waits at partition 0, and hold the coordinator's yes to it up."""
    script.opened(1)
    script.system.send(0, 0)
    return script.hold_next("check_answer")


OFFSETS = 2  # the offsets partition of the only group


def rows() -> list[tuple[int, ...]]:
    """Return the rows of a history of a cluster in v2 in which about everything happens once, and nothing goes wrong.

    Two producers take turns: commits, an abort, a record that arrives twice, a take-over amid a transaction, a client
    that is never answered about the outcome, a fence by an administrator. A reader follows, and one at read_uncommitted
    at the end.
    """
    script = Script.of_reference(mode="v2", groups=1)
    system = script.system

    def read_all() -> None:
        system.read(0, 0)
        system.read(0, 1)
        system.fetch_offset(0, OFFSETS)

    script.start(0)
    for end in (script.commit, script.abort, script.commit):
        script.begin(0, 0, 1, 0, OFFSETS)
        end(0)
        read_all()
    script.begin(0, 0)
    script.start(1)
    system.begin(1)
    system.send(1, 1)
    script.hold_next("produce")
    late = script.held.copy()
    for number in late:
        system.deliver(number, keep=True)
    script.settle()
    script.release(late)
    script.send(1, 0)
    system.commit(1)
    script.hold_next("end_answer")
    script.deliver()
    read_all()
    system.fence()
    script.settle()
    system.restart_client(0)
    script.start(0)
    for _ in range(2):
        script.committed(0, 0, 1, OFFSETS)
    read_all()
    system.read(1, 0, committed=False)
    made: list[tuple[int, ...]] = system.env.log.rows
    return made
