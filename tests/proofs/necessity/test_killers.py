"""Killers: a tautology is vacuous, a stale kept run is unexpected, and a real one passes."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import fencepost
from fencepost.model.language import (
    Bool,
    Ghost,
    Map,
    Nat,
    Properties,
    Protocol,
    Sort,
    action,
    each,
    exists,
    forall,
    implies,
    leads_to,
    progress,
    promise,
    require,
    rule,
    witness,
)  # fmt: skip
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.cli.shared.output import killers_line
from fencepost.proofs.necessity import keeping, killers, proof_mutants
from fencepost.proofs.necessity.keeping import search
from fencepost.proofs.necessity.killers import Killers, file_of
from fencepost.proofs.necessity.proof_mutants import Refusals
from fencepost.proofs.necessity.saved_runs import KeptRun, write_runs
from fencepost.proofs.results import Result
from fencepost.proofs.variants import judge
from fencepost.properties.catalogue import ProtocolEntry, Variant


class Connector(Sort, bound="connectors"):
    """A connector."""


class Level(Nat, upto="most"):
    """A level."""


class Rounds(Protocol):
    """Rounds of connectors, each of which fences ids of its own: connectors share an id only if they are the same."""

    busy: Map[Connector, Bool]
    fenced: Map[Connector, Bool]
    running: Map[Connector, Bool]
    disturbed: Ghost[Bool]
    level: Level

    def share_ids(s, c, d):
        return c == d

    @action(fair="weak")
    def begin(s, c: Connector):
        require(~s.busy[c], rule="618.4")
        s.busy[c] = True

    @action(fair="weak")
    def fence(s, c: Connector):
        require(s.busy[c], rule="618.12")
        require(~s.fenced[c])
        s.disturbed = s.disturbed | exists(Connector, lambda d: s.share_ids(c, d) & (c != d) & s.running[d])
        with rule("618.12"):
            s.fenced = each(lambda d: s.fenced[d] | s.share_ids(c, d))

    @action
    def run(s, c: Connector):
        require(s.fenced[c], rule="618.15")
        require(~s.running[c])
        s.running[c] = True


class RoundsProperties(Properties, of=Rounds):
    """One promise that rules keep, one that says nothing, and one that work gets done."""

    @promise(rule="618.P1")
    def fenced_before_it_runs(s):
        """What runs was fenced."""
        return forall(Connector, lambda c: implies(s.running[c], s.fenced[c]))

    @promise(rule="618.9")
    def only_its_own(s):
        """No round disturbs another connector."""
        return ~s.disturbed

    @progress(rule="618.P4")
    def fenced_in_the_end(s, c: Connector):
        """What is begun is fenced."""
        return leads_to(s.busy[c], s.fenced[c])

    @witness(of="fenced_before_it_runs")
    def one_runs(s):
        """A connector runs."""
        return exists(Connector, lambda c: s.running[c])

    @witness(of="only_its_own")
    def both_fenced(s):
        """All are fenced."""
        return forall(Connector, lambda c: s.fenced[c])


BOUNDS = dict(connectors=2, most=1)
ROUNDS = Variant(
    "rounds", RoundsProperties, "rounds side by side", bounds={"smoke": BOUNDS}, progress_bounds=(BOUNDS,),
)  # fmt: skip
ENTRY = ProtocolEntry("rounds", "Rounds.", (ROUNDS,), dict.fromkeys(BOUNDS, "two"))
KILLER = KeptRun("fenced_before_it_runs", (("618.15", "run: guard 1 dropped"),), "", ("run(c=0)",))


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are kept in a folder of the test."""
    monkeypatch.setattr(killers, "folder_of", lambda _: tmp_path)
    monkeypatch.setattr(keeping, "folder_of", lambda _: tmp_path)
    monkeypatch.setattr(proof_mutants, "folder_of", lambda _: tmp_path)


def keep(runs: Sequence[KeptRun], refused: Refusals | None = None) -> None:
    file = file_of(ROUNDS)
    assert file is not None
    write_runs(file, runs)
    proof_mutants.write(ROUNDS, refused or Refusals())


def verdicts(engine: str, variant: Variant = ROUNDS) -> dict[str, Result]:
    made = judge(ENTRY, variant, "smoke")
    return {r.property: r for _, r in made.results if r.engine == engine}


def test_without_a_recorded_run_all_is_vacuous() -> None:
    """A *holds* of every engine is unexpected as long as nothing is known that would have broken it."""
    for engine in ("explore", "progress", "induction"):
        judged = {n: r for n, r in verdicts(engine).items() if r.kind in ("always", "eventually")}
        assert {r.verdict for r in judged.values()} == {"vacuous"}, engine
        assert not any(r.as_expected for r in judged.values())
        assert all(
            "no mutation is known" in r.evidence["reason"] or "guard" in r.evidence["reason"] for r in judged.values()
        )
    assert {r.verdict for r in verdicts("explore").values() if r.kind == "sometimes"} == {"holds"}


def test_the_search_finds_what_can_be_broken_and_names_what_cannot() -> None:
    """618.9 as it was: true by the way in which it is written, explored or proved, whatever rule is got wrong."""
    found = search(ROUNDS, "smoke")
    assert {run.property for run in found.runs} == {"fenced_before_it_runs", "fenced_in_the_end"}
    assert found.missing == [("only_its_own", "")]
    assert found.refused.needless == ("only_its_own",)
    assert found.unrefused == ["only_its_own"]
    keep(found.runs, found.refused)
    explored, proved = verdicts("explore"), verdicts("induction")
    assert (explored["only_its_own"].verdict, proved["only_its_own"].verdict) == ("vacuous", "vacuous")
    assert (
        proved["only_its_own"].evidence["reason"]
        == "it speaks of ghosts, and is inductive with every guard of every action taken out"
    )
    assert (explored["fenced_before_it_runs"].verdict, proved["fenced_before_it_runs"].verdict) == ("holds", "holds")
    killer = explored["fenced_before_it_runs"].evidence["killer"]
    assert killer == {"rule": "618.15", "mutation": "run: guard 1 dropped", "bounds": BOUNDS, "steps": ["run(c=0)"]}
    assert proved["fenced_before_it_runs"].evidence["killer"]["refused"] == "run breaks fenced_before_it_runs"
    assert verdicts("progress")["fenced_in_the_end"].evidence["killer"]["rule"] in ("618.4", "618.12")
    again = search(ROUNDS, "smoke")
    assert (again.runs, again.new) == (found.runs, [])


@pytest.mark.parametrize(
    ("stale", "why"),
    [
        (replace(KILLER, steps=("begin(c=0)", "fence(c=1)", "run(c=0)")), "step 2, fence(c=1): it is not enabled"),
        (replace(KILLER, without=(("618.15", "run: guard 2 dropped"),)), "has no mutation 'run: guard 2 dropped'"),
        (replace(KILLER, steps=("begin(c=0)",)), "fenced_before_it_runs holds after the last step"),
        (replace(KILLER, steps=("run(c=2)",)), "step 1, run(c=2): c is beyond the bounds"),
    ],
)
def test_a_stale_run_is_unexpected(stale: KeptRun, why: str) -> None:
    """A kept run that no longer fits is told with the step; the search replaces it."""
    keep([stale])
    found = verdicts("explore")["fenced_before_it_runs"]
    assert (found.verdict, found.as_expected) == ("vacuous", False)
    assert why in found.evidence["reason"]
    assert search(ROUNDS, "smoke").runs[0] == KILLER


def test_a_run_of_other_bounds_is_none() -> None:
    """What breaks a promise within larger bounds says nothing of the smaller ones."""
    run = replace(KILLER, steps=("run(c=1)",))
    few = replace(ROUNDS, bounds={"smoke": dict(BOUNDS, connectors=1)})
    item = ROUNDS.asked["fenced_before_it_runs"]
    assert not isinstance(Killers(ROUNDS, "smoke", [run]).of(item, ("",)), str)
    assert isinstance(Killers(few, "smoke", [run]).of(item, ("",)), str)


WHY = "share_ids says c == d, and what is disturbed is another one"


def claiming(name: str) -> type[Properties]:
    """The properties, where one promise says why no mutation can break it."""
    body = getattr(RoundsProperties, name).body
    stated = promise(rule="618.9", no_mutant=WHY)(body)
    return type(f"Claiming{name.title().replace('_', '')}", (RoundsProperties,), {name: stated}, of=Rounds)


def claimed(name: str) -> Variant:
    return replace(ROUNDS, properties=claiming(name))


def test_a_promise_that_is_true_by_construction_says_so() -> None:
    """It is vacuous without saying why no mutation breaks it, and holds with that, in the evidence of each engine; then
    none is missing.  Its scope is narrowed as if it were vacuous: no danger could have broken it."""
    variant = claimed("only_its_own")
    found = search(variant, "smoke")
    assert (found.missing, found.unrefused, found.wrongly_spared) == ([], [], [])
    assert {run.property for run in found.runs} == {"fenced_before_it_runs", "fenced_in_the_end"}
    keep(found.runs, found.refused)
    for engine in ("explore", "induction"):
        without, with_it = (verdicts(engine, each)["only_its_own"] for each in (ROUNDS, variant))
        assert (without.verdict, "no_mutant" in without.evidence) == ("vacuous", False), engine
        assert (with_it.verdict, with_it.evidence["no_mutant"]) == ("holds", WHY), engine
        assert "killer" not in with_it.evidence and with_it.as_expected
        assert with_it.scope == without.scope or engine == "induction"
    results = [r for _, r in judge(ENTRY, variant, "smoke").results]
    assert killers_line(results).endswith("; true by construction: only its own")


def test_what_breaks_it_is_an_error() -> None:
    """A kept run, or a step that breaks the promise itself in a mutant; and a search comes upon it anew."""
    variant = claimed("fenced_before_it_runs")
    why = f"fenced before it runs is said to be true by construction \\({re.escape(WHY)}\\), but "
    judge(ENTRY, variant, "smoke")  # as long as nothing is known
    keep([KILLER])
    with pytest.raises(InputError, match=why + "618.15 'run: guard 1 dropped' in 1 step breaks it"):
        judge(ENTRY, variant, "smoke")
    [refused] = search(ROUNDS, "smoke").refused.refused
    keep([replace(KILLER, steps=("begin(c=0)",))], Refusals("another", (refused,), ()))  # a run that breaks nothing
    with pytest.raises(InputError, match=why + "run without 618.15 'run: guard 1 dropped' breaks it"):
        judge(ENTRY, variant, "smoke")
    keep([], Refusals("another", (replace(refused, fails="only_its_own"),), ()))  # nor does what breaks another
    judge(ENTRY, variant, "smoke")
    found = search(variant, "smoke")
    assert found.wrongly_spared == ["fenced_before_it_runs"]
    assert KILLER in found.new
    broken = replace(
        variant, rule="618.15", reading=("618.15", "run: guard 1 dropped"), progress_bounds=(),
        expected={"fenced_before_it_runs": "violated"},
    )  # fmt: skip
    with pytest.raises(InputError, match="what this variant gets wrong breaks it"):
        judge(ENTRY, broken, "smoke")


def test_the_command_says_what_is_wrongly_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    """And fails; where the reason is right it does not."""
    for name, code in (("fenced_before_it_runs", 1), ("only_its_own", 0)):
        alone = {"asks": (name,), "proof": False, "progress_bounds": (), "rule": "618.15"}
        entry = replace(ENTRY, variants=(replace(claimed(name), **alone),))
        monkeypatch.setattr("fencepost.proofs.cli.mutants.protocols", lambda entry=entry: {entry.name: entry})
        ran = fencepost("mutants")
        assert (ran.code, f"the no_mutant is not so of {name}: leave it out" in ran.out) == (code, bool(code)), ran.out


def test_a_proof_is_asked_again_where_the_model_has_changed() -> None:
    """The hash is of what is meant: another guard is another model, and its refusals are tried again."""
    found = search(ROUNDS, "smoke")
    assert proof_mutants.meaning(ROUNDS) == found.refused.model
    assert proof_mutants.meaning(replace(ROUNDS, reading=("618.15", "run: guard 1 dropped"))) != found.refused.model
    [refused] = found.refused.refused
    keep(found.runs, Refusals("another", (refused,), ()))
    proved = verdicts("induction")
    assert proved["fenced_before_it_runs"].verdict == "holds"
    assert proved["only_its_own"].verdict == "vacuous"
    keep(found.runs, Refusals("another", (replace(refused, action="begin"),), ()))
    assert "begin preserves fenced_before_it_runs" in verdicts("induction")["fenced_before_it_runs"].evidence["reason"]


def test_a_mistake_is_asked_for_what_it_breaks() -> None:
    """And for what it says that it keeps, with the witnesses of that."""
    wrong = replace(
        ROUNDS, rule="618.15", reading=("618.15", "run: guard 1 dropped"),
        expected={"fenced_before_it_runs": "violated"}, progress_bounds=(),
    )  # fmt: skip
    assert list(wrong.asked) == ["fenced_before_it_runs"]
    assert list(replace(wrong, asks=("only_its_own",)).asked) == [
        "fenced_before_it_runs",
        "only_its_own",
        "both_fenced",
    ]
