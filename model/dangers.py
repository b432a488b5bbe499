"""This module lists the dangers: what is known to go wrong around an exactly-once protocol, in the field's terms.

A verdict covers only the dangers of this list. The list is closed in that no other name is accepted. It has what was
known when it was written, and it has grown: four of its names were added when it was found that models leave out what
they are about.

A model declares its dangers in one of two ways. An action or a fault that *is* one carries its name
(``@fault(budget="fail_overs", danger="coordinator-fail-over")``). A danger that is a condition of the state rather than
a step is a method (``@danger("several-partitions")``), whose condition holds where the danger is present. What a model
leaves out it declares once, with the reason, in ``outside``. Neither is a verdict: a danger counts as *in* only where
an engine reached it (see `fencepost.proofs.scope.scopes`).

To account for a model, go through the list and declare one of four things for each danger:

1. a step of the model is it: tag the ``@action`` or ``@fault``.  The step by itself must be the danger, in every state
   that enables it: an answer that is delivered is not *late-copy* merely because it may be late;
2. a condition of the state is it: write a ``@danger(name)`` method with a docstring, whose condition holds only in
   states that have the danger.  The danger must have an effect there (a record in flight after its transaction has
   ended); that it is possible (two partitions within the bounds) is not enough.  The condition may use a helper of
   the model, and may read ghosts;
3. the model has it under a condition alone: write ``excused(condition, name)`` in addition to the tag;
4. it is left out: ``outside = (*not_of_this(why, …), *kafka_excludes(why, source, …), *open_hole(why, …))``.  What
   Kafka can do and the model can't is open, also if another model has it: the reason then names that model.

``outside`` is inherited, a variant's own line replaces its base's for that danger, and a tag outweighs both. An action
that a variant overrides has no tag of its base, and the tag must be written again.
`fencepost.proofs.scope.scopes.unaccounted` names what is still missing, and ``fencepost dangers PROTOCOL/VARIANT``
prints what each engine reached.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Danger:
    """``name`` is how models cite it; ``source``: where Kafka, or what it runs on, does this."""

    name: str
    area: str
    says: str
    source: str


def _closed(area: str, *rows: tuple[str, str, str]) -> list[Danger]:
    return [Danger(name, area, says, source) for name, says, source in rows]


_ALL = [
    *_closed(
        "the network",
        ("late-copy", "A request or record arrives after what it belongs to is over.",
         "TCP connections that die with a request in flight; NetworkClient resends on another (KAFKA-17754, KAFKA-14402)"),
        ("duplicate", "A request or record arrives twice.", "Sender.java: a batch is sent again after a disconnect or time-out"),
        ("loss", "A request, record or marker never arrives.", "NetworkClient.java: disconnects; expired batches"),
        ("lost-answer", "The work is done and its answer lost, so that the sender asks again.",
         "Sender.java, TransactionManager.java: retries of retriable errors and disconnects"),
        ("reordering", "What went to several partitions or brokers arrives in another order.", "one connection for each broker"),
    ),
    *_closed(
        "clients",
        ("client-crash", "A producer, consumer or worker ends at any moment, with its memory.", "processes"),
        ("zombie", "A client pauses, is taken for dead and goes on.", "garbage collection, SIGSTOP, virtual machines; KIP-98"),
        ("mixed-clients", "Clients of different versions share an id, a group or a cluster.", "KIP-890, KIP-447: rolling upgrades of clients"),
        ("several-ids", "Several transactional or producer ids share partitions and coordinators.", "ProducerStateManager.java: one entry for each id"),
        ("several-groups", "Several consumer groups share what is modelled.", "OffsetMetadataManager.java"),
        ("several-records", "A transaction has several records or batches in one partition.", "ProducerAppendInfo.java; KAFKA-14402"),
        ("several-partitions", "A transaction spans several partitions.", "TransactionMetadata.topicPartitions"),
        ("isolation-level", "A reader of a topic is given what is not committed, or was aborted.",
         "isolation.level is read_uncommitted by default; KafkaConfigBackingStore sets it only where exactlyOnceSourceEnabled()"),
        ("slow-reader", "A reader takes pieces, lags, and goes on from anywhere.", "Fetcher; UnifiedLog.read: at most max bytes a piece"),
    ),
    *_closed(
        "coordinators and controllers",
        ("coordinator-fail-over", "Another node takes over, and knows only what the log says.",
         "TransactionStateManager.loadTransactionsForTxnTopicPartition; QuorumController.claim"),
        ("overlapping-coordinators", "A deposed coordinator has not heard of its successor, and still answers.",
         "TransactionStateManager.getAndMaybeAddTransactionState: a cache read, without a look at leadership"),
        ("uncovered-log", "What was written to the log is acted on before it is replicated, and may be lost.",
         "TransactionStateManager.loadTransactionMetadata reads past the high watermark"),
        ("memory-without-log", "No append fails, and a node's memory leaves its log: it goes back behind what is written, or has what is not.",
         "CoordinatorRuntime: flushing an empty batch reverted the state, and what was appended stayed (KAFKA-20845)"),
        ("failed-append", "An append to the coordinator's log fails or times out, and may be there all the same.",
         "TransactionStateManager.appendTransactionToLog"),
        ("id-expiry", "A transactional id that is idle is forgotten.", "transactional.id.expiration.ms: 7 days"),
        ("time-out", "A transaction, session or request runs out of time while its owner is alive.", "transaction.timeout.ms"),
        ("no-time-out", "A transaction stays open, however long: no clock ends it.",
         "KIP-939, transaction.two.phase.commit.enable: TransactionStateManager.timedOutTransactions skips it"),
        ("end-of-epochs", "The epochs of a producer id run out, and it is rotated.", "TransactionMetadata: epoch 32766; KAFKA-19367, KAFKA-20090"),
        ("transaction-version", "transaction.version is changed while transactions are open.", "TransactionVersion feature, KIP-890"),
        ("clock-step", "A clock jumps, forwards or back.", "wall clocks in expiry and time-outs: Time.milliseconds"),
    ),
    *_closed(
        "processes",
        ("two-threads", "Two threads of one process take their steps in between one another's.",
         "DistributedHerder.activeZombieFencings: the tick thread and the admin client's; WorkerSourceTask: the committer and the task"),
    ),
    *_closed(
        "partitions and logs",
        ("unreplicated-tail", "A leader change loses what had no copy: the end of a log, records and the markers behind them.",
         "unclean election (KAFKA-20716), or acks below all; Partition.makeLeader"),
        ("leader-restart", "A leader restarts from a snapshot, which keeps one batch for each producer.",
         "ProducerStateManager.writeSnapshot; KAFKA-14034"),
        ("partition-away", "A partition has no live leader when its marker is due.", "KAFKA-20734: KRaftMetadataCache.getPartitionLeaderEndpoint"),
        ("broker-restart", "A broker restarts or hands over, and what only its memory held is gone.",
         "ProducerStateManager: verification state; RPCProducerIdManager: the block of ids"),
        ("producer-expiry", "A leader forgets the state of a producer that was idle.", "producer.id.expiration.ms: 1 day; each replica alone"),
        ("sequence-wrap", "Sequence numbers of an epoch wrap at the largest integer.", "DefaultRecordBatch.incrementSequence"),
        ("cleaning", "The log cleaner removes aborted records, then markers and tombstones.",
         "CleanedTransactionMetadata, LogCleaner; delete.retention.ms; KAFKA-14055, KAFKA-13727"),
        ("truncation", "A log is cut at its end by a new leader, or at its beginning by retention or DeleteRecords.",
         "UnifiedLog.truncateTo, maybeIncrementLogStartOffset"),
    ),
    *_closed(
        "Connect",
        ("rebalance", "A rebalance goes on while tasks start, stop and are fenced.", "DistributedHerder, eager and incremental cooperative"),
        ("leader-in-a-call", "The Connect leader changes in the middle of one call.", "DistributedHerder.writeToConfigTopicAsLeader"),
        ("worker-without-support", "A worker of the cluster does not have exactly-once support, or not on.", "exactly.once.source.support"),
        ("empty-set", "A connector is given no tasks.", "ConnectorTaskConfigs of size 0"),
        ("one-task", "A connector has one task before and after, so that the shortcut skips fencing.", "DistributedHerder.fenceZombieSourceTasks: 618.5"),
        ("several-tasks", "A connector has several tasks, so that rounds fence.", "Worker.fenceZombies: ids 0 to n - 1"),
        ("several-connectors", "Several connectors share the leader, its thread and its producer.", "DistributedHerder: one tick thread"),
        ("deletion", "A connector is deleted.", "DistributedHerder.deleteConnectorConfig"),
        ("re-creation", "A connector of the same name is created again.", "KAFKA-14147"),
        ("id-collision", "Two connectors, or two clusters, come to the same transactional id.", "Worker.taskTransactionalId: group-connector-number"),
    ),
]  # fmt: skip

DANGERS: dict[str, Danger] = {danger.name: danger for danger in _ALL}
