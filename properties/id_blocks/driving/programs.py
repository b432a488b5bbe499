"""Programs on producer id blocks: the calls of the plug as data, what makes a program simpler, and the calls for a run
of the model.

A message is named by kind, broker and position among those (oldest first).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fencepost.properties.driving import Program, Spelled
from fencepost.properties.id_blocks.driving.interface import COLUMNS, BridgeSystem, Message


@dataclass(frozen=True)
class Call:
    """One call.  ``deliver`` and ``drop`` say which message by ``kind``, ``broker`` and ``nth``; others use ``broker``
    or ``value``.

    ``broker`` is -1 where there is none, or for the ZooKeeper-mode controller.  ``value``: milliseconds, or 0 and 1.
    """

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    always_compared: ClassVar[tuple[str, ...]] = ()

    name: str
    broker: int = -1
    kind: str = ""
    nth: int = 0
    keep: bool = False
    value: int = 0

    def find(self, messages: Sequence[Message]) -> Message | None:
        """The message that the call speaks of; None if it is not in flight."""
        matching = [m for m in messages if m[1] == self.kind and m[2] == self.broker]
        return matching[self.nth] if self.nth < len(matching) else None

    @property
    def table_name(self) -> str:
        """Under which `calls.CALLS` has it."""
        return f"{self.name} {self.kind}" if self.name == "deliver" else self.name

    def spelled(self, system: BridgeSystem) -> Spelled | None:
        """What is called; None if it speaks of a message that is not in flight."""
        match self.name:
            case "deliver" | "drop":
                message = self.find(system.messages())
                if message is None:
                    return None
                remark = f"{message[1]} {'to' if message[1] == 'response' else 'of'} broker {message[2]}"
                return Spelled((message[0],), {"keep": True} if self.keep else {}, message, remark)
            case "init_producer_id" | "restart_broker" | "zk_step" | "upgrade_broker":
                return Spelled((self.broker,))
            case "advance":
                return Spelled((self.value,))
            case "set_cluster_action":
                return Spelled((self.broker, bool(self.value)))
        return Spelled()


def position(message: Message, messages: Sequence[Message]) -> int:
    """How many older messages of the same kind and broker there are."""
    return sum(1 for m in messages if m[1:3] == message[1:3] and m[0] < message[0])


def smaller(program: Program) -> Iterator[Program]:
    """The program on clusters that are smaller in one respect."""
    config = program.config

    def changed(**values: Any) -> Program:
        return replace(program, config={**config, **values})

    named = max((c.broker for c in program.calls), default=0) + 1
    for brokers in range(max(1, named), config["brokers"]):
        yield changed(brokers=brokers)
    for controllers in range(1, config["controllers"]):
        yield changed(controllers=controllers)
    if config["prefetch"]:
        yield changed(prefetch=0.0)
    for size in range(2 if config["mode"] == "bridge" else 1, config["block_size"]):
        yield changed(block_size=size)
    if config["max_id"] != 1_000_001:
        yield changed(max_id=1_000_001)  # odd and large: the end of the ids plays no part


def simpler(program: Program) -> Iterator[Program]:
    """The program with one call that is simpler, or with all of a broker's calls on the broker below."""
    for i, call in enumerate(program.calls):
        options = []
        if call.keep:
            options.append(replace(call, keep=False))
        if call.name not in ("deliver", "drop") and call.broker > 0:
            options.append(replace(call, broker=call.broker - 1))
        for option in options:
            yield replace(program, calls=(*program.calls[:i], option, *program.calls[i + 1 :]))
    broker = max((c.broker for c in program.calls), default=0)
    if broker > 0 and not any(c.broker == broker - 1 for c in program.calls):
        # Nothing happens on the broker below: let it have the name, so that the cluster can be smaller.
        moved = tuple(replace(c, broker=broker - 1) if c.broker == broker else c for c in program.calls)
        yield replace(program, calls=moved)


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
        return Call(_CONTROLLER_CALLS[action])
    if action in _WAITS:
        return Call("advance", value=_WAITS[action])
    if action in _REQUEST_DELIVERED and broker >= 0:
        return Call("deliver", broker, "request")
    if action in _ANSWER_DELIVERED:
        return Call("deliver", broker, "response")
    return None


def dangers_of(call: Call) -> tuple[str, ...]:
    """Which of `fencepost.model.dangers` it is to make this call."""
    match call.name:
        case "deliver":
            return ("duplicate",) if call.keep else ()
        case "drop":
            return ("loss", "lost-answer") if call.kind == "response" else ("loss",)
        case "restart_broker":
            return ("broker-restart",)
        case "fail_over":
            return ("coordinator-fail-over",)
        case "snapshot":
            return ("truncation",)
        case "upgrade_broker":
            return ("mixed-clients",)
    return ()
