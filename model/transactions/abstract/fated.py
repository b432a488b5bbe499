"""This model is the interface of transactions: one producer's transactions as an observer sees them who only
waits for their outcome.

A consumer group is such an observer. Offsets that a member commits in a transaction are accepted by the group's
coordinator, and count, or are forgotten, when the marker arrives. The model has no clients, coordinators, epochs,
requests or markers. `properties.transactions.claims.core_overlapping` proves that the core of v2 does nothing else, for
each of its clients and each of its partitions, with everything that may happen to requests and coordinators there.

The producer requests `begin`, `accept`, `commit` and `abort`. Each stands for the moment when the request takes effect,
if it ever does, since it may have been delayed for long and may have arrived several times. `end`, `give_up` and
`fence` happen to a producer that requested nothing.

The model leaves out what delays a reader and never counts: offsets that arrive when their transaction is already to be
aborted.
"""

from fencepost.model.language import Bool, Protocol, action, require
from fencepost.model.transactions.abstract.core import Outcome


class Fated(Protocol):
    """This model has a producer, and a partition that accepts its offsets."""

    actors = ("coordinator",)

    open: Bool  # the producer has begun a transaction with the newest epoch, which is not decided
    accepted: Bool  # offsets are in the partition, neither decided there nor to be aborted
    decided: Outcome  # of the transaction before, or of the last one, while its marker is on its way
    fenced: Bool  # the newest epoch is not the producer's, and not on its way to it
    astray: Bool  # something of the producer is in a transaction, or came to an end, that it was not sent for

    @action
    def begin(s):
        """The producer begins a transaction; the markers of the previous one may still be in flight."""
        require(~s.open & ~s.fenced)
        s.open = True

    @action
    def accept(s):
        """Offsets of the open transaction arrive in time; those of a fenced producer or earlier are not accepted."""
        require(s.is_current())
        s.accepted = True

    @action
    def commit(s):
        """The producer commits, and the offsets will count."""
        require(s.is_current())
        s.open = False
        s.decided = Outcome.COMMIT

    @action
    def abort(s):
        """The producer aborts, and the offsets will not count."""
        require(s.is_current())
        s.open = False
        s.accepted = False
        s.decided = Outcome.ABORT

    @action
    def end(s):
        """The marker reaches the partition, or the transaction is complete and the partition had no part in it."""
        require(s.decided != Outcome.NONE)
        s.accepted = False
        s.decided = Outcome.NONE

    @action
    def give_up(s):
        """The transaction takes too long or another producer initialises the id: it is aborted and fenced."""
        require(s.is_current())
        s.open = False
        s.accepted = False
        s.decided = Outcome.ABORT
        s.fenced = True

    @action
    def fence(s):
        """Another producer initialises the id, or an administrator fences it, and finds nothing to abort."""
        require(s.is_settled() & ~s.fenced)
        s.open = False
        s.fenced = True

    @action
    def initialise(s):
        """The producer, or one in its place, gets the newest epoch, and what was begun before is forgotten."""
        require(s.is_settled())
        s.open = False
        s.fenced = False

    def is_current(s):
        """Requests of the open transaction take effect."""
        return s.open & ~s.fenced & (s.decided == Outcome.NONE)

    def is_settled(s):
        """Return whether no offsets wait for an outcome and no marker is in flight."""
        return ~s.accepted & (s.decided == Outcome.NONE)
