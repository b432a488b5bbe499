"""An instance of the application: the loop that users write, which copies its input to its output exactly once.

    producer.initTransactions();
    while (true) {
        records = consumer.poll();
        producer.beginTransaction();
        for (record : records) producer.send(copyOf(record));
        producer.sendOffsetsToTransaction(offsets(records), consumer.groupMetadata());
        producer.commitTransaction();
    }                                    // on an error: abortTransaction(), and back to the committed offsets

`step` does the next line of it. A driver decides when, and so how long an application takes for each.
"""

from enum import Enum

from fencepost.reference_impl.group_fencing.clients.consumer import Consumer, Listener
from fencepost.reference_impl.group_fencing.clients.producer import BEFORE_METADATA, GroupProducer
from fencepost.reference_impl.group_fencing.environment import Environment, Place
from fencepost.reference_impl.group_fencing.events import Kind
from fencepost.reference_impl.group_fencing.messages import GroupMetadata
from fencepost.reference_impl.simulation import Node
from fencepost.reference_impl.transactions.clients.producer import COMPLETING, State

WHOLE = -1  # the key of the one producer that an application has for all its partitions


class Line(Enum):
    """The line of the loop that comes next for what was polled."""

    BEGIN = "begin"
    COPY = "copy"
    OFFSETS = "offsets"
    COMMIT = "commit"
    ENDED = "ended"


class Work:
    """What was polled and goes through one producer's transaction."""

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
        """The offsets behind it, by partition."""
        return {partition: offset + 1 for partition, offset in self.places}


class Application(Listener):
    """One instance, from its start to its end, in a slot; `client` is its number among all there ever were."""

    def __init__(self, env: Environment, slot: int) -> None:
        self.env = env
        self.slot = slot
        self.client = env.next_instance()
        self.old = slot in env.old
        self.running = True
        env.tell(Kind.INSTANCE_STARTED, slot=slot, client=self.client)
        self.consumer: Consumer = env.parts.new_consumer(env, slot, self.client, self.old, self.wanted_listener())
        self.producers: dict[int, GroupProducer] = {}
        self.works: list[Work] = []
        if not self.is_per_partition:
            self.producers[WHOLE] = self.new_producer(slot, self.whole_id())

    @property
    def is_per_partition(self) -> bool:
        """Whether it has a producer for every partition of the input, as before KIP-447."""
        return self.old or not self.env.options.group_aware

    @property
    def inits_with_group(self) -> bool:
        """Whether it uses the draft's initTransactions(groupAssignment)."""
        return self.env.options.is_draft and not self.is_per_partition

    def wanted_listener(self) -> Listener | None:
        """Who has a producer per partition needs to know which ones it has."""
        return self if self.env.options.listener or self.is_per_partition or self.env.options.is_draft else None

    def new_producer(self, number: int, txn_id: int) -> GroupProducer:
        version = BEFORE_METADATA if self.is_per_partition else self.env.options.commit_version
        producer: GroupProducer = self.env.parts.producer(self.env, self.slot, number, txn_id, self.client, version)
        return producer

    def whole_id(self) -> int:
        """The transactional id of the one producer: its identity's, or one that nobody else has ever had."""
        options = self.env.options
        return options.inputs + (
            options.identity_of(self.slot) if options.stable_ids else options.members + self.client
        )

    @property
    def nodes(self) -> list[Node]:
        """What is in its process."""
        return [self.consumer, *self.producers.values()]

    @property
    def failed(self) -> int:
        """The error that ends it, 0 for none."""
        return self.consumer.error or next((p.fatal_error for p in self.producers.values() if p.fatal_error), 0)

    # The loop

    def doing(self) -> str:
        """The line of the loop that comes next: init, poll, begin, copy, offsets, commit, abort, or ended (its
        transaction is, as its producer knows); wait, where an answer is missing; fail; paused or over."""
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
        """The next line of the loop happens; False where it waits for an answer, or the instance is no more."""
        if not self.running or self.consumer.paused:
            return False
        if self.failed:
            self.stop(Kind.INSTANCE_FAILED)
            return True
        return self.initialise() or (self.work(self.works[0]) if self.works else self.next_batch())

    def initialise(self) -> bool:
        """initTransactions() of every producer, once; the draft's is called when partitions are assigned."""
        return not self.inits_with_group and any(producer.init() for producer in self.producers.values())

    def next_batch(self) -> bool:
        """poll(), once no call of a producer is under way."""
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
        """The next line for what was polled."""
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
        """sendOffsetsToTransaction(), inside; or nothing, where they are committed afterwards (447.18)."""
        if self.env.options.offsets_inside:
            work.producer.send_offsets(work.offsets, self.metadata_for(work))

    def metadata_for(self, work: Work) -> GroupMetadata:
        """What the application says of its consumer: as of now, as of the poll, or nothing at all (B38)."""
        options = self.env.options
        if self.is_per_partition or not options.metadata:
            return GroupMetadata()
        return work.metadata if options.metadata_at == "poll" else self.consumer.group_metadata()

    def abort(self) -> bool:
        """abortTransaction(); False if there is none to abort."""
        if self.works and self.works[0].producer.abort():
            self.works[0].aborted = True
            self.works[0].line = Line.ENDED
            return True
        return False

    def ended(self, work: Work) -> None:
        """The transaction is over: on with the next records, or back to those that are not committed."""
        self.works.pop(0)
        if work.aborted:
            self.seek_back(work)
        elif not self.env.options.offsets_inside:
            self.consumer.commit(work.offsets)

    def seek_back(self, work: Work) -> None:
        """The records of an aborted transaction are to be read again; of all partitions, as Kafka's own example does
        it, unless each has a producer of its own. (ExactlyOnceMessageProcessor.resetToLastCommittedPositions)"""
        self.consumer.seek_to_committed(work.offsets if self.is_per_partition else self.consumer.assignment)

    # The rebalance listener

    def on_assigned(self, partitions: tuple[int, ...]) -> None:
        """Producers for the partitions that are new, or one for all of them: their predecessors are fenced before
        anything is fetched (447.17)."""
        if self.inits_with_group:
            metadata = self.consumer.group_metadata()
            self.consumer.blocked = self.producers[WHOLE].init_with(metadata, self.consumer.assignment)
        if self.is_per_partition:
            behind = self.env.options.members + self.slot * self.env.options.inputs
            for partition in partitions:
                self.producers[partition] = self.new_producer(behind + partition, partition)
            self.consumer.blocked = bool(partitions)

    def on_revoked(self, partitions: tuple[int, ...]) -> None:
        """No transaction is open in poll(): there is nothing to give up but producers."""
        if self.is_per_partition:
            for partition in partitions:
                self.producers.pop(partition).crash()

    def on_lost(self, partitions: tuple[int, ...]) -> None:
        """As if they were revoked."""
        self.on_revoked(partitions)

    # Its life

    def stop(self, kind: int) -> None:
        """The process ends; what it sent stays in flight."""
        if self.running:
            self.running = False
            self.env.tell(kind, slot=self.slot, client=self.client, error=self.failed)
            for node in self.nodes:
                node.crash()

    def close(self) -> None:
        """producer.close(), consumer.close(): it leaves its group and ends."""
        if self.running and not self.consumer.paused:
            self.consumer.leave()
        self.stop(Kind.INSTANCE_STOPPED)

    def pause(self) -> bool:
        """The whole process stands still; False if it does already."""
        if not self.running or self.consumer.paused:
            return False
        self.env.tell(Kind.PAUSED, slot=self.slot, client=self.client)
        for node in self.nodes:
            node.pause()
        return True

    def resume(self) -> bool:
        """It goes on where it was; False if it stands still no more."""
        if not self.consumer.paused:
            return False
        self.env.tell(Kind.RESUMED, slot=self.slot, client=self.client)
        for node in self.nodes:
            node.resume()
        return True
