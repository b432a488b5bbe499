"""Histories of which events leave something to choose: each is followed by itself, with the set of states in which the
model may be.

It is how driven runs are followed (`proofs/testing`), but for what a driver knows: every event is one that was shown.
"""

from collections.abc import Sequence
from typing import Any

from fencepost.proofs.testing.readings import read_followed
from fencepost.proofs.testing.stepping import Candidate, Stepper
from fencepost.proofs.traces.interpreted import Stop
from fencepost.proofs.traces.observed import Check
from fencepost.properties.conformance_spec import Beyond, Contradiction, FalseConjunct, Followed
from fencepost.properties.driving import Event, read

MOST = 2_000
"""States at one time: a history that leaves more open is not decided."""


def follow(followed: Followed, events: Sequence[Event], strange: Check) -> Stop | str:
    """Where the model follows these events no further, or the reason why that is not decided; empty where it follows
    them to their end.  ``strange``: the check that an event of no known kind fails."""
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
    """What is false, as a check of an event (`observed.py`)."""
    action = false.action if false.action in followed.spec.actions else None
    return Check("guard" if action else "before", false.text, false.rule or None, action)


def _key(candidate: Candidate) -> Any:
    values = candidate.state.values()
    return tuple(tuple(sorted(v.items())) if isinstance(v, dict) else v for v in values), candidate.memory
