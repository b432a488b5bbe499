"""Sets of rules: what taking a rule out means, which sets suffice for a proof, which cut a promise, and that what is
kept is of this model."""

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import fencepost, read_json
from fencepost.model.language.derived.mutations import settle
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.necessity import sets
from fencepost.proofs.necessity.rule_removal import loosen, rules_of, settled
from fencepost.proofs.necessity.validity_cores import Cores, Proofs, Sufficient, cores, promises_of
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import Event
from fencepost.properties.catalogue import CatalogueError, Variant, bounds_of, protocols
from fencepost.properties.id_blocks.variants import ID_BLOCKS
from fencepost.properties.task_counts.variants.catalogue import TASK_COUNTS
from sets_again import searched

ZOOKEEPER, KRAFT, B = ID_BLOCKS.variant("zookeeper"), ID_BLOCKS.variant("kraft"), TASK_COUNTS.variant("core-B")


NOT_SEARCHED_AGAIN = {"retained", "abort-written"}
"""These are of two-phase commit, whose searches take half an hour of one core each."""
PROVED = [pytest.param(v, id=v.name) for entry in protocols().values() if entry.verified for v in sets.asked(entry)]
PROTOCOL = {v.name: entry.name for entry in protocols().values() for v in sets.asked(entry)}

TOO_HARD = {
    "cleaned": {"only_what_was_committed", "all_that_was_committed"},
    "shipped-mended": {
        "told_is_stored", "told_only_grows", "told_is_the_latest", "nothing_skipped", "nothing_lost_upstream",
        "kept_for_a_restart", "clean_end_covers_all",
    },
}  # fmt: skip
"""Promises whose proofs take more than the search allows to each step."""


@pytest.fixture(scope="module")
def found() -> sets.SavedSets:
    """The sets of the smallest variant, searched anew."""
    return sets.search(ZOOKEEPER)


def test_without_a_rule_there_are_more_steps() -> None:
    """Every step of the protocol is one of the loosened protocol, as said and with what each rule demands; and there
    are more."""
    raw, bounds = KRAFT.properties.protocol.spec, {**bounds_of(KRAFT, "smoke"), "ids": 2, "copies": 0}
    rules = rules_of(raw)
    loose, demands = loosen(raw, rules)
    plain, loosely = (Plain(settle(spec), {"size": 1, "ids": 2}, bounds) for spec in (raw, loose))
    walked, state = 0, plain.initial()
    for _ in range(12):
        steps = [(event, after) for event, after in plain.successors(state) if after is not None]
        for event, after in steps:
            ways = {n: 0 for n, _ in loose.actions[event.action].parameters if n not in event.parameters}
            same = Event(event.action, {**event.parameters, **ways})
            assert loosely.enabled(state, same)
            assert loosely.step(state, same) == after
            wanted = [term for terms in demands[event.action].values() for term in terms]
            assert all(loosely.evaluate(term, state, None, **same.parameters) for term in wanted)
            walked += 1
        state = steps[len(steps) // 2][1]
    assert walked > 30
    counts = [explore(spec, {}, bounds, max_states=50_000).distinct for spec in (settle(raw), settled(raw, rules))]
    assert counts[1] > counts[0]
    assert settled(raw, ()) == settle(raw)


def test_what_a_proof_needs() -> None:
    """Allocation from ZooKeeper: ids repeat without compare-and-set, memory that is lost, and the end of the ids;
    blocks are disjoint whatever brokers remember."""
    of = {c.promise: c for c in cores(ZOOKEEPER)}
    assert [s.rules for s in of["no_id_twice"].sufficient] == [("730.2", "730.3", "730.16")]
    assert [s.rules for s in of["disjoint_blocks"].sufficient] == [("730.2", "730.16")]
    assert of["disjoint_blocks"].those("not needed") == ("730.3",)
    assert all(c.complete for c in of.values())


def test_may_and_must() -> None:
    """618.15 and 618.16 stand in for each other, and for nothing else."""
    of = {c.promise: c for c in cores(B)}
    for name in ("no_zombie", "all_covered"):
        assert of[name].those("may") == ("618.15", "618.16")
        assert ("618.15", "618.16") in of[name].unproved
        assert of[name].complete
        [one, other] = [set(s.rules) for s in of[name].sufficient]
        assert one ^ other == {"618.15", "618.16"}


def test_a_set_that_suffices_proves_and_less_does_not() -> None:
    """By the definition, with a solver of its own."""
    [one] = next(c for c in cores(ZOOKEEPER) if c.promise == "no_id_twice").sufficient
    proofs = Proofs(ZOOKEEPER, ("no_id_twice", *one.lemmas))
    assert "no_id_twice" in proofs.inductive(frozenset(one.rules))
    for rule in one.rules:
        assert "no_id_twice" not in proofs.inductive(frozenset(one.rules) - {rule})


def test_cut_sets(found: sets.SavedSets) -> None:
    """Each alone is one, with the steps of its run; what the proof does not need is in none."""
    assert found.promises["no_id_twice"].cuts == (("730.2",), ("730.3",), ("730.16",))
    assert found.promises["disjoint_blocks"].cuts == (("730.2",), ("730.16",))
    of_rule = found.of_rule("730.3")
    assert (of_rule["must"], of_rule["may"]) == (["no_id_twice"], [])
    assert of_rule["cut_sets"] == [{"promise": "no_id_twice", "rules": ["730.3"], "steps": 5, "minimal": True}]


def test_what_is_recorded_is_read_again(found: sets.SavedSets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, and without a fault; but of another model it is refused, with the way out."""
    file = tmp_path / "sets-zookeeper.json"
    monkeypatch.setattr(sets, "file_of", lambda variant: file)
    assert sets.read(ZOOKEEPER) is None
    sets.write(file, found)
    assert sets.read(ZOOKEEPER) == found
    assert list(sets.faults(ZOOKEEPER, found)) == []
    document = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(document | {"model": "0123456789ab"}), encoding="utf-8")
    with pytest.raises(CatalogueError, match=r"with hash 0123456789ab.*--mutations sets --profile nightly"):
        sets.read(ZOOKEEPER)


def test_a_fault_of_what_is_recorded_is_reported(found: sets.SavedSets) -> None:
    """A run that ends too soon, a set that is too small, a cut without which the promise is proved."""
    good = found.promises["no_id_twice"]
    short = replace(good.cut_sets[0], steps=good.cut_sets[0].steps[:-1])
    small = Sufficient(("730.2", "730.16"), good.cores.sufficient[0].lemmas)

    def doctored(**changes: object) -> list[str]:
        one = replace(good, **changes)  # type: ignore[arg-type]
        return list(sets.faults(ZOOKEEPER, replace(found, promises={"no_id_twice": one})))

    [reported] = doctored(cut_sets=(short,))
    assert reported == "zookeeper: no_id_twice without 730.2: no_id_twice holds after the last step"
    proof = Cores("no_id_twice", good.cores.rules, (small,), (), True, 1)
    assert doctored(cores=proof, cut_sets=()) == ["zookeeper: no_id_twice is not proved from 730.2, 730.16"]
    assert any("and is proved without them" in reported for reported in doctored(cores=proof))


def test_what_is_recorded_is_of_this_model() -> None:
    """Of every proof the hash, and each promise."""
    for variant in (v for entry in protocols().values() if entry.verified for v in sets.asked(entry)):
        recorded = sets.read(variant)
        assert recorded is not None, f"not searched: necessity PROTOCOL --mutations sets --profile nightly ({variant})"
        assert set(recorded.promises) | TOO_HARD.get(variant.name, set()) == set(promises_of(variant))


@pytest.mark.nightly(nights=12)
@pytest.mark.parametrize("variant", PROVED)
def test_what_is_recorded_holds(variant: Variant) -> None:
    """Each cut set's run is one, and each sufficient set proves its promise: of the smallest variant in every run,
    above."""
    recorded = sets.read(variant)
    assert recorded is not None
    assert list(sets.faults(variant, recorded)) == []


def test_rules_that_stand_in_for_each_other() -> None:
    """618.15 and 618.16 in revision B: either may go, and without both a zombie commits in 13 steps."""
    kept = sets.read(B)
    assert kept is not None
    cuts = {cut: run for one in kept.promises.values() for cut, run in zip(one.cuts, one.cut_sets, strict=True)}
    assert {"618.15", "618.16"}.isdisjoint(rule for cut in cuts if len(cut) == 1 for rule in cut)
    [of_zombie] = [run for run in kept.promises["no_zombie"].cut_sets if len(run.without) == 2]
    assert sets.rules_taken(of_zombie) == ("618.15", "618.16")
    assert len(of_zombie.steps) == 13


@pytest.mark.nightly(nights=32)
@pytest.mark.parametrize("variant", [each for each in PROVED if each.id not in NOT_SEARCHED_AGAIN])
@pytest.mark.timeout(1200)
def test_a_search_finds_what_is_recorded(variant: Variant) -> None:
    """The same sets of rules again, whatever machine searches.  Which lemmas of several that would do are named with a
    set is Z3's choice; that they do is held above."""
    kept = sets.read(variant)
    assert kept is not None
    # In a process of its own: what Z3 leaves unknown within its limits depends on what it was asked before.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
        found = alone.submit(searched, PROTOCOL[variant.name], variant.name, kept.states).result()
    assert of_rules(found) == of_rules(kept)


def of_rules(found: sets.SavedSets) -> dict[str, object]:
    """By promise the sets that suffice, where they are all of them, and each cut set of one rule or two with the length
    of its run.  What else there is depends on what Z3 left unknown: that differs with what it was asked before."""
    return {
        name: (
            {one.rules for one in of.cores.sufficient} if of.cores.complete else None,
            {(cut, len(run.steps)) for cut, run in zip(of.cuts, of.cut_sets, strict=True) if len(cut) <= 2},
        )
        for name, of in found.promises.items()
        if name not in TOO_HARD.get(found.variant, ())
    }  # fmt: skip


def test_sets_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words, as rows and as a table, here of two variants; refused where none are kept or of another rule."""
    every, two = sets.asked, ("core-B", "record-by-record")
    monkeypatch.setattr(sets, "asked", lambda entry: [v for v in every(entry) if v.name in two])
    asked = ("task-counts", "--mutations", "sets", "--rule")
    ran = fencepost("necessity", *asked, "618.15", "--json", tmp_path / "s.json")
    assert ran.code == 0, ran.err
    assert "        may          618.15, 618.16" in ran.out.splitlines()
    assert "618.15 with 618.16 (13 steps)" in ran.out
    rows = {r["variant"]: r for r in read_json(tmp_path / "s.json")}
    assert rows["core-B"]["may"] == ["no_zombie", "all_covered"]
    assert rows["core-B"]["must"] == []
    assert {"promise": "no_zombie", "rules": ["618.15", "618.16"], "steps": 13, "minimal": True} in (
        rows["core-B"]["cut_sets"]
    )
    tabled = fencepost("necessity", "config-topic-writes", "--mutations", "sets", "--table", tmp_path / "s.md")
    assert tabled.code == 0, tabled.err
    assert "| config-topic-writes/record-by-record |" in (tmp_path / "s.md").read_text(encoding="utf-8")
    refused = fencepost("necessity", "config-topic-writes", *asked[1:], "730.7")
    assert refused.code == 2
    assert "no proof of config-topic-writes has a step with rule 730.7" in refused.err


def test_rows_of_necessity_say_what_is_known_of_sets(tmp_path: Path) -> None:
    """Each row of a proved variant has the three fields."""
    ran = fencepost("necessity", "config-topic-writes", "--json", tmp_path / "rows.json")
    assert ran.code == 0, ran.err
    rows = [r for r in read_json(tmp_path / "rows.json") if r["variant"] == "record-by-record"]
    assert rows
    assert all(isinstance(r[name], list) for r in rows for name in ("cut_sets", "must", "may"))
    assert any(r["must"] for r in rows)
