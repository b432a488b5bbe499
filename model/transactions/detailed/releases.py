"""Each protocol in this module has what brokers of one release do differently in v2; `full.V2` is Kafka 4.3 and 4.4.

In 4.0.0 a fence was one bump and the abort that follows another one; since KAFKA-19367 the abort's bump is the fence.
Until 4.2 the producer ids before and after the present one are not in the log (KAFKA-20310). The last epoch that ended,
lastProducerEpoch, is in the log from KAFKA-20357 on, later than 4.4.
"""

from fencepost.model.language import action, either, fault, require, when
from fencepost.model.transactions.abstract.core import Core, Epoch, Outcome, Phase
from fencepost.model.transactions.detailed.coordinator import Coordinator, Pending
from fencepost.model.transactions.detailed.expiry import Forgetting
from fencepost.model.transactions.detailed.full import V2


class V2OfTrunk(V2):
    """In the `V2OfTrunk` model, with KAFKA-20357, a coordinator that takes over knows the previous epoch as well."""

    def remember_after_fail_over(s):
        s.remembers = either("txn.25", s.remembers, not_in_the_log=0)


class V2Mended(V2OfTrunk):
    """In the `V2Mended` model a retry is recognised before the end of the epochs is checked, as the comment in
    prepareIncrementProducerEpoch and KIP-360 have it. No release does so."""

    def fails_naming(s, e):
        return V2OfTrunk.fails_naming(s, e) & (e != s.remembers)


class V2Of42(V2):
    """Until Kafka 4.2 the log does not have the next producer id. A coordinator that takes over before a transaction is
    complete continues with the old id, at the epoch that only markers carry (KAFKA-20310; TransactionLog.valueToBytes).
    The model transaction-log/metadata-4.2 has what that does to a retry."""

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        rotates = (s.phase == Phase.PREPARED) & (s.epoch == s.base) & (1 < s.base)
        epoch = when(rotates, s.base - 1, s.epoch)
        base = when(rotates, s.base - s.last - 2, s.base)
        V2.fail_over(s)
        s.epoch = epoch
        s.base = base


class V2Upgraded(V2Of42):
    """The `V2Upgraded` model is Kafka 4.3 and 4.4 after an upgrade, where the log and its last coordinator are of an
    earlier release. A transaction left at the epoch that only markers carry is aborted under that epoch, and another
    producer id follows (KAFKA-20090: TransactionMetadata.prepareAbortOrCommit, ProducerAppendInfo.checkProducerEpoch).
    """

    def is_stuck(s):
        """Return whether the coordinator is at the epoch that only markers carry."""
        return s.epoch == s.base + s.last + 1

    def accepts_marker(s, p, e):
        """A marker with the epoch that only markers carry is accepted also where that epoch is open."""
        reserved = (s.known[p] == e) & s.is_last_of_all(e)
        return V2Of42.accepts_marker(s, p, e) | either("txn.23", reserved, no_last_epoch=reserved & ~reserved)

    def end_marker(s):
        return when(s.is_stuck(), s.epoch, s.epoch + 1)

    def fence_marker(s):
        return s.end_marker()

    def is_fence(s, marker, to):
        return (s.is_stuck() & (marker == s.epoch) & (marker < to)) | V2Of42.is_fence(s, marker, to)

    def goes_on_with(s, marker, to):
        """Require the epochs after an EndTxn; from the epoch that only markers carry only an abort continues."""
        require(s.is_fence(marker, to), rule="txn.9")

    def may_end(s, t):
        return V2Of42.may_end(s, t) & (~s.is_stuck() | (s.choice[t] == Outcome.ABORT))


class V2Of400(V2):
    """In Kafka 4.0.0 a fence bumps the epoch in memory, even if the append fails, and the abort bumps it once more."""

    def fence_marker(s):
        """Return the epoch after the fence, if there is another one (KAFKA-19367)."""
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
    """The `ExpiringOf400` model is v2 of Kafka 4.0.0 with ids that are forgotten."""


class OfAnyRelease(ExpiringOf400):
    """The `OfAnyRelease` model is v2 of brokers whose release is not known, with everything that any release may do."""

    @action(fair="weak")
    def take_over(s, marker: Epoch, to: Epoch):
        """The fence is in the log, and with it the abort, bumped once or twice as the release may do."""
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
