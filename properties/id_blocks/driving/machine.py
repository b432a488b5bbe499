"""What Hypothesis does with clusters that hand out producer ids: how large they are, and how each mode is driven."""

from typing import Any

from fencepost.properties.id_blocks.scenarios.blocks import Bridge, Direct, Kraft
from fencepost.properties.machine import variants
from hypothesis import strategies as st


def sizes(mode: str) -> st.SearchStrategy[dict[str, Any]]:
    """Small clusters with small blocks, most of them with few ids.

    In bridge mode no block ends exactly one past the last id: there ZooKeeper and KRaft, as shipped, draw the line
    differently.
    """

    def config(count: int, size: int, blocks: int, rest: int, prefetch: float) -> dict[str, Any]:
        max_id = blocks * size + min(rest, size - 1)
        if mode == "bridge" and (max_id + 1) % size == 0:
            max_id += 1
        return {"seed": 0, "brokers": count, "controllers": 3, "block_size": size, "max_id": max_id, "mode": mode,
                "prefetch": prefetch}  # fmt: skip

    smallest = 2 if mode == "bridge" else 1
    counts = st.sampled_from((2, 3, 1)) if mode == "bridge" else st.integers(1, 3)
    return st.builds(
        config, counts, st.integers(smallest, 4), st.sampled_from((500, 2, 3, 500, 5, 8)),
        st.integers(0, 3),
        st.sampled_from((0.9, 0.0, 0.5)),
    )  # fmt: skip


MACHINES = {
    **variants(Kraft, {"kraft": sizes("kraft")}),
    **variants(Direct, {"zookeeper": sizes("zookeeper")}),
    **variants(Bridge, {"bridge": sizes("bridge")}),
}
