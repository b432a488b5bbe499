"""This module checks histories against the history properties of their protocol: millions of events a second, on every
core.

Each piece (row group) is read by the worker that checks it, by one NumPy kernel over all its histories. The report is
the same with Spark and without, on any number of cores. A piece that was not checked, or a history that was cut in two,
would go unnoticed in sums of violations; so rows, histories and pieces are counted and must add up."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from fencepost.proofs.scale.estimates import events_held
from fencepost.proofs.scale.memory import keep_freed_memory
from fencepost.proofs.scale.rekey import FIGURES, FOLLOWED, Outcome, Rekeyed, units_of
from fencepost.proofs.scale.rekey import rekey as rekeyed
from fencepost.proofs.scale.units import SparkSettings, require_reachable, run_units
from fencepost.properties.history import HistoryDirectory, HistoryError, Piece
from fencepost.properties.history.checking import Finding, Rows, Violation, merged
from fencepost.properties.history.location import Location
from fencepost.properties.history.properties_of import SIGNS, HistoryProperties, properties_of
from fencepost.properties.history.reader import read_unit
from fencepost.properties.history.signs import counted
from fencepost.properties.nearest import quantity, times
from fencepost.properties.trace_spec import Excuse

NOTHING_LEFT = "nothing to judge in what is left of the logs"
NOTHING_TO_JUDGE = "nothing to judge: no event of these histories is what it speaks of"


@dataclass(frozen=True)
class Judged:
    """A `Judged` has the findings of a further check: violations, how many histories it could not decide, by reason,
    and how many events were followed by which reading, all of which give the same findings."""

    violations: list[Violation]
    undecided: Mapping[str, int] = field(default_factory=dict)
    followed_by: Mapping[str, int] = field(default_factory=dict, compare=False)


Kernel = Callable[[dict[str, np.ndarray]], Judged]
"""A `Kernel` is a further check, defined in a module: a function from all columns of one piece (whole histories,
sorted) to its findings."""


class Excuses(Protocol):
    """An `Excuses` decides what excuses violations of the properties `names`. An `Excuses` object can be sent to a
    worker."""

    @property
    def names(self) -> frozenset[str]: ...

    def __call__(
        self, columns: Mapping[str, np.ndarray], found: Mapping[str, Rows]
    ) -> Mapping[str, Sequence[Excuse | None]]:
        """Return, by property, what excuses each violation in a piece, given all columns of the piece."""


@dataclass(frozen=True)
class Undecided:
    """An `Undecided` replaces a further check that cannot be made on these histories. The check is reported as unknown,
    with the reason."""

    reason: str


@dataclass(frozen=True)
class ReplayReport:
    """A `ReplayReport` is the result of a replay. Reports on equal histories are equal, since times are not compared.
    `judged` counts the events that each property looked at (for a further check: the histories). `unknown` has the
    reason why a property is not decided: the histories hide what it needs, or there was nothing to judge.
    `not_promised` has the reason why it is not asked of them, and `undecided` how many histories a further check did
    not decide, by reason. `dangers` counts how often the events met each danger, if that was asked. `predicted` counts,
    by property and excuse, the violations, in addition to those in `violations`, that the documents predict for the
    variant. `followed_by` counts the events that each further check followed by each reading, all of which give the
    same findings. `rekeyed` describes re-keyed histories: their pieces and keys. `seconds` is from start to report,
    `cpu_seconds` what the workers spent on reading and checking, on all cores together."""

    events: int
    histories: int
    pieces: int
    judged: dict[str, int]
    violations: dict[str, dict[str, Any]]
    unknown: dict[str, str]
    not_promised: dict[str, str]
    undecided: dict[str, dict[str, int]]
    figures: dict[str, int]
    seconds: float = field(compare=False)
    cpu_seconds: float = field(compare=False)
    dangers: dict[str, int] = field(default_factory=dict)
    predicted: dict[str, dict[str, int]] = field(default_factory=dict)
    followed_by: dict[str, dict[str, int]] = field(default_factory=dict, compare=False)
    rekeyed: Rekeyed | None = field(default=None, compare=False)

    @property
    def holds(self) -> bool:
        """Return whether nothing is violated, where unknown properties do not count."""
        return not self.violations

    @property
    def vacuous(self) -> tuple[str, ...]:
        """Return the properties that are unknown because there was nothing to judge."""
        return tuple(name for name, judged in self.judged.items() if not judged and name not in self.violations)

    @property
    def decided(self) -> tuple[str, ...]:
        """Return the properties that are violated, or that hold and have judged something."""
        return tuple(name for name in self.judged if name not in self.unknown)

    def followed(self, check: str) -> float | None:
        """Return the share of the histories that a further check has decided, or None if it was not made."""
        if check not in self.judged:
            return None
        left = sum(self.undecided.get(check, {}).values())
        return (self.histories - left) / self.histories if self.histories else 0.0

    def unmet(self, required: Iterable[str]) -> dict[str, str]:
        """Return which of these properties are not decided, each with the reason. A further check must decide every
        history."""
        why = {**self.not_promised, **self.unknown}
        for name, reasons in self.undecided.items():
            text = "; ".join(f"{reason} ({times(count)})" for reason, count in reasons.items())
            why.setdefault(
                name, f"not decided on {sum(reasons.values()):,} of {quantity(self.histories, 'history')}: {text}"
            )
        return {name: why[name] for name in required if name in why and name not in self.violations}

    @property
    def events_per_second(self) -> float:
        return self.events / self.seconds if self.seconds else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "events_per_second": self.events_per_second}


@dataclass(frozen=True)
class Checked:
    """A `Checked` has the findings on one piece, or on the row groups that were re-keyed together."""

    rows: int
    histories: int
    findings: dict[str, Finding]
    undecided: dict[str, Mapping[str, int]]
    figures: dict[str, int]
    cpu_seconds: float
    dangers: dict[str, int] = field(default_factory=dict)
    followed_by: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    pieces: int = 1


def replay(
    directory: str | Path | Location,
    *,
    spark: SparkSettings | None = None,
    cores: int | None = None,
    checks: Sequence[str] | None = None,
    further: Mapping[str, Kernel | Undecided] | None = None,
    count_dangers: bool = False,
    excuses: Excuses | None = None,
    rekey: int | None = None,
    started: Callable[[Callable[[], ReplayReport]], object] = lambda _: None,
) -> ReplayReport:
    """Check every history in `directory`; `checks` names history properties (all of the protocol by default). `further`
    has kernels of other engines by name, such as `{"conformance": …}`, which get all columns of a piece; one that
    cannot be made is given as `Undecided`. A violation that `excuses` has a reason for is counted as predicted. A
    history of more than `rekey` events (by default: than a worker is estimated to hold) is re-keyed, on Spark alone,
    without further checks, counts of dangers, and excuses. Before the first piece, `started` is given a function that
    reports on the pieces so far, in which whatever is not violated is unknown; on Spark there are no pieces until the
    end. Raise `HistoryError` if the directory is not complete, or a name in `checks` is unknown."""
    started_at = time.perf_counter()
    location = Location.of(directory)
    require_reachable(location, spark)
    opened = HistoryDirectory.open(location)
    properties = properties_of(opened.manifest.protocol)
    unknown, unpromised, names = _chosen(opened, properties, checks)
    kernels = tuple((name, kernel) for name, kernel in (further or {}).items() if not isinstance(kernel, Undecided))
    unknown |= {name: kernel.reason for name, kernel in (further or {}).items() if isinstance(kernel, Undecided)}
    protocol, config = opened.manifest.protocol, dict(opened.manifest.config)
    check = partial(
        check_piece, protocol=protocol, names=names, further=kernels, config=config, count_dangers=count_dangers,
        excuses=excuses,
    )  # fmt: skip
    asked = (*names, *(name for name, _ in kernels))

    def so_far() -> ReplayReport:
        report = _report(list(found), asked, unknown, unpromised, started_at)
        left = f"the replay was interrupted after {report.pieces:,} of {len(opened.pieces):,} pieces"
        return replace(
            report, unknown={**dict.fromkeys((n for n in asked if n not in report.violations), left), **unknown}
        )

    found: list[Checked] = []
    started(so_far)
    limit = rekey or events_held(properties, spark, cores)
    fits, large = units_of(opened, limit)
    checked = run_units(fits, check, spark=spark, cores=cores, label="replay", done=found.append)
    reported: Rekeyed | None = None
    if large:
        outcome = rekeyed(
            opened, large, names, limit, spark, partial(check_columns, **check.keywords),
            partial(_check_group, protocol=protocol),
        )  # fmt: skip
        checked += _of_large(outcome, large, kernels)
        unknown |= {name: why for name, why in outcome.unknown.items() if name != FIGURES}
        reported = outcome.rekeyed
    _require_all(opened, checked)
    report = replace(_report(checked, asked, unknown, unpromised, started_at), rekeyed=reported)
    gone = properties.gone(opened.manifest)
    nothing_left = {name: f"{NOTHING_LEFT}: {gone[name]}" for name in report.vacuous if name in {*gone} - {*unknown}}
    return replace(report, unknown=report.unknown | nothing_left)


def _of_large(
    outcome: Outcome[Checked], pieces: Sequence[Piece], kernels: Sequence[tuple[str, Kernel]]
) -> list[Checked]:
    whole = sum(one.rows for one in outcome.small)
    found = Checked(
        sum(piece.rows for piece in pieces) - whole, 0, {}, {}, {}, 0, pieces=len(pieces) - len(outcome.small)
    )
    if outcome.rekeyed is not None:
        many = outcome.rekeyed.histories
        found = replace(found, histories=many, undecided={name: {FOLLOWED: many} for name, _ in kernels})
    groups = outcome.groups if FIGURES not in outcome.unknown else [replace(one, figures={}) for one in outcome.groups]
    return [found, *outcome.small, *groups]


def _check_group(
    columns: dict[str, np.ndarray], names: Sequence[str], config: Mapping[str, Any], protocol: str
) -> Checked:
    started, properties = time.thread_time(), properties_of(protocol)
    view = properties.view_of(columns, config)
    findings = {name: properties.properties[name].on(view, columns) for name in names if name != FIGURES}
    figures = properties.figures(view) if FIGURES in names else {}
    return Checked(0, 0, findings, {}, figures, time.thread_time() - started, pieces=0)


def _report(
    checked: Sequence[Checked],
    asked: Sequence[str],
    unknown: Mapping[str, str],
    unpromised: dict[str, str],
    began: float,
) -> ReplayReport:
    findings = merged([dict.fromkeys(asked, Finding()), *(piece.findings for piece in checked)])
    every = {name for piece in checked for name in piece.undecided}
    undecided = {
        name: sums for name in asked if name in every and (sums := _sums([p.undecided.get(name, {}) for p in checked]))
    }
    empty = {
        name: "no history was decided" if name in undecided else NOTHING_TO_JUDGE
        for name, finding in sorted(findings.items())
        if not finding.judged and not finding.violations
    }
    return ReplayReport(
        events=sum(piece.rows for piece in checked),
        histories=sum(piece.histories for piece in checked),
        pieces=sum(piece.pieces for piece in checked),
        judged={name: finding.judged for name, finding in sorted(findings.items())},
        violations={
            name: {"count": finding.violations, "first": finding.first}
            for name, finding in sorted(findings.items())
            if finding.violations
        },
        unknown={**empty, **unknown},
        not_promised=unpromised,
        undecided=undecided,
        figures=_sums([piece.figures for piece in checked]),
        seconds=time.perf_counter() - began,
        cpu_seconds=sum(piece.cpu_seconds for piece in checked),
        dangers=_sums([piece.dangers for piece in checked]),
        predicted={
            name: dict(sorted(found.predicted.items())) for name, found in sorted(findings.items()) if found.predicted
        },
        followed_by={
            name: sums
            for name in asked
            if (sums := _sums([piece.followed_by[name] for piece in checked if name in piece.followed_by]))
        },
    )


def check_piece(
    unit: tuple[Piece, ...],
    protocol: str,
    names: tuple[str, ...],
    further: tuple[tuple[str, Kernel], ...],
    config: Mapping[str, Any],
    *,
    count_dangers: bool = False,
    excuses: Excuses | None = None,
) -> Checked:
    """Read and check a piece, or all parts of a history, in a worker; `config` is that of the manifest."""
    keep_freed_memory()
    started = time.thread_time()
    properties = properties_of(protocol)
    vocabulary = properties.vocabulary
    whole = bool(further) or count_dangers or excuses is not None
    columns, histories = read_unit(unit, vocabulary, vocabulary.schema.names if whole else properties.columns)
    checked = check_columns(
        columns, histories, protocol, names, further, config, count_dangers=count_dangers, excuses=excuses
    )
    return replace(checked, cpu_seconds=time.thread_time() - started, pieces=len(unit))


def check_columns(
    columns: dict[str, np.ndarray], histories: int, protocol: str, names: tuple[str, ...],
    further: tuple[tuple[str, Kernel], ...], config: Mapping[str, Any], *, count_dangers: bool = False,
    excuses: Excuses | None = None,
) -> Checked:  # fmt: skip
    properties = properties_of(protocol)
    properties.require(columns)
    findings, figures = properties.check(columns, names, config)
    if excuses is not None:
        findings |= without_excused(properties, findings, columns, config, excuses)
    undecided: dict[str, Mapping[str, int]] = {}
    followed_by: dict[str, Mapping[str, int]] = {}
    for name, kernel in further:
        found = kernel(columns)
        undecided[name], followed_by[name] = found.undecided, found.followed_by
        judged = histories - sum(found.undecided.values())
        findings[name] = Finding(judged, len(found.violations), min(found.violations, default=None))
    dangers = counted(SIGNS.get(protocol, ()), columns) if count_dangers else {}
    return Checked(len(columns["history"]), histories, findings, undecided, figures, 0, dangers, followed_by)


def without_excused(
    properties: HistoryProperties, findings: Mapping[str, Finding], columns: dict[str, np.ndarray],
    config: Mapping[str, Any], excuses: Excuses,
) -> dict[str, Finding]:  # fmt: skip
    """Return the findings on the properties with excusable violations, without those that are excused."""
    names = [name for name, finding in findings.items() if finding.violations and name in excuses.names]
    if not names:
        return {}
    view = properties.view_of(columns, config)
    found = {name: properties.properties[name].kernel(view) for name in names}
    excused = excuses(columns, found)
    left = dict[str, Finding]()
    for name, rows in found.items():
        bare = np.array([excuse is None for excuse in excused[name]])
        finding = properties.properties[name].finding(Rows(rows.judged, rows.at[bare], rows.other[bare]), view, columns)
        counts = Counter(str(excuse) for excuse in excused[name] if excuse is not None)
        left[name] = replace(finding, predicted=dict(sorted(counts.items())))
    return left


def _chosen(
    opened: HistoryDirectory, properties: HistoryProperties, checks: Sequence[str] | None
) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]]:
    wanted = properties.names if checks is None else tuple(checks)
    strange = [name for name in wanted if name not in properties.names]
    if strange:
        known = ", ".join(properties.names)
        raise HistoryError(f"{opened.manifest.protocol} has no history property {strange[0]!r}; it has {known}")
    hidden, absent = properties.undecidable(opened.manifest), properties.unpromised(opened.manifest)
    unknown = {name: hidden[name] for name in wanted if name in hidden}
    unpromised = {name: absent[name] for name in wanted if name in absent}
    return unknown, unpromised, tuple(name for name in wanted if name not in {**unknown, **unpromised})


def _require_all(opened: HistoryDirectory, checked: Sequence[Checked]) -> None:
    totals = opened.manifest.totals
    seen = (
        sum(piece.rows for piece in checked),
        sum(piece.histories for piece in checked),
        sum(piece.pieces for piece in checked),
    )
    due = (totals.rows, totals.histories, len(opened.pieces) + len(opened.parts))
    if seen != due:
        raise HistoryError(
            f"{opened.location}: checked {seen[0]} rows of {seen[1]} histories in {seen[2]} pieces, "
            f"the manifest says {due[0]} rows of {due[1]} histories in {due[2]} pieces"
        )


def _sums(figures: Sequence[Mapping[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for of_piece in figures:
        for name, value in of_piece.items():
            sums[name] = sums.get(name, 0) + value
    return sums
