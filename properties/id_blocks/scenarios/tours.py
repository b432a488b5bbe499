"""Leading a cluster about: through everything once, to find out what it shows; and on from where it disagreed, to find
out what comes of it.

The model says at the first event that something is wrong; the id that is handed out twice may come much later.  A few
ways of going on are tried, each until every broker has used up some blocks.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from fencepost.properties.driving import Run
from fencepost.properties.id_blocks.driving.programs import Call
from fencepost.properties.roles import Named

SMALL: Mapping[str, Any] = dict(seed=0, brokers=2, controllers=3, block_size=2, max_id=8, prefetch=0.0)
"""A cluster on which everything can be tried."""

ROUNDS, ASKS, DELIVERIES = 3, 6, 12


def tour(variant: str) -> list[Call]:
    """Calls that make every kind of event happen in an implementation that is right."""

    def deliver(kind: str, keep: bool = False) -> Call:
        return Call("deliver", Named((kind, 0)), keep)

    ask, commit = Call("init_producer_id", 0), Call("commit")
    direct = [
        ask, Call("zk_step", 0), Call("init_producer_id", 1), *[Call("zk_step", 1)] * 2, *[Call("zk_step", 0)] * 3,
        ask, ask, ask, Call("restart_broker", 0),
    ]  # fmt: skip
    fetch = [
        ask, deliver("request"), Call("zk_step", -1), Call("zk_step", -1), commit, deliver("response", True),
        ask, deliver("response"),
    ]  # fmt: skip
    failing = [
        ask, Call("restart_broker", 0), deliver("request"), deliver("response"), ask, deliver("request"),
        Call("fail_over"),
        Call("advance", 150_000), ask, deliver("request"), commit, Call("restart_broker", 0), deliver("response"),
        Call("snapshot"),
    ]  # fmt: skip
    exhausting = [*[ask, deliver("request"), commit, deliver("response"), ask, ask, Call("advance", 200)] * 5]
    bridge = [Call("upgrade_broker", 0), Call("upgrade_broker", 1), *fetch, Call("migrate")]
    middle = bridge if variant == "bridge" else []
    return [
        *(direct if variant != "kraft" else []),
        *middle,
        *(fetch + failing + exhausting if variant != "zookeeper" else []),
    ]


def go_on(calls: tuple[str, ...], run: Run) -> Iterator[None]:
    """Make these calls, and then some rounds; stops after each for a look."""
    for call_name in calls:
        if call_name == "restart_broker":
            for broker in range(run.config["brokers"]):
                run.call(Call(call_name, broker))
        else:
            run.call(Call(call_name))
    for _ in range(ROUNDS):
        _a_round(run)
        yield


WAYS: dict[str, Callable[[Run], Iterator[None]]] = {
    "": partial(go_on, ()),
    "a fail-over": partial(go_on, ("fail_over",)),
    "a snapshot and a fail-over": partial(go_on, ("commit", "snapshot", "fail_over")),
    "restarts": partial(go_on, ("restart_broker",)),
    "a fail-over and restarts": partial(go_on, ("fail_over", "restart_broker")),
}


def _a_round(run: Run) -> None:
    """Every broker asks until it has nothing left, and is served."""
    zookeeper = run.config["mode"] != "kraft"
    for broker in range(run.config["brokers"]):
        for _ in range(ASKS):
            run.call(Call("init_producer_id", broker))
        for operations in range(4 if zookeeper else 0):
            run.call(Call("zk_step", broker if operations % 2 == 0 else -1))
    for kind in ("request", "response"):
        for message in list(run.system.messages())[:DELIVERIES]:
            if message[1] == kind:
                run.call(Call("deliver", Named((kind, message[2]))))
        for _ in range(2 if zookeeper else 0):
            run.call(Call("zk_step", -1))
        run.call(Call("commit"))
    run.call(Call("advance", 200))
