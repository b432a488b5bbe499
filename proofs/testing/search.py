"""This module runs one search: every example is a system that is driven and compared with the model, until one
disagrees or the examples are used up."""

import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.connection_errors import rest_errors, wire_errors
from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.failures import AFTER, Disagreed, Evidence, Signature, signature
from fencepost.proofs.testing.fault_counts import APART, Exercised, by_seed_alone
from fencepost.proofs.testing.readings import read_followed
from fencepost.proofs.testing.tracker import Share, Tracker
from fencepost.properties.conformance_spec import Agreeing, FalseConjunct, driven
from fencepost.properties.driving import Call, Factory, Made, Message, Program, Run, event_text, read
from fencepost.properties.history import VOCABULARIES, HistoryError, Vocabulary
from fencepost.properties.machine import KnownBugs, Over
from fencepost.properties.monitoring import Broken, HistoryMonitor
from fencepost.properties.nearest import instead
from fencepost.properties.registry import Found
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.database import ExampleDatabase
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

TWICE = 4
"""A search runs this many examples again, to see whether the same calls give the same results."""
FAILURES = 6
"""This many failures end the search."""
FURTHER_CALLS = 15_000
"""This many calls in further examples end the search as well. An example of transactions, which take most, has some 900
calls on the reference, and maybe ten times as many on a system that never becomes idle."""


class Watch:
    """A `Watch` has the trackers, if there is a model to follow, and the monitor of one run. A tracker raises where the
    model does not fit; the monitor is asked when the run is over. With ``wanted``, only the predicted violation of this
    promise is a failure; with ``only``, only these promises are checked."""

    def __init__(
        self, agreeing: Agreeing, config: Mapping[str, Any], expecting: frozenset[str], observed: frozenset[str],
        coverage: Coverage, wanted: str = "", only: frozenset[str] | None = None,
    ) -> None:  # fmt: skip
        self.trackers: list[Tracker] = []
        if agreeing.follow is not None and not wanted:
            share = Share()
            for part in agreeing.parts(config):
                followed = agreeing.follow(config["mode"], part)
                reading = read_followed(followed)
                self.trackers.append(Tracker(reading, observed, coverage, agreeing.ending, share))
                coverage.spec, coverage.observable = reading.plain.spec, followed.observable
        self.agreeing = agreeing
        self.monitor = agreeing.monitoring(config, expecting)
        self.monitor.only, self.monitor.observed = only, observed
        self.coverage, self.wanted = coverage, wanted
        self.calls = 0
        self.recorded: Broken | None = None
        self.differed: tuple[int, Disagreed] | None = (
            None  # the call in which it deviated from the model, if the search continues past that
        )

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        if made.error is not None:
            if isinstance(made.error, rest_errors()):
                raise Disagreed(Evidence(made, None, ()), ())
            if isinstance(made.error, wire_errors()):
                raise Unreachable(made.error)
            if self.agreeing.between and not isinstance(made.error, AssertionError):
                raise Unreachable(BetweenError(made)) from made.error
            raise Disagreed(Evidence(made, None, ()), (FalseConjunct("plug", "", f"the call raised {made.error!r}"),))
        self.monitor.watch(made, messages)
        self.calls += 1
        if not self.trackers:
            self.coverage.watched(made)
            self.coverage.unmodelled += self.calls == 1 and self.agreeing.follow is not None and not self.wanted
        found = list[Disagreed]()
        for tracker in self.trackers:
            try:
                tracker.watch(made, messages)
            except Disagreed as unexplained:
                found.append(disagreed := _with_what_it_lacks(unexplained, VOCABULARIES.get(self.agreeing.protocol)))
                if self.agreeing.between:
                    self.differed = self.calls, disagreed
                    tracker.leave(AFTER)
        if found and not self.agreeing.between:
            raise min(found, key=_place)

    def broken(self) -> Broken | None:
        """Return the promise that the run has broken so far: the ``wanted`` one, as predicted, or else an unexpected
        one."""
        if self.wanted:
            return next((broken for broken in self.monitor.predicted if broken.rule == self.wanted), None)
        return self.monitor.found or self.recorded

    def judge_recorded(self, run: Run) -> None:
        """Judge what is recorded of a run that is over, as one more call that it ends with."""
        from fencepost.proofs.testing.recorded_runs import recording  # Arrow takes longer to import than most to be run

        assert isinstance(self.monitor, HistoryMonitor)
        recorder, quiet = self.agreeing.recorder, self.monitor.is_at_rest
        found = recording(run.system, recorder, quiet)
        text = f"recording(system, {recorder!r}, quiet_end={quiet})"
        run.made.append(Made(run.made[-1].call, text, found, (), None, None, f"{recording.__module__}:recording"))
        self.coverage.systems += 1
        broken = next((each for each in found.broken if self.monitor.asks_of_the_whole(each.rule)), None)
        if broken is not None:
            self.recorded = replace(broken, check="not result.broken", call=len(run.made))
        elif found.differs:
            evidence = Evidence(run.made[-1], None, (), check="not result.differs")
            false = FalseConjunct(found.differs.partition(" at step")[0], "", found.differs)
            self.differed = len(run.made), Disagreed(evidence, (false,))
        if found.differs or found.left:
            self.coverage.unfollowed += 1
            self.coverage.left(found.left or AFTER)


def _place(disagreed: Disagreed) -> float:
    event = disagreed.evidence.event
    return next((n for n, each in enumerate(disagreed.evidence.made.events) if each is event), inf)


def _with_what_it_lacks(disagreed: Disagreed, words: Vocabulary | None) -> Disagreed:
    """Return the disagreement, with what the event lacks by its table: a known kind, or some of its columns."""
    event = disagreed.evidence.event
    if words is None or event is None:
        return disagreed
    name = read(event, "kind")
    if name not in words.codes:
        meant = instead(name, words.codes, "its table")
        unknown = FalseConjunct(name, "", f"this is no kind of event of {words.protocol}; {meant}")
        return Disagreed(disagreed.evidence, (unknown,))
    kind = words.codes[name]
    may_lack = {*kind.optional, *kind.optional_with_error, "error"}
    lacking = [column for column in kind.columns if column not in may_lack and read(event, column) is None]
    false = tuple(FalseConjunct(name, "", f"the event lacks its column {column}") for column in lacking)
    return Disagreed(disagreed.evidence, (*false, *disagreed.conjuncts)) if false else disagreed


def _broke(made: Made, broken: Broken) -> Disagreed:
    unseen = broken.event is None and not broken.check
    evidence = Evidence(made, broken.event, (), unseen, broken.check, broken.other)
    return Disagreed(evidence, (FalseConjunct("promise", broken.rule, broken.text),), broken.at_rest)


@dataclass
class Failure:
    """A `Failure` is a program that disagrees, with its calls as they were made."""

    program: Program
    made: tuple[Made, ...]
    watch: Watch
    disagreed: Disagreed
    again: tuple[int, int] = (0, 0)
    """In how many of how many further runs the program failed while the search went on."""


def _failed(run: Run, disagreed: Disagreed | None) -> Failure | None:
    assert isinstance(run.watcher, Watch)
    broken, calls = run.watcher.broken(), len(run.made)
    if broken is not None and (disagreed is None or broken.call < calls):
        return _cut(run, broken)
    if disagreed is None:
        return None
    return Failure(Program(run.config, tuple(run.tried)), tuple(run.made), run.watcher, disagreed)


def _cut(run: Run, broken: Broken) -> Failure:
    assert isinstance(run.watcher, Watch)
    made = tuple(run.made[: broken.call])
    return Failure(Program(run.config, tuple(run.tried[: broken.call])), made, run.watcher, _broke(made[-1], broken))


def _differed(run: Run) -> Failure | None:
    assert isinstance(run.watcher, Watch)
    if run.watcher.differed is None:
        return None
    calls, disagreed = run.watcher.differed
    return Failure(Program(run.config, tuple(run.tried[:calls])), tuple(run.made[:calls]), run.watcher, disagreed)


class BetweenError(InputError):
    """This error means that the adapter to the system failed, so that nothing is known about the system."""

    def __init__(self, made: Made) -> None:
        error = f"{type(made.error).__name__}: {made.error}"
        super().__init__(
            f"{made.text} raised {error}; that is a defect of what speaks to the brokers, not of the brokers: report it"
        )


class Unreachable(BaseException):
    """This exception means that the driven system is out of reach. `Unreachable` is no Exception, so that Hypothesis
    does not handle it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Enough(BaseException):
    """This exception ends the search because enough was found. `Enough` is no Exception, so that Hypothesis does not
    take it for a failure of the example."""


class Search:
    """A `Search` runs examples on one implementation, and a few more after the first that fails, because one of them
    may have a shorter program. Shrinking is done afterwards and without Hypothesis, call by call."""

    def __init__(
        self, agreeing: Agreeing, factory: Factory, variant: str, config: Mapping[str, Any],
        expecting: frozenset[str], observed: frozenset[str] | None, prefixes: Sequence[Sequence[Call]],
        only: frozenset[str] | None = None,
    ) -> None:  # fmt: skip
        self.only = only
        self.agreeing, self.factory, self.variant = agreeing, factory, variant
        self.config, self.expecting = {**config, "mode": variant}, expecting
        self.prefixes = [tuple(p) for p in prefixes]
        self.coverage = Coverage()
        self.exercised = Exercised(agreeing)
        self.under_way: Run | None = None
        lacking = agreeing.lacking
        small = {**agreeing.small, **self.config}
        self.lacks = frozenset[str]() if lacking is None else lacking(factory(small))
        self.examples = 0
        self.configs: list[Mapping[str, Any]] = []  # the different configurations of the examples
        self.examples_to_failure = 0
        self.progress: Callable[[], object] = lambda: None
        self.shrinking: Callable[[str], object] = lambda _: None
        self.left_out = frozenset[str]()  # actions of the model that need not be taken
        self.failures: list[Failure] = []
        self.undecided: list[Failure] = []
        self.excused = Counter[tuple[str, str]]()  # number of runs by promise and by why that is no defect
        self.longest: list[Run] = []  # the longest examples, to be run again
        self.predicted: dict[str, Failure] = {}  # the shortest program seen that breaks a promise as predicted
        self.differences: dict[Signature, Failure] = {}  # the shortest program seen, by signature
        self.at_once = False
        self.further_calls = 0  # in the examples after the first that fails
        probed = observed is None and agreeing.probed
        self.observed = self._probe() if probed else (observed or frozenset()) | agreeing.black_box

    def search(self, seed_number: int, max_examples: int, steps: int, database: ExampleDatabase | None) -> None:
        """Drive examples, and store the failures, the numbers of examples and the coverage in this object. With a
        database the first failure ends the search, and is tried first the next time."""
        self.at_once = database is not None
        base = self.agreeing.machines[self.variant]

        def over(machine: Any) -> None:
            base.teardown(machine)
            self.account()

        machine: Any = type(f"{self.variant.title()}Machine", (base,), {"session": self, "teardown": over})
        with warnings.catch_warnings(), suppress(Enough, Disagreed):
            warnings.simplefilter("ignore")
            try:
                while self.examples < max_examples:
                    if self._run(machine, seed_number, max_examples - self.examples, steps, database):
                        return
                    seed_number += 1
            except Unreachable as gone:
                raise gone.error from None
            finally:  # Hypothesis caches every class that it has run, and with it all the calls of this search
                machine.session, machine.teardown = None, base.teardown

    def play(self, programs: Sequence[Program]) -> None:
        """Drive these programs, each continued in every one of the protocol's ways. `Search.play` stores its results as
        `Search.search` does."""
        with suppress(Enough):
            try:
                for program, way in itertools.product(programs, self.agreeing.ways.values()):
                    self._play(program, way)
            except Unreachable as gone:
                raise gone.error from None

    def _play(self, program: Program, way: Callable[[Run], Iterable[None]]) -> None:
        run = self.start({**program.config, **self.config})
        for call in program.calls:
            self.call(run, call)
        try:
            for _ in () if run.over else way(run):
                continue
        except Disagreed as disagreed:
            self._disagrees(run, disagreed)
        self.account()

    def account(self) -> None:
        """Count the finished run, and judge it."""
        run, self.under_way = self.under_way, None
        if run is None:
            return
        if not run.tried:  # Hypothesis gave the example up before its first call
            self.examples -= 1
            return
        self.further_calls += len(run.made) if self.failures else 0
        self.exercised.over(run)
        self.longest = sorted([*self.longest, run], key=lambda run: -len(run.made))[:TWICE]
        assert isinstance(run.watcher, Watch)
        self._judge_recorded(run)
        if not run.over and (failure := _failed(run, None)) is not None:
            self._fails(failure)
        if (differed := _differed(run)) is not None:
            known = self.differences.setdefault(signature(differed.disagreed), differed)
            if len(differed.program.calls) < len(known.program.calls):
                self.differences[signature(differed.disagreed)] = differed
        for broken in run.watcher.monitor.predicted:
            if broken.excuse:
                self.excused[broken.rule, broken.excuse] += 1
            shortest = self.predicted.get(broken.rule)
            if shortest is None or broken.call < len(shortest.program.calls):
                self.predicted[broken.rule] = _cut(run, broken)

    def _judge_recorded(self, run: Run) -> None:
        watch = run.watcher
        assert isinstance(watch, Watch)
        if self.agreeing.recorder and run.made and not run.over and not watch.wanted and watch.broken() is None:
            watch.judge_recorded(run)

    def differing(self) -> str:
        """Return the first call with another result when a program was run again, or an empty string."""
        for run in self.longest:
            again = Run(self.factory, run.config, _NoScreen())
            for number, (call, before) in enumerate(zip(run.tried, run.made, strict=False), 1):
                after = again.call(call)
                if after is None or described(after) != described(before):
                    now = "could not be made" if after is None else f"gave {described(after)[:200]}"
                    first = (
                        f"call {number} of a program that was run twice, {before.text}, gave {described(before)[:200]}"
                    )
                    return f"{first}, then {now}"
        return ""

    def _fails(self, failure: Failure) -> None:
        if failure.disagreed.is_undecided or (failure.disagreed.at_rest and self.agreeing.by_silence):
            self.undecided.append(failure)
            if failure.disagreed.is_undecided or not self._fails_again(failure):
                return
            self.undecided.remove(failure)
        self.examples_to_failure = self.examples_to_failure or self.examples
        self.failures.append(failure)
        if self.at_once:
            raise failure.disagreed

    def _fails_again(self, failure: Failure) -> bool:
        reason = failure.disagreed.reason
        for tries in range(1, self.agreeing.tries + 1):
            again = self.replay(failure.program, only=failure.disagreed.promises)
            failure.again = int(again is not None and again.disagreed.reason == reason), tries
            if failure.again[0]:
                return True
        return False

    def _run(
        self, machine: Any, seed_number: int, max_examples: int, steps: int, database: ExampleDatabase | None
    ) -> bool:
        """Drive examples. Return False where chance changed the choices, which Hypothesis cannot handle. Raise Flaky if
        an implementation that should be deterministic is not."""
        chosen = settings(
            max_examples=max_examples, stateful_step_count=steps, deadline=None, database=database,
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate), report_multiple_bugs=False,
            print_blob=False, derandomize=False, **(APART if database is None else {}),
        )  # fmt: skip
        try:
            with by_seed_alone():
                run_state_machine_as_test(seed(seed_number)(machine), settings=chosen)
        except Flaky:
            if self._is_enough():  # Hypothesis only says that an example was cut short, as it was
                return True
            if self.agreeing.tries == 1:
                raise
            return False
        return True

    def _is_enough(self) -> bool:
        if not self.failures:
            return False
        enough = self.examples >= self.examples_to_failure + self.agreeing.further
        return enough or len(self.failures) >= FAILURES or self.further_calls > FURTHER_CALLS

    def start(self, config: Mapping[str, Any]) -> Run:
        """Return a watched system for the next example. The examples take turns with the prefixes, if there are any."""
        if self._is_enough():
            raise Enough
        self.examples += 1
        if config not in self.configs:
            self.configs.append(config)
        self.progress()
        try:
            run = self.under_way = Run(self.factory, config, self._watch(config, self.coverage))
        except Exception as error:
            if isinstance(error, wire_errors()):
                raise Unreachable(error) from error
            raise
        if self.prefixes:
            choices = [(), *self.prefixes]
            for call in choices[self.examples % len(choices)]:
                self.call(run, call)
        return run

    def _watch(
        self, config: Mapping[str, Any], coverage: Coverage, wanted: str = "", only: frozenset[str] | None = None
    ) -> Watch:
        looked_at = self.only if only is None else only if self.only is None else self.only & only
        return Watch(self.agreeing, config, self.expecting, self.observed, coverage, wanted, looked_at)

    def call(self, run: Run, call: Call) -> Made | None:
        """Make a call, or return None in a run that has failed already."""
        if run.over:
            return None
        try:
            made = run.call(call)
        except Disagreed as disagreed:
            self._disagrees(run, disagreed)
            return None
        if not self.agreeing.further and (failure := _failed(run, None)) is not None:  # what follows takes minutes
            run.over = True
            self._fails(failure)
        return made

    def _disagrees(self, run: Run, disagreed: Disagreed) -> None:
        run.over = True
        failure = _failed(run, disagreed)
        assert failure is not None
        self._fails(failure)

    def replay(
        self, program: Program, wanted: str = "", only: frozenset[str] | None = None,
        difference: Signature | None = None,
    ) -> Failure | None:  # fmt: skip
        """Run the program again from the start. Return None if the program does not fail, or does not deviate from the
        model in this way. ``wanted`` and ``only`` are as in `Watch`."""
        run = Run(self.factory, program.config, self._watch(program.config, Coverage.none(), wanted, only))
        try:
            for call in program.calls:
                run.call(call)
        except Disagreed as disagreed:
            return _failed(run, disagreed)
        except Unreachable as gone:
            raise gone.error from None
        self._judge_recorded(run)
        if difference is not None:
            differed = _differed(run)
            return differed if differed is not None and signature(differed.disagreed) == difference else None
        return _failed(run, None)

    def _probe(self) -> frozenset[str]:
        """Return which event kinds the implementation emits on a tour through all of the protocol's calls."""
        run = Run(self.factory, {**self.agreeing.small, **self.config}, _NoScreen())
        for call in self.agreeing.tour(self.variant):
            made = run.call(call)
            if made is not None and made.error is not None:
                break
        return self.agreeing.black_box | {read(e, "kind") for made in run.made for e in made.events}


def described(made: Made) -> str:
    """Return the result and the events of a call as text. An object is described by its type alone, because its address
    is chance."""
    plain = isinstance(made.result, int | float | str | bytes | tuple | list | dict | None)
    result = repr(made.result) if plain else type(made.result).__name__
    error = f"{type(made.error).__name__}" if made.error is not None else ""
    return " ".join(filter(None, (error or result, *(event_text(e, made.call) for e in made.events))))


class _NoScreen:
    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        """Compare nothing with the model, because the run only finds out what the implementation emits."""


KNOWN_BUGS: Found[KnownBugs] = Found(("scenarios.known", "scenarios"), "KNOWN_BUGS")
"""This registry has the known bugs of the protocols that define them."""


def played(protocol: str, name: str, factory: Factory, broken: bool = True) -> Failure | None:
    """Return how an implementation fails in the scenario of a known bug, or None if it does not. ``broken`` selects the
    configuration, and the calls, that trigger the bug. Raise KeyError with the known names."""
    bugs = KNOWN_BUGS[protocol]
    bug = bugs[name]
    config = dict(bug.broken if broken else bug.fixed)
    agreeing = driven(protocol)
    config.setdefault("mode", agreeing.variants[0])
    if not (bug.followed and _is_followed(agreeing, config)):
        agreeing = replace(agreeing, follow=None)
    search = Search(agreeing, factory, config["mode"], config, frozenset(), None, ())
    base = agreeing.machines[config["mode"]]
    machine: Any = type("KnownBugMachine", (base,), {"session": search, "broken": broken})()
    with suppress(Enough, Disagreed, Over):
        machine.start(config)
        bug.play(bugs.on(machine))
        machine.teardown()
    search.account()
    return next(iter(search.failures), None)


def _is_followed(agreeing: Agreeing, config: dict[str, Any]) -> bool:
    if agreeing.follow is None or config["mode"] in agreeing.unfollowed:
        return False
    try:
        for part in agreeing.parts(config):
            agreeing.follow(config["mode"], part)
    except HistoryError:
        return False
    return True
