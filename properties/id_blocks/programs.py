"""Programs: what was called on the plug, as data that can be shortened and as Python that can be pasted.

A message is named by kind, broker and position among those (oldest first), not by its number: a program from which
calls were taken out still means something.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .plug import BridgeSystem, Message, read


@dataclass(frozen=True)
class Call:
    """One call.  ``deliver`` and ``drop`` say which message by ``kind``, ``broker`` and ``nth``; others use ``broker``
    or ``value``.

    ``broker`` is -1 where there is none, or for the ZooKeeper-mode controller.  ``value``: milliseconds, or 0 and 1.
    """

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


@dataclass(frozen=True)
class Program:
    """A cluster's configuration and the calls made on it."""

    config: Mapping[str, Any]
    calls: tuple[Call, ...]

    def without(self, start: int, stop: int) -> "Program":
        """The same with some calls taken out."""
        return replace(self, calls=self.calls[:start] + self.calls[stop:])


@dataclass(frozen=True)
class Made:
    """A call as it was made: as text, with the result and the events that came of it, or the error that it raised."""

    call: Call
    text: str
    result: Any
    events: tuple[Any, ...]
    message: Message | None
    error: Exception | None = None


def position(message: Message, messages: Sequence[Message]) -> int:
    """How many older messages of the same kind and broker there are."""
    return sum(1 for m in messages if m[1:3] == message[1:3] and m[0] < message[0])


def make(system: BridgeSystem, call: Call) -> Made | None:
    """Make one call; None if it speaks of a message that is not in flight."""
    message = None
    arguments: tuple[Any, ...] = ()
    match call.name:
        case "deliver" | "drop":
            message = call.find(system.messages())
            if message is None:
                return None
            arguments = (message[0],)
        case "init_producer_id" | "restart_broker" | "zk_step" | "upgrade_broker":
            arguments = (call.broker,)
        case "advance":
            arguments = (call.value,)
        case "set_cluster_action":
            arguments = (call.broker, bool(call.value))
    keywords = {"keep": True} if call.keep else {}
    written = ", ".join([*map(repr, arguments), *(f"{k}={v}" for k, v in keywords.items())])
    text = f"system.{call.name}({written})"
    if message is not None:
        text += f"  # {message[1]} {'to' if message[1] == 'response' else 'of'} broker {message[2]}"
    try:
        result = getattr(system, call.name)(*arguments, **keywords)
    except Exception as error:  # whatever an implementation raises is its answer to this program
        return Made(call, text, None, (), message, error)
    return Made(call, text, result, tuple(system.drain_events()), message)


def event_text(event: Any) -> str:
    """An event in one line."""
    from .plug import columns_of

    return f"{read(event, 'kind')}({', '.join(f'{k}={v}' for k, v in columns_of(event).items())})"
