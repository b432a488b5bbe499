"""What shipped, over the core of v2 itself, does nothing that it does not do over the interface of transactions."""

from dataclasses import replace

from fencepost.model.group_fencing.core import Member, Partition, Stage
from fencepost.model.group_fencing.over_core import ShippedOverCore
from fencepost.model.language import Properties, exists, implies, lemma, witness
from fencepost.model.language.derived.inheritance import departure
from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.tracing.mappings import in_core
from fencepost.model.transactions.abstract.core import Fate, Outcome, Txn
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.properties.catalogue import features_of, find
from fencepost.properties.group_fencing.claims.shipped import ShippedLemmas
from fencepost.properties.transactions.claims.core_overlapping import FatedV2

_, VARIANT = find("group-fencing/shipped-over-core-v2")
NAME = "does_as_shipped"
BOUNDS = features_of(VARIANT, "smoke")
ITEM = VARIANT.asked[NAME]
assert isinstance(ITEM, Refinement)


def test_it_is_proved() -> None:
    """The proof is for any number of members, partitions, generations, producers, transactions and coordinators. It
    inherits what is proved of the core of v2 alone."""
    proof = prove(VARIANT.spec, VARIANT.promised)
    assert proof.failures == () and proof.verdict(NAME) == "holds"
    assert departure(VARIANT.spec, "txn", FatedV2.protocol.spec) is None
    assert {fact.fact.protocol for fact in proof.inherited.values()} == {"V2Core"}
    assert "txn.cleared_takes_part" in proof.rests_on(NAME)


PROMISES = [n for n, p in ShippedLemmas.properties.items() if p.role == "promise"]


def test_the_promises_hold_as_the_refinement_reads_them() -> None:
    """The explorer, which knows no proof, finds each promise true in terms of the core's state."""
    asked = {}
    for name in PROMISES:
        if name != "owner_is_taken":  # of a variable that the refinement leaves out
            item = ShippedLemmas.properties[name]
            asked[name] = replace(item, terms=(in_core(item.term, ITEM.mapping),))
    assert len(asked) == 5
    for bounds in BOUNDS.values():
        made = explore(VARIANT.spec, asked, bounds)
        assert made.complete and set(made.verdicts.values()) == {"holds"}


class Dangers(Properties, of=ShippedOverCore):
    """These situations must be reachable for the promises to have a meaning."""

    @lemma
    def nothing(s):
        """The witnesses belong to this lemma, which is always true."""
        return implies(s.twice, s.twice)

    @witness(of="nothing")
    def late_offsets(s):
        """TxnOffsetCommit of a transaction that is over may still arrive while the next one is open."""
        return exists(
            Txn, Txn,
            lambda t, u: s.txn.sent[t, s.offsets] & (s.txn.fate[t, s.offsets] == Fate.ABSENT)
            & (s.txn.result[t] != Outcome.NONE) & s.txn.begun[u] & (s.txn.number[u] == s.txn.epoch)
            & (s.stage[s.watched] == Stage.PROCESSING),
        )  # fmt: skip

    @witness(of="nothing")
    def late_end(s):
        """EndTxn that asks for a commit may arrive after its transaction is over."""
        return exists(
            Txn, Txn,
            lambda t, u: (s.txn.choice[t] == Outcome.COMMIT) & (s.txn.result[t] != Outcome.NONE)
            & s.txn.begun[u] & (s.txn.number[u] == s.txn.epoch) & (s.stage[s.watched] == Stage.SENT),
        )  # fmt: skip

    @witness(of="nothing")
    def too_late_to_commit(s):
        """EndTxn is on its way when the transaction is aborted by its time-out."""
        return exists(Txn, lambda t: (s.txn.choice[t] == Outcome.COMMIT) & (s.txn.result[t] == Outcome.ABORT))

    @witness(of="nothing")
    def next_begins_before_the_marker(s):
        """The member works again before the marker of its last transaction has reached the group's coordinator."""
        return exists(
            Partition, lambda p: (0 < s.pending[s.watched, p]) & (s.stage[s.watched] == Stage.PROCESSING)
            & (s.txn.outcome == Outcome.COMMIT),
        )  # fmt: skip

    @witness(of="nothing")
    def delayed_by_what_never_counts(s):
        """Offsets that arrived between the decision to abort and its marker delay another owner."""
        return exists(
            Txn, Member, Partition,
            lambda t, n, p: (s.txn.fate[t, s.offsets] == Fate.OPEN) & (s.txn.result[t] == Outcome.ABORT)
            & (s.pending[s.watched, p] == 0) & (0 < s.request[t, p]) & (n != s.watched) & (s.owner[p] == n),
        )  # fmt: skip


def test_the_dangers_are_there() -> None:
    seen: set[str] = set()
    for bounds in BOUNDS.values():
        made = explore(VARIANT.spec, Dangers.properties, bounds)
        seen |= {n for n, verdict in made.verdicts.items() if verdict == "holds"}
    assert seen == set(Dangers.properties)
