"""This module has the examples of one search, and makes of a model a Hypothesis state machine, for walks with targets.

An example sets out from the initial state or a known run, and takes steps at random. Where it reports to Hypothesis how
near it came to the goal (``hypothesis.target``), Hypothesis chooses the steps, and tries more of what came near.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from fencepost.proofs.engines.simulate.distance import Distance
from fencepost.proofs.engines.simulate.walks import FINE, Run, Step, Walk, Walker, Weights, evenly
from hypothesis import strategies as st
from hypothesis import target
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule


class Over(BaseException):
    """This signal ends the search, and is no Exception, so that Hypothesis does not report a failure."""


@dataclass
class Session:
    """A `Session` has the state that the examples of one search share. ``runs`` has the runs from which they set out.
    ``weights`` is None and ``distances`` is empty where they are not aimed in that way. ``most`` limits the steps.
    ``taken`` counts the steps so far, including those of the runs at the start."""

    walker: Walker
    most: int
    runs: Sequence[Run] = ((),)
    weights: Weights | None = None
    distances: Mapping[str, Distance] = field(default_factory=dict)
    taken: int = 0
    examples: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    broken: tuple[Walk, str] | None = None
    over: bool = False
    _begun: dict[int, tuple[Walk, str | None]] = field(default_factory=dict)

    def begin(self, which: int) -> Walk:
        """Begin a new example at the end of one of the runs."""
        self.examples += 1
        if which not in self._begun:
            self._begun[which] = self.walker.follow(self.runs[which], helping=True)
        known, broken = self._begun[which]
        self.count([event.action for event in known.events])
        if broken is not None:
            self._found(known, broken)
        return Walk(list(known.states), list(known.events), Counter(known.spent), len(known.events))

    def set_out(self, number: int) -> Walk:
        """Begin the example that a number from 0 below ``FINE`` selects. Every other one begins at the initial state,
        where shallow mistakes are."""
        return self.begin(max(0, number * 2 * len(self.runs) // FINE - len(self.runs)))

    def step(self, walk: Walk, steps: Sequence[Step], number: int) -> None:
        """Take the step that a number from 0 below ``FINE`` selects."""
        if self.weights is None:
            self.take(walk, evenly(steps, number))
        else:
            self.weights.saw(steps)
            self.take(walk, self.weights.pick(steps, number))

    def take(self, walk: Walk, step: Step) -> None:
        self.count([step.event.action])
        broken = self.walker.take(walk, step)
        if broken is not None:
            self._found(walk, broken)

    def count(self, actions: Sequence[str]) -> None:
        self.actions.update(actions)
        self.taken += len(actions)
        if self.taken >= self.most:
            self.end()

    def end(self) -> NoReturn:
        self.over = True
        raise Over

    def _found(self, walk: Walk, broken: str) -> None:
        self.broken = walk, broken
        self.end()


class Wanderer(RuleBasedStateMachine):
    """A `Wanderer` is the base of machines, which have the session."""

    session: Session
    walk: Walk

    @initialize(number=st.integers(0, FINE - 1))
    def set_out(self, number: int) -> None:
        self.walk = self.session.set_out(number)

    def possible(self) -> Sequence[Step]:
        return self.session.walker.steps(self.walk)

    @precondition(lambda self: bool(self.possible()))
    @rule(number=st.integers(0, FINE - 1))
    def step(self, number: int) -> None:
        self.session.step(self.walk, self.possible(), number)

    @precondition(lambda self: not self.possible())
    @rule()
    def rest(self) -> None:
        """Do nothing. Hypothesis needs a rule that can run when no step is possible any more."""

    def teardown(self) -> None:
        session = self.session
        if session.distances and hasattr(self, "walk"):
            walk = self.walk
            steps = list(zip(walk.states, walk.states[1:], strict=False)) or [(walk.state, walk.state)]
            for name, far in session.distances.items():
                target(-float(min(far(before, after) for before, after in steps)), label=name)


def machine(session: Session) -> type[Wanderer]:
    """Return the state machine of a session's model."""
    return type("Wanderer", (Wanderer,), {"session": session})
