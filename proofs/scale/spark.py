"""This is the only module that uses Spark: it starts a session, and runs units of work and jobs on it.

Functions that run in Spark's workers are in other modules: a module is imported anew in each worker, and one that
starts a session would try to start it there too."""

import contextlib
import os
import re
import shutil
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.cache_folder import NO_CACHE, NOTHING_TAKEN
from fencepost.proofs.scale.task_messages import opened, packed
from fencepost.proofs.scale.units import Outcome, Result, Shipped, SparkSettings, Unit
from fencepost.properties.history import HistoryError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import broadcast, expr

__all__ = ["SparkUnavailable", "Tasks", "broadcast", "collect", "expr", "session", "translated"]
TASKS_PER_CORE = (2, 16)  # the more, the finer the progress and the closer together the cores finish …
UNITS_PER_TASK = 16  # … but starting a task costs about as much as checking a unit
POLL_SECONDS = 0.2
MOST_TASKS = 512
"""Spark is asked for at most this many jobs at a time, each by a thread of this process that waits for it."""
# Given to the virtual machine before it starts: whatever is set on a session comes after a screen of warnings.
QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""


class SparkUnavailable(InputError, RuntimeError):
    """This error means that Spark cannot be started, or failed while running; its message is one line with the
    reason."""


@contextlib.contextmanager
def session(settings: SparkSettings) -> Iterator[SparkSession]:
    """Yield a Spark session for `settings`: the running one if it has the same master, else a new one, stopped at the
    end. Raise `SparkUnavailable` if Java is missing, Spark does not start, or a session on another master is
    running."""
    running = SparkSession.getActiveSession()
    if running is not None:
        if running.sparkContext.master != settings.master:
            raise SparkUnavailable(
                f"a Spark session on {running.sparkContext.master} is running in this process, {settings.master} was "
                "asked for; stop it first, or ask for the same master"
            )
        yield running
        return
    started = _start(settings)
    try:
        yield started
    finally:
        started.stop()


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Convert errors of Spark to `HistoryError` where a worker refuses histories, and otherwise to
    `SparkUnavailable`."""
    try:
        yield
    except (HistoryError, SparkUnavailable):
        raise
    except PySparkException as error:
        cause = _cause(error)
        if cause.startswith(refused := f"{HistoryError.__module__}.{HistoryError.__qualname__}: "):
            raise HistoryError(cause.removeprefix(refused)) from error
        raise SparkUnavailable(f"Spark job failed: {cause}") from error


def collect(
    units: Sequence[Unit],
    shipped: Shipped[Unit, Result],
    settings: SparkSettings,
    advance: Callable[[int], None],
) -> list[Outcome[Result]]:
    """Return the outcomes of all units, in their order."""
    if not units:
        return []
    with session(settings) as spark:
        context = spark.sparkContext
        slices = _tasks(len(units), context.defaultParallelism)
        job = context.parallelize(list(units), slices).map(shipped)
        with _advancing(context, slices, len(units), advance):
            try:
                return list(job.collect())
            except KeyboardInterrupt:
                context.setLogLevel("OFF")  # to stop with tasks under way is a page of errors from each
                raise
            except Exception as error:  # py4j's own error classes are no part of pyspark's interface
                raise SparkUnavailable(f"Spark job failed: {_cause(error)}") from error


class Tasks(Executor):
    """A `Tasks` runs jobs on Spark, each as a task by itself, so that Spark repeats it where a worker dies. Tasks start
    in the order in which they are submitted, ``most`` in total. A result is the job's, or raises its error. Errors:
    `SparkUnavailable` if Spark does not start, or gives a job up."""

    def __init__(self, settings: SparkSettings, most: int) -> None:
        self._open = contextlib.ExitStack()
        with self._open:
            folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="fencepost-")))
            self._context = self._open.enter_context(session(settings)).sparkContext
            if not settings.is_local:
                # Jobs read files next to what they import. A session knows a file by its name, and has the other one.
                archive = packed_distribution(folder).rename(folder / f"{folder.name}.zip")
                self._context.addArchive(f"{archive}#{folder.name}")
            self._work = _work(None if settings.is_local else folder.name)
            self._threads = ThreadPoolExecutor(min(most, MOST_TASKS))
            self._group = f"fencepost-{id(self)}"
            self._handed_in: list[Future[Any]] = []
            self._open = self._open.pop_all()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> "Future[Any]":
        if named:
            raise TypeError("jobs have no arguments by name")
        future = self._threads.submit(self._answer, packed(function, arguments))
        self._handed_in.append(future)
        return future

    def _answer(self, call: bytes) -> Any:
        self._context.setJobGroup(self._group, "jobs", interruptOnCancel=True)
        try:
            [answer] = self._context.parallelize([call], 1).map(self._work).collect()
        except Exception as error:  # py4j's own error classes are no part of pyspark's interface
            raise SparkUnavailable(f"Spark job failed: {_cause(error)}") from error
        return opened(answer)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the session, if it was started for these jobs. Tasks under way are abandoned, unless the caller waits for
        them."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        if not all(future.done() for future in self._handed_in):
            self._context.setLogLevel("OFF")  # to stop with tasks under way is a page of errors from each
            self._context.cancelJobGroup(self._group)
        self._open.close()


def _work(unpacked: str | None) -> Callable[[bytes], bytes]:
    """Return the function that makes a call in a worker. The function first replaces the installed package there by the
    fencepost that is ``unpacked`` among the executor's files. The function is pickled by value, as every nested
    function is, because a module's function would import the module first, from the wrong place."""
    here = tuple(sys.path)
    asked = {name: os.environ.get(name, "") for name in (NO_CACHE, NOTHING_TAKEN)}

    def work(call: bytes) -> bytes:
        if unpacked is not None:
            from pyspark import SparkFiles

            first = os.path.join(SparkFiles.getRootDirectory(), unpacked)
            if first not in sys.path:
                sys.path.insert(0, first)
        sys.path += [entry for entry in here if entry not in sys.path]
        os.environ.update(asked)
        from fencepost.proofs.scale.task_messages import done

        return done(call)

    return work


def _tasks(units: int, cores: int) -> int:
    least, most = TASKS_PER_CORE
    return min(units, cores * max(least, min(most, units // (cores * UNITS_PER_TASK))))


def _start(settings: SparkSettings) -> SparkSession:
    _require_java()
    folder = Path(tempfile.mkdtemp(prefix="fencepost-"))
    (folder / "log4j2.properties").write_text(QUIET)
    builder = SparkSession.builder.master(settings.master).appName("fencepost")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()}",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.python.worker.reuse": "true",
        "spark.executorEnv.PYTHONSAFEPATH": "1",  # or workers first import modules of the working directory
    }
    if settings.is_here:
        # A host name that resolves to another interface, or to none, would cost a warning or the session.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        options |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    for name, value in (options | dict(settings.config)).items():
        builder = builder.config(name, value)
    try:
        started = builder.getOrCreate()
    except Exception as error:  # py4j's own error classes are no part of pyspark's interface
        raise SparkUnavailable(f"Spark does not start on {settings.master}: {_cause(error)}") from error
    if not settings.is_local:
        started.sparkContext.addPyFile(str(packed_distribution(folder)))
    for file in settings.py_files:
        started.sparkContext.addPyFile(file)
    return started


def packed_distribution(folder: Path) -> Path:
    """Write a zip of the running fencepost to `folder`, with the layout of the wheel, from which workers import it."""
    target = folder / "fencepost.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(str(import_module("fencepost").__file__), "fencepost/__init__.py")
        for name in ("model", "properties", "reference_impl", "proofs"):
            root = Path(str(import_module(f"fencepost.{name}").__file__)).parent
            for file in sorted(root.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, f"fencepost/{name}/{file.relative_to(root)}")
    return target


def missing_java() -> str | None:
    """Return why Spark cannot be started on this machine, or None if Java is there."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java"))) if home else shutil.which("java")
    if java is not None:
        return None
    return f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no `java` on the PATH"


def _require_java() -> None:
    if place := missing_java():
        raise SparkUnavailable(f"Spark needs Java 17 or newer: {place}; install it, or leave out --master")


@contextlib.contextmanager
def _advancing(context: Any, tasks: int, units: int, advance: Callable[[int], None]) -> Iterator[None]:
    stop = threading.Event()
    tracker = context.statusTracker()

    def watch() -> None:
        seen = 0
        while not stop.wait(POLL_SECONDS):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            done = sum(stage.numCompletedTasks for stage in stages if stage) * units // tasks
            if done > seen:
                advance(done - seen)
                seen = done

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()


def _cause(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    python = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b.*", line)]
    return (python or lines or [type(error).__name__])[0]
