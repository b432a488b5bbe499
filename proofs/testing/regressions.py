"""Regressions: the runs of the model by which rules were found necessary, as programs for any implementation.

Each kept run breaks a property of a model in which one rule is got wrong.  Led along it, an implementation that gets
the same rule wrong comes to where that shows, and one that is right does not.  A run is turned into calls step by step;
one with a step for which there is no call is left out, and counted by that step.
"""

import ast
import re
from collections import Counter
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from fencepost.proofs.necessity.kept import EVENT, read_runs
from fencepost.properties.conformance_spec import Agreeing
from fencepost.properties.driving import Program
from fencepost.properties.registry import folder

Steps = list[tuple[str, dict[str, Any]]]


@dataclass
class Regressions:
    """``runs``: how many are kept; ``turned``: how many of them became ``programs``, of which some are the same;
    ``left``: for each step that has no call, how many runs were left out for it."""

    runs: int = 0
    turned: int = 0
    programs: list[Program] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """In words."""
        why = ", ".join(f"{step} ({count} times)" for step, count in self.left.most_common())
        said = f"{self.turned} of {self.runs} kept runs are turned into {len(self.programs)} different programs"
        return said + (f"; there is no call for {why}" if why else "")

    @property
    def as_dict(self) -> dict[str, Any]:
        return {"runs": self.runs, "turned": self.turned, "programs": len(self.programs), "left": dict(self.left)}


def regressions(agreeing: Agreeing) -> Regressions:
    """All kept runs of a protocol as programs, the shortest first."""
    found, programs = Regressions(), dict[str, Program]()
    kept = Path(str(files("fencepost.properties"))) / folder(agreeing.protocol) / "kept"
    for file in sorted(kept.glob("killers-*.json")):
        for run in read_runs(file):
            found.runs += 1
            config, calls, lacking = agreeing.turned([_step(text) for text in run.steps])
            if lacking or not calls:
                found.left[lacking or "any step of it"] += 1
                continue
            found.turned += 1
            program = Program({**agreeing.small, **config}, tuple(calls))
            programs[repr(program)] = program
    found.programs = sorted(programs.values(), key=lambda program: (len(program.calls), repr(program)))
    return found


def _step(text: str) -> tuple[str, dict[str, Any]]:
    """The action and the parameters of a step as it is printed."""
    matched = EVENT.fullmatch(text)
    if matched is None:
        raise ValueError(f"{text!r} is no step of a run")
    return matched[1], {name: ast.literal_eval(value) for name, value in re.findall(r"(\w+)=([^,]+)", matched[2])}
