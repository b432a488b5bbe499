"""What brokers of different releases do differently in v2, each as a protocol; `full.V2` is Kafka 4.3 and 4.4.

In 4.0.0 a fence was one bump and the abort that follows another one; since KAFKA-19367 the abort's bump is the fence.
Until 4.2 the producer ids before and after the present one are not in the log (KAFKA-20310).  What a coordinator says
last about an epoch that ended, lastProducerEpoch, is in its log from KAFKA-20357 on, later than 4.4.
"""

from fencepost.model.language import action, either, fault, require, when
from fencepost.model.transactions.abstract.core import Core, Epoch, Outcome, Phase
from fencepost.model.transactions.detailed.coordinator import Coordinator, Pending
from fencepost.model.transactions.detailed.expiry import Forgetting
from fencepost.model.transactions.detailed.full import V2


class V2OfTrunk(V2):
    """With KAFKA-20357: who takes over knows of the epoch before the present one as well."""

    def remember_after_fail_over(s):
        s.remembers = either("txn.25", s.remembers, not_in_the_log=0)


class V2Mended(V2OfTrunk):
    """And a retry is looked for before the end of the epochs, as the comment in prepareIncrementProducerEpoch and
    KIP-360 have it: of no release."""

    def fails_naming(s, e):
        return V2OfTrunk.fails_naming(s, e) & (e != s.remembers)


class V2Of42(V2):
    """Until Kafka 4.2 the log does not have the next producer id: a coordinator that takes over before a transaction is
    complete goes on with the old one, at the epoch that only markers carry (KAFKA-20310; TransactionLog.valueToBytes).
    What that does to a retry is in transaction-log/metadata-4.2."""

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        rotates = (s.phase == Phase.PREPARED) & (s.epoch == s.base) & (1 < s.base)
        epoch = when(rotates, s.base - 1, s.epoch)
        base = when(rotates, s.base - s.last - 2, s.base)
        V2.fail_over(s)
        s.epoch = epoch
        s.base = base


class V2Upgraded(V2Of42):
    """Kafka 4.3 and 4.4 where the log is of an earlier release, and its last coordinator too: what that left at the
    epoch that only markers carry is aborted under that epoch, and another producer id follows (KAFKA-20090:
    TransactionMetadata.prepareAbortOrCommit, ProducerAppendInfo.checkProducerEpoch)."""

    def is_stuck(s):
        """The coordinator is at the epoch that only markers carry."""
        return s.epoch == s.base + s.last + 1

    def accepts_marker(s, p, e):
        """Once more where something is open, if the epoch is that one."""
        reserved = (s.known[p] == e) & s.is_last_of_all(e)
        return V2Of42.accepts_marker(s, p, e) | either("txn.23", reserved, no_last_epoch=reserved & ~reserved)

    def end_marker(s):
        return when(s.is_stuck(), s.epoch, s.epoch + 1)

    def fence_marker(s):
        return s.end_marker()

    def is_fence(s, marker, to):
        return (s.is_stuck() & (marker == s.epoch) & (marker < to)) | V2Of42.is_fence(s, marker, to)

    def goes_on_with(s, marker, to):
        """Only an abort does: the epoch after a commit is none."""
        require(s.is_fence(marker, to), rule="txn.9")

    def may_end(s, t):
        return V2Of42.may_end(s, t) & (~s.is_stuck() | (s.choice[t] == Outcome.ABORT))


class V2Of400(V2):
    """Kafka 4.0.0: a fence bumps memory first, which a failed append leaves so, and the abort bumps once more."""

    def fence_marker(s):
        """One more than the fence, as long as there is one more (KAFKA-19367)."""
        reserved, fenced = s.base + s.last + 1, s.fenced()
        return either("txn.4", when(s.is_exhausted(fenced), reserved, fenced + 1), bumps_anyway=fenced + 1)

    def fence_target(s):
        return s.after(s.fenced())

    def fence_remembers(s):
        return 0

    @fault(budget="failed_appends", danger="failed-append")
    def append_fails(s):
        Coordinator.append_fails(s)


class ExpiringOf400(Forgetting, V2Of400):
    """With ids that are forgotten."""


class OfAnyRelease(ExpiringOf400):
    """v2 of brokers whose release is not known: what one of them may do, whichever it is."""

    @action(fair="weak")
    def take_over(s, marker: Epoch, to: Epoch):
        """The fence is in the log, and with it the abort."""
        require(s.pending == Pending.FENCE)
        twice = (marker == s.fence_marker()) & (to == s.fence_target())
        once = (marker == s.epoch + 1) & (to == s.after(s.epoch))
        require(twice | once)
        Core.take_over(s, marker, to)
        s.overflow = s.overflow | (s.base + s.last + 1 < marker)
        s.forget_fence()
        s.remembers = 0
        s.prepared()
        s.move_on(to)
        s.clear()
