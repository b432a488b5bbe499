"""One producer's transactions as those see them who only wait for how they end: the interface of transactions.

A consumer group is such a one: offsets that a member commits in a transaction are taken by the group's coordinator,
and count, or are forgotten, when the marker comes.  Of clients, coordinators, epochs, requests and markers this says
nothing; `properties.transactions.claims.core_overlapping` proves that the core of v2 does nothing else, for each of its
clients and each of its partitions, with everything that may happen to requests and coordinators there.

`begin`, `accept`, `commit` and `abort` are what the producer asks for, at the moment when it takes effect, if it ever
does: the request may have been under way for long, and have come several times.  `end`, `give_up` and `fence` happen to
a producer that asked for nothing.

Left out is what delays a reader and never counts: offsets that arrive when their transaction is to be aborted already.
"""

from fencepost.model.language import Bool, Protocol, action, require
from fencepost.model.transactions.abstract.core import Outcome


class Fated(Protocol):
    """A producer, and a partition that takes its offsets."""

    open: Bool  # the producer has begun a transaction with the newest epoch, which is not decided
    accepted: Bool  # offsets are in the partition, neither decided there nor to be aborted
    decided: Outcome  # of the transaction before, or of the last one, while its marker is on its way
    fenced: Bool  # the newest epoch is not the producer's, and not on its way to it
    astray: Bool  # something of the producer is in a transaction, or came to an end, that it was not sent for

    @action
    def begin(s):
        """The markers of the transaction before may be on their way."""
        require(~s.open & ~s.fenced)
        s.open = True

    @action
    def accept(s):
        """Offsets arrive in time: nothing of an earlier transaction does, or of a producer that is fenced."""
        require(s.is_current())
        s.accepted = True

    @action
    def commit(s):
        """The offsets will count."""
        require(s.is_current())
        s.open = False
        s.decided = Outcome.COMMIT

    @action
    def abort(s):
        """They will not."""
        require(s.is_current())
        s.open = False
        s.accepted = False
        s.decided = Outcome.ABORT

    @action
    def end(s):
        """The marker reaches the partition, or all is over where the partition has no part in it."""
        require(s.decided != Outcome.NONE)
        s.accepted = False
        s.decided = Outcome.NONE

    @action
    def give_up(s):
        """The transaction takes too long, or another producer initialises the id: it is aborted, its producer
        fenced."""
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
        """The producer, or one in its place, has the newest epoch; what was begun before is forgotten."""
        require(s.is_settled())
        s.open = False
        s.fenced = False

    def is_current(s):
        """Requests of the open transaction take effect."""
        return s.open & ~s.fenced & (s.decided == Outcome.NONE)

    def is_settled(s):
        """Nothing has arrived that is not over."""
        return ~s.accepted & (s.decided == Outcome.NONE)
