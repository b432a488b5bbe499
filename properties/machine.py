"""The machine that drives systems of a protocol: one Hypothesis rule for each method of the annotated interface, and
one for each scenario that the protocol declares.

A protocol that declares no scenarios has its machine from the interface (`calls`) alone:

    class Locks(Machine):
        call_type = Call  # the protocol's `calls.Call`, which names the interface
        sizes = st.fixed_dictionaries({"seed": st.just(0), "nodes": st.sampled_from((2, 3, 1))})

    MACHINES = {"plain": Locks}

Each step calls one method.  Its arguments are drawn as their annotations say: an `Index` is a number below the size
that the configuration of the example has, `InFlight` one of the messages that wait (where none does, no such call is
made), `OneOf` one of the values, `Between` a number between the two, a ``bool`` either.  A method that the system at
hand lacks is not called.

A scenario is a method that makes several calls; its parameters are annotated and drawn in the same way, and ``when``
says in which state of the machine it can be played:

    class Locks(Machine):
        …

        @scenario(when=lambda self: self.run.config["nodes"] > 1)
        def handed_on(self, node: Node, ms: Annotated[int, OneOf(10, 200)]) -> None:
            self.call("ask", node)
            self.deliver_everything()
            self.call("advance", ms)
            self.call("ask", self.index("nodes", node + 1))

What comes of a call is not judged here: every call goes to the watcher of a `driving.Session`, which raises when it has
seen enough.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from fencepost.properties.calls import Call
from fencepost.properties.driving import Made, Message, Run, Session, waiting
from fencepost.properties.roles import Between, Index, InFlight, OneOf, role_of
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

OBSERVING = frozenset({"messages", "threads", "drain_events"})
"""Methods of an interface that show something and change nothing: no step calls them."""

BURST = 60
"""Calls in a burst at most."""


class Machine(RuleBasedStateMachine):
    """Systems of one protocol, one for each example.

    ``sizes`` draws the configuration of an example.  Where single calls are not to be all methods of the interface
    under their own names, a class says which methods are, each by the name of its rule:

        class Locks(Machine, steps={"node_asks": "ask"}): ...

    A method of the class that has the name of a rule takes its place.
    """

    call_type: ClassVar[type[Call]]
    sizes: ClassVar[st.SearchStrategy[Any]]
    session: ClassVar[Session]
    run: Run

    def __init_subclass__(cls, steps: Mapping[str, str] | None = None, **named: Any) -> None:
        super().__init_subclass__(**named)
        if "sizes" in vars(cls):
            cls._begin = initialize(drawn=cls.sizes)(_begin)
        if steps is None:
            steps = every_step(cls.call_type) if "call_type" in vars(cls) else {}
        for name, method in steps.items():
            if name not in vars(cls):
                setattr(cls, name, _step(cls.call_type, name, method))

    _begin: ClassVar[Callable[..., None]]

    def begin(self, drawn: Any) -> None:
        """An example begins, with what was drawn from ``sizes``."""
        self.start(drawn)

    def start(self, config: Mapping[str, Any]) -> None:
        """A system of this configuration; what the session says about it goes before."""
        self.run = self.session.start({**config, **self.session.config})

    def call(self, name: str, *arguments: Any, **named: Any) -> Made | None:
        """Make a call; None if nothing came of it, since the run is over or what it is about does not wait."""
        return self.session.call(self.run, self.call_type(name, *arguments, **named))

    def did(self, name: str, *arguments: Any, **named: Any) -> bool:
        """Make a call; did it do anything?"""
        made = self.call(name, *arguments, **named)
        return made is not None and bool(made.result)

    def index(self, size: str, number: int) -> int:
        """The number of one of those that the configuration counts under ``size``, from any number."""
        return number % int(self.run.config[size])

    def waiting(self, *fields: Any) -> Sequence[Message]:
        """What waits for the driver, oldest first: all of it, or what has these fields.  A field that is empty or -1
        is any."""
        found = () if self.run.over else waiting(self.run.system)
        if not fields:
            return found
        return [m for m in found if all(f in ("", -1, its) for f, its in zip(fields, m[1:], strict=False))]

    def something_waits(self) -> bool:
        return bool(self.waiting())

    def send(self, message: Message, name: str = "deliver", **named: Any) -> Made | None:
        """Make a call about something that waits, if it still does."""
        messages = self.waiting()
        if message not in messages:
            return None
        return self.session.call(self.run, self.call_type.about(name, message, messages, **named))

    def deliver_everything(self, most: int = BURST) -> None:
        """Deliver what waits, oldest first, and what comes of it."""
        for _ in range(most):
            messages = self.waiting()
            if not messages:
                return
            self.send(messages[0])

    def _fitted(self, role: Any, value: Any) -> Any:
        """A drawn value as an argument in this example."""
        if isinstance(role, Index):
            return value % sum(int(self.run.config[size]) for size in (role.size, *role.beside))
        if isinstance(role, InFlight) and isinstance(value, int):
            messages = self.waiting()
            return messages[value % len(messages)]
        return value


def _begin(machine: Machine, drawn: Any) -> None:
    machine.begin(drawn)


def scenario(
    method: Callable[..., None] | None = None, *, when: Callable[[Any], bool] | None = None
) -> Callable[..., Any]:
    """A method of a machine as a rule of its own.  Its parameters are annotated as those of an interface are; one that
    is `InFlight` is given the message."""

    def decorated(method: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(method, include_extras=True)
        hints = {name: hints[name] for name in list(inspect.signature(method).parameters)[1:]}
        roles = {name: role_of(hint) for name, hint in hints.items()}
        signature = inspect.signature(method)

        @wraps(method)
        def played(self: Machine, *arguments: Any, **named: Any) -> None:
            given = signature.bind(self, *arguments, **named).arguments
            fitted = {name: self._fitted(role, given[name]) for name, role in roles.items() if name in given}
            method(self, **fitted)

        strategies = {name: strategy(hint, f"{method.__qualname__}({name})") for name, hint in hints.items()}
        return _rule(played, strategies, roles, when)

    return decorated if method is None else decorated(method)


def variants(base: type[Machine], sizes: Mapping[str, st.SearchStrategy[Any]]) -> dict[str, type[Machine]]:
    """The machine of each variant, where they differ in nothing but the configurations that they draw."""
    return {
        name: type(f"{base.__name__}_{name.replace('-', '_')}", (base,), {"sizes": each})
        for name, each in sizes.items()
    }


def strategy(annotation: Any, where: str = "") -> st.SearchStrategy[Any]:
    """What a machine draws for a parameter.  Raises TypeError for one of which the annotation does not say it."""
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
    raise TypeError(
        f"{where}: a machine cannot draw a value of {annotation}; annotate it with Index, InFlight, OneOf or Between "
        "of fencepost.properties.roles, or say which calls are `steps`, without this one"
    )


def every_step(call: type[Call]) -> dict[str, str]:
    """The methods of an interface that do something, by the names of their rules."""
    names = [name for each in call.interface for name in vars(each) if not name.startswith("_")]
    return {name: name for name in names if name not in OBSERVING}


def _step(call: type[Call], rule_name: str, method: str) -> Callable[..., None]:
    """The rule that calls a method."""
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
