"""This module drives a source task of a real Connect worker with the scenarios of the reference.

There is one output, as the requests of a producer to a broker are answered in order. Records that a transformation
drops are left to the reference.
"""

from dataclasses import replace
from typing import Any

from fencepost.properties.conformance_spec import driven
from fencepost.properties.machine import variants
from fencepost.properties.source_commits.events import SOURCE_COMMITS
from fencepost.properties.source_commits.scenarios import STEPS, WEIGHTS, Scenarios
from hypothesis import strategies as st

HIDDEN = frozenset({"stopping", "told_offset"})
"""What nothing outside of the worker reveals, or no release does; no transformation is there, so that nothing is
dropped."""
SMALL: dict[str, Any] = {"partitions": 1, "outputs": 1, "records": 6, "batch": 2, "tolerance": "none", "filtered": 0}

DRIVEN = driven("source-commits")


class Live(Scenarios, steps=STEPS, weights=WEIGHTS):
    """A `Live` drives a real worker, one cluster for all programs."""

    call_type = DRIVEN.call
    sizes = st.fixed_dictionaries({
        **{name: st.just(value) for name, value in SMALL.items()}, "seed": st.just(0),
        "partitions": st.sampled_from((1, 2)), "batch": st.sampled_from((2, 1, 3)),
        "tolerance": st.sampled_from(("none", "all")),
    })  # fmt: skip


ON_A_CLUSTER = replace(
    DRIVEN, implementation="fencepost.reference_impl.live.connect.source_commits:own", follow=None, probed=False,
    black_box=SOURCE_COMMITS.black_box - HIDDEN, small={**DRIVEN.small, **SMALL},
    machines=variants(Live, dict.fromkeys(("shipped", "proposed-exactly-once"), Live.sizes)), tries=3, replays=6,
    between=True, by_silence=True, steps=1, unfollowed=frozenset(),
    unrepeated=frozenset({"instance", "generation", "producer_id", "epoch", "position"}),
)  # fmt: skip
"""A real worker is held against the promises: most of what its threads do is hidden."""
