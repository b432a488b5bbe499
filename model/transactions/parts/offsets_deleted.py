"""Offsets that are deleted while a transaction has them pending: OffsetDelete, or the end of their group or topic.

A tombstone takes away what is in force and what is pending, of every producer (OffsetMetadataManager.replay).  The
marker that comes afterwards finds nothing: the transaction commits, and its offset does not count, since the tombstone
stands after it in the log.  Expiry waits for what is pending; an administrator does not.
"""

from fencepost.model.language import Bool, action, each, either, exists, require, when
from fencepost.model.transactions.parts.offsets import Fate, Producer, Record, TransactionalOffsets


class OffsetsDeleted(TransactionalOffsets):
    """Tombstones at any time."""

    @action
    def delete(s, r: Record):
        """A tombstone, whatever is pending."""
        s.may_append(r)
        s.pending = each(lambda x: either("txn.21", False, left_pending=s.pending[x]))
        s.waiting = each(lambda p: either("txn.21", False, left_pending=s.waiting[p]))
        s.in_force = None
        s.since = 0
        s.empty[r] = True
        s.emptied = r
        s.emptied_place = s.end
        s.append(r, Fate.COMMITTED)

    @action(fair="weak")
    def end_without(s, p: Producer, commits: Bool):
        """The marker of a transaction comes of which nothing is pending any more."""
        require(s.is_loaded() & s.open[p] & ~s.waiting[p])
        s.commit_marker[p, s.end] = commits
        s.abort_marker[p, s.end] = ~commits
        s.end_of_transaction(p, when(commits, Fate.COMMITTED, Fate.ABORTED))

    @action
    def fetch(s):
        """It need not wait for a transaction whose offset stands before a tombstone: no marker brings that back."""
        require(s.is_loaded())
        require(s.is_settled(), rule="txn.21")
        may_change = exists(Record, lambda x: (s.fate[x] == Fate.OPEN) & (s.last_place < s.place[x]))
        s.fetched = each(lambda x: s.fetched[x] | (s.in_force == x))
        s.fetched_early = s.fetched_early | may_change

    @action(fair="weak")
    def read_plain(s, r: Record):
        """A tombstone takes away what is pending when it is read again, too."""
        empties = s.kept[r] & s.empty[r]
        pending = each(lambda x: s.pending[x] & ~empties)
        waiting = each(lambda p: s.waiting[p] & ~empties)
        TransactionalOffsets.read_plain(s, r)
        s.pending = pending
        s.waiting = waiting
