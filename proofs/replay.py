"""Holds histories against the history properties of their protocol: millions of events a second, on every core.

Each piece (row group) is read by the worker that checks it, by one NumPy kernel over all its histories. The report is
the same with Spark and without, on any number of cores. A piece that was not checked, or a history that was cut in
two, would go unnoticed in sums of violations; so rows, histories and pieces are counted and must add up.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.proofs.units import SparkSettings, require_reachable, run_units
from fencepost.properties.history import HistoryDirectory, HistoryError, Piece, read_piece
from fencepost.properties.history.checking import Finding, Violation, merged
from fencepost.properties.history.location import Location
from fencepost.properties.history.properties_of import SIGNS, HistoryProperties, properties_of
from fencepost.properties.history.signs import counted


@dataclass(frozen=True)
class Judged:
    """What a further check found: violations, and how many histories it could not decide, by the reason."""

    violations: list[Violation]
    undecided: Mapping[str, int] = field(default_factory=dict)


Kernel = Callable[[dict[str, np.ndarray]], Judged]
"""A further check: all columns of one piece (whole histories, sorted) to what it found. Defined in a module."""


@dataclass(frozen=True)
class Undecided:
    """In place of a further check: why it cannot be made on these histories. It is reported as unknown."""

    reason: str


@dataclass(frozen=True)
class ReplayReport:
    """What a replay found. Equal for equal histories: how long it took is not compared.

    `judged` counts the events that each property looked at (for a further check: the histories): a property that
    judged none holds, but says nothing. `unknown` gives the reason why a property cannot be decided, `undecided` how
    many histories a further check did not decide, by the reason. `dangers`: how often the events show each danger, if
    that was asked. `seconds` is from start to report, `cpu_seconds` what the workers spent on reading and checking, on
    all cores together.
    """

    events: int
    histories: int
    pieces: int
    judged: dict[str, int]
    violations: dict[str, dict[str, Any]]
    unknown: dict[str, str]
    undecided: dict[str, dict[str, int]]
    figures: dict[str, int]
    seconds: float = field(compare=False)
    cpu_seconds: float = field(compare=False)
    dangers: dict[str, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether nothing is violated; what is unknown does not count."""
        return not self.violations

    @property
    def vacuous(self) -> tuple[str, ...]:
        """The properties that held only because there was nothing to judge."""
        return tuple(name for name, judged in self.judged.items() if not judged)

    @property
    def events_per_second(self) -> float:
        return self.events / self.seconds if self.seconds else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON: all fields, and events_per_second."""
        return {**asdict(self), "events_per_second": self.events_per_second}


@dataclass(frozen=True)
class Checked:
    """What one piece came to."""

    rows: int
    histories: int
    findings: dict[str, Finding]
    undecided: dict[str, Mapping[str, int]]
    figures: dict[str, int]
    cpu_seconds: float
    dangers: dict[str, int] = field(default_factory=dict)


def replay(
    directory: str | Path | Location,
    *,
    spark: SparkSettings | None = None,
    cores: int | None = None,
    checks: Sequence[str] | None = None,
    further: Mapping[str, Kernel | Undecided] | None = None,
    count_dangers: bool = False,
) -> ReplayReport:
    """Check every history in `directory`; `checks` names history properties (all of the protocol by default).

    `further` are kernels of other engines by name, such as `{"conformance": …}`; they get all columns of a piece.
    One that cannot be made is given as `Undecided`.
    Raises `HistoryError` if the directory is not whole, or a name in `checks` is unknown.
    """
    started = time.perf_counter()
    location = Location.of(directory)
    require_reachable(location, spark)
    opened = HistoryDirectory.open(location)
    properties = properties_of(opened.manifest.protocol)
    unknown, names = _chosen(opened, properties, checks)
    kernels = tuple((name, kernel) for name, kernel in (further or {}).items() if not isinstance(kernel, Undecided))
    unknown |= {name: kernel.reason for name, kernel in (further or {}).items() if isinstance(kernel, Undecided)}
    protocol, config = opened.manifest.protocol, dict(opened.manifest.config)
    check = partial(
        check_piece, protocol=protocol, names=names, further=kernels, config=config, count_dangers=count_dangers
    )
    checked = run_units(opened.pieces, check, spark=spark, cores=cores, label="replay")
    _require_all(opened, checked)
    nothing = dict.fromkeys((*names, *(name for name, _ in kernels)), Finding())
    findings = merged([nothing, *(piece.findings for piece in checked)])
    return ReplayReport(
        events=opened.manifest.totals.rows,
        histories=opened.manifest.totals.histories,
        pieces=len(opened.pieces),
        judged={name: finding.judged for name, finding in sorted(findings.items())},
        violations={
            name: {"count": finding.violations, "first": finding.first}
            for name, finding in sorted(findings.items())
            if finding.violations
        },
        unknown=unknown,
        undecided={name: sums for name, _ in kernels if (sums := _sums([piece.undecided[name] for piece in checked]))},
        figures=_sums([piece.figures for piece in checked]),
        seconds=time.perf_counter() - started,
        cpu_seconds=sum(piece.cpu_seconds for piece in checked),
        dangers=_sums([piece.dangers for piece in checked]),
    )


def check_piece(
    piece: Piece,
    protocol: str,
    names: tuple[str, ...],
    further: tuple[tuple[str, Kernel], ...],
    config: Mapping[str, Any],
    *,
    count_dangers: bool = False,
) -> Checked:
    """Read and check one piece; `config` is that of the manifest. Runs in a worker."""
    started = time.thread_time()
    properties = properties_of(protocol)
    vocabulary = properties.vocabulary
    whole = bool(further) or count_dangers
    columns, histories = read_piece(piece, vocabulary, vocabulary.schema.names if whole else properties.columns)
    findings, figures = properties.check(columns, names, config)
    undecided: dict[str, Mapping[str, int]] = {}
    for name, kernel in further:
        found = kernel(columns)
        undecided[name] = found.undecided
        judged = histories - sum(found.undecided.values())
        findings[name] = Finding(judged, len(found.violations), min(found.violations, default=None))
    dangers = counted(SIGNS[protocol], columns) if count_dangers else {}
    spent = time.thread_time() - started
    return Checked(len(columns["history"]), histories, findings, undecided, figures, spent, dangers)


def _chosen(
    opened: HistoryDirectory, properties: HistoryProperties, checks: Sequence[str] | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The properties that cannot be decided, with reasons, and the names of those that can."""
    wanted = properties.names if checks is None else tuple(checks)
    strange = [name for name in wanted if name not in properties.names]
    if strange:
        known = ", ".join(properties.names)
        raise HistoryError(f"{opened.manifest.protocol} has no history property {strange[0]!r}; it has {known}")
    undecidable = properties.undecidable(opened.manifest)
    unknown = {name: undecidable[name] for name in wanted if name in undecidable}
    return unknown, tuple(name for name in wanted if name not in unknown)


def _require_all(opened: HistoryDirectory, checked: Sequence[Checked]) -> None:
    totals = opened.manifest.totals
    seen = (sum(piece.rows for piece in checked), sum(piece.histories for piece in checked), len(checked))
    due = (totals.rows, totals.histories, len(opened.pieces))
    if seen != due:
        raise HistoryError(
            f"{opened.location.uri}: checked {seen[0]} rows of {seen[1]} histories in {seen[2]} pieces, "
            f"the manifest says {due[0]} rows of {due[1]} histories in {due[2]} pieces"
        )


def _sums(figures: Sequence[Mapping[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for of_piece in figures:
        for name, value in of_piece.items():
            sums[name] = sums.get(name, 0) + value
    return sums
