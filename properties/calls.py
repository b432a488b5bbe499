"""Calls as data, derived from the annotated interface of a system: how they are spelled, and what makes a program of
them simpler.

A protocol declares its ``Call`` with the classes of its interface.  ``Call("zk_step", 1)`` has the arguments of the
method of that name; where the method wants the number of a message, the call has `Named` instead.  The annotation of a
parameter says what its values are:

    def deliver(self, number: Annotated[int, InFlight(…)], keep: bool = False) -> None: ...
    def zk_step(self, broker: Annotated[int, Index("brokers")]) -> bool: ...
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin, get_type_hints

from fencepost.properties.driving import Message, Program, Spelled, waiting

Interface = tuple[type, ...]
"""Classes whose methods are the calls on a system."""


@dataclass(frozen=True)
class Index:
    """Which one of those of which the configuration says under ``size`` how many there are, from 0."""

    size: str


@dataclass(frozen=True)
class InFlight:
    """The number of what waits for the driver to let it happen.  ``fields``: what is behind the number and tells it
    from what is not its like, the kind first, and the role of each if it has one; ``remark`` is for the reader.
    ``happens``: the call lets it happen, so that what may be seen of the call depends on its kind."""

    fields: tuple[Index | None, ...]
    remark: Callable[[Message], str]
    happens: bool = True


@dataclass(frozen=True)
class Amount:
    """A key of the configuration that is simpler the smaller it is, but not below ``least``."""

    least: int = 1


@dataclass(frozen=True)
class Simplest:
    """A key of the configuration that is simplest with this value."""

    value: Any


@dataclass(frozen=True)
class Named:
    """What waits, by its fields and its position among its like (oldest first): a program from which calls were taken
    out still means something, which it would not with numbers."""

    fields: tuple[Any, ...]
    nth: int = 0

    def find(self, messages: Sequence[Message]) -> Message | None:
        """It among these; None if it is not there."""
        like = [m for m in messages if tuple(m[1 : 1 + len(self.fields)]) == self.fields]
        return like[self.nth] if self.nth < len(like) else None


@cache
def _method(interface: Interface, name: str) -> tuple[inspect.Signature, Mapping[str, Any]]:
    """The signature of a call, without the system; and the role of each parameter, None where it has none."""
    function = next((vars(each)[name] for each in interface if name in vars(each)), None)
    if function is None:
        raise AttributeError(f"there is no call {name!r} in {', '.join(each.__qualname__ for each in interface)}")
    parameters = list(inspect.signature(function).parameters.values())[1:]
    hints = get_type_hints(function, include_extras=True)
    roles = {p.name: get_args(h)[1] if get_origin(h := hints[p.name]) is Annotated else None for p in parameters}
    return inspect.Signature(parameters), roles


@dataclass(frozen=True, init=False)
class Call:
    """One call: the arguments that are not the method's defaults, by name.  ``columns`` and ``always_compared`` are as
    in `driving.Call`."""

    interface: ClassVar[Interface]
    columns: ClassVar[tuple[str, ...]]
    always_compared: ClassVar[tuple[str, ...]] = ()

    name: str
    arguments: tuple[tuple[str, Any], ...]

    def __init__(self, name: str, *arguments: Any, **named: Any) -> None:
        signature, _ = _method(self.interface, name)
        bound = signature.bind(*arguments, **named).arguments
        given = tuple((key, value) for key, value in bound.items() if value != signature.parameters[key].default)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "arguments", given)

    @classmethod
    def about(cls, name: str, message: Message, messages: Sequence[Message], **named: Any) -> Self:
        """The call of this method on one of the messages that are in flight."""
        _, roles = _method(cls.interface, name)
        width = next(len(role.fields) for role in roles.values() if isinstance(role, InFlight))
        fields = message[1 : 1 + width]
        return cls(
            name, Named(fields, sum(m[1 : 1 + width] == fields and m[0] < message[0] for m in messages)), **named
        )

    def get(self, name: str, default: Any = None) -> Any:
        """An argument; ``default`` where the call does not give it."""
        return dict(self.arguments).get(name, default)

    def but(self, **changes: Any) -> Self:
        """The call with some arguments changed."""
        return type(self)(self.name, **{**dict(self.arguments), **changes})

    @property
    def kind(self) -> str:
        """The kind of what it names in flight; empty where it names nothing."""
        return next((str(value.fields[0]) for _, value in self.arguments if isinstance(value, Named)), "")

    @property
    def table_name(self) -> str:
        """Under which a protocol's table of calls has it."""
        _, roles = _method(self.interface, self.name)
        happens = any(isinstance(role, InFlight) and role.happens for role in roles.values())
        return f"{self.name} {self.kind}" if happens else self.name

    def index(self, size: str) -> int:
        """Which one of ``size`` the call, or what it names, is about; -1 if it is about none."""
        _, roles = _method(self.interface, self.name)
        for key, value in self.arguments:
            role = roles[key]
            pairs = zip(role.fields, value.fields, strict=True) if isinstance(role, InFlight) else [(role, value)]
            for each, number in pairs:
                if each == Index(size):
                    return int(number)
        return -1

    def moved(self, size: str, was: int, now: int) -> Self:
        """The call about another one of ``size``, if it is about that."""
        if self.index(size) != was:
            return self
        _, roles = _method(self.interface, self.name)
        changes: dict[str, Any] = {}
        for key, value in self.arguments:
            role = roles[key]
            if role == Index(size):
                changes[key] = now
            elif isinstance(role, InFlight):
                fields = (now if r == Index(size) else v for r, v in zip(role.fields, value.fields, strict=True))
                changes[key] = replace(value, fields=tuple(fields))
        return self.but(**changes)

    def spelled(self, system: Any) -> Spelled | None:
        """What is called; None if it speaks of something that does not wait."""
        signature, roles = _method(self.interface, self.name)
        found = Spelled()
        for key, value in self.arguments:
            role, real = roles[key], value
            if isinstance(role, InFlight):
                message = value.find(waiting(system))
                if message is None:
                    return None
                real, found = message[0], replace(found, message=message, remark=role.remark(message))
            if signature.parameters[key].default is inspect.Parameter.empty:
                found = replace(found, arguments=(*found.arguments, real))
            else:
                found = replace(found, keywords={**found.keywords, key: real})
        return found


def missing(system: Any, interface: Interface) -> list[str]:
    """Methods of an interface that an implementation lacks."""
    names = [name for each in interface for name in vars(each) if not name.startswith("_")]
    return [name for name in names if not callable(getattr(system, name, None))]


def smaller(program: Program, config: Mapping[str, Amount | Simplest]) -> Iterator[Program]:
    """The program on systems that are smaller or simpler in one key of the configuration."""
    for key, role in config.items():
        present = program.config[key]
        if isinstance(role, Amount):
            used = max((call.index(key) for call in program.calls), default=-1) + 1
            values: Sequence[Any] = range(max(role.least, used), present)
        else:
            values = () if present == role.value else (role.value,)
        for value in values:
            yield replace(program, config={**program.config, key: value})


def simpler(program: Program, sizes: Sequence[str]) -> Iterator[Program]:
    """The program with one argument of one call simpler: without what need not be given, or with the one before; or
    with all that is done to the last one of ``sizes`` done to the one before, if nothing is done to that."""
    for at, call in enumerate(program.calls):
        signature, roles = _method(call.interface, call.name)
        for key, value in call.arguments:
            default = signature.parameters[key].default
            if default is not inspect.Parameter.empty:
                option = call.but(**{key: default})
            elif isinstance(roles[key], Index) and value > 0:
                option = call.but(**{key: value - 1})
            else:
                continue
            yield replace(program, calls=(*program.calls[:at], option, *program.calls[at + 1 :]))
    for size in sizes:
        last = max((call.index(size) for call in program.calls), default=-1)
        if last > 0 and not any(call.index(size) == last - 1 for call in program.calls):
            yield replace(program, calls=tuple(call.moved(size, last, last - 1) for call in program.calls))
