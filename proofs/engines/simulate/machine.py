"""This module makes a Hypothesis state machine of any model, which walks through it at random.

The plain machine has a rule for each action, with a precondition, as one would write it by hand. In an aimed one,
examples may set out from known runs, prefer actions that are seldom possible, and report to Hypothesis how near they
came to the goal (``hypothesis.target``), so that it tries more of what came near.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from fencepost.proofs.engines.simulate.distance import Distance
from fencepost.proofs.engines.simulate.walks import FINE, Run, Step, Walk, Walker, Weights
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

    def take(self, walk: Walk, step: Step) -> None:
        self.count([step[0].action])
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
    """A `Wanderer` is the base of machines, which have the session, and the rules that choose steps."""

    session: Session
    walk: Walk
    _at = -1

    @initialize(data=st.data())
    def set_out(self, data: Any) -> None:
        # Every other example begins at the initial state, where shallow mistakes are.
        runs = len(self.session.runs)
        which = data.draw(st.integers(0, 2 * runs - 1)) if runs > 1 else 0
        self.walk = self.session.begin(which if which < runs else 0)

    def possible(self) -> list[Step]:
        if self._at != len(self.walk.events):
            self._at, self._possible = len(self.walk.events), self.session.walker.steps(self.walk)
        return self._possible

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
    """Return the state machine of a session's model, which chooses by weights if there are any, else by rules."""
    rules = {"step": _by_weight(session.weights)} if session.weights else _by_rules(session)
    return type("Wanderer", (Wanderer,), {"session": session, **rules})


def _by_weight(weights: Weights) -> Any:
    @precondition(lambda self: bool(self.possible()))
    @rule(number=st.integers(0, FINE - 1))
    def step(self: Wanderer, number: int) -> None:
        steps = self.possible()
        weights.saw(steps)
        self.session.take(self.walk, weights.pick(steps, number))

    return step


def _by_rules(session: Session) -> dict[str, Any]:
    def of(action: str) -> Any:
        def mine(machine: Wanderer) -> list[Step]:
            return [step for step in machine.possible() if step[0].action == action]

        @precondition(lambda self: bool(mine(self)))
        @rule(data=st.data())
        def step(self: Wanderer, data: Any) -> None:
            steps = mine(self)
            self.session.take(self.walk, steps[data.draw(st.integers(0, len(steps) - 1)) if len(steps) > 1 else 0])

        return step

    return {f"do_{action}": of(action) for action in session.walker.spec.actions}
