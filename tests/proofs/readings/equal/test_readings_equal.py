"""What the explorer and replay execute is proved to be what the proofs reason about, and plain Python is compared with
it in the states that are reached; a mistake planted in any of these readings, or in the term, is found."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost, read_json
from fencepost.model.language.tree.terms import Term
from fencepost.proofs.engines.run_engines import run_equal
from fencepost.proofs.readings.columns import source
from fencepost.proofs.readings.columns.magnitudes import NAMES
from fencepost.proofs.readings.equal import grids, obligations
from fencepost.proofs.readings.equal.obligations import LEFT_OUT, Equal, Readings
from fencepost.proofs.readings.equal.running import compare
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.readings.solver.terms import Reading
from fencepost.properties.catalogue import bounds_of, find, protocols

SMALL = ("id-blocks/kraft", "kip618-yardstick/yardstick", "transactions/core-v2", "task-counts/A")
MAIN = [f"{e.name}/{v.name}" for e in protocols().values() for v in e.variants if v.main]


@pytest.mark.parametrize("name", SMALL)
def test_both_readings_are_one(name: str) -> None:
    """Every action and every property but refinements, each by one question."""
    entry, variant = find(name)
    assert variant is not None
    found = run_equal(entry, variant, bounds_of(variant, "smoke"))
    assert {r.verdict for r in found} == {"holds"}
    held = (
        ["packed_words"] if "log" in variant.spec.types else ["packed_words", "columns"]
    )  # a sequence is in no column
    assert {r.property for r in found if r.evidence["of"] == "action"} == {
        f"{action}_in_{reading}" for action in variant.spec.actions for reading in held
    }


TRUTH_VALUES = [
    ("group-fencing/shipped-over-core-v2", "mark_offsets"),  # a parameter
    ("transactions/core-v2-overlapping", "fail_over"),  # quantified
    ("transactions/core-v2-overlapping", "answer_again_by_deposed"),  # a key that is computed
]


@pytest.mark.parametrize(("name", "action"), TRUTH_VALUES)
def test_a_truth_value_is_no_number_in_columns(name: str, action: str) -> None:
    _, variant = find(name)
    assert variant is not None
    readings = Readings(variant.spec, {}, bounds_of(variant, "ci"))
    assert [(one.read_as, one.verdict) for one, _ in readings.of_action(action)] == [
        ("packed words", "holds"), ("columns", "holds"),
    ]  # fmt: skip


@pytest.mark.nightly(nights=6)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MAIN)
def test_both_readings_are_one_of_every_variant(name: str) -> None:
    entry, variant = find(name)
    assert variant is not None
    assert {r.verdict for r in run_equal(entry, variant, bounds_of(variant, "smoke"))} <= {"holds"}


def broken(name: str, change: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> list[Equal]:
    """What is told apart when the emitted source is changed."""
    _, variant = find(name)
    assert variant is not None

    class Changed(obligations.Kernels):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)  # type: ignore[arg-type]
            changed = change(self.source)
            assert changed != self.source
            self.source = changed

    monkeypatch.setattr(obligations, "Kernels", Changed)
    made = Readings(variant.spec, variant.asked, bounds_of(variant, "smoke"))
    return [one for one, _ in made.all() if one.verdict != "holds"]


def without_one(pattern: str, instead: str, place: int) -> Callable[[str], str]:
    """The source with one occurrence of something replaced."""

    def change(source: str) -> str:
        found = list(re.finditer(pattern, source))[place]
        return source[: found.start()] + found.expand(instead) + source[found.end() :]

    return change


MISTAKES = {
    "a bit that is set is not": without_one(r"o \|= U64\((\d+)\)", r"o |= U64(0)", 3),
    "bits that should go stay": without_one(r"o &= U64\((\d+)\)", r"o &= U64(18446744073709551615)", 2),
    "a comparison is turned round": without_one(r" == ", " <= ", 5),
    "a condition is left out": without_one(r"(v\d+) & (v\d+)\n", r"\1\n", 1),
    "a column is cut out one bit too high": without_one(r">> U64\((\d+)\)\)", r">> U64(40))", 0),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_emission_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a state that tells the readings apart, within the bounds."""
    found = broken("kip618-yardstick/yardstick", MISTAKES[mistake], monkeypatch)
    assert found and {one.verdict for one in found} == {"violated"}
    assert all(one.state for one in found)


def told_apart(name: str) -> list[Equal]:
    """The answers on the actions of a variant, in its smoke bounds, that are not equal."""
    _, variant = find(name)
    assert variant is not None
    source.compile_step.cache_clear()
    try:
        made = Readings(variant.spec, {}, bounds_of(variant, "smoke"))
        return [one for action in variant.spec.actions for one, _ in made.of_action(action) if one.verdict != "holds"]
    finally:
        source.compile_step.cache_clear()


def renamed(of: Any, op: str, to: str) -> Callable[..., Any]:
    """A translator's method that takes each operation for another one."""

    def method(self: Any, node: Term, *given: Any) -> Any:
        changed = Term(to, node.args, node.data, node.type) if node.op == op else node
        return of(self, changed, *given)

    return method


def swapped(self: Any, node: Term, given: list[str], of: Any = source._Emitter._operation) -> Any:
    """Columns whose conditional has its branches the wrong way round."""
    return of(self, node, [given[0], given[2], given[1]] if node.op == "ite" else given)


def narrower(self: Any, updates: Any, scope: Any, of: Any = source._Emitter.fits) -> Any:
    """Columns that refuse to assign at the last key of a range."""
    found = of(self, updates, scope)
    self.lines[:] = [re.sub(r"is_inside\((\w+), (\w+)\)", r"is_inside(\1, \2 - 1)", line) for line in self.lines]
    return found


OF_COLUMNS = {
    "a branch is swapped": ("_operation", swapped),
    "at most is less than": ("_operation", renamed(source._Emitter._operation, "le", "lt")),
    "one is as good as all": ("_operation", renamed(source._Emitter._operation, "and", "or")),
    "the last key lies outside": ("fits", narrower),
    "a quantifier is of the other kind": ("_quantifier", renamed(source._Emitter._quantifier, "forall", "exists")),
}


@pytest.mark.parametrize("mistake", OF_COLUMNS)
def test_a_mistake_of_columns_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In columns alone, with a state in which they differ."""
    monkeypatch.setattr(source._Emitter, *OF_COLUMNS[mistake])
    found = told_apart("idempotence/idempotent")
    assert {(one.read_as, one.verdict) for one in found} == {("columns", "violated")}


def test_a_dropped_conjunct_of_the_term_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then both other readings differ from it."""
    read = Reading._apply

    def dropped(self: Reading, term: Term, args: list[Any]) -> Any:
        return read(self, term, args[:-1] if term.op == "and" else args)

    monkeypatch.setattr(Reading, "_apply", dropped)
    found = told_apart("idempotence/idempotent")
    assert {(one.read_as, one.verdict) for one in found} == {("packed words", "violated"), ("columns", "violated")}


def test_everything_that_columns_call_has_a_symbolic_counterpart() -> None:
    """A function that only NumPy has would be run on symbols as if they were numbers."""
    assert grids._names(grids._Run(None)).keys() == NAMES.keys()


def test_plain_python_in_every_reachable_state() -> None:
    """All 1,064, with every action taken in some of them."""
    _, variant = find("id-blocks/zookeeper")
    assert variant is not None
    ran = compare(variant.spec, bounds_of(variant, "smoke"))
    assert (ran.complete, ran.states, ran.different) == (True, 1_064, {})
    assert ran.taken.keys() == variant.spec.actions.keys() and all(ran.taken.values())


def test_fewer_states_are_drawn_from_all_levels() -> None:
    """And are then no longer called all."""
    _, variant = find("id-blocks/zookeeper")
    assert variant is not None
    ran = compare(variant.spec, bounds_of(variant, "smoke"), most=100)
    assert (ran.complete, ran.drawn_from) == (False, 1_064) and 90 <= ran.states <= 100
    assert all(ran.taken.values())


OF_PLAIN = {
    "at most is less than": renamed(Plain.text, "le", "lt"),
    "one is as good as all": renamed(Plain.text, "and", "or"),
    "a sum is a difference": renamed(Plain.text, "add", "sub"),
}


@pytest.mark.parametrize("mistake", OF_PLAIN)
def test_a_mistake_of_plain_python_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the first state and event in which it differs."""
    _, variant = find("id-blocks/zookeeper")
    assert variant is not None
    monkeypatch.setattr(Plain, "text", OF_PLAIN[mistake])
    ran = compare(replace(variant.spec), bounds_of(variant, "smoke"))
    assert ran.different and all(one["event"] and one["state"] for one in ran.different.values())


def test_the_command_prints_a_row_for_each_action(tmp_path: Path) -> None:
    """And what it does not cover, with the reason; the report has a row for each action and reading."""
    ran = fencepost("prove", "id-blocks/zookeeper", "--readings", "--json", tmp_path / "r.json")
    assert ran.code == 0, ran.out
    lines = {" ".join(line.split()) for line in ran.out.splitlines()}
    assert "hand out proved equal proved equal equal, 376 steps" in lines
    assert all(f"not covered: {what}" in ran.out for what in LEFT_OUT)
    rows = read_json(tmp_path / "r.json")
    assert len([r for r in rows if r["evidence"]["of"] == "action"]) == 3 * 6


def test_the_command_says_where_a_reading_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is 1."""
    monkeypatch.setattr(Plain, "text", OF_PLAIN["at most is less than"])
    ran = fencepost("prove", "id-blocks/zookeeper", "--readings")
    assert ran.code == 1
    assert re.search(r"in plain python: differs: \w+\(", ran.out)


def test_columns_that_hold_no_sequence_are_not_covered() -> None:
    """With the reason, and the other readings are compared."""
    ran = fencepost("prove", "kip618-yardstick/yardstick", "--readings")
    assert ran.code == 0
    assert re.search(r"not covered: columns: .* is a sequence", ran.out)
    assert "proved equal not covered equal, " in " ".join(ran.out.split())


def test_what_only_proofs_of_promises_have_is_refused() -> None:
    assert fencepost("prove", "id-blocks/zookeeper", "--readings", "--certificates", "somewhere").code == 2
