"""This module has the base of all input errors, and the error for a mistake in a protocol that is found while its class
is made. The message of the latter names the place, the mistake and what to write instead."""

import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""``HERE`` is the folder of the language itself, in which no protocol is written."""


class InputError(Exception):
    """An `InputError` reports input of a command that cannot be used. Its message is one line: what, where, why, and
    what to do. It is the base of all such errors of models, properties and proofs, and the command line turns each of
    them into exit code 2. Pickling preserves it, even if a derived class makes its message from other arguments."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _as_it_was, (type(self), self.args, self.__dict__)


def _as_it_was(kind: type[InputError], args: tuple[Any, ...], attributes: dict[str, Any]) -> InputError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


class ModelError(InputError):
    """A `ModelError` reports a protocol or property without a meaning. Its message starts with ``file:line:``."""


def of_language(file: str) -> bool:
    return os.path.abspath(file).startswith(HERE)


def caller(*also: str) -> tuple[str, int]:
    """Return the file and line of the innermost frame outside the language, which is the line of the protocol that is
    being traced. The files ``also`` are skipped too, and so is code without a file."""
    frame = sys._getframe(1)
    skipped = (*also, "<string>")
    while frame.f_back is not None and (of_language(file := frame.f_code.co_filename) or file in skipped):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def mistake(what: str, instead: str, where: tuple[str, int] | None = None) -> ModelError:
    """Return the error to raise, with the message ``file:line: what; instead``."""
    file, line = where or caller()
    return ModelError(f"{file}:{line}: {what}; {instead}")


def moved(error: ModelError, where: tuple[str, int]) -> ModelError:
    """Return the same mistake at the place where its author wrote it, if that line ran before it was noticed."""
    return ModelError(f"{where[0]}:{where[1]}: {str(error).split(': ', maxsplit=1)[1]}")
