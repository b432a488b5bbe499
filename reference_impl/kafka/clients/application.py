"""This module has the loop that users write: consume, copy, and commit the offsets in a producer's transaction."""

from enum import Enum
from typing import Any

from fencepost.reference_impl.kafka.clients.group_consumer import Consumer, Listener
from fencepost.reference_impl.kafka.clients.producer import COMPLETING, Producer, State
from fencepost.reference_impl.kafka.clients.sends import Sends, SentBatch
from fencepost.reference_impl.kafka.errors import Verdict, from_group_coordinator
from fencepost.reference_impl.kafka.group_environment import Environment, Kind, Place, producer_name
from fencepost.reference_impl.kafka.messages import (
    NO_SEQUENCE,
    GroupInitProducerIdRequest,
    GroupMetadata,
    GroupTxnOffsetCommitRequest,
    InitProducerIdResponse,
)
from fencepost.reference_impl.simulation import Node

# The producer of an application that copies is transactional and calls sendOffsetsToTransaction.
#
# (KafkaProducer.java; TransactionManager.sendOffsetsToTransaction, txnOffsetCommitHandler)

BEFORE_METADATA = 2
"""This is the last version of TxnOffsetCommit without a generation."""


class GroupSends(Sends):
    """The `GroupSends` are records and offsets in flight, with the metadata of when the offsets were sent."""

    metadata: dict[int, GroupMetadata]
    version: int

    def request(self, batch: SentBatch) -> Any:
        if batch.partition < self.env.config.partitions:
            return super().request(batch)
        sender = self.sender
        return GroupTxnOffsetCommitRequest(
            sender.txn_id, 0, sender.producer_id, sender.epoch, batch.record, batch.more, self.metadata[batch.record],
            self.version,
        )  # fmt: skip

    def verdict(self, batch: SentBatch, error: int) -> Verdict:
        return from_group_coordinator(error) if batch.sequence == NO_SEQUENCE else super().verdict(batch, error)


class GroupProducer(Producer):
    """A `GroupProducer` is one producer. ``number`` is that of its address, until its slot is taken over."""

    sends_class: type[Sends] = GroupSends
    sends: GroupSends
    env: Environment

    def __init__(self, env: Environment, slot: int, number: int, txn_id: int, client: int, version: int) -> None:
        super().__init__(env, slot, txn_id)
        self.application = client
        self.slot = slot
        self.fatal_error = 0
        self.group_assignment: tuple[int, tuple[int, ...]] | None = None
        self.sends.metadata = {}
        self.sends.version = version
        self.name = producer_name(number)
        env.network.nodes[self.name] = self

    def init_with(self, metadata: GroupMetadata, partitions: tuple[int, ...]) -> bool:
        """Call initTransactions(groupAssignment) of the draft, which may be called again (447.1)."""
        if self.state not in (State.UNINITIALIZED, State.READY):
            return False
        self.group_assignment = metadata.generation, partitions
        self.initialize()
        return True

    def ask_init(self, request: int) -> Any:
        asked: Any = super().ask_init(request)
        if self.group_assignment is None:
            return asked
        return GroupInitProducerIdRequest(asked.transactional_id, asked.transaction_timeout_ms, *self.group_assignment)

    def begin(self) -> bool:
        begun = super().begin()
        if begun:
            self.report(Kind.TXN_BEGUN)
        return begun

    def copy(self, output: int, place: Place) -> bool:
        if self.state is not State.IN_TRANSACTION:
            return False
        self.report(Kind.OUTPUT_SENT, output=output, partition=place.partition, offset=place.offset)
        self.env.writing.append(place)
        return self.send(self.env.output_partition(output))

    def send_offsets(self, offsets: dict[int, int], metadata: GroupMetadata) -> bool:
        if self.state is not State.IN_TRANSACTION:
            return False
        first = self.env.upcoming_record
        for partition, offset in offsets.items():
            self.env.writing.append(Place(partition, offset))
            self.report(
                Kind.OFFSET_SENT, partition=partition, offset=offset, generation=metadata.generation,
                member=metadata.member, instance=metadata.instance,
            )  # fmt: skip
        self.sends.metadata[first] = metadata
        return self.send(self.env.offsets_partition, len(offsets))

    def ask_end(self, request: int) -> Any:
        self.report(Kind.END_SENT, outcome=self.outcome)
        return super().ask_end(request)

    def report_end(self, request: int, error: int, producer_id: int, epoch: int) -> None:
        self.report(Kind.END_TOLD, outcome=self.outcome, error=error)
        super().report_end(request, error, producer_id, epoch)

    def init_answered(self, request: int, answer: InitProducerIdResponse) -> None:
        super().init_answered(request, answer)
        self.report(Kind.INIT_TOLD, error=answer.error_code)

    def fail(self, verdict: Verdict, error: int) -> None:
        super().fail(verdict, error)
        if verdict is Verdict.FATAL:
            self.fatal_error = error

    def report(self, kind: int, **columns: int) -> None:
        self.env.report(
            kind, slot=self.slot, client=self.application, txn=self.txn, producer_id=self.producer_id, epoch=self.epoch,
            **columns,
        )  # fmt: skip


# An instance of the application: the loop that users write, which copies its input to its output exactly once.
#
#     producer.initTransactions();
#     while (true) {
#         records = consumer.poll();
#         producer.beginTransaction();
#         for (record : records) producer.send(copyOf(record));
#         producer.sendOffsetsToTransaction(offsets(records), consumer.groupMetadata());
#         producer.commitTransaction();
#     }                                    // on an error: abortTransaction(), and back to the committed offsets
#
# `step` does the next line of it. A driver decides when, and so how long an application takes for each.

WHOLE = -1  # the key of the one producer that an application has for all its partitions


class Line(Enum):
    """A `Line` is the next line of the loop for the polled records."""

    BEGIN = "begin"
    COPY = "copy"
    OFFSETS = "offsets"
    COMMIT = "commit"
    ENDED = "ended"


class Work:
    """A `Work` has the polled records that go through one producer's transaction."""

    __slots__ = ("aborted", "copied", "line", "metadata", "places", "producer")

    def __init__(self, producer: GroupProducer, places: list[Place], metadata: GroupMetadata) -> None:
        self.producer = producer
        self.places = places
        self.metadata = metadata  # as it was when this was polled
        self.line = Line.BEGIN
        self.copied = 0
        self.aborted = False

    @property
    def offsets(self) -> dict[int, int]:
        return {partition: offset + 1 for partition, offset in self.places}


class Application(Listener):
    """An `Application` is one instance in a slot. ``client`` is its number among all instances ever."""

    def __init__(self, env: Environment, slot: int) -> None:
        self.env = env
        self.slot = slot
        self.client = env.next_instance()
        self.old = slot in env.old
        self.running = True
        env.report(Kind.INSTANCE_STARTED, slot=slot, client=self.client)
        self.consumer: Consumer = env.parts.new_consumer(env, slot, self.client, self.old, self.wanted_listener())
        self.producers: dict[int, GroupProducer] = {}
        self.works: list[Work] = []
        if not self.is_per_partition:
            self.producers[WHOLE] = self.new_producer(slot, self.whole_id())

    @property
    def is_per_partition(self) -> bool:
        """Return whether the instance has a producer for every partition of the input, as before KIP-447."""
        return self.old or not self.env.options.group_aware

    @property
    def inits_with_group(self) -> bool:
        """Return whether the instance uses the draft's initTransactions(groupAssignment)."""
        return self.env.options.is_draft and not self.is_per_partition

    def wanted_listener(self) -> Listener | None:
        """Return the rebalance listener, which an instance with a producer per partition always needs, or None."""
        return self if self.env.options.listener or self.is_per_partition or self.env.options.is_draft else None

    def new_producer(self, number: int, txn_id: int) -> GroupProducer:
        version = BEFORE_METADATA if self.is_per_partition else self.env.options.commit_version
        producer: GroupProducer = self.env.parts.producer(self.env, self.slot, number, txn_id, self.client, version)
        return producer

    def whole_id(self) -> int:
        """Return the transactional id of the one producer: its identity's, or one that no other client has ever had."""
        options = self.env.options
        return options.inputs + (
            options.identity_of(self.slot) if options.stable_ids else options.members + self.client
        )

    @property
    def nodes(self) -> list[Node]:
        return [self.consumer, *self.producers.values()]

    @property
    def failed(self) -> int:
        return self.consumer.error or next((p.fatal_error for p in self.producers.values() if p.fatal_error), 0)

    # The loop

    def doing(self) -> str:
        """Return the next line of the loop: init, poll, begin, copy, offsets, commit, abort, or ended (its producer
        knows that the transaction is over). The result is wait while an answer is missing, fail after an error, and
        paused or over if the instance is."""
        if not self.running or self.consumer.paused:
            return "paused" if self.running else "over"
        if self.failed:
            return "fail"
        states = {producer.state for producer in self.producers.values()}
        if State.UNINITIALIZED in states and not self.inits_with_group:
            return "init"
        if states & {State.INITIALIZING, *COMPLETING}:
            return "wait"
        if not self.works:
            return "poll"
        return "abort" if self.works[0].producer.state is State.ABORTABLE_ERROR else self.works[0].line.value

    def step(self) -> bool:
        """Run the next line of the loop. Return False if it waits for an answer or the instance has ended."""
        if not self.running or self.consumer.paused:
            return False
        if self.failed:
            self.stop(Kind.INSTANCE_FAILED)
            return True
        return self.initialise() or (self.work(self.works[0]) if self.works else self.next_batch())

    def initialise(self) -> bool:
        return not self.inits_with_group and any(producer.init() for producer in self.producers.values())

    def next_batch(self) -> bool:
        if any(producer.state in (State.INITIALIZING, *COMPLETING) for producer in self.producers.values()):
            return False
        self.consumer.blocked = False
        places = self.consumer.poll()
        if not places:
            return False
        metadata = self.consumer.group_metadata()
        if self.is_per_partition:
            parts = {partition: [place for place in places if place.partition == partition] for partition, _ in places}
            self.works = [Work(self.producers[partition], part, metadata) for partition, part in parts.items()]
        else:
            self.works = [Work(self.producers[WHOLE], places, metadata)]
        return True

    def work(self, work: Work) -> bool:
        producer = work.producer
        if producer.state is State.ABORTABLE_ERROR:
            return self.abort()
        if producer.state in (*COMPLETING, State.INITIALIZING):
            return False
        if work.line is Line.ENDED:
            self.ended(work)
        elif work.line is Line.BEGIN:
            producer.begin()
            work.line = Line.COPY
        elif work.line is Line.COPY:
            place = work.places[work.copied]
            producer.copy(place.partition % self.env.options.outputs, place)
            work.copied += 1
            if work.copied == len(work.places):
                work.line = Line.OFFSETS
        elif work.line is Line.OFFSETS:
            self.send_offsets(work)
            work.line = Line.COMMIT
        else:
            producer.commit()
            work.line = Line.ENDED
        return True

    def send_offsets(self, work: Work) -> None:
        """Call sendOffsetsToTransaction(), unless offsets are committed afterwards (447.18)."""
        if self.env.options.offsets_inside:
            work.producer.send_offsets(work.offsets, self.metadata_for(work))

    def metadata_for(self, work: Work) -> GroupMetadata:
        """Return the consumer's group metadata: the current ones, those of the poll, or empty ones (B38)."""
        options = self.env.options
        if self.is_per_partition or not options.metadata:
            return GroupMetadata()
        return work.metadata if options.metadata_at == "poll" else self.consumer.group_metadata()

    def abort(self) -> bool:
        if self.works and self.works[0].producer.abort():
            self.works[0].aborted = True
            self.works[0].line = Line.ENDED
            return True
        return False

    def ended(self, work: Work) -> None:
        self.works.pop(0)
        if work.aborted:
            self.seek_back(work)
        elif not self.env.options.offsets_inside:
            self.consumer.commit(work.offsets)

    def seek_back(self, work: Work) -> None:
        """Read the records of an aborted transaction again. As in Kafka's own example the positions of all partitions
        are reset, unless each has a producer of its own. (ExactlyOnceMessageProcessor.resetToLastCommittedPositions)"""
        self.consumer.seek_to_committed(work.offsets if self.is_per_partition else self.consumer.assignment)

    # The rebalance listener

    def on_assigned(self, partitions: tuple[int, ...]) -> None:
        """Initialise producers for the new partitions, or one for all of them, so that their predecessors are fenced
        before anything is fetched (447.17)."""
        if self.inits_with_group:
            metadata = self.consumer.group_metadata()
            self.consumer.blocked = self.producers[WHOLE].init_with(metadata, self.consumer.assignment)
        if self.is_per_partition:
            behind = self.env.options.members + self.slot * self.env.options.inputs
            for partition in partitions:
                self.producers[partition] = self.new_producer(behind + partition, partition)
            self.consumer.blocked = bool(partitions)

    def on_revoked(self, partitions: tuple[int, ...]) -> None:
        """Drop the producers of these partitions. No transaction is open in poll()."""
        if self.is_per_partition:
            for partition in partitions:
                self.producers.pop(partition).crash()

    def on_lost(self, partitions: tuple[int, ...]) -> None:
        self.on_revoked(partitions)

    # Its life

    def stop(self, kind: int) -> None:
        if self.running:
            self.running = False
            self.env.report(kind, slot=self.slot, client=self.client, error=self.failed)
            for node in self.nodes:
                node.crash()

    def close(self) -> None:
        """Call producer.close() and consumer.close(), so that the instance leaves its group and ends."""
        if self.running and not self.consumer.paused:
            self.consumer.leave()
        self.stop(Kind.INSTANCE_STOPPED)

    def pause(self) -> bool:
        """Pause the whole process. Return False if it is paused already."""
        if not self.running or self.consumer.paused:
            return False
        self.env.report(Kind.PAUSED, slot=self.slot, client=self.client)
        for node in self.nodes:
            node.pause()
        return True

    def resume(self) -> bool:
        """Resume the process where it was. Return False if it is not paused."""
        if not self.consumer.paused:
            return False
        self.env.report(Kind.RESUMED, slot=self.slot, client=self.client)
        for node in self.nodes:
            node.resume()
        return True
