"""What scenarios of known bugs do step by step: what arrives, is held up, or is lost; all else goes on by itself.

A script calls a system as its interface says, by itself, or as the calls of a machine (`Calls`), so that each is seen
by who watches the machine's run.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, ClassVar

from fencepost.properties.machine import OBSERVING, Machine
from fencepost.properties.registry import folder
from fencepost.properties.roles import InFlight

STEPS_MAX = 2_000
"""A broken cluster may go round in circles."""


class Over(Exception):
    """The run of a machine is over: no call is made any more."""


class Calls:
    """The system of a machine, called by the machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._shown = machine, 0

    def drain_events(self) -> list[Any]:
        """The events of the calls since this was asked last."""
        made = self._machine.run.made[self._shown :]
        self._shown += len(made)
        return [event for each in made for event in each.events]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._machine.run.system, name)
        if name in OBSERVING or name.startswith("is_") or not callable(found):
            return found

        def called(*arguments: Any, **named: Any) -> Any:
            made = None if self._machine.run.over else self._make(name, arguments, named)
            if made is None:
                raise Over
            return made.result

        return called

    def _make(self, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        signature, _, roles, _ = self._machine.call_type.method(name)
        about = next((key for key, role in roles.items() if isinstance(role, InFlight)), None)
        if about is None:
            return self._machine.call(name, *arguments, **named)
        given = dict(signature.bind(*arguments, **named).arguments)
        number = given.pop(about)
        message = next(each for each in self._machine.waiting() if each[0] == number)
        return self._machine.send(message, name, **given)


class Script:
    """``system``: called as it is; ``config``: ``SMALL`` but for the keys given; ``held``: the numbers of what is held
    up; ``broken``: the scenario is played as it goes wrong."""

    PROTOCOL: ClassVar[str]
    SMALL: ClassVar[Mapping[str, Any]]

    def __init__(self, system: Any, broken: bool = True, **config: Any) -> None:
        self.system, self.broken, self.config = system, broken, {**self.SMALL, **config}
        self.held: set[int] = set()
        self.events: list[Any] = []

    @classmethod
    def on(cls, machine: Machine) -> Any:
        """A script whose calls are a machine's."""
        return cls(Calls(machine), machine.broken, **machine.run.config)

    @classmethod
    def of_reference(cls, **config: Any) -> Any:
        """A script on the reference of its protocol."""
        reference = import_module(f"fencepost.reference_impl.{folder(cls.PROTOCOL)}").reference
        return cls(reference({**cls.SMALL, **config}), **config)

    def told(self) -> list[Any]:
        """All events so far."""
        self.events += self.system.drain_events()
        return self.events

    def kinds(self, *kinds: str) -> list[Any]:
        """The events so far of some kinds."""
        return [event for event in self.told() if event.kind in kinds]


class Messages(Script):
    """A script on messages: (number, kind, source, target, …).  Every message arrives, oldest first, except those that
    are held up."""

    def flying(self, kind: str, target: str = "") -> list[int]:
        """The numbers of the messages of a kind in flight, held up or not; ``target`` narrows it."""
        return [m[0] for m in self.system.messages() if m[1] == kind and m[3].startswith(target)]

    def hold(self, kind: str, target: str = "") -> list[int]:
        """Hold up every message of a kind that is in flight now, until it is released."""
        found = self.flying(kind, target)
        self.held.update(found)
        return found

    def hold_next(self, kind: str, target: str = "") -> list[int]:
        """Let everything else arrive until messages of a kind are sent, and hold those up.  Raises if none ever is."""
        while not (fresh := [number for number in self.flying(kind, target) if number not in self.held]):
            if not self.step():
                raise RuntimeError(
                    f"no {kind} to {target or 'any node'} is ever sent: in flight {self.system.messages()}"
                )
        self.held.update(fresh)
        return fresh

    def copy(self, kind: str, target: str = "") -> list[int]:
        """Deliver the messages of a kind now, and hold up a second copy of each."""
        found = self.hold(kind, target)
        for number in found:
            self.system.deliver(number, keep=True)
        return found

    def lose(self, kind: str, target: str = "") -> None:
        """Lose every message of a kind that is in flight now."""
        for number in self.flying(kind, target):
            self.system.drop(number)

    def let_in(self, numbers: Iterable[int]) -> None:
        """Let messages arrive that were held up, and nothing that follows from them."""
        for number in numbers:
            self.held.discard(number)
            self.system.deliver(number)

    def release(self, numbers: Iterable[int]) -> None:
        """Let messages arrive that were held up, and everything that follows from them."""
        self.let_in(numbers)
        self.settle()

    def deliver(self) -> None:
        """Let what is in flight arrive, and what comes of it.  No time passes."""
        for _ in range(STEPS_MAX):
            if not self.step():
                return

    def step(self) -> bool:
        """One message arrives, or what happens without one; False if there is neither."""
        number = next((m[0] for m in self.system.messages() if m[0] not in self.held), None)
        if number is None:
            return self.otherwise()
        self.system.deliver(number)
        return True

    def otherwise(self) -> bool:
        """Let happen what happens where nothing is to be delivered; False if nothing does."""
        return False

    def settle(self, ms: int = 0) -> None:
        """Let everything arrive, and time pass."""
        self.deliver()
        for _ in range(0, ms, 100):
            self.system.advance(100)
            self.deliver()
