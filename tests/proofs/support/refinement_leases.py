"""Leases and logs: a core in which one step does what the full protocol does by message, or through a buffer.

The first core hands one lease round; the full protocol sends requests and grants, which may be lost.  The second
appends to a log, which no proof can speak of, so that only bounded engines see it.
"""

from fencepost.model.language import (
    Bool,
    Constant,
    Ghost,
    Map,
    Nat,
    Option,
    Properties,
    Protocol,
    Seq,
    Set,
    Sort,
    action,
    append,
    at,
    axiom,
    each,
    fault,
    forall,
    length,
    refinement,
    require,
    when,
)  # fmt: skip


class Node(Sort, bound="nodes"):
    """A node."""


class Term(Nat, upto="terms"):
    """Which lease."""


class Slot(Nat, upto="slots"):
    """A place in the log of leases."""


class Lease(Protocol):
    """One node at a time has the lease; each lease has a term, skipping some perhaps, and an owner on record."""

    spare: Constant[Nat]
    term: Term
    holding: Set[Node]
    owner: Map[Term, Option[Node]]
    ever: Ghost[Bool]

    @axiom
    def some_to_spare(s):
        return s.spare >= 1

    def init(s):
        s.term = 1

    @action
    def acquire(s, n: Node, t: Term):
        """A free lease goes to a node, under any later term within reach."""
        require(forall(Node, lambda m: ~s.holding[m]))
        require((s.term < t) & (t <= s.term + s.spare))
        s.holding[n] = True
        s.owner[t] = n
        s.term = t
        s.ever = True

    @action
    def release(s, n: Node):
        """The holder gives it back."""
        require(s.holding[n])
        s.holding[n] = False


class Messages(Protocol):
    """The same by messages: a node asks and is granted the next term, and has the lease while the grant is on its
    way."""

    spare: Constant[Nat]
    term: Term
    asked: Set[Node]
    granted: Map[Node, Option[Term]]
    holds: Set[Node]
    owner: Map[Term, Option[Node]]

    @axiom
    def two_to_spare(s):
        return s.spare >= 2

    def init(s):
        s.term = 1

    def has(s, n):
        return (s.granted[n] != None) | s.holds[n]  # noqa: E711

    @action
    def ask(s, n: Node):
        """A node asks."""
        require(~s.asked[n] & ~s.has(n))
        s.asked[n] = True

    @action
    def grant(s, n: Node):
        """A request is granted if no client has the lease."""
        require(s.asked[n])
        require(forall(Node, lambda m: ~s.has(m)))
        term = s.term + 1
        s.asked[n] = False
        s.granted[n] = term
        s.owner[term] = n
        s.term = term

    @action
    def arrive(s, n: Node):
        """The grant arrives."""
        require(s.granted[n] != None)  # noqa: E711
        s.granted[n] = None
        s.holds[n] = True

    @action
    def give_back(s, n: Node):
        """The holder is done."""
        require(s.holds[n])
        s.holds[n] = False

    @fault(budget="losses")
    def lose(s, n: Node):
        """A grant is lost, and the lease is free at once."""
        require(s.granted[n] != None)  # noqa: E711
        s.granted[n] = None


class MessagesUnchecked(Messages):
    """The mistake: a request is granted whichever client has the lease."""

    @action
    def grant(s, n: Node):
        """A request is granted."""
        require(s.asked[n])
        term = s.term + 1
        s.asked[n] = False
        s.granted[n] = term
        s.owner[term] = n
        s.term = term


class OneSpare(Protocol):
    """The core with an axiom that the full protocol's do not promise."""

    spare: Constant[Nat]
    term: Term

    @axiom
    def many_to_spare(s):
        return s.spare >= 3

    def init(s):
        s.term = 1

    @action
    def later(s, t: Term):
        """Terms grow."""
        require(s.term < t)
        s.term = t


class FromGrant(Properties, of=Messages):
    """The right mapping."""

    @refinement(of=Lease, leaves_out=("ever",))
    def lease(s):
        """A node has the lease from the grant on, whether or not it knows."""
        return dict(holding=each(lambda n: s.holds[n] | (s.granted[n] != None)))  # noqa: E711


class FromArrival(Properties, of=Messages):
    """A wrong mapping: the term changes before anybody holds the lease."""

    @refinement(of=Lease, leaves_out=("ever",))
    def lease(s):
        """A node has the lease from the arrival of the grant on, which is too late."""
        return dict(holding=s.holds)


class Unchecked(Properties, of=MessagesUnchecked):
    """The right mapping of the wrong protocol."""

    @refinement(of=Lease, leaves_out=("ever",))
    def lease(s):
        """A node has the lease from the grant on, whether or not it knows."""
        return dict(holding=each(lambda n: s.holds[n] | (s.granted[n] != None)))  # noqa: E711


class Spare(Properties, of=Messages):
    """A core that assumes more of the constants."""

    @refinement(of=OneSpare)
    def terms(s):
        """The term only."""
        return dict()


class Log(Protocol):
    """Entries are appended to a log, and a number counts them."""

    log: Seq[Slot, "slots"]  # type: ignore[name-defined]  # noqa: F821  a bound's name
    known: Slot

    def init(s):
        append(s.log, 1)

    @action
    def write(s, e: Slot):
        """Any entry but the one written last."""
        require(at(s.log, length(s.log)) != e)
        append(s.log, e)

    @action
    def learn(s):
        """A reader reads up to the end."""
        require(s.known < length(s.log))
        s.known = length(s.log)


class Buffered(Protocol):
    """An entry waits in a buffer before it is appended."""

    log: Seq[Slot, "slots"]  # type: ignore[name-defined]  # noqa: F821
    buffer: Option[Slot]
    known: Slot

    def init(s):
        append(s.log, 1)

    @action
    def hand_in(s, e: Slot):
        """An entry is handed in."""
        require((s.buffer == None) & (at(s.log, length(s.log)) != e))  # noqa: E711
        s.buffer = e

    @action
    def flush(s, e: Slot):
        """It is appended."""
        require(s.buffer == e)
        append(s.log, e)
        s.buffer = None

    @action
    def learn(s):
        """A reader reads up to the end."""
        require(s.known < length(s.log))
        s.known = length(s.log)


class BufferedTwice(Buffered):
    """The mistake: the buffer is not emptied."""

    @action
    def flush(s, e: Slot):
        """It is appended."""
        require(s.buffer == e)
        append(s.log, e)


class Flushed(Properties, of=Buffered):
    """The right mapping."""

    @refinement(of=Log)
    def written(s):
        """The buffer is not yet the log."""
        return dict(log=s.log, known=when(s.known == 0, 0, s.known))


class FlushedTwice(Properties, of=BufferedTwice):
    """The right mapping of the wrong protocol."""

    @refinement(of=Log)
    def written(s):
        """The buffer is not yet the log."""
        return dict()
