"""This module runs jobs in separate processes, as many at a time as there are cores, or on the workers of Spark.

Jobs start in the order in which they are submitted, not in that in which results are asked for. So no core waits for
another protocol's last variant, and a process imports and traces everything only once."""

import functools
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from fencepost.proofs.processors import collect_seldom
from fencepost.proofs.scale.task_messages import done, opened, packed

if TYPE_CHECKING:  # which imports this module
    from fencepost.proofs.scale.units import SparkSettings

T = TypeVar("T")
ENDING = 0.3
"""A process that was instructed to end has ended within this many seconds."""


def cores_here() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Jobs(AbstractContextManager["Jobs"]):
    """A `Jobs` runs ``number`` jobs in at most ``cores`` processes (all cores by default). With fewer than two jobs or
    cores, no process is started, and a job runs in this process when its result is asked for. ``done`` is called after
    each job, in a thread of this process. With ``spark``, jobs are its tasks instead; then SparkUnavailable is raised
    if Spark does not start, and from a result if it gives the job up."""

    def __init__(
        self, number: int, cores: int | None = None, done: Callable[[], object] = lambda: None,
        spark: "SparkSettings | None" = None,
    ) -> None:  # fmt: skip
        self._done = done
        self.elsewhere = spark is not None
        """This is true if jobs may run as another user, who has other files."""
        workers = min(cores or cores_here(), number)
        self._pool: Executor | None = None
        self._alone = _Alone()
        self._seen = 0
        self._others = set(multiprocessing.active_children())
        if spark is not None and number:
            from fencepost.proofs.scale.spark import Tasks

            self._pool = Tasks(spark, number)
        elif spark is None and workers > 1:
            # Forking a process whose Arrow or NumPy threads hold locks can hang the child; spawned ones start clean.
            self._pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin)

    def __exit__(self, *_: object) -> None:
        """End the processes and abandon the jobs that are under way."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            begun = set(multiprocessing.active_children()) - self._others
            for process in begun:
                process.terminate()
            for process in begun:  # they must end before their files are deleted
                process.join(ENDING)

    def hand_in(
        self, function: Callable[..., T], *arguments: Any, travels: bool = True, name: str = ""
    ) -> Callable[[], T]:
        """Submit a job and return a function that waits for its result. ``travels`` means that another process can
        import what the arguments name; ``name`` is used in the error if the job is killed. When a process of the pool
        is killed, the pool ends the others without naming the job, so each job without a result runs once more, by
        itself. Errors: ChildProcessError if the process of that second run is killed too."""
        call = _packed(function, arguments) if travels and self._pool is not None else None
        if self._pool is None or call is None:
            return functools.cache(functools.partial(self._here, function, *arguments))
        future: Future[Any]
        with interrupts_held():
            if isinstance(self._pool, ProcessPoolExecutor):
                future = self._submitted(self._pool, done, call)
                self._have_it_look(self._pool)
            else:
                future = self._pool.submit(function, *arguments)
        future.add_done_callback(lambda _: self._done())
        if not isinstance(self._pool, ProcessPoolExecutor):
            return future.result
        name = name or getattr(function, "__name__", type(function).__name__)
        return functools.cache(functools.partial(self._result, future, call, name))

    @staticmethod
    def _submitted(pool: Executor, function: Callable[..., T], *arguments: Any) -> "Future[T]":
        """Submit a job to a pool. If a killed process has broken the pool already, the future raises that error."""
        try:
            return pool.submit(function, *arguments)
        except BrokenProcessPool as error:
            lost: Future[T] = Future()
            lost.set_exception(error)
            return lost

    def _have_it_look(self, pool: ProcessPoolExecutor) -> None:
        """Make the pool watch every process that it has started. The pool looks for new processes when it is woken, but
        it is woken before it starts one (CPython 3.11, ``ProcessPoolExecutor.submit``). So the latest process would not
        be watched, and its death would not be noticed before the next result."""
        while (begun := len(multiprocessing.active_children())) != self._seen:
            self._seen = begun
            self._submitted(pool, _nothing)

    def _result(self, future: "Future[bytes]", call: bytes, name: str) -> Any:
        try:
            return opened(future.result())
        except BrokenProcessPool:
            return self._alone.result(call, name)

    def _here(self, function: Callable[..., T], *arguments: Any) -> T:
        result = function(*arguments)
        self._done()
        return result


def _nothing() -> None:
    """Do nothing: the only purpose of this job is to wake the process pool."""


def _packed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes | None:
    try:
        return packed(function, arguments)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


class _Alone:
    """An `_Alone` is one process that runs one job at a time, so that a failure can be attributed to a job."""

    def __init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None

    def result(self, call: bytes, name: str) -> Any:
        """Return the result of a call. Raise ChildProcessError if the process ends; the next job gets another
        process."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._here, there = context.Pipe()
            self._process = context.Process(target=_serve, args=(there,))
            with interrupts_held():
                self._process.start()
            there.close()  # or its end would not be noticed
        process = self._process
        try:
            self._here.send_bytes(call)
            answer = self._here.recv_bytes()
        except (EOFError, OSError):
            process.join()
            self._process = None
            assert process.exitcode is not None
            raise ChildProcessError(_text(name, process.exitcode)) from None
        return opened(answer)


def _serve(asked: multiprocessing.connection.Connection) -> None:
    _begin()
    while True:
        asked.send_bytes(done(asked.recv_bytes()))


def _text(name: str, code: int) -> str:
    job = f"a process that did a part of the work, {name}, was"
    again = "first with others, then by itself"
    if code >= 0:
        return (
            f"{job} ended with exit code {code}, {again}; look for os._exit in what was driven, simulated or imported"
        )
    by = signal.Signals(-code).name
    if by == "SIGKILL":
        return f"{job} killed by {by}, {again}, most often because memory ran out; use smaller bounds"
    return f"{job} ended by {by}, {again}, most often in a library that is not Python"


def _begin() -> None:
    """Prepare a process that does one job after another."""
    collect_seldom()
    end_with_parent()


def end_with_parent() -> None:
    """End this process when its parent ends, even if the parent is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Start processes within this context so that they never see Ctrl-C, which a terminal sends to all of them. The
    starter of these processes ends them instead."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
