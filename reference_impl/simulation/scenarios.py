"""Known bugs as short scenarios, each played twice: with the defect, and without it.

    KNOWN = Known(Script, REGISTRY)

    @KNOWN.shown("KAFKA-14402", {"mode": "v1"}, {"mode": "v1-verified"})
    def late_batch_hangs(script: Script) -> None: ...

    KNOWN.scenario("KAFKA-14402", broken=True)      # the events, in a cluster with these keys of the configuration
    KNOWN.play("KAFKA-14402", factory)              # the same steps with any implementation of the interface

A scenario says what its script does: what arrives, what is held up, what is lost.  Everything else goes on by itself.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

STEPS_MAX = 2_000
"""A broken cluster may go round in circles."""


class Script:
    """A driven cluster, and which of its messages or threads are held up, by number.

    The cluster is one of these ``parts`` of the reference, or what ``factory`` makes, or the ``system`` given; its
    configuration is ``SMALL`` but for the keys given.  ``broken``: the scenario is played with its defect."""

    SMALL: ClassVar[Mapping[str, Any]]

    def __init__(
        self,
        parts: Any = None,
        broken: bool = True,
        factory: Callable[[dict[str, Any]], Any] | None = None,
        system: Any = None,
        **config: Any,
    ) -> None:
        self.config, self.broken = {**self.SMALL, **config}, broken
        self.system = system or (self.build(self.config, parts) if factory is None else factory(self.config))
        self.held: set[int] = set()
        self.events: list[Any] = []

    def build(self, config: Mapping[str, Any], parts: Any) -> Any:
        """A cluster of the reference; of the correct parts where there are none."""
        raise NotImplementedError(f"{type(self).__name__} must say how its cluster is made: override build()")

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


S = TypeVar("S", bound=Script)
Play = Callable[[S], None]
Config = Mapping[str, Any]


class Scenario(NamedTuple, Generic[S]):
    """``broken`` and ``fixed``: the clusters in which the bug shows, and in which it does not, as keyword arguments of
    the script.  ``reference``: it does what only the reference lets it do."""

    play: Play[S]
    broken: Config
    fixed: Config
    reference: bool


class Known(dict[str, Scenario[S]], Generic[S]):
    """The known bugs of one protocol, by name.  ``registry``: the defects of its reference; ``usual``: the
    configuration of scenarios that show one, where they and the defect do not say otherwise."""

    def __init__(self, script: Callable[..., S], registry: Mapping[str, Any], usual: Config | None = None) -> None:
        super().__init__()
        self.script, self.registry, self.usual = script, registry, usual or {}

    def shown(self, name: str, broken: Config, fixed: Config, reference: bool = False) -> Callable[[Play[S]], Play[S]]:
        """The decorated scenario shows the bug of this name."""

        def register(play: Play[S]) -> Play[S]:
            self[name] = Scenario(play, broken, fixed, reference)
            return play

        return register

    def defect(self, name: str, defect: str, **config: Any) -> Callable[[Play[S]], Play[S]]:
        """The decorated scenario shows the bug of this name where the reference has a defect of its registry."""
        entry = self.registry[defect]
        fixed = {**self.usual, **dict(entry.needs), **config}
        return self.shown(name, {"parts": entry.parts, **fixed}, fixed)

    def scenario(self, name: str, broken: bool) -> list[Any]:
        """The events of one scenario, with or without its defect.  Raises KeyError with the known names."""
        known = self.find(name)
        script = self.script(broken=broken, **(known.broken if broken else known.fixed))
        known.play(script)
        return script.told()

    def play(self, name: str, factory: Callable[[dict[str, Any]], Any]) -> list[Any]:
        """The events of one scenario with another implementation, which ``factory`` makes of a configuration: one in
        which the bug would show.  Raises KeyError, and ValueError where the scenario needs more than the interface
        offers."""
        known = self.find(name)
        if known.reference:
            raise ValueError(
                f"{name} needs what only the reference lets a script do; choose one that the interface has"
            )
        script = self.script(factory=factory, **{key: value for key, value in known.broken.items() if key != "parts"})
        known.play(script)
        return script.told()

    def find(self, name: str) -> Scenario[S]:
        """Raises KeyError with the known names."""
        if name not in self:
            raise KeyError(f"no scenario is called {name!r}: known are {', '.join(self)}")
        return self[name]
