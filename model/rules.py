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
618.4  mechanism  A set of configurations that stands after the latest count record needs a round of fencing.
618.7  mechanism  The task count record is written only after every fencing succeeded.
618.6  mechanism  The ids fenced are as many as the latest count record says.
618.16 mechanism  A task start is abandoned unless the latest count record stands after its set of configurations.
618.18 mechanism  A task's transactional producer is opened, which fences the previous holder of the id.
618.19 mechanism  After that the task reads to the end again and gives up if there is a newer set than its own.
618.24 mechanism  A worker that becomes leader opens a transactional producer, and only the latest leader can write.
618.43 mechanism  After fencing the leader reads to the end, writes nothing if a newer set exists, and can't regain the right to write in between.
618.P1 promise    Once a task of one generation polls, no producer of an earlier generation can commit.
618.P3 promise    Every producer that may be alive is covered by the latest count record, or belongs to the newest set.
""")
