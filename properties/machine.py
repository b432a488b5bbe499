"""The machine that drives systems of a protocol has one Hypothesis rule for each method of the annotated interface, and
one for each scenario that the protocol declares.

The machine of a protocol that declares no scenarios is made from the interface (`calls`) alone:

    class Locks(Machine):
        call_type = Call  # the protocol's `calls.Call`, which names the interface
        sizes = st.fixed_dictionaries({"seed": st.just(0), "nodes": st.sampled_from((2, 3, 1))})

    MACHINES = {"plain": Locks}

Each step calls one method. Its arguments are drawn by their annotations: an `Index` is a number below the size in the
configuration of the example, `InFlight` one of the messages that wait (where none does, no such call is made), `OneOf`
one of the values, `Between` a number between the two, and a ``bool`` either value. A method that the system lacks is
not called.

A scenario is a method that makes several calls. Its parameters are annotated and drawn in the same way, and ``when``
decides in which state of the machine it can be played:

    class Locks(Machine):
        …

        @scenario(when=lambda self: self.run.config["nodes"] > 1)
        def handed_on(self, node: Node, ms: Annotated[int, OneOf(10, 200)]) -> None:
            self.call("ask", node)
            self.deliver_all()
            self.call("advance", ms)
            self.call("ask", self.index("nodes", node + 1))

A known bug is a scenario as well, on a machine of the variant that has it, but is no rule of a machine:

    KNOWN_BUGS = KnownBugs(nodes=2)

    @KNOWN_BUGS.bug("two-holders", defect="grants_twice", mode="lock")
    def granted_to_both(machine: Locks) -> None:
        machine.call("ask", 0)
        machine.call("ask", 1)

For scenarios that do much step by step (messages arrive, are held up, or are lost), a `Script` has methods. By itself
it calls a system by its interface; on a machine its calls are the machine's.

The effects of a call are not judged here: every call goes to the watcher of a `driving.Session`, which raises an
exception to end the run.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from random import Random
from typing import Annotated, Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

from fencepost.properties.calls import Call
from fencepost.properties.driving import Made, Message, Run, Session, waiting
from fencepost.properties.registry import folder
from fencepost.properties.roles import Between, Fields, Index, InFlight, OneOf, Role, role_of
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

OBSERVING = frozenset({"messages", "threads", "drain_events"})
"""These methods of an interface return something and change nothing, like those whose names begin with ``is_``, and no
step calls them."""

BURST = 60
"""A burst has at most this many calls."""

CHANCES = st.binary(min_size=8, max_size=8).map(lambda drawn: int.from_bytes(drawn, "big"))
"""This strategy draws one of 2**64 numbers, all with the same probability."""


class Machine(RuleBasedStateMachine):
    """A `Machine` drives the systems of one protocol, one for each example.

    ``sizes`` draws the configuration of an example. Where the steps are not all methods of the interface under their
    own names, a class lists the methods, each by the name of its rule:

        class Locks(Machine, steps={"node_asks": "ask"}): ...

    A method of the class that has the name of a rule replaces it.

    Where scenarios are long, and take many arguments, one rule plays one of them, which is drawn by its weight
    (``weights={"handed_on": 3, …}``) with all its arguments from eight bytes, because Hypothesis prefers small
    integers, which repeat themselves, and so would the scenarios. ``rules`` is the number of such rules, for machines
    that have many others.

    """

    call_type: ClassVar[type[Call]]
    sizes: ClassVar[st.SearchStrategy[Any]]
    session: ClassVar[Session]
    broken: ClassVar[bool] = True
    """If this is True, a known bug is played as it goes wrong."""
    run: Run
    held: set[int]
    """These are the numbers of the messages that are held up."""

    def __init_subclass__(
        cls, steps: Mapping[str, str] | None = None, weights: Mapping[str, int] | None = None, rules: int = 1,
        **named: Any,
    ) -> None:  # fmt: skip
        super().__init_subclass__(**named)
        if weights is not None:
            cls.weights = weights
            for number in range(rules):
                setattr(cls, f"_by_chance_{number}", rule(chance=CHANCES)(_by_chance))
        if "sizes" in vars(cls):
            cls._begin = initialize(drawn=cls.sizes)(_begin)
        if steps is None:
            steps = every_step(cls.call_type) if "call_type" in vars(cls) else {}
        for name, method in steps.items():
            if name not in vars(cls):
                setattr(cls, name, _step(cls.call_type, name, method))

    _begin: ClassVar[Callable[..., None]]
    weights: ClassVar[Mapping[str, int]] = {}

    def begin(self, drawn: Any) -> None:
        """Begin an example with the configuration that was drawn from ``sizes``."""
        self.start(drawn)

    def start(self, config: Mapping[str, Any]) -> None:
        """Start a system of this configuration, which the session's own overrides."""
        self.held = set()
        self.run = self.session.start({**config, **self.session.config})

    def call(self, name: str, *arguments: Any, **named: Any) -> Made | None:
        """Make a call; return None if it was not made, since the run is over or the message that it names does not
        wait. Arguments that the configuration determines may be omitted."""
        return self.make(self.call_type.within(self.run.config, name, *arguments, **named))

    def calls(self, *each: tuple[Any, ...]) -> None:
        """Make calls one after the other, each given by its name and arguments."""
        for call in each:
            self.call(*call)

    def make(self, call: Call) -> Made | None:
        """Make a call, as every other method of the machine does through this one."""
        return self.session.call(self.run, call)

    def did(self, name: str, *arguments: Any, **named: Any) -> bool:
        """Make a call, and return whether it had an effect."""
        made = self.call(name, *arguments, **named)
        return made is not None and bool(made.result)

    def index(self, size: str, number: int) -> int:
        """Return a number below the size that the configuration has, from any number."""
        return number % int(self.run.config[size])

    def waiting(self, *fields: Any) -> Sequence[Message]:
        """Return what waits for the driver, oldest first: all of it, or what has these fields. A field that is empty or
        -1 matches any."""
        found = () if self.run.over else waiting(self.run.system)
        if not fields:
            return found
        return [m for m in found if all(f in ("", -1, its) for f, its in zip(fields, m[1:], strict=False))]

    def something_waits(self) -> bool:
        return bool(self.waiting())

    def send(self, message: Message, name: str = "deliver", **named: Any) -> Made | None:
        """Make a call about a message, if it still waits."""
        messages = self.waiting()
        if message not in messages:
            return None
        return self.make(self.call_type.about(name, message, messages, **named))

    def first(self, *kinds: str) -> Message | None:
        return next((m for m in self.waiting() if m[1] in kinds), None)

    def send_first(self, *kinds: str, name: str = "deliver", **named: Any) -> bool:
        """Make a call about the oldest message of these kinds, and return whether there is one."""
        message = self.first(*kinds)
        if message is not None:
            self.send(message, name, **named)
        return message is not None

    def hold(self, *messages: Message | None) -> None:
        """Hold up these messages, ignoring None: they arrive when they are released, or let go."""
        self.held.update(message[0] for message in messages if message is not None)

    def release(self, message: Message | None) -> None:
        """Let a message that was held up arrive now, if it is still under way."""
        if message is not None:
            self.held.discard(message[0])
            self.send(message)

    def let_go(self) -> None:
        self.held.clear()

    def deliver_all(self, most: int = BURST, without: Collection[str] = ()) -> None:
        """Deliver what waits, oldest first, and what follows from it, until there is nothing to do, except what is held
        up and messages of the kinds ``without``."""
        for _ in range(most):
            if not self.deliver_next(without):
                return

    def deliver_next(self, without: Collection[str] = ()) -> bool:
        """Deliver the next message as `deliver_all` does; return False if there is nothing to do."""
        message = next((m for m in self.waiting() if m[1] not in without and m[0] not in self.held), None)
        if message is None:
            return not self.run.over and self.otherwise()
        self.send(message)
        return True

    def otherwise(self) -> bool:
        """Let something happen where there is nothing to deliver; return False if nothing does."""
        return False

    def by_chance(self, chance: int) -> None:
        """Play one of the scenarios that have weights, unless it is about a message and none waits."""
        random = Random(chance)
        method = getattr(type(self), random.choices(list(self.weights), list(self.weights.values()))[0])
        hints = annotations_of(method)
        names = list(inspect.signature(method).parameters)[1:]
        if self.waiting() or not any(isinstance(role_of(hints[name]), InFlight) for name in names):
            self.play(method, random)

    def play(self, method: Callable[..., None], random: Random) -> None:
        hints = [(name, hint) for name, hint in annotations_of(method).items() if name != "return"]
        method(self, **{name: self._chosen(hint, random, method.__qualname__) for name, hint in hints})

    def playable(self) -> list[str]:
        """Return the names of the scenarios that can be played now, except those about something that waits. Each is
        repeated once for each of its drawn parameters."""
        found = {name: vars(each)[_SCENARIO] for name, each in _scenarios(type(self)).items()}
        return [
            name
            for name, (_, hints, when) in found.items()
            if (when is None or when(self)) and not any(isinstance(role_of(hint), InFlight) for hint in hints.values())
            for _ in hints
        ]

    def _chosen(self, annotation: Any, random: Random, where: str) -> Any:
        role = role_of(annotation)
        match role:
            case Index():
                return self._fitted(role, random.randrange(role.among))
            case InFlight():
                return random.choice(self.waiting())
            case OneOf():
                return random.choice(role.values)
            case Between():
                kind, number = get_args(annotation)[0], random.randint(role.least, role.most)
                if get_origin(kind) is not list:
                    return number
                return [self._chosen(get_args(kind)[0], random, where) for _ in range(number)]
        if annotation is bool:
            return random.random() < 0.5
        if get_origin(annotation) is tuple:
            return tuple(self._chosen(each, random, where) for each in get_args(annotation))
        kind = get_args(annotation)[0] if isinstance(role, Fields) else annotation
        if issubclass(kind, tuple):
            hints = dict(annotations_of(kind))
            roles = dict(role.roles) if isinstance(role, Fields) else {}
            hints |= {name: Annotated[Any, each] for name, each in roles.items()}
            return kind(**{name: self._chosen(hint, random, f"{where}({name})") for name, hint in hints.items()})
        raise _no_values(annotation, where)

    def _fitted(self, role: Any, value: Any) -> Any:
        if isinstance(role, Index):
            return value % sum(int(self.run.config[size]) for size in (role.size, *role.additional))
        if isinstance(role, InFlight) and isinstance(value, int):
            messages = self.waiting()
            return messages[value % len(messages)]
        return value


@cache
def annotations_of(method: Any) -> Mapping[str, Any]:
    """Return the annotations of a scenario, or of the fields of a tuple, which every example needs."""
    return get_type_hints(method, include_extras=True)


@cache
def _scenarios(machine: type[Machine]) -> dict[str, Callable[..., None]]:
    named = ((name, getattr(machine, name)) for name in sorted(dir(machine)))
    return {name: each for name, each in named if _SCENARIO in getattr(each, "__dict__", ())}


def _begin(machine: Machine, drawn: Any) -> None:
    machine.begin(drawn)


def _by_chance(machine: Machine, chance: int) -> None:
    machine.by_chance(chance)


def scenario(
    method: Callable[..., None] | None = None, *, when: Callable[[Any], bool] | None = None
) -> Callable[..., Any]:
    """Make a method of a machine a rule of its own. Its parameters are annotated as those of an interface are; one that
    is `InFlight` receives the message."""

    def decorated(method: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(method, include_extras=True)
        names = list(inspect.signature(method).parameters)[1:]
        return _played(method, {name: hints[name] for name in names}, when)

    return decorated if method is None else decorated(method)


def redrawn(played: Callable[..., None], **roles: Role) -> Callable[..., None]:
    """Return a scenario with other values for some of its parameters."""
    method, hints, when = vars(played)[_SCENARIO]
    return _played(method, {**hints, **{name: Annotated[Any, role] for name, role in roles.items()}}, when)


def variants(base: type[Machine], sizes: Mapping[str, st.SearchStrategy[Any]]) -> dict[str, type[Machine]]:
    """Return the machine of each variant, where they differ only in the configurations that they draw."""
    return {name: type(f"{base.__name__} of {name}", (base,), {"sizes": each}) for name, each in sizes.items()}


def strategy(annotation: Any, where: str = "") -> st.SearchStrategy[Any]:
    """Return the strategy with which a machine draws a parameter. Raise TypeError if the annotation gives no values."""
    role = role_of(annotation)
    match role:
        case Index() | InFlight():
            return st.integers(0, role.among - 1)
        case OneOf():
            return st.sampled_from(role.values)
        case Between():
            kind = get_args(annotation)[0]
            if get_origin(kind) is list:
                (each,) = get_args(kind)
                return st.lists(strategy(each, where), min_size=role.least, max_size=role.most)
            return st.integers(role.least, role.most)
    if annotation is bool:
        return st.booleans()
    if get_origin(annotation) is tuple:
        return st.tuples(*(strategy(each, where) for each in get_args(annotation)))
    raise _no_values(annotation, where)


def _no_values(annotation: Any, where: str) -> TypeError:
    return TypeError(
        f"{where}: a machine cannot draw a value of {annotation}; annotate it with Index, InFlight, OneOf or Between "
        "of fencepost.properties.roles, or say which calls are `steps`, without this one"
    )


def every_step(call: type[Call]) -> dict[str, str]:
    """Return the methods of an interface that have an effect, by the names of their rules: their own, unless a machine
    has a method of that name, such as `send`."""
    names = [name for each in call.interface for name in vars(each) if not name.startswith("_")]
    steps = [name for name in names if name not in OBSERVING and not name.startswith("is_")]
    return {f"call_{name}" if hasattr(Machine, name) else name: name for name in steps}


def _step(call: type[Call], rule_name: str, method: str) -> Callable[..., None]:
    _, hints, roles, _ = call.method(method)
    about = next((name for name, role in roles.items() if isinstance(role, InFlight)), None)

    def made(self: Machine, **values: Any) -> None:
        fitted = {name: self._fitted(roles[name], value) for name, value in values.items()}
        if about is None:
            self.call(method, **fitted)
        else:
            self.send(fitted.pop(about), method, **fitted)

    made.__name__ = made.__qualname__ = rule_name
    made.__doc__ = f"The call ``{method}``."
    strategies = {name: strategy(hint, f"{method}({name})") for name, hint in hints.items()}
    return _rule(made, strategies, roles, lambda self: callable(getattr(self.run.system, method, None)))


_SCENARIO = "fencepost_scenario"
"""A rule has, under this attribute, the method, the annotations and the condition that it was made of."""


def _played(
    method: Callable[..., None], hints: Mapping[str, Any], when: Callable[[Any], bool] | None
) -> Callable[..., None]:
    roles = {name: role_of(hint) for name, hint in hints.items()}
    signature = inspect.signature(method)

    @wraps(method)
    def played(self: Machine, *arguments: Any, **named: Any) -> None:
        given = signature.bind(self, *arguments, **named).arguments
        method(self, **{name: self._fitted(role, given[name]) for name, role in roles.items() if name in given})

    strategies = {name: strategy(hint, f"{method.__qualname__}({name})") for name, hint in hints.items()}
    found = _rule(played, strategies, roles, when)
    setattr(found, _SCENARIO, (method, hints, when))
    return found


def _rule(
    function: Callable[..., None],
    strategies: Mapping[str, st.SearchStrategy[Any]],
    roles: Mapping[str, Any],
    when: Callable[[Any], bool] | None,
) -> Callable[..., None]:
    decorate: Any = rule
    found = decorate(**strategies)(function)
    if when is not None:
        found = precondition(when)(found)
    if any(isinstance(role, InFlight) for role in roles.values()):
        found = precondition(Machine.something_waits)(found)
    made: Callable[..., None] = found
    return made


class KnownBug(NamedTuple):
    """A `KnownBug` has the configurations of systems with the bug (``broken``) and without it (``fixed``). ``defect``
    names the reference's defect in the first, where the configuration alone makes no difference. ``followed`` means
    that a model has all that the configurations need."""

    play: Callable[[Any], None]
    broken: Mapping[str, Any]
    fixed: Mapping[str, Any]
    defect: str
    followed: bool


class KnownBugs(dict[str, KnownBug]):
    """A `KnownBugs` has the known bugs of a protocol by name. ``usual`` has keys of all their configurations, and
    ``on`` returns what a scenario receives, given the machine."""

    def __init__(self, on: Callable[[Machine], Any] = lambda machine: machine, **usual: Any) -> None:
        super().__init__()
        self.on, self.usual = on, usual

    def bug(
        self, name: str, broken: Mapping[str, Any] | None = None, fixed: Mapping[str, Any] | None = None,
        defect: str = "", followed: bool = True, **both: Any,
    ) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:  # fmt: skip
        """Register the decorated scenario as the one that reproduces the bug of this name."""

        def register(play: Callable[[Any], None]) -> Callable[[Any], None]:
            usual = {**self.usual, **both}
            self[name] = KnownBug(play, {**usual, **(broken or {})}, {**usual, **(fixed or {})}, defect, followed)
            return play

        return register

    def __missing__(self, name: str) -> KnownBug:
        raise KeyError(f"no bug is known as {name!r}; known are {', '.join(self)}")


STEPS_MAX = 2_000
"""A delivery ends after this many steps, since a broken cluster may loop."""


class Over(Exception):
    """The run of a machine is over, and no further call is made."""


class Calls:
    """A `Calls` looks like the system of a machine, and makes its calls through the machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._drained = machine, 0

    def drain_events(self) -> list[Any]:
        """Return the events of the calls since the last time."""
        made = self._machine.run.made[self._drained :]
        self._drained += len(made)
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
    """A `Script` plays scenarios on a ``system``; ``config`` is ``SMALL`` with the given keys changed. ``held`` has the
    numbers of the messages that are held up, and ``broken`` means that the scenario is played as it goes wrong."""

    PROTOCOL: ClassVar[str]
    SMALL: ClassVar[Mapping[str, Any]]

    def __init__(self, system: Any, broken: bool = True, **config: Any) -> None:
        self.system, self.broken, self.config = system, broken, {**self.SMALL, **config}
        self.held: set[int] = set()
        self.events: list[Any] = []

    @classmethod
    def on(cls, machine: Machine) -> Any:
        """Return a script whose calls are a machine's."""
        return cls(Calls(machine), machine.broken, **machine.run.config)

    @classmethod
    def of_reference(cls, **config: Any) -> Any:
        """Return a script on the reference of its protocol."""
        reference = import_module(f"fencepost.reference_impl.systems.{folder(cls.PROTOCOL)}").reference
        return cls(reference({**cls.SMALL, **config}), **config)

    def seen(self) -> list[Any]:
        self.events += self.system.drain_events()
        return self.events

    def kinds(self, *kinds: str) -> list[Any]:
        return [event for event in self.seen() if event.kind in kinds]


class Messages(Script):
    """A `Messages` script is for systems with messages (number, kind, source, target, …). Every message arrives, oldest
    first, except those that are held up."""

    def flying(self, kind: str, target: str = "") -> list[int]:
        """Return the numbers of the messages of a kind in flight, held up or not; ``target`` narrows it."""
        return [m[0] for m in self.system.messages() if m[1] == kind and m[3].startswith(target)]

    def hold(self, kind: str, target: str = "") -> list[int]:
        """Hold up every message of a kind that is in flight now, until it is released."""
        found = self.flying(kind, target)
        self.held.update(found)
        return found

    def hold_next(self, kind: str, target: str = "") -> list[int]:
        """Let everything else arrive until messages of a kind are sent, and hold those up. Raise RuntimeError if none
        ever is."""
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
        """Deliver messages that were held up, and nothing that follows from them."""
        for number in numbers:
            self.held.discard(number)
            self.system.deliver(number)

    def release(self, numbers: Iterable[int]) -> None:
        """Deliver messages that were held up, and everything that follows from them."""
        self.let_in(numbers)
        self.settle()

    def deliver(self) -> None:
        """Deliver the messages in flight and those that follow, without any passage of time."""
        for _ in range(STEPS_MAX):
            if not self.step():
                return

    def step(self) -> bool:
        """Deliver one message, or let something else happen; return False if there is neither."""
        number = next((m[0] for m in self.system.messages() if m[0] not in self.held), None)
        if number is None:
            return self.otherwise()
        self.system.deliver(number)
        return True

    def otherwise(self) -> bool:
        return False

    def settle(self, ms: int = 0) -> None:
        """Deliver everything, and let ``ms`` milliseconds pass."""
        self.deliver()
        for _ in range(0, ms, 100):
            self.system.advance(100)
            self.deliver()
