"""This model is the interface of transactions for many producers with transactional ids, as tasks and readers see them.

For each producer and each log to which it writes it does what `Fated` does (model/transactions/abstract), which is
proved (`properties/end_to_end/claims/abstract.py`). It is proved of the end-to-end model that the core of v2 can
replace any one transactional id here (`over_core.py`).

It adds which producers share a transactional id. An initialisation of the id, or Admin.fenceProducers, completes when
the id's transaction is settled, and fences all of these producers except the one that asked.
"""

from fencepost.model.end_to_end.outside import OF_PRODUCERS
from fencepost.model.language import (
    Map,
    Nat,
    Protocol,
    Set,
    Sort,
    action,
    danger,
    each,
    either,
    exists,
    forall,
    implies,
    require,
)
from fencepost.model.transactions.abstract.core import Outcome


class Producer(Sort, bound="producers"):
    """A `Producer` is a producer, from the time when it initialises its transactional id until it does so again."""


class Log(Sort, bound="logs"):
    """A `Log` is a partition to which producers write records."""


class Name(Nat, upto="names - 1"):
    """A `Name` is a transactional id."""


class Producers(Protocol):
    """Producers write records to logs of their own choice, and all of them write offsets to one more log."""

    actors = ("coordinator", "admin")

    known: Set[Producer]  # it has initialised an id
    name: Map[Producer, Name]  # the transactional id that it initialised last
    open: Set[Producer]  # it has begun a transaction with the newest epoch, which is not decided
    fenced: Set[Producer]  # its epoch is not the newest one
    outcome: Map[Producer, Outcome]  # of its decided transaction, until all markers have arrived
    has: Set[Producer, Log]  # something of its transaction is in the log, and no marker has come for it
    has_offsets: Set[Producer]  # offsets of its transaction are in their log, without a marker
    awaits: Set[Producer, Log]  # the marker of the transaction that was decided last has not come to the log
    awaits_offsets: Set[Producer]

    outside = OF_PRODUCERS

    @action
    def initialise(s, k: Producer, n: Name):
        """The producer receives the answer that it has the newest epoch of the transactional id."""
        require(s.is_settled(k))
        require(s.all_settled(n), rule="txn.3")
        s.open = each(lambda j: s.open[j] & ~s.is_of(j, n) & (j != k))
        s.fenced = each(lambda j: (j != k) & either("txn.1", s.fenced[j] | s.is_of(j, n), shuts_nobody_out=s.fenced[j]))
        s.known[k] = True
        s.name[k] = n

    @action(by="admin", to="coordinator")
    def fence(s, n: Name):
        """An administrator receives the answer that the transactional id is fenced."""
        require(s.all_settled(n), rule="txn.3")
        s.open = each(lambda j: s.open[j] & ~s.is_of(j, n))
        s.fenced = each(lambda j: s.fenced[j] | s.is_of(j, n))

    def all_settled(s, n):
        return forall(Producer, lambda j: implies(s.is_of(j, n), ~s.has_offsets[j] & ~s.is_decided(j))) & forall(
            Producer, Log, lambda j, q: implies(s.is_of(j, n), ~s.has[j, q])
        )

    def is_of(s, j, n):
        return s.known[j] & (s.name[j] == n)

    @action
    def begin(s, k: Producer):
        """A producer begins a transaction; the markers of the previous one may still be in flight."""
        require(s.known[k] & ~s.open[k] & ~s.fenced[k])
        s.open[k] = True

    @action
    def accept(s, k: Producer, q: Log):
        """A record of the open transaction is in its log."""
        require(s.is_current(k))
        s.has[k, q] = True

    @action
    def accept_offsets(s, k: Producer):
        """Offsets of the open transaction are in their log."""
        require(s.is_current(k))
        s.has_offsets[k] = True

    @action(by="coordinator", to="k")
    def commit(s, k: Producer):
        """EndTxn that asks for a commit takes effect, whenever and however often it was sent."""
        require(s.is_current(k) & s.has_something(k))
        s.decide(k, Outcome.COMMIT)

    @action(by="coordinator", to="k")
    def abort(s, k: Producer):
        """EndTxn that asks for an abort takes effect, even if nothing of the transaction has arrived."""
        require(s.is_current(k))
        s.decide(k, Outcome.ABORT)

    @action(fair="weak", danger="time-out", by="coordinator", to="k")
    def give_up(s, k: Producer):
        """The transaction takes too long, or an initialisation finds it open: it is aborted, its producer fenced."""
        require(s.is_current(k))
        s.decide(k, Outcome.ABORT)
        s.fenced[k] = True

    def decide(s, k, outcome):
        s.open[k] = False
        s.outcome[k] = outcome
        s.awaits = each(lambda j, q: s.awaits[j, q] | (j == k))
        s.awaits_offsets[k] = True

    @action
    def accept_in_vain(s, k: Producer, q: Log):
        """A record arrives before the marker of its transaction, which is to be aborted."""
        require(s.awaits[k, q] & (s.outcome[k] == Outcome.ABORT))
        s.has[k, q] = True

    @action
    def accept_offsets_in_vain(s, k: Producer):
        """Offsets arrive before the marker of their transaction, which is to be aborted."""
        require(s.awaits_offsets[k] & (s.outcome[k] == Outcome.ABORT))
        s.has_offsets[k] = True

    @action(fair="weak", by="coordinator", to="q")
    def mark(s, k: Producer, q: Log):
        """The marker arrives at a log of records."""
        require(s.awaits[k, q])
        s.awaits[k, q] = False
        s.has[k, q] = False

    @action(fair="weak", by="coordinator")
    def mark_offsets(s, k: Producer):
        """The marker arrives at the log of offsets."""
        require(s.awaits_offsets[k])
        s.awaits_offsets[k] = False
        s.has_offsets[k] = False

    @action(fair="weak", by="coordinator")
    def complete(s, k: Producer):
        """The marker has arrived at every log that holds something of the transaction, and is sent to no other."""
        require(s.is_decided(k) & ~s.has_something(k))
        s.outcome[k] = Outcome.NONE
        s.awaits = each(lambda j, q: s.awaits[j, q] & (j != k))
        s.awaits_offsets[k] = False

    def is_current(s, k):
        """Requests of the producer's open transaction take effect."""
        return s.open[k] & ~s.fenced[k] & ~s.is_decided(k)

    def is_decided(s, k):
        return s.outcome[k] != Outcome.NONE

    def has_something(s, k):
        return s.has_offsets[k] | exists(Log, lambda q: s.has[k, q])

    def is_settled(s, k):
        """Return whether no log has anything undecided of the producer, and no marker is outstanding."""
        return ~s.has_something(k) & ~s.is_decided(k)

    @danger("reordering")
    def markers_one_by_one(s):
        """The marker has arrived at one log of a committed transaction, and not at another."""
        return exists(Producer, Log, lambda k, q: s.awaits_offsets[k] & s.has_offsets[k] & ~s.awaits[k, q]) | exists(
            Producer, Log, lambda k, q: s.awaits[k, q] & s.has[k, q] & ~s.awaits_offsets[k]
        )

    @danger("several-ids")
    def two_are_open(s):
        """Producers of two transactional ids have transactions open."""
        return exists(Producer, Producer, lambda j, k: s.open[j] & s.open[k] & (s.name[j] != s.name[k]))
