"""The full model combines the coordinator and producers with the partitions of each core."""

from fencepost.model.language import action, fault, require
from fencepost.model.transactions.abstract.core import Client, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.cores import (
    V1Core,
    V2Core,
    VerifiedCore,
)
from fencepost.model.transactions.detailed.coordinator import Coordinator, Pending


class V1(Coordinator, V1Core):
    """In the full model of v1 markers carry the epoch of the transaction, or of the fence."""

    @action(by="owner", to="coordinator")
    def ask_to_add_partition(s, t: Txn, p: Partition):
        require(s.add_in_time(t))
        s.ask_to_add(t, p)

    @action(fair="weak", by="coordinator", to="owner")
    def add_partition(s, t: Txn, p: Partition):
        require(s.may_add(t, p))
        V1Core.add_partition(s, t, p)
        s.clear()

    @action(fair="weak", by="coordinator", to="owner")
    def refuse_add(s, t: Txn, p: Partition):
        """AddPartitions with an outdated epoch is answered PRODUCER_FENCED."""
        require(s.begun[t] & (s.choice[t] == Outcome.NONE) & s.ready[s.owner[t]])
        require(s.pending == Pending.NOTHING)
        require(s.phase != Phase.PREPARED, rule="txn.5")
        require(s.number[t] != s.live())
        s.stop(s.owner[t])

    def is_next_to_present(s, t):
        return s.number[t] == s.epoch

    @action(fair="weak")
    def refuse_end(s, t: Txn):
        """EndTxn neither ends what is open nor repeats what ended, and is answered PRODUCER_FENCED or
        INVALID_TXN_STATE. Before v2 the epoch is checked before what is pending."""
        require((s.choice[t] != Outcome.NONE) & ~s.success[t] & s.ready[s.owner[t]])
        old = s.number[t] != s.live()
        waits = (s.pending != Pending.NOTHING) | (s.phase == Phase.PREPARED)
        require(old | (~waits & ~s.may_end(t) & (s.outcome != s.choice[t])))
        s.stop(s.owner[t])

    def fence_marker(s):
        return s.fenced()

    def fence_target(s):
        return s.fenced()

    def end_marker(s):
        return s.epoch

    def end_target(s):
        return s.epoch


class Verified(V1, VerifiedCore):
    """The `Verified` model is the full model of KIP-890, part 1."""


class V2(Coordinator, V2Core):
    """The `V2` model is the full model of KIP-890, part 2, and KIP-1228, as of Kafka 4.3 and 4.4: the bump of an abort
    is its fence, and changes nothing in memory before it is in the log."""

    @action(by="p", to="coordinator")
    def ask_to_verify(s, t: Txn, p: Partition):
        require(s.asked[t, p])
        s.ask_to_add(t, p)

    @action(fair="weak")
    def verify(s, t: Txn, p: Partition):
        require(s.may_add(t, p))
        V2Core.verify(s, t, p)
        s.clear()

    initialize_again = None  # `answer_init_again` replaces it

    @action(fair="weak", rule="txn.2", danger="lost-answer")
    def answer_init_again(s, c: Client):
        """A repeated InitProducerId gets the same answer, and so does an owner whose transaction was fenced by an
        abort: it gets the epoch after the abort."""
        epoch = s.epoch
        Coordinator.answer_init_again(s, c)
        s.given[c, epoch] = True
        s.fence = epoch

    def fence_remembers(s):
        """Return the epoch of the transaction that was aborted."""
        return s.epoch

    @fault(budget="failed_appends", danger="failed-append")
    def append_fails(s):
        """Too few replicas are in sync, and nothing is written."""
        require(s.pending != Pending.NOTHING)
        s.clear()


class LateEnds(Coordinator):
    """In the `LateEnds` model records and requests of producers arrive late, but a marker arrives only while its
    transaction is prepared, since brokers do not leave one another waiting."""

    def marker_in_time(s, p, e, commit, k):
        return s.is_prepared(e, commit)
