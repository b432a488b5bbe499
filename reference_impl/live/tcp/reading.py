"""What to do with an answer that cannot be read: say which, to what, and judge nobody by it.

    with reading(request, answer):
        (found,) = answer.topics[0].partitions      # an answer without topics becomes `Unreadable`

An answer that leaves out what was asked for, or speaks of something else, says nothing about the protocol: neither that
it is kept nor that it is broken. Whether broker or reader is at fault is for those to find out who read the message.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from fencepost.reference_impl.live.tcp.connection import Unreadable, WireError

SHOWN = 600  # characters of an answer in a message: most are shorter


@contextmanager
def reading(request: Any, answer: Any) -> Iterator[None]:
    """Whatever goes wrong while an answer is read is `Unreadable`; a `WireError` is passed on."""
    try:
        yield
    except WireError:
        raise
    except Exception as error:  # whatever a wrong answer does to those who believe it
        raise Unreadable(
            f"an answer that cannot be read ({type(error).__name__}: {error}): {shown(answer)} to {shown(request)}"
        ) from error


def only(found: Any, what: str, is_it: Callable[[Any], bool] = lambda _: True) -> Any:
    """The one element of what must have exactly one, and that the right one. Raises ValueError."""
    elements = tuple(found or ())
    if len(elements) != 1:
        raise ValueError(f"it speaks of {len(elements)} {what}, not of one")
    if not is_it(elements[0]):
        raise ValueError(f"it speaks of another of the {what} than it was asked for")
    return elements[0]


def shown(message: Any) -> str:
    """A request or an answer in one line: its type, its version, and its fields, cut where it is long."""
    version = getattr(type(message), "__version__", None)
    text = f"{type(message).__name__}{'' if version is None else f' version {int(version)}'} {_plain(message)}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _plain(value: Any) -> str:
    if is_dataclass(value):
        return "{" + ", ".join(f"{f.name}: {_plain(getattr(value, f.name))}" for f in fields(value)) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    return str(int(value)) if isinstance(value, int) and not isinstance(value, bool) else repr(value)
