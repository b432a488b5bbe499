"""This module defines the exit codes in one table, and the one-line message of a command that cannot go on."""

import codecs
import os
import sys
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

import click

CODES = {
    0: "everything that was asked was judged, and is as expected, predicted violations included",
    1: "something is not as expected, or what was required was not decided",
    2: "bad input or environment, reported in one line, or nothing at all could be judged",
    130: "interrupted, by Ctrl-C or SIGTERM; what was found so far is in the reports",
}
"""This table has the meaning of each exit code, and appears in the help of each command and in README. An inconclusive
part is reported with the verdict, and does not change exit code 0."""
HOLDS, NOT_SO, REFUSED, INTERRUPTED = CODES
TRACEBACK = "FENCEPOST_TRACEBACK"
"""This environment variable asks for the whole traceback of an error."""
NOTHING_JUDGED = "nothing could be judged, which is no success"
IN_THE_CODE = "this is a mistake in the code there, and no verdict"
HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def code_of(verdicts: Iterable[str], wrong: int) -> int:
    """Return the exit code of these verdicts, ``wrong`` of which are not as expected. If all are unknown or not proved,
    report that nothing was judged."""
    if all(verdict in ("unknown", "not proved") for verdict in verdicts):
        say(NOTHING_JUDGED)
        return REFUSED
    return NOT_SO if wrong else HOLDS


def table(title: str, rows: Mapping[Any, str]) -> str:
    """Return a table as the help of a command prints it."""
    from textwrap import wrap

    width = max(len(str(name)) for name in rows) + 2
    lines = []
    for name, says in rows.items():
        first, *rest = wrap(says, 76 - width)
        lines += [f"  {name:<{width}}{first}", *(" " * (width + 2) + line for line in rest)]
    return "\n".join(["\b", f"{title}:", *lines])


def in_ascii(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(LIKE.get(sign, "?") for sign in missing), error.end


LIKE = {"…": "...", "–": "-", "—": "-", "→": "->", "×": "x", "µ": "u", "“": '"', "”": '"', "’": "'", "²": "^2"}


def make_printable() -> None:
    """Let both streams print every text, even where the terminal supports only ASCII."""
    codecs.register_error("fencepost.in_ascii", in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and "utf" not in (stream.encoding or "").lower():
            stream.reconfigure(errors="fencepost.in_ascii")


def say(why: str, command: str = "fencepost") -> None:
    """Print one line on the error stream."""
    try:
        click.echo(f"{command}: {' '.join(why.split())}", err=True)
    except OSError:  # the error stream is full or closed, so only the exit code remains
        return


def ended_by(error: BaseException) -> int:
    """Report in one line what ended a command, and return its exit code."""
    if os.environ.get(TRACEBACK) and not isinstance(error, click.ClickException | KeyboardInterrupt):
        traceback.print_exception(error)
    if isinstance(error, click.Abort) and isinstance(error.__cause__, EOFError):  # an Abort may be an end of input
        error = error.__cause__
    if isinstance(error, click.Abort | KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    elif isinstance(error, click.ClickException):
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "fencepost"
        say(f"{error.format_message().rstrip('.')}; see {command} --help", command)
    elif isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        _leave_streams()  # the reader has closed the pipe, and needs no message
    else:
        say(in_one_line(error))
    return REFUSED


def _leave_streams() -> None:
    """Discard pending output, since the interpreter would try to write it again at its end, and complain."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # a test's stream is not a file
        return


def in_one_line(error: BaseException) -> str:
    """Return what an error says, with the file and line where one is known."""
    if isinstance(error, MemoryError) or "out of memory" in str(error)[:200]:
        return f"memory ended{_while(error)}; use smaller bounds, fewer histories or fewer cores"
    if isinstance(error, RecursionError):
        return f"something is nested too deeply to be read{_while(error)}"
    if isinstance(error, SystemExit):
        return f"{_place(error)} called sys.exit({error.code!r}) before there was a verdict; take the call out"
    if isinstance(error, SyntaxError):
        return f"{_text_of(error.filename)}:{error.lineno}: {type(error).__name__}: {error.msg}"
    if isinstance(error, _input_errors()):
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            return f"{error.filename}: {error.strerror}"
        return str(error) or type(error).__name__
    what = f"{_place(error)}: {type(error).__name__}: {error}"
    return f"{what}; {IN_THE_CODE}, {TRACEBACK}=1 shows how it came to it"


def _input_errors() -> tuple[type[BaseException], ...]:
    try:
        from fencepost.model.language.checks.errors import InputError
        from fencepost.proofs.connection_errors import wire_errors
    except Exception:  # an edit of the language may break its import
        return (OSError,)
    return (OSError, InputError, *wire_errors())


def _frames(error: BaseException) -> list[tuple[str, int | None]]:
    walked = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return [(file, line) for file, line in walked if not file.startswith("<")]


def _place(error: BaseException) -> str:
    """Return the file and line where the error was raised, or the line that called the library that raised it."""
    frames = _frames(error)
    libraries = (os.path.dirname(os.__file__), "site-packages", "dist-packages")
    ours = [(file, line) for file, line in frames if not any(folder in file for folder in libraries)]
    for file, line in (ours or frames)[-1:]:
        return f"{_text_of(file)}:{line}"
    return "the command"


def _while(error: BaseException) -> str:
    place = _place(error)
    return f" at {place}" if place != "the command" else ""


def _text_of(file: Any) -> str:
    text = os.path.realpath(str(file))
    return os.path.relpath(text, HERE) if text.startswith(HERE + os.sep) else str(file)
