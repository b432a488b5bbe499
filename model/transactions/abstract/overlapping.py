"""In these models a deposed coordinator that does not know of its successor still answers requests that need no append.

Such a coordinator answers from its cache, and a cache read does not check leadership (TransactionStateManager.scala).
It answers whether a partition is part of the open transaction, to a leader that asks or to an owner that adds the
partition, and it answers a repeated EndTxn. Every other request needs a record in the log, which belongs to the
successor.
"""

from fencepost.model.language import Bool, Map, Set, action, each, require, when
from fencepost.model.transactions.abstract.core import Epoch, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.cores import (
    Asking,
    V1Core,
    V2Core,
)


class Overlapping(Asking):
    """The cache of a deposed coordinator stays as it was at the fail-over, and is never discarded."""

    held: Set[Partition, Epoch]  # part of the open transaction in a deposed coordinator's cache
    settled: Set[Epoch, Bool]  # how that cache has the transaction of the epoch ended: True is a commit

    def depose(s):
        s.held = each(lambda p, e: s.held[p, e] | s.still_has(p, e))
        s.settled = each(lambda e, commit: s.settled[e, commit] | s.is_settled(e, commit))

    def still_has(s, p, e):
        return (s.phase == Phase.ONGOING) & s.parts[p] & (e == s.epoch)

    def is_settled(s, e, commit):
        ended = ((s.outcome == Outcome.COMMIT) & commit) | ((s.outcome == Outcome.ABORT) & ~commit)
        return (s.phase == Phase.IDLE) & ended & (e == s.settled_epoch())

    def settled_epoch(s):
        """Return the epoch in an EndTxn that repeats the last one, which is also the epoch in its answer."""
        return s.epoch

    def settled_as(s, e):
        return e

    @action(danger="overlapping-coordinators")
    def verify_by_deposed(s, t: Txn, p: Partition):
        """The deposed coordinator confirms a partition to a leader."""
        require(s.sent[t, p] & s.held[p, s.number[t]])
        s.cleared[t, p] = True

    @action(danger="overlapping-coordinators")
    def answer_again_by_deposed(s, t: Txn):
        """The deposed coordinator takes an EndTxn for a repetition of the one that it has answered."""
        require((s.choice[t] != Outcome.NONE) & s.in_time(t))
        require(s.settled[s.number[t], s.choice[t] == Outcome.COMMIT])
        s.success[t] = True
        s.follows[t] = s.settled_as(s.number[t])


class OverlappingV1(Overlapping, V1Core):
    """In v1 owners add partitions, and the deposed coordinator takes those in its cache for added already."""

    @action(danger="overlapping-coordinators")
    def add_by_deposed(s, t: Txn, p: Partition):
        require(s.add_in_time(t) & s.held[p, s.number[t]])
        s.added[t, p] = True


class OverlappingV2(Overlapping, V2Core):
    """In v2 a partition that was marked since the fail-over knows a later epoch than the one that the deposed
    coordinator confirms. The last append of the deposed coordinator may be in the log without its knowledge, and then
    its successor finds a transaction prepared that the deposed one has open."""

    settled_to: Map[Epoch, Epoch]  # the epoch after the one that ended, in its answer

    def depose(s):
        Overlapping.depose(s)
        idle = (s.phase == Phase.IDLE) & (s.outcome != Outcome.NONE)
        s.settled_to = each(lambda e: when(idle & (e == s.ended), s.epoch, s.settled_to[e]))

    def still_has(s, p, e):
        prepared = (s.phase == Phase.PREPARED) & s.parts[p] & (e == s.ended)
        return prepared | Overlapping.still_has(s, p, e)

    def settled_epoch(s):
        return s.ended

    def settled_as(s, e):
        return s.settled_to[e]
