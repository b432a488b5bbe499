"""What rules of producer id blocks are for, beyond the verdict on each mutation (which is a row of the golden file, see
tests/proofs/necessity/test_golden_rows.py): ids handed out twice, mistakes that do harm together, endless work."""

import pytest
from fencepost.model.language.derived.mutations import mutation
from fencepost.model.language.protocol import Spec
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import first_broken
from fencepost.proofs.results import Trace
from fencepost.properties.catalogue import Variant, bounds_of
from fencepost.properties.id_blocks.variants import ID_BLOCKS

TWICE, STUCK = "no_id_twice", "an_id_in_the_end"
TWICE_LATER = [
    ("kraft", "730.7", "answer: guard 1 dropped"),
    ("kraft", "730.8", "allocate: next not updated"),
    ("kraft", "730.8", "first_release_starts_one_late"),
    ("zookeeper", "730.2", "write: guard 1 dropped"),
    ("zookeeper", "730.2", "not_read_again"),
    ("bridge", "730.14", "move: guard 1 dropped"),
    ("kraft", "730.10", "omitted"),
    ("kraft", "730.19", "take: guard 1 dropped"),
    ("kraft", "730.3", "kept"),
    ("kraft", "730.16", "allocate: guard 1 dropped"),
    ("bridge", "730.15", "not_carried_over"),
]


@pytest.mark.parametrize(("name", "rule", "mutant"), TWICE_LATER)
def test_an_id_is_handed_out_twice(name: str, rule: str, mutant: str) -> None:
    """Where blocks overlap first, it is later: the mutant breaks that promise by itself."""
    variant = ID_BLOCKS.variant(name)
    spec = mutation(variant.properties.protocol.spec, rule, mutant).apply()
    assert first_broken(spec, {TWICE: variant.asked[TWICE]}, bounds_of(variant, "smoke")) is not None


def test_two_harmless_mistakes_that_do_harm_together() -> None:
    """I12 with I11: the answer cache gives a restarted broker its old block even before it has registered again."""
    variant = ID_BLOCKS.variant("kraft-idempotent")
    bound = bounds_of(variant, "smoke")
    both = mutation(variant.properties.protocol.spec, "730.18", "answer_again: guard 1 dropped").apply()
    asked = {TWICE: variant.asked[TWICE]}
    alone, together = first_broken(variant.spec, asked, bound), first_broken(both, asked, bound)
    assert alone is not None
    assert together is not None
    assert (len(alone[1]), len(together[1])) == (14, 13)
    assert "register" in {event.action for event in alone[1].events}
    assert "register" not in {event.action for event in together[1].events}


@pytest.mark.parametrize("name", ["fail: in_flight not updated", "end_back_off: never"])
def test_seeded_livelocks(name: str) -> None:
    """730.5: the in-flight flag is never cleared, or the back-off never ends; progress says so, and how."""
    variant = ID_BLOCKS.variant("kraft")
    spec = mutation(variant.properties.protocol.spec, "730.5", name).apply()
    trace = _stuck(variant, spec, STUCK)
    last = trace.states[-1]
    assert trace.loop is not None
    assert last["in_flight"] if name.startswith("fail") else last["backing_off"]


def test_retry_at_the_end_of_the_ids_is_a_fair_cycle() -> None:
    """Brokers ask for ever when no ids are left: a cycle in which they ask and are refused, again and again."""
    variant = ID_BLOCKS.variant("kraft")
    trace = _stuck(variant, variant.spec, "an_id_even_at_the_end")
    assert trace.loop is not None
    assert {"ask", "refuse", "fail", "end_back_off"} <= {event.action for event in trace.events[trace.loop :]}
    assert trace.states[-1] == trace.states[trace.loop]


def _stuck(variant: Variant, spec: Spec, name: str) -> Trace:
    exploration = explore(spec, {name: variant.asked[name]}, variant.progress_bounds[0])
    found = check_progress(exploration)[name]
    assert found.verdict == "violated"
    assert found.trace is not None
    return found.trace
