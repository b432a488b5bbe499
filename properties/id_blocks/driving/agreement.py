"""What producer id blocks bring to agreement: the plug, the machines, and three variants of the model."""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

from fencepost.model.id_blocks.bridge import Bridge
from fencepost.model.id_blocks.lengths import Lengths
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language.derived.mutations import settle
from fencepost.properties.agreement import Agreeing, Followed
from fencepost.properties.id_blocks.driving.interface import BLACK_BOX, SIZES, missing
from fencepost.properties.id_blocks.driving.machine import MACHINES
from fencepost.properties.id_blocks.driving.programs import Call, call_of
from fencepost.properties.id_blocks.monitoring import BlocksBeside
from fencepost.properties.id_blocks.observations.calls import AFTERWARDS, AFTERWARDS_BY_VARIANT, CALLS
from fencepost.properties.id_blocks.observations.events import DRIVEN, DRIVEN_COLUMNS
from fencepost.properties.id_blocks.online.interpreter import SLOTS, BlocksInterpreter
from fencepost.properties.id_blocks.scenarios.tours import SMALL, WAYS, tour

MODELS = {"kraft": Lengths, "zookeeper": Zookeeper, "bridge": Bridge}
ENOUGH = 1 << 20  # more restarts, elections and writes than any program has
EXPECTED = {
    "init_producer_id": ("request_sent",),
    "commit": ("block_committed", "answer_sent"), "snapshot": ("snapshot_taken",),
    "advance": ("request_timed_out",),
}  # fmt: skip


def follow(variant: str, config: Mapping[str, Any]) -> Followed:
    """The model of a cluster."""
    return _followed(variant, config["brokers"], config["block_size"], config["max_id"])


@lru_cache(maxsize=256)
def _followed(variant: str, brokers: int, size: int, max_id: int) -> Followed:
    """ZooKeeper mode compares the last id of the present block with the end of the ids, and KRaft the first id of the
    next one, so that ZooKeeper may give away the id ``max_id`` as well (ProducerIdManager.scala until 3.9).  In the
    model of KRaft ``size`` is the longest block."""
    longest = max(size, *SIZES) if variant == "kraft" else size
    return Followed(
        variant=variant,
        spec=settle(MODELS[variant].spec),
        constants={"size": longest, "ids": max_id + 1 if variant == "zookeeper" else max_id},
        bounds={
            "brokers": brokers, "requests": SLOTS, "controllers": ENOUGH, "ids": max_id + longest, "restarts": ENOUGH,
        },
        columns=DRIVEN_COLUMNS, observations=DRIVEN[variant],
        afterwards=AFTERWARDS_BY_VARIANT[variant],
        says=AFTERWARDS,
        calls=CALLS,
        interpreter=partial(BlocksInterpreter, brokers, size),
        expected=EXPECTED,
        ignored=frozenset({"broker_stopped"}),  # a restart is one step of the model
        unguessed=frozenset({"request_refused"}),  # its error answer shows it
    )  # fmt: skip


ID_BLOCKS = Agreeing(
    protocol="id-blocks",
    says="producer id blocks",
    machines=MACHINES,
    missing=missing,
    black_box=BLACK_BOX,
    small=SMALL,
    tour=tour,
    beside=BlocksBeside,
    call=Call,
    ways=WAYS,
    follow=follow,
    call_of=call_of,
    composite=frozenset({"settle"}),
    ending=frozenset({"settle"}),
    steps=14,
)
