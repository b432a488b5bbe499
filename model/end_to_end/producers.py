"""The transactions of producers with transactional ids, as tasks and readers see them: the interface, for many at once.

Of each producer and each log that it writes to this says what `Fated` says (model/transactions/abstract), and proves
it (`properties/end_to_end/claims/abstract.py`).  That the core of v2 takes the place of any one transactional id here
is proved of the whole (`over_core.py`).

What it adds is which producers have one transactional id: an initialisation of the id, or Admin.fenceProducers, is over
when the transaction that the id has is settled, and shuts out all of them but the one that asked.
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
    """A producer, from the time when it initialises its transactional id until it does again."""


class Log(Sort, bound="logs"):
    """A partition that producers write records to."""


class Name(Nat, upto="names - 1"):
    """A transactional id."""


class Producers(Protocol):
    """Producers, the logs that they write records to, and one more log, of offsets, that all of them write to."""

    known: Set[Producer]  # it has initialised an id
    name: Map[Producer, Name]  # the transactional id that it initialised last
    open: Set[Producer]  # it has begun a transaction with the newest epoch, which is not decided
    fenced: Set[Producer]  # its epoch is not the newest one
    outcome: Map[Producer, Outcome]  # of its transaction that is decided, until it is known that all markers have come
    has: Set[Producer, Log]  # something of its transaction is in the log, and no marker has come for it
    has_offsets: Set[Producer]  # so it is in the log of offsets
    awaits: Set[Producer, Log]  # the marker of the transaction that was decided last has not come to the log
    awaits_offsets: Set[Producer]

    outside = OF_PRODUCERS

    @action
    def initialise(s, k: Producer, n: Name):
        """The producer is answered that it has the newest epoch of the id."""
        require(s.is_settled(k))
        require(s.all_settled(n), rule="txn.3")
        s.open = each(lambda j: s.open[j] & ~s.is_of(j, n) & (j != k))
        s.fenced = each(lambda j: (j != k) & either("txn.1", s.fenced[j] | s.is_of(j, n), shuts_nobody_out=s.fenced[j]))
        s.known[k] = True
        s.name[k] = n

    @action
    def fence(s, n: Name):
        """An administrator is answered that the id is fenced."""
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
        """The markers of the transaction before may be on their way."""
        require(s.known[k] & ~s.open[k] & ~s.fenced[k])
        s.open[k] = True

    @action
    def accept(s, k: Producer, q: Log):
        """A record is in the log."""
        require(s.is_current(k))
        s.has[k, q] = True

    @action
    def accept_offsets(s, k: Producer):
        """Offsets are in theirs."""
        require(s.is_current(k))
        s.has_offsets[k] = True

    @action
    def commit(s, k: Producer):
        """EndTxn takes effect, whenever it was sent, and however often."""
        require(s.is_current(k) & s.has_something(k))
        s.decide(k, Outcome.COMMIT)

    @action
    def abort(s, k: Producer):
        """So does one that asks for an abort.  It may be that nothing has come of the transaction."""
        require(s.is_current(k))
        s.decide(k, Outcome.ABORT)

    @action(fair="weak", danger="time-out")
    def give_up(s, k: Producer):
        """The transaction takes too long, or an initialisation finds it open: it is to be aborted, its producer is
        fenced."""
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
        """A record comes before the marker of its transaction, which is to be aborted."""
        require(s.awaits[k, q] & (s.outcome[k] == Outcome.ABORT))
        s.has[k, q] = True

    @action
    def accept_offsets_in_vain(s, k: Producer):
        """So do offsets."""
        require(s.awaits_offsets[k] & (s.outcome[k] == Outcome.ABORT))
        s.has_offsets[k] = True

    @action(fair="weak")
    def mark(s, k: Producer, q: Log):
        """The marker comes to a log."""
        require(s.awaits[k, q])
        s.awaits[k, q] = False
        s.has[k, q] = False

    @action(fair="weak")
    def mark_offsets(s, k: Producer):
        """It comes to the log of offsets."""
        require(s.awaits_offsets[k])
        s.awaits_offsets[k] = False
        s.has_offsets[k] = False

    @action(fair="weak")
    def complete(s, k: Producer):
        """It has come wherever something of the transaction is, and goes nowhere else."""
        require(s.is_decided(k) & ~s.has_something(k))
        s.outcome[k] = Outcome.NONE
        s.awaits = each(lambda j, q: s.awaits[j, q] & (j != k))
        s.awaits_offsets[k] = False

    def is_current(s, k):
        """Requests of its open transaction take effect."""
        return s.open[k] & ~s.fenced[k] & ~s.is_decided(k)

    def is_decided(s, k):
        return s.outcome[k] != Outcome.NONE

    def has_something(s, k):
        return s.has_offsets[k] | exists(Log, lambda q: s.has[k, q])

    def is_settled(s, k):
        """Nothing of it is in a log that is not over."""
        return ~s.has_something(k) & ~s.is_decided(k)

    @danger("reordering")
    def markers_one_by_one(s):
        """The marker has come to one log of a committed transaction, and not to another."""
        return exists(Producer, Log, lambda k, q: s.awaits_offsets[k] & s.has_offsets[k] & ~s.awaits[k, q]) | exists(
            Producer, Log, lambda k, q: s.awaits[k, q] & s.has[k, q] & ~s.awaits_offsets[k]
        )

    @danger("several-ids")
    def two_are_open(s):
        """Producers of two transactional ids have transactions open."""
        return exists(Producer, Producer, lambda j, k: s.open[j] & s.open[k] & (s.name[j] != s.name[k]))
