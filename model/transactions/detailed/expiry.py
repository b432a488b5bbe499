"""In these models transactional ids that were not used for a week are forgotten (v2), and a fenced producer may try to
benefit from that.

A forgotten id has no epoch. A request that names one gets INVALID_PRODUCER_ID_MAPPING, but InitProducerId is answered
whatever epoch it names, with a new producer id.
"""

from fencepost.model.language import Bool, action, each, either, fault, require, when
from fencepost.model.transactions.abstract.core import Client, Epoch, Outcome, Phase
from fencepost.model.transactions.detailed.coordinator import Coordinator, Pending
from fencepost.model.transactions.detailed.full import V1, V2, Verified


class Forgetting(Coordinator):
    """The coordinator forgets the transactional id with its epoch, and a producer that learns of it stops."""

    unknown: Bool  # the transactional id is forgotten

    @fault(budget="expiries", danger="id-expiry", by="coordinator")
    def expire(s):
        require((s.pending == Pending.NOTHING) & s.is_recorded())
        require(s.phase == Phase.IDLE, rule="txn.20")
        s.unknown = True
        s.expired = True
        s.phase = Phase.IDLE
        s.outcome = Outcome.NONE
        s.parts = each(lambda p: False)
        s.remembers = 0
        s.forget_fence()

    def is_recorded(s):
        """Return whether the log has a record of the transactional id. An id whose first append failed is in memory
        alone, with epoch -1, and expires as others do (KAFKA-14880, TransactionMetadata.prepareTransitionTo); that is
        no step of the model, which has nothing of the id to forget."""
        return ~s.unknown & (s.epoch != 0)

    def live(s):
        return when(s.unknown, 0, Coordinator.live(s))

    def after(s, e):
        return when(s.unknown, s.base + s.last + 2, Coordinator.after(s, e))

    @action(fair="weak")
    def ask_for_epoch(s, c: Client):
        require(s.is_sent(c))
        require((s.pending == Pending.NOTHING) & (s.phase == Phase.IDLE))
        require((s.expected(c) == 0) | (s.expected(c) == s.live()) | s.unknown)
        s.pending = Pending.INIT
        s.of_client = c

    @action(fair="weak")
    def refuse_init(s, c: Client):
        require(~s.unknown)
        Coordinator.refuse_init(s, c)

    @action(fair="weak")
    def fail_init(s, c: Client):
        require(~s.unknown)
        Coordinator.fail_init(s, c)

    @action(fair="weak")
    def initialize(s, c: Client, to: Epoch):
        Coordinator.initialize(s, c, to)
        s.unknown = False


class Expiring(Forgetting, V2):
    """The `Expiring` model is v2 with ids that are forgotten."""

    @action
    def hear_of_it(s, c: Client):
        """A producer receives INVALID_PRODUCER_ID_MAPPING and stops; or it takes that for an error to recover from, and
        asks again with its old epoch (KAFKA-18019)."""
        require(s.ready[c] & s.unknown)
        s.ready[c] = False
        s.dead[c] = either("txn.20", ~s.dead[c], recovers=s.dead[c])
        s.asking[c] = either("txn.20", s.asking[c], recovers=~s.asking[c])
        s.again[c] = either("txn.20", s.again[c], recovers=~s.again[c])


class ExpiringV1(Forgetting, V1):
    """The `ExpiringV1` model is v1 with ids that are forgotten."""


class ExpiringVerified(Forgetting, Verified):
    """The `ExpiringVerified` model is v1 with verification and ids that are forgotten."""
