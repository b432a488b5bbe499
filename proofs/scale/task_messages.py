"""This module packs jobs for another process, and the answers: a result or an error."""

import pickle
import traceback
from collections.abc import Callable
from typing import Any

from fencepost.model.language.checks.errors import InputError


def packed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """Pack a call for `done`. Errors: those of `pickle` where a part exists only in a running program."""
    return pickle.dumps((function, arguments))


def done(call: bytes) -> bytes:
    """Make a packed call in any process, and pack its result for `opened`. An error is packed too, because the same
    call would fail again elsewhere."""
    try:
        try:
            function, arguments = pickle.loads(call)
        except ImportError as error:
            raise InputError(f"a worker cannot import {error.name}: {error}; put it on the workers' path") from None
        return pickle.dumps((function(*arguments), None))
    except Exception as error:
        sent = _that_travels(error)
        sent.add_note("".join(traceback.format_exception(error)))
        return pickle.dumps((None, sent))


def opened(answer: bytes) -> Any:
    """Return the result in an answer, or raise the error in it."""
    made, error = pickle.loads(answer)
    if error is not None:
        raise error
    return made


def _that_travels(error: Exception) -> Exception:
    """Return the error, or a RuntimeError with the same text if it cannot be pickled and unpickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
