"""What transactions promise, in terms that the cores and the full models share.

txn.P6 is in `sequences.py`, txn.P9 in `recovery.py`; what a reader gets of all this is in `reading.py`.
"""

from fencepost.model.language import Properties, exists, forall, implies, leads_to, progress, promise, step, witness
from fencepost.model.transactions.abstract.core import Client, Epoch, Fate, Outcome, Partition, Phase, Txn


class Promises(Properties):
    """The promises of one transactional id."""

    @promise(rule="txn.P1")
    def no_zombie_write(s):
        """What was accepted from an owner after a newer owner's InitProducerId was answered is never committed."""
        return forall(Txn, Partition, lambda t, p: ~(s.late[t, p] & (s.fate[t, p] == Fate.COMMITTED)))

    @promise(rule="txn.P2")
    def one_fate(s):
        """No transaction is committed in one partition and aborted in another."""
        return forall(
            Txn,
            Partition,
            Partition,
            lambda t, p, q: ~((s.fate[t, p] == Fate.COMMITTED) & (s.fate[t, q] == Fate.ABORTED)),
        )

    @promise(rule="txn.P3")
    def nothing_committed_unasked(s):
        """Only what its owner asked to commit is committed: an aborted or open transaction is never visible."""
        return forall(
            Txn, Partition, lambda t, p: implies(s.fate[t, p] == Fate.COMMITTED, s.choice[t] == Outcome.COMMIT)
        )

    @promise(rule="txn.P4")
    def nothing_lost(s):
        """Once the owner is told that its transaction is committed, each of its records is, or its marker is under
        way."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.told_committed(t) & s.sent[t, p], (s.fate[t, p] == Fate.COMMITTED) | s.coming(t, p)),
        )

    @promise(rule="txn.P5")
    def as_told(s):
        """No record of a transaction comes to another end than the one that its owner was told."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.told[t],
                implies(s.fate[t, p] == Fate.COMMITTED, s.choice[t] == Outcome.COMMIT)
                & implies(s.fate[t, p] == Fate.ABORTED, s.choice[t] == Outcome.ABORT),
            ),
        )

    @promise(rule="txn.P7")
    def one_owner(s):
        """No epoch is given to two owners."""
        return forall(Client, Client, Epoch, lambda c, d, e: implies(s.given[c, e] & s.given[d, e], c == d))

    @step(rule="txn.P7")
    def epochs_go_up(old, new):
        """The epoch of the transactional id never goes down."""
        return old.epoch <= new.epoch

    @promise(rule="txn.P10")
    def nothing_hangs(s):
        """An open record is of a transaction that the coordinator has open or prepared, in a partition that it will
        send a marker to: the last stable offset moves again."""
        return forall(Txn, Partition, lambda t, p: implies(s.fate[t, p] == Fate.OPEN, s.takes_part(t, p)))

    @promise(rule="618.P1")
    def nothing_open_after_a_fence(s):
        """Once InitProducerId is answered, nothing of an older epoch is undecided any more."""
        return forall(Txn, Partition, lambda t, p: implies(s.fate[t, p] == Fate.OPEN, s.fence <= s.number[t]))

    def takes_part(s, t, p):
        return s.parts[p] & s.is_under_way(t) & ~s.marked[p]

    def is_under_way(s, t):
        ongoing = (s.phase == Phase.ONGOING) & (s.number[t] == s.epoch)
        return ongoing | ((s.phase == Phase.PREPARED) & (s.number[t] == s.ended))

    @progress(rule="txn.P10")
    def ends_in_the_end(s):
        """Whatever is open or prepared is over in the end."""
        return leads_to(s.phase != Phase.IDLE, s.phase == Phase.IDLE)

    @progress(rule="txn.P10")
    def decided_in_the_end(s, t: Txn, p: Partition):
        """No record stays undecided: the last stable offset moves."""
        return leads_to(s.fate[t, p] == Fate.OPEN, s.fate[t, p] != Fate.OPEN)

    def told_committed(s, t):
        return s.told[t] & (s.choice[t] == Outcome.COMMIT)

    def coming(s, t, p):
        """The marker that commits this record is not written yet, and will be."""
        return (
            (s.fate[t, p] == Fate.OPEN)
            & (s.phase == Phase.PREPARED)
            & (s.outcome == Outcome.COMMIT)
            & s.parts[p]
            & ~s.marked[p]
        )

    @witness(of="no_zombie_write")
    def fenced_while_open(s):
        """An owner was fenced, and a newer one has a record committed."""
        return exists(
            Txn,
            Txn,
            Partition,
            lambda t, u, p: s.begun[t] & (s.number[t] < s.fence) & (s.fate[u, p] == Fate.COMMITTED)
            & (s.number[t] < s.number[u]),
        )  # fmt: skip

    @witness(of="nothing_hangs")
    def open_while_prepared(s):
        """A record is open, and its marker under way."""
        return exists(Txn, Partition, lambda t, p: (s.fate[t, p] == Fate.OPEN) & (s.phase == Phase.PREPARED))

    @witness(of="nothing_open_after_a_fence")
    def open_after_a_fence(s):
        """A second owner has a record open."""
        return exists(Txn, Partition, lambda t, p: (s.fate[t, p] == Fate.OPEN) & s.second_owner(t))

    def second_owner(s, t):
        return exists(Client, Epoch, lambda c, e: s.given[c, e] & (c != s.owner[t]) & (e < s.number[t]))

    @witness(of="one_fate")
    def two_partitions(s):
        """A transaction is committed in two partitions."""
        return exists(
            Txn,
            Partition,
            Partition,
            lambda t, p, q: (p != q) & (s.fate[t, p] == Fate.COMMITTED) & (s.fate[t, q] == Fate.COMMITTED),
        )

    @witness(of="nothing_committed_unasked")
    def both_ends(s):
        """One transaction is committed and another one aborted in the same partition."""
        return exists(
            Txn,
            Txn,
            Partition,
            lambda t, u, p: (s.fate[t, p] == Fate.COMMITTED) & (s.fate[u, p] == Fate.ABORTED),
        )

    @witness(of="nothing_lost")
    def told_before_the_marker(s):
        """The owner is told of the commit while a marker is still under way."""
        return exists(Txn, Partition, lambda t, p: s.told_committed(t) & s.coming(t, p))

    @witness(of="as_told")
    def told_aborted(s):
        """An owner is told that its transaction is aborted, with a record in a partition."""
        return exists(
            Txn, Partition, lambda t, p: s.told[t] & (s.choice[t] == Outcome.ABORT) & (s.fate[t, p] == Fate.ABORTED)
        )

    @witness(of="one_owner")
    def two_owners(s):
        """Two owners have been given epochs."""
        return exists(Client, Client, Epoch, Epoch, lambda c, d, e, f: (c != d) & s.given[c, e] & s.given[d, f])

    @witness(of="epochs_go_up")
    def third_epoch(s):
        """The id is in its third epoch."""
        return s.epoch >= 2

    @witness(of="ends_in_the_end")
    def prepared(s):
        """A transaction is prepared."""
        return s.phase == Phase.PREPARED

    @witness(of="decided_in_the_end")
    def undecided(s):
        """A record is open."""
        return exists(Txn, Partition, lambda t, p: s.fate[t, p] == Fate.OPEN)
