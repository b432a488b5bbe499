"""Weights: which of the steps that may happen is taken, learned from what earlier walks came by.

An action that can seldom happen is seized when it can.  Weights change between rounds only, since Hypothesis expects
the same choices to lead to the same run.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from fencepost.proofs.engines.simulate.walks import Step

FINE = 1 << 16
"""One choice is a number below this."""


class Weights:
    """``possible``: in how many states an action could happen; ``states``: how many there were."""

    def __init__(self, actions: Sequence[str]) -> None:
        self.possible: Counter[str] = Counter()
        self.states = 0
        self.of = dict.fromkeys(actions, 1.0)

    def saw(self, steps: Sequence[Step]) -> None:
        self.states += 1
        self.possible.update({event.action for event, _ in steps})

    def learn(self) -> None:
        """By how seldom an action can happen; one that never could counts as if it once had."""
        for action in self.of:
            self.of[action] = (self.states / (1 + self.possible[action])) ** 0.5 if self.states else 1.0

    def pick(self, steps: Sequence[Step], number: int) -> Step:
        """The step that a number from 0 below ``FINE`` stands for.  An action's weight is shared by its instances."""
        many = Counter(event.action for event, _ in steps)
        ends = list(accumulate(self.of[event.action] / many[event.action] for event, _ in steps))
        at = number / FINE * ends[-1]
        return next(step for step, end in zip(steps, ends, strict=True) if at < end)
