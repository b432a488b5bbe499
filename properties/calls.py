"""Calls on a system are data that is derived from its annotated interface, which determines how they are spelled and
what makes a program of them simpler.

A protocol declares its ``Call`` with the classes of its interface. ``Call("zk_step", 1)`` has the arguments of the
method of that name; where the method takes the number of a message, the call has `Named` instead. The annotation of a
parameter (one of `roles`) describes its values:

    def deliver(self, number: Annotated[int, InFlight(…)], keep: bool = False) -> None: ...
    def zk_step(self, broker: Annotated[int, Index("brokers")]) -> bool: ...

Functions that take only a system are calls as well where a protocol names them as ``helpers``: ``Call("settle", 100)``
is ``settle(system, 100)``.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, Self, get_type_hints

from fencepost.properties.driving import Message, Program, Spelled, waiting
from fencepost.properties.roles import Amount, Config, FromConfig, InFlight, Named, Role, Simplest, role_of

MOST_CACHED = 10_000
"""At most this many calls of all protocols together are cached to be made again."""

Interface = tuple[type, ...]
"""An `Interface` is the classes whose methods are the calls on a system."""


class Method(NamedTuple):
    """A `Method` is a method or a helper without the system: its signature, the annotations of its parameters, and
    their roles (None for a parameter without a role). ``helper`` is ``module:function`` for a helper."""

    signature: inspect.Signature
    annotations: Mapping[str, Any]
    roles: Mapping[str, Role | None]
    helper: str


@dataclass(frozen=True, init=False)
class Call:
    """A `Call` has the name of a method and those arguments that differ from the method's defaults, by name.

    ``columns``, ``errors``, ``always_compared`` and ``filled`` are as in `driving.Call`. ``keys`` gives what is smaller
    or simpler in each key of the configuration. ``moving`` names the sizes of which a member may replace the one before
    it if no call is made on that one, and ``merged`` those where it may replace it in any case. ``dangerous`` gives the
    dangers of calls by the call's name, or by that and the name of an argument that is given, a word that is given, or
    the kind of what is in flight; ``*`` matches anything.
    """

    interface: ClassVar[Interface]
    helpers: ClassVar[tuple[Callable[..., Any], ...]] = ()
    columns: ClassVar[tuple[str, ...]]
    errors: ClassVar[frozenset[str]] = frozenset()
    always_compared: ClassVar[tuple[str, ...]] = ()
    filled: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    keys: ClassVar[Mapping[str, Amount | Simplest]] = {}
    moving: ClassVar[tuple[str, ...]] = ()
    merged: ClassVar[tuple[str, ...]] = ()
    dangerous: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    name: str
    arguments: tuple[tuple[str, Any], ...]

    def __init__(self, name: str, *arguments: Any, **named: Any) -> None:
        signature = self.method(name).signature
        bound = signature.bind(*arguments, **named).arguments
        given = tuple((key, value) for key, value in bound.items() if value != signature.parameters[key].default)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "arguments", given)

    @classmethod
    @cache
    def method(cls, name: str) -> Method:
        """Return the method or helper of this name. Raise AttributeError if there is none."""
        helper = next((each for each in cls.helpers if each.__name__ == name), None)
        function = next((vars(each)[name] for each in cls.interface if name in vars(each)), helper)
        if function is None:
            raise AttributeError(
                f"there is no call {name!r} in {', '.join(each.__qualname__ for each in cls.interface)}"
            )
        parameters = list(inspect.signature(function).parameters.values())[1:]
        hints = get_type_hints(function, include_extras=True)
        annotations = {p.name: hints[p.name] for p in parameters}
        roles = {key: role_of(hint) for key, hint in annotations.items()}
        where = f"{function.__module__}:{name}" if function is helper else ""
        return Method(inspect.Signature(parameters), annotations, roles, where)

    @classmethod
    def about(cls, name: str, message: Message, messages: Sequence[Message], **named: Any) -> Self:
        """Return the call of this method on one of the messages that are in flight."""
        width = cls._width(name)
        fields = message[1 : 1 + width]
        named_so = Named(fields, sum(m[1 : 1 + width] == fields and m[0] < message[0] for m in messages))
        return cls._once_more(name, named_so, **named)

    @classmethod
    def within(cls, config: Config, name: str, *arguments: Any, **named: Any) -> Self:
        """Return the call on a system of this configuration; arguments that are `FromConfig` may be omitted."""
        signature, _, roles, _ = cls.method(name)
        fixed = {key: role.value(config) for key, role in roles.items() if isinstance(role, FromConfig)}
        if fixed:
            named, arguments = {**fixed, **signature.bind_partial(*arguments, **named).arguments}, ()
        return cls._once_more(name, *arguments, **named)

    @classmethod
    def _once_more(cls, name: str, *arguments: Any, **named: Any) -> Self:
        try:
            return cls._again(name, *arguments, **named)
        except TypeError:  # an argument is a list, or there is no such argument
            return cls(name, *arguments, **named)

    @classmethod
    @cache
    def _width(cls, name: str) -> int:
        return next(len(role.fields) for role in cls.method(name).roles.values() if isinstance(role, InFlight))

    @classmethod
    @lru_cache(maxsize=MOST_CACHED, typed=True)
    def _again(cls, name: str, *arguments: Any, **named: Any) -> Self:
        return cls(name, *arguments, **named)

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument, or the method's default, or ``default`` where the method has no such parameter."""
        for key, value in self.arguments:
            if key == name:
                return value
        parameter = self.method(self.name).signature.parameters.get(name)
        return default if parameter is None else parameter.default

    def but(self, **changes: Any) -> Self:
        return type(self)(self.name, **{**dict(self.arguments), **changes})

    def fitting(self, config: Config) -> Self:
        """Return the same call on a system of another configuration."""
        roles = self.method(self.name).roles
        fixed = {key: role.value(config) for key, role in roles.items() if isinstance(role, FromConfig)}
        return self.but(**fixed) if fixed else self

    @cached_property
    def kind(self) -> str:
        """The kind of what the call names in flight is empty where it names nothing."""
        return next((str(value.fields[0]) for _, value in self.arguments if isinstance(value, Named)), "")

    @cached_property
    def table_name(self) -> str:
        """A protocol's table of calls has the call under this name."""
        return f"{self.name} {self.kind}" if self._happens(self.name) else self.name

    @classmethod
    @cache
    def _happens(cls, name: str) -> bool:
        return any(isinstance(role, InFlight) and role.happens for role in cls.method(name).roles.values())

    def index(self, size: str, config: Config | None = None) -> int:
        """Return the number, among those that ``size`` counts, that the call or what it names is about; -1 if it is
        about none."""
        roles = self.method(self.name).roles
        found = (role.at(size, value, config or {}) for key, value in self.arguments if (role := roles[key]))
        return next((number for number in found if number >= 0), -1)

    def moved(self, size: str, was: int, now: int, config: Config | None = None) -> Self:
        """Return the call about another member of ``size`` if it is about member ``was``."""
        if self.index(size, config) != was:
            return self
        roles = self.method(self.name).roles
        return self.but(
            **{
                key: role.moved(size, value, was, now, config or {})
                for key, value in self.arguments
                if (role := roles[key])
            }
        )

    def spelled(self, system: Any) -> Spelled | None:
        """Return the call in full, or None if it names something that does not wait. Required arguments are given by
        position, and so is a word if all arguments before it are given; all others are given by name."""
        signature, _, roles, helper = self.method(self.name)
        arguments: list[Any] = []
        keywords: dict[str, Any] = {}
        message, remark = None, ""
        for key, value in self.arguments:
            role, real = roles[key], value
            if isinstance(role, InFlight):
                message = value.find(waiting(system))
                if message is None:
                    return None
                real, remark = message[0], role.remark(message)
            required = signature.parameters[key].default is inspect.Parameter.empty
            is_next = list(signature.parameters)[len(arguments)] == key
            if required or (isinstance(real, str) and is_next and not keywords):
                arguments.append(real)
            else:
                keywords[key] = real
        return Spelled(tuple(arguments), keywords, message, remark, helper)

    @cached_property
    def dangers(self) -> tuple[str, ...]:
        words = [*(f"{self.name} {key}" for key, _ in self.arguments), f"{self.name} {self.kind}"]
        words += [f"{self.name} {value}" for _, value in self.arguments if isinstance(value, str)]
        return self._dangers((self.name, *words))

    @classmethod
    @cache
    def _dangers(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        met = (found for key, found in cls.dangerous.items() if any(fnmatchcase(word, key) for word in words))
        return tuple(dict.fromkeys(danger for found in met for danger in found))

    @classmethod
    def smaller(cls, program: Program) -> Iterator[Program]:
        """Yield the program on systems that are smaller or simpler in one key of the configuration."""
        present = program.config
        for key, role in cls.keys.items():
            if key not in present:
                continue
            if isinstance(role, Simplest):
                values: Sequence[Any] = () if present[key] == role.value else (role.value,)
            elif any(present.get(each) for each in role.unless):
                values = ()
            else:
                used = max((call.index(key, present) for call in program.calls), default=-1) + 1
                values = range(max(role.of(present), used), present[key])
            for value in values:
                changed = {**present, key: value}
                yield Program(changed, tuple(call.fitting(changed) for call in program.calls))

    @classmethod
    def simpler(cls, program: Program) -> Iterator[Program]:
        """Yield the program with one argument of one call simpler, which is omitted or replaced as its role allows.
        Then yield the program with all calls on one member of a size made on the member before it, if none are made on
        that one or the two may be merged."""
        for at, call in enumerate(program.calls):
            for option in call._options():
                yield replace(program, calls=(*program.calls[:at], option, *program.calls[at + 1 :]))
        for size in (*cls.moving, *cls.merged):
            used = {call.index(size, program.config) for call in program.calls}
            for number in sorted(used - {-1, 0}):
                if size in cls.merged or number - 1 not in used:
                    calls = tuple(call.moved(size, number, number - 1, program.config) for call in program.calls)
                    yield replace(program, calls=calls)

    def _options(self) -> Iterator[Self]:
        signature, _, roles, _ = self.method(self.name)
        for key, value in self.arguments:
            role, default = roles[key], signature.parameters[key].default
            if isinstance(role, FromConfig):
                continue
            required = default is inspect.Parameter.empty
            for option in (role.simpler(value) if role else ()) if required else (default,):
                yield self.but(**{key: option})


def accepts(system: Any, method: str, parameter: str = "") -> bool:
    """Return whether a system has this method, and whether the method accepts this parameter, if one is given."""
    found = getattr(system, method, None)
    if not callable(found):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):  # a function that was not written in Python
        return not parameter
    return not parameter or any(each.name == parameter or each.kind is each.VAR_KEYWORD for each in parameters)


def missing(system: Any, interface: Interface) -> list[str]:
    """Return the methods of an interface that an implementation lacks."""
    names = [name for each in interface for name in vars(each) if not name.startswith("_")]
    return [name for name in names if not callable(getattr(system, name, None))]
