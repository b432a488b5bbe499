"""Driving an implementation: calls as data that can be shortened and as Python that can be pasted, on one system under
way, which a watcher sees.

Of no protocol in particular.  A protocol's own ``Call`` says how it is spelled; a message is named by what it is and
its position among its like, not by its number, so that a program from which calls were taken out still means something.
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

Message = tuple[Any, ...]
"""(number, kind, …), as a protocol's plug says: of what waits for the driver to let it happen."""

Event = Any
"""A mapping, or an object with attributes: ``kind`` by name, and the columns that apply to it; -1 is "does not
apply"."""

Factory = Callable[[Mapping[str, Any]], Any]
"""Makes a system from a configuration; both are as a protocol's plug says."""


@dataclass(frozen=True)
class Spelled:
    """A call in full.  ``helper``: the ``module:function`` that is called with the system first, where the plug itself
    has no such method; ``remark`` is for the reader."""

    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    message: Message | None = None
    remark: str = ""
    helper: str = ""


class Call(Protocol):
    """One call as data: hashable, and compared by value.  ``columns``: of the events of its protocol;
    ``always_compared``: those by which a program distinguishes two events even where they do not apply; ``filled``: by
    kind, those that its events may fill."""

    columns: ClassVar[tuple[str, ...]]
    always_compared: ClassVar[tuple[str, ...]]
    filled: ClassVar[Mapping[str, tuple[str, ...]]]

    @property
    def name(self) -> str:
        """Of the method, or of what a helper does."""

    @property
    def table_name(self) -> str:
        """Under which the protocol's table of calls has it."""

    def spelled(self, system: Any) -> Spelled | None:
        """Return what is called; None if it speaks of a message that is not in flight."""


@dataclass(frozen=True)
class Program:
    """A system's configuration and the calls made on it."""

    config: Mapping[str, Any]
    calls: tuple[Any, ...]

    def without(self, start: int, stop: int) -> "Program":
        """The same with some calls taken out."""
        return replace(self, calls=self.calls[:start] + self.calls[stop:])


@dataclass(frozen=True)
class Made:
    """A call as it was made: as text, with the result and the events that came of it, or the error that it raised.

    ``needs``: what the text has to import, as ``module:function``; empty for a method of the plug."""

    call: Any
    text: str
    result: Any
    events: tuple[Any, ...]
    message: Message | None
    error: BaseException | None = None
    needs: str = ""


@dataclass
class UnderWay:
    """The call that an implementation was given and has not returned from, as text, with the time at which it began;
    None where it has returned."""

    text: str = ""
    since: float | None = None

    @staticmethod
    def elapsed(since: float) -> float:
        return monotonic() - since

    def during(self, text: str) -> Self:
        """Within, the call is under way."""
        self.text = text
        return self

    def __enter__(self) -> None:
        self.since = monotonic()

    def __exit__(self, *_: object) -> None:
        self.since = None


UNDER_WAY = UnderWay()
"""Of this process, which drives one implementation at a time; what limits the time of a call looks here."""


class Unreadable(InputError):
    """An implementation has returned something of a type with which nothing can be judged; the call is named."""


def make(system: Any, call: Call) -> Made | None:
    """Make one call; None if it speaks of a message that is not in flight."""
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
        return Made(call, text, result, _drained(system, text), spelled.message, None, spelled.helper)


def _drained(system: Any, text: str) -> tuple[Any, ...]:
    """The events that came of a call.  Raises `Unreadable` for what is none."""
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
    return events


def _brief(value: Any) -> str:
    text = repr(value)
    return f"{text[:60]}… ({type(value).__name__})" if len(text) > 60 else f"{text} ({type(value).__name__})"


def waiting(system: Any) -> Sequence[Message]:
    """Return what waits for the driver: messages in flight, or threads that are about to do something; nothing in a
    system that has neither."""
    method = "messages" if hasattr(system, "messages") else "threads" if hasattr(system, "threads") else ""
    found: Sequence[Message] = getattr(system, method)() if method else ()
    if not isinstance(found, list | Sequence) or (found and not isinstance(found[0], tuple)):
        raise Unreadable(f"{method}() returned {_brief(found)}; it returns a list of tuples")
    return found


class Watcher(Protocol):
    """Who holds what happens against something."""

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        """One call was made; ``messages`` are in flight after it.  Raises to end the run."""


class Run:
    """A system under way, with the calls made on it so far."""

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
        """Make a call and have it watched; None if its message is not in flight."""
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
    """One search: it makes a run for every example.  ``lacks``: what its implementation lacks of what it need not have
    (see `agreement.Agreeing`)."""

    config: Mapping[str, Any]
    lacks: frozenset[str]

    def start(self, config: Mapping[str, Any]) -> Run:
        """A new system, watched, brought to where this search starts from."""

    def call(self, run: Run, call: Call) -> Made | None:
        """Make one call of a run."""


def read(event: Event, column: str, absent: Any = None) -> Any:
    """One column of an event, whichever way the implementation emits it."""
    kind: Any = type(event)
    return event.get(column, absent) if _is_mapping(kind) else getattr(event, column, absent)


@cache
def _is_mapping(kind: Any) -> bool:
    """The answer is needed for every event, and slow to compute."""
    return issubclass(kind, Mapping)


def reader_of(columns: Mapping[str, int]) -> Callable[[Event], tuple[Any, ...]]:
    """Return what reads the kind of an event and then these columns of it, each with its value where it does not
    apply."""
    at_once = attrgetter("kind", *columns)

    def row(event: Event) -> tuple[Any, ...]:
        try:
            found: tuple[Any, ...] = at_once(event)
        except AttributeError:  # a mapping, or it has only those that apply to it
            return read(event, "kind"), *(read(event, name, absent) for name, absent in columns.items())
        return found

    return row


def columns_of(event: Event, columns: Sequence[str]) -> dict[str, int]:
    """Those of the columns that apply to an event."""
    none = {"error": 0}
    found = {name: read(event, name, none.get(name, ABSENT)) for name in columns}
    return {name: value for name, value in found.items() if value != none.get(name, ABSENT)}


def event_text(event: Event, columns: Sequence[str]) -> str:
    """An event in one line."""
    return f"{read(event, 'kind')}({', '.join(f'{k}={v}' for k, v in columns_of(event, columns).items())})"
