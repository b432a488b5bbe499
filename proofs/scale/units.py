"""This module runs one function over many small units of work, on this machine's cores or on Spark, with the same
results.

A unit names its work (a file and a row group, a range of seeds). The worker reads or writes the data itself and returns
a small result. Nothing else passes between processes, because that, not the checking, costs time."""

import pickle
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fencepost.proofs.scale.jobs import Jobs
from fencepost.properties.history import HistoryError
from fencepost.properties.history.location import Location

Unit = TypeVar("Unit")
Result = TypeVar("Result")


_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|\[::1\]")


@dataclass(frozen=True)
class SparkSettings:
    """A `SparkSettings` has a master URL, further `spark.*` settings, and further files for the workers' path."""

    master: str = "local[2]"
    config: Mapping[str, str] = field(default_factory=dict)
    py_files: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Return whether the workers are threads and processes of this machine's one Spark."""
        return self.master == "local" or self.master.startswith("local[")

    @property
    def is_here(self) -> bool:
        """Return whether all workers are on this machine, as for a master that listens only on the loopback address."""
        hosts = re.fullmatch(r"spark://([^/]+)", self.master)
        names = [] if hosts is None else [place.rpartition(":")[0] for place in hosts[1].split(",")]
        return self.is_local or (bool(names) and all(_LOOPBACK.fullmatch(name) for name in names))


def run_units(
    units: Sequence[Unit],
    function: Callable[[Unit], Result],
    *,
    spark: SparkSettings | None = None,
    cores: int | None = None,
    label: str = "",
    done: Callable[[Result], object] = lambda _: None,
) -> list[Result]:
    """Return `[function(unit) for unit in units]`, computed on Spark or on `cores` processes (all of them by default).
    `function` must be picklable, that is defined in a module. A `HistoryError` that it raises is raised by this
    function again. `done` is called with each result when it is there; Spark returns all of them at the end."""
    shipped = Shipped(function)
    outcomes: list[Outcome[Result]] = []
    with progress(label, len(units)) as advance:
        if spark is not None:
            from fencepost.proofs.scale.spark import collect

            outcomes += collect(units, shipped, spark, advance)
        else:
            for outcome in _local(units, shipped, cores, advance):
                outcomes.append(outcome)
                if outcome.refused is None:
                    done(outcome.result)
    for outcome in outcomes:
        if outcome.refused is not None:
            raise HistoryError(outcome.refused)
    return [outcome.result for outcome in outcomes]


def require_reachable(place: Location, spark: SparkSettings | None) -> None:
    """Raise `HistoryError` if Spark's workers are on other machines and `place` is only on this one."""
    if spark is not None and not spark.is_here and place.is_local:
        raise HistoryError(
            f"{place}: is on this machine only, and the workers of {spark.master} run on others; "
            "give a URI that all of them reach (hdfs:, s3:, gs:), or use a local master"
        )


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """An `Outcome` is the result of a unit, or why its histories are refused (a refusal is an answer, not to be
    retried)."""

    result: Any = None
    refused: str | None = None


class Shipped(Generic[Unit, Result]):
    """A `Shipped` is a function for a worker, with the import path it needs. Spark's workers do not inherit the
    driver's `sys.path`, so the function stays pickled until that is in place."""

    def __init__(self, function: Callable[[Unit], Result]) -> None:
        self._path = tuple(sys.path)
        self._pickled = pickle.dumps(function)

    def __call__(self, unit: Unit) -> Outcome[Result]:
        sys.path += [entry for entry in self._path if entry not in sys.path]
        function = pickle.loads(self._pickled)
        try:
            return Outcome(function(unit))
        except HistoryError as error:
            return Outcome(refused=str(error))


def _local(
    units: Sequence[Unit], shipped: Shipped[Unit, Result], cores: int | None, advance: Callable[[int], None]
) -> Iterator[Outcome[Result]]:
    with Jobs(len(units), cores) as jobs:
        for outcome in [jobs.hand_in(shipped, unit, name=str(unit)) for unit in units]:
            yield outcome()
            advance(1)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error, unless that is no terminal, or the caller already shows progress there."""
    from rich.console import Console  # workers import this module too, and have no use for rich
    from rich.file_proxy import FileProxy
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    taken = isinstance(sys.stderr, FileProxy)  # rich replaces the stream while it draws
    with Progress(*columns, console=console, transient=True, disable=taken or not console.is_terminal) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)
