"""This module checks conformance: whether every event of a history fits the model in the state that earlier events led
to.

    kernel = conformance_of(manifest)                     # a kernel, or why it cannot be decided
    replay(directory, further={"conformance": kernel})    # millions of events, every core
    print(kernel.explain(columns_of_one_history))         # why it does not fit, and what would have

Only the first event of a history that does not fit is reported, since after it the model's state is unknown."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.protocol import Spec
from fencepost.proofs.readings.columns import Columns
from fencepost.proofs.readings.columns.magnitudes import NOTHING, Growth, growth_of_step, stays_small
from fencepost.proofs.scale.replay import Judged, Undecided
from fencepost.proofs.traces.batches import Batch, batch_of
from fencepost.proofs.traces.explanations import check_in_words, event_in_words, explanation
from fencepost.proofs.traces.interpreted import PlainReplay, Stop, follow
from fencepost.proofs.traces.observed import Check, Phase, phases_by_kind
from fencepost.proofs.traces.recordings import RecordingKernel
from fencepost.proofs.traces.vectorised import Misfit, misfits
from fencepost.properties.conformance_spec import Followed
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.history.checking import HIDDEN, Violation
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.trace_spec import CONFORMING, Settings

NO_SUCH_KIND = Check("kind", "the protocol has such an event")
Constants = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ConformanceKernel:
    """A `ConformanceKernel` checks pieces of histories against one variant, with the settings of the run. The kernel is
    picklable, and a worker computes the rest."""

    protocol: str
    variant: str
    settings: Settings

    def __call__(self, columns: Mapping[str, np.ndarray]) -> Judged:
        """Return one violation for each history of the piece that does not fit; `columns` are complete and sorted. A
        history that does not fit is violated, however little of it could be decided."""
        by = Counter[str]()
        found, undecided = self._judged(columns, by)
        violations = [
            Violation(
                int(columns["history"][m.row]), int(columns["step"][m.row]), "conformance", self._text(columns, m)
            )
            for m in found
        ]
        violated = {violation.history for violation in violations}
        reasons: dict[str, int] = {}
        for history, reason in undecided.items():
            if history not in violated:
                reasons[reason] = reasons.get(reason, 0) + 1
        return Judged(violations, reasons, {name: count for name, count in by.items() if count})

    def misfits(self, columns: Mapping[str, np.ndarray]) -> list[Misfit]:
        """Return the row and the failed check of the first misfit of each history, in order of history."""
        return self._judged(columns, Counter())[0]

    def misfits_plainly(self, columns: Mapping[str, np.ndarray]) -> list[Misfit]:
        """Return the misfits by the plain reading, which is slow, and exact where a number leaves int64."""
        batches, _ = self._laid_out(columns)
        return self._first([m for batch in batches for m in self._misfits_plainly(batch)], columns)

    def explain(self, columns: Mapping[str, np.ndarray]) -> str:
        """Return why one history (its rows, all columns) does not fit: the event, what is false, and the allowed
        steps."""
        if len(np.unique(columns["history"])) != 1:
            raise HistoryError("explain takes the rows of one history; select them by their history number")
        spec, phases = model(self.protocol, self.variant)
        if self._followed:
            return self._explain_followed(spec, columns)
        batches, undecided = self._laid_out(columns)
        stops = []
        for batch in batches:
            replay = PlainReplay(spec, batch.constants, batch.sizes)
            for begin, end in batch.lanes():
                stop = replay.stop(batch.events(begin, end, phases), NO_SUCH_KIND)
                if stop is not None:
                    stops.append((int(batch.rows[begin + stop.index]), begin, stop, batch, replay))
        history = columns["history"][0]
        if not stops and undecided:
            return (
                f"history {history} fits the model {self.variant} as far as that can be decided: {undecided[history]}"
            )
        if not stops:
            return f"history {history} fits the model {self.variant}: all {len(columns['kind'])} events"
        row, begin, stop, batch, replay = min(stops, key=lambda found: found[0])
        event = {name: int(column[row]) for name, column in columns.items()}
        values = {name: int(column[begin + stop.index]) for name, column in batch.values.items()}
        text = batch.text(int(batch.history[begin]))
        allowed = list(replay.allowed(stop.state))
        return explanation(CONFORMING[self.protocol], spec, event, stop, values, allowed, text)

    def _judged(self, columns: Mapping[str, np.ndarray], by: Counter[str]) -> tuple[list[Misfit], Mapping[int, str]]:
        """Return the misfits of the piece, and by number of the history why it is not decided. ``by`` counts the events
        by the means with which they are checked."""
        if self._followed:
            by["states"] += len(columns["kind"])
            return self._judged_by_candidates(columns)
        batches, undecided = self._laid_out(columns)
        return self._first([m for batch in batches for m in self._misfits(batch, by)], columns), undecided

    @cached_property
    def _followed(self) -> Followed | None:
        """Return how to follow each history by itself, or None unless the protocol's events leave choices open."""
        follow = CONFORMING[self.protocol].follow
        return follow(self.variant, self.settings) if follow else None

    def _judged_by_candidates(self, columns: Mapping[str, np.ndarray]) -> tuple[list[Misfit], Mapping[int, str]]:
        starts = starts_of(columns["history"]).tolist()
        found, undecided = [], {}
        for begin, end in pairwise([*starts, len(columns["kind"])]):
            stop = self._follow(columns, begin, end)
            if isinstance(stop, Stop):
                found.append(Misfit(begin + stop.index, stop.check))
            elif stop:
                undecided[int(columns["history"][begin])] = stop
        return found, undecided

    def _follow(self, columns: Mapping[str, np.ndarray], begin: int, end: int) -> Stop | str:
        assert self._followed is not None
        return follow(self._followed, self._events(columns, begin, end), NO_SUCH_KIND)

    def _events(self, columns: Mapping[str, np.ndarray], begin: int, end: int) -> list[dict[str, Any]]:
        kinds = {kind.value: name for name, kind in CONFORMING[self.protocol].vocabulary.codes.items()}
        lists = {name: column[begin:end].tolist() for name, column in columns.items()}
        return [
            {name: values[i] for name, values in lists.items()} | {"kind": kinds.get(kind, f"kind {kind}")}
            for i, kind in enumerate(lists["kind"])
        ]

    def _explain_followed(self, spec: Spec, columns: Mapping[str, np.ndarray]) -> str:
        assert self._followed is not None
        conforming, history = CONFORMING[self.protocol], columns["history"][0]
        stop = self._follow(columns, 0, len(columns["kind"]))
        if stop == "":
            return f"history {history} fits the model {self.variant}: all {len(columns['kind'])} events"
        if isinstance(stop, str):
            return f"history {history} fits the model {self.variant} as far as that can be decided: {stop}"
        event = {name: int(column[stop.index]) for name, column in columns.items()}
        values = {name: event.get(name, -1) for name in conforming.columns}
        replay = PlainReplay(spec, self._followed.constants, self._followed.bounds)
        return explanation(conforming, spec, event, stop, values, list(replay.allowed(stop.state)), "")

    def _laid_out(self, columns: Mapping[str, np.ndarray]) -> tuple[list[Batch], Mapping[int, str]]:
        conforming = CONFORMING[self.protocol]
        _, phases = model(self.protocol, self.variant)
        laid = conforming.lay_out(columns, self.variant, self.settings)
        return [batch_of(part, conforming.columns, phases) for part in laid.parts], laid.undecided

    def _misfits(self, batch: Batch, by: Counter[str]) -> list[Misfit]:
        spec, phases = model(self.protocol, self.variant)
        computed, stored = _growth(self.protocol, self.variant, tuple(batch.constants.items()))
        steps = batch.longest * max(map(len, phases.values()))
        checked = not stays_small(batch.largest, steps, computed, stored)
        try:
            found = misfits(Columns(spec, batch.constants), phases, batch, checked=checked, strange=NO_SUCH_KIND)
        except OverflowError:
            by["plain"] += len(batch.kind)
            return self._misfits_plainly(batch)
        by["columns"] += len(batch.kind)
        return [Misfit(int(batch.rows[m.row]), m.check) for m in found]

    def _misfits_plainly(self, batch: Batch) -> list[Misfit]:
        spec, phases = model(self.protocol, self.variant)
        replay = PlainReplay(spec, batch.constants, batch.sizes)
        found = []
        for begin, end in batch.lanes():
            stop = replay.stop(batch.events(begin, end, phases), NO_SUCH_KIND)
            if stop is not None:
                found.append(Misfit(int(batch.rows[begin + stop.index]), stop.check))
        return found

    def _first(self, found: Iterable[Misfit], columns: Mapping[str, np.ndarray]) -> list[Misfit]:
        firsts: dict[int, Misfit] = {}
        for misfit in sorted(found, key=lambda m: m.row):
            firsts.setdefault(int(columns["history"][misfit.row]), misfit)
        return list(firsts.values())

    def _text(self, columns: Mapping[str, np.ndarray], misfit: Misfit) -> str:
        event = {name: int(column[misfit.row]) for name, column in columns.items()}
        return f"{event_in_words(CONFORMING[self.protocol].vocabulary, event)}: {check_in_words(misfit.check)}"


def conformance_kernel(variant: str, config: Mapping[str, Any], protocol: str) -> ConformanceKernel:
    """Return the kernel for histories of that variant, run with `config`. Raise `HistoryError` if the protocol has no
    model of that variant, or the configuration is incomplete."""
    conforming = CONFORMING[protocol]
    if variant not in conforming.models:
        known = ", ".join(conforming.models)
        raise HistoryError(f"no variant {variant!r} of {protocol} to hold histories against; known: {known}")
    return ConformanceKernel(protocol, variant, conforming.settings_of(variant, config))


def conformance_of(manifest: Manifest) -> ConformanceKernel | RecordingKernel | Undecided:
    """Return the kernel for the histories of a directory, or why the model cannot be checked against them."""
    if manifest.protocol not in CONFORMING:
        return Undecided(f"the model of {manifest.protocol} does not say what the events of a history mean to it")
    if reason := manifest.config.get("undecidable", {}).get("conformance"):
        return Undecided(reason)
    conforming = CONFORMING[manifest.protocol]
    try:
        variant = conforming.variant_of(manifest)
        _, phases = model(manifest.protocol, variant)
        kinds = conforming.vocabulary.kinds
        events = {kind.value: kind.name for kind in kinds}
        needed = {events[c] for c, of_kind in phases.items() if c in events and any(p.action for p in of_kind)}
        missing = sorted(needed - set(manifest.observable))
        if (missing or not manifest.ordered) and manifest.source == "recorded" and conforming.recording is not None:
            followable = conforming.recording.followable(manifest)
            return RecordingKernel(manifest.protocol, followable, dict(manifest.config))
        if missing:
            return Undecided(HIDDEN + ", ".join(missing))
        if not manifest.ordered:
            return Undecided("the order of steps across nodes is not known")
        return conformance_kernel(variant, manifest.config, manifest.protocol)
    except HistoryError as error:
        return Undecided(str(error))


@lru_cache
def model(protocol: str, variant: str) -> tuple[Spec, Mapping[int, tuple[Phase, ...]]]:
    """Return the settled protocol, and by code the phases of each kind of event. An event that is no step has no
    phases."""
    conforming = CONFORMING[protocol]
    spec = settle(conforming.models[variant].spec)  # type: ignore[attr-defined]
    by_name = phases_by_kind(spec, conforming.columns, conforming.observations[variant])
    codes = {**conforming.vocabulary.codes, **conforming.between}
    return spec, {int(codes[name]): of_kind for name, of_kind in by_name.items()}


@lru_cache
def _growth(protocol: str, variant: str, constants: Constants) -> tuple[Growth, Growth]:
    computed = stored = NOTHING
    for phase in (p for of_kind in model(protocol, variant)[1].values() for p in of_kind):
        grown = growth_of_step((phase.when, *phase.conditions), phase.updates, dict(constants))
        computed, stored = computed | grown[0], stored | grown[1]
    return computed, stored
