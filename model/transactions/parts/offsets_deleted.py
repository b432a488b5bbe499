"""In this model offsets are deleted while a transaction has them pending, by OffsetDelete or with their group or topic.

A tombstone removes what is in force and what is pending, of every producer (OffsetMetadataManager.replay). The marker
that arrives afterwards finds nothing: the transaction commits, and its offset does not count, since the tombstone
stands after it in the log. Expiry waits for pending offsets, and an administrator does not.
"""

from fencepost.model.language import Bool, action, each, either, exists, require, when
from fencepost.model.transactions.parts.offsets import Fate, Producer, Record, TransactionalOffsets


class OffsetsDeleted(TransactionalOffsets):
    """In the `OffsetsDeleted` model tombstones are written at any time."""

    @action
    def delete(s, r: Record):
        """A tombstone is written, whatever is pending."""
        s.may_append(r)
        s.pending = each(lambda x: either("txn.21", False, left_pending=s.pending[x]))
        s.waiting = each(lambda p: either("txn.21", False, left_pending=s.waiting[p]))
        s.in_force = None
        s.since = 0
        s.empty[r] = True
        s.emptied = r
        s.emptied_place = s.end
        s.append(r, Fate.COMMITTED)

    @action(fair="weak", by="coordinator")
    def end_without(s, p: Producer, commits: Bool):
        """The marker of a transaction arrives of which nothing is pending any more."""
        require(s.is_loaded() & s.open[p] & ~s.waiting[p])
        s.commit_marker[p, s.end] = commits
        s.abort_marker[p, s.end] = ~commits
        s.end_of_transaction(p, when(commits, Fate.COMMITTED, Fate.ABORTED))

    @action
    def fetch(s):
        """OffsetFetch need not wait for an offset before a tombstone, since no marker restores it."""
        require(s.is_loaded())
        require(s.is_settled(), rule="txn.21")
        may_change = exists(Record, lambda x: (s.fate[x] == Fate.OPEN) & (s.last_place < s.place[x]))
        s.fetched = each(lambda x: s.fetched[x] | (s.in_force == x))
        s.fetched_early = s.fetched_early | may_change

    @action(fair="weak")
    def read_plain(s, r: Record):
        """A tombstone that a new coordinator reads removes the pending offsets, too."""
        empties = s.kept[r] & s.empty[r]
        pending = each(lambda x: s.pending[x] & ~empties)
        waiting = each(lambda p: s.waiting[p] & ~empties)
        TransactionalOffsets.read_plain(s, r)
        s.pending = pending
        s.waiting = waiting
