"""The tracker: in which states may the model be, given what was called and what was seen?

Each call and each event narrows the set of candidate states through the correspondence that `observations.py` declares;
what the implementation does not show is guessed, within what `calls.py` lets happen in that call.  No candidate left:
implementation and model disagree.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fencepost.properties.id_blocks.calls import CALLS, Allowed
from fencepost.properties.id_blocks.plug import Message, read
from fencepost.properties.id_blocks.programs import Made

from .coverage import Coverage
from .failures import Disagreed, Evidence, FalseConjunct
from .network import NetworkKeeper
from .readings import Reading
from .stepping import Applied, Candidate, Row, Stepper

IGNORED = frozenset({"broker_stopped"})  # a restart is one step of the model
MOST_CANDIDATES = 2_000
EXPECTED = {
    "init_producer_id": ("request_sent",),
    "commit": ("block_committed", "answer_sent"), "snapshot": ("snapshot_taken",),
    "advance": ("request_timed_out",),
}  # fmt: skip
"""Which event kinds are missing where a call returns in a state in which it should not."""


class Tracker:
    """Follows one cluster.  ``observed``: the event kinds that this implementation shows whenever they happen."""

    def __init__(self, reading: Reading, observed: frozenset[str], coverage: Coverage) -> None:
        self.observed, self.coverage = observed, coverage
        self.reading, self.stepper = reading, Stepper(reading)
        self.network = NetworkKeeper(self.stepper)
        self.candidates = [Candidate(reading.plain.initial(), (), False)]

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        """Hold one call against the model.  Raises `Disagreed`.  ``messages``: what is in flight after the call."""
        self.stepper.called(made)
        self.candidates = [c._replace(done=False) for c in self.candidates]
        allowed = Allowed() if made.result is False else CALLS[made.call.table_name]
        base = self.stepper.row_of_call(made)
        for shown, event in self._events(made):
            self._take(event, Evidence(made, shown, (read(event, "kind"),)), allowed, base)
        self._close(allowed, base)
        self._finish(made, allowed, base)
        self._clear_up(made, messages)
        self.coverage.called(made.call.table_name)
        self.coverage.sample(self.stepper, self.candidates[0].state)

    def _events(self, made: Made) -> Iterator[tuple[Any, Any]]:
        """What was shown, with what it says: an error answer also that the request was refused, a result that the id
        was given."""
        for event in made.events:
            kind = read(event, "kind")
            if kind == "answer_sent" and read(event, "error", 0) and "request_refused" not in self.observed:
                refused = {n: read(event, n, -1) for n in ("broker", "request", "error")}
                yield event, refused | {"kind": "request_refused"}
            if kind not in IGNORED:
                yield event, event
        if made.call.name == "init_producer_id":
            error, producer_id = made.result
            kind = "id_refused" if error else "id_handed_out"
            said = [read(e, "producer_id") for e in made.events if read(e, "kind") == "id_handed_out"]
            if said not in ([], [] if error else [producer_id]):
                words = f"the event says what the client got: it says {', '.join(map(str, said))}"
                raise Disagreed(Evidence(made, None, (kind,), True), (FalseConjunct(kind, "730.P1", words),))
            if not any(read(e, "kind") == kind for e in made.events):
                event = {"kind": kind, "broker": made.call.broker, "producer_id": producer_id, "error": error}
                yield event, event

    def _take(self, event: Any, evidence: Evidence, allowed: Allowed, base: Row) -> None:
        kind = read(event, "kind")
        if kind not in self.reading.observations:
            words = f"the model of {self.reading.variant} has no step for it"
            raise Disagreed(evidence, (FalseConjunct(kind, "", words),))
        self._close(allowed, base)
        row, once = self.stepper.row_of_event(event, evidence, self.candidates), kind in allowed.once
        before = [c for c in self.candidates if not (once and c.done)] or self.candidates
        applied = [a for c in before for a in self.stepper.apply(c, kind, row)]
        if not applied:
            raise Disagreed(evidence, self.stepper.why_not(before, [(kind, row)]))
        self.coverage.seen(kind, row["error"], applied[0].actions)
        self.candidates = distinct(a.candidate._replace(done=a.candidate.done or once) for a in applied)

    def _close(self, allowed: Allowed, base: Row) -> None:
        """Add every state that unseen events may have led to."""
        hidden = [k for k in (*allowed.once, *allowed.often) if self._is_hidden(k)]
        found = {c.key(): c for c in self.candidates}
        work = list(self.candidates) if hidden else []
        while work:
            candidate = work.pop(0)
            for applied, once in self._unseen(candidate, hidden, allowed, base):
                reached = applied.candidate._replace(done=candidate.done or once)
                if reached.key() not in found:
                    found[reached.key()] = reached
                    work.append(reached)
                    self.coverage.guessed(applied.actions)
            if len(found) > MOST_CANDIDATES:
                raise RuntimeError(
                    f"more than {MOST_CANDIDATES} states fit what was seen: the implementation shows too little; "
                    f"emit more of the event kinds {', '.join(hidden)}"
                )
        self.candidates = list(found.values())

    def _is_hidden(self, kind: str) -> bool:
        never_guessed = kind == "request_refused"  # its error answer shows it
        return kind in self.reading.observations and kind not in self.observed and not never_guessed

    def _unseen(
        self, candidate: Candidate, hidden: Sequence[str], allowed: Allowed, base: Row
    ) -> Iterator[tuple[Applied, bool]]:
        for kind in hidden:
            once = kind in allowed.once
            if not (once and candidate.done):
                for applied in self.stepper.apply(candidate, kind, base):
                    yield applied, once

    def _finish(self, made: Made, allowed: Allowed, base: Row) -> None:
        """What must be so when the call returns."""
        if allowed.must:
            expected = tuple(k for k in allowed.once if k in self.reading.observations)
            done = [c for c in self.candidates if c.done]
            if not done:
                reasons = self.stepper.why_not(self.candidates, [(k, base) for k in expected])
                raise Disagreed(Evidence(made, None, expected, not any(k in self.observed for k in expected)), reasons)
            self.candidates = done
        left = [(c, self.stepper.check(made, c, base)) for c in self.candidates]
        kept = [c for c, reasons in left if not reasons]
        if not kept:
            raise Disagreed(Evidence(made, None, EXPECTED.get(made.call.name, ())), left[0][1])
        self.candidates = kept

    def _clear_up(self, made: Made, messages: Sequence[Message]) -> None:
        """Messages that are gone, controllers that are gone, and requests that nobody will speak of any more."""
        applied = [Applied(c, ()) for c in self.candidates]
        if made.call.name == "drop" and made.message is not None:
            applied = [self.network.lost(c, made.message, messages) for c in self.candidates]
        elif made.call.name in ("fail_over", "migrate") and made.result is not False:
            applied = [self.network.put_aside(c, messages) for c in self.candidates]
        self.coverage.guessed(applied[0].actions)
        candidates, forgotten = self.network.tidy([a.candidate for a in applied], messages)
        if forgotten:
            self.coverage.guessed([self.reading.plain.spec.actions["forget"]] * forgotten)
        self.candidates = distinct(candidates)


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Each once, in order."""
    return list({c.key(): c for c in candidates}.values())
