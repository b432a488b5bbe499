"""ZooKeeper's /latest_producer_id_block: one node with a version, and the JSON in it.

Here the fence posts stand differently from everywhere else: the block's end is *inclusive*, and what is stored is the
block in use, not the next free id. A migration away from ZooKeeper must add one (730.15).
"""

import json

from fencepost.reference_impl.id_blocks.messages import Block, empty_block


class BlockNode:
    """ZooKeeper's /latest_producer_id_block: data with a version; a write succeeds only on the version it names."""

    def __init__(self) -> None:
        self.data = ""
        self.version = 0

    def read(self) -> tuple[str, int]:
        return self.data, self.version

    def write(self, data: str, version: int) -> bool:
        """The conditional setData (730.2); False if another client has written since `version` was read."""
        if version != self.version:
            return False
        self.data = data
        self.version += 1
        return True


def encode(broker_id: int, block: Block) -> str:
    """The node's JSON: start and end as strings, the end *inclusive* (ProducerIdBlockZNode, ZkData.scala until 3.9)."""
    return json.dumps(
        {"version": 1, "broker": broker_id, "block_start": str(block.first), "block_end": str(block.last)}
    )


def decode(data: str) -> tuple[int, Block]:
    """(broker that took it, block); (-1, the empty block) while the node is empty."""
    if not data:
        return -1, empty_block()
    fields = json.loads(data)
    start, end = int(fields["block_start"]), int(fields["block_end"])
    return fields["broker"], Block(start, end - start + 1)
