"""What a disagreement is: the first event that no state of the model explains, and the conditions that were in its
way."""

from dataclasses import dataclass
from typing import Any

from fencepost.model.rules import RULES
from fencepost.properties.id_blocks.programs import Made, event_text


@dataclass(frozen=True)
class FalseConjunct:
    """A condition of the nearest step that was not fulfilled.  ``rule`` is its number or empty; ``text`` has the
    values in it."""

    action: str
    rule: str
    text: str

    def __str__(self) -> str:
        says = f"  [{self.rule}: {RULES[self.rule].says}]" if self.rule in RULES else ""
        return f"{self.action}: {self.text}{says}"


@dataclass(frozen=True)
class Evidence:
    """Where it happened: in this call, at this event; or at its end (None), because none of the kinds ``expected``
    happened.

    ``unseen``: the implementation does not show those kinds anyway; by the model they can't have happened.
    """

    made: Made
    event: Any
    expected: tuple[str, ...]
    unseen: bool = False

    def __str__(self) -> str:
        if self.event is not None:
            return f"{event_text(self.event)} in {self.made.text}"
        if self.made.error is not None:
            return f"{self.made.text} raised {self.made.error!r}"
        if self.unseen:
            return f"{self.made.text} returned {self.made.result!r}, and the model has no such step here"
        return f"{self.made.text} returned {self.made.result!r} without {' or '.join(self.expected)}"


class Disagreed(Exception):
    """No state of the model fits."""

    def __init__(self, evidence: Evidence, conjuncts: tuple[FalseConjunct, ...]) -> None:
        super().__init__(str(evidence))
        self.evidence, self.conjuncts = evidence, conjuncts


class Broke(Exception):
    """A promise is broken by what was seen, whatever the model says."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule, self.text = rule, text


@dataclass(frozen=True)
class Disagreement:
    """The failure of an implementation, after shrinking.

    ``program`` is Python that fails by itself; ``first_bad`` says where; ``conjuncts`` are those false in the nearest
    step that the model allows; ``promise`` names the promise that the program breaks, if it does, and ``consequence``
    what comes of going on.
    """

    first_bad: str
    conjuncts: tuple[FalseConjunct, ...]
    promise: str
    consequence: str
    calls: int
    program: str

    @property
    def rules(self) -> tuple[str, ...]:
        """Rule numbers of the false conditions."""
        return tuple(dict.fromkeys(c.rule for c in self.conjuncts if c.rule))

    def __str__(self) -> str:
        lines = [f"first bad event: {self.first_bad}", "the nearest step of the model is barred by"]
        lines += [f"  {c}" for c in self.conjuncts] or ["  nothing: the model has no such step"]
        lines += [f"promise broken: {self.promise}"] if self.promise else []
        lines += [f"going on: {self.consequence}"] if self.consequence else []
        return "\n".join(lines)
