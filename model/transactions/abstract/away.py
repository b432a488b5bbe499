"""In these models partitions go away, start again, lose a tail and forget producers, under each of the cores of
transactions.

A marker for a partition without a leader waits until there is one (Kafka 4.0 to 4.2). Kafka 4.3 takes such a partition
for a deleted one and counts it as done (KAFKA-20734). The transaction then stays open in that partition and the next
one of the same producer joins it, so that one marker decides both.

A leader takes a record for part of the open transaction if the epoch is the same (UnifiedLog.hasOngoingTransaction),
and asks the coordinator otherwise. A partition has no other means to distinguish two transactions.
"""

from fencepost.model.language import (
    Bool,
    Map,
    Set,
    action,
    each,
    either,
    excused,
    exists,
    fault,
    forall,
    implies,
    not_of_this,
    open_hole,
    require,
    when,
)
from fencepost.model.transactions.abstract.core import Core, Epoch, Fate, Partition, Phase, Term, Txn
from fencepost.model.transactions.abstract.cores import (
    Asking,
    PromptVerifiedCore,
    V2Core,
)


class Mortal(Core):
    """The `Mortal` model has every fault of a partition, with brokers that handle these faults correctly."""

    outside = (
        excused(
            "no unclean election: what was acknowledged is in the log of every later leader, and what is cut off at "
            "its beginning was read, or is not wanted; the variant unclean-v2 takes the first away",
            "unreplicated-tail", "truncation",
        )
        + not_of_this(
            "the cleaner takes nothing that is open, and no core looks again at what was decided; read-committed does",
            "cleaning",
        )
        + open_hole("one record stands for all; several-v2 and several-v1-verified have two, on partitions that stay",
                  "several-records")
        + open_hole("the transaction log keeps what it has; log-covered has a tail that may be lost", "uncovered-log")
    )  # fmt: skip

    away: Set[Partition]  # has no leader
    acked: Set[Txn, Partition]  # every replica has the record, and its owner knows
    safe: Map[Partition, Epoch]  # the producer epoch that every replica knows

    @fault(budget="absences", danger="partition-away", by="p")
    def leave(s, p: Partition):
        """The last replica of a partition stops."""
        require(~s.away[p])
        s.away[p] = True
        s.forget_questions(p)

    @action(fair="weak", by="p")
    def come_back(s, p: Partition):
        """A replica that has everything that was acknowledged starts again."""
        require(s.away[p])
        s.away[p] = False

    @fault(budget="restarts", danger=("leader-restart", "broker-restart"), by="p")
    def restart(s, p: Partition):
        """The leader restarts from its snapshot, which has the producer epochs and the open transactions, but no
        pending verification questions."""
        require(~s.away[p])
        s.forget_questions(p)

    @fault(budget="tails", danger=("unreplicated-tail", "truncation"), by="p")
    def lose_tail(s, p: Partition):
        """A replica that lacks records which were not acknowledged becomes leader."""
        s.fate = each(lambda t, q: when((q == p) & s.is_lost(t, q), Fate.ABSENT, s.fate[t, q]))
        s.known[p] = s.safe[p]
        s.forget_questions(p)

    def is_lost(s, t, p):
        return (s.fate[t, p] == Fate.OPEN) & ~s.acked[t, p]

    @fault(budget="expiries", danger="producer-expiry", by="p")
    def forget(s, p: Partition):
        """The producer was idle for long and has nothing open, and the partition forgets its epoch."""
        require(~s.something_open(p))
        s.known[p] = 0
        s.safe[p] = 0
        s.known_term[p] = 0

    @action(fair="weak", by="p")
    def replicate(s, p: Partition):
        """The replicas of a partition catch up with its leader."""
        require(~s.away[p])
        s.acked = each(lambda t, q: s.acked[t, q] | ((q == p) & (s.fate[t, q] != Fate.ABSENT)))
        s.safe[p] = s.known[p]

    @action
    def commit(s, t: Txn):
        """The owner decides to commit, once every record is acknowledged."""
        require(forall(Partition, lambda p: implies(s.sent[t, p], s.acked[t, p])))
        Core.commit(s, t)

    def write(s, t, p):
        require(~s.away[p])
        Core.write(s, t, p)

    def take_marker(s, p, e, commit, k):
        require(~s.away[p])
        Core.take_marker(s, p, e, commit, k)
        s.safe[p] = e


class Unclean(Mortal):
    """A replica that lacks acknowledged records becomes leader (unclean.leader.election.enable). It is out of sync and
    has a beginning of the log, which ends anywhere: before a record, or between the records of a transaction and its
    marker (KAFKA-20716). Its producer state is that of its own log, with the epoch of the last batch and the
    coordinator epoch of the last marker (ProducerAppendInfo, at every append of a follower too)."""

    outside = excused("one replica is out of sync with the others at a time", "unreplicated-tail", "truncation")

    stale: Map[Txn, Partition, Fate]  # what a replica that is out of sync has
    stale_known: Map[Partition, Epoch]
    stale_term: Map[Partition, Term]

    @action(by="p")
    def fall_behind(s, p: Partition):
        """A replica has the log up to this point, and nothing that follows until it catches up again."""
        require(~s.away[p])
        s.stale = each(lambda t, q: when(q == p, s.fate[t, q], s.stale[t, q]))
        s.stale_known[p] = s.known[p]
        s.stale_term[p] = s.known_term[p]

    @fault(budget="tails", danger=("unreplicated-tail", "truncation"), by="p")
    def lose_tail(s, p: Partition):
        """The replica that is out of sync becomes leader, and the others truncate what it lacks: records, markers, and
        the outcomes that the markers had decided."""
        s.fate = each(lambda t, q: when(q == p, s.stale[t, q], s.fate[t, q]))
        s.known[p] = s.stale_known[p]
        s.known_term[p] = s.stale_term[p]
        s.safe[p] = s.stale_known[p]
        s.away[p] = False
        s.forget_questions(p)


class Mended(Unclean):
    """An operator aborts hanging transactions (kafka-transactions.sh abort, Admin.abortTransaction), and until then
    prevents the owners of the id from using that partition. The operator acts in time where the end that was lost is of
    the id's last transaction. The marker of a later transaction, which may arrive again, decides whatever is open, and
    no operator can prevent that."""

    @fault(budget="tails", danger=("unreplicated-tail", "truncation"), by="p")
    def lose_tail(s, p: Partition):
        """The replica that is out of sync becomes leader. If it lacks the end of a transaction, the transactional id
        has begun no later transaction."""

        def opens(t):
            return (s.stale[t, p] == Fate.OPEN) & (s.fate[t, p] != Fate.OPEN)

        require(~exists(Txn, Txn, lambda t, u: opens(t) & s.begun[u] & (s.number[t] < s.number[u])))
        Unclean.lose_tail(s, p)

    @action(fair="weak", by="admin", to="p")
    def abort_hanging(s, p: Partition):
        """The operator sends WriteTxnMarkers with the producer's epochs that the leader reports. The request names no
        transaction version, and so an epoch that is not newer is accepted (AbortTransactionHandler,
        ProducerAppendInfo)."""
        require(~s.away[p] & s.hangs(p))
        end = either("txn.26", Fate.ABORTED, commits=Fate.COMMITTED)
        s.fate = each(lambda t, q: when((q == p) & (s.fate[t, q] == Fate.OPEN), end, s.fate[t, q]))
        s.safe[p] = s.known[p]
        s.answer_questions(p, s.known[p])

    def add(s, t, p):
        require(~s.hangs(p), rule="txn.26")
        Unclean.add(s, t, p)

    def hangs(s, p):
        """Return whether find-hanging lists the partition: something is open there, and the coordinator's transaction
        has no marker due for it (TransactionsCommand.filterHangingTransactions)."""
        return s.something_open(p) & ~(s.parts[p] & ~s.marked[p])


class Operated(Mortal):
    """An operator decides whatever is open in a partition, also if it does not hang, and the coordinator hears nothing
    of it: WriteTxnMarkers as `Mended` has it, which could as well carry a commit. No variant has such an operator;
    `fencepost doctor` combines this with the variants of a release, from states in which a cluster may be."""

    @fault(budget="interventions")
    def intervene(s, p: Partition, commit: Bool):
        """An operator's marker commits or aborts what is open in a partition."""
        require(~s.away[p] & s.something_open(p))
        end = when(commit, Fate.COMMITTED, Fate.ABORTED)
        s.fate = each(lambda t, q: when((q == p) & (s.fate[t, q] == Fate.OPEN), end, s.fate[t, q]))
        s.safe[p] = s.known[p]
        s.answer_questions(p, s.known[p])


class Dropping(Mortal):
    """In the `Dropping` model the coordinator takes a partition without a leader for a deleted one (KAFKA-20734)."""

    @action(fair="weak")
    def drop(s, p: Partition):
        """The coordinator counts the marker of a partition without a leader as written."""
        require((s.phase == Phase.PREPARED) & s.parts[p] & ~s.marked[p] & s.away[p])
        s.marked[p] = True


class MortalAsking(Mortal, Asking):
    """Leaders ask the coordinator before they append, and a partition may be without a leader."""

    @action(fair="weak")
    def ask(s, t: Txn, p: Partition):
        require(~s.away[p])
        Asking.ask(s, t, p)


class MortalV2(MortalAsking, V2Core):
    """The `MortalV2` model is v2 where markers wait for a partition that is away."""


class MortalPromptVerified(MortalAsking, PromptVerifiedCore):
    """The `MortalPromptVerified` model is v1 with verification on a prompt network, where markers that a deposed
    coordinator left behind do not outlive what the partition knows of the producer."""

    @fault(budget="expiries", danger="producer-expiry", by="p")
    def forget(s, p: Partition):
        """The partition forgets a producer that was idle for so long that no marker is in flight any more."""
        Mortal.forget(s, p)
        s.left = each(lambda q, e, commit: when(q == p, 0, s.left[q, e, commit]))
