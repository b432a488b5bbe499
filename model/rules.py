"""This module is the ledger: it has every rule of every proposal by number, with its kind and, in our words, its
content.

The kinds are *promise* (the purpose of the protocol), *mechanism* (something done, which can be dropped, swapped or
shifted), *claim* (to be proved or refuted), *interface* (a format, a code, a default, checked by tests of the reference
implementation), *boundary* (the guarantee ends here) and *rejected* (an alternative, proved to fail). The source is
named by proposal; ``730.7`` is the seventh rule of KIP-730. A rule is listed whether or not there is a verdict on it
yet: `fencepost list --verbose` counts the rules that have one, and names the others.
"""

import sys
from dataclasses import dataclass

AREAS = {
    "730": "KIP-730, producer id blocks",
    "txn": "transactions and producer state",
    "618": "KIP-618, exactly-once source connectors",
    "447": "KIP-447, group-aware producers",
    "src": "SourceTask.commit with offsets",
    "939": "KIP-939, two-phase commit",
}
"""The sources, by the part of a number before the point."""
WIKI = "https://cwiki.apache.org/confluence/display/KAFKA"
LINKS = {
    "730": f"{WIKI}/KIP-730%3A+Producer+ID+generation+in+KRaft+mode",
    "txn": f"{WIKI}/KIP-98+-+Exactly+Once+Delivery+and+Transactional+Messaging",
    "618": f"{WIKI}/KIP-618%3A+Exactly-Once+Support+for+Source+Connectors",
    "447": f"{WIKI}/KIP-447%3A+Producer+scalability+for+exactly+once+semantics",
    "src": "https://kafka.apache.org/43/javadoc/org/apache/kafka/connect/source/SourceTask.html",
    "939": f"{WIKI}/KIP-939%3A+Support+Participation+in+2PC",
}
"""Where each source is published. A user's own source need not be."""


KINDS = ("promise", "mechanism", "claim", "interface", "boundary", "rejected")


@dataclass(frozen=True)
class Rule:
    number: str
    kind: str
    says: str

    @property
    def area(self) -> str:
        return self.number.partition(".")[0]


def _ledger(text: str) -> dict[str, Rule]:
    rules = {}
    for line in text.strip().splitlines():
        number, kind, says = line.split(maxsplit=2)
        rules[number] = Rule(number, kind, says)
    return rules


def add_rules(area: str, source: str, text: str) -> None:
    """Rules of a protocol of one's own, before the protocol that cites them: a line each, as in the ledger below.

    Their numbers begin with ``area`` and a point, and no other source may have it.  Raises `ModelError`.
    """
    from fencepost.model.language.checks.errors import mistake  # the language checks rules, and imports this module

    frame = sys._getframe(1)
    where = (frame.f_code.co_filename, frame.f_lineno)
    if AREAS.get(area, source) != source:
        raise mistake(f"rules {area}.… are those of {AREAS[area]}", "choose another area", where)
    for line in text.strip().splitlines():
        number, kind, says = [*line.split(maxsplit=2), "", "", ""][:3]
        if number.partition(".")[0] != area or kind not in KINDS or not says:
            example = f"{area}.1 mechanism What is done."
            what = f"{line.strip()!r} is no rule of {area}"
            raise mistake(what, f"write {example!r}; kinds are {', '.join(KINDS)}", where)
    AREAS[area] = source
    RULES.update(_ledger(text))


RULES: dict[str, Rule] = _ledger("""
730.P1 promise    No producer id is handed out twice in a cluster.
730.P2 promise    No two granted blocks share an id.
730.P3 promise    A broker that keeps asking gets an id once faults stop.
730.2  mechanism  In ZooKeeper a block is taken by compare-and-set on one node, which is read again before every retry.
730.3  mechanism  A block lives in the broker's memory only; a restart loses what is left of it.
730.4  interface  AllocateProducerIds carries broker id and epoch, and answers with error, first id (inclusive) and length.
730.5  interface  CLUSTER_AUTHORIZATION_FAILED ends the broker (shipped: is retried); every other error is retried.
730.6  interface  The request is throttled.
730.7  mechanism  The record of a block is committed before the block is sent; a block once persisted is used up, answered or not.
730.8  mechanism  One thread computes the next block from memory and owns the block size; brokers take the length from the answer.
730.9  interface  The records are an audit log: which broker got which block.
730.10 mechanism  The snapshot carries the next free id, and that is enough to go on from.
730.11 claim      A broker may use the block of an answer without waiting for the record to reach it.
730.12 claim      Fetching a block before it is needed is safe with failures and restarts at any point.
730.13 claim      Brokers on ZooKeeper and brokers on the RPC may be mixed while both end in the same compare-and-set.
730.14 mechanism  Every broker uses the RPC before the cluster moves to KRaft.
730.15 mechanism  KRaft starts one after the last id that ZooKeeper gave away.
730.16 mechanism  Ids end: past the last one there is an error, never a wrap.
730.17 rejected   Allocation without coordination, by broker id; and an idempotent RPC.
730.18 mechanism  The controller refuses an unregistered broker, or another epoch of it.
730.19 mechanism  An answer is installed at most once, and only for the outstanding request.
730.20 mechanism  A malformed block, or one that starts at or below the last id held, is refused.
730.21 interface  In ZooKeeper mode the RPC is used from inter-broker protocol 3.0-IV0 on; in KRaft always.
txn.P1 promise    Once a fence to an epoch is acknowledged, nothing written later under an older epoch is ever visible as committed.
txn.P2 promise    All effects of a transaction, records on every partition and offsets, share one fate.
txn.P3 promise    A read_committed reader never gets a record of an aborted or open transaction.
txn.P4 promise    A record of a transaction whose commit was acknowledged reaches every reader that reads to the end.
txn.P5 promise    A transaction has one outcome at most, the one that its owner decided or was told.
txn.P6 promise    One logical send appears at most once in a partition, within the window of duplicates.
txn.P7 promise    A producer id and epoch handed out stand for one owner; epochs of an id never go down, nor past their end.
txn.P8 promise    A legitimate client that is alone and repeats its own request is never fenced.
txn.P9 promise    State rebuilt from the log, compacted or not, equals the live state.
txn.P10 promise    Every open transaction and every pending state is resolved in the end, and the last stable offset moves.
txn.P11 promise    Once faults have stopped, a client that is alive, not fenced and was given no fatal error can begin, send to each partition and commit, within a bounded time.
txn.1  mechanism  InitProducerId raises the epoch, so that older instances are refused.
txn.2  mechanism  InitProducerId with the current id and epoch raises it once; repeated with the epoch before, it gets the same answer; older ones are fenced.
txn.3  mechanism  Before InitProducerId succeeds, an open transaction is ended by markers that carry the raised epoch; until then: CONCURRENT_TRANSACTIONS.
txn.4  mechanism  After epoch 32766 the producer id changes; 32767 is never handed out.
txn.5  mechanism  While a transition is pending the answer is CONCURRENT_TRANSACTIONS, before any epoch is looked at.
txn.6  mechanism  AddPartitionsToTxn and AddOffsetsToTxn need the exact producer id and epoch.
txn.7  mechanism  EndTxn needs the exact producer id and epoch; in v2 the epoch just ended may be repeated.
txn.8  mechanism  The outcome is fixed once the Prepare record is durable, and is final.
txn.9  mechanism  In v2 every end of a transaction raises the epoch.
txn.10 mechanism  Markers reach every partition of the transaction, retried without end, and completion is recorded once.
txn.11 mechanism  A partition refuses a marker of an older coordinator epoch.
txn.12 mechanism  A partition refuses a producer epoch lower than the one it knows.
txn.13 mechanism  Sequence numbers follow on, and a new epoch starts at 0.
txn.14 mechanism  The last five batches answer duplicates with their old offset; a new epoch clears them, and an abort does not leave them answering.
txn.15 mechanism  Before the first append of a transaction the leader asks the coordinator, and at the append checks that it is still the same question.
txn.16 mechanism  In v2 a newer epoch's write is refused, to be retried, while an older epoch's transaction is open on the partition.
txn.17 mechanism  Readers stop strictly below the last stable offset and skip aborted ranges.
txn.18 mechanism  A transaction that timed out is fenced and then aborted; a fence that failed is remembered and raises the epoch no second time.
txn.19 mechanism  A coordinator that takes over rebuilds from the log and sends the markers of every Prepare again.
txn.20 mechanism  Only idle transactional ids expire.
txn.21 mechanism  Offsets committed in a transaction stay pending until the marker reaches the group's partition.
txn.22 mechanism  Admin.fenceProducers makes an unknown id known, and leaves it idle under a raised epoch.
txn.23 mechanism  In v2 since KIP-1228 a marker's epoch must be newer than the partition's, or the same with nothing open, or (KAFKA-20090) the same at 32767; before, it only had to be not older.
txn.24 mechanism  A marker carries the transaction version that it belongs to, and the partition checks its epoch by that version (KAFKA-19446).
txn.25 mechanism  What a coordinator must know after a fail-over (previous id and epoch, a fence that failed, partitions, time-out) is in its log.
txn.26 boundary   A partition that can't take its marker, or whose producer state expired, was snapshotted away or cleaned, ends some of the promises.
txn.27 mechanism  What a group's coordinator has in memory is what its log and its open batch say: a batch that can't be written takes back what it did, and nothing else (KAFKA-20845).
618.P1 promise    Once a task of one generation polls, no producer of an earlier generation can commit.
618.P2 promise    Each source offset appears exactly once in what read_committed readers get, in step with the offsets a restart would resume from.
618.P3 promise    Every producer that may be alive is covered by the latest count record, or belongs to the newest set.
618.P4 promise    After the last reconfiguration and fault, every task of the newest set polls in the end, given that failed tasks are restarted.
618.P5 promise    Once faults stop, a task that runs and is not fenced gets its records and offsets committed, with no restart.
618.1  mechanism  A task count record in the config topic says how many task producers of a connector may be alive.
618.2  mechanism  Tasks run only if the latest count record stands after the latest committed set of their configurations.
618.3  mechanism  A set of task configurations takes effect at its commit record; without one it is as if absent.
618.4  mechanism  A set of configurations that stands after the latest count record needs a round of fencing.
618.5  claim      Fencing may be skipped without a count record, and when it says 1 and the new set has 1 task.
618.6  mechanism  The ids fenced are as many as the latest count record says.
618.7  mechanism  The task count record is written only after every fencing succeeded.
618.8  mechanism  The leader reads to the end after its writes, and hands out that offset with the assignment (A).
618.9  claim      Rounds of different connectors run side by side and do not disturb one another.
618.10 interface  A round is asked for over an internal endpoint, signed with the session key, and served whether or not the feature is on (M, B).
618.11 interface  A round that failed fails the Connector, until it is restarted (M); it answers 500 and fails the task that asked, with that answer as its trace (B).
618.12 mechanism  One id is fenced by InitProducerId without id or epoch at its coordinator, which ends an unfinished transaction first.
618.13 interface  Admin.fenceProducers gives a producer id and epoch per id, and fails as a whole if one of them fails.
618.14 mechanism  A task start is refused, until the next rebalance, if the worker's view at the assignment's offset has no count after the latest set (A).
618.15 mechanism  A task that starts asks the leader for a round, and any failure of it ends the start (B).
618.16 mechanism  A task start is abandoned unless the latest count record stands after its set of configurations.
618.17 interface  A separate offsets topic is created before the producer is opened; what is tolerated for the worker's own topics is ignored, the rest fails the task (B; from 4.4.0 unless 618.54).
618.18 mechanism  A task's transactional producer is opened, which fences the previous holder of the id.
618.19 mechanism  After that the task reads to the end again and gives up if there is a newer set than its own.
618.20 interface  Only then does it poll; an abandoned start is no failure (M, B), or fails the task (shipped).
618.21 mechanism  The Connector's owner asks for a round when it starts with unchanged configurations, and after the rebalance that follows a new set (M).
618.22 claim      Stopping tasks before a rebalance, where a new set waits for its count, is not needed for safety.
618.23 interface  A task that does not stop within task.shutdown.graceful.timeout.ms is left behind, and runs until it is fenced (M, B).
618.24 mechanism  A worker that becomes leader opens a transactional producer, and only the latest leader can write.
618.25 mechanism  Every record that the leader writes is a transaction of its own; shipped, every call is one.
618.26 claim      Only the latest leader writes, so that a stalled former one cannot put a count after a newer set.
618.27 mechanism  A task's records and their source offsets are committed in one transaction, or neither is.
618.28 claim      A batch that a transformation drops whole commits nothing, SourceTask.commit is called all the same, and nothing is lost or doubled by that.
618.29 interface  A separate offsets topic is used if offsets.storage.topic is set, or if the connector's producer writes to another cluster.
618.30 mechanism  An empty separate offsets topic is filled from the global one in a transaction, or marked by a sentinel record where there is nothing to copy (M; never shipped).
618.31 mechanism  Nothing is copied: a task sees both offsets topics merged, the separate one winning for each source partition (B).
618.32 mechanism  Offsets are read to the end: up to the end offset that read_uncommitted shows, by a consumer in read_committed.
618.33 boundary   One worker without support breaks the guarantee of the whole cluster.
618.34 boundary   A client that writes to the config topic and is not the valid leader breaks the guarantee.
618.35 claim      No rolling upgrade (M); two of them, and the guarantee starts when the last worker has finished the second (B).
618.36 boundary   A hard downgrade and then an upgrade, with a stale separate offsets topic, doubles records unless that topic is deleted first.
618.37 interface  The permissions that each principal needs (worker producer, connector producer, consumer and admin), by operation and resource.
618.38 rejected   A deletion that writes a tombstone for the count: after fencing it is safe and saves nothing, without fencing it is unsafe.
618.39 rejected   All offsets are copied to the separate topic, where the proposal merges both topics on reading.
618.40 claim      A worker that stalls before it opens its producer, and wakes when another runs its task, does no harm to safety (A, B).
618.41 claim      Eager and cooperative rebalances both work.
618.42 mechanism  The count record is written even if nothing needs fencing, with the size of the newest committed set.
618.43 mechanism  After fencing the leader reads to the end, writes nothing if a newer set exists, and can't regain the right to write in between.
618.44 mechanism  A task waits, and starts as soon as its worker has read a count after its set, without a rebalance (M).
618.45 mechanism  Only the Connector's owner creates and fills the separate offsets topic; tasks wait for offsets or the sentinel (M).
618.46 interface  The feature is off by default, and must be on at every worker; shipped, it is disabled, preparing or enabled.
618.47 interface  Fencing acts as the connector's admin principal, writes to the config topic as the worker's producer principal.
618.48 interface  Of a separate offsets topic only the name is configured; partitions and replication factor are the worker's, where a task creates it (from 4.4.0 unless 618.54).
618.49 boundary   Ids of the form group-connector-number are not injective: connectors whose ids collide fence one another.
618.50 mechanism  Every worker reads the config topic in read_committed, whether or not the feature is on (shipped: only where it is on).
618.51 mechanism  An answer of a fencing round that is over counts only for the set that the round was for (shipped: for whatever set).
618.52 mechanism  A task whose number is not below the task count of the newest set is not started (shipped: not compared).
618.53 mechanism  A task that the newest set does not have is taken from the worker that claims it, before it is started again (shipped: in eager rebalances).
618.54 interface  With internal.topics.automatic.creation.enable=false (KIP-1209, 4.4.0) no internal or separate offsets topic is created, and one that is missing fails the start.
447.P1 promise    No input is processed twice, or lost, in committed output, while clients are upgraded too.
447.P2 promise    At any time one producer at most makes progress for an input partition.
447.P3 promise    Once faults stop, InitProducerId and OffsetFetch are answered in bounded time.
447.P4 interface  A lone instance never gets an error that ends it: that it is started again is no cure.
447.1  interface  initTransactions(groupAssignment) may be called again on one producer, after each assignment.
447.2  mechanism  It returns only when every transaction that holds committed offsets of the assigned partitions is complete.
447.3  mechanism  The transaction coordinator is found by group id, so that one coordinator sees the assignments of all members.
447.4  interface  InitProducerId carries a transactional id, or a group id with generation and assigned partitions.
447.5  mechanism  For a group, open transactions on the assigned partitions are aborted and their producers fenced before the answer.
447.6  mechanism  The transaction log keys by group id and transactional id, and keeps generation and assigned partitions.
447.7  interface  TxnOffsetCommit carries the generation.
447.8  mechanism  The group coordinator knows producer id and generation for each partition, and refuses another producer of no later generation (85).
447.9  mechanism  While transactional offset commits are pending, OffsetFetch is refused (86; for old clients COORDINATOR_LOAD_IN_PROGRESS), and asked again.
447.10 claim      The wait is bounded by the transaction time-out of one minute.
447.11 interface  consumer.group.aware.transaction is on by default: one producer a thread; brokers are upgraded first.
447.12 claim      Clients of both kinds are safe in one group during an upgrade, given 447.8 and 447.9.
447.15 rejected   The transaction coordinator remembers assignments too: a second copy, which may part from the group's.
447.16 mechanism  Shipped instead: TxnOffsetCommit is checked by member id, generation and instance id; OffsetFetch has require_stable; ids are kept.
447.17 mechanism  initTransactions completes before the new owner's start offsets are fetched.
447.18 mechanism  The offsets of what was consumed are sent inside the transaction.
447.19 mechanism  What the text leaves open: InitProducerId with an older generation, and with an equal one by another producer id.
447.20 rejected   Clients probe the broker's version to choose.
447.21 mechanism  New group protocol: a commit needs the group's member epoch; since KIP-1251 an older one, if every partition was assigned by then.
447.22 interface  TxnOffsetCommit 6 names topics by id, and answers STALE_MEMBER_EPOCH and GROUP_ID_NOT_FOUND (KIP-1319).
src.P1 promise    The offset that a source task is told is durable, never ahead of what a restart resumes from, and never goes back.
src.P2 promise    A restart skips no source record.
src.P3 promise    Nothing stays tracked for ever.
src.P4 promise    Once faults stop, a task gets its records and offsets committed, with no restart while it runs, and a restart meets no error of its own.
src.1  interface  commitRecord is called once for each record that reached Kafka, in no promised order across topics.
src.2  mechanism  Submitted records queue by source partition in the order of the poll; acknowledgements come in any order.
src.3  mechanism  What may be committed of a queue is its longest acknowledged prefix.
src.4  mechanism  The committer writes those offsets to the offsets topic, and calls commit only when that succeeded.
src.5  mechanism  commit(latestCommittedOffsets) has the latest committed offset of each source partition; all that were polled before are committed too.
src.6  interface  The default calls commit(), which is not deprecated: existing tasks behave as before.
src.7  interface  An exception from it is logged and ignored.
src.8  claim      A watermark that is sent upstream from it is safe.
src.9  interface  It speaks of this task's own offsets only.
src.10 mechanism  A flush that failed merges its offsets back, and newer ones win.
src.11 mechanism  A failure that is tolerated acknowledges; a record that is dropped for a retry does not.
src.12 mechanism  The last commit waits for records in flight until a time-out, which is no success.
src.13 mechanism  What is taken of the queues goes to the writer before anything newer is taken (as Kafka does not see to).
939.P1 promise    What the outside coordinator decides of a transaction is what happens to it, once and in every partition, unless an operator intervenes.
939.P2 promise    A prepared transaction survives crashes of clients and coordinators until it is decided, and only an operator ends it otherwise.
939.P3 promise    Once InitProducerId with keepPreparedTxn is answered, no earlier producer ends the transaction, and no two producers have the same answer.
939.P4 promise    Nothing that is written after the store was read for a new producer is committed under an older one.
939.P5 promise    Once faults stop, a producer that restarts is answered, and one that asks for the end of what it found is answered too.
939.P6 promise    A transaction without time-out is begun only with permission.
939.1  mechanism  A transaction of a producer that asked for two-phase commit has no time-out.
939.2  mechanism  InitProducerId with keepPreparedTxn leaves an open transaction as it is, and answers with its id and epoch (PR 21735).
939.3  mechanism  It raises the epoch that clients use, at every call, and the open transaction keeps its own: two pairs of id and epoch.
939.4  mechanism  The markers of a retained transaction carry a newer epoch than the transaction's own.
939.5  mechanism  EndTxn of a retained transaction needs the epoch of the newest answer; that of the transaction itself is fenced.
939.6  mechanism  The end of a retained transaction raises the clients' epoch once more, so that a late EndTxn meets no later transaction.
939.7  mechanism  While markers are on their way InitProducerId with keepPreparedTxn is refused with CONCURRENT_TRANSACTIONS.
939.8  mechanism  While markers are on their way EndTxn is refused with CONCURRENT_TRANSACTIONS, repeated or not (PR 21735).
939.9  mechanism  Two-phase commit needs transaction.two.phase.commit.enable of the brokers and the permission TWO_PHASE_COMMIT.
939.10 mechanism  What is retained has no time-out from then on if its new producer asks for two-phase commit, and keeps none if it had none.
939.11 mechanism  prepareTransaction flushes: the prepared state is handed out once every record is acknowledged.
939.12 mechanism  A prepared transaction takes no further record of its producer.
939.13 mechanism  The producer commits a transaction, or aborts a prepared one, only after the outside coordinator has decided.
939.14 mechanism  What the KIP leaves open: once the store was read for a new producer, it refuses the decision of an older one.
939.15 mechanism  completeTransaction commits if the state in the store is that of the transaction that was found, and aborts otherwise.
939.16 mechanism  An abort that no client asks for raises the epoch above every one that was answered.
939.17 mechanism  Where nothing is open, InitProducerId with keepPreparedTxn is answered with success and without a transaction.
939.18 mechanism  EndTxn that is repeated after success is answered with the same success.
939.19 interface  InitProducerId 6 asks with enable2Pc and keepPreparedTxn, and answers with ongoingTxnProducerId and ongoingTxnProducerEpoch, -1 where nothing is retained.
939.20 interface  AddPartitionsToTxn and records of a retained transaction have its own pair; with the pair of the answer they are refused with INVALID_TXN_STATE (PR 21735).
939.21 interface  ListTransactions finds what is open for longer than a duration, also without time-out; Admin.forceTerminateTransaction ends it without the permission TWO_PHASE_COMMIT.
939.22 interface  The transaction log has the clients' epoch of a retained transaction in a tagged field, which a release that does not know it skips; it reads the rest.
939.23 boundary   InitProducerId with keepPreparedTxn is no fence for records: those of the old epoch are accepted, and may be committed, until the store is read.
939.24 boundary   While no one decides, the last stable offset of every partition of the transaction stands still.
939.25 rejected   InitProducerId with keepPreparedTxn answers with the pair of the open transaction alone (PR 22704).
939.26 rejected   Without keepPreparedTxn on the coordinator (Kafka 4.1 and later) a producer that restarts aborts what was prepared.
939.27 claim      One id may be used with and without two-phase commit in turn.
939.28 claim      Switching two-phase commit off loses no transaction: what was found before can still be ended as decided.
939.29 claim      A store in which the reader writes its abort need not refuse anything (instead of 939.14).
939.30 claim      InitProducerId with keepPreparedTxn may be sent without two-phase commit, which PR 22704 refuses.
""")
