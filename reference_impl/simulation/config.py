"""A configuration is a frozen dataclass whose annotations state which values each key may have; it is checked when it
is made.

    @dataclass(frozen=True, slots=True)
    class Config(Configuration):
        mode: Annotated[str, OneOf("v1", "v2")] = "v2"
        clients: Positive = 2
        drop: Rate = 0.01

    Config.parse({"clients": 0})    # ValueError: config clients=0: must be at least 1

A protocol declares its keys with their defaults and ranges, and declares in `relate` what must hold between them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin, get_type_hints


class OneOf:
    """`OneOf` restricts a key to one of these strings."""

    def __init__(self, *values: str) -> None:
        self.values = values

    def refusal(self, value: Any) -> str:
        """Return what is wrong with the value, or an empty string if it is allowed."""
        return "" if value in self.values else f"must be one of {', '.join(self.values)}"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """`AtLeast` restricts a key to numbers that are not less than `least`."""

    least: int

    def refusal(self, value: Any) -> str:
        return "" if value >= self.least else f"must be at least {self.least}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """`AtMost` restricts a key to numbers up to `most`; ``reason`` states where this limit comes from."""

    most: int
    reason: str

    def refusal(self, value: Any) -> str:
        return "" if value <= self.most else f"{self.reason}, the greatest is {self.most}"


Positive = Annotated[int, AtLeast(1)]
Natural = Annotated[int, AtLeast(0)]
Rate = Annotated[float, AtLeast(0), AtMost(1, "a share, or a probability")]

TYPES: Mapping[Any, tuple[tuple[type, ...], str]] = {
    int: ((int,), "must be a whole number"),
    float: ((int, float), "must be a number"),
    bool: ((bool,), "must be True or False"),
    str: ((str,), "must be a text"),
    tuple: ((tuple,), "must be a list"),
}
"""This table maps the type with which a key is annotated to the Python types of its values and to the message about any
other value. True and False do not count as numbers. A key annotated with another type is checked by `relate` only."""


class Configuration:
    """`Configuration` is the base of every configuration, a frozen dataclass with defaults for all keys."""

    __slots__ = ()

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __post_init__(self) -> None:
        for name, refusal in _checks(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if refused := refusal(value):
                raise ValueError(f"config {name}={value!r}: {refused}")
        self.relate()

    def relate(self) -> None:
        """Raise ValueError where values that are valid by themselves contradict each other."""

    @classmethod
    def parse(cls, config: Mapping[str, Any]) -> Self:
        """Return the checked configuration of a mapping. Raise ValueError for a bad key or value."""
        return cls(**split(config, cls)[0])


def split(config: Mapping[str, Any], *kinds: type[Configuration]) -> list[dict[str, Any]]:
    """Split one mapping into the keys of each of several configurations, with lists (JSON has no tuples) turned into
    tuples. Raise ValueError on a key that none of the configurations has."""
    known = {name for kind in kinds for name in kind.__dataclass_fields__}
    if unknown := config.keys() - known:
        raise ValueError(f"config has unknown keys {sorted(unknown)}: known are {sorted(known)}")
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in config.items()}
    return [{name: given[name] for name in kind.__dataclass_fields__ if name in given} for kind in kinds]


@cache
def _checks(kind: type[Configuration]) -> tuple[tuple[str, Callable[[Any], str]], ...]:
    """Return the keys, in order, each with a function that returns what is wrong with its value."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((name, check) for name in kind.__dataclass_fields__ for check in _of_annotation(hints[name]))


def _of_annotation(annotation: Any) -> list[Callable[[Any], str]]:
    declared, *limits = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    declared = get_origin(declared) or declared
    found: list[Callable[[Any], str]] = [limit.refusal for limit in limits]
    if declared not in TYPES or (limits and isinstance(limits[0], OneOf)):
        return found
    types, words = TYPES[declared]

    def of_type(value: Any) -> str:
        return "" if isinstance(value, types) and (declared is bool or not isinstance(value, bool)) else words

    return [of_type, *found]
