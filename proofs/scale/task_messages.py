"""Jobs on their way to another process, and what comes back: a result, or the error instead."""

import pickle
import traceback
from collections.abc import Callable
from typing import Any

from fencepost.model.language.checks.errors import InputError


def packed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """A call that `done` makes.  The errors of `pickle` where a part is of a running program alone."""
    return pickle.dumps((function, arguments))


def done(call: bytes) -> bytes:
    """Makes the call, in whichever process this is, and packs what came of it for `opened`.  An error is an answer too:
    the same call would end in it again, elsewhere."""
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
    """The result; raises the error instead, if that is the answer."""
    made, error = pickle.loads(answer)
    if error is not None:
        raise error
    return made


def _that_travels(error: Exception) -> Exception:
    """The error, or one of a plain kind in the same words, where it cannot be made again from what it is pickled as."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
