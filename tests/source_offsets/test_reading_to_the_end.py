"""618.32, reading to the end: what is proved of it, that it is one step for all who rely on it, and how it goes wrong.

A changed number of steps is a changed model, and has to be argued for.
"""

import pytest
from fencepost.model.language.derived.mutations import mutations, settle
from fencepost.model.source_offsets.reading import AtOnce, Reading
from fencepost.proofs.engines.explore import coverage, explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.progress import check_progress
from fencepost.properties.entries import Variant, features_of
from fencepost.properties.source_offsets.claims.reading import STEPS, ReadingLemmas
from fencepost.properties.source_offsets.variants import BASE, READING_VARIANTS, SMALL

MAIN, *WRONG = READING_VARIANTS
BEGINS, BEFORE, ONLY, ENDS = "begins_with_all", "all_before_the_end", "nothing_uncommitted", "reads_to_the_end"

BROKEN = {
    "up-to-the-last-stable": {BEGINS: 4, BEFORE: 4},
    "read-uncommitted": {ONLY: 3, BEGINS: 6},
    "read-gives-up": {BEGINS: 3, BEFORE: 3},
    "asked-before-the-fence": {BEGINS: 5},
    "read-as-a-snapshot": {"whole_transactions": 7},
    "a-transaction-hangs": {ENDS: 7},
}
"""What each mistake breaks, and in how few steps."""

MUTATIONS = {
    ("618.18", "before_the_fence"): {BEGINS},
    ("618.32", "finish: guard 1 dropped"): {BEGINS, BEFORE},
    ("618.32", "finish: guard 1 looser"): {BEGINS, BEFORE},
    ("618.32", "finish: guard 1 stricter"): {ENDS},
    ("618.32", "read_uncommitted"): {BEGINS, ONLY},
    ("618.32", "up_to_the_last_stable"): {BEGINS, BEFORE},
}
"""What fails where a rule is read wrongly."""


def broken(variant: Variant, bounds: dict[str, int]) -> dict[str, int]:
    """What fails of a variant, with the number of steps."""
    promises = {n: p for n, p in variant.asked.items() if p.role in ("promise", "progress")}
    made = explore(variant.spec, promises, bounds)
    found = {n: made.traces.steps(n) for n in made.violated}
    for name, result in check_progress(made).items():
        if result.verdict == "violated":
            assert result.trace is not None
            found[name] = len(result.trace)
    return found


def test_proved() -> None:
    """Without bounds: that the task begins with all and with nothing else, and that it is as if it read at once."""
    proof = prove(MAIN.spec, MAIN.kept)
    assert [o for o in proof.obligations if o.verdict != "holds"] == []
    assert proof.verdicts["read_at_once"] == proof.verdicts[BEGINS] == "holds"


def test_explored() -> None:
    """Each state within bounds is as it should be, also where the task begins anew; each witness is reached."""
    made = [explore(MAIN.spec, MAIN.asked, bounds) for bounds in features_of(MAIN, "smoke").values()]
    assert all(m.complete for m in made)
    for name, item in MAIN.asked.items():
        verdicts = {m.verdicts[name] for m in made if name in m.verdicts}
        assert "holds" in verdicts if item.kind == "sometimes" else verdicts <= {"holds"}


def test_every_step_of_the_reading_at_once_is_taken() -> None:
    """Each by the steps that the proof names."""
    bounds = BASE | {"log": 4, "entries": 2, "restarts": 1}
    found = coverage(explore(MAIN.spec, {"read_at_once": MAIN.asked["read_at_once"]}, bounds), "read_at_once")
    assert set(found) == set(AtOnce.spec.actions) and all(found.values())
    assert {step for steps in STEPS.values() for step in steps} == set(found)


def test_the_reading_ends() -> None:
    """Once every transaction is decided, which each is in the end: no matter whose."""
    made = explore(MAIN.spec, {ENDS: MAIN.asked[ENDS]}, SMALL)
    assert check_progress(made)[ENDS].verdict == "holds"


@pytest.mark.parametrize("variant", WRONG, ids=lambda v: v.name)
def test_broken(variant: Variant) -> None:
    """What each mistake breaks, after how many steps at the least."""
    bounds = dict(variant.progress_bounds[0] if variant.progress_bounds else variant.bounds["smoke"])
    assert broken(variant, bounds) == BROKEN[variant.name]
    assert set(BROKEN[variant.name]) == set(variant.expected)


def test_the_last_stable_offset_is_too_early() -> None:
    """What its predecessor has stored is behind a transaction of another task, which is open: the end that the task
    asks for is before both, and it begins with nothing."""
    variant = next(v for v in WRONG if v.name == "up-to-the-last-stable")
    trace = explore(variant.spec, {BEGINS: variant.asked[BEGINS]}, SMALL).traces[BEGINS]
    assert [event.action for event in trace.events] == ["write", "write_of_mine", "ask", "finish"]
    assert trace.states[-1]["target"] == 0


@pytest.mark.parametrize("key", MUTATIONS, ids=lambda k: f"{k[0]} {k[1]}")
def test_every_part_of_the_rule_is_needed(key: tuple[str, str]) -> None:
    """The end without regard to transactions, committed entries only, up to that end, and after the fence."""
    mutated = next(m for m in mutations(Reading.spec) if (m.rule, m.name) == key).apply()
    asked = {n: p for n, p in ReadingLemmas.properties.items() if p.role in ("promise", "progress")}
    made = explore(mutated, asked, SMALL)
    failed = set(made.violated) | {n for n, r in check_progress(made).items() if r.verdict == "violated"}
    assert failed == MUTATIONS[key]


def test_no_part_is_left_out() -> None:
    """These are all ways to get these rules wrong."""
    assert {(m.rule, m.name) for m in mutations(Reading.spec)} == set(MUTATIONS)


def test_the_fence_need_not_wait_for_markers() -> None:
    """When the end is asked, what a fenced predecessor has committed need not be marked: it is read all the same."""
    made = explore(settle(Reading.spec), {"was_not_marked": ReadingLemmas.properties["was_not_marked"]}, SMALL)
    last = made.traces["was_not_marked"].states[-1]
    assert any(last["then"].values()) and not any(last["seen"].values())
