"""What the explorer executes is proved to be what the proofs reason about; and where it is not, that is found."""

import re
from collections.abc import Callable

import pytest
from fencepost.proofs.engines.run_engines import run_equal
from fencepost.proofs.readings.equal import obligations
from fencepost.proofs.readings.equal.obligations import Equal, Readings
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
    assert {r.property for r in found if r.evidence["of"] == "action"} == {
        f"{action}_in_both_readings" for action in variant.spec.actions
    }


@pytest.mark.nightly
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
    return [one for one in made.all() if one.verdict != "holds"]


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
