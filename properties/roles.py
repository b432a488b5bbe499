"""A role is what the annotation of a parameter of an interface declares about its values.

    def send(self, slot: Annotated[int, Index("clients")], partition: Annotated[int, Index("partitions")]) -> bool: ...

Calls are named, shortened and drawn by roles (`calls`, `machine`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, get_args, get_origin

from fencepost.properties.driving import Message

Config = Mapping[str, Any]
"""A `Config` is that of a system, as its interface defines it."""


class Role:
    """A `Role` defines what a value is about, and which values are simpler."""

    def at(self, size: str, value: Any, config: Config) -> int:
        """Return the member that the value is about, of those that the configuration counts under ``size``; -1 if it is
        about none."""
        return -1

    def moved(self, size: str, value: Any, was: int, now: int, config: Config) -> Any:
        """Return the value about another member of ``size``, if it is about that one."""
        return value

    def simpler(self, value: Any) -> Iterable[Any]:
        return ()


@dataclass(frozen=True)
class Index(Role):
    """An `Index` is the number, from 0, of one of those that the configuration counts under ``size``, followed by those
    that it counts under the keys ``additional``. A machine draws numbers below ``among``, and takes them modulo that
    count. ``fixed`` means that the member before may be of another sort, on which the call makes no sense, so that it
    is not simpler."""

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
    """A `Count` is a number of members, of which the configuration has at most as many as it gives under ``size``."""

    size: str

    def at(self, size: str, value: Any, config: Config) -> int:
        return value - 1 if size == self.size else -1

    def simpler(self, value: Any) -> Iterable[Any]:
        return range(1, value)


@dataclass(frozen=True, init=False)
class Numbered(Role):
    """A `Numbered` is a word with a number, such as ``client-0``; ``words`` gives for each word what it counts, and
    other words count nothing."""

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
    """An `InFlight` is the number of what waits for the driver to let it happen. ``fields`` are those after the number
    that distinguish it from others, the kind first, with the role of each if it has one; ``remark`` is for the reader.
    ``happens`` means that the call lets it happen, so that the possible events of the call depend on its kind. A
    machine draws numbers below ``among``, and takes them modulo the number of what waits."""

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
    """A `Named` identifies what waits by its fields and its position among its like (oldest first), so that a program
    from which calls were removed still has a meaning, which it would not have with numbers."""

    fields: tuple[Any, ...]
    nth: int = 0

    def find(self, messages: Sequence[Message]) -> Message | None:
        like = [m for m in messages if tuple(m[1 : 1 + len(self.fields)]) == self.fields]
        return like[self.nth] if self.nth < len(like) else None


@dataclass(frozen=True, init=False)
class OneOf(Role):
    """A `OneOf` is one of these values; a machine draws a value more often that is listed more often."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)


@dataclass(frozen=True)
class Between(Role):
    """A `Between` is a number between these two, or a list of which they are the least and the greatest length."""

    least: int
    most: int


@dataclass(frozen=True, init=False)
class Fields(Role):
    """A `Fields` is a named tuple of which some fields have other roles than in the tuple's own annotations."""

    roles: tuple[tuple[str, Role], ...]

    def __init__(self, **roles: Role) -> None:
        object.__setattr__(self, "roles", tuple(roles.items()))


@dataclass(frozen=True)
class FromConfig(Role):
    """A `FromConfig` value is read from the configuration, under a key or by a function of it."""

    says: str | Callable[[Config], Any]

    def value(self, config: Config) -> Any:
        return config[self.says] if isinstance(self.says, str) else self.says(config)


@dataclass(frozen=True)
class Amount:
    """An `Amount` is a key of the configuration that is simpler the smaller it is, but not below ``least``, which may
    be a function of the configuration. It is not made smaller while the configuration has anything under the keys
    ``unless``, which is numbered after it."""

    least: int | Callable[[Config], int] = 1
    unless: tuple[str, ...] = ()

    def of(self, config: Config) -> int:
        return self.least(config) if callable(self.least) else self.least


@dataclass(frozen=True)
class Simplest:
    """A `Simplest` is a key of the configuration that is simplest with this value."""

    value: Any


def role_of(annotation: Any) -> Role | None:
    found = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((each for each in found if isinstance(each, Role)), None)
