"""What a disagreement is: the first event that no state of the model explains, and the conditions that were in its
way; or the first that breaks a promise."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.properties.conformance_spec import FalseConjunct
from fencepost.properties.driving import Made, columns_of, event_text, read

_NUMBERS = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Evidence:
    """Where it happened: in this call, at this event; or at its end (None), because none of the kinds ``expected``
    happened.

    ``unseen``: the implementation does not show those kinds anyway; by the model they can't have happened.  ``check``:
    Python that the result of the call should have fulfilled.  ``other``: an earlier event, with which it does not go
    together.
    """

    made: Made
    event: Any
    expected: tuple[str, ...]
    unseen: bool = False
    check: str = ""
    other: Any = None

    def __str__(self) -> str:
        if self.event is not None:
            return f"{event_text(self.event, self.made.call.columns)} in {self.made.text}"
        if self.made.error is not None:
            return f"{self.made.text} raised {self.made.error!r}"
        if self.check:
            return f"{self.made.text} returned {self.made.result!r}"
        if self.unseen:
            return f"{self.made.text} returned {self.made.result!r}, and the model has no such step here"
        return f"{self.made.text} returned {self.made.result!r} without {' or '.join(self.expected)}"


class Disagreed(Exception):
    """No state of the model fits."""

    def __init__(self, evidence: Evidence, conjuncts: tuple[FalseConjunct, ...]) -> None:
        super().__init__(str(evidence))
        self.evidence, self.conjuncts = evidence, conjuncts

    @property
    def promises(self) -> frozenset[str]:
        """The rule numbers of the promises that are broken."""
        return frozenset(c.rule for c in self.conjuncts if c.action == "promise")

    @property
    def reason(self) -> tuple[Any, ...]:
        """What is wrong, in words without numbers: programs that fail for the same reason have it in common.  Of a
        promise, which and how; else the event that no state of the model explains, or those that are missing."""
        evidence = self.evidence
        broken = tuple((c.rule, _NUMBERS.sub("", c.text)) for c in self.conjuncts if c.action == "promise")
        if broken or evidence.made.error is not None:
            return (*broken, type(evidence.made.error).__name__)
        return read(evidence.event, "kind") if evidence.event is not None else "", evidence.expected


@dataclass(frozen=True)
class Happened:
    """A call as it was made, and the events that came of it, each with its kind and what it fills; ``bad``: the place
    of the event that is wrong, -1 if it is the call, None if neither."""

    call: str
    events: tuple[tuple[str, Mapping[str, int]], ...]
    bad: int | None = None


def happened(made: Made, bad: "Evidence") -> Happened:
    """``bad``: where it went wrong, in this call or in another."""
    place = None
    if made is bad.made:
        place = next((n for n, event in enumerate(made.events) if event is bad.event), -1)
    told = tuple((str(read(event, "kind")), columns_of(event, made.call.columns)) for event in made.events)
    return Happened(made.text, told, place)


@dataclass(frozen=True)
class Disagreement:
    """The failure of an implementation, after shrinking.

    ``program`` is Python that fails by itself; ``first_bad`` says where; ``conjuncts`` are those false in the nearest
    step that the model allows; ``promise`` names the promise that the program breaks, if it does, and ``consequence``
    what comes of going on.  ``again``: in how many of how many tries it failed again, where chance has a part in it.
    ``run``: its calls, with the events that came of them.  ``remark``: why the reference implementation does not pass
    the program, if so.  ``left``: shorter programs were left untried.
    """

    first_bad: str
    conjuncts: tuple[FalseConjunct, ...]
    promise: str
    consequence: str
    calls: int
    program: str
    again: tuple[int, int] | None = None
    run: tuple[Happened, ...] = ()
    remark: str = ""
    left: bool = False

    @property
    def rules(self) -> tuple[str, ...]:
        """Rule numbers of the false conditions."""
        return tuple(dict.fromkeys(c.rule for c in self.conjuncts if c.rule))

    def __str__(self) -> str:
        lines = [f"first bad event: {self.first_bad}"]
        if not self.promise or any(c.action != "promise" for c in self.conjuncts):
            lines += ["the nearest step of the model is barred by"]
            lines += [f"  {c}" for c in self.conjuncts] or ["  nothing: the model has no such step"]
        lines += [f"promise broken: {self.promise}"] if self.promise else []
        lines += [f"going on: {self.consequence}"] if self.consequence else []
        lines += [self.remark] if self.remark else []
        lines += ["the program is perhaps not the shortest: shrinking it further takes too long"] if self.left else []
        if self.again is not None and self.again[0] < self.again[1]:
            failed, tries = self.again
            how = f"not every time: run again, the program failed in {failed} of {tries} tries"
            lines.append(how if failed else f"not again: the program was run {tries} more times, and did not fail once")
        return "\n".join(lines)
