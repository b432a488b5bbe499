"""Programs on producer id blocks: the calls of the interface, what makes a program simpler, and the calls for a run of
the model.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from fencepost.properties import calls
from fencepost.properties.id_blocks.driving.interface import (
    COLUMNS,
    CONTROLLER,
    BridgeSystem,
    Lengths,
    Permissions,
    System,
)
from fencepost.properties.id_blocks.history.events import ID_BLOCKS
from fencepost.properties.id_blocks.scenarios.settling import settle
from fencepost.properties.roles import Amount, Named, Simplest


class Call(calls.Call):
    """One call."""

    interface = (System, BridgeSystem, Permissions, Lengths)
    helpers = (settle,)
    columns = COLUMNS
    filled = ID_BLOCKS.used_by
    keys: ClassVar = {
        "brokers": Amount(),
        "controllers": Amount(),
        "prefetch": Simplest(0.0),
        "block_size": Amount(lambda config: 2 if config["mode"] == "bridge" else 1),
        "max_id": Simplest(1_000_001),  # odd and large: the end of the ids plays no part
    }
    moving = ("brokers",)
    dangerous: ClassVar = {
        "deliver keep": ("duplicate",), "drop": ("loss",), "drop response": ("lost-answer",),
        "restart_broker": ("broker-restart",), "fail_over": ("coordinator-fail-over",), "snapshot": ("truncation",),
        "upgrade_broker": ("mixed-clients",),
    }  # fmt: skip


_BROKER_CALLS = {
    "ask": "init_producer_id", "hand_out": "init_producer_id", "install": "init_producer_id",
    "restart": "restart_broker",
    "read": "zk_step", "write": "zk_step", "conflict": "zk_step", "upgrade": "upgrade_broker",
}  # fmt: skip
_CONTROLLER_CALLS = {
    "commit": "commit", "fail_over": "fail_over", "take_snapshot": "snapshot", "move": "migrate",
    "controller_read": "zk_step", "controller_write": "zk_step", "controller_conflict": "zk_step",
}  # fmt: skip
_WAITS = {"end_back_off": 200, "time_out": 150_000, "time_out_early": 150_000}
_REQUEST_DELIVERED = frozenset({"allocate", "refuse", "turn_away", "answer_again"})
_ANSWER_DELIVERED = frozenset({"take", "fail", "reject"})


def call_of(action: str, parameters: Mapping[str, Any]) -> Call | None:
    """The call for a step of the model.

    A step that no driver causes (registering, answering, forgetting) has none, and an action of an unknown variant has
    none.
    """
    broker = parameters.get("b", -1)
    if action in _BROKER_CALLS:
        return Call(_BROKER_CALLS[action], broker)
    if action in _CONTROLLER_CALLS:
        name = _CONTROLLER_CALLS[action]
        return Call(name, CONTROLLER) if name == "zk_step" else Call(name)
    if action in _WAITS:
        return Call("advance", _WAITS[action])
    if action in _REQUEST_DELIVERED and broker >= 0:
        return Call("deliver", Named(("request", broker)))
    if action in _ANSWER_DELIVERED:
        return Call("deliver", Named(("response", broker)))
    return None
