"""Experiments against verdicts that once said more than their models contained, each by the name of what was tried: a
danger is added, or guards are taken out, and the variant that has it now gives the verdict."""

import pytest
from fencepost.model.language import exists, fault, require
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.model.language.properties import Properties, promise, witness
from fencepost.model.transactions.abstract.core import Fate, Partition, Phase, Txn
from fencepost.model.transactions.abstract.cores import V2Core
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.properties.catalogue import Variant, features_of, find


def variant(name: str) -> Variant:
    found = find(name)[1]
    assert found is not None
    return found


def shortest(name: str, promise: str) -> int | None:
    """Steps of the shortest run that breaks a promise within the variant's own bounds; None if it holds there."""
    there = variant(name)
    asked = {promise: there.properties.properties[promise]}
    for bounds in features_of(there, "smoke").values():
        made = explore(there.spec, asked, bounds, stop_when_violated=True)
        if made.violated:
            return made.traces.steps(promise)
    return None


def test_run_seq_a_leader_that_restarts_with_one_batch() -> None:
    """txn.P6: a producer that numbers anew what a restarted leader has forgotten writes it twice."""
    assert variant("idempotence/restarted").expected["written_once"] == "violated"
    assert shortest("idempotence/restarted", "written_once") == 7
    assert "leader-restart" not in variant("idempotence/idempotent").spec.dangers
    assert "leader-restart" in variant("idempotence/forgetful-giving-up").spec.dangers


@pytest.mark.parametrize(
    ("promise", "steps"), [("nothing_hangs", 11), ("nothing_open_after_a_fence", 13), ("no_zombie_write", 17)]
)
def test_zombie_a_deposed_coordinator_answers_a_leader(promise: str, steps: int) -> None:
    """txn.P1, txn.P10, 618.P1 with verification alone: a stale yes opens a transaction that was fenced."""
    assert shortest("transactions/v1-verified-overlapping", promise) == steps


def test_zombie_v2_is_safe_from_it() -> None:
    """In v2 the same is proved: the epoch that every end bumps refuses what a stale yes lets through."""
    overlapping = variant("transactions/core-v2-overlapping")
    assert "overlapping-coordinators" in overlapping.spec.dangers
    proof = prove(overlapping.spec, overlapping.promised)
    assert {proof.verdict(n) for n, p in overlapping.promised.items() if p.role == "promise"} == {"holds"}


class Skipping(V2Core):
    """The core of v2 with the fault of KAFKA-20734 added, and nothing mended."""

    @fault(budget="fail_overs")
    def skip_marker(s, p: Partition):
        require((s.phase == Phase.PREPARED) & s.parts[p] & ~s.marked[p])
        s.marked[p] = True


def test_skip_a_partition_away_at_its_marker() -> None:
    """txn.P4, txn.P10: a marker that is skipped breaks both, in the core with that fault and in the variants that have
    it; where markers are parked both are proved."""
    core = variant("transactions/core-v2")
    asked = {n: core.properties.properties[n] for n in ("nothing_hangs", "nothing_lost")}
    bounds = dict(clients=1, transactions=2, partitions=1, epochs=3, fail_overs=1, fences=0)
    assert explore(settle(Skipping.spec), asked, bounds).violated
    dropped, parked = variant("transaction-partitions/dropped-v2"), variant("transaction-partitions/parked-v2")
    assert "partition-away" in dropped.spec.dangers and "partition-away" in parked.spec.dangers
    rules = {p.rule for n, p in dropped.asked.items() if dropped.expected.get(n) == "violated"}
    assert {"txn.P3", "txn.P4", "txn.P10"} <= rules
    proof = prove(parked.spec, parked.promised)
    assert {proof.verdict(n) for n, p in parked.promised.items() if p.role == "promise"} == {"holds"}


class Records(Properties, of=V2Core):
    """What a protocol that serves lets happen."""

    @promise(rule="txn.P10")
    def never_two(s):
        """No partition ever takes records of two transactions."""
        return ~exists(
            Txn,
            Txn,
            Partition,
            lambda t, u, p: (t != u) & (s.fate[t, p] != Fate.ABSENT) & (s.fate[u, p] != Fate.ABSENT),
        )

    @witness(of="never_two")
    def one(s):
        """A partition takes the record of one."""
        return exists(Txn, Partition, lambda t, p: s.fate[t, p] != Fate.ABSENT)


def test_stricter_a_guard_that_stops_all_work_is_not_redundant() -> None:
    """txn.12, `append: guard 1 stricter`: no partition takes records of two transactions any more, so that progress
    fails, and the mutation is judged by that."""
    from fencepost.proofs.necessity.search import judge

    bounds = dict(clients=1, transactions=2, partitions=1, epochs=4, fail_overs=0, fences=0)
    stricter = mutation(V2Core.spec, "txn.12", "append: guard 1 stricter")
    asked = {"never_two": Records.properties["never_two"]}
    assert explore(settle(V2Core.spec), asked, bounds).violated
    assert not explore(stricter.apply(), asked, bounds).violated
    assert judge(variant("transactions/core-v2"), stricter, "smoke").verdict == "liveness"


def test_taut_no_promise_of_connectors_survives_without_guards() -> None:
    """618.9: with every guard of every action taken out, each promise of connectors that share a leader fails."""
    from dataclasses import replace

    connectors = variant("task-count-connectors/connectors")
    bare = replace(connectors.spec, actions={n: replace(a, guards=()) for n, a in connectors.spec.actions.items()})
    for name, item in connectors.promised.items():
        if item.kind == "always" and item.role == "promise":
            assert prove(bare, {name: item}, counterexamples=False).verdict(name) != "holds", name


@pytest.mark.parametrize(
    ("promise", "steps"), [("nothing_committed_unasked", 17), ("nothing_lost", 17), ("as_told", 17)]
)
def test_v2marker_v2_before_kip_1228(promise: str, steps: int) -> None:
    """txn.P3, txn.P4, txn.P5: KIP-890 alone takes a marker that is not older; KIP-1228 is what mends it (txn.23)."""
    assert shortest("transactions/v2-before-kip-1228", promise) == steps


def test_vac_what_could_not_have_been_otherwise_is_not_asked() -> None:
    """No two fates with one partition, no return without a reason, no last epoch out of reach is asked for and held."""
    transactions = find("transactions")[0]
    for each in transactions.variants:
        bounds = features_of(each, "smoke").values()
        few = max(b.get("partitions", 2) for b in bounds) < 2
        nobody_returns = max(b.get("reinits", 1) + b.get("expiries", 0) for b in bounds) == 0
        far = not any("last" in b and b["epochs"] >= b["last"] + 2 for b in bounds) and any("last" in b for b in bounds)
        vacuous = {"one_fate": few, "fenced_for_good": nobody_returns, "no_epoch_past_the_last": far}
        held = {n for n in each.asked if each.expected.get(n) != "violated"}
        assert not [n for n, idle in vacuous.items() if idle and n in held], each.name
