"""Calls as data, derived from the annotated interface of a system: how they are spelled, and what makes a program of
them simpler.

A protocol declares its ``Call`` with the classes of its interface.  ``Call("zk_step", 1)`` has the arguments of the
method of that name; where the method wants the number of a message, the call has `Named` instead.  The annotation of a
parameter (one of `roles`) says what its values are:

    def deliver(self, number: Annotated[int, InFlight(…)], keep: bool = False) -> None: ...
    def zk_step(self, broker: Annotated[int, Index("brokers")]) -> bool: ...

Functions that need nothing but a system are calls as well where a protocol names them as ``helpers``:
``Call("settle", 100)`` is ``settle(system, 100)``.
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
"""Calls that are stored to be made again, of all protocols together."""

Interface = tuple[type, ...]
"""Classes whose methods are the calls on a system."""


class Method(NamedTuple):
    """A method, or a helper, without the system: its signature, the annotations and the roles of its parameters (None
    where one has no role), and ``module:function`` of a helper."""

    signature: inspect.Signature
    annotations: Mapping[str, Any]
    roles: Mapping[str, Role | None]
    helper: str


@dataclass(frozen=True, init=False)
class Call:
    """One call: the arguments that are not the method's defaults, by name.

    ``columns``, ``always_compared`` and ``filled`` are as in `driving.Call`.  ``keys``: what is smaller or simpler in
    the configuration; ``moving``: the sizes of which one may take the place of the one before, to which nothing is
    done; ``merged``: those of which it may, whatever is done to that.  ``dangerous``: which dangers it is to make a
    call, by the call's name, or that and the name of an argument that is given, or a word that is, or the kind of what
    is in flight; ``*`` is anything."""

    interface: ClassVar[Interface]
    helpers: ClassVar[tuple[Callable[..., Any], ...]] = ()
    columns: ClassVar[tuple[str, ...]]
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
        """The method or helper of this name.  Raises AttributeError."""
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
        """The call of this method on one of the messages that are in flight."""
        width = cls._width(name)
        fields = message[1 : 1 + width]
        named_so = Named(fields, sum(m[1 : 1 + width] == fields and m[0] < message[0] for m in messages))
        return cls._once_more(name, named_so, **named)

    @classmethod
    def within(cls, config: Config, name: str, *arguments: Any, **named: Any) -> Self:
        """The call on a system of this configuration: what is `FromConfig` need not be given."""
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
        """By how many fields a call of this method names what is in flight."""
        return next(len(role.fields) for role in cls.method(name).roles.values() if isinstance(role, InFlight))

    @classmethod
    @lru_cache(maxsize=MOST_CACHED, typed=True)
    def _again(cls, name: str, *arguments: Any, **named: Any) -> Self:
        """The same calls are made again and again."""
        return cls(name, *arguments, **named)

    def get(self, name: str, default: Any = None) -> Any:
        """An argument, or the method's default; ``default`` where the method has no such parameter."""
        for key, value in self.arguments:
            if key == name:
                return value
        parameter = self.method(self.name).signature.parameters.get(name)
        return default if parameter is None else parameter.default

    def but(self, **changes: Any) -> Self:
        """The call with some arguments changed."""
        return type(self)(self.name, **{**dict(self.arguments), **changes})

    def fitting(self, config: Config) -> Self:
        """The call on a system of another configuration."""
        roles = self.method(self.name).roles
        fixed = {key: role.value(config) for key, role in roles.items() if isinstance(role, FromConfig)}
        return self.but(**fixed) if fixed else self

    @cached_property
    def kind(self) -> str:
        """The kind of what it names in flight; empty where it names nothing."""
        return next((str(value.fields[0]) for _, value in self.arguments if isinstance(value, Named)), "")

    @cached_property
    def table_name(self) -> str:
        """Under which a protocol's table of calls has it."""
        return f"{self.name} {self.kind}" if self._happens(self.name) else self.name

    @classmethod
    @cache
    def _happens(cls, name: str) -> bool:
        """Is a call of this method something that happens to what is in flight?"""
        return any(isinstance(role, InFlight) and role.happens for role in cls.method(name).roles.values())

    def index(self, size: str, config: Config | None = None) -> int:
        """Return which one of ``size`` the call, or what it names, is about; -1 if it is about none."""
        roles = self.method(self.name).roles
        found = (role.at(size, value, config or {}) for key, value in self.arguments if (role := roles[key]))
        return next((number for number in found if number >= 0), -1)

    def moved(self, size: str, was: int, now: int, config: Config | None = None) -> Self:
        """The call about another one of ``size``, if it is about that."""
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
        """Return what is called; None if it speaks of something that does not wait.  What has to be given is given by
        position, and so is a word, if all before it is given; all else by name."""
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
        """Which of `fencepost.model.dangers` it is to make this call."""
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
        """The program on systems that are smaller or simpler in one key of the configuration."""
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
        """The program with one argument of one call simpler: without what need not be given, or as its role says; or
        with all that is done to one of a size done to the one before, if nothing is done to that, or if they may be
        merged."""
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
        """The call with one argument simpler."""
        signature, _, roles, _ = self.method(self.name)
        for key, value in self.arguments:
            role, default = roles[key], signature.parameters[key].default
            if isinstance(role, FromConfig):
                continue
            required = default is inspect.Parameter.empty
            for option in (role.simpler(value) if role else ()) if required else (default,):
                yield self.but(**{key: option})


def accepts(system: Any, method: str, parameter: str = "") -> bool:
    """Has an implementation this method, and does that take this parameter, if one is given?"""
    found = getattr(system, method, None)
    if not callable(found):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):  # of a function that was not written in Python
        return not parameter
    return not parameter or any(each.name == parameter or each.kind is each.VAR_KEYWORD for each in parameters)


def missing(system: Any, interface: Interface) -> list[str]:
    """Methods of an interface that an implementation lacks."""
    names = [name for each in interface for name in vars(each) if not name.startswith("_")]
    return [name for name in names if not callable(getattr(system, name, None))]
