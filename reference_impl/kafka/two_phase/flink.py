"""This module has Flink's Kafka sink under exactly-once: writers, a committer, and a job whose checkpoints are the
outside store.

A `Job` has the completed checkpoints and a source that replays from the position in the last one; a `Writer` is one
subtask, and a `Committer` ends what a completed checkpoint has. Transactions are named <prefix>-<subtask>-<counter>.

Read, of apache/flink-connector-kafka at eb8ff700: ExactlyOnceKafkaWriter.java, KafkaCommitter.java,
KafkaCommittable.java, KafkaWriterState.java, TransactionNamingStrategyImpl.java, TransactionAbortStrategyImpl.java,
TransactionAbortStrategyContextImpl.java, TransactionOwnership.java, ProducerPoolImpl.java, TransactionalIdFactory.java,
FlinkKafkaInternalProducer.java, AdminUtils.java, TransactionFinished.java; of apache/flink CommitterOperator.java; the
descriptions of PR 238 and 296 (FLINK-39218) and of PR 314 (FLINK-40626). Not read: their code, FLIP-319 and FLIP-572
beyond their first pages, and how the runtime assigns state (here it is as TransactionOwnership assumes).

Flink has no committer with KIP-939 yet. The one here does what FLIP-319's summary of interfaces allows: a committable
has the transactional id and the prepared state, and a committer that recovers calls initTransactions(keepPreparedTxn =
true) and completeTransaction(state). Left out: that a producer is used for the next id, LISTING's filter by topic (all
sinks write to the same topics), and the second commit of a producer that goes back to the pool. The end of a
transaction is reported to the writer that has its id, whichever subtask that is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, count
from typing import NamedTuple

from fencepost.reference_impl.kafka.clients.producer import State
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.two_phase.client import prepared_pair, prepared_text
from fencepost.reference_impl.kafka.two_phase.flink_clients import Clients, SinkProducer

KNOWN_REASONS = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE)


class Naming(Enum):
    """A `Naming` is a TransactionNamingStrategy with its way to abort: INCREMENTING probes, and POOLING lists."""

    INCREMENTING, POOLING = "incrementing", "pooling"


class Ended(Enum):
    """An `Ended` is what became of a committable, as far as its committer knows."""

    COMMITTED = "committed"
    REFUSED = "refused"  # one of KNOWN_REASONS: the job goes on without these records
    NOTHING_OPEN = "nothing open"  # KIP-939: it was committed before, or aborted by an operator
    ABORTED_ANOTHER = "aborted another"  # KIP-939: another transaction was open under this id


@dataclass(frozen=True, slots=True)
class Settings:
    """`Settings` are those of one attempt. ``recommits_first`` is whether the committer commits what the checkpoint has
    before the writers abort what lingers, which is not settled in Flink where the two are not chained."""

    prefix: str = "sink"
    naming: Naming = Naming.INCREMENTING
    two_phase: bool = True
    parallelism: int = 1
    recommits_first: bool = True


class Committable(NamedTuple):
    """A `Committable` is a pre-committed transaction, with the text of its prepared state: producer id and epoch."""

    name: str
    state: str


class WriterState(NamedTuple):
    """A `WriterState` is what a checkpoint has of one subtask. ``precommitted`` has the (checkpoint, name) of each
    transaction that was not reported as finished."""

    prefix: str
    subtask: int
    total: int
    naming: Naming
    precommitted: tuple[tuple[int, str], ...]


States = Sequence[WriterState]


class Checkpoint(NamedTuple):
    """A `Checkpoint` has the source's position, and all that is pre-committed and not committed yet."""

    number: int = 0
    position: int = 0
    committables: tuple[Committable, ...] = ()
    states: tuple[WriterState, ...] = ()


class Writer:
    """A `Writer` is one subtask (ExactlyOnceKafkaWriter.java). ``ongoing`` has the checkpoint of each transaction by
    its name, of the state's too, until its end is reported in ``finished``."""

    producer: SinkProducer

    def __init__(self, clients: Clients, settings: Settings, subtask: int, states: States, restored: int) -> None:
        self.clients, self.settings, self.subtask, self.states = clients, settings, subtask, states
        self.restored = self.last = restored
        self.owned, self.total = self.ownership()
        self.ongoing = {name: checkpoint for state in states for checkpoint, name in state.precommitted}
        self.finished: list[str] = []
        self.current, self.records = "", 0

    def ownership(self) -> tuple[list[int], int]:
        """Return the subtasks whose ids are this writer's, and how many there are. Raise ValueError for a switch back
        to INCREMENTING (TransactionOwnership.java)."""
        parallelism = self.settings.parallelism
        if self.settings.naming is Naming.INCREMENTING:
            if any(state.naming is Naming.POOLING for state in self.states):
                raise ValueError("the checkpoint is of POOLING, and Flink does not switch back; use POOLING")
            return [self.subtask], parallelism
        owned = sorted(state.subtask for state in self.states)
        return (owned, max(parallelism, self.states[0].total)) if owned else ([self.subtask], parallelism)

    # Aborting what lingers

    def open(self) -> None:
        """Abort what lingers under the prefix, and under that of the first state, and begin a transaction."""
        for prefix in dict.fromkeys((self.settings.prefix, *(state.prefix for state in self.states[:1]))):
            if self.settings.naming is Naming.INCREMENTING:
                self.probe(prefix)
            else:
                for name in self.listed(prefix):
                    self.abort(name)
        self.start(self.restored + 1)

    def probe(self, prefix: str) -> None:
        """Abort by name (PROBING): a subtask's ids up to the first that was not in use, and the subtasks in steps of
        the parallelism up to the first that has none."""
        first = self.restored + 1
        for subtask in count(self.subtask, self.settings.parallelism):
            unused = next(n for n in count(first) if not self.abort(name_of(prefix, subtask, n)))
            if unused == first:
                return

    def listed(self, prefix: str) -> list[str]:
        """Return the open transactions to abort (LISTING). Names that begin with the prefix count as its own."""
        known = [name for name in self.clients.open_names() if name.startswith(prefix)]
        mine = [name for name in known if int(name.rsplit("-", 2)[1]) % self.total in self.owned]
        return [name for name in mine if not self.is_precommitted(name)]

    def is_precommitted(self, name: str) -> bool:
        return any(name == each for state in self.states for _, each in state.precommitted)

    def abort(self, name: str) -> int:
        """Abort what is open under an id, by initTransactions(), and return the epoch: 0 of an id that was unused."""
        producer = self.clients.initialised(name, self.settings.two_phase)
        producer.crash()
        return producer.epoch

    # Transactions

    def start(self, checkpoint: int) -> None:
        """Begin the transaction that this checkpoint will have."""
        name = self.next_name(checkpoint)
        self.ongoing[name] = checkpoint
        self.producer = self.clients.initialised(name, self.settings.two_phase)
        self.producer.begin()
        self.current, self.records, self.last = name, 0, checkpoint

    def next_name(self, checkpoint: int) -> str:
        """Return the id of the next transaction: that of the checkpoint, after all before it were initialised, so that
        probing meets no gap; or the first that is not in use."""
        prefix, subtask = self.settings.prefix, self.owned[0]
        if self.settings.naming is Naming.POOLING:
            return next(name for n in count() if (name := name_of(prefix, subtask, n)) not in self.ongoing)
        for skipped in range(self.last + 1, checkpoint):
            self.abort(name_of(prefix, subtask, skipped))
        return name_of(prefix, subtask, checkpoint)

    def flush(self) -> None:
        producer = self.producer
        self.clients.wait(producer, lambda: not producer.sends.outstanding, f"flush of {self.current}")

    def pre_commit(self) -> list[tuple[Committable, SinkProducer | None]]:
        """Return the committable with its producer. A transaction without records has none, and is left."""
        producer = self.producer
        if not self.records:
            del self.ongoing[self.current]
            return []
        if self.settings.two_phase:
            producer.prepare()
        return [(Committable(self.current, prepared_text(producer.own)), producer)]

    def snapshot(self, checkpoint: int) -> list[WriterState]:
        """Return the state, and begin the next transaction. Where one is finished, those of earlier checkpoints are."""
        while self.finished:
            done = self.ongoing.pop(self.finished.pop(), 0)
            self.ongoing = {name: number for name, number in self.ongoing.items() if number >= done}
        precommitted = tuple((number, name) for name, number in self.ongoing.items())
        self.start(checkpoint + 1)
        prefix, naming = self.settings.prefix, self.settings.naming
        return [
            WriterState(prefix, subtask, self.total, naming, () if place else precommitted)
            for place, subtask in enumerate(self.owned)
        ]


class Committer:
    """A `Committer` ends transactions of completed checkpoints (KafkaCommitter.java)."""

    def __init__(self, clients: Clients, settings: Settings) -> None:
        self.clients, self.settings = clients, settings

    def commit(self, committable: Committable, producer: SinkProducer | None) -> Ended:
        """Commit with the writer's producer if it is at hand, or with one that resumes the transaction. Raise SinkError
        for an error that is no known reason."""
        producer = producer or self.resumed(committable)
        if self.settings.two_phase and producer.state is not State.PREPARED_TRANSACTION:
            return Ended.NOTHING_OPEN
        is_another = prepared_text(producer.own) != committable.state
        _ = producer.complete(committable.state) if self.settings.two_phase else producer.commit()
        what = f"commit of {committable.name}"
        self.clients.wait(producer, lambda: producer.state is State.READY, what, KNOWN_REASONS)
        producer.crash()
        return Ended.REFUSED if producer.error else Ended.ABORTED_ANOTHER if is_another else Ended.COMMITTED

    def resumed(self, committable: Committable) -> SinkProducer:
        if self.settings.two_phase:
            return self.clients.initialised(committable.name, True, keep=True)
        producer = self.clients.producer(committable.name)
        producer.resume_transaction(prepared_pair(committable.state))
        return producer


class Job:
    """A `Job` goes from attempt to attempt. ``completed`` is the last completed checkpoint, ``payload`` has the
    source's record of each record in Kafka, and ``ended`` what became of each committable."""

    writer: type[Writer] = Writer
    committer: type[Committer] = Committer

    def __init__(self, clients: Clients, settings: Settings) -> None:
        self.clients, self.settings = clients, settings
        self.completed = Checkpoint()
        self.number = self.position = 0
        self.payload: dict[int, int] = {}
        self.ended: list[tuple[str, Ended]] = []
        self.writers: list[Writer] = []
        self.pending: list[tuple[Committable, SinkProducer | None]] = []

    def start(self, settings: Settings | None = None, only: Iterable[int] | None = None) -> None:
        """Begin an attempt from the last completed checkpoint. With ``only``, these subtasks alone have begun."""
        self.settings = settings or self.settings
        restored, parallelism = self.completed, self.settings.parallelism
        self.position = restored.position
        self.pending = [(committable, None) for committable in restored.committables]
        parts = shared_out(restored.states, parallelism)
        self.writers = [
            self.writer(self.clients, self.settings, subtask, parts[subtask], restored.number)
            for subtask in (range(parallelism) if only is None else only)
        ]
        if self.settings.recommits_first:
            self.commit()
        for writer in self.writers:
            writer.open()
        self.commit()  # nothing, if it is done

    def feed(self, records: int) -> None:
        """Let the source's next records go to the subtasks in turn. Raise SinkError if one cannot write."""
        for record in range(self.position, self.position + records):
            writer = self.writers[record % len(self.writers)]
            number = writer.producer.write(record % self.clients.cluster.env.config.partitions)
            writer.records += 1
            self.payload[number] = record
            self.position = record + 1

    def checkpoint(self, completes: bool = True) -> None:
        """Take the next checkpoint. What one pre-commits that does not complete is part of the next. Raise SinkError if
        a record cannot be written."""
        self.number += 1
        states: list[WriterState] = []
        for writer in self.writers:
            writer.flush()
            self.pending += writer.pre_commit()
            states += writer.snapshot(self.number)
        if completes:
            committables = tuple(committable for committable, _ in self.pending)
            self.completed = Checkpoint(self.number, self.position, committables, tuple(states))
            self.commit()

    def commit(self) -> None:
        """Commit what the completed checkpoint has (notifyCheckpointComplete), and report each end to its writer."""
        committer = self.committer(self.clients, self.settings)
        for committable, producer in self.pending:
            self.ended.append((committable.name, committer.commit(committable, producer)))
            for writer in self.writers:
                writer.finished += [name for name in writer.ongoing if name == committable.name]
        self.pending = []

    def crash(self) -> None:
        """End the attempt: every producer is gone, and what it sent stays in flight."""
        for producer in self.clients.producers:
            producer.crash()


def shared_out(states: States, parallelism: int) -> list[States]:
    """Return the states of each subtask: consecutive ones, the lower subtasks first."""
    least, more = divmod(len(states), parallelism)
    ends = list(accumulate(least + (subtask < more) for subtask in range(parallelism)))
    return [states[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def name_of(prefix: str, subtask: int, counter: int) -> str:
    return f"{prefix}-{subtask}-{counter}"
