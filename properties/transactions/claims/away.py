"""What partitions that go away, start again, lose a tail and forget leave of the promises of transactions.

The idea of the proof: an open record is acknowledged and every replica knows its epoch, or it may as well not have
arrived; and a leader that forgets its questions asks again.
"""

from fencepost.model.language import exists, forall, implies, lemma, witness
from fencepost.model.transactions.abstract.away import (
    DroppingPromptVerified,
    DroppingV2,
    ForgettingPromptV1,
    ForgettingPromptVerified,
    MendedV2,
    Mortal,
    MortalPromptVerified,
    MortalV2,
    MortalVerified,
    UncleanPromptVerified,
    UncleanV2,
)
from fencepost.model.transactions.abstract.core import Fate, Outcome, Partition, Phase, Txn
from fencepost.properties.transactions.claims.core import V2Lemmas
from fencepost.properties.transactions.claims.core_v1 import PromptVerifiedLemmas, VerifiedLemmas
from fencepost.properties.transactions.claims.promises import Promises


class MortalLemmas(Promises, of=Mortal):
    """Lemmas about replicas; and that the faults meet something."""

    @witness(of="nothing_hangs")
    def away_at_its_marker(s):
        """A partition has a record open, its marker is due, and it has no leader."""
        return exists(
            Txn, Partition, lambda t, p: (s.fate[t, p] == Fate.OPEN) & s.away[p] & (s.phase == Phase.PREPARED)
        )

    @lemma
    def acknowledged_is_there(s):
        """What was acknowledged is in the log, and every replica knows the epoch of what is open."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(s.acked[t, p], s.fate[t, p] != Fate.ABSENT)
            & implies(s.acked[t, p] & (s.fate[t, p] == Fate.OPEN), s.safe[p] == s.number[t]),
        )  # fmt: skip

    @lemma
    def acknowledged_before_commit(s):
        """A producer that asks for a commit has every record acknowledged."""
        return forall(
            Txn, Partition, lambda t, p: implies((s.choice[t] == Outcome.COMMIT) & s.sent[t, p], s.acked[t, p])
        )


class MortalV2Lemmas(V2Lemmas, MortalLemmas, of=MortalV2):
    """Why v2 keeps the promises where a partition may be away when its marker comes."""


class DroppingV2Promises(MortalLemmas, of=DroppingV2):
    """The promises, of brokers that drop a partition without a leader."""


class MortalVerifiedLemmas(VerifiedLemmas, MortalLemmas, of=MortalVerified):
    """Why v1 with verification keeps the promises where a partition may be away when its marker comes."""


class MortalPromptVerifiedLemmas(PromptVerifiedLemmas, MortalLemmas, of=MortalPromptVerified):
    """Why v1 with verification keeps them on a prompt network, where the leader's question to the coordinator stands in
    for what the partition knew."""

    @lemma
    def added_takes_part(s):
        """A partition that has a record of what was added takes part until it has its marker; what it knew of others
        may be forgotten."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(
                s.added[t, p] & (s.choice[t] == Outcome.NONE) & (s.fate[t, p] == Fate.OPEN), s.takes_part(t, p)
            ),
        )  # fmt: skip


class ForgettingPromptV1Promises(MortalLemmas, of=ForgettingPromptV1):
    """The promises, of v1 where partitions forget."""


class DroppingPromptVerifiedPromises(MortalLemmas, of=DroppingPromptVerified):
    """The promises, of v1 where a partition without a leader is dropped."""


class ForgettingPromptVerifiedPromises(MortalLemmas, of=ForgettingPromptVerified):
    """The promises, of v1 with verification where a marker outlives what the partition knew of coordinators."""


class UncleanV2Promises(MortalLemmas, of=UncleanV2):
    """The promises, of v2 where what was acknowledged may be lost."""


class UncleanPromptVerifiedPromises(MortalLemmas, of=UncleanPromptVerified):
    """The promises, of v1 with verification on such a topic."""


class MendedV2Promises(MortalLemmas, of=MendedV2):
    """The promises, of v2 on such a topic with an operator who aborts what hangs."""
