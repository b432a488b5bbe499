"""Blocks of several lengths (730.8), malformed ones (730.20), blocks that the log has for good (730.P2), and what
is owed to a broker that writes to ZooKeeper."""

import pytest
from fencepost.model.language.derived.mutations import mutation
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.progress import check_progress
from fencepost.properties.catalogue import bounds_of
from fencepost.properties.id_blocks.variants import ID_BLOCKS

LENGTHS = ID_BLOCKS.variant("kraft-lengths")


def test_proved_whatever_the_lengths() -> None:
    """Each block may be of another length: every promise is proved, with any number of brokers, requests and ids."""
    assert prove(LENGTHS.spec, LENGTHS.kept).verdict() == "holds"


def test_the_length_is_the_answers() -> None:
    """A broker that goes by its own notion hands out an id of the next block, and the proof does not go through."""
    broken = ID_BLOCKS.variant("kraft-own-length")
    found = explore(broken.spec, broken.asked, bounds_of(broken, "smoke"))
    assert len(found.traces["no_id_twice"]) == 15
    assert prove(broken.spec, LENGTHS.kept).verdict("no_id_twice") != "holds"


@pytest.mark.parametrize(("name", "steps"), [("kraft-malformed", None), ("kraft-malformed-taken", 8)])
def test_a_block_past_the_last_id(name: str, steps: int | None) -> None:
    """The broker's check keeps ids from wrapping; without it the first id is handed out again."""
    variant = ID_BLOCKS.variant(name)
    found = explore(variant.spec, {"p": variant.asked["no_id_twice"]}, bounds_of(variant, "smoke"))
    assert found.complete and (len(found.traces["no_id_twice"]) if found.violated else None) == steps


@pytest.mark.parametrize("name", ["kraft", "bridge"])
def test_what_is_persisted_is_used_up(name: str) -> None:
    """730.P2 of blocks in the committed log, answered or not: a snapshot that says too little breaks it, and no answer
    has to be given for that."""
    variant = ID_BLOCKS.variant(name)
    asked = {"persisted_once": variant.asked["persisted_once"]}
    spec = mutation(variant.properties.protocol.spec, "730.10", "omitted").apply()
    bounds = dict(bounds_of(variant, "smoke"), snapshots=1, fail_overs=1, restarts=0, copies=0)
    assert explore(spec, asked, bounds, stop_when_violated=True).violated == ["persisted_once"]


@pytest.mark.parametrize("name", ["zookeeper", "bridge"])
def test_weak_fairness_is_enough(name: str) -> None:
    """730.P3 needs no luck at the node: whoever loses a race has lost it to a block that is used up, and ids end."""
    variant = ID_BLOCKS.variant(name)
    assert {a.fair for a in variant.spec.actions.values()} == {"", "weak"}
    asked = {"an_id_in_the_end": variant.asked["an_id_in_the_end"]}
    for bound in variant.progress_bounds:
        assert check_progress(explore(variant.spec, asked, bound))["an_id_in_the_end"].verdict == "holds"
