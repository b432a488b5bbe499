"""The base of all errors of input, and mistakes in a protocol, found while its class is made: where, what, and what to
write instead."""

import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""The folder of the language, in which no protocol is written."""


class InputError(Exception):
    """Input of a command that cannot be used; the message is one line: what, where, why, and what to do.

    The base of all such errors of models, properties and proofs: the command line turns each into exit code 2.  It
    comes out of another process as it was, whatever the arguments are from which a derived one makes its message.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _as_it_was, (type(self), self.args, self.__dict__)


def _as_it_was(kind: type[InputError], args: tuple[Any, ...], attributes: dict[str, Any]) -> InputError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


class ModelError(InputError):
    """A protocol or property that cannot mean what it says.  The message starts with ``file:line:``."""


def of_language(file: str) -> bool:
    """Whether a source file belongs to the language itself."""
    return os.path.abspath(file).startswith(HERE)


def caller(also: str = "") -> tuple[str, int]:
    """File and line of the innermost frame outside the language: the line of the protocol that is being traced.
    ``also``: a file that is not meant either, nor is code without a file."""
    frame = sys._getframe(1)
    skipped = (also, "<string>")
    while frame.f_back is not None and (of_language(file := frame.f_code.co_filename) or file in skipped):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def mistake(what: str, instead: str, where: tuple[str, int] | None = None) -> ModelError:
    """The error to raise: ``file:line: what; instead``."""
    file, line = where or caller()
    return ModelError(f"{file}:{line}: {what}; {instead}")


def moved(error: ModelError, where: tuple[str, int]) -> ModelError:
    """This mistake at another place: the one where its author wrote it, if that ran before it was noticed."""
    return ModelError(f"{where[0]}:{where[1]}: {str(error).split(': ', maxsplit=1)[1]}")
