"""The scope of a verdict: a danger is in only where the engine met it, and out with a reason everywhere else."""

from dataclasses import replace

import pytest
from fencepost.model.dangers import DANGERS
from fencepost.model.language import (
    Map,
    Nat,
    Properties,
    Protocol,
    Set,
    Sort,
    action,
    danger,
    either,
    excused,
    exists,
    fault,
    forall,
    implies,
    lemma,
    not_of_this,
    open_hole,
    promise,
    require,
    witness,
)  # fmt: skip
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.specs import Spec
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.run_engines import run_explore, run_features, run_induction
from fencepost.proofs.results import Result
from fencepost.proofs.scope.scopes import (
    NOTHING_STATED,
    Scope,
    scope_lines,
    scope_of,
    scope_of_counts,
    scope_of_proof,
    scope_of_search,
    shared,
    unaccounted,
)
from fencepost.properties.catalogue import ProtocolEntry, Variant

BOUNDS = {"parts": 2, "copies": 1, "restarts": 0, "most": 3}


class Part(Sort, bound="parts"):
    """A partition."""


class Count(Nat, upto="most"):
    """How often something was written."""


class Letters(Protocol):
    """Letters to partitions, which may be written twice, and a partition may restart."""

    written: Map[Part, Count]
    gone: Set[Part]
    outside = (
        not_of_this("there are no clients", "client-crash", "zombie"),
        open_hole("letters arrive in order; the other model has that", "reordering"),
        excused("copies come from one sender", "duplicate"),
    )

    @action
    def write(s, p: Part):
        require(~s.gone[p])
        s.written[p] = s.written[p] + 1

    @fault(budget="copies", danger=("duplicate", "late-copy"))
    def copy(s, p: Part):
        require((s.written[p] > 0) & ~s.gone[p])
        s.written[p] = s.written[p] + 1

    @fault(budget="restarts", danger="leader-restart")
    def restart(s, p: Part):
        s.written[p] = either("txn.1", 0, kept=s.written[p])

    @action(danger="truncation", dead="nothing is ever gone")
    def cut(s, p: Part):
        require(s.gone[p])
        s.written[p] = 0

    @danger("several-partitions")
    def two_written(s):
        """Two partitions have letters."""
        return exists(Part, Part, lambda p, q: (p != q) & (s.written[p] > 0) & (s.written[q] > 0))

    @danger("partition-away")
    def one_gone(s):
        """A partition is gone."""
        return exists(Part, lambda p: s.gone[p])


class LettersProperties(Properties, of=Letters):
    """What is true of letters."""

    @promise(rule="txn.P1")
    def none_gone(s):
        """No partition is gone."""
        return forall(Part, lambda p: ~s.gone[p])

    @promise(rule="txn.P2")
    def few_written(s):
        """Nothing is said of what is written."""
        return forall(Part, lambda p: implies(s.written[p] > 0, ~s.gone[p]))

    @lemma
    def nothing(s):
        """A lemma beside."""
        return forall(Part, lambda p: s.written[p] >= 0)

    @witness(of="none_gone")
    def written_once(s):
        """A letter is there."""
        return exists(Part, lambda p: s.written[p] > 0)

    @witness(of="few_written")
    def written_twice(s):
        """A second letter is there."""
        return exists(Part, lambda p: s.written[p] > 1)


LETTERS = Variant("letters", LettersProperties, "letters", bounds={"smoke": BOUNDS})
ENTRY = ProtocolEntry("letters", "letters", (LETTERS,), {})


def found(scope: Scope, *names: str) -> dict[str, tuple[str, str]]:
    return {name: (scope.cells[name].words, scope.cells[name].why) for name in names}


@pytest.fixture(scope="module")
def searched() -> Scope:
    return scope_of_search(LETTERS.spec, [explore(LETTERS.spec, LETTERS.asked, BOUNDS)])


def test_every_danger_has_a_cell_and_every_out_a_reason(searched: Scope) -> None:
    """The reason is of one of three kinds."""
    assert list(searched.cells) == list(DANGERS)
    kinds = ("not of this protocol: ", "Kafka excludes it because ", "open: ")
    assert all(cell.why.startswith(kinds) for cell in searched.cells.values() if cell.status == "out")


def test_explore_has_in_what_it_took_a_step_of_or_a_state_of(searched: Scope) -> None:
    assert searched.those("in") == ("late-copy", "several-partitions")
    assert found(searched, "duplicate", "zombie", "reordering", "cleaning") == {
        "duplicate": ("excused by copies come from one sender", "copies come from one sender"),
        "zombie": ("out", "not of this protocol: there are no clients"),
        "reordering": ("out", "open: letters arrive in order; the other model has that"),
        "cleaning": ("out", NOTHING_STATED),
    }


def test_a_fault_without_budget_is_out_in_explore_and_in_in_induction(searched: Scope) -> None:
    why = "open: the model has it, and no explored state within these bounds met it (bound restarts 0)"
    assert found(searched, "leader-restart") == {"leader-restart": ("out", why)}
    proved = scope_of_proof(LETTERS.spec, LETTERS.promised)
    assert proved.cells["leader-restart"].status == "in"
    wider = scope_of_search(LETTERS.spec, [explore(LETTERS.spec, LETTERS.asked, BOUNDS | {"restarts": 1})])
    assert wider.cells["leader-restart"].status == "in"


def test_what_the_invariant_excludes_is_out_of_a_proof() -> None:
    """An action that no state of the invariant enables, and a condition that none satisfies."""
    proved = scope_of_proof(LETTERS.spec, LETTERS.promised)
    why = "open: the model has it, and no state of the invariant does"
    assert found(proved, "truncation", "partition-away") == {
        "truncation": ("out", why),
        "partition-away": ("out", why),
    }
    weaker = {name: p for name, p in LETTERS.promised.items() if p.name == "nothing"}
    assert {"truncation", "partition-away"} <= set(scope_of_proof(LETTERS.spec, weaker).those("in"))


def test_deleting_a_tag_turns_the_cell_out(searched: Scope) -> None:
    copy = replace(LETTERS.spec.actions["copy"], dangers=("duplicate",))
    untagged = replace(LETTERS.spec, actions=LETTERS.spec.actions | {"copy": copy})
    without = scope_of_search(untagged, [explore(untagged, LETTERS.asked, BOUNDS)])
    assert searched.cells["late-copy"].status == "in"
    assert found(without, "late-copy") == {"late-copy": ("out", NOTHING_STATED)}
    assert scope_of_proof(untagged, LETTERS.promised).cells["late-copy"].status == "out"


def test_explore_counts_the_steps_and_says_when_each_came_first() -> None:
    """The first copy needs a letter before it, the second partition two letters; restarts have no budget."""
    made = explore(LETTERS.spec, LETTERS.asked, BOUNDS)
    assert made.first == {"write": 1, "copy": 2}
    assert made.met == {"two_written": 2}
    assert scope_of_search(LETTERS.spec, [made, made]).cells["late-copy"].count == 2 * made.taken["copy"] > 0


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_firsts_are_those_of_every_engine(engine: str) -> None:
    if engine == "numba":
        pytest.importorskip("numba")
    made = explore(LETTERS.spec, LETTERS.asked, BOUNDS, engine=engine, threads=1)
    assert (made.first, made.met) == ({"write": 1, "copy": 2}, {"two_written": 2})


def test_a_condition_of_the_initial_state_is_met_in_no_step() -> None:
    class Untouched(Letters):
        """Letters, and the condition that there is none."""

        @danger("loss")
        def none_written(s):
            """Nothing is written."""
            return forall(Part, lambda p: s.written[p] == 0)

    assert explore(settle(Untouched.spec), {}, BOUNDS).met == {"none_written": 0, "two_written": 2}


def test_a_condition_is_settled_with_its_model() -> None:
    """What a rule decides in a helper is decided in the conditions of dangers as well."""

    class Chosen(Letters):
        """Letters, and a condition that a rule decides."""

        @danger("loss")
        def as_the_rule_says(s):
            """What the rule says: some letter, or none."""
            return either("txn.2", exists(Part, lambda p: s.written[p] > 0), none=forall(Part, lambda p: s.gone[p]))

    assert explore(settle(Chosen.spec), {}, BOUNDS).met["as_the_rule_says"] == 1
    assert "as_the_rule_says" not in explore(settle(Chosen.spec, "txn.2", "none"), {}, BOUNDS).met


def test_what_is_counted_is_in_and_the_model_says_why_the_rest_is_not() -> None:
    counted = scope_of_counts(LETTERS.spec, "histories", {"zombie": 3, "loss": 0}, "none of 5 histories has it")
    assert counted.those("in") == ("zombie",)
    assert counted.cells["zombie"].count == 3
    assert found(counted, "client-crash", "loss", "reordering") == {
        "client-crash": ("out", "not of this protocol: there are no clients"),
        "loss": ("out", "open: none of 5 histories has it"),
        "reordering": ("out", "open: none of 5 histories has it"),
    }


def test_results_carry_the_scope_of_their_engine() -> None:
    """In the report: the dangers in, those out, and those under a condition."""
    explored, _ = run_explore(ENTRY, LETTERS, BOUNDS)
    together, _ = run_features(ENTRY, LETTERS, "smoke")
    for r in (*explored, *together):
        assert r.as_dict()["scope"] == ("late-copy", "several-partitions")
        assert r.as_dict()["excused"] == {"duplicate": "copies come from one sender"}
        assert set(r.out) | set(r.scope) | set(r.excused) == set(DANGERS)
    assert "leader-restart" in run_induction(ENTRY, LETTERS)[0].scope


def test_what_rests_on_several_verdicts_has_in_what_each_has() -> None:
    explored, _ = run_explore(ENTRY, LETTERS, BOUNDS)
    proved = run_induction(ENTRY, LETTERS)
    both = shared([explored[0], proved[0]])
    assert both["scope"] == ("late-copy", "several-partitions")
    assert "leader-restart" in both["out"]
    assert shared([])["scope"] == ()


def test_a_line_for_the_engines_that_met_the_same() -> None:
    explored, _ = run_explore(ENTRY, LETTERS, BOUNDS)
    again = [replace(found, engine="progress") for found in explored]
    out = len(DANGERS) - 3
    assert scope_lines([*explored, *again]) == [
        "explore, progress against late-copy, several-partitions; "
        "excused: duplicate (where copies come from one sender); "
        f"out: {out}, see `fencepost dangers letters/letters`"
    ]


def test_what_a_model_has_not_accounted_for() -> None:
    missing = unaccounted(LETTERS.spec)
    assert "cleaning" in missing
    assert not {"late-copy", "zombie", "reordering", "duplicate"} & set(missing)


def test_the_scope_of_any_form_of_a_protocol() -> None:
    """As for a mutated one: the actions and conditions that are left decide."""

    def without(spec: Spec, name: str) -> Spec:
        return replace(spec, actions={n: a for n, a in spec.actions.items() if n != name})

    mutated = without(LETTERS.spec, "copy")
    assert scope_of(mutated, "explore", [explore(mutated, LETTERS.asked, BOUNDS)]).those("in") == (
        "several-partitions",
    )
    assert "late-copy" not in scope_of(mutated, "induction", LETTERS.promised).those("in")
    assert "late-copy" in scope_of(LETTERS.spec, "induction", LETTERS.promised).those("in")


def test_only_a_result_without_an_engine_of_its_own_has_no_scope() -> None:
    bare = Result("p", "v", "x", "always", "explore", "holds", "holds", None, 0.0)
    assert (bare.scope, bare.out, bare.excused) == ((), (), {})
