"""What comes of going on after a disagreement: is a promise broken in the end?

The model says at the first event that something is wrong; the id that is handed out twice may come much later.  A few
ways of going on are tried, each until every broker has used up some blocks.
"""

from collections.abc import Sequence
from typing import Any

from fencepost.properties.id_blocks.driving import Run
from fencepost.properties.id_blocks.monitor import Monitor
from fencepost.properties.id_blocks.plug import Factory, Message
from fencepost.properties.id_blocks.programs import Call, Made, Program

ROUNDS, ASKS, DELIVERIES = 3, 6, 12

WAYS: dict[str, tuple[str, ...]] = {
    "": (),
    "a fail-over": ("fail_over",),
    "a snapshot and a fail-over": ("commit", "snapshot", "fail_over"),
    "restarts": ("restart_broker",),
    "a fail-over and restarts": ("fail_over", "restart_broker"),
}


class _Monitoring:
    def __init__(self, ids: int) -> None:
        self.monitor = Monitor(ids)

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        self.monitor.feed(made.events)


def going_on(factory: Factory, program: Program, ids: int) -> str:
    """Which promise is broken when the program goes on in one of the `WAYS`; empty if none is."""
    for name, calls in WAYS.items():
        watcher = _Monitoring(ids)
        run = Run(factory, program.config, watcher)
        for call in program.calls:
            run.call(call)
        for call_name in calls:
            brokers = range(program.config["brokers"]) if call_name == "restart_broker" else (-1,)
            for broker in brokers:
                run.call(Call(call_name, broker))
        for _ in range(ROUNDS):
            _a_round(run, program.config)
            if watcher.monitor.broken:
                return f"{f'after {name}, ' if name else ''}{watcher.monitor.broken}"
    return ""


def _a_round(run: Run, config: Any) -> None:
    """Every broker asks until it has nothing left, and is served."""
    zookeeper = config["mode"] != "kraft"
    for broker in range(config["brokers"]):
        for _ in range(ASKS):
            run.call(Call("init_producer_id", broker))
        for operations in range(4 if zookeeper else 0):
            run.call(Call("zk_step", broker if operations % 2 == 0 else -1))
    for kind in ("request", "response"):
        for message in list(run.system.messages())[:DELIVERIES]:
            if message[1] == kind:
                run.call(Call("deliver", message[2], kind))
        for _ in range(2 if zookeeper else 0):
            run.call(Call("zk_step", -1))
        run.call(Call("commit"))
    run.call(Call("advance", value=200))
