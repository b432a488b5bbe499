"""This module holds a command's output back where ``--quiet`` asks for it. Of a command that ends with exit code 1, it
prints the cases that failed, or the whole output of a command without cases. The error stream is not held back."""

import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:  # which imports the models
    from fencepost.proofs.cases import Case


@dataclass
class _Held:
    stream: TextIO | None = None
    output: io.StringIO = field(default_factory=io.StringIO)
    failed: list["Case"] = field(default_factory=list)


_held = _Held()


def is_quiet() -> bool:
    return _held.stream is not None


def begin(_: click.Context, __: click.Parameter, quiet: bool) -> None:
    """Hold the output back from here on, if the option is given, before or after the name of the command."""
    if quiet and not is_quiet():
        _held.stream, _held.output, _held.failed = sys.stdout, io.StringIO(), []
        sys.stdout = _held.output


def failed(cases: Iterable["Case"]) -> None:
    """Take the failed cases of the command, which are printed at its end."""
    _held.failed += cases


def always(line: str) -> None:
    """Print a line that ``--quiet`` does not hold back."""
    print(line, file=_held.stream)  # None is the standard output


def end(code: int) -> None:
    """Print what the command's exit code calls for, and hold nothing back any more."""
    if _held.stream is None:
        _held.failed = []
        return
    sys.stdout, _held.stream = _held.stream, None
    if code == 1 and _held.failed:
        print("\n".join(f"{case.says}\n{case.details}".rstrip() for case in _held.failed))
    elif code == 1:
        print(_held.output.getvalue(), end="")


def option() -> click.Option:
    return click.Option(
        ["--quiet"], is_flag=True, expose_value=False, callback=begin, help="Print only what is not as expected."
    )
