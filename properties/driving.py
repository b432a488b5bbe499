"""This module drives an implementation: calls are data that can be shortened and written as Python, they are made on
one running system, and a watcher judges what they cause.

Nothing here depends on a protocol. A protocol's own ``Call`` determines how it is spelled. A message is named by what
it is and by its position among its like, not by its number, so that a program from which calls were removed still has a
meaning.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from operator import attrgetter
from time import monotonic
from typing import Any, ClassVar, Protocol, Self

from fencepost.model.language.checks.errors import InputError
from fencepost.properties.history.vocabulary import ABSENT
from fencepost.properties.nearest import error_name

Message = tuple[Any, ...]
"""A `Message` is (number, kind, …), as a protocol's plug defines it, and waits for the driver to let it happen."""

Event = Any
"""An `Event` is a mapping, or an object with attributes: ``kind`` by name, and the columns that apply to it. The value
-1 means that a column does not apply."""

Factory = Callable[[Mapping[str, Any]], Any]
"""A `Factory` makes a system from a configuration; a protocol's plug defines both."""


@dataclass(frozen=True)
class Spelled:
    """A `Spelled` is a call in full. ``helper`` is the ``module:function`` that is called with the system first, where
    the plug itself has no such method; ``remark`` is for the reader."""

    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    message: Message | None = None
    remark: str = ""
    helper: str = ""


class Call(Protocol):
    """A `Call` is one call as data, hashable and compared by value. ``columns`` are those of the events of its
    protocol, of which ``errors`` have error codes of Kafka. ``always_compared`` are those by which a program
    distinguishes two events even where they do not apply. ``filled`` gives by kind the columns that its events may
    fill."""

    columns: ClassVar[tuple[str, ...]]
    errors: ClassVar[frozenset[str]]
    always_compared: ClassVar[tuple[str, ...]]
    filled: ClassVar[Mapping[str, tuple[str, ...]]]

    @property
    def name(self) -> str:
        """This is the name of the method or helper that is called."""

    @property
    def table_name(self) -> str:
        """A protocol's table of calls has the call under this name."""

    def spelled(self, system: Any) -> Spelled | None:
        """Return the call in full, or None if it names a message that is not in flight."""


@dataclass(frozen=True)
class Program:
    """A `Program` is a system's configuration and the calls made on it."""

    config: Mapping[str, Any]
    calls: tuple[Any, ...]

    def without(self, start: int, stop: int) -> "Program":
        return replace(self, calls=self.calls[:start] + self.calls[stop:])


@dataclass(frozen=True)
class Made:
    """A `Made` is a call as it was made: as text, with the result and the events that it caused, or the error that it
    raised.

    ``needs`` is what the text has to import, as ``module:function``; it is empty for a method of the plug.
    """

    call: Any
    text: str
    result: Any
    events: tuple[Any, ...]
    message: Message | None
    error: BaseException | None = None
    needs: str = ""


@dataclass
class UnderWay:
    """An `UnderWay` is the call that an implementation has not returned from, as text, with the time at which it began;
    None where it has returned."""

    text: str = ""
    since: float | None = None

    @staticmethod
    def elapsed(since: float) -> float:
        return monotonic() - since

    def during(self, text: str) -> Self:
        """Return the context within which the call of this text is under way."""
        self.text = text
        return self

    def __enter__(self) -> None:
        self.since = monotonic()

    def __exit__(self, *_: object) -> None:
        self.since = None


UNDER_WAY = UnderWay()
"""This is the call under way of this process, which drives one implementation at a time; the watchdog that limits the
time of a call reads it."""


class Unreadable(InputError):
    """An implementation has returned a value of a type that cannot be judged; the text names the call."""


def make(system: Any, call: Call) -> Made | None:
    """Make one call and return its record, or None if it names a message that is not in flight."""
    spelled = call.spelled(system)
    if spelled is None:
        return None
    module, _, helper = spelled.helper.partition(":")
    arguments = [*map(repr, spelled.arguments), *(f"{k}={v!r}" for k, v in spelled.keywords.items())]
    text = f"{helper}({', '.join(['system', *arguments])})" if helper else f"system.{call.name}({', '.join(arguments)})"
    text += f"  # {spelled.remark}" if spelled.remark else ""
    with UNDER_WAY.during(text):
        try:
            if helper:
                result = getattr(import_module(module), helper)(system, *spelled.arguments, **spelled.keywords)
            else:
                result = getattr(system, call.name)(*spelled.arguments, **spelled.keywords)
        except (Exception, SystemExit) as error:  # whatever an implementation raises is its answer to this program
            return Made(call, text, None, (), spelled.message, error, spelled.helper)
        return Made(call, text, result, _drained(system, text, call), spelled.message, None, spelled.helper)


def _drained(system: Any, text: str, call: Call) -> tuple[Any, ...]:
    observed = system.drain_events()
    if not isinstance(observed, list) and (
        not isinstance(observed, Iterable) or isinstance(observed, str | bytes | Mapping)
    ):
        raise Unreadable(f"after {text} drain_events() returned {_brief(observed)}; it returns a list of events")
    events = tuple(observed)
    for event in events:
        if not isinstance(read(event, "kind"), str):
            raise Unreadable(
                f"after {text} drain_events() returned {_brief(event)} among the events; an event has a kind, by name"
            )
        _, *row = _numbers_of(call.columns)(event)
        if not NUMBERS.issuperset(map(type, row)):
            _require_numbers(event, text, call.columns)
    return events


NUMBERS = frozenset({int, bool})
"""Nearly all values of events are of these types; others that can be an index of a list are numbers as well."""


@cache
def _numbers_of(columns: tuple[str, ...]) -> Callable[[Event], tuple[Any, ...]]:
    return reader_of(dict.fromkeys(columns, ABSENT))


def _require_numbers(event: Event, text: str, columns: Sequence[str]) -> None:
    for name in columns:
        value = read(event, name, ABSENT)
        if not hasattr(value, "__index__"):
            raise Unreadable(
                f"after {text} the event {read(event, 'kind')} has {name}={_brief(value)}; a column of an event is an "
                "integer, and words have a number each"
            )


def _brief(value: Any) -> str:
    text = repr(value)
    return f"{text[:60]}… ({type(value).__name__})" if len(text) > 60 else f"{text} ({type(value).__name__})"


def waiting(system: Any) -> Sequence[Message]:
    """Return what waits for the driver: messages in flight, or threads that are about to do something. Return nothing
    for a system that has neither."""
    method = "messages" if hasattr(system, "messages") else "threads" if hasattr(system, "threads") else ""
    found: Sequence[Message] = getattr(system, method)() if method else ()
    if not isinstance(found, list | Sequence) or (found and not isinstance(found[0], tuple)):
        raise Unreadable(f"{method}() returned {_brief(found)}; it returns a list of tuples")
    return found


class Watcher(Protocol):
    """A `Watcher` judges the calls of a run and what they cause."""

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        """Judge one call that was made; ``messages`` are in flight after it. Raise an exception to end the run."""


class Run:
    """A `Run` is a running system, with the calls made on it so far."""

    def __init__(self, factory: Factory, config: Mapping[str, Any], watcher: Watcher) -> None:
        self.config = dict(config)
        with UNDER_WAY.during("the factory"):
            self.system = factory(self.config)
            self.system.drain_events()
        self.watcher = watcher
        self.made: list[Made] = []
        self.tried: list[Call] = []
        self.over = False

    def call(self, call: Call) -> Made | None:
        """Make a call and have it watched; return None if its message is not in flight."""
        self.tried.append(call)
        made = make(self.system, call)
        if made is None:
            self.tried.pop()
            return None
        self.made.append(made)
        try:
            self.watcher.watch(made, waiting(self.system))
        except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError) as error:
            if isinstance(error, InputError):
                raise
            text = f"returned {_brief(made.result)}, and showed {len(made.events)} events"
            why = f"{type(error).__name__}: {error}"
            raise Unreadable(f"{made.text} {text}: this is not of the type that was expected ({why})") from error
        return made


class Session(Protocol):
    """A `Session` is one search, which makes a run for every example. ``lacks`` has the optional abilities that its
    implementation lacks (see `agreement.Agreeing`)."""

    config: Mapping[str, Any]
    lacks: frozenset[str]

    def start(self, config: Mapping[str, Any]) -> Run:
        """Return the run of a new, watched system in the state where this search starts."""

    def call(self, run: Run, call: Call) -> Made | None:
        """Make one call of a run."""


def read(event: Event, column: str, absent: Any = None) -> Any:
    """Return one column of an event, whichever way the implementation emits it."""
    kind: Any = type(event)
    return event.get(column, absent) if _is_mapping(kind) else getattr(event, column, absent)


@cache
def _is_mapping(kind: Any) -> bool:
    return issubclass(kind, Mapping)


def reader_of(columns: Mapping[str, int]) -> Callable[[Event], tuple[Any, ...]]:
    """Return a function that reads the kind of an event and then these columns of it, each with its value where it does
    not apply."""
    at_once = attrgetter("kind", *columns)

    def row(event: Event) -> tuple[Any, ...]:
        try:
            found: tuple[Any, ...] = at_once(event)
        except AttributeError:  # the event is a mapping, or has only the columns that apply to it
            return read(event, "kind"), *(read(event, name, absent) for name, absent in columns.items())
        return found

    return row


def columns_of(event: Event, columns: Sequence[str]) -> dict[str, int]:
    """Return those of the columns that apply to an event."""
    none = {"error": 0}
    found = {name: read(event, name, none.get(name, ABSENT)) for name in columns}
    return {name: value for name, value in found.items() if value != none.get(name, ABSENT)}


def event_text(event: Event, call: Call | type[Call]) -> str:
    """Return an event as text, with the columns that the calls of its protocol know, and the names of errors."""
    columns = columns_of(event, call.columns)
    words = (f"{k}={error_name(v) if k in call.errors else v}" for k, v in columns.items())
    return f"{read(event, 'kind')}({', '.join(words)})"
