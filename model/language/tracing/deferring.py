"""Within `deferred()` a class is traced when its result is first read, not when it is made.

A mistake in a protocol is reported where its class is made, which helps its author. A command that only lists names
imports every protocol, needs no tree, and would spend nearly all its time on tracing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_deferring: list[bool] = []


@contextmanager
def deferred() -> Iterator[None]:
    """Defer the tracing of all classes that are made, and modules that are imported, within this context."""
    _deferring.append(True)
    try:
        yield
    finally:
        _deferring.pop()


def traced(owner: type, name: str, trace: Callable[[], Any]) -> None:
    """Set the attribute ``name`` of a class to what ``trace`` returns, either now or when it is first read."""
    setattr(owner, name, _Later(owner, name, trace) if _deferring else trace())


class _Later:
    """A `_Later` is an attribute that replaces itself by its value when it is read."""

    def __init__(self, owner: type, name: str, trace: Callable[[], Any]) -> None:
        self.owner, self.name, self.trace = owner, name, trace

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        value = self.trace()
        setattr(self.owner, self.name, value)
        return value
