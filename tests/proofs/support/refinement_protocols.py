"""A small core and protocols that refine it, or fail to: a commit at once, and in two steps."""

from fencepost.model.language import (
    Bool,
    Enumeration,
    Map,
    Nat,
    Properties,
    Protocol,
    Set,
    Sort,
    action,
    each,
    fault,
    forall,
    implies,
    lemma,
    limit,
    refinement,
    require,
)  # fmt: skip


class Node(Sort, bound="nodes"):
    """A node."""


class Count(Nat, upto="counts"):
    """How many commits there were."""


class Phase(Enumeration):
    """Of a commit in two steps."""

    IDLE, PENDING, PREPARED = range(3)


class Atomic(Protocol):
    """Each node commits once, in one step, and an operator may take all commits back."""

    total: Count
    has: Set[Node]

    @action
    def commit(s, n: Node):
        """A node commits."""
        require(~s.has[n])
        s.has[n] = True
        s.total = s.total + 1

    @fault(budget="resets")
    def reset(s):
        """All commits are taken back; how often that happens is no part of the protocol."""
        limit(s.total < 2)
        s.has = each(lambda n: False)
        s.total = 0


class TwoSteps(Protocol):
    """A node prepares and then commits, or gives up in between."""

    total: Count
    phase: Map[Node, Phase]
    done: Set[Node]

    @action
    def prepare(s, n: Node):
        """A node starts."""
        require((s.phase[n] == Phase.IDLE) & ~s.done[n])
        s.phase[n] = Phase.PENDING

    @action
    def finish(s, n: Node):
        """It commits."""
        require(s.phase[n] == Phase.PENDING)
        s.phase[n] = Phase.IDLE
        s.done[n] = True
        s.total = s.total + 1

    @action
    def give_up(s, n: Node):
        """It does not."""
        require(s.phase[n] == Phase.PENDING)
        s.phase[n] = Phase.IDLE


class TwoStepsTwice(TwoSteps):
    """The mistake: a node that has committed may start again."""

    @action
    def prepare(s, n: Node):
        """A node starts, whatever it did before."""
        require(s.phase[n] == Phase.IDLE)
        s.phase[n] = Phase.PENDING


class TwoStepsFromOne(TwoSteps):
    """The mistake: it counts from one."""

    def init(s):
        s.total = 1


class _Lemmas(Properties):
    @lemma
    def nobody_starts_again(s):
        """Who has committed is not about to."""
        return forall(Node, lambda n: implies(s.done[n], s.phase[n] == Phase.IDLE))


class AtFinish(_Lemmas, of=TwoSteps):
    """The right mapping."""

    @refinement(of=Atomic)
    def atomic(s):
        """A commit happens when it is finished."""
        return dict(has=s.done)


class AtPrepare(_Lemmas, of=TwoSteps):
    """A wrong mapping: the count changes later than the set."""

    @refinement(of=Atomic)
    def atomic(s):
        """A commit happens when it is prepared, which is too early."""
        return dict(has=each(lambda n: s.done[n] | (s.phase[n] == Phase.PENDING)))


class Twice(Properties, of=TwoStepsTwice):
    """The right mapping of the wrong protocol."""

    @refinement(of=Atomic)
    def atomic(s):
        """A commit happens when it is finished."""
        return dict(has=s.done)


class FromOne(_Lemmas, of=TwoStepsFromOne):
    """The right mapping of a protocol that starts wrong."""

    @refinement(of=Atomic)
    def atomic(s):
        """A commit happens when it is finished."""
        return dict(has=s.done)


class Single(Protocol):
    """What one node does: it commits once."""

    has: Bool

    @action
    def commit(s):
        """It commits."""
        require(~s.has)
        s.has = True


class EachAtFinish(_Lemmas, of=TwoSteps):
    """A right view of each node."""

    @refinement(of=Single, actions=dict(finish=["commit"]))
    def single(s, n: Node):
        """A node commits when it has finished."""
        return dict(has=s.done[n])


class EachUntilTwo(_Lemmas, of=TwoSteps):
    """A wrong view: the second commit takes the first one back."""

    @refinement(of=Single, actions=dict(finish=["commit"]))
    def single(s, n: Node):
        """A node has committed until another one does."""
        return dict(has=s.done[n] & (s.total < 2))


class EachFromOne(_Lemmas, of=TwoStepsFromOne):
    """A view in which no node starts as it should."""

    @refinement(of=Single)
    def single(s, n: Node):
        """Something has committed."""
        return dict(has=s.done[n] | (0 < s.total))
