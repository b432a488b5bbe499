"""Prefixes: a run of the model, as an engine found it, turned into calls that lead an implementation to about the same
place.

A search of the model knows states that random calls seldom reach: two copies answered while a third request is under
way, the last block granted and lost.  Examples may start there, and go on at random.
"""

from collections.abc import Iterable

from fencepost.properties.id_blocks.programs import Call

from ..results import Event

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


def calls_from(events: Iterable[Event]) -> list[Call]:
    """The calls for the steps of a run, in order.

    A step that no driver causes (registering, answering, forgetting) has none, and an action of an unknown variant has
    none.
    """
    return [call for event in events if (call := _call(event)) is not None]


def _call(event: Event) -> Call | None:
    action, broker = event.action, event.parameters.get("b", -1)
    if action in _BROKER_CALLS:
        return Call(_BROKER_CALLS[action], broker)
    if action in _CONTROLLER_CALLS:
        return Call(_CONTROLLER_CALLS[action])
    if action in _WAITS:
        return Call("advance", value=_WAITS[action])
    if action in _REQUEST_DELIVERED and broker >= 0:
        return Call("deliver", broker, "request")
    if action in _ANSWER_DELIVERED:
        return Call("deliver", broker, "response")
    return None
