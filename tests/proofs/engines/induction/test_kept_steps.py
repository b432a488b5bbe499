"""Steps of proofs that earlier runs made: taken where nothing has changed that Z3 was asked, and never else."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import fencepost, read_json
from fencepost.model.language.derived.mutations import mutations, settle
from fencepost.proofs.engines.induction import Proof, prove
from fencepost.proofs.engines.obligation_cache import CachedSteps
from fencepost.proofs.engines.obligations import Obligation
from fencepost.proofs.readings.solver.solving import RLIMIT
from fencepost.properties.catalogue import protocols
from z3_protocols import Allocation, AllocationProperties

VARIANT = protocols()["id-blocks"].variant("zookeeper")
NAME = "id-blocks/zookeeper"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in (("XDG_CACHE_HOME", str(tmp_path)), ("FENCEPOST_FRESH", ""), ("CI", "")):
        monkeypatch.setenv(name, value)
    return tmp_path


def proved(  # type: ignore[no-untyped-def]
    spec=VARIANT.spec, properties=VARIANT.promised, rlimit: int = RLIMIT, fresh: bool = False, examples: bool = True
) -> Proof:
    """With what is kept, which it is kept with."""
    kept = CachedSteps.of(NAME, spec, rlimit, fresh=fresh)
    assert kept is not None
    made = prove(spec, properties, rlimit=rlimit, cache=kept, counterexamples=examples)
    kept.write()
    return made


def untold(obligations: tuple[Obligation, ...]) -> list[Obligation]:
    """Without when and how fast."""
    return [replace(o, cached=None, seconds=0.0, counterexample=None) for o in obligations]


@pytest.mark.usefixtures("cache")
def test_nothing_that_has_not_changed_is_proved_again() -> None:
    """All steps are as they were; of other limits, or of fewer lemmas, none is taken."""
    first, again = proved(), proved()
    assert not any(o.cached for o in first.obligations)
    assert all(o.cached for o in again.obligations)
    assert untold(first.obligations) == untold(again.obligations)
    assert not any(o.cached for o in proved(rlimit=RLIMIT + 1).obligations)
    proved()
    fewer = {name: item for name, item in VARIANT.promised.items() if name != next(iter(VARIANT.promised))}
    assert not any(o.cached for o in proved(properties=fewer).obligations)
    proved()
    assert not any(o.cached for o in proved(fresh=True).obligations)


@pytest.mark.usefixtures("cache")
def test_of_a_changed_rule_its_own_steps_are_proved_again() -> None:
    """Of a mutant of one action, that action's steps and no other's: with the verdicts of a proof from nothing."""
    right, stated = settle(Allocation.spec), AllocationProperties.properties
    proved(right, stated)
    tried = 0
    for mutant in mutations(Allocation.spec):
        spec = mutant.apply()
        changed = {n for n, a in spec.actions.items() if a != right.actions.get(n)}
        if len(changed) != 1:
            continue
        made = proved(spec, stated, examples=False)
        alone = prove(spec, stated, rlimit=RLIMIT, counterexamples=False)
        assert untold(made.obligations) == untold(alone.obligations), mutant.name
        # Where a step fails, what leans on it is looked at again without it.
        assert {o.action for o in made.obligations if not o.cached} >= changed, mutant.name
        if not alone.failures:
            assert {o.action for o in made.obligations if not o.cached} == changed, mutant.name
        proved(right, stated)
        tried += 1
    assert tried > 2


@pytest.mark.usefixtures("cache")
def test_what_does_not_hold_is_not_recorded() -> None:
    """It is refuted again, with a counterexample."""
    variant = protocols()["id-blocks"].variant("kraft-answer-first")
    for _ in range(2):
        made = proved(variant.spec, variant.promised)
        assert made.failures
        failing = {o.action for o in made.failures}
        assert not [o for o in made.obligations if o.action in failing and o.cached]
        assert all(o.counterexample is not None for o in made.failures if o.verdict == "violated" and o.property)


def test_a_file_of_anything_is_none(cache: Path) -> None:
    first = proved()
    [file] = (cache / "fencepost" / "steps").iterdir()
    for text in ("", "[]", "{", json.dumps({key: {"when": 1} for key in json.loads(file.read_text())})):
        file.write_text(text)
        made = proved()
        assert not any(o.cached for o in made.obligations)
        assert untold(made.obligations) == untold(first.obligations)


def test_the_command_says_what_is_from_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words and in the report; and proves all where it is told to."""

    def run(*words: str, **environment: str) -> tuple[str, set[str | None], set[str | None]]:
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            ran = fencepost("prove", NAME, "--json", cache / "report.json", *words)
        assert ran.code == 0, ran.err
        rows = read_json(cache / "report.json")
        return ran.out, {s["kept"] for row in rows for s in row["obligations"]}, {row["cached"] for row in rows}

    out, steps, verdicts = run()
    assert ("kept" in out, steps, verdicts) == (False, {None}, {None})
    out, steps, verdicts = run()
    assert None not in steps | verdicts
    number = sum(len(row["obligations"]) for row in read_json(cache / "report.json"))
    assert f"{number} of {number} steps kept since {min(filter(None, steps))}; nothing" in out
    assert run("--fresh")[1:] == run(CI="true")[1:] == run(FENCEPOST_FRESH="1")[1:] == ({None}, {None})
