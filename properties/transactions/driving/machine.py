"""What Hypothesis does with clusters of transactions: how large they are, and which scenarios it plays with which.

Single calls reach anything in time.  The scenarios are aimed where the mistakes are: two producers with one id, late
copies, time-outs that race a commit, appends that fail in a fence, the end of the epochs.
"""

from random import Random
from typing import Any

from fencepost.properties.machine import CHANCES, variants
from fencepost.properties.transactions.driving.verbs import Sized
from fencepost.properties.transactions.scenarios.lives import Lives
from fencepost.properties.transactions.scenarios.remote import Remote
from hypothesis import strategies as st

MODES = ("v2", "v1", "v1-verified")
EPOCHS = (32767, 32767, 3, 5)


def sizes(mode: str, epochs: tuple[int, ...]) -> st.SearchStrategy[tuple[dict[str, Any], bool, bool]]:
    """Small clusters; is one client alone, and may copies come late?  Late copies break v1 by design, and hide there
    what else is wrong: so half of its examples have none."""

    def config(
        lone: bool, late: bool, clients: int, count: int, groups: int, last: int
    ) -> tuple[dict[str, Any], bool, bool]:
        size = {"clients": 1 if lone else clients, "partitions": count, "groups": groups, "max_epoch": last}
        return {"seed": 0, "mode": mode, **size}, lone, late or mode == "v2"

    counts = st.integers(1, 2)
    return st.builds(
        config, st.booleans(), st.booleans(), st.integers(2, 3), counts,
        st.sampled_from((0, 0, 1)), st.sampled_from(epochs),
    )  # fmt: skip


def several(mode: str) -> st.SearchStrategy[Sized]:
    """The same with what a cluster of which the driver decides everything may have besides: several transactional ids
    (with at least one producer each), groups with several inputs, and batches of several records.  All by chance: what
    Hypothesis draws for one example is much like what it drew for the one before."""

    def more(drawn: tuple[dict[str, Any], bool, bool], chance: int) -> Sized:
        config, lone, late = drawn
        random = Random(chance)
        ids, groups, keys = random.choice((1, 2)), random.choice((0, 0, 1, 2)), random.choice((1, 2))
        clients = ids if lone else config["clients"] + ids - 1
        size = {"clients": clients, "ids": ids, "groups": groups, "keys": keys}
        return Sized({**config, **size}, lone, late, random.choice((1, 1, 2, 3)), random.getrandbits(64))

    return st.builds(more, sizes(mode, EPOCHS), CHANCES)


MACHINES = variants(Lives, {mode: several(mode) for mode in MODES})
REMOTE_MACHINES = variants(Remote, {mode: sizes(mode, EPOCHS[:1]) for mode in MODES})
"""For brokers that act by themselves, whose last epoch cannot be chosen."""
