"""This module defines the one error of the recorder: input that cannot be recorded from."""

from __future__ import annotations

from pathlib import Path

from fencepost.model.language.checks.errors import InputError


class RecordingError(InputError, ValueError):
    """The message of this error is one line: what is wrong, where (file, byte position), and what to do about it."""

    def __init__(self, what: str, where: Path, todo: str, position: int | None = None) -> None:
        place = str(where) if position is None else f"{where} byte {position}"
        super().__init__(f"{place}: {what}; {todo}")


def require_no_pipe(file: Path) -> None:
    """Raise `RecordingError` for a pipe or a device among the files of a node, on which a reader would block."""
    if file.exists() and not file.is_file():
        raise RecordingError("is a pipe, a device or a directory, and no file", file, "copy the whole log directory")


def lines_of(file: Path, what: str) -> list[str]:
    """Return the lines of a text file. `what` names the content of the file in the error message."""
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"cannot be read: {error}", file, f"name the file of {what}") from None
