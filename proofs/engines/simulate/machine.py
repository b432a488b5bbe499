"""The machine: a Hypothesis state machine made of any model, that walks through it at random.

Plain, it is as one would write it by hand: a rule for each action, with a precondition.  Aimed, examples may set out
from runs that are known already, prefer what can seldom happen, and report to Hypothesis how near they came to what is
looked for (``hypothesis.target``), so that it tries more of what came near.
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
    """The search is over.  No Exception, so that Hypothesis does not take it for a failure of the example."""


@dataclass
class Session:
    """State that the examples of one search share.  ``runs``: from which they set out; ``weights``, ``distances``: None
    and empty where they are not aimed so; ``most``: steps; ``limit``: examples; ``taken``: steps made so far, those of
    the runs at the start included."""

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
        """A new example at the end of one of the runs."""
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
    """Subclasses have the session, and the rules by which steps are chosen."""

    session: Session
    walk: Walk
    _at = -1

    @initialize(data=st.data())
    def set_out(self, data: Any) -> None:
        # Every other one from the very start, where the shallow mistakes are.
        runs = len(self.session.runs)
        which = data.draw(st.integers(0, 2 * runs - 1)) if runs > 1 else 0
        self.walk = self.session.begin(which if which < runs else 0)

    def possible(self) -> list[Step]:
        """The steps that are possible next; each rule asks for them before each step."""
        if self._at != len(self.walk.events):
            self._at, self._possible = len(self.walk.events), self.session.walker.steps(self.walk)
        return self._possible

    @precondition(lambda self: not self.possible())
    @rule()
    def rest(self) -> None:
        """Nothing can happen any more; Hypothesis wants something to do."""

    def teardown(self) -> None:
        session = self.session
        if session.distances and hasattr(self, "walk"):
            walk = self.walk
            steps = list(zip(walk.states, walk.states[1:], strict=False)) or [(walk.state, walk.state)]
            for name, far in session.distances.items():
                target(-float(min(far(before, after) for before, after in steps)), label=name)


def machine(session: Session) -> type[Wanderer]:
    """The state machine of a session's model: by weights if it has any, else with a rule for each action."""
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
