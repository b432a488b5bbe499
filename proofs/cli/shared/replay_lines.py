"""This module prints a replay's report as one screen of sentences, in the terms of those who ran the system.

The first line sums it up. Each violated property has its demand, the first violation with its events, and the command
that draws it. Undecided ones have a line for what is missing. With ``verbose``, each property has a line.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.proofs.cli.replay import CONFORMANCE
from fencepost.proofs.cli.shared.output import SIGNS
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.scale.replay import ReplayReport
from fencepost.proofs.scale.witnesses import Witness, witnesses
from fencepost.properties.history import HistoryDirectory, HistoryError, Manifest
from fencepost.properties.history.checking import HIDDEN, Violation
from fencepost.properties.history.cuts import cuts_of
from fencepost.properties.history.location import Location
from fencepost.properties.history.naming import Naming, moment, without_columns
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.nearest import quantity, times
from rich.markup import escape

FEW = 3
"""A line about several properties names this many of them."""
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
        yield self._summary()
        yield (
            f"{quantity(report.events, 'event')}, {quantity(report.histories, 'history')}, "
            f"{quantity(report.pieces, 'piece')}, {report.events_per_second:,.0f} events/s"
        )
        if gone := [cut.why for cut in cuts_of(self.manifest.config)]:
            yield escape(f"{quantity(len(gone), 'log')} judged in part, as far as left: {'; '.join(gone)}")
        if report.rekeyed is not None:
            yield from map(escape, report.rekeyed.lines())
        yield from self._violated()
        yield from self._predicted()
        yield from self._held()
        yield from self._left()

    @cached_property
    def _held_names(self) -> list[str]:
        report = self.report
        return [name for name in report.judged if name not in {*report.violations, *report.unknown, *report.predicted}]

    def _summary(self) -> str:
        report = self.report
        every = {*report.judged, *report.unknown, *report.not_promised} - {CONFORMANCE}
        broken, excused = every & {*report.violations}, every & {*report.predicted} - {*report.violations}
        held, left = every & {*self._held_names}, every & {*report.unknown} - {*report.violations}
        absent = every & {*report.not_promised}
        are = "is" if 1 in (len(broken), len(every)) else "are"
        parts = [
            f"{len(broken)} of {quantity(len(every), 'property')} {are} violated",
            *([f"{len(excused)} as predicted"] if excused else []),
            *([f"{len(held)} {'holds' if len(held) == 1 else 'hold'}"] if held else []),
            *([f"{len(left)} {'was' if len(left) == 1 else 'were'} not decided"] if left else []),
            *([f"{len(absent)} {'is' if len(absent) == 1 else 'are'} not promised"] if absent else []),
        ]
        share = report.followed(CONFORMANCE)
        model = (
            "violated" if CONFORMANCE in report.violations
            else "not decided" if CONFORMANCE in report.unknown
            else "" if share is None
            else f"holds in {'all' if share == 1 else f'{share:.1%} of the'} histories"
        )  # fmt: skip
        return ", ".join(parts) + (f"; conformance {model}" if model else "")

    def _violated(self) -> Iterator[str]:
        for name, lines in self.first_of_each().items():
            yield f"    {name_in_words(name):<28} [red]violated[/] {times(self.report.violations[name]['count'])}"
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
            when = moment(self.manifest, seen.event.time_us, seen.began_us)
            yield f"First in history {first.history}, step {first.step}, {when}: {without_columns(first.told)}."
            yield f"The event: {naming.event(seen.event.kind, seen.event.step, seen.event.filled)}."
            if (other := seen.explained_by) is not None:
                at = moment(self.manifest, other.time_us, seen.began_us)
                yield f"The event that explains it: {naming.event(other.kind, other.step, other.filled)}, {at}."
        if first.history in self.manifest.cut:
            yield f"Its row: {shlex.join([*self.command, *_check(first), '--violations', 'ROWS.parquet'])}"
        else:
            yield f"Draw it: {shlex.join([*self.command, *_check(first), '--html', 'RUN.html'])}"

    def _predicted(self) -> Iterator[str]:
        totals = dict[str, int]()
        for name, by in self.report.predicted.items():
            steps = ", ".join(f"{excuse.partition(':')[0]} {count:,}" for excuse, count in by.items())
            yield f"    {name_in_words(name):<28} {PREDICTED} {times(sum(by.values()))}: {escape(steps)}"
            for excuse, count in by.items():
                totals[excuse] = totals.get(excuse, 0) + count
        if not totals:
            return
        variant = escape(str(self.manifest.config.get("mode", self.manifest.variant)))
        every = sum(totals.values())
        yield (
            f"{quantity(every, 'violation')} {'is' if every == 1 else 'are'} as predicted of {variant}, and no defect: "
            "it declares that it breaks these properties, and its model, following the same history, takes the step "
            "that allows this violation:"
        )
        yield from (escape(f"    {count:,} by {excuse}") for excuse, count in sorted(totals.items()))

    def _held(self) -> Iterator[str]:
        report = self.report
        held = self._held_names
        share = report.followed(CONFORMANCE) if CONFORMANCE in held else None
        in_part = share is not None and share < 1
        if self.verbose:
            for name in held:
                of_all = f", {share:.1%} of the histories" if in_part and name == CONFORMANCE else ""
                yield f"    {name_in_words(name):<28} [green]holds[/] ({report.judged[name]:,} judged{of_all})"
            return
        properties = [name for name in held if name != CONFORMANCE]
        if 0 < len(properties) <= FEW:
            yield f"    [green]holds[/]: {some(properties)}"

    def _left(self) -> Iterator[str]:
        report = self.report
        undecided = [
            (name, f"[yellow]undecided[/] in {quantity(histories, 'history')}", reason)
            for name, reasons in report.undecided.items()
            for reason, histories in reasons.items()
        ]
        unknown = [(name, SIGNS["unknown"], reason) for name, reason in report.unknown.items()]
        unpromised = [(name, SIGNS["not promised"], reason) for name, reason in report.not_promised.items()]
        every = [*undecided, *unknown, *unpromised]
        if self.verbose:
            yield from (f"    {name_in_words(name):<28} {sign}: {escape(reason)}" for name, sign, reason in every)
        else:
            yield from by_reason(every, properties_of(self.manifest.protocol).vocabulary)


def by_reason(every: Iterable[tuple[str, str, str]], vocabulary: Vocabulary) -> Iterator[str]:
    """Yield a line for all properties that lack the same. Each is given with its sign and the reason."""
    alike, hidden = dict[tuple[str, str], list[str]](), dict[str, set[str]]()
    for name, sign, reason in every:
        why = reason
        if reason.startswith(HIDDEN):
            kinds, why = _observed(vocabulary, reason.removeprefix(HIDDEN).split(", "))
            hidden.setdefault(why, set()).update(kinds)
        alike.setdefault((sign, why), []).append(name)
    for (sign, why), names in alike.items():
        which = f"{HIDDEN}{some(sorted(hidden[why]))}" if why in hidden else ""
        yield f"    {len(names)} {sign} ({some(names)}): {escape(which + why)}"


def _observed(vocabulary: Vocabulary, kinds: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return, of kinds of event, those that are the hardest to record, and the end of a sentence with the option that
    records them."""
    observers = {kind: vocabulary.codes[kind].observer for kind in kinds}
    if inside := [kind for kind in kinds if not observers[kind]]:
        return inside, ", which only the implementation itself observes"
    options = {vocabulary.recorded_with.get(each, "") for each in observers.values()}
    return kinds, "" if "" in options else f"; record with {' and '.join(sorted(options))}"


def _check(first: Violation) -> tuple[str, ...]:
    return () if first.property == CONFORMANCE else ("--check", name_in_words(first.property))


def some(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(map(name_in_words, names[:FEW])) + more
