"""The ledger: every rule of every proposal by number, with its kind and, in our words, what it says.

Kinds: *promise* (what it is all for), *mechanism* (something done: can be dropped, swapped, shifted), *claim* (to be
proved or refuted), *interface* (a format, a code, a default: held by tests of the reference implementation), *boundary*
(the guarantee ends here), *rejected* (an alternative: shown to fail).  The source is named by proposal; ``730.7`` is
the seventh rule of KIP-730.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    number: str
    kind: str
    says: str


def _ledger(text: str) -> dict[str, Rule]:
    rules = {}
    for line in text.strip().splitlines():
        number, kind, says = line.split(maxsplit=2)
        rules[number] = Rule(number, kind, says)
    return rules


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
618.4  mechanism  A set of configurations that stands after the latest count record needs a round of fencing.
618.7  mechanism  The task count record is written only after every fencing succeeded.
618.6  mechanism  The ids fenced are as many as the latest count record says.
618.12 mechanism  One id is fenced by InitProducerId without id or epoch at its coordinator, which ends an unfinished transaction first.
618.13 interface  Admin.fenceProducers gives a producer id and epoch per id, and fails as a whole if one of them fails.
618.16 mechanism  A task start is abandoned unless the latest count record stands after its set of configurations.
618.18 mechanism  A task's transactional producer is opened, which fences the previous holder of the id.
618.19 mechanism  After that the task reads to the end again and gives up if there is a newer set than its own.
618.24 mechanism  A worker that becomes leader opens a transactional producer, and only the latest leader can write.
618.43 mechanism  After fencing the leader reads to the end, writes nothing if a newer set exists, and can't regain the right to write in between.
618.P1 promise    Once a task of one generation polls, no producer of an earlier generation can commit.
618.P3 promise    Every producer that may be alive is covered by the latest count record, or belongs to the newest set.
""")
