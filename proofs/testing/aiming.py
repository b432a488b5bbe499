"""This module drives programs that are aimed at actions of the model which no run of a search has taken.

A program sets out from the one that came nearest to such an action, where nearest means that most conditions of the
action's guards held together in the model's state, and goes on by random calls. A driver with scenarios of its own
plays further examples instead, as random calls need not fulfil the assumptions of its promises.
"""

from collections.abc import Sequence
from itertools import islice, product
from random import Random
from typing import Any

from fencepost.model.language.protocol import Action
from fencepost.model.language.tree.terms import conjuncts
from fencepost.proofs.results import State
from fencepost.proofs.testing.readings import Driven
from fencepost.proofs.testing.search import Enough, Search, Unreachable, Watch
from fencepost.properties.driving import Call, Run
from fencepost.properties.emitted_events import EMISSIONS, EmittedEvents
from fencepost.properties.free_run import at_random

FRESH = 4
"""One program of this many sets out from nothing."""
DEEPER = 4
"""A program that sets out anew has up to this many times the steps of an example."""
LEAST = 100
"""This many programs of single calls may always be aimed, as they take less than a second."""
LEAST_PLAYED, AT_ONCE = 20, 5
"""This many further examples may always be played where the driver has scenarios, so many before it is looked again."""


def untried(search: Search) -> list[str]:
    """Return the actions of the followed model that no run has taken (`Coverage.unreached`), without those that no
    event can be (`Followed.observable`), those that no history has (`EmittedEvents.never`), and those that the caller
    leaves out."""
    protocol = search.agreeing.protocol
    if search.agreeing.follow is None:
        return []
    emitted = EMISSIONS[protocol].values() if protocol in EMISSIONS else ()
    of_variant = (each for each in emitted if isinstance(each, EmittedEvents) and each.mode == search.variant)
    unseen = {name for each in of_variant for name in each.never}
    observable = search.coverage.observable - unseen - search.left_out
    return [name for name in search.coverage.unreached() if name in observable]


def aim(search: Search, seed: int, programs: int, steps: int) -> None:
    """Drive up to so many further programs of this many steps, until every action was taken or something fails. Raise
    the error of brokers that are out of reach."""
    wanted, last = untried(search), search.examples + programs
    if search.agreeing.calls_alone:
        aimed, last = _Aimed(search, wanted, Random(seed), steps), max(last, search.examples + LEAST)
        try:
            while aimed.wanted and search.examples < last:
                aimed.drive(aimed.wanted[search.examples % len(aimed.wanted)])
        except Enough:
            return
        except Unreachable as gone:
            raise gone.error from None
        return
    last = max(last, search.examples + LEAST_PLAYED)
    while wanted and search.examples < last and not search.failures:
        before, seed = search.examples, seed + 1
        search.search(seed, min(search.examples + AT_ONCE, last), steps, None)
        wanted = untried(search) if search.examples > before else []


class _Aimed:
    def __init__(self, search: Search, wanted: list[str], chance: Random, steps: int) -> None:
        self.search, self.chance, self.steps = search, chance, steps
        self.never = wanted
        self.configs = [{**search.agreeing.small, **search.config}, *search.configs]
        self.nearest: dict[str, tuple[int, Run, int]] = {}  # the guards that held, in which run, after how many calls

    @property
    def wanted(self) -> list[str]:
        return [name for name in self.never if not self.search.coverage.actions[name]]

    def drive(self, name: str) -> None:
        """Drive one program that is aimed at this action."""
        search, chance = self.search, self.chance
        config, calls = chance.choice(self.configs), list[Call]()
        if name in self.nearest and chance.randrange(FRESH):
            _, before, length = self.nearest[name]
            config, calls = before.config, before.tried[: length - chance.randrange(2)]
        run = search.start(config)
        for call in calls:
            search.call(run, call)
        further = at_random(search.agreeing.call, run.system, run.config, chance.randrange(2**32))
        for call in islice(further, chance.randint(self.steps, DEEPER * self.steps)):
            if run.over:
                break
            search.call(run, call)
            self._look(run)
        search.account()

    def _look(self, run: Run) -> None:
        """Note how near the run has come to each action that is wanted."""
        assert isinstance(run.watcher, Watch)
        for tracker in () if run.over else run.watcher.trackers:
            state, stepper = tracker.candidates[0].state, tracker.stepper
            for name in () if tracker.beyond else self.wanted:
                action = stepper.plain.spec.actions[name]
                choices = product(*(stepper.interpreter.some(kind, state) for _, kind in action.parameters))
                held = max((_held(stepper.plain, action, state, values) for values in choices), default=0)
                if held > self.nearest.get(name, (0, run, 0))[0]:
                    self.nearest[name] = held, run, len(run.tried)


def _held(plain: Driven, action: Action, state: State, values: Sequence[Any]) -> int:
    """Return how many conditions of an action's guards hold together, for these values of its parameters."""
    row = {name: value for (name, _), value in zip(action.parameters, values, strict=True)}
    parts = (part for guard in action.guards for part in conjuncts(guard.condition))
    return sum(bool(plain.value(part, state, **row)) for part in parts)
