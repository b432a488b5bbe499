"""What is left where a deposed coordinator still answers: all of it in v2, proved; in v1 what the runs show.

The idea: whatever a cache says of an epoch in v2 was so once, and since then either still is, or the partition knows of
a later epoch, and refuses.
"""

from fencepost.model.language import Bool, exists, forall, implies, lemma, when, witness
from fencepost.model.transactions.abstract.core import Client, Epoch, Fate, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.overlapping import (
    OverlappingPromptVerified,
    OverlappingV2,
    OverlappingVerified,
)
from fencepost.properties.transactions.claims.core import V2Lemmas
from fencepost.properties.transactions.claims.promises import Promises


class OverlappingV2Lemmas(V2Lemmas, of=OverlappingV2):
    """v2 keeps every promise: a yes of long ago ends at the epoch that the marker has brought since."""

    @lemma
    def cleared_takes_part(s):
        """A leader with a yes to the question it still has may append, or the partition knows of a later epoch."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.asked[t, p] & s.cleared[t, p], s.begun[t] & (s.takes_part(t, p) | (s.number[t] < s.known[p]))
            ),
        )

    @lemma
    def cleared_as_prepared(s):
        """A record that may still be appended is of no decided transaction, or of the one prepared."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.asked[t, p] & s.cleared[t, p] & (s.known[p] <= s.number[t]),
                s.result[t] == when(s.phase == Phase.PREPARED, s.outcome, Outcome.NONE),
            ),
        )

    @lemma
    def held_of_somebody(s):
        """A cache has transactions that there were."""
        return forall(
            Partition,
            Epoch,
            lambda p, e: implies(s.held[p, e], exists(Txn, lambda t: s.begun[t] & (s.number[t] == e))),
        )

    @lemma
    def held_or_past(s):
        """What a cache has open takes part, or the partition knows of a later epoch."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.begun[t] & s.held[p, s.number[t]], s.takes_part(t, p) | (s.number[t] < s.known[p])),
        )

    @lemma
    def held_as_decided(s):
        """What a cache has open and can still be appended is undecided, or ends as prepared."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.begun[t] & s.held[p, s.number[t]] & (s.known[p] <= s.number[t]),
                s.result[t] == when(s.phase == Phase.PREPARED, s.outcome, Outcome.NONE),
            ),
        )

    @lemma
    def settled_as_decided(s):
        """What a cache has ended was ended so, and is over."""
        return forall(
            Epoch,
            Bool,
            lambda e, commit: implies(
                s.settled[e, commit],
                (e < s.settled_to[e]) & (s.settled_to[e] <= s.epoch)
                & exists(Txn, lambda t: s.begun[t] & (s.number[t] == e)),
            ),
        ) & forall(
            Txn,
            Bool,
            lambda t, commit: implies(
                s.begun[t] & s.settled[s.number[t], commit],
                s.result[t] == when(commit, Outcome.COMMIT, Outcome.ABORT),
            ),
        )  # fmt: skip

    @lemma
    def settled_goes_to_the_owner(s):
        """The epoch in a cached answer is the owner's of the transaction that it ended, and no other's."""
        return forall(
            Txn,
            Client,
            lambda t, c: implies(s.is_cached(t) & s.given[c, s.settled_to[s.number[t]]], c == s.owner[t]),
        ) & forall(
            Txn,
            Txn,
            lambda t, u: implies(
                s.is_cached(t) & s.success[u] & (s.follows[u] == s.settled_to[s.number[t]]), s.owner[t] == s.owner[u]
            )
            & implies(
                s.is_cached(t) & s.is_cached(u) & (s.settled_to[s.number[t]] == s.settled_to[s.number[u]]),
                s.owner[t] == s.owner[u],
            )
            & implies(
                s.is_cached(t) & s.ended_last(u) & (s.epoch == s.settled_to[s.number[t]]), s.owner[t] == s.owner[u]
            ),
        )  # fmt: skip

    def is_cached(s, t):
        return s.begun[t] & (s.settled[s.number[t], True] | s.settled[s.number[t], False])

    @witness(of="nothing_hangs")
    def yes_after_the_end(s):
        """A deposed coordinator has open what its successor has ended, and the leader was told yes."""
        return exists(
            Txn,
            Partition,
            lambda t, p: s.held[p, s.number[t]] & s.cleared[t, p] & s.asked[t, p] & (s.fate[t, p] == Fate.ABSENT)
            & (s.result[t] != Outcome.NONE) & (s.phase == Phase.IDLE),
        )  # fmt: skip


class OverlappingVerifiedPromises(Promises, of=OverlappingVerified):
    """v1 with verification, where the leader's question may be answered by a coordinator that was deposed."""


class OverlappingPromptPromises(Promises, of=OverlappingPromptVerified):
    """The promises of overlapping coordinators on a network that is prompt, the owner's own requests included."""
