"""This module prints a replay's report as one screen of sentences, in the terms of those who ran the system.

Each violated property has its demand, the first violation with its events, and the command that draws it. Properties
that hold share a line, and undecided ones have a line for each reason. With ``verbose``, each property has a line.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fencepost.proofs.cli.replay import CONFORMANCE
from fencepost.proofs.cli.shared.output import SIGNS
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.scale.replay import ReplayReport
from fencepost.proofs.scale.witnesses import SeenEvent, Witness, witnesses
from fencepost.properties.history import HistoryDirectory, HistoryError, Manifest
from fencepost.properties.history.checking import Violation
from fencepost.properties.history.cuts import cuts_of
from fencepost.properties.history.location import Location
from fencepost.properties.history.naming import Naming, without_columns
from fencepost.properties.history.properties_of import properties_of
from rich.markup import escape

FEW = 3
"""A line about several properties names this many of them."""
YEAR_10000_US = 253_402_300_800 * 10**6
DEMANDED_BY_THE_MODEL = "every event is a step of the model, in the state that those before have led to"
PREDICTED = "[green]violated as predicted[/]"


@dataclass(frozen=True)
class Lines:
    """A `Lines` has the lines of one report. ``command`` holds the words of a replay of the same histories."""

    report: ReplayReport
    place: Location
    manifest: Manifest
    command: Sequence[str]
    verbose: bool = False

    def all(self) -> Iterator[str]:
        """Yield all lines, with markup."""
        report = self.report
        yield (
            f"{report.events:,} events, {report.histories:,} histories, {report.pieces} pieces, "
            f"{report.events_per_second:,.0f} events/s"
        )
        if gone := [cut.why for cut in cuts_of(self.manifest.config)]:
            yield escape(f"judged in part, as far as they are left, are {len(gone)} logs: {'; '.join(gone)}")
        if report.rekeyed is not None:
            yield from map(escape, report.rekeyed.lines())
        yield from self._violated()
        yield from self._predicted()
        yield from self._held()
        yield from self._left()

    def _violated(self) -> Iterator[str]:
        for name, lines in self.first_of_each().items():
            yield f"    {name_in_words(name):<28} [red]violated[/] {self.report.violations[name]['count']:,} times"
            yield from (escape(f"        {line}") for line in lines)

    def first_of_each(self) -> dict[str, list[str]]:
        """Return the lines about the first violation of each violated property, without markup."""
        broken = self.report.violations
        if not broken:
            return {}
        opened = HistoryDirectory.open(self.place)
        try:
            found = witnesses(opened, [violated["first"] for violated in broken.values()])
        except HistoryError:  # the history changed after it was judged
            found = {}
        return {name: [*self._first(violated["first"], found.get(name))] for name, violated in broken.items()}

    def _first(self, first: Violation, seen: Witness | None) -> Iterator[str]:
        properties = properties_of(self.manifest.protocol)
        item = properties.properties.get(first.property)
        if item is not None:
            yield f"It demands: {item.meaning.split('. ')[0].rstrip('.')} ({item.rule})."
        elif first.property == CONFORMANCE:
            yield f"It demands: {DEMANDED_BY_THE_MODEL}."
        if seen is None:
            yield f"First in history {first.history}, step {first.step}: {first.told}."
        else:
            naming = Naming(properties.vocabulary, self.manifest.config, properties.values)
            when = self._when(seen.event, seen)
            yield f"First in history {first.history}, step {first.step}, {when}: {without_columns(first.told)}."
            yield f"The event: {_event(seen.event, naming)}."
            if (other := seen.explained_by) is not None:
                yield f"The event that explains it: {_event(other, naming)}, {self._when(other, seen)}."
        if first.history in self.manifest.cut:
            yield f"Its row: {shlex.join([*self.command, *_check(first), '--violations', 'ROWS.parquet'])}"
        else:
            yield f"Draw it: {shlex.join([*self.command, *_check(first), '--html', 'RUN.html'])}"

    def _when(self, event: SeenEvent, seen: Witness) -> str:
        """Return the time of an event, by the wall clock in a recording, else from the beginning of the history."""
        if self.manifest.source == "recorded" and 0 <= event.time_us < YEAR_10000_US:
            at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=event.time_us)
            return f"at {at:%Y-%m-%d %H:%M:%S.%f} UTC by the recorded clock"
        return f"{(event.time_us - seen.began_us) / 1e6:,.6f} s after the history began"

    def _predicted(self) -> Iterator[str]:
        totals = dict[str, int]()
        for name, by in self.report.predicted.items():
            steps = ", ".join(f"{excuse.partition(':')[0]} {count:,}" for excuse, count in by.items())
            yield f"    {name_in_words(name):<28} {PREDICTED} {sum(by.values()):,} times: {escape(steps)}"
            for excuse, count in by.items():
                totals[excuse] = totals.get(excuse, 0) + count
        if not totals:
            return
        variant = escape(str(self.manifest.config.get("mode", self.manifest.variant)))
        yield (
            f"{sum(totals.values()):,} violations are as predicted of {variant}, and no defect: it declares that it "
            "breaks these properties, and its model, following the same history, takes the step that allows this "
            "violation:"
        )
        yield from (escape(f"    {count:,} by {excuse}") for excuse, count in sorted(totals.items()))

    def _held(self) -> Iterator[str]:
        report = self.report
        apart = {*report.violations, *report.unknown, *report.predicted}
        held = [name for name in report.judged if name not in apart]
        share = report.followed(CONFORMANCE) if CONFORMANCE in held else None
        in_part = share is not None and share < 1
        if self.verbose:
            for name in held:
                of_all = f", {share:.1%} of the histories" if in_part and name == CONFORMANCE else ""
                yield f"    {name_in_words(name):<28} [green]holds[/] ({report.judged[name]:,} judged{of_all})"
            return
        properties = [name for name in held if name != CONFORMANCE]
        says = list[str]()
        if properties:
            names = f" ({_names(properties)})" if len(properties) <= FEW else ""
            one = len(properties) == 1
            says.append(
                f"{len(properties)} {'property [green]holds[/]' if one else 'properties [green]hold[/]'}{names}"
            )
        if CONFORMANCE in held:
            says.append(f"conformance [green]holds[/] in {f'{share:.1%} of the' if in_part else 'all'} histories")
        if says:
            yield f"    {', and '.join(says)}"

    def _left(self) -> Iterator[str]:
        report = self.report
        undecided = [
            (name, f"[yellow]undecided[/] in {histories:,} histories", reason)
            for name, reasons in report.undecided.items()
            for reason, histories in reasons.items()
        ]
        unknown = [(name, "[yellow]unknown[/]", reason) for name, reason in report.unknown.items()]
        unpromised = [(name, SIGNS["not promised"], reason) for name, reason in report.not_promised.items()]
        alike = dict[tuple[str, str], list[str]]()
        for name, sign, reason in (*undecided, *unknown, *unpromised):
            if self.verbose:
                yield f"    {name_in_words(name):<28} {sign}: {escape(reason)}"
            else:
                alike.setdefault((sign, reason), []).append(name)
        for (sign, reason), names in alike.items():
            yield f"    {len(names)} {sign} ({_names(names)}): {escape(reason)}"


def _check(first: Violation) -> tuple[str, ...]:
    return () if first.property == CONFORMANCE else ("--check", name_in_words(first.property))


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(map(name_in_words, names[:FEW])) + more


def _event(event: SeenEvent, naming: Naming) -> str:
    return f"{event.kind.replace('_', ' ')} at step {event.step} ({', '.join(naming.records(event.filled))})"
