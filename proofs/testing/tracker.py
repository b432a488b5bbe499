"""This module tracks in which states the model may be, given the calls made and the events seen.

Each call and each event narrows the set of candidate states through the correspondence that the protocol declares.
Steps that the implementation does not report are guessed, within what the protocol's table of calls allows in that
call. If no candidate is left, implementation and model disagree."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.proofs import results
from fencepost.proofs.results import State
from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.failures import Disagreed, Evidence
from fencepost.proofs.testing.readings import Reading
from fencepost.proofs.testing.stepping import Applied, Candidate, Stepper
from fencepost.properties.conformance_spec import Allowed, Beyond, Contradiction, FalseConjunct, Row
from fencepost.properties.driving import Event, Made, Message, read

MOST_CANDIDATES = 2_000
MOST_KEYS = 50_000
FEW = 4
"""A message names this many event kinds where too few are observed."""
NOTHING_KNOWN: Row = {}
"""This row stands for a call in which nothing happens unseen, so that its columns are not needed."""


@dataclass
class Share:
    """A `Share` is a system that one tracker follows, or several trackers, each a part of it."""

    called: bool = False
    followed_to_the_end: bool = True


class Tracker:
    """A `Tracker` follows one system. ``observed`` has the event kinds that this implementation emits whenever they
    happen. ``beyond`` is why the model cannot follow the system any more, if so; nothing is compared from there on.
    ``ending`` has calls that end a program, and do too much for a model to follow. ``share`` is common to the trackers
    of one system."""

    def __init__(
        self, reading: Reading, observed: frozenset[str], coverage: Coverage, ending: frozenset[str] = frozenset(),
        share: "Share | None" = None,
    ) -> None:  # fmt: skip
        self.observed, self.coverage, self.ending = observed, coverage, ending
        self.reading, self.followed, self.interpreter = reading, reading.followed, reading.followed.interpreter()
        self.stepper = Stepper(reading, self.interpreter)
        self._is_idle = getattr(self.interpreter, "is_idle", lambda made, messages: False)
        self.candidates = [Candidate(reading.plain.initial(), (), False)]
        self.beyond, self.share = "", share or Share()
        self._frozen: dict[int, tuple[Any, tuple[Any, ...]]] = {}

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        """Compare one call with the model, and raise `Disagreed` if it does not fit. ``messages`` are in flight after
        the call."""
        if not self.share.called:
            self.share.called = True
            self.coverage.systems += 1
        if self.beyond:
            self.coverage.called(made.call.table_name)
            self._leave(made)
            return
        try:
            if made.result is not False or made.events or not self._is_idle(made, messages):
                self._follow(made, messages)
            else:
                self.coverage.called(made.call.table_name)
        except Beyond as reason:
            self.beyond = str(reason)
            self._leave(made)
        else:
            self._count(made, 1)

    def leave(self, reason: str) -> None:
        """Stop comparing the system with the model from the next call on, for this reason."""
        self.beyond = reason

    def _count(self, made: Made, compared: int) -> None:
        if made.call.name not in self.ending:
            self.coverage.comparable += 1
            self.coverage.compared += compared

    def _leave(self, made: Made) -> None:
        self._count(made, 0)
        if self.share.followed_to_the_end and made.call.name not in self.ending:
            self.share.followed_to_the_end = False
            self.coverage.unfollowed += 1
            self.coverage.left(self.beyond)

    def _follow(self, made: Made, messages: Sequence[Message]) -> None:
        self.interpreter.called(made, messages)
        self.candidates = [c._replace(done=False) if c.done else c for c in self.candidates]
        name, allowed, base = made.call.table_name, Allowed(), NOTHING_KNOWN
        if made.result is not False:
            allowed = self.interpreter.allows(made, self.followed.calls[name])
        hidden = [k for k in (*allowed.once, *allowed.often) if self._is_hidden(k)]
        if hidden or allowed.must or self.reading.checks:
            base = self.interpreter.row_of_call(made)
        for observed, event in self._reported(made):
            if read(event, "kind") not in self.followed.ignored:
                self._take(event, observed, made, allowed, hidden, base)
        if hidden:
            self._close(allowed, hidden, base)
        self._finish(made, allowed, base)
        self._clear_up(made, messages)
        self.coverage.called(name)
        self.coverage.sample(self.stepper, self.candidates[0].state)

    def _reported(self, made: Made) -> Iterator[tuple[Event, Event]]:
        try:
            yield from self.interpreter.reported(made, self.observed)
        except Contradiction as impossible:
            raise Disagreed(Evidence(made, None, (impossible.kind,), True), (impossible.conjunct,)) from None

    def _take(
        self, event: Any, observed: Event, made: Made, allowed: Allowed, hidden: Sequence[str], base: Row
    ) -> None:
        kind = read(event, "kind")

        def evidence() -> Evidence:
            return Evidence(made, observed, (kind,))

        if kind not in self.reading.observations:
            words = f"the model of {self.followed.variant} has no step for it"
            raise Disagreed(evidence(), (FalseConjunct(kind, "", words),))
        if hidden:
            self._close(allowed, hidden, base)
        try:
            row = self.interpreter.row_of_event(event, [c.state for c in self.candidates])
        except Contradiction as impossible:
            raise Disagreed(evidence(), (impossible.conjunct,)) from None
        once = kind in allowed.once
        before = ([c for c in self.candidates if not c.done] or self.candidates) if once else self.candidates
        applied = [a for c in before for a in self.stepper.apply(c, kind, row)]
        if not applied:
            raise Disagreed(evidence(), self.stepper.why_not(before, [(kind, row)]))
        self.coverage.seen(kind, row["error"], applied[0].actions)
        self.candidates = self._distinct(a.candidate._replace(done=a.candidate.done or once) for a in applied)

    def _close(self, allowed: Allowed, hidden: Sequence[str], base: Row) -> None:
        """Add every state that unseen events, of the hidden kinds, may have led to."""
        work = [(c, list(self._unseen(c, hidden, allowed, base))) for c in self.candidates]
        if not any(steps for _, steps in work):
            return
        found = {self._key(c): c for c in self.candidates}
        while work:
            candidate, steps = work.pop(0)
            for applied, once in steps:
                reached = applied.candidate._replace(done=candidate.done or once)
                if (key := self._key(reached)) not in found:
                    found[key] = reached
                    work.append((reached, list(self._unseen(reached, hidden, allowed, base))))
                    self.coverage.guessed(applied.actions)
            if len(found) > MOST_CANDIDATES and self.followed.tired:
                raise Beyond("too many states fit what was seen")
            if len(found) > MOST_CANDIDATES:
                some = ", ".join(sorted(set(hidden))[:FEW])
                raise Beyond(f"too many states fit what was seen; events of more kinds would help: {some}")
        self.candidates = list(found.values())

    def _is_hidden(self, kind: str) -> bool:
        guessed = kind not in self.followed.unguessed
        return kind in self.reading.observations and kind not in self.observed and guessed

    def _unseen(
        self, candidate: Candidate, hidden: Sequence[str], allowed: Allowed, base: Row
    ) -> Iterator[tuple[Applied, bool]]:
        for kind in hidden:
            once = kind in allowed.once
            if not (once and candidate.done):
                for applied in self.stepper.apply(candidate, kind, base):
                    yield applied, once

    def _finish(self, made: Made, allowed: Allowed, base: Row) -> None:
        if allowed.must:
            expected = tuple(k for k in allowed.once if k in self.reading.observations)
            done = [c for c in self.candidates if c.done]
            if not done:
                reasons = self.stepper.why_not(self.candidates, [(k, base) for k in expected])
                raise Disagreed(Evidence(made, None, expected, not any(k in self.observed for k in expected)), reasons)
            self.candidates = done
        left = [(c, self.stepper.check(made, c, base)) for c in self.candidates]
        remaining = [c for c, reasons in left if not reasons]
        if not remaining:
            raise Disagreed(Evidence(made, None, self.followed.expected.get(made.call.name, ())), left[0][1])
        self.candidates = remaining

    def _clear_up(self, made: Made, messages: Sequence[Message]) -> None:
        """Remove what left the network, and what no event will name any more, from the candidates."""
        before = [c.state for c in self.candidates]
        states, taken = self.interpreter.clear_up(made, before, messages, self._step)
        if states is before:
            return
        self.coverage.guessed(self.reading.plain.spec.actions[name] for name in taken)
        self.candidates = self._distinct(c._replace(state=s) for c, s in zip(self.candidates, states, strict=True))

    def _step(self, state: State, action: str, parameters: Mapping[str, Any]) -> State | None:
        names = [name for name, _ in self.reading.plain.spec.actions[action].parameters]
        event = results.Event(action, {name: parameters[name] for name in names})
        return self.reading.plain.step(state, event) if self.reading.plain.enabled(state, event) else None

    def _distinct(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        given = list(candidates)
        return list({self._key(c): c for c in given}.values()) if len(given) > 1 else given

    def _key(self, candidate: Candidate) -> tuple[Any, ...]:
        """Return a key that is equal for equal candidates. Most values of a state are the same objects as in the state
        before."""
        return tuple(map(self._freeze, candidate.state.values())), candidate.memory, candidate.done

    def _freeze(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        frozen = self._frozen.get(id(value))
        if frozen is None or frozen[0] is not value:
            if len(self._frozen) > MOST_KEYS:
                self._frozen.clear()
            frozen = self._frozen[id(value)] = value, tuple(sorted(value.items()))
        return frozen[1]
