"""One search: every example is a cluster that is driven and held against the model, until one disagrees or the examples
are used up."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fencepost.properties.id_blocks.driving import Run
from fencepost.properties.id_blocks.machine import MACHINES
from fencepost.properties.id_blocks.monitor import Monitor
from fencepost.properties.id_blocks.plug import BLACK_BOX, Factory, Message, read
from fencepost.properties.id_blocks.programs import Call, Made, Program
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.database import ExampleDatabase
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from .coverage import Coverage
from .failures import Disagreed, Evidence, FalseConjunct
from .readings import read_variant
from .tracker import Tracker

FAILURES, FURTHER = 6, 15
"""After the first failing example, so many failures or further examples end the search."""


class Watch:
    """The tracker and the monitor of one run."""

    def __init__(self, variant: str, config: Mapping[str, Any], observed: frozenset[str], coverage: Coverage) -> None:
        reading = read_variant(variant, config["brokers"], config["block_size"], config["max_id"])
        self.tracker = Tracker(reading, observed, coverage)
        self.monitor = Monitor(config["max_id"] + (variant != "kraft"))  # ZooKeeper may give the id max_id away

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        if made.error is not None:
            raise Disagreed(Evidence(made, None, ()), (FalseConjunct("plug", "", f"the call raised {made.error!r}"),))
        self.monitor.feed(made.events)
        if made.call.name == "init_producer_id" and not any(read(e, "kind") == "id_handed_out" for e in made.events):
            error, producer_id = made.result
            self.monitor.feed(
                [] if error else [{"kind": "id_handed_out", "broker": made.call.broker, "producer_id": producer_id}]
            )
        self.tracker.watch(made, messages)
        if self.monitor.broken:
            raise Disagreed(Evidence(made, None, ()), (FalseConjunct("promise", "", self.monitor.broken),))


@dataclass
class Failure:
    """A program that disagrees, as run."""

    program: Program
    run: Run
    watch: Watch
    disagreed: Disagreed


class Enough(BaseException):
    """The search is over: enough has been found.  No Exception, so that Hypothesis does not take it for a failure of
    the example."""


SMALL: Mapping[str, Any] = dict(seed=0, brokers=2, controllers=3, block_size=2, max_id=8, prefetch=0.0)
"""A cluster on which everything can be tried."""


class Search:
    """Runs examples on one implementation, and a few more after the first that fails: the next may have a shorter
    program in it.

    Shrinking is done afterwards and without Hypothesis, call by call.
    """

    def __init__(
        self, factory: Factory, variant: str, config: Mapping[str, Any], observed: frozenset[str] | None,
        prefixes: Sequence[Sequence[Call]],
    ) -> None:  # fmt: skip
        self.factory, self.variant, self.config = factory, variant, {**config, "mode": variant}
        self.prefixes = [tuple(p) for p in prefixes]
        self.coverage = Coverage()
        self.examples = 0
        self.examples_to_failure = 0
        self.failures: list[Failure] = []
        self.at_once = False
        self.observed = self._probe() if observed is None else observed | BLACK_BOX

    def search(self, seed_number: int, max_examples: int, steps: int, database: ExampleDatabase | None) -> None:
        """Drive examples.  Leaves the failures, the numbers of examples and the coverage in this object.

        With a database the first failure ends the search, and is tried first the next time.
        """
        self.at_once = database is not None
        machine = type(f"{self.variant.title()}Machine", (MACHINES[self.variant],), {"session": self})
        chosen = settings(
            max_examples=max_examples, stateful_step_count=steps, deadline=None, database=database,
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate), report_multiple_bugs=False,
            print_blob=False, derandomize=False,
        )  # fmt: skip
        with warnings.catch_warnings(), suppress(Enough, Disagreed):
            warnings.simplefilter("ignore")
            try:
                run_state_machine_as_test(seed(seed_number)(machine), settings=chosen)
            except Flaky:
                if not self._is_enough():  # else Hypothesis only says that an example was cut short, as it was
                    raise

    def _is_enough(self) -> bool:
        return len(self.failures) >= FAILURES or (
            bool(self.failures) and self.examples >= self.examples_to_failure + FURTHER
        )

    def start(self, config: Mapping[str, Any]) -> Run:
        """A watched cluster for the next example; the examples take turns with the prefixes, if there are any."""
        if self._is_enough():
            raise Enough
        self.examples += 1
        run = Run(self.factory, config, Watch(self.variant, config, self.observed, self.coverage))
        if self.prefixes:
            choices = [(), *self.prefixes]
            for call in choices[self.examples % len(choices)]:
                self.call(run, call)
        return run

    def call(self, run: Run, call: Call) -> Made | None:
        """Make a call; nothing happens any more in a run that has failed."""
        if run.over:
            return None
        try:
            return run.call(call)
        except Disagreed as disagreed:
            assert isinstance(run.watcher, Watch)
            run.over = True
            self.examples_to_failure = self.examples_to_failure or self.examples
            self.failures.append(Failure(Program(run.config, tuple(run.tried)), run, run.watcher, disagreed))
            if self.at_once:
                raise
            return None

    def replay(self, program: Program, coverage: Coverage | None = None) -> Failure | None:
        """The program once more from the start; None if it does not fail."""
        watch = Watch(self.variant, program.config, self.observed, coverage or Coverage.none())
        run = Run(self.factory, program.config, watch)
        for call in program.calls:
            try:
                run.call(call)
            except Disagreed as disagreed:
                return Failure(Program(run.config, tuple(run.tried)), run, watch, disagreed)
        return None

    def _probe(self) -> frozenset[str]:
        """Which event kinds the implementation shows: those that appear when it is led through everything once."""
        run = Run(self.factory, {**SMALL, **self.config}, _Nobody())
        for call in tour(self.variant):
            made = run.call(call)
            if made is not None and made.error is not None:
                break
        return BLACK_BOX | {read(e, "kind") for made in run.made for e in made.events}


class _Nobody:
    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        """Nothing is held against anything yet."""


def tour(variant: str) -> list[Call]:
    """Calls that make every kind of event happen in an implementation that is right."""

    def deliver(kind: str, keep: bool = False) -> Call:
        return Call("deliver", 0, kind, keep=keep)

    ask, commit = Call("init_producer_id", 0), Call("commit")
    direct = [
        ask,
        Call("zk_step", 0),
        Call("init_producer_id", 1),
        *[Call("zk_step", 1)] * 2,
        *[Call("zk_step", 0)] * 3,
        ask,
        ask,
        ask,
        Call("restart_broker", 0),
    ]
    fetch = [
        ask,
        deliver("request"),
        Call("zk_step", -1),
        Call("zk_step", -1),
        commit,
        deliver("response", True),
        ask,
        deliver("response"),
    ]
    failing = [
        ask, Call("restart_broker", 0), deliver("request"), deliver("response"), ask, deliver("request"),
        Call("fail_over"),
        Call("advance", value=150_000), ask, deliver("request"), commit, Call("restart_broker", 0), deliver("response"),
        Call("snapshot"),
    ]  # fmt: skip
    exhausting = [*[ask, deliver("request"), commit, deliver("response"), ask, ask, Call("advance", value=200)] * 5]
    bridge = [Call("upgrade_broker", 0), Call("upgrade_broker", 1), *fetch, Call("migrate")]
    middle = bridge if variant == "bridge" else []
    return [
        *(direct if variant != "kraft" else []),
        *middle,
        *(fetch + failing + exhausting if variant != "zookeeper" else []),
    ]
