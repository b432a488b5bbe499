"""This module checks one history against the model event by event. The check is slow, exact for numbers of any size,
and able to report what was allowed instead."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import unlimited
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import Event, State
from fencepost.proofs.testing.readings import read_followed
from fencepost.proofs.testing.stepping import Candidate, Stepper
from fencepost.proofs.traces.observed import Check, Phase
from fencepost.properties.conformance_spec import Beyond, Contradiction, FalseConjunct, Followed
from fencepost.properties.driving import Event as EmittedEvent
from fencepost.properties.driving import read

Values = Mapping[str, int]


@dataclass(frozen=True)
class Stop:
    """A `Stop` is where a history stops fitting: the index of the event, the failed check, the state before it, and the
    initial state."""

    index: int
    check: Check
    state: State
    initial: State


class PlainReplay:
    """A `PlainReplay` replays histories with the plain reading. ``sizes`` has the number of members of each sort, by
    the name of its bound."""

    def __init__(self, spec: Spec, constants: Mapping[str, int], sizes: Mapping[str, int]) -> None:
        self.spec, self.constants, self.sizes = spec, constants, sizes
        self.plain = Plain(spec, dict(constants), unlimited(spec.types, sizes), ghosts=False)

    def stop(self, events: Sequence[tuple[tuple[Phase, ...] | None, Values]], strange: Check) -> Stop | None:
        """Return the first event that does not fit, or None. An event is its phases (None if its kind is unknown) and
        its columns."""
        state = initial = self.plain.initial()
        for index, (phases, values) in enumerate(events):
            if phases is None:
                return Stop(index, strange, state, initial)
            after: State = state
            for phase in phases:
                found = self._phase(phase, after, values)
                if isinstance(found, Check):
                    return Stop(index, found, state, initial)
                after = found
            state = after
        return None

    def allowed(self, state: State) -> Iterator[Event]:
        """Yield every step that the model could take in this state, with numbers up to one above the largest in the
        state."""
        entries = [entry.values() if isinstance(entry, dict) else [entry] for entry in state.values()]
        values = [value for entry in entries for value in entry]
        most = 1 + max((value for value in values if type(value) is int), default=0)
        bounds = unlimited(self.spec.types, self.sizes)
        near = {name: size if name in self.sizes else min(size, most) for name, size in bounds.items()}
        plain = Plain(self.spec, dict(self.constants), near, ghosts=False)
        for name in self.spec.actions:
            yield from (event for event in plain.events(name) if plain.enabled(state, event))

    def _phase(self, phase: Phase, state: State, values: Values) -> State | Check:
        if not self.plain.holds(phase.when, state, None, **values):
            return state
        for column, sort, check in phase.members:
            if values[column] >= self.sizes[sort.bound]:
                return check
        for condition, check in zip(phase.conditions, phase.checks, strict=True):
            if not self.plain.holds(condition, state, None, **values):
                return check
        if phase.action is None:
            return state
        parameters: dict[str, Any] = {name: values[column] for name, column in phase.parameters}
        after = self.plain.step(state, Event(phase.action, parameters))
        assert after is not None, f"{phase.action} left its bounds, though numbers have none here"
        return after


# Histories of which events leave something to choose: each is followed by itself, with the set of states in which the
# model may be.
#
# Driven runs are followed in the same way (`proofs/testing`), except that here every event was recorded.

MOST = 2_000
"""A history that leaves more candidate states than this open at one time is not decided."""


def follow(followed: Followed, events: Sequence[EmittedEvent], strange: Check) -> Stop | str:
    """Return where the model can no longer follow these events, or the reason why that is not decided, or an empty
    string if it follows them to their end. ``strange`` is the check that an event of unknown kind fails."""
    reading, interpreter = read_followed(followed), followed.interpreter()
    stepper, initial = Stepper(reading, interpreter), reading.plain.initial()
    candidates = [Candidate(initial, (), False)]
    for index, event in enumerate(events):
        kind = read(event, "kind")
        if kind not in reading.observations:
            return Stop(index, strange, candidates[0].state, initial)
        try:
            row = interpreter.row_of_event(event, [c.state for c in candidates])
        except Contradiction as impossible:
            return Stop(index, _check(followed, impossible.conjunct), candidates[0].state, initial)
        except Beyond as reason:
            return str(reason)
        after = [applied.candidate for c in candidates for applied in stepper.apply(c, kind, row)]
        if not after:
            false = stepper.why_not(candidates, [(kind, row)])[0]
            return Stop(index, _check(followed, false), candidates[0].state, initial)
        if len(after) > MOST:
            return f"more than {MOST} states fit what was seen"
        candidates = after if len(after) == 1 else list({_key(c): c for c in after}.values())
    return ""


def _check(followed: Followed, false: FalseConjunct) -> Check:
    action = false.action if false.action in followed.spec.actions else None
    return Check("guard" if action else "before", false.text, false.rule or None, action)


def _key(candidate: Candidate) -> Any:
    values = candidate.state.values()
    return tuple(tuple(sorted(v.items())) if isinstance(v, dict) else v for v in values), candidate.memory
