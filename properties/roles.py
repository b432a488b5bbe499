"""Roles: what the annotation of a parameter of an interface says about its values.

    def send(self, slot: Annotated[int, Index("clients")], partition: Annotated[int, Index("partitions")]) -> bool: ...

Calls are named, shortened and drawn by them (`calls`, `machine`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, get_args, get_origin

from fencepost.properties.driving import Message

Config = Mapping[str, Any]
"""Of a system, as its interface says."""


class Role:
    """What a value is about, and what is simpler."""

    def at(self, size: str, value: Any, config: Config) -> int:
        """Which one of those that the configuration counts under ``size`` the value is about; -1 if about none."""
        return -1

    def moved(self, size: str, value: Any, was: int, now: int, config: Config) -> Any:
        """The value about another one of ``size``, if it is about that."""
        return value

    def simpler(self, value: Any) -> Iterable[Any]:
        return ()


@dataclass(frozen=True)
class Index(Role):
    """Which one of those of which the configuration says under ``size`` how many there are, from 0; behind them are
    numbered those that it counts under the keys ``additional``.  A machine draws numbers below ``among``, and takes
    them modulo the number of those that there are.  ``fixed``: the one before may be of another sort, on which the call
    makes no sense, so that it is not simpler."""

    size: str
    additional: tuple[str, ...] = ()
    among: int = 3
    fixed: bool = False

    def at(self, size: str, value: Any, config: Config) -> int:
        for each in (self.size, *self.additional):
            count = config.get(each)
            here = count is None or value < count
            if each == size:
                return int(value) if here or each == (self.size, *self.additional)[-1] else -1
            if here:
                return -1
            value -= count
        return -1

    def moved(self, size: str, value: Any, was: int, now: int, config: Config) -> Any:
        return value + now - was if self.at(size, value, config) == was else value

    def simpler(self, value: Any) -> Iterable[Any]:
        return (value - 1,) if value > 0 and not self.fixed else ()


@dataclass(frozen=True)
class Count(Role):
    """How many, of which the configuration says under ``size`` how many there are at most."""

    size: str

    def at(self, size: str, value: Any, config: Config) -> int:
        return value - 1 if size == self.size else -1

    def simpler(self, value: Any) -> Iterable[Any]:
        return range(1, value)


@dataclass(frozen=True, init=False)
class Numbered(Role):
    """A word with a number, such as ``client-0``: of each word, what it counts.  Other words count nothing."""

    words: tuple[tuple[str, Role], ...]

    def __init__(self, **words: Role) -> None:
        object.__setattr__(self, "words", tuple(words.items()))

    def at(self, size: str, value: Any, config: Config) -> int:
        word, _, number = value.rpartition("-")
        role = dict(self.words).get(word)
        return role.at(size, int(number), config) if role else -1

    def moved(self, size: str, value: Any, was: int, now: int, config: Config) -> Any:
        word, _, number = value.rpartition("-")
        role = dict(self.words).get(word)
        return f"{word}-{role.moved(size, int(number), was, now, config)}" if role else value


@dataclass(frozen=True)
class InFlight(Role):
    """The number of what waits for the driver to let it happen.  ``fields``: what is behind the number and tells it
    from what is not its like, the kind first, and the role of each if it has one; ``remark`` is for the reader.
    ``happens``: the call lets it happen, so that what may be seen of the call depends on its kind.  A machine draws
    numbers below ``among``, and takes them modulo the number of what waits."""

    fields: tuple[Role | None, ...]
    remark: Callable[[Message], str]
    happens: bool = True
    among: int = 8

    def at(self, size: str, value: Any, config: Config) -> int:
        pairs = zip(self.fields, value.fields, strict=True)
        found = (role.at(size, each, config) for role, each in pairs if role)
        return next((number for number in found if number >= 0), -1)

    def moved(self, size: str, value: Any, was: int, now: int, config: Config) -> Any:
        pairs = zip(self.fields, value.fields, strict=True)
        return replace(value, fields=tuple(r.moved(size, v, was, now, config) if r else v for r, v in pairs))


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


@dataclass(frozen=True, init=False)
class OneOf(Role):
    """One of these values; a machine draws those more often that stand here more often."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)


@dataclass(frozen=True)
class Between(Role):
    """A number between these two, or a list of which they are the least and the greatest length."""

    least: int
    most: int


@dataclass(frozen=True, init=False)
class Fields(Role):
    """A named tuple, of which some fields have other roles than the tuple's own annotations say."""

    roles: tuple[tuple[str, Role], ...]

    def __init__(self, **roles: Role) -> None:
        object.__setattr__(self, "roles", tuple(roles.items()))


@dataclass(frozen=True)
class FromConfig(Role):
    """What the configuration says: under a key, or by a function of it."""

    says: str | Callable[[Config], Any]

    def value(self, config: Config) -> Any:
        return config[self.says] if isinstance(self.says, str) else self.says(config)


@dataclass(frozen=True)
class Amount:
    """A key of the configuration that is simpler the smaller it is, but not below ``least``, which may be a function of
    it; and not as long as there is anything under the keys ``unless``, which is numbered behind."""

    least: int | Callable[[Config], int] = 1
    unless: tuple[str, ...] = ()

    def of(self, config: Config) -> int:
        """The least value in this configuration."""
        return self.least(config) if callable(self.least) else self.least


@dataclass(frozen=True)
class Simplest:
    """A key of the configuration that is simplest with this value."""

    value: Any


def role_of(annotation: Any) -> Role | None:
    """The role in an annotation, if it has one."""
    found = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((each for each in found if isinstance(each, Role)), None)
