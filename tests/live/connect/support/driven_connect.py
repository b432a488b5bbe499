"""What tests and campaigns share that drive a real Connect: a system with its events, and searches in which a program
that fails as a finding says ends, and others follow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from fencepost.proofs.testing.engine import reach
from fencepost.proofs.testing.failures import Disagreed
from fencepost.proofs.testing.observing import Outside
from fencepost.proofs.testing.search import Failure, Search
from fencepost.properties.conformance_spec import on_a_cluster
from fencepost.properties.driving import Program, Run, read
from fencepost.properties.task_counts.scenarios.steps import Seen

REMOVED = "a removed task is started again"
OPEN, EMPTY = "a round fails over an open transaction", "an abort without records is left for the next batch"
ZOMBIES = {"618.P1", "618.P3", "618.19"}
"""What is broken where a task that the newest set has not is started again."""
STARTED = re.compile(
    r"task starting [^:]* task (\d+),[^:]*: not a whole set with this task: set written [^:]* count (\d+),"
)
"""How a recording says that such a task has started, even if it comes to nothing: the number of the task, and how many
the set has."""
CLAIMED = "assign needs if set = generation then task < size"
"""What is false in the model where such a task starts."""
HIDDEN, COPIED = "an own offsets topic hides the worker's offsets", "the worker's copy comes before the commit"
TAKEN = "source-offsets/shipped-own-topic-taken"
LACKS = "the worker's topic lacks what was committed"
"""No finding: copies that are late, or refused, are missing when the connector's own topic is taken away."""
REPEATS = {"source-offsets/shipped-own-topic-later": HIDDEN, TAKEN: LACKS}
"""Why a variant commits records twice, as its model does."""
LOST = ("left out", "not in the committed output", "that is committed is", "nothing is committed")
"""What history properties say of records that are lost."""
FAILED = re.compile(r"task (?P<task>\d+)(?: of connector (?P<connector>\d+))? fails, and nothing went wrong")
TRACES = {
    "ConcurrentTransactionsException": OPEN,
    "ConnectRestException: Failed to perform zombie fencing": OPEN,
    "IllegalStateException": EMPTY,
}
"""Why a task is FAILED of which nothing had gone wrong. Where another worker leads, its answer has not the cause."""


class Driven:
    """A system, with all its events so far."""

    def __init__(self, system: Any) -> None:
        self.system, self.events = system, list[dict[str, Any]]()

    def of(self, kind: str, **columns: int) -> list[dict[str, Any]]:
        self.events += self.system.drain_events()
        return [e for e in self.events if e["kind"] == kind and columns.items() <= e.items()]

    def waiting(self, *where: int) -> list[str]:
        """The operations that wait, the oldest first; ``where``: what follows the operation in a thread."""
        return [thread[1] for thread in self.system.threads() if thread[2 : 2 + len(where)] == where]

    def step(self, operation: str, outcome: str = "ok") -> None:
        number = next(thread[0] for thread in self.system.threads() if thread[1] == operation)
        assert self.system.step(number, outcome) is not False


class Counted(Outside):
    """A system seen from outside, whose operations are counted."""

    def __init__(self, system: Any, kinds: frozenset[str], count: Counter[str]) -> None:
        super().__init__(system, kinds)
        self._count = count

    def step(self, number: int, outcome: str = "ok") -> Any:
        self._count["operations"] += 1
        return self._system.step(number, outcome)


class LiveSearch(Search):
    """A `LiveSearch` drives a variant of a protocol on a cluster of Connect, ``config`` being the factory's. What a
    finding says of the release ends a program, and is counted in ``known``; any other failure ends the search."""

    def __init__(self, protocol: str, variant: str, config: Mapping[str, Any], known: Collection[str] = ()) -> None:
        agreeing = on_a_cluster(protocol)
        assert agreeing is not None
        make, _ = reach(agreeing.implementation)
        self.count, self.known, self._findings = Counter[str](), Counter[str](), known
        self.texts: dict[str, str] = {}  # what the first of each finding broke

        def made(config: Mapping[str, Any]) -> Counted:
            return Counted(make(config), agreeing.black_box, self.count)

        super().__init__(agreeing, made, variant, config, frozenset(), agreeing.black_box, ())

    def drive(self, play: Callable[[Any], object]) -> None:
        """Drive one program, which ``play`` begins with the machine that draws programs, and which ends as they do."""
        machine: Any = type("Driving", (self.agreeing.machines[self.variant],), {"session": self})()
        with suppress(Disagreed):
            play(machine)
            machine.teardown()
        self.account()

    def start(self, config: Mapping[str, Any]) -> Run:
        self._run_now = super().start(config)
        return self._run_now

    def _fails(self, failure: Failure) -> None:
        finding = finding_of(failure, self._run_now.system, f"{self.agreeing.protocol}/{self.variant}")
        if finding not in self._findings:
            super()._fails(failure)
            return
        self.known[finding] += 1
        self.texts.setdefault(finding, str(failure.disagreed))

    @property
    def not_allowed(self) -> list[str]:
        """What the model did not allow, but for the start of a removed task."""
        of_all = [str(each) for found in self.differences.values() for each in found.disagreed.conjuncts]
        return [each for each in of_all if CLAIMED not in each]


def finding_of(failure: Failure, system: Any, variant: str) -> str:
    """The finding that a failure of a program is, "" where it is none that this can tell."""
    promises = failure.disagreed.promises
    text = "; ".join(each.text for each in failure.disagreed.conjuncts)
    recorded = STARTED.search(text)
    if (recorded and int(recorded[1]) >= int(recorded[2])) or (
        promises and promises <= ZOMBIES and _is_removed(failure)
    ):
        return REMOVED
    is_lost = promises == {"618.P2"} and any(words in text for words in LOST)
    if is_lost and variant not in REPEATS and _aborts_empty(failure.program):
        return EMPTY
    if variant in REPEATS and promises == {"618.P2"}:
        return COPIED * (variant == TAKEN) if is_lost else REPEATS[variant]
    if failed := FAILED.fullmatch(text):
        _, trace = system.status(int(failed["connector"] or 0), int(failed["task"]))
        found = next((finding for why, finding in TRACES.items() if why in trace), "")
        if not found:
            print(f"no finding says why {failed[0]}: {trace}")
        return found
    return ""


def _aborts_empty(program: Program) -> bool:
    asked = [call for call in program.calls if call.name == "ask_boundary"]
    return bool(program.config.get("empty")) and any(not call.get("commit") for call in asked)


def _is_removed(failure: Failure) -> bool:
    """Whether no promise is broken but by instances of tasks that the newest set does not have."""
    seen, bad = Seen(failure.program.config), failure.disagreed.evidence.event
    if bad is None:
        return False
    for event in (each for made in failure.made for each in made.events):
        seen.note(event)
        if event is bad:
            break
    connector, topic = read(bad, "connector"), seen.topics[read(bad, "connector")]
    late = [
        one for one in seen.running(connector)
        if one.set < topic.polled or (one.number, True) == (read(bad, "instance", -1), one.set < topic.newest)
    ]  # fmt: skip
    return bool(late) and all(one.task >= topic.sets[topic.newest] for one in late)
