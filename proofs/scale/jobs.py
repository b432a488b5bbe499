"""Jobs: work that processes of their own do meanwhile, as many at a time as there are cores.

They are begun in the order in which they are handed in, whoever asks for the results, so that no core waits for
another protocol's last variant, and a process imports and traces everything once only.
"""

import functools
import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from multiprocessing.pool import Pool
from typing import Any, TypeVar

T = TypeVar("T")


class Jobs(AbstractContextManager["Jobs"]):
    """``number``: how many there will be; for fewer than two, or on one core, no process is begun, and a job is done
    here when its result is asked for."""

    def __init__(self, number: int) -> None:
        workers = min(len(os.sched_getaffinity(0)), number)
        self._pool: Pool | None = None
        if workers > 1:
            context = multiprocessing.get_context("spawn")
            self._pool = context.Pool(workers, signal.signal, (signal.SIGINT, signal.SIG_IGN))

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.terminate()

    def hand_in(self, function: Callable[..., T], *arguments: Any, travels: bool = True) -> Callable[[], T]:
        """The result, when called.  ``travels``: could another process import what the arguments name?"""
        if self._pool is not None and travels and _is_picklable(arguments):
            return self._pool.apply_async(function, arguments).get
        return functools.cache(functools.partial(function, *arguments))


def _is_picklable(arguments: Any) -> bool:
    try:
        pickle.dumps(arguments)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True
